#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/inspection/attention_archive.h"
#include "attn/text/vocabulary.h"
#include "inspection/archive_layout.h"
#include "inspection/archive_tables.h"

namespace attn::archive {
namespace {

constexpr std::uint64_t window = 4096;

bool has_tokens(std::uint8_t status) {
  return status == static_cast<std::uint8_t>(LineStatus::ok) ||
         status == static_cast<std::uint8_t>(LineStatus::cropped);
}

void check_status(const std::vector<std::uint8_t>& status, const std::vector<std::int32_t>& lengths,
                  const char* column, Findings& findings) {
  for (std::size_t i = 0; i < std::min(status.size(), lengths.size()); ++i) {
    if (lengths[i] < 0 || (lengths[i] > 0) != has_tokens(status[i])) {
      findings.add(fmt::format("/sentences/{}", column), "is {} for sentence {} of status {}; expected {}",
                   lengths[i], i, status[i], has_tokens(status[i]) ? "at least 1" : "0");
    }
  }
}

// HDF5's checksums do not reach texts of variable length.
void check_texts(const hdf5::File& file, const std::string& path, std::uint64_t rows, Findings& findings) {
  const auto texts = findings.dataset(file, path, "string", {rows});
  if (!texts) return;
  const auto expected = findings.text(*texts, "sha256");
  Sha256 digest;
  for (std::uint64_t first = 0; first < rows; first += window) {
    for (const std::string& text : texts->read_string_rows(first, std::min(window, rows - first)))
      digest.update(text.size()).update(text);
  }
  const std::string found = digest.hex_digest();
  if (expected && *expected != found)
    findings.add(path + "@sha256", "is {}; the texts give {}", *expected, found);
}

void check_lines(const std::vector<std::uint64_t>& lines, Findings& findings) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] <= (i == 0 ? 0 : lines[i - 1])) {
      findings.add("/sentences/line", "is {} for sentence {}; expected a number that is at least 1 and rises",
                   lines[i], i);
    }
  }
}

void check_columns(const hdf5::File& file, Findings& findings, SentenceTable& table) {
  const hdf5::Shape rows{table.sentences};
  if (const auto lines = findings.dataset(file, "/sentences/line", "u64", rows))
    check_lines(lines->read<std::uint64_t>(), findings);
  for (const char* path : {"/sentences/source_text", "/sentences/target_text", "/sentences/reference"}) {
    if (path != std::string_view("/sentences/reference") || file.exists(path))
      check_texts(file, path, table.sentences, findings);
  }
  findings.dataset(file, "/sentences/score", "f64", rows);
  if (const auto lengths = findings.dataset(file, "/sentences/source_length", "i32", rows))
    table.source_lengths = lengths->read<std::int32_t>();
  if (const auto lengths = findings.dataset(file, "/sentences/target_length", "i32", rows))
    table.target_lengths = lengths->read<std::int32_t>();
  const auto status = findings.dataset(file, "/sentences/status", "u8", rows);
  if (!status) return;
  const std::vector<std::uint8_t> values = status->read<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > static_cast<std::uint8_t>(LineStatus::skipped))
      findings.add("/sentences/status", "is {} for sentence {}; expected 0 to 3", values[i], i);
  }
  check_status(values, table.source_lengths, "source_length", findings);
  check_status(values, table.target_lengths, "target_length", findings);
}

// The number of tokens; 0 if the vocabulary is not as specified.
std::size_t check_vocabulary(const hdf5::File& file, const std::string& path, Findings& findings) {
  const auto dataset = findings.dataset(file, path, "string", {Findings::any});
  if (!dataset) return 0;
  for (const auto& [name, id] : {std::pair{"unk_id", Vocabulary::unk}, std::pair{"pad_id", Vocabulary::pad},
                                 std::pair{"bos_id", Vocabulary::bos}, std::pair{"eos_id", Vocabulary::eos}})
    findings.integer(*dataset, name, id, id);
  findings.text(*dataset, "tokenizer");
  findings.text(*dataset, "normalizer");
  const auto fingerprint = findings.text(*dataset, "sha256");
  const std::vector<std::string> rows = dataset->read_strings();
  if (rows.size() < static_cast<std::size_t>(Vocabulary::special_count)) {
    findings.add(path, "has {} rows; expected the {} special tokens and more", rows.size(),
                 Vocabulary::special_count);
    return 0;
  }
  const Vocabulary special;
  for (std::int32_t id = 0; id < Vocabulary::special_count; ++id) {
    const std::string& found = rows[static_cast<std::size_t>(id)];
    if (found != special.token(id))
      findings.add(path, "has '{}' in row {}; expected '{}'", found, id, special.token(id));
  }
  try {
    const Vocabulary vocabulary =
        Vocabulary::from_escaped_tokens(std::span(rows).subspan(Vocabulary::special_count));
    if (fingerprint && *fingerprint != vocabulary.fingerprint())
      findings.add(path + "@sha256", "is {}; the tokens give {}", *fingerprint, vocabulary.fingerprint());
  } catch (const Error& error) {
    findings.add(path, "{}", error.what());
  }
  return rows.size();
}

// The tokens of one group, window by window of sentences.
class TokenCheck {
 public:
  TokenCheck(const hdf5::Group& group, const hdf5::File& file, Findings& findings,
             const std::vector<std::int32_t>& lengths, std::size_t vocabulary)
      : group_(group), file_(file), findings_(findings), lengths_(lengths), vocabulary_(vocabulary) {}

  void run(std::uint64_t sentences, const char* text) {
    const auto ids = findings_.dataset(group_, path("id"), "i32", {Findings::any});
    if (!ids) return;
    const auto spans = findings_.dataset(group_, path("span"), "i32", {ids->size(), 2});
    offsets_ = check_offsets(group_, sentences, ids->size(), findings_);
    if (!spans || offsets_.empty() || lengths_.size() != sentences) return;
    const bool texts = file_.is_dataset(text) && file_.dataset(text).size() == sentences;
    for (std::uint64_t first = 0; first < sentences; first += window) {
      const std::uint64_t count = std::min(window, sentences - first);
      const auto begin = static_cast<std::uint64_t>(offsets_[first]);
      const auto tokens = static_cast<std::uint64_t>(offsets_[first + count]) - begin;
      check(first, count, ids->read_rows<std::int32_t>(begin, tokens),
            spans->read_rows<std::int32_t>(begin, tokens),
            texts ? file_.dataset(text).read_string_rows(first, count) : std::vector<std::string>());
    }
  }

 private:
  std::string path(const char* name) const { return fmt::format("{}/{}", group_.path(), name); }

  void check(std::uint64_t first, std::uint64_t count, const std::vector<std::int32_t>& ids,
             const std::vector<std::int32_t>& spans, const std::vector<std::string>& texts) {
    const std::int64_t base = offsets_[first];
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (offsets_[i + 1] - offsets_[i] != lengths_[i])
        findings_.add(path("offset"), "gives sentence {} {} tokens; its length is {}", i,
                      offsets_[i + 1] - offsets_[i], lengths_[i]);
      const std::size_t bytes =
          texts.empty() ? std::numeric_limits<std::int32_t>::max() : texts[i - first].size();
      for (auto t = static_cast<std::size_t>(offsets_[i] - base);
           t < static_cast<std::size_t>(offsets_[i + 1] - base); ++t) {
        check_token(i, ids[t], spans[2 * t], spans[2 * t + 1], bytes);
      }
    }
  }

  void check_token(std::uint64_t sentence, std::int32_t id, std::int32_t begin, std::int32_t end,
                   std::size_t bytes) {
    if (id < 0 || (vocabulary_ > 0 && static_cast<std::size_t>(id) >= vocabulary_))
      findings_.add(path("id"), "is {} in sentence {}; the vocabulary has {} tokens", id, sentence,
                    vocabulary_);
    const bool none = begin == -1 && end == -1;
    if (!none && (begin < 0 || end < begin || static_cast<std::size_t>(end) > bytes))
      findings_.add(path("span"), "is {} to {} in sentence {}, whose text has {} bytes", begin, end, sentence,
                    bytes);
  }

  const hdf5::Group& group_;
  const hdf5::File& file_;
  Findings& findings_;
  const std::vector<std::int32_t>& lengths_;
  std::size_t vocabulary_;
  std::vector<std::int64_t> offsets_;
};

// Row q of the decoder's input is <bos>, or the target token before q.
void check_decoder_input(const hdf5::File& file, Findings& findings, std::uint64_t sentences) {
  const hdf5::Group target = file.group(target_tokens), input = file.group(decoder_input_tokens);
  if (!target.is_dataset("id") || !input.is_dataset("id") || !target.is_dataset("offset")) return;
  const std::vector<std::int64_t> offsets = target.read<std::int64_t>("offset");
  const hdf5::Dataset labels = target.dataset("id"), fed = input.dataset("id");
  if (labels.size() != fed.size() || offsets.size() != sentences + 1) return;
  for (std::uint64_t i = 0; i < sentences; ++i) {
    const auto first = static_cast<std::uint64_t>(offsets[i]);
    const auto count = static_cast<std::uint64_t>(offsets[i + 1]) - first;
    if (count == 0) continue;
    const std::vector<std::int32_t> label = labels.read_rows<std::int32_t>(first, count);
    const std::vector<std::int32_t> row = fed.read_rows<std::int32_t>(first, count);
    if (row.front() != Vocabulary::bos || !std::equal(row.begin() + 1, row.end(), label.begin()))
      findings.add(input.path() + "/id", "of sentence {} is not <bos> and the target tokens but for the last",
                   i);
  }
}

}  // namespace

std::vector<std::int64_t> check_offsets(const hdf5::Group& group, std::uint64_t sentences,
                                        std::uint64_t elements, Findings& findings) {
  const std::string path = group.path() + "/offset";
  const auto dataset = findings.dataset(group, path, "i64", {sentences + 1});
  if (!dataset) return {};
  std::vector<std::int64_t> offsets = dataset->read<std::int64_t>();
  if (offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(elements)) {
    findings.add(path, "goes from {} to {}; expected from 0 to {}", offsets.front(), offsets.back(),
                 elements);
    return {};
  }
  const auto falls = std::is_sorted_until(offsets.begin(), offsets.end());
  if (falls == offsets.end()) return offsets;
  findings.add(path, "falls at row {}", falls - offsets.begin());
  return {};
}

SentenceTable check_tables(const hdf5::File& file, Findings& findings) {
  SentenceTable table;
  const auto lengths = findings.dataset(file, "/sentences/source_length", "i32", {Findings::any});
  if (!lengths) return table;
  table.sentences = lengths->size();
  check_columns(file, findings, table);
  const std::size_t source = check_vocabulary(file, "/vocabulary/source", findings);
  const std::size_t target = check_vocabulary(file, "/vocabulary/target", findings);
  bool all = true;
  for (const char* path : token_groups) {
    const auto group = findings.group(file, path);
    all = all && group;
    if (!group) continue;
    const bool source_side = is_source(path);
    TokenCheck(*group, file, findings, source_side ? table.source_lengths : table.target_lengths,
               source_side ? source : target)
        .run(table.sentences, source_side ? "/sentences/source_text" : "/sentences/target_text");
  }
  if (all) check_decoder_input(file, findings, table.sentences);
  return table;
}

}  // namespace attn::archive
