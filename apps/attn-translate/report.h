#pragma once
#include <string>

#include "attn/decoding/translator.h"
#include "input.h"
#include "options.h"

namespace attn::translate {

/// The output lines, each ended by a line feed, for one source line.
std::string format(const Translation& translation, const InputLine& source, const Options& options);
/// The output line of --score for one pair.
std::string format(const ScoredLine& scored, const std::string& source, const std::string& target,
                   const Options& options);

/// The lines of --alignments-output that belong to those of format().
std::string alignment_lines(const Translation& translation, const Options& options);
std::string alignment_lines(const ScoredLine& scored, const Options& options);

}  // namespace attn::translate
