#pragma once
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace attn::test {

/// The path in our models of a parameter of the reference file: the first column of the table stands at the
/// end of its name, or anywhere in it for names that end with a dot.
inline std::string path_of(std::string name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> names = {{
      {"blks.", "blocks."},
      {"ln1.", "addnorm1."},
      {"ln2.", "addnorm2."},
      {"ln3.", "addnorm3."},
      {"coder.ln.", "coder.norm."},
      {"gamma", "gain"},
      {"beta", "bias"},
      {"ffn.W1", "ffn.dense1.weight"},
      {"ffn.b1", "ffn.dense1.bias"},
      {"ffn.W2", "ffn.dense2.weight"},
      {"ffn.b2", "ffn.dense2.bias"},
      {"dense.W", "dense.weight"},
      {"dense.b", "dense.bias"},
      {"W_q", "W_q.weight"},
      {"W_k", "W_k.weight"},
      {"W_v", "W_v.weight"},
      {"W_o", "W_o.weight"},
      {"w_v", "w_v.weight"},
      {"embedding", "embedding.weight"},
  }};
  for (const auto& [theirs, ours] : names) {
    const auto at = name.rfind(theirs);
    const bool anywhere = theirs.back() == '.';
    if (at == std::string::npos || (!anywhere && at + theirs.size() != name.size())) continue;
    name.replace(at, theirs.size(), ours);
  }
  return name;
}

}  // namespace attn::test
