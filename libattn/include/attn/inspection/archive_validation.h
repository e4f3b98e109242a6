#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace attn {

/// One place where a file is not as docs/file-formats.md says.
struct Finding {
  std::string path;  ///< inside the file: an object, or an object and "@attribute"
  std::string what;  ///< what was found and what was expected
};

struct ValidationReport {
  std::string format;   ///< as "attn.attention"
  std::string summary;  ///< what the file holds, in a few words
  std::vector<Finding> findings;
  std::size_t further = 0;  ///< findings left out: of one path, the first ten are kept
};

/// Checks a file of format attn.attention or attn.positions against its specification, with every number in
/// it: types, shapes, attributes, offsets, tokens, masks, sums of rows, entropies. Memory does not grow with
/// the number of sentences but for a few numbers each. Throws Error(file) for a file that cannot be read or
/// is damaged, Error(input_data) for one of another format, of a newer version, or incomplete.
ValidationReport validate_file(const std::filesystem::path& path);

}  // namespace attn
