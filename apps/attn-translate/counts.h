#pragma once
#include <array>
#include <cstdint>

namespace attn::translate {

/// What a run has met and made so far.
struct Counts {
  std::uint64_t lines = 0;          ///< of the input that are answered
  std::uint64_t texts = 0;          ///< written for them: more than `lines` with --n-best
  std::uint64_t blank = 0;          ///< lines of nothing but space
  std::uint64_t cropped = 0;        ///< texts, sources or targets, that were longer than the model takes
  std::uint64_t out_of_memory = 0;  ///< lines that did not fit into memory, even alone
  std::uint64_t source_tokens = 0;  ///< that the model read, without <eos>
  std::uint64_t unknown = 0;        ///< of them not in the vocabulary
  std::uint64_t target_tokens = 0;  ///< of the best translations, or those that --score was given
  std::uint64_t unknown_made = 0;   ///< of them <unk>
  std::uint64_t replaced = 0;       ///< <unk> that --replace-unknown replaced

  friend bool operator==(const Counts&, const Counts&) = default;
};

/// A count and the name that it is stored under.
struct CountField {
  const char* name;
  std::uint64_t Counts::*member;
};
inline constexpr std::array<CountField, 10> count_fields{{{"lines", &Counts::lines},
                                                          {"texts", &Counts::texts},
                                                          {"blank", &Counts::blank},
                                                          {"cropped", &Counts::cropped},
                                                          {"out_of_memory", &Counts::out_of_memory},
                                                          {"source_tokens", &Counts::source_tokens},
                                                          {"unknown", &Counts::unknown},
                                                          {"target_tokens", &Counts::target_tokens},
                                                          {"unknown_made", &Counts::unknown_made},
                                                          {"replaced", &Counts::replaced}}};

}  // namespace attn::translate
