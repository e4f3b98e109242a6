#include "vocabulary_file.h"

#include <string>
#include <vector>

#include "attn/core/error.h"

namespace attn {
namespace {

constexpr const char* subwords_attribute = "subwords";

std::string vocabulary_path(const std::string& side) {
  return fmt::format("/vocabulary/{}", side);
}

std::string subwords_path(const std::string& side) {
  return fmt::format("/vocabulary/{}_subwords", side);
}

// Where the subwords of a side are in the file; written there if the other side has not the same.
std::string place_subwords(hdf5::File& file, const char* side, std::string_view bytes) {
  const std::string sha256 = sha256_hex(bytes);
  std::string of_source = subwords_path("source");
  if (file.exists(of_source) && file.dataset(of_source).string_attribute("sha256") == sha256)
    return of_source;
  std::string path = subwords_path(side);
  hdf5::Dataset dataset = file.write(path, std::vector<std::uint8_t>(bytes.begin(), bytes.end()),
                                     {bytes.size()}, hdf5::Storage::checked());
  dataset.set_attribute("sha256", sha256);
  return path;
}

std::string read_subwords(const hdf5::File& file, const hdf5::Dataset& vocabulary, const char* side) {
  if (!vocabulary.has_attribute(subwords_attribute)) return {};
  const hdf5::Dataset dataset = file.dataset(vocabulary.string_attribute(subwords_attribute));
  const std::vector<std::uint8_t> values = dataset.read<std::uint8_t>();
  std::string bytes(values.begin(), values.end());
  if (sha256_hex(bytes) != dataset.string_attribute("sha256")) {
    fail(ExitCode::input_data,
         "{}: the {} subwords do not match their checksum; the file was changed after it was written",
         file.file_name(), side);
  }
  return bytes;
}

}  // namespace

void write_side(hdf5::File& file, const char* side, const Vocabulary& vocabulary,
                const Tokenizer& tokenizer) {
  hdf5::Dataset dataset = file.write_strings(vocabulary_path(side), vocabulary.to_escaped_tokens());
  dataset.set_attribute("sha256", vocabulary.fingerprint());
  dataset.set_attribute("unk_id", Vocabulary::unk);
  dataset.set_attribute("pad_id", Vocabulary::pad);
  dataset.set_attribute("bos_id", Vocabulary::bos);
  dataset.set_attribute("eos_id", Vocabulary::eos);
  dataset.set_attribute("first_id", Vocabulary::special_count);
  dataset.set_attribute("tokenizer", tokenizer.name());
  dataset.set_attribute("normalizer", tokenizer.normalizer());
  dataset.set_attribute("keep_spaces", static_cast<std::uint8_t>(tokenizer.options().keep_spaces));
  if (const std::string_view bytes = tokenizer.resource(); !bytes.empty())
    dataset.set_attribute(subwords_attribute, place_subwords(file, side, bytes));
}

void read_side(const hdf5::File& file, const char* side, Vocabulary& vocabulary, Tokenizer& tokenizer) {
  const hdf5::Dataset dataset = file.dataset(vocabulary_path(side));
  vocabulary = Vocabulary::from_escaped_tokens(dataset.read_strings());
  if (vocabulary.fingerprint() != dataset.string_attribute("sha256")) {
    fail(ExitCode::input_data,
         "{}: the {} vocabulary does not match its checksum; the file was changed after it was written",
         file.file_name(), side);
  }
  tokenizer = Tokenizer::restored(
      dataset.string_attribute("tokenizer"), {dataset.attribute<std::uint8_t>("keep_spaces") != 0},
      read_subwords(file, dataset, side), fmt::format("{} ({} subwords)", file.file_name(), side));
  if (tokenizer.model() && !(tokenizer.model()->vocabulary() == vocabulary)) {
    fail(
        ExitCode::input_data,
        "{}: the SentencePiece model of the {} side has another vocabulary than the checkpoint; the file was "
        "changed after it was written",
        file.file_name(), side);
  }
}

void require_same_side(const hdf5::File& file, const char* side, const Vocabulary& vocabulary,
                       const Tokenizer& tokenizer) {
  Vocabulary stored_vocabulary;
  Tokenizer stored_tokenizer = tokenizer;
  read_side(file, side, stored_vocabulary, stored_tokenizer);
  if (!(stored_vocabulary == vocabulary)) {
    fail(ExitCode::input_data, "{}: its {} vocabulary is not the one that {}", file.file_name(), side,
         tokenizer.model()
             ? "the SentencePiece model has now; resume with the same model and data, or start a "
               "new run"
             : "the data gives now");
  }
  if (stored_tokenizer.resource() != tokenizer.resource()) {
    fail(ExitCode::input_data,
         "{} splits {} text by other subwords than the configuration now asks for; resume with the same "
         "subwords, or start a new run",
         file.file_name(), side);
  }
}

void add_side(Sha256& digest, const Vocabulary& vocabulary, const Tokenizer& tokenizer) {
  const auto add = [&](std::string_view text) { digest.update(text.size()).update(text); };
  add(vocabulary.fingerprint());
  add(tokenizer.name());
  add(tokenizer.options().keep_spaces ? "keep_spaces" : "");
  if (!tokenizer.resource().empty()) add(sha256_hex(tokenizer.resource()));
}

}  // namespace attn
