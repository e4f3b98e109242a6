#pragma once
#include <string>

#include "attn/experiment/run_directory.h"
#include "attn/experiment/training_run.h"
#include "attn/runtime/device.h"

namespace attn {

/// Writes config.yaml and environment.json, and appends to command.txt.
void write_run_record(const RunDirectory& directory, const std::string& config_yaml,
                      const std::string& command_line, const Device& device);

/// Writes status.json; `message` says why where the state is "failed".
void write_run_status(const RunDirectory& directory, const std::string& name, const char* state,
                      const std::string& message = {});

/// Writes report.json: figures, checkpoint and samples of a run that has ended.
void write_report(const RunDirectory& directory, const std::string& name, const RunSummary& summary);

/// Writes samples/samples.tsv.
void write_samples(const RunDirectory& directory, const std::vector<Sample>& samples);

}  // namespace attn
