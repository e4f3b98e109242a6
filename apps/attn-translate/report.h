#pragma once
#include <string>

#include "attn/decoding/translator.h"
#include "options.h"

namespace attn::translate {

/// A source line as it was read.
struct SourceLine {
  std::string text;
  bool replaced = false;  ///< held bytes that were not UTF-8
};

/// The output lines, each ended by a line feed, for one source line.
std::string format(const Translation& translation, const SourceLine& source, const Options& options);
/// The output line of --score for one pair.
std::string format(const ScoredLine& scored, const std::string& source, const std::string& target,
                   const Options& options);

}  // namespace attn::translate
