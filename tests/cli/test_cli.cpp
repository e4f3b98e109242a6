#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>

#include "attn/cli/main.h"
#include "attn/cli/messages.h"
#include "attn/cli/output.h"
#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/core/error.h"
#include "support/catch.h"
#include "support/error_of.h"

using attn::ExitCode;
using attn::test::contains;
using attn::test::error_of;
namespace cli = attn::cli;

namespace {

std::string drain(int descriptor) {
  std::string text;
  std::string block(4096, '\0');
  for (;;) {
    const ssize_t count = read(descriptor, block.data(), block.size());
    if (count <= 0) break;  // a terminal whose other side is closed answers with an error
    text.append(block, 0, static_cast<std::size_t>(count));
  }
  close(descriptor);
  return text;
}

struct Result {
  int exit_code = -1;  ///< 128 + signal, as a shell has it
  std::string output;
  std::string messages;
};

/// Runs `body` in a child process whose standard output and error are collected. `output` replaces standard
/// output.
Result in_child(const std::function<int()>& body, const char* output = nullptr) {
  int out[2];
  int err[2];
  REQUIRE(pipe(out) == 0);
  REQUIRE(pipe(err) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(output != nullptr ? open(output, O_WRONLY) : out[1], 1);
    dup2(err[1], 2);
    for (const int descriptor : {out[0], out[1], err[0], err[1]}) close(descriptor);
    _exit(body());
  }
  close(out[1]);
  close(err[1]);
  Result result;
  result.output = drain(out[0]);
  result.messages = drain(err[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Result run(const std::vector<std::string>& arguments, const std::function<int(CLI::App&, int, char**)>& tool,
           const char* output = nullptr) {
  return in_child(
      [&] {
        std::vector<std::string> copy = {"/usr/bin/attn-test"};
        copy.insert(copy.end(), arguments.begin(), arguments.end());
        std::vector<char*> pointers;
        for (std::string& argument : copy) pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        return cli::run_tool(static_cast<int>(copy.size()), pointers.data(), tool);
      },
      output);
}

int parse_with_options(CLI::App& app, int argc, char** argv) {
  int beam = 1;
  app.description("Translates text.");
  cli::set_up(app, {{"attn-test model.h5 < in.txt", "translates standard input"}});
  app.add_option("--beam", beam, "Hypotheses kept");
  app.parse(argc, argv);
  return 0;
}

/// A pipe whose writing end is a program's messages.
class Capture {
 public:
  Capture() { REQUIRE(pipe(ends_) == 0); }
  int descriptor() const { return ends_[1]; }
  std::string text() {
    close(ends_[1]);
    return drain(ends_[0]);
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace

TEST_CASE("an error becomes one message and its exit code", "[cli]") {
  const auto result =
      run({}, [](CLI::App&, int, char**) -> int { attn::fail(ExitCode::config, "a.yaml:1:1: bad"); });
  CHECK(result.exit_code == 3);
  CHECK(result.messages == "attn-test: a.yaml:1:1: bad\n");
  CHECK(result.output.empty());
}

TEST_CASE("faults that are no attn error have exit code 1", "[cli]") {
  const auto memory = run({}, [](CLI::App&, int, char**) -> int { throw std::bad_alloc(); });
  CHECK(memory.exit_code == 1);
  CHECK(contains(memory.messages, "attn-test: not enough memory"));
  const auto other = run({}, [](CLI::App&, int, char**) -> int { throw std::runtime_error("surprise"); });
  CHECK(other.exit_code == 1);
  CHECK(other.messages == "attn-test: internal error: surprise\n");
  const auto unknown = run({}, [](CLI::App&, int, char**) -> int { throw 3; });
  CHECK(unknown.exit_code == 1);
  CHECK(contains(unknown.messages, "internal error"));
}

TEST_CASE("a wrong command line has exit code 2 and a hint", "[cli]") {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"--baem", "3"}, {"--beam", "x"}, {"--beam"}}) {
    const auto result = run(arguments, parse_with_options);
    CHECK(result.exit_code == 2);
    CHECK(contains(result.messages, "attn-test: "));
    CHECK(contains(result.messages, "Try 'attn-test --help'."));
    CHECK(result.output.empty());
  }
}

TEST_CASE("the option --help begins with examples on standard output", "[cli]") {
  const auto result = run({"--help"}, parse_with_options);
  CHECK(result.exit_code == 0);
  CHECK(result.output.rfind("Examples:\n  attn-test model.h5 < in.txt\n      translates standard input\n",
                            0) == 0);
  CHECK(contains(result.output, "Translates text."));
  CHECK(contains(result.output, "--beam"));
  CHECK(result.messages.empty());
  const auto version = run({"--version"}, parse_with_options);
  CHECK(version.exit_code == 0);
  CHECK(version.output.rfind("attn-test ", 0) == 0);
}

TEST_CASE("a full disk behind standard output is an error", "[cli]") {
  const auto write = [](CLI::App&, int, char**) {
    cli::StandardOutput output;
    output.write("text\n");
    output.finish();
    return 0;
  };
  const auto full = run({}, write, "/dev/full");
  CHECK(full.exit_code == 5);
  CHECK(full.messages == "attn-test: cannot write to standard output: No space left on device\n");
  const auto help = run({"--help"}, parse_with_options, "/dev/full");
  CHECK(help.exit_code == 5);
  CHECK(run({}, write).output == "text\n");
  CHECK(run({}, write, "/dev/null").exit_code == 0);
}

TEST_CASE("a reader that goes away ends the program quietly", "[cli]") {
  const auto result = run({}, [](CLI::App&, int, char**) -> int {
    int ends[2];
    if (pipe(ends) != 0) return 9;
    close(ends[0]);
    cli::StandardOutput output(ends[1]);
    output.write("text");
    output.finish();
    return 9;
  });
  CHECK(result.exit_code == 0);
  CHECK(result.messages.empty());
}

TEST_CASE("large output arrives whole", "[cli]") {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += fmt::format("line {}\n", i);
  const auto result = run({}, [&](CLI::App&, int, char**) {
    cli::StandardOutput output;
    for (std::size_t i = 0; i < text.size(); i += 7) output.write(std::string_view(text).substr(i, 7));
    output.finish();
    return 0;
  });
  CHECK((result.output == text));
}

TEST_CASE("the first signal sets a flag, the second interrupt ends the program", "[cli]") {
  const auto body = [](int first, int second) {
    return [first, second] {
      cli::install_signal_handlers();
      if (cli::interrupted()) return 9;
      std::raise(first);
      if (cli::interrupting_signal() != first) return 8;
      if (second != 0) std::raise(second);
      return 7;
    };
  };
  CHECK(in_child(body(SIGINT, 0)).exit_code == 7);
  CHECK(in_child(body(SIGTERM, 0)).exit_code == 7);
  CHECK(in_child(body(SIGINT, SIGTERM)).exit_code == 7);
  CHECK(in_child(body(SIGINT, SIGINT)).exit_code == 128 + SIGINT);
  CHECK(in_child(body(SIGTERM, SIGINT)).exit_code == 128 + SIGINT);
}

TEST_CASE("messages follow the level", "[cli]") {
  const auto shown = [](cli::Level level) {
    Capture capture;
    const cli::Messages messages("attn-test", level, capture.descriptor());
    messages.error("e{}", 1);
    messages.warning("w");
    messages.info("i");
    messages.detail("d");
    return capture.text();
  };
  CHECK(shown(cli::Level::quiet) == "attn-test: error: e1\n");
  CHECK(shown(cli::Level::normal) == "attn-test: error: e1\nattn-test: warning: w\ni\n");
  CHECK(shown(cli::Level::verbose) == "attn-test: error: e1\nattn-test: warning: w\ni\nd\n");
}

namespace {

/// What `body` shows on a terminal of 60 columns.
std::string on_terminal(const std::function<void(int)>& body) {
  int screen = -1;
  int program = -1;
  winsize size = {};
  size.ws_row = 24;
  size.ws_col = 60;
  REQUIRE(openpty(&screen, &program, nullptr, nullptr, &size) == 0);
  setenv("TERM", "xterm", 1);
  body(program);
  close(program);
  return drain(screen);
}

struct FakeClock {
  std::chrono::steady_clock::time_point time = {};
  std::function<std::chrono::steady_clock::time_point()> function() {
    return [this] { return time; };
  }
};

}  // namespace

TEST_CASE("colour is for terminals without NO_COLOR", "[cli]") {
  const auto warn = [](int descriptor) {
    cli::Messages("attn-test", cli::Level::normal, descriptor).warning("w");
  };
  unsetenv("NO_COLOR");
  CHECK(contains(on_terminal(warn), "\x1b[33mwarning: \x1b[0mw"));
  setenv("NO_COLOR", "1", 1);
  CHECK(on_terminal(warn) == "attn-test: warning: w\r\n");
  unsetenv("NO_COLOR");
}

TEST_CASE("without a terminal, progress is a line every few seconds", "[cli]") {
  Capture capture;
  const cli::Messages messages("attn-test", cli::Level::normal, capture.descriptor());
  FakeClock clock;
  {
    cli::Progress progress(messages, "training", 200, "updates", clock.function());
    for (std::uint64_t i = 1; i <= 100; ++i) {
      clock.time += std::chrono::milliseconds(100);
      progress.update(i, "loss 0.5");
    }
    progress.finish("loss 0.4");
  }
  CHECK(capture.text() ==
        "training  25% 50/200 updates  10/s  0:15 left  loss 0.5\n"
        "training  50% 100/200 updates  10/s  0:10 left  loss 0.5\n"
        "training  50% 100/200 updates  10/s  took 0:10  loss 0.4\n");
}

TEST_CASE("on a terminal, progress is one line that fits", "[cli]") {
  const std::string text = on_terminal([](int descriptor) {
    const cli::Messages messages("attn-test", cli::Level::normal, descriptor);
    FakeClock clock;
    cli::Progress progress(messages, "training", 4, "updates", clock.function());
    clock.time += std::chrono::seconds(1);
    progress.update(2, "a status that is far too long for this terminal");
    progress.clear();
    messages.info("saved");
  });
  CHECK(text == "\rtraining [##########..........]  50% 2/4 updates  2/s  0:01\x1b[K\r\x1b[Ksaved\r\n");
}

TEST_CASE("a quiet program shows no progress", "[cli]") {
  const std::string text = on_terminal([](int descriptor) {
    const cli::Messages messages("attn-test", cli::Level::quiet, descriptor);
    FakeClock clock;
    cli::Progress progress(messages, "training", 4, "updates", clock.function());
    clock.time += std::chrono::seconds(10);
    progress.update(2);
    progress.finish();
  });
  CHECK(text.empty());
}

TEST_CASE("progress without a total and after a resume counts only this run's rate", "[cli]") {
  Capture capture;
  const cli::Messages messages("attn-test", cli::Level::normal, capture.descriptor());
  FakeClock clock;
  cli::Progress progress(messages, "reading", 0, "lines", clock.function());
  progress.resume_at(1000);
  clock.time += std::chrono::seconds(10);
  progress.update(1500);
  CHECK(capture.text() == "reading 1500 lines  50/s\n");
}

TEST_CASE("durations and rates are short", "[cli]") {
  CHECK(cli::format_duration(7.4) == "0:07");
  CHECK(cli::format_duration(754) == "12:34");
  CHECK(cli::format_duration(3723) == "1:02:03");
  CHECK(cli::format_duration(-1) == "0:00");
  CHECK(cli::format_count(950) == "950");
  CHECK(cli::format_count(999.9) == "1.00k");
  CHECK(cli::format_count(12345) == "12.3k");
  CHECK(cli::format_count(4560000) == "4.56M");
  CHECK(cli::format_count(0.25) == "0.25");
}
