#include "output.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "attn/core/error.h"

namespace attn::translate {
namespace {

namespace fs = std::filesystem;

// Each record waits for the disk; lines that trickle in one by one need not each.
constexpr auto record_interval = std::chrono::milliseconds(200);

bool is_ordinary(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return !fs::exists(status) || fs::is_regular_file(status);
}

}  // namespace

Output::Output(const std::string& path, bool resume, PartRecord record) : record_(std::move(record)) {
  if (path != "-") open_file(path, resume);
}

Output::~Output() {
  if (!file_ || record_path_.empty()) return;
  if (recorded_lines_ > 0) {
    file_->keep_part();
  } else {
    std::error_code ignored;
    fs::remove(record_path_, ignored);
  }
}

void Output::open_file(const std::string& path, bool resume) {
  if (!is_ordinary(path)) {
    if (resume) fail(ExitCode::usage, "--resume needs an ordinary file, and {} is none", path);
    file_.emplace(path);
    return;
  }
  const fs::path part = PartFile::name_for(path);
  std::error_code ignored;
  std::optional<PartRecord> found;
  if (fs::exists(part, ignored)) found = read_record(record_path(path));
  if (found && found->counts.lines > 0) {
    if (!resume) {
      fail(ExitCode::usage,
           "{} holds {} lines of a run that was interrupted; go on with --resume, or remove it to translate "
           "from the first line",
           part.string(), found->counts.lines);
    }
    check_same_run(path, *found, record_);
    record_ = *found;
    check_part(path);
    file_.emplace(path, record_.output_bytes);
    recorded_lines_ = record_.counts.lines;
    resumed_ = std::move(found);
  } else {
    fs::remove(record_path(path), ignored);  // first, so that it never speaks of another part file
    file_.emplace(path);
  }
  record_path_ = record_path(path);
}

// The bytes that the record speaks of must be there; a torn line behind them is cut off later.
void Output::check_part(const fs::path& output) {
  const fs::path part = PartFile::name_for(output);
  std::ifstream stream(part, std::ios::binary);
  std::array<char, 1 << 16> bytes{};
  std::uint64_t left = record_.output_bytes;
  while (left > 0 && stream) {
    stream.read(bytes.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(left, bytes.size())));
    const auto count = static_cast<std::size_t>(stream.gcount());
    add({bytes.data(), count});
    left -= count;
  }
  if (left == 0 && digest() == record_.output_sha256) return;
  fail(
      ExitCode::file,
      "{} cannot be resumed: {} was changed after it was written; remove it to translate from the first line",
      output.string(), part.string());
}

void Output::add(std::string_view bytes) {
  digest_.update(bytes);
  lines_ += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

void Output::write(std::string_view bytes) {
  add(bytes);
  record_.output_bytes += bytes.size();
  if (file_) {
    file_->write(bytes);
  } else {
    standard_.write(bytes);
  }
}

void Output::flush() {
  if (!file_) standard_.flush();
}

bool Output::wants_record() const {
  return !record_path_.empty() && std::chrono::steady_clock::now() - recorded_at_ >= record_interval;
}

void Output::remember(const Counts& counts, std::string input_sha256, std::string target_sha256) {
  if (record_path_.empty()) return;
  file_->synchronise();
  record_.counts = counts;
  record_.input_sha256 = std::move(input_sha256);
  record_.target_sha256 = std::move(target_sha256);
  record_.output_sha256 = digest();
  write_record(record_path_, record_);
  recorded_lines_ = counts.lines;
  recorded_at_ = std::chrono::steady_clock::now();
}

void Output::finish() {
  if (!file_) {
    standard_.finish();
    return;
  }
  file_->commit();
  std::error_code ignored;
  if (!record_path_.empty()) fs::remove(record_path_, ignored);
  file_.reset();
}

}  // namespace attn::translate
