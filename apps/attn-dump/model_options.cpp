#include "model_options.h"

namespace attn::dump {

void declare(CLI::App& parser, ModelOptions& options) {
  parser.add_option("MODEL", options.model, "A checkpoint, or a run directory of attn-train")->required();
  parser.add_option("--backend", options.backend, "Backend: a name or a plugin file (default eigen)")
      ->type_name("NAME|PATH");
  parser.add_option("--device", options.device, "Index of the backend's device (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  parser.add_option("--threads", options.threads, "CPU threads, 0 for all cores (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
}

TranslationSystem load(const ModelOptions& options) {
  const auto device = Device::open(options.backend, {.device = options.device, .threads = options.threads});
  return load_translation_system(options.model, device);
}

}  // namespace attn::dump
