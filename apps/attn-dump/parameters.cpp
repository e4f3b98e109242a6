#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "attn/cli/main.h"
#include "attn/cli/output.h"
#include "attn/core/error.h"
#include "attn/inspection/parameter_dump.h"
#include "attn/text/utf8.h"
#include "commands.h"
#include "model_options.h"

namespace attn::dump {
namespace {

struct Options {
  ModelOptions model;
  std::string output;
  std::optional<std::string> activations, target;
};

void list(const ParameterStore& parameters) {
  std::size_t widest = 0;
  for (const ParameterHandle& parameter : parameters.all()) widest = std::max(widest, parameter->path.size());
  cli::StandardOutput output;
  for (const ParameterHandle& parameter : parameters.all()) {
    const std::string shape = fmt::format("[{}]", fmt::join(parameter->shape.dims(), ", "));
    output.write(fmt::format("{:<{}}  {:<14}{}\n", parameter->path, widest, shape,
                             parameter->trainable ? "" : "  not trained"));
  }
  output.write(fmt::format("{} trainable numbers\n", parameters.count()));
  output.finish();
}

int run(const Options& options, const Session& session) {
  if (options.activations && options.output.empty())
    fail(ExitCode::usage, "--activations needs --output, the file that they are written to");
  if (options.target && !options.activations)
    fail(ExitCode::usage, "--target goes with --activations, the sentence that it translates");
  for (const auto& text : {options.activations, options.target}) {
    if (text && !is_valid_utf8(*text)) fail(ExitCode::input_data, "the sentence is not valid UTF-8");
  }
  const TranslationSystem system = load(options.model);
  if (options.output.empty()) {
    list(system.model->parameters());
    return static_cast<int>(ExitCode::ok);
  }
  std::optional<ActivationRequest> request;
  if (options.activations) request = ActivationRequest{*options.activations, options.target};
  write_parameters(options.output, system, request, session.command_line);
  session.messages.info("wrote {}: {} parameter arrays, {:.1f} MB", options.output,
                        system.model->parameters().all().size(),
                        static_cast<double>(std::filesystem::file_size(options.output)) * 1e-6);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command add_parameters(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* parser = app.add_subcommand("parameters", "List parameters, or write them to HDF5");
  cli::set_examples(*parser,
                    {{"attn-dump parameters runs/quickstart", "names and shapes"},
                     {"attn-dump parameters runs/quickstart --output parameters.h5", "every number"},
                     {"attn-dump parameters runs/quickstart --activations 'The cat sleeps.' --output cat.h5",
                      "and what each layer computes for a sentence"}});
  declare(*parser, options->model);
  parser->add_option("-o,--output", options->output, "HDF5 file, complete or not at all (default: a list)")
      ->type_name("FILE");
  parser
      ->add_option("--activations", options->activations,
                   "Also write the output of every layer, every attention map and the logits for this text")
      ->type_name("TEXT");
  parser
      ->add_option("--target", options->target,
                   "Of --activations: along this translation (default: the model's own)")
      ->type_name("TEXT");
  return {parser, [options](const Session& session) { return run(*options, session); }};
}

}  // namespace attn::dump
