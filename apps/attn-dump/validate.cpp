#include <fmt/format.h>

#include <memory>
#include <string>

#include "attn/cli/main.h"
#include "attn/cli/output.h"
#include "attn/core/error.h"
#include "attn/inspection/archive_validation.h"
#include "commands.h"

namespace attn::dump {
namespace {

int validate(const std::string& path) {
  const ValidationReport report = validate_file(path);
  cli::StandardOutput output;
  for (const Finding& finding : report.findings)
    output.write(fmt::format("{}: {}: {}\n", path, finding.path, finding.what));
  if (report.further > 0) output.write(fmt::format("{}: {} more findings\n", path, report.further));
  if (report.findings.empty())
    output.write(fmt::format("{}: valid, format {}, {}\n", path, report.format, report.summary));
  output.finish();
  return static_cast<int>(report.findings.empty() ? ExitCode::ok : ExitCode::input_data);
}

}  // namespace

Command add_validate(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  CLI::App* parser = app.add_subcommand("validate", "Check a file against its specification");
  cli::set_examples(*parser, {{"attn-dump validate attention.h5",
                               "prints what is wrong and where, or that the file is valid"}});
  parser->footer(
      "Reads files of the formats attn.attention and attn.positions whole. Exit code 0: valid; 4: not as "
      "specified,\nof another format, or incomplete; 5: missing or damaged.");
  parser->add_option("FILE", *path, "An attention archive, or positional encodings")->required();
  return {parser, [path](const Session&) { return validate(*path); }};
}

}  // namespace attn::dump
