#include "attn/inspection/attention_dump.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/decoding/translator.h"
#include "attn/text/utf8.h"
#include "attn/text/vocabulary.h"

namespace attn {
namespace {

constexpr std::size_t window_lines = 512;
// Weights that are held before they are written: 16 MiB, or one sentence.
constexpr std::size_t window_weights = std::size_t{4} << 20;

constexpr double no_score = std::numeric_limits<double>::quiet_NaN();

std::vector<ByteSpan> text_spans(const Tokenizer& tokenizer, const std::string& text, std::size_t tokens) {
  std::vector<ByteSpan> spans;
  for (const Token& token : tokenizer.tokenize_with_spans(text))
    spans.emplace_back(static_cast<std::int32_t>(token.begin), static_cast<std::int32_t>(token.end));
  spans.resize(tokens, no_span);  // cropped, or followed by <eos>
  return spans;
}

// Where the tokens stand in the text that they were joined to.
std::vector<ByteSpan> joined_spans(const Tokenizer& tokenizer, const std::vector<std::string>& tokens,
                                   std::size_t ids) {
  std::vector<ByteSpan> spans;
  for (const Token& token : tokenizer.detokenize_with_spans(tokens).tokens)
    spans.emplace_back(static_cast<std::int32_t>(token.begin), static_cast<std::int32_t>(token.end));
  spans.resize(ids, no_span);
  return spans;
}

// Source sentences as one padded matrix.
struct PaddedSources {
  PaddedSources(std::span<ArchivedSentence* const> sentences, std::optional<std::size_t> steps) {
    for (const ArchivedSentence* sentence : sentences)
      columns = std::max(columns, sentence->source_ids.size());
    columns = steps.value_or(columns);
    for (const ArchivedSentence* sentence : sentences) {
      const std::vector<std::int32_t>& row = sentence->source_ids;
      ids.insert(ids.end(), row.begin(), row.end());
      ids.insert(ids.end(), columns - row.size(), Vocabulary::pad);
      valid_lengths.push_back(static_cast<std::int32_t>(row.size()));
    }
  }
  TokenBatch batch() const {
    return {static_cast<std::int64_t>(valid_lengths.size()), static_cast<std::int64_t>(columns), ids,
            valid_lengths};
  }

  std::size_t columns = 0;
  std::vector<std::int32_t> ids, valid_lengths;
};

void write_header(hdf5::File& file, const TranslationSystem& system, const std::string& command_line) {
  const Device& device = *system.model->device();
  hdf5::Header header{std::string(AttentionArchive::format), AttentionArchive::format_version};
  header.creator = "attn-dump";
  header.command_line = command_line;
  header.git_revision = ATTN_GIT_REVISION;
  header.backend = device.backend().name();
  header.device = device.name();
  header.checkpoint_sha256 = system.checkpoint_sha256;
  header.config_sha256 = sha256_hex(system.config_yaml);
  hdf5::write_header(file, header);
  file.write_string("/meta/config_yaml", system.config_yaml);
}

}  // namespace

class AttentionDump::Work {
 public:
  Work(hdf5::File& file, const TranslationSystem& system, AttentionDumpOptions options,
       const std::string& command_line)
      : system_(system),
        options_(std::move(options)),
        translator_(*system.model, system.config, system.text, translator_options()),
        kinds_(select_attention(*system.model, options_.selection)) {
    write_header(file, system, command_line);
    writer_ = std::make_unique<AttentionArchiveWriter>(
        file, system.text,
        AttentionArchiveLayout{kinds_, options_.half, options_.forced, options_.references});
  }

  void add(Line line) {
    waiting_.push_back(std::move(line));
    if (waiting_.size() >= window_lines) treat_waiting();
  }
  void finish() {
    treat_waiting();
    writer_->finish();
  }
  std::size_t lines_written() const noexcept { return lines_written_; }
  std::size_t bad_lines() const noexcept { return bad_lines_; }

 private:
  TranslatorOptions translator_options() const {
    TranslatorOptions translator;
    translator.search = options_.search;
    translator.batch_tokens = options_.batch_tokens;
    translator.after_batch = [this](std::size_t) { pause(); };
    return translator;
  }
  void pause() const {
    if (options_.between_batches) options_.between_batches();
  }
  void warn(const std::string& text) {
    ++bad_lines_;
    if (options_.warn) options_.warn(text);
  }

  void treat_waiting();
  std::vector<ArchivedSentence> translated();
  std::vector<ArchivedSentence> given();
  ArchivedSentence begin_sentence(Line& line, std::size_t number);
  void set_source(ArchivedSentence& sentence, const EncodedLine& source);
  void set_status(ArchivedSentence& sentence, const EncodedLine& source, const EncodedLine* target);
  void dump(std::span<ArchivedSentence> sentences);
  void record(std::span<ArchivedSentence* const> batch);
  std::size_t weights_of(const ArchivedSentence& sentence) const;

  const TranslationSystem& system_;
  AttentionDumpOptions options_;
  Translator translator_;
  std::vector<AttentionArchiveLayout::Kind> kinds_;
  std::unique_ptr<AttentionArchiveWriter> writer_;
  std::vector<Line> waiting_;
  std::size_t lines_written_ = 0, bad_lines_ = 0;
};

ArchivedSentence AttentionDump::Work::begin_sentence(Line& line, std::size_t number) {
  for (const std::string* text : {&line.source, &line.target, &line.reference}) {
    if (text->find('\0') == std::string::npos) continue;
    warn(fmt::format("{}:{}: this line holds NUL, which the archive stores as U+001A", options_.source_name,
                     number));
    break;
  }
  ArchivedSentence sentence;
  sentence.line = number;
  sentence.source_text = std::move(line.source);
  sentence.target_text = std::move(line.target);
  sentence.reference = std::move(line.reference);
  sentence.score = no_score;
  sentence.blocks.resize(kinds_.size());
  return sentence;
}

void AttentionDump::Work::set_source(ArchivedSentence& sentence, const EncodedLine& source) {
  sentence.source_ids = source.ids;
  sentence.source_spans =
      text_spans(system_.text.source_tokenizer, sentence.source_text, source.tokens.size());
  sentence.source_spans.resize(source.ids.size(), no_span);
}

void AttentionDump::Work::set_status(ArchivedSentence& sentence, const EncodedLine& source,
                                     const EncodedLine* target) {
  const auto look = [&](const EncodedLine& line, const std::string& name, const char* side) {
    const auto warning = cropping_warning(line, name, sentence.line, side);
    if (!warning) return;
    sentence.status = LineStatus::cropped;
    warn(*warning);
  };
  look(source, options_.source_name, "source");
  if (target != nullptr) look(*target, options_.target_name, "target");
}

std::vector<ArchivedSentence> AttentionDump::Work::translated() {
  std::vector<std::string> texts;
  for (const Line& line : waiting_) texts.push_back(line.source);
  std::vector<Translation> translations = translator_.translate(texts, lines_written_ + 1);
  std::vector<ArchivedSentence> sentences;
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const Translation& translation = translations[i];
    ArchivedSentence& sentence = sentences.emplace_back(begin_sentence(waiting_[i], translation.line));
    if (translation.blank) {
      sentence.status = LineStatus::empty;
      continue;
    }
    const TranslatedText& best = translation.best.front();
    set_source(sentence, translation.source);
    set_status(sentence, translation.source, nullptr);
    sentence.target_text = best.text;
    sentence.target_ids = best.hypothesis.tokens;
    if (best.hypothesis.finished) sentence.target_ids.push_back(Vocabulary::eos);
    sentence.target_spans =
        joined_spans(system_.text.target_tokenizer, best.tokens, sentence.target_ids.size());
    sentence.score = best.hypothesis.score;
  }
  return sentences;
}

std::vector<ArchivedSentence> AttentionDump::Work::given() {
  std::vector<ArchivedSentence> sentences;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    ArchivedSentence& sentence = sentences.emplace_back(begin_sentence(waiting_[i], lines_written_ + 1 + i));
    const EncodedLine source = translator_.encode_source(sentence.source_text);
    const EncodedLine target = translator_.encode_target(sentence.target_text);
    const bool no_source = source.tokens_found == 0 || is_blank(sentence.source_text);
    const bool no_target = target.tokens_found == 0 || is_blank(sentence.target_text);
    if (no_source || no_target) {
      sentence.status = no_source && no_target ? LineStatus::empty : LineStatus::skipped;
      if (sentence.status == LineStatus::skipped) {
        warn(fmt::format("{}:{}: the {} line is blank and the other is not, so that this pair is skipped",
                         no_source ? options_.source_name : options_.target_name, sentence.line,
                         no_source ? "source" : "target"));
      }
      continue;
    }
    set_source(sentence, source);
    set_status(sentence, source, &target);
    sentence.target_ids = target.ids;
    sentence.target_spans =
        text_spans(system_.text.target_tokenizer, sentence.target_text, target.tokens.size());
    sentence.target_spans.resize(target.ids.size(), no_span);
  }
  return sentences;
}

std::size_t AttentionDump::Work::weights_of(const ArchivedSentence& sentence) const {
  const std::size_t longest = std::max(sentence.source_ids.size(), sentence.target_ids.size());
  std::size_t maps = 0;
  for (const auto& kind : kinds_) maps += kind.layers.size() * kind.heads.size();
  return maps * longest * longest;
}

void AttentionDump::Work::treat_waiting() {
  if (waiting_.empty()) return;
  std::vector<ArchivedSentence> sentences = options_.forced ? given() : translated();
  waiting_.clear();
  for (std::size_t first = 0; first < sentences.size();) {
    std::size_t last = first, weights = 0;
    while (last < sentences.size() && (last == first || weights < window_weights))
      weights += weights_of(sentences[last++]);
    dump(std::span(sentences).subspan(first, last - first));
    first = last;
  }
}

// Records the sentences in batches of similar length and writes them in their order.
void AttentionDump::Work::dump(std::span<ArchivedSentence> sentences) {
  std::vector<ArchivedSentence*> order;
  for (ArchivedSentence& sentence : sentences) {
    if (!sentence.target_ids.empty()) order.push_back(&sentence);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->source_ids.size(), a->target_ids.size()) >
           std::pair(b->source_ids.size(), b->target_ids.size());
  });
  for (std::size_t first = 0; first < order.size();) {
    const std::size_t columns = order[first]->source_ids.size();
    const std::size_t rows = std::max<std::size_t>(options_.batch_tokens / columns, 1);
    const std::size_t count = std::min(rows, order.size() - first);
    record(std::span(order).subspan(first, count));
    first += count;
  }
  for (ArchivedSentence& sentence : sentences) {
    writer_->append(sentence);
    sentence = {};
    ++lines_written_;
  }
  pause();
}

void AttentionDump::Work::record(std::span<ArchivedSentence* const> batch) {
  const PaddedSources sources(batch, system_.text.steps);
  std::vector<std::vector<std::int32_t>> targets;
  for (const ArchivedSentence* sentence : batch) targets.push_back(sentence->target_ids);
  std::vector<SentenceMaps> maps = record_attention(*system_.model, kinds_, sources.batch(), targets);
  for (std::size_t b = 0; b < batch.size(); ++b) {
    batch[b]->blocks = std::move(maps[b].blocks);
    if (options_.forced) batch[b]->score = maps[b].log_probability;
  }
  pause();
}

AttentionDump::AttentionDump(hdf5::File& file, const TranslationSystem& system, AttentionDumpOptions options,
                             const std::string& command_line)
    : work_(std::make_unique<Work>(file, system, std::move(options), command_line)) {}

AttentionDump::~AttentionDump() = default;

void AttentionDump::add(Line line) {
  work_->add(std::move(line));
}

void AttentionDump::finish() {
  work_->finish();
}

std::size_t AttentionDump::lines_written() const noexcept {
  return work_->lines_written();
}

std::size_t AttentionDump::bad_lines() const noexcept {
  return work_->bad_lines();
}

}  // namespace attn
