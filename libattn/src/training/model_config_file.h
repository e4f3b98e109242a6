#pragma once
// A ModelConfig as attributes of a group in a checkpoint, so that a model can be rebuilt from the file alone.
#include <string>
#include <vector>

#include "attn/io/hdf5.h"
#include "attn/models/translation_model.h"

namespace attn {

void write_model_config(hdf5::Group& group, const ModelConfig& config);
/// Throws Error(input_data) for an unknown name, which a newer version may have written.
ModelConfig read_model_config(const hdf5::Group& group);
/// One line "name=value" a field, for comparisons.
std::vector<std::string> model_config_lines(const ModelConfig& config);
/// The same for checksums, which a later version can compute too: without fields that files of earlier
/// versions lack, where they have their defaults.
std::vector<std::string> lasting_model_config_lines(const ModelConfig& config);

}  // namespace attn
