#include "attn/cli/main.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>
#include <sstream>

#include "attn/cli/messages.h"
#include "attn/cli/output.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "attn/core/version.h"
#include "cli/write_all.h"

namespace attn::cli {
namespace {

constexpr int standard_error = 2;

/// CLI11's help with the examples before everything else.
class ExamplesFirst : public CLI::Formatter {
 public:
  ExamplesFirst(const CLI::App& owner, std::vector<Example> examples)
      : owner_(&owner), examples_(std::move(examples)) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text;
    if (mode == CLI::AppFormatMode::Normal && app == owner_ && !examples_.empty()) {
      text += "Examples:\n";
      for (const Example& example : examples_)
        text += fmt::format("  {}\n      {}\n", example.command, example.meaning);
      text += "\n";
    }
    return text + CLI::Formatter::make_help(app, std::move(name), mode);
  }

 private:
  const CLI::App* owner_;  ///< subcommands inherit the formatter but not the examples
  std::vector<Example> examples_;
};

std::string tool_name(int argc, char** argv) {
  if (argc < 1 || argv[0] == nullptr) return "attn";
  return std::filesystem::path(argv[0]).filename().string();
}

void report(const std::string& name, const std::string& message) {
  write_all(standard_error, fmt::format("{}: {}\n", name, message));
}

/// Help and version come as exceptions of CLI11, as do mistakes.
int answer_parser(const CLI::App& app, const CLI::ParseError& error, const std::string& name) {
  if (error.get_exit_code() != 0) {
    report(name, fmt::format("{}\nTry '{} --help'.", error.what(), name));
    return static_cast<int>(ExitCode::usage);
  }
  std::ostringstream text;
  std::ostringstream unused;
  app.exit(error, text, unused);
  StandardOutput output;
  output.write(text.str());
  output.finish();
  return static_cast<int>(ExitCode::ok);
}

int run_parsed(CLI::App& app, int argc, char** argv, const std::string& name,
               const std::function<int(CLI::App&, int, char**)>& tool) {
  try {
    return tool(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return answer_parser(app, error, name);
  }
}

}  // namespace

void set_examples(CLI::App& app, const std::vector<Example>& examples) {
  app.formatter(std::make_shared<ExamplesFirst>(app, examples));
}

void set_up(CLI::App& app, const std::vector<Example>& examples) {
  set_examples(app, examples);
  app.set_help_flag("-h,--help", "Show this help");
  app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), version()), "Show the version");
}

int run_tool(int argc, char** argv, const std::function<int(CLI::App& app, int argc, char** argv)>& tool) {
  const std::string name = tool_name(argc, argv);
  install_signal_handlers();
  try {
    CLI::App app("", name);
    set_up(app, {});
    return run_parsed(app, argc, argv, name, tool);
  } catch (const Error& error) {
    report(name, error.what());
    return static_cast<int>(error.code());
  } catch (const BrokenPipe&) {
    return static_cast<int>(ExitCode::ok);
  } catch (const std::bad_alloc&) {
    report(name, "not enough memory; use a smaller batch or model, or a machine with more");
  } catch (const std::exception& error) {
    report(name, fmt::format("internal error: {}", error.what()));
  } catch (...) {
    report(name, "internal error: an exception of unknown type");
  }
  return static_cast<int>(ExitCode::internal);
}

}  // namespace attn::cli
