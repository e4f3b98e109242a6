#pragma once
#include <string>

#include "attn/experiment/kernel_regression.h"

namespace attn {

/// Loss and w over the epochs, as a line chart in SVG.
std::string regression_learning_curve(const std::string& title, const RegressionResult& result);

}  // namespace attn
