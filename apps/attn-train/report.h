#pragma once
#include <string>

#include "attn/experiment/data.h"
#include "attn/experiment/kernel_regression.h"
#include "attn/experiment/training_run.h"

namespace attn::train {

/// What a run achieved, for people or as one JSON object; ends with a line break.
std::string text_report(const ExperimentConfig& config, const RunSummary& summary);
std::string json_report(const ExperimentConfig& config, const RunSummary& summary);
std::string text_report(const ExperimentConfig& config, const PreparedData& data);
std::string json_report(const ExperimentConfig& config, const PreparedData& data);
std::string text_report(const KernelRegressionConfig& config, const RegressionResult& result);
std::string json_report(const KernelRegressionConfig& config, const RegressionResult& result);

}  // namespace attn::train
