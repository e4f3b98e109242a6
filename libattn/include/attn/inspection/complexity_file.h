#pragma once
#include <filesystem>

#include "attn/inspection/complexity.h"
#include "attn/io/hdf5.h"

namespace attn {

/// Writes a report as HDF5, format "attn.complexity" (docs/file-formats.md has the layout): one array for
/// each quantity over the axes layer_type, backend, pass, batch, layers, heads, window, kernel, width,
/// length. A layer type that does not use heads, window or kernel has the same values for all of them. What
/// was not measured is NaN, or 0 in arrays of whole numbers, and `measured` says which. Throws Error(file).
void write_complexity_file(const std::filesystem::path& path, const ComplexityGrid& grid,
                           const ComplexityReport& report, const hdf5::Header& header,
                           const std::string& config_yaml);

}  // namespace attn
