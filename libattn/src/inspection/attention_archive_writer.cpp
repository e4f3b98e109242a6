#include "attn/inspection/attention_archive_writer.h"

#include <algorithm>
#include <optional>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/inspection/attention_statistics.h"
#include "attn/text/vocabulary.h"
#include "inspection/archive_layout.h"

namespace attn {
namespace {

constexpr std::size_t buffered_rows = 1024;
constexpr std::size_t buffered_weights = std::size_t{1} << 20;

hdf5::Storage growing() {
  hdf5::Storage storage = hdf5::Storage::compressed();
  storage.extendable = true;
  return storage;
}

// A growing dataset with a buffer before it.
template<hdf5::Number T>
class Column {
 public:
  explicit Column(hdf5::Dataset dataset) : dataset_(std::move(dataset)) {}
  Column(hdf5::Group& group, const std::string& name, std::string_view long_name, std::string_view units,
         const hdf5::Shape& row = {})
      : Column(group.create_dataset<T>(name, shape(row), growing())) {
    dataset_.describe(long_name, units);
  }

  void add(T value) { buffer_.push_back(value); }
  void add(std::span<const T> values) { buffer_.insert(buffer_.end(), values.begin(), values.end()); }
  std::size_t buffered() const noexcept { return buffer_.size(); }
  void flush() {
    dataset_.append(std::span<const T>(buffer_));
    buffer_.clear();
  }
  hdf5::Dataset& dataset() noexcept { return dataset_; }

 private:
  static hdf5::Shape shape(hdf5::Shape row) {
    row.insert(row.begin(), 0);
    return row;
  }
  hdf5::Dataset dataset_;
  std::vector<T> buffer_;
};

class TextColumn {
 public:
  TextColumn(hdf5::Group& group, const std::string& name)
      : dataset_(group.create_string_dataset(name, {0}, {.extendable = true})) {}

  // HDF5's strings cannot hold NUL; another control character keeps the byte spans right.
  void add(std::string text) {
    std::replace(text.begin(), text.end(), '\0', archive::nul_substitute);
    digest_.update(text.size()).update(text);
    buffer_.push_back(std::move(text));
  }
  void flush() {
    dataset_.append_strings(buffer_);
    buffer_.clear();
  }
  // HDF5's checksums do not reach texts of variable length.
  void finish() { dataset_.set_attribute("sha256", digest_.hex_digest()); }
  hdf5::Dataset& dataset() noexcept { return dataset_; }

 private:
  hdf5::Dataset dataset_;
  std::vector<std::string> buffer_;
  Sha256 digest_;
};

// An axis without values of its own, as netCDF has it: nothing of it is stored.
hdf5::Dataset write_axis(hdf5::Group& group, const std::string& name, std::uint64_t extent) {
  hdf5::Dataset axis = group.create_dataset<std::uint8_t>(name, {extent});
  axis.make_scale(fmt::format("This is a netCDF dimension but not a netCDF variable.{:10}", extent));
  return axis;
}

struct Sentences {
  explicit Sentences(hdf5::Group group, bool references)
      : line(group, "line", "number of the input line, from 1", "1"),
        score(group, "score", "score of the search, or log-probability of the given target", "nat"),
        source_length(group, "source_length", "source tokens, <eos> counted", "1"),
        target_length(group, "target_length", "target tokens, <eos> counted", "1"),
        status(group, "status", "0 ok, 1 empty, 2 cropped, 3 skipped", "1"),
        source_text(group, "source_text"),
        target_text(group, "target_text") {
    if (references) reference.emplace(group, "reference");
  }
  void add(const ArchivedSentence& sentence) {
    line.add(sentence.line);
    score.add(sentence.score);
    source_length.add(static_cast<std::int32_t>(sentence.source_ids.size()));
    target_length.add(static_cast<std::int32_t>(sentence.target_ids.size()));
    status.add(static_cast<std::uint8_t>(sentence.status));
    source_text.add(sentence.source_text);
    target_text.add(sentence.target_text);
    if (reference) reference->add(sentence.reference);
  }
  template<typename Visit>
  void visit(Visit&& each) {
    each(line), each(score), each(source_length), each(target_length), each(status);
    each(source_text), each(target_text);
    if (reference) each(*reference);
  }
  void finish() {
    source_text.finish();
    target_text.finish();
    if (reference) reference->finish();
  }

  Column<std::uint64_t> line;
  Column<double> score;
  Column<std::int32_t> source_length, target_length;
  Column<std::uint8_t> status;
  TextColumn source_text, target_text;
  std::optional<TextColumn> reference;
};

struct Tokens {
  explicit Tokens(hdf5::Group tokens)
      : group(std::move(tokens)),
        id(group, "id", "row of the vocabulary", "1"),
        span(group, "span", "bytes of the text, begin and end; -1 for special tokens", "byte", {2}),
        offset(group, "offset", "first token of each sentence, and the number of tokens", "1") {
    offset.add(0);
  }
  void add(std::int32_t token, ByteSpan bytes) {
    id.add(token);
    span.add(bytes.first);
    span.add(bytes.second);
    ++count;
  }
  void end_sentence() { offset.add(count); }
  void flush() {
    id.flush();
    span.flush();
    offset.flush();
  }

  hdf5::Group group;
  Column<std::int32_t> id, span;
  Column<std::int64_t> offset;
  std::int64_t count = 0;
};

hdf5::Dataset create_weights(hdf5::Group& group, bool half) {
  hdf5::Dataset weights = half ? group.create_half_dataset("weights", {0}, growing())
                               : group.create_dataset<float>("weights", {0}, growing());
  weights.describe("attention weights after the softmax, before dropout", "1");
  return weights;
}

struct Maps {
  Maps(hdf5::Group maps, const AttentionArchiveLayout::Kind& kind, const AttentionArchiveLayout& layout)
      : group(std::move(maps)),
        layers(kind.layers.size()),
        heads(kind.heads.size()),
        weights(create_weights(group, layout.half)),
        entropy(group, "entropy", "entropy of a row of weights, mean over the rows", "nat", {layers, heads}),
        offset(group, "offset", "first weight of each sentence, and the number of weights", "1"),
        query_length(group, "query_length", "queries", "1"),
        key_length(group, "key_length", "keys", "1"),
        layer_index(group.write("layer_index", kind.layers)),
        head_index(group.write("head_index", kind.heads)) {
    offset.add(0);
    layer_index.describe("layer of the model, from 0", "1");
    head_index.describe("head of the model, from 0", "1");
    const archive::KindTraits traits = archive::traits_of(kind.kind);
    source_queries = archive::is_source(traits.query_tokens);
    source_keys = archive::is_source(traits.key_tokens);
    group.set_attribute("block_axes", "layer,head,query,key");
    group.set_attribute("block_order", "C");
    group.set_attribute("normalized_axis", "key");
    group.set_attribute("stage", archive::stage);
    group.set_attribute("causal", static_cast<std::uint8_t>(traits.causal));
    group.set_attribute("score", traits.score);
    group.set_attribute("query_tokens", traits.query_tokens);
    group.set_attribute("key_tokens", traits.key_tokens);
    group.set_attribute("query_row", traits.query_row);
    group.set_attribute("forced_decoding", static_cast<std::uint8_t>(layout.forced));
  }

  void add(const ArchivedSentence& sentence, const std::vector<float>& block) {
    const std::size_t queries = source_queries ? sentence.source_ids.size() : sentence.target_ids.size();
    const std::size_t keys = source_keys ? sentence.source_ids.size() : sentence.target_ids.size();
    const std::size_t size = queries * keys;
    if (block.size() != layers * heads * size) {
      fail(ExitCode::internal, "line {}: {} weights for {}, expected {} x {} x {} x {}", sentence.line,
           block.size(), group.path(), layers, heads, queries, keys);
    }
    for (std::size_t map = 0; map < layers * heads; ++map) {
      const auto part = std::span(block).subspan(map * size, size);
      entropy.add(static_cast<float>(mean_entropy(part, queries, keys)));
    }
    weights.add(block);
    count += static_cast<std::int64_t>(block.size());
    offset.add(count);
    query_length.add(static_cast<std::int32_t>(queries));
    key_length.add(static_cast<std::int32_t>(keys));
    if (weights.buffered() >= buffered_weights) weights.flush();
  }
  void flush() {
    weights.flush();
    entropy.flush();
    offset.flush();
    query_length.flush();
    key_length.flush();
  }

  hdf5::Group group;
  std::size_t layers, heads;
  Column<float> weights, entropy;
  Column<std::int64_t> offset;
  Column<std::int32_t> query_length, key_length;
  hdf5::Dataset layer_index, head_index;
  bool source_queries = false, source_keys = false;
  std::int64_t count = 0;
};

void write_vocabulary(hdf5::Group& group, const char* side, const Vocabulary& vocabulary,
                      const Tokenizer& tokenizer) {
  std::vector<std::string> rows;
  rows.reserve(vocabulary.size());
  for (std::int32_t id = 0; id < Vocabulary::special_count; ++id) rows.push_back(vocabulary.token(id));
  for (std::string& token : vocabulary.to_escaped_tokens()) rows.push_back(std::move(token));
  hdf5::Dataset dataset = group.write_strings(side, rows);
  dataset.set_attribute("sha256", vocabulary.fingerprint());
  dataset.set_attribute("unk_id", Vocabulary::unk);
  dataset.set_attribute("pad_id", Vocabulary::pad);
  dataset.set_attribute("bos_id", Vocabulary::bos);
  dataset.set_attribute("eos_id", Vocabulary::eos);
  dataset.set_attribute("tokenizer", tokenizer.name());
  dataset.set_attribute("normalizer", tokenizer.normalizer());
  dataset.attach_scale(0, write_axis(group, fmt::format("{}_id", side), rows.size()));
}

}  // namespace

struct AttentionArchiveWriter::State {
  State(hdf5::File& into, const TextProcessing& text, const AttentionArchiveLayout& layout)
      : file(into),
        sentence(file, "sentence", "sentence, from 0", "1"),
        sentences(file.create_group("/sentences"), layout.references),
        source(file.create_group(archive::source_tokens)),
        target(file.create_group(archive::target_tokens)),
        decoder_input(file.create_group(archive::decoder_input_tokens)) {
    for (const auto& kind : layout.kinds)
      maps.emplace_back(file.create_group(archive::group_of(kind.kind)), kind, layout);
    hdf5::Group vocabulary = file.create_group("/vocabulary");
    write_vocabulary(vocabulary, "source", text.source_vocabulary, text.source_tokenizer);
    write_vocabulary(vocabulary, "target", text.target_vocabulary, text.target_tokenizer);
  }

  void add_tokens(const ArchivedSentence& from);
  void flush();
  void attach_scales();

  hdf5::File& file;
  Column<std::int64_t> sentence;
  Sentences sentences;
  Tokens source, target, decoder_input;
  std::vector<Maps> maps;
  std::int64_t count = 0;
};

void AttentionArchiveWriter::State::add_tokens(const ArchivedSentence& from) {
  if (from.source_ids.size() != from.source_spans.size() ||
      from.target_ids.size() != from.target_spans.size() || from.blocks.size() != maps.size()) {
    fail(ExitCode::internal,
         "line {}: {} spans for {} tokens, {} spans for {} tokens, {} blocks for {} kinds", from.line,
         from.source_spans.size(), from.source_ids.size(), from.target_spans.size(), from.target_ids.size(),
         from.blocks.size(), maps.size());
  }
  for (std::size_t t = 0; t < from.source_ids.size(); ++t)
    source.add(from.source_ids[t], from.source_spans[t]);
  for (std::size_t t = 0; t < from.target_ids.size(); ++t) {
    target.add(from.target_ids[t], from.target_spans[t]);
    decoder_input.add(t == 0 ? Vocabulary::bos : from.target_ids[t - 1],
                      t == 0 ? no_span : from.target_spans[t - 1]);
  }
  for (Tokens* tokens : {&source, &target, &decoder_input}) tokens->end_sentence();
}

void AttentionArchiveWriter::State::flush() {
  sentence.flush();
  sentences.visit([](auto& column) { column.flush(); });
  for (Tokens* tokens : {&source, &target, &decoder_input}) tokens->flush();
  for (Maps& kind : maps) kind.flush();
}

// Every axis gets a scale, so that xarray and the netCDF tools open the file as it is.
void AttentionArchiveWriter::State::attach_scales() {
  const auto rows = static_cast<std::uint64_t>(count);
  sentence.dataset().make_scale("sentence");
  const hdf5::Dataset boundary = write_axis(file, "sentence_boundary", rows + 1);
  const hdf5::Dataset edge = write_axis(file, "span_edge", 2);
  sentences.visit([&](auto& column) { column.dataset().attach_scale(0, sentence.dataset()); });
  for (Tokens* tokens : {&source, &target, &decoder_input}) {
    const hdf5::Dataset token = write_axis(tokens->group, "token", static_cast<std::uint64_t>(tokens->count));
    tokens->id.dataset().attach_scale(0, token);
    tokens->span.dataset().attach_scale(0, token);
    tokens->span.dataset().attach_scale(1, edge);
    tokens->offset.dataset().attach_scale(0, boundary);
  }
  for (Maps& kind : maps) {
    kind.layer_index.make_scale("layer_index");
    kind.head_index.make_scale("head_index");
    kind.weights.dataset().attach_scale(
        0, write_axis(kind.group, "cell", static_cast<std::uint64_t>(kind.count)));
    kind.offset.dataset().attach_scale(0, boundary);
    for (Column<std::int32_t>* lengths : {&kind.query_length, &kind.key_length})
      lengths->dataset().attach_scale(0, sentence.dataset());
    kind.entropy.dataset().attach_scale(0, sentence.dataset());
    kind.entropy.dataset().attach_scale(1, kind.layer_index);
    kind.entropy.dataset().attach_scale(2, kind.head_index);
  }
}

AttentionArchiveWriter::AttentionArchiveWriter(hdf5::File& file, const TextProcessing& text,
                                               const AttentionArchiveLayout& layout)
    : state_(std::make_unique<State>(file, text, layout)) {}

AttentionArchiveWriter::~AttentionArchiveWriter() = default;

void AttentionArchiveWriter::append(const ArchivedSentence& sentence) {
  State& state = *state_;
  state.add_tokens(sentence);
  state.sentence.add(state.count);
  state.sentences.add(sentence);
  for (std::size_t kind = 0; kind < state.maps.size(); ++kind)
    state.maps[kind].add(sentence, sentence.blocks[kind]);
  ++state.count;
  if (state.sentence.buffered() >= buffered_rows) state.flush();
}

void AttentionArchiveWriter::finish() {
  state_->flush();
  state_->sentences.finish();
  state_->attach_scales();
}

}  // namespace attn
