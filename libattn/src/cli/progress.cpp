#include "attn/cli/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attn/cli/terminal.h"
#include "cli/write_all.h"

namespace attn::cli {
namespace {

using namespace std::chrono_literals;

constexpr Progress::Clock::duration between_redraws = 100ms;
constexpr Progress::Clock::duration between_lines = 5s;
constexpr std::size_t bar_columns = 20;

double seconds_of(Progress::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// The first `columns` characters; UTF-8 sequences stay whole.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (begins && ++characters > columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::lround(std::clamp(seconds, 0.0, 1e9)));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string format_count(double value) {
  constexpr std::array<const char*, 5> suffixes = {"", "k", "M", "G", "T"};
  std::size_t suffix = 0;
  // 999.5 would round to four digits.
  while (value >= 999.5 && suffix + 1 < suffixes.size()) {
    value /= 1000;
    ++suffix;
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  if (suffix == 0 && value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}{}", value, decimals, suffixes[suffix]);
}

Progress::Progress(const Messages& messages, std::string label, std::uint64_t total, std::string unit,
                   std::function<Clock::time_point()> now)
    : messages_(messages),
      label_(std::move(label)),
      total_(total),
      unit_(std::move(unit)),
      now_(std::move(now)),
      bar_(is_terminal(messages.descriptor())),
      start_(now_()),
      last_(start_) {}

Progress::~Progress() {
  if (visible_) write_all(messages_.descriptor(), "\n");
}

void Progress::resume_at(std::uint64_t done) {
  first_ = done;
  done_ = done;
}

void Progress::update(std::uint64_t done, std::string_view status) {
  done_ = done;
  if (messages_.level() == Level::quiet || finished_) return;
  const Clock::time_point now = now_();
  if (now - last_ < (bar_ ? between_redraws : between_lines)) return;
  last_ = now;
  draw(status, false);
}

void Progress::clear() {
  if (!visible_) return;
  write_all(messages_.descriptor(), "\r\x1b[K");
  visible_ = false;
}

void Progress::finish(std::string_view status) {
  if (finished_) return;
  finished_ = true;
  if (messages_.level() != Level::quiet) draw(status, true);
}

std::string Progress::line(std::string_view status, bool finished) const {
  const double elapsed = seconds_of(now_() - start_);
  const double rate = elapsed > 0 ? static_cast<double>(done_ - std::min(first_, done_)) / elapsed : 0;
  std::string text = label_;
  if (total_ > 0) {
    const double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    if (bar_) {
      const auto filled = static_cast<std::size_t>(part * bar_columns);
      text += fmt::format(" [{}{}]", std::string(filled, '#'), std::string(bar_columns - filled, '.'));
    }
    text += fmt::format(" {:3.0f}% {}/{} {}", std::floor(part * 100), done_, total_, unit_);
  } else {
    text += fmt::format(" {} {}", done_, unit_);
  }
  if (rate > 0) text += fmt::format("  {}/s", format_count(rate));
  if (finished) {
    text += fmt::format("  took {}", format_duration(elapsed));
  } else if (total_ > done_ && rate > 0) {
    text += fmt::format("  {} left", format_duration(static_cast<double>(total_ - done_) / rate));
  }
  if (!status.empty()) text += fmt::format("  {}", status);
  return text;
}

void Progress::draw(std::string_view status, bool finished) {
  const int descriptor = messages_.descriptor();
  const std::string text = line(status, finished);
  if (!bar_) {
    write_all(descriptor, text + "\n");
    return;
  }
  // The last column stays free: some terminals wrap there.
  const std::size_t width = std::max<std::size_t>(terminal_width(descriptor), 2) - 1;
  write_all(descriptor, fmt::format("\r{}\x1b[K{}", cut(text, width), finished ? "\n" : ""));
  visible_ = !finished;
}

}  // namespace attn::cli
