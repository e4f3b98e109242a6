#include "attn/inspection/attention_archive.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "attn/core/error.h"
#include "attn/io/hdf5.h"
#include "attn/text/vocabulary.h"
#include "inspection/archive_layout.h"

namespace attn {
namespace {

// A group of ragged rows: their values lie one after the other, row i in [offset[i], offset[i + 1]).
std::vector<std::int64_t> read_offsets(const hdf5::Group& group, std::size_t sentences,
                                       std::uint64_t elements) {
  std::vector<std::int64_t> offsets = group.read<std::int64_t>("offset", {sentences + 1});
  const bool rising = std::is_sorted(offsets.begin(), offsets.end());
  if (!rising || offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(elements)) {
    fail(ExitCode::input_data, "{}: {}/offset must rise from 0 to {}, the number of values",
         group.file_name(), group.path(), elements);
  }
  return offsets;
}

Vocabulary read_vocabulary(const hdf5::File& file, const std::string& path) {
  const std::vector<std::string> rows = file.read_strings(path);
  if (rows.size() < static_cast<std::size_t>(Vocabulary::special_count)) {
    fail(ExitCode::input_data, "{}: {} has {} rows; expected the four special tokens first", file.file_name(),
         path, rows.size());
  }
  return Vocabulary::from_escaped_tokens(std::span(rows).subspan(Vocabulary::special_count));
}

struct TokenTable {
  hdf5::Dataset ids, spans;
  std::vector<std::int64_t> offsets;
};

TokenTable open_tokens(const hdf5::File& file, const char* path, std::size_t sentences) {
  const hdf5::Group group = file.group(path);
  hdf5::Dataset ids = group.dataset("id");
  const std::uint64_t count = ids.size();
  return {std::move(ids), group.dataset("span"), read_offsets(group, sentences, count)};
}

struct Maps {
  AttentionArchive::KindInfo info;
  hdf5::Dataset weights, entropy;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> queries, keys;
};

Maps open_maps(const hdf5::File& file, AttentionKind kind, std::size_t sentences) {
  const hdf5::Group group = file.group(archive::group_of(kind));
  AttentionArchive::KindInfo info;
  info.kind = kind;
  info.layers = group.read<std::int32_t>("layer_index");
  info.heads = group.read<std::int32_t>("head_index");
  info.causal = group.attribute<std::uint8_t>("causal") != 0;
  info.forced = group.attribute<std::uint8_t>("forced_decoding") != 0;
  info.score = group.string_attribute("score");
  info.stage = group.string_attribute("stage");
  info.query_tokens = group.string_attribute("query_tokens");
  info.key_tokens = group.string_attribute("key_tokens");
  info.query_row = group.string_attribute("query_row");
  hdf5::Dataset weights = group.dataset("weights");
  info.precision = weights.type();
  const std::uint64_t count = weights.size();
  return {std::move(info),
          std::move(weights),
          group.dataset("entropy"),
          read_offsets(group, sentences, count),
          group.read<std::int32_t>("query_length", {sentences}),
          group.read<std::int32_t>("key_length", {sentences})};
}

template<hdf5::Number T>
T read_one(const hdf5::File& file, const std::string& path, std::size_t i) {
  return file.dataset(path).read_rows<T>(i, 1).front();
}

std::string read_text(const hdf5::File& file, const std::string& path, std::size_t i) {
  return std::move(file.dataset(path).read_string_rows(i, 1).front());
}

}  // namespace

struct AttentionArchive::Contents {
  hdf5::File file;
  std::size_t sentences = 0;
  std::vector<std::int32_t> source_lengths = {}, target_lengths = {};
  Vocabulary source_vocabulary = {}, target_vocabulary = {};
  std::vector<TokenTable> tokens = {};  // in the order of archive::token_groups
  std::vector<Maps> maps = {};

  void check_sentence(std::size_t i) const {
    if (i < sentences) return;
    fail(ExitCode::input_data, "{}: there is no sentence {}; the archive has {}, counted from 0",
         file.file_name(), i, sentences);
  }
  const Maps& maps_of(AttentionKind kind) const {
    for (const Maps& candidate : maps) {
      if (candidate.info.kind == kind) return candidate;
    }
    std::vector<const char*> names;
    for (const Maps& present : maps) names.push_back(name_of(present.info.kind));
    fail(ExitCode::input_data, "{}: there is no attention of kind {}; the archive has {}", file.file_name(),
         name_of(kind), fmt::join(names, ", "));
  }
  std::vector<Token> tokens_of(std::string_view group, std::size_t i) const;
};

std::vector<AttentionArchive::Token> AttentionArchive::Contents::tokens_of(std::string_view group,
                                                                           std::size_t i) const {
  check_sentence(i);
  const auto found = std::find(archive::token_groups.begin(), archive::token_groups.end(), group);
  if (found == archive::token_groups.end()) {
    fail(ExitCode::input_data, "{}: '{}' is no group of tokens; expected one of {}", file.file_name(), group,
         fmt::join(archive::token_groups, ", "));
  }
  const TokenTable& table = tokens[static_cast<std::size_t>(found - archive::token_groups.begin())];
  const Vocabulary& vocabulary = archive::is_source(group) ? source_vocabulary : target_vocabulary;
  const auto first = static_cast<std::uint64_t>(table.offsets[i]);
  const auto count = static_cast<std::uint64_t>(table.offsets[i + 1]) - first;
  const std::vector<std::int32_t> ids = table.ids.read_rows<std::int32_t>(first, count);
  const std::vector<std::int32_t> spans = table.spans.read_rows<std::int32_t>(first, count);
  std::vector<Token> result;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < 0 || static_cast<std::size_t>(ids[t]) >= vocabulary.size()) {
      fail(ExitCode::input_data, "{}: {}/id of sentence {} has {}, but the vocabulary has {} tokens",
           file.file_name(), group, i, ids[t], vocabulary.size());
    }
    result.push_back({ids[t], vocabulary.token(ids[t]), spans.at(2 * t), spans.at(2 * t + 1)});
  }
  return result;
}

AttentionArchive::AttentionArchive(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
AttentionArchive::AttentionArchive(AttentionArchive&&) noexcept = default;
AttentionArchive& AttentionArchive::operator=(AttentionArchive&&) noexcept = default;
AttentionArchive::~AttentionArchive() = default;

AttentionArchive AttentionArchive::open(const std::filesystem::path& path) {
  auto contents = std::make_unique<Contents>(Contents{hdf5::open_checked(path, format, format_version)});
  const hdf5::File& file = contents->file;
  contents->source_lengths = file.read<std::int32_t>("/sentences/source_length");
  const std::size_t sentences = contents->source_lengths.size();
  contents->sentences = sentences;
  contents->target_lengths = file.read<std::int32_t>("/sentences/target_length", {sentences});
  contents->source_vocabulary = read_vocabulary(file, "/vocabulary/source");
  contents->target_vocabulary = read_vocabulary(file, "/vocabulary/target");
  for (const char* group : archive::token_groups)
    contents->tokens.push_back(open_tokens(file, group, sentences));
  for (const AttentionKind kind : archive::kinds) {
    if (file.exists(archive::group_of(kind))) contents->maps.push_back(open_maps(file, kind, sentences));
  }
  return AttentionArchive(std::move(contents));
}

const std::string& AttentionArchive::file_name() const {
  return contents_->file.file_name();
}

AttentionArchive::Origin AttentionArchive::origin() const {
  const auto text = [&](const char* name) {
    const hdf5::File& file = contents_->file;
    return file.has_attribute(name) ? file.string_attribute(name) : std::string();
  };
  return {text("command_line"), text("backend"), text("device"), text("checkpoint_sha256"),
          text("created_utc")};
}

std::size_t AttentionArchive::sentences() const {
  return contents_->sentences;
}

AttentionArchive::Sentence AttentionArchive::sentence(std::size_t i) const {
  contents_->check_sentence(i);
  const hdf5::File& file = contents_->file;
  Sentence sentence;
  sentence.line = read_one<std::uint64_t>(file, "/sentences/line", i);
  sentence.source_text = read_text(file, "/sentences/source_text", i);
  sentence.target_text = read_text(file, "/sentences/target_text", i);
  if (file.exists("/sentences/reference")) sentence.reference = read_text(file, "/sentences/reference", i);
  sentence.source_length = contents_->source_lengths[i];
  sentence.target_length = contents_->target_lengths[i];
  sentence.score = read_one<double>(file, "/sentences/score", i);
  const auto status = read_one<std::uint8_t>(file, "/sentences/status", i);
  if (status > static_cast<std::uint8_t>(LineStatus::skipped)) {
    fail(ExitCode::input_data, "{}: /sentences/status of sentence {} is {}; expected 0 to 3", file_name(), i,
         status);
  }
  sentence.status = static_cast<LineStatus>(status);
  return sentence;
}

std::vector<AttentionArchive::Token> AttentionArchive::source_tokens(std::size_t i) const {
  return contents_->tokens_of(archive::source_tokens, i);
}

std::vector<AttentionArchive::Token> AttentionArchive::target_tokens(std::size_t i) const {
  return contents_->tokens_of(archive::target_tokens, i);
}

std::vector<AttentionArchive::Token> AttentionArchive::decoder_input_tokens(std::size_t i) const {
  return contents_->tokens_of(archive::decoder_input_tokens, i);
}

std::vector<AttentionKind> AttentionArchive::kinds() const {
  std::vector<AttentionKind> present;
  for (const Maps& maps : contents_->maps) present.push_back(maps.info.kind);
  return present;
}

bool AttentionArchive::has(AttentionKind kind) const {
  const std::vector<AttentionKind> present = kinds();
  return std::find(present.begin(), present.end(), kind) != present.end();
}

const AttentionArchive::KindInfo& AttentionArchive::info(AttentionKind kind) const {
  return contents_->maps_of(kind).info;
}

std::vector<AttentionArchive::Token> AttentionArchive::query_tokens(AttentionKind kind, std::size_t i) const {
  return contents_->tokens_of(info(kind).query_tokens, i);
}

std::vector<AttentionArchive::Token> AttentionArchive::key_tokens(AttentionKind kind, std::size_t i) const {
  return contents_->tokens_of(info(kind).key_tokens, i);
}

AttentionArchive::Block AttentionArchive::block(AttentionKind kind, std::size_t i) const {
  contents_->check_sentence(i);
  const Maps& maps = contents_->maps_of(kind);
  const std::int64_t queries = maps.queries[i], keys = maps.keys[i];
  const auto layers = static_cast<std::int64_t>(maps.info.layers.size());
  const auto heads = static_cast<std::int64_t>(maps.info.heads.size());
  const std::int64_t first = maps.offsets[i], count = maps.offsets[i + 1] - first;
  if (queries < 0 || keys < 0 || count != layers * heads * queries * keys) {
    fail(ExitCode::input_data,
         "{}: the block of sentence {} in {} has {} weights; expected {} x {} x {} x {}", file_name(), i,
         archive::group_of(kind), count, layers, heads, queries, keys);
  }
  return {
      static_cast<std::size_t>(layers), static_cast<std::size_t>(heads), static_cast<std::size_t>(queries),
      static_cast<std::size_t>(keys),
      maps.weights.read_rows<float>(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(count))};
}

std::vector<float> AttentionArchive::entropy(AttentionKind kind, std::size_t i) const {
  contents_->check_sentence(i);
  return contents_->maps_of(kind).entropy.read_rows<float>(i, 1);
}

std::optional<AttentionKind> attention_kind(std::string_view name) {
  for (const AttentionKind kind : archive::kinds) {
    if (name == name_of(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace attn
