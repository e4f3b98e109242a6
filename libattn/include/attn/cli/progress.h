#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "attn/cli/messages.h"

namespace attn::cli {

/// "0:07", "12:34", "1:02:03".
std::string format_duration(double seconds);

/// "950", "12.3k", "4.56M": three digits, for rates.
std::string format_count(double value);

/// Shows how far a long job is, on standard error: on a terminal a bar that is redrawn in place, otherwise a
/// line every few seconds, nothing when quiet. A long line is cut to the terminal's width.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `total` in `unit`s, as 7200 "updates"; 0 when it is unknown. `now` is the clock, which tests replace.
  Progress(const Messages& messages, std::string label, std::uint64_t total, std::string unit,
           std::function<Clock::time_point()> now = Clock::now);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Ends the line of an unfinished bar, so that the next message begins on its own.
  ~Progress();

  /// `done` units so far, with anything worth seeing, as "loss 0.52  26.3k tokens/s". Cheap when called too
  /// often.
  void update(std::uint64_t done, std::string_view status = {});
  /// Removes the bar from the screen until the next update; call it before printing a message.
  void clear();
  /// Shows the last state and the time that it took.
  void finish(std::string_view status = {});

  /// Starts at `done` units that an earlier run has finished; they do not count for the rate.
  void resume_at(std::uint64_t done);

 private:
  std::string line(std::string_view status, bool finished) const;
  void draw(std::string_view status, bool finished);

  const Messages& messages_;
  std::string label_;
  std::uint64_t total_;
  std::string unit_;
  std::function<Clock::time_point()> now_;
  bool bar_;
  bool visible_ = false;  ///< whether a bar stands on the current line
  bool finished_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t done_ = 0;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace attn::cli
