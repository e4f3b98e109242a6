#pragma once
#include <string_view>
#include <vector>

#include "attn/inspection/attention_archive.h"

namespace attn::dump {

/// For each token the number of its word, counted from 0: neighbouring tokens are of one word when no white
/// space lies between their bytes in `text`, both hold letters or digits, and the characters that meet are
/// not Chinese or Japanese, which have no spaces between words. Pieces of one character (bytes) always belong
/// together. A token without bytes (<eos>) is a word of its own.
std::vector<int> word_numbers(const std::vector<AttentionArchive::Token>& tokens, std::string_view text);

}  // namespace attn::dump
