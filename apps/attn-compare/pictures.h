#pragma once
#include <string>
#include <vector>

#include "attn/inspection/complexity.h"

namespace attn::compare {

struct Picture {
  std::string name;  ///< of the file, without extension: "time-eigen-forward-d256"
  std::string svg;
};

/// Time and flops against n on logarithmic axes, for each backend, pass, width, batch and number of layers: a
/// line a layer type, its fitted power law dashed, and a ring where self-attention begins to cost more. None
/// for a grid with a single length.
std::vector<Picture> pictures_of(const ComplexityReport& report);

}  // namespace attn::compare
