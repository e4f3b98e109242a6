#include "corpus_lint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "attn/text/utf8.h"

namespace attn {
namespace {

// Shares from which on a finding is serious, in corpora large enough for shares to mean something.
constexpr std::size_t enough_pairs = 20;
constexpr double most_unknown = 0.1, most_equal = 0.5, most_without_letters = 0.5, most_repeated = 0.9;

// Of length ratios: a short sentence may be translated by one that is a few tokens longer.
constexpr double ratio_slack = 5;

constexpr const char* side_names[] = {"source", "target"};

bool above(std::size_t count, std::size_t of, double share) {
  return of >= enough_pairs && static_cast<double>(count) > share * static_cast<double>(of);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\v\f";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

PairKey key_of(const SentencePair& pair) {
  const std::hash<std::string_view> hash;
  return {hash(trimmed(pair.source)), static_cast<std::uint32_t>(hash(trimmed(pair.target))),
          static_cast<std::uint32_t>(pair.line)};
}

bool before(const PairKey& a, const PairKey& b) {
  return std::tuple(a.source, a.target, a.line) < std::tuple(b.source, b.target, b.line);
}

// Beyond ASCII: a control character, a mark of the byte order or a separator of lines inside the text.
bool is_control(unsigned char first, unsigned char second, unsigned char third) {
  return (first == 0xC2 && second < 0xA0) ||
         (first == 0xE2 && second == 0x80 && (third == 0xA8 || third == 0xA9)) ||
         (first == 0xEF && second == 0xBB && third == 0xBF);
}

std::string ratio_text(double ratio) {
  return fmt::format("one side more than {} times as many tokens", ratio);
}

}  // namespace

void FirstLines::add(std::size_t line) {
  constexpr std::size_t kept_at_most = 1024;
  ++count_;
  kept_.push_back(line);
  if (kept_.size() < kept_at_most) return;
  std::sort(kept_.begin(), kept_.end());
  kept_.resize(LineList::most);
}

std::vector<std::size_t> FirstLines::lines() const {
  std::vector<std::size_t> lines = kept_;
  std::sort(lines.begin(), lines.end());
  lines.resize(std::min(lines.size(), LineList::most));
  return lines;
}

CorpusLint::CorpusLint(std::string data, const DataConfig& config)
    : data_(std::move(data)), config_(config) {}

CorpusLint::Text CorpusLint::examine(std::string_view text) {
  Text found;
  found.hash = std::hash<std::string_view>{}(trimmed(text));
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char first = byte(i);
    if (first < 0x80) {
      found.has_letter |= (first | 0x20) >= 'a' && (first | 0x20) <= 'z';
      found.has_tab |= first == '\t';
      found.has_control |= (first < 0x20 && first != '\t') || first == 0x7F;
    } else if (first >= 0xC2) {  // the first byte of a longer sequence
      const unsigned char second = byte(i + 1), third = byte(i + 2);
      if (first == 0xEF && second == 0xBF && third == 0xBD)
        found.has_replacement = true;
      else if (is_control(first, second, third))
        found.has_control = true;
      else
        found.has_letter |= first >= 0xC3 && first != 0xE2;  // U+2000 to U+2FFF: signs
    }
  }
  return found;
}

void CorpusLint::read(const SentencePair& pair, bool repaired) {
  const Text source = examine(pair.source), target = examine(pair.target);
  ++pairs_;
  if (!repaired && (source.has_replacement || target.has_replacement)) replacement_.add(pair.line);
  if (source.has_control || target.has_control) control_.add(pair.line);
  if (source.has_tab || target.has_tab) tab_.add(pair.line);
  if (source.hash == target.hash) same_.add(pair.line);
  if (!source.has_letter) no_letters_[source_side].add(pair.line);
  if (!target.has_letter) no_letters_[target_side].add(pair.line);
  if (pairs_ > 1 && source.hash == last_source_) repeated_[source_side].add(pair.line);
  if (pairs_ > 1 && target.hash == last_target_) repeated_[target_side].add(pair.line);
  last_source_ = source.hash;
  last_target_ = target.hash;
}

void CorpusLint::finished_reading(const PairReader& reader) {
  name_ = reader.name();
  blank_ = reader.blank_lines();
  one_sided_ = reader.one_sided_lines();
  files_ = reader.reports();
}

void CorpusLint::tokenised(const SentencePair& pair, std::span<const std::string> source,
                           std::span<const std::string> target, std::span<const std::int32_t> source_ids,
                           std::span<const std::int32_t> target_ids) {
  keys_.push_back(key_of(pair));
  const auto [shorter, longer] = std::minmax({source.size(), target.size()});
  if (shorter == 0) without_tokens_.add(pair.line);
  if (static_cast<double>(longer) > config_.lint_ratio * static_cast<double>(shorter) + ratio_slack)
    ratio_.add(pair.line);
  const auto note_unknown = [&](Side side, auto tokens, auto ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == Vocabulary::unk) ++unknown_[side][tokens[i]];
    }
  };
  note_unknown(source_side, source, source_ids);
  note_unknown(target_side, target, target_ids);
}

void CorpusLint::add(LintReport& report, const char* check, std::string text, const LineList& lines,
                     bool serious) const {
  if (lines.count == 0) return;
  report.findings.push_back({data_, check, std::move(text), lines.count, pairs_, lines.first, {}, serious});
}

void CorpusLint::report_lines(LintReport& report) const {
  const std::size_t lines = pairs_ + blank_.count + one_sided_.count;
  for (const auto& [check, text, found] :
       {std::tuple("blank", "blank line: left out", &blank_),
        std::tuple("one-sided", "text on one side only: left out", &one_sided_)}) {
    add(report, check, text, *found, found == &one_sided_);
    if (found->count > 0) report.findings.back().of = lines;
  }
  add(report, "no-tokens", "a side without any token", without_tokens_);
}

void CorpusLint::report_encoding(LintReport& report) const {
  for (const TextReport& file : files_) {
    if (file.replaced == 0) continue;
    report.findings.push_back({data_, "encoding", "not UTF-8: bytes became U+FFFD",
                               file.lines_with_replacements, file.lines, file.replacement_lines,
                               files_.size() > 1 ? file.name : std::string(), true});
  }
  add(report, "replacement-character", "U+FFFD in the text: was damaged before", replacement_, true);
  add(report, "control-characters", "control characters in the text", control_);
}

void CorpusLint::report_columns(LintReport& report) const {
  add(report, "tab", "TAB inside a text: is it a file of pairs?", tab_,
      above(tab_.count, pairs_, most_equal));
  add(report, "equal", "source equal to target", same_, above(same_.count, pairs_, most_equal));
  for (const Side side : {source_side, target_side}) {
    if (above(no_letters_[side].count, pairs_, most_without_letters)) {
      add(report, "columns", fmt::format("no letters in the {}: is it the right column?", side_names[side]),
          no_letters_[side], true);
    }
    if (above(repeated_[side].count, pairs_, most_repeated)) {
      add(report, "columns",
          fmt::format("{} as in the line before: is it the right column?", side_names[side]), repeated_[side],
          true);
    }
  }
}

void CorpusLint::report_lengths(const EncodedSide& source, const EncodedSide& target,
                                LintReport& report) const {
  for (const auto& [name, counts] : {std::pair(side_names[0], &source), std::pair(side_names[1], &target)}) {
    const LineList& cropped = counts->cropped_lines;
    add(report, "too-long",
        config_.steps > 0
            ? fmt::format("{} of more than data.steps {}: cut", name, config_.steps)
            : fmt::format("{} of more than data.max_length {}: cropped", name, config_.max_length),
        cropped, config_.steps == 0 && above(cropped.count, pairs_, most_equal));
  }
  add(report, "too-long", fmt::format("longer than data.max_length {}: left out", config_.max_length),
      skipped_, above(skipped_.count, pairs_, most_equal));
  add(report, "length-ratio", ratio_text(config_.lint_ratio), ratio_);
}

void CorpusLint::report_repetitions(LintReport& report) {
  std::sort(keys_.begin(), keys_.end(), before);
  FirstLines duplicates, ambiguous;
  std::size_t first_of_source = 0;
  for (std::size_t i = 1; i <= keys_.size(); ++i) {
    const bool same_source = i < keys_.size() && keys_[i].source == keys_[i - 1].source;
    if (same_source && keys_[i].target == keys_[i - 1].target) duplicates.add(keys_[i].line);
    if (same_source) continue;
    if (keys_[first_of_source].target != keys_[i - 1].target) {
      std::uint32_t line = keys_[first_of_source].line;
      for (std::size_t k = first_of_source; k < i; ++k) line = std::min(line, keys_[k].line);
      ambiguous.add(line);
    }
    first_of_source = i;
  }
  add(report, "duplicate", "pair that stands further up, too", {duplicates.count(), duplicates.lines()});
  add(report, "several-targets", "source with several targets", {ambiguous.count(), ambiguous.lines()});
}

void CorpusLint::report_unknown(Side side, const EncodedSide& counts, LintReport& report) const {
  if (counts.unknown == 0) return;
  constexpr std::size_t shown = 5;
  std::vector<std::pair<std::string, std::size_t>> tokens(unknown_[side].begin(), unknown_[side].end());
  const auto more = [](const auto& a, const auto& b) {
    return std::pair(b.second, std::string_view(a.first)) < std::pair(a.second, std::string_view(b.first));
  };
  const std::size_t count = std::min(shown, tokens.size());
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count), tokens.end(), more);
  std::vector<std::string> frequent;
  for (std::size_t i = 0; i < count; ++i)
    frequent.push_back(fmt::format("{} {}", tokens[i].first, tokens[i].second));
  report.findings.push_back(
      {data_,
       fmt::format("unknown-{}", side_names[side]),
       fmt::format("unknown {} tokens: <unk>", side_names[side]),
       counts.unknown,
       counts.tokens,
       {},
       fmt::format("{}{}", fmt::join(frequent, ", "), tokens.size() > count ? ", ..." : ""),
       above(counts.unknown, counts.tokens, most_unknown)});
}

void CorpusLint::report(const EncodedSide& source, const EncodedSide& target, LintReport& report) {
  report.corpora.push_back(
      {data_, name_, pairs_, source.tokens, source.unknown, target.tokens, target.unknown});
  report_lines(report);
  report_encoding(report);
  report_columns(report);
  report_lengths(source, target, report);
  report_repetitions(report);
  report_unknown(source_side, source, report);
  report_unknown(target_side, target, report);
}

void CorpusLint::report_overlap(const CorpusLint& training, LintReport& report) const {
  FirstLines pairs, sources;
  for (const PairKey& key : keys_) {
    auto found =
        std::lower_bound(training.keys_.begin(), training.keys_.end(), PairKey{key.source, 0, 0}, before);
    if (found == training.keys_.end() || found->source != key.source) continue;
    found = std::lower_bound(found, training.keys_.end(), PairKey{key.source, key.target, 0}, before);
    const bool same_pair =
        found != training.keys_.end() && found->source == key.source && found->target == key.target;
    (same_pair ? pairs : sources).add(key.line);
  }
  add(report, "overlap", "pair that is a training pair, too", {pairs.count(), pairs.lines()}, true);
  add(report, "overlap-source", "source that is a training source, too", {sources.count(), sources.lines()});
}

}  // namespace attn
