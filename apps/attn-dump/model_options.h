#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "attn/training/translation_system.h"

namespace attn::dump {

/// The model that a subcommand looks into, and what runs it.
struct ModelOptions {
  std::string model;
  std::string backend = "eigen";
  int device = 0, threads = 0;
};

/// MODEL, --backend, --device and --threads.
void declare(CLI::App& parser, ModelOptions& options);

TranslationSystem load(const ModelOptions& options);

}  // namespace attn::dump
