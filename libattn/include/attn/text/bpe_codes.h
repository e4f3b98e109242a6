#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/text/token.h"

namespace attn {

/// Merges of byte pair encoding (Sennrich, Haddow and Birch, 2016, https://arxiv.org/abs/1508.07909) as
/// subword-nmt writes them: "#version: 0.2", then a pair of symbols a line, the first merge first. Copies
/// share what they hold.
class BpeCodes {
 public:
  /// The codes in `bytes`, the contents of a codes file. `name` stands for it in messages. Throws Error
  /// (input_data), with the line, for lines that are no pair, another version, or no merge at all.
  static BpeCodes from_bytes(std::string bytes, const std::string& name);

  /// Reads a codes file. Throws Error: file when it cannot be read, else as from_bytes.
  static BpeCodes read(const std::filesystem::path& path);

  /// The codes file.
  const std::string& bytes() const noexcept;

  /// The parts of a word after all merges that apply, best first; all but the last end in "@@". Each has the
  /// bytes of the word that it covers. `word` is UTF-8 without blanks, not empty.
  std::vector<Token> split(std::string_view word) const;

 private:
  struct State;
  explicit BpeCodes(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace attn
