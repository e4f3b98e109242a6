#include "jobs.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>
#include <thread>

#include "attn/cli/progress.h"
#include "attn/cli/signals.h"
#include "attn/experiment/run_history.h"
#include "attn/io/atomic_file.h"
#include "process.h"
#include "sweep.h"

namespace attn::train {
namespace {

using namespace std::chrono_literals;

constexpr auto between_looks = 50ms;

std::int64_t threads_of(const Plan& plan) {
  return std::visit([](const auto& config) { return config.backend.threads; }, plan.config);
}

/// The command line of one run: the one of the sweep without --jobs.
std::vector<std::string> arguments_for(const Plan& plan, const std::vector<std::string>& arguments,
                                       int jobs) {
  std::vector<std::string> words{arguments.front(), "--only=" + plan.sweep_point};
  if (threads_of(plan) == 0) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    words.push_back(fmt::format("--threads={}", std::max(1U, cores / static_cast<unsigned>(jobs))));
  }
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--jobs") {
      ++i;
    } else if (!arguments[i].starts_with("--jobs=")) {
      words.push_back(arguments[i]);
    }
  }
  return words;
}

std::filesystem::path log_of(const Plan& plan) {
  return plan.run_directory().string() + ".log";
}

/// The last line that is not empty, without the program's name before it.
std::string last_line(const std::filesystem::path& log) {
  std::string text;
  try {
    text = read_file(log);
  } catch (const Error& error) {
    return error.what();
  }
  text.erase(text.find_last_not_of('\n') + 1);
  text.erase(0, text.rfind('\n') + 1);
  constexpr std::string_view tool = "attn-train: ";
  return text.starts_with(tool) ? text.substr(tool.size()) : text;
}

/// One run of the sweep, from waiting to its end.
struct Job {
  const Plan* plan = nullptr;
  std::optional<Process> process = {};
  bool ended = false;
  bool finished = false, skipped = false, interrupted = false;
  std::optional<Error> failure = {};
  std::string output = {};  ///< its result, until those before it are printed
};

class JobQueue {
 public:
  JobQueue(const Options& options, const std::vector<std::string>& arguments, const cli::Messages& messages,
           cli::StandardOutput& out, const std::vector<Plan>& plans)
      : options_(options),
        arguments_(arguments),
        messages_(messages),
        out_(out),
        progress_(messages, "sweep", plans.size(), "runs") {
    for (const Plan& plan : plans) jobs_.push_back({.plan = &plan});
  }

  ExitCode run() {
    while (true) {
      if (cli::interrupted() && !told_) tell();
      if (!told_) start();
      look();
      print();
      if (running() == 0 && (told_ || next_ == jobs_.size())) break;
      std::this_thread::sleep_for(between_looks);
    }
    print_rest();
    progress_.clear();
    return report();
  }

 private:
  std::size_t running() const {
    return static_cast<std::size_t>(
        std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.process.has_value(); }));
  }

  void start() {
    for (; next_ < jobs_.size() && running() < static_cast<std::size_t>(*options_.jobs); ++next_) {
      Job& job = jobs_[next_];
      if (is_finished(options_, *job.plan)) {
        job.ended = job.skipped = true;
        job.output = stored_report(options_, *job.plan);
        say(job, "finished before");
        continue;
      }
      try {
        job.process.emplace(arguments_for(*job.plan, arguments_, *options_.jobs), log_of(*job.plan),
                            options_.resume);
      } catch (const Error& error) {
        fail_job(job, error);
      }
    }
  }

  void look() {
    for (Job& job : jobs_) {
      const std::optional<int> status = job.process ? job.process->ended() : std::nullopt;
      if (status) end(job, *status);
    }
    progress_.update(static_cast<std::uint64_t>(
                         std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.ended; })),
                     counts());
  }

  void end(Job& job, int status) {
    job.output = job.process->output();
    job.process.reset();
    std::ofstream(log_of(*job.plan), std::ios::app) << job.output;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == static_cast<int>(ExitCode::interrupted) && told_) {
      job.ended = job.interrupted = true;
      say(job, "interrupted");
    } else if (code == static_cast<int>(ExitCode::ok)) {
      job.ended = job.finished = true;
      say(job, "finished");
    } else if (code < 0) {
      fail_job(job, Error(ExitCode::internal,
                          fmt::format("ended by signal {} ({}); see {}", WTERMSIG(status),
                                      strsignal(WTERMSIG(status)), log_of(*job.plan).string())));
    } else {
      const RunStatus said = run_status(job.plan->run_directory());
      const bool known = said.state == RunState::failed && !said.message.empty();
      fail_job(job, Error(static_cast<ExitCode>(code), known ? said.message : last_line(log_of(*job.plan))));
    }
  }

  void fail_job(Job& job, const Error& error) {
    job.ended = true;
    job.failure = error;
    progress_.clear();
    messages_.warning("{} failed: {}", job.plan->name(), error.what());
  }

  void say(const Job& job, const char* what) {
    progress_.clear();
    messages_.info("{}: {}", job.plan->name(), what);
  }

  // Results come in the order of the sweep, as soon as all before them are there.
  void print() {
    for (; printed_ < jobs_.size() && jobs_[printed_].ended; ++printed_) out_.write(jobs_[printed_].output);
    out_.flush();
  }
  void print_rest() {
    for (; printed_ < jobs_.size(); ++printed_) out_.write(jobs_[printed_].output);
    out_.flush();
  }

  void tell() {
    told_ = true;
    for (const Job& job : jobs_) {
      if (job.process) job.process->send(cli::interrupting_signal());
    }
    progress_.clear();
    messages_.info("{} runs are asked to save and end", running());
  }

  std::string counts() const {
    std::size_t done = 0, failed = 0;
    for (const Job& job : jobs_) {
      if (job.finished || job.skipped) ++done;
      if (job.failure) ++failed;
    }
    return fmt::format("{} running, {} finished, {} failed", running(), done, failed);
  }

  ExitCode report() const {
    SweepOutcome outcome(messages_);
    if (told_) outcome.interrupted();
    for (const Job& job : jobs_) {
      if (job.finished) outcome.finished();
      if (job.skipped) outcome.skipped();
      if (job.failure) outcome.failed(*job.plan, job.failure->code(), job.failure->what());
    }
    return outcome.report(jobs_.size());
  }

  const Options& options_;
  const std::vector<std::string>& arguments_;
  const cli::Messages& messages_;
  cli::StandardOutput& out_;
  cli::Progress progress_;
  std::deque<Job> jobs_;
  std::size_t next_ = 0, printed_ = 0;
  bool told_ = false;  ///< the runs were asked to stop
};

}  // namespace

ExitCode run_jobs(const Options& options, const std::vector<Plan>& plans,
                  const std::vector<std::string>& arguments, const cli::Messages& messages,
                  cli::StandardOutput& out) {
  if (plans.front().sweep_point.empty())
    fail(ExitCode::usage, "--jobs is for a sweep; the configuration has none");
  check_folders(options, plans);
  return JobQueue(options, arguments, messages, out, plans).run();
}

}  // namespace attn::train
