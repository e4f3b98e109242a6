#pragma once
#include <string>

namespace attn::compare {

/// The textbook's example: how many interactions 100 words have in self-attention and in a convolution with a
/// kernel of 3, counted from the operations of one layer on this backend.
std::string textbook_example(const std::string& backend, bool json);

}  // namespace attn::compare
