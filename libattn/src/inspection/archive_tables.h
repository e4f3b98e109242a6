#pragma once
#include <cstdint>
#include <vector>

#include "inspection/archive_findings.h"

namespace attn::archive {

/// The table of sentences, as far as the check of the maps needs it; empty columns could not be read.
struct SentenceTable {
  std::uint64_t sentences = 0;
  std::vector<std::int32_t> source_lengths, target_lengths;
};

/// Checks /sentences, /vocabulary and /tokens.
SentenceTable check_tables(const hdf5::File& file, Findings& findings);

/// Checks /attention.
void check_maps(const hdf5::File& file, const SentenceTable& table, Findings& findings,
                ValidationReport& report);

/// GROUP/offset if it rises from 0 to `elements` and is one longer than there are sentences.
std::vector<std::int64_t> check_offsets(const hdf5::Group& group, std::uint64_t sentences,
                                        std::uint64_t elements, Findings& findings);

}  // namespace attn::archive
