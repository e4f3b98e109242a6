#include "attn/evaluation/alignment_error_rate.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "attn/core/error.h"
#include "attn/text/lines.h"
#include "attn/text/utf8.h"

namespace attn {
namespace {

constexpr std::string_view blanks = " \t";

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return fields;
}

// The number that `text` begins with, which is taken off.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

struct MarkedLink {
  WordLinks::Link link;
  char mark;
};

std::optional<MarkedLink> parse_link(std::string_view field) {
  MarkedLink found{};
  const auto source = field.empty() ? std::nullopt : take_number(field);
  if (!source || field.size() < 2) return std::nullopt;
  found.mark = field.front();
  field.remove_prefix(1);
  const auto target = take_number(field);
  if (!target || !field.empty()) return std::nullopt;
  found.link = {*source, *target};
  return found;
}

void check_word(std::int64_t word, std::size_t count, std::int64_t first, std::string_view field,
                const std::string& place, const char* side) {
  if (word < static_cast<std::int64_t>(count)) return;
  if (count == 0) fail(ExitCode::input_data, "{}: the link '{}' of a {} without words", place, field, side);
  fail(ExitCode::input_data, "{}: the link '{}' names word {} of a {} whose words have the numbers {} to {}",
       place, field, word + first, side, first, static_cast<std::int64_t>(count) - 1 + first);
}

// White space between words, as words are counted for word alignments.
std::size_t count_words(std::string_view line) {
  std::size_t words = 0;
  bool inside = false;
  for (std::size_t offset = 0; offset < line.size();) {
    const DecodedCodePoint code_point = decode_code_point(line, offset);
    const bool space = is_unicode_space(code_point.value);
    if (!space && !inside) ++words;
    inside = !space;
    offset += code_point.length;
  }
  return words;
}

// A file beside the hypotheses, which must have as many lines.
class Companion {
 public:
  explicit Companion(const std::string& path) {
    if (!path.empty()) reader_.emplace(path);
  }
  bool given() const noexcept { return reader_.has_value(); }
  std::optional<std::string> next() { return reader_->next(); }
  std::size_t count_rest() {
    while (reader_->next()) {
    }
    return reader_->line_number();
  }
  const std::string& name() const { return reader_->report().name; }

 private:
  std::optional<LineReader> reader_;
};

[[noreturn]] void fail_count(Companion& a, Companion& b) {
  // In an order of their own: count_rest reads.
  const std::size_t count_a = a.count_rest(), count_b = b.count_rest();
  fail(ExitCode::input_data,
       "{} has {} lines and {} has {}; line i of one must belong to line i of the other", a.name(), count_a,
       b.name(), count_b);
}

double ratio(std::size_t part, std::size_t whole, double without) {
  return whole == 0 ? without : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

WordLinks parse_links(std::string_view line, const std::string& place, const AlignmentFormat& format,
                      const std::optional<WordCounts>& counts) {
  WordLinks links;
  for (const std::string_view field : fields_of(line)) {
    auto found = parse_link(field);
    const bool possible = found && (found->mark == 'p' || found->mark == '?');
    if (!found || !(found->mark == '-' || (possible && format.possible_allowed))) {
      fail(ExitCode::input_data, "{}: '{}' is no link; expected source-target as in 3-2{}", place, field,
           format.possible_allowed ? ", or 3p2 or 3?2 for a possible one" : "");
    }
    auto& [source, target] = found->link;
    if (source < format.first || target < format.first) {
      fail(ExitCode::input_data, "{}: the link '{}' has a 0, but the words are counted from {}", place, field,
           format.first);
    }
    source -= format.first;
    target -= format.first;
    if (counts) {
      check_word(source, counts->source, format.first, field, place, "source sentence");
      check_word(target, counts->target, format.first, field, place, "target sentence");
    }
    links.possible.insert(found->link);
    if (!possible) links.sure.insert(found->link);
  }
  return links;
}

AlignmentCounts& AlignmentCounts::operator+=(const AlignmentCounts& other) {
  links += other.links;
  sure += other.sure;
  possible += other.possible;
  links_in_sure += other.links_in_sure;
  links_in_possible += other.links_in_possible;
  return *this;
}

double AlignmentCounts::precision() const {
  return ratio(links_in_possible, links, 1.0);
}

double AlignmentCounts::recall() const {
  return ratio(links_in_sure, sure, 1.0);
}

double AlignmentCounts::error_rate() const {
  return 1.0 - ratio(links_in_sure + links_in_possible, links + sure, 1.0);
}

AlignmentCounts compare_links(const WordLinks& hypothesis, const WordLinks& reference) {
  AlignmentCounts counts;
  counts.links = hypothesis.possible.size();
  counts.sure = reference.sure.size();
  counts.possible = reference.possible.size();
  for (const WordLinks::Link& link : hypothesis.possible) {
    counts.links_in_sure += reference.sure.count(link);
    counts.links_in_possible += reference.possible.count(link);
  }
  return counts;
}

AlignmentEvaluation evaluate_alignments(const AlignmentFiles& files) {
  Companion hypotheses(files.hypothesis), references(files.reference), sources(files.source),
      targets(files.target);
  // Unless a text is given, any number may be a word's.
  constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max() / 2;
  AlignmentEvaluation evaluation;
  while (true) {
    const auto hypothesis = hypotheses.next(), reference = references.next();
    if (hypothesis.has_value() != reference.has_value()) fail_count(hypotheses, references);
    WordCounts counts{unlimited, unlimited};
    for (auto [text, count] : {std::pair{&sources, &counts.source}, std::pair{&targets, &counts.target}}) {
      if (!text->given()) continue;
      const auto line = text->next();
      if (line.has_value() != reference.has_value()) fail_count(*text, references);
      if (line) *count = count_words(*line);
    }
    if (!hypothesis) return evaluation;
    ++evaluation.sentences;
    const auto place = [&](const Companion& file) {
      return fmt::format("{}:{}", file.name(), evaluation.sentences);
    };
    evaluation.counts +=
        compare_links(parse_links(*hypothesis, place(hypotheses), {0, false}, counts),
                      parse_links(*reference, place(references), {files.reference_first, true}, counts));
  }
}

}  // namespace attn
