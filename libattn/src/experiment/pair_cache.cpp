#include "pair_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/io/atomic_file.h"

namespace attn {
namespace {

using Json = nlohmann::json;

constexpr int facts_version = 1;

// Of a file that may be larger than memory.
std::string digest_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ExitCode::file, "cannot open {}", path.string());
  Sha256 hash;
  std::vector<char> buffer(std::size_t{1} << 18U);
  do {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(file.gcount())));
  } while (file);
  if (file.bad()) fail(ExitCode::file, "cannot read {}", path.string());
  return hash.hex_digest();
}

Json files_key(const CorpusFiles& files) {
  Json key = Json::array();
  for (const auto& path : {files.pairs, files.source, files.target}) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      fail(ExitCode::file, "{} is a folder; expected a file of sentences", path.string());
    // The name as well: messages and findings have it.
    key.push_back(path.empty() ? Json() : Json{path.string(), digest_of(path)});
  }
  return key;
}

Json subwords_key(const SubwordConfig& subwords, std::uint64_t seed) {
  const SentencePieceOptions& training = subwords.training;
  Json key{static_cast<int>(training.algorithm),
           training.vocabulary_size,
           training.character_coverage,
           training.byte_fallback,
           training.user_symbols,
           training.normalizer,
           subwords.sentences,
           subwords.sentences > 0 ? seed : 0};
  for (const auto& path :
       {subwords.source_model, subwords.target_model, subwords.source_codes, subwords.target_codes})
    key.push_back(path.empty() ? Json() : Json(digest_of(path)));
  return key;
}

std::string key_of(const DataConfig& config, std::uint64_t seed) {
  const Json key{facts_version,
                 files_key(config.train),
                 files_key(config.valid),
                 files_key(config.test),
                 subwords_key(config.subwords, seed),
                 config.limit,
                 config.source_column,
                 config.target_column,
                 config.allow_extra_columns,
                 config.source_tokenizer,
                 config.target_tokenizer,
                 config.keep_spaces,
                 config.min_frequency,
                 config.max_vocabulary,
                 config.shared_vocabulary,
                 config.steps,
                 config.max_length,
                 static_cast<int>(config.long_lines),
                 config.lint == DataConfig::Lint::off,
                 config.lint_ratio};
  return sha256_hex(key.dump(-1, ' ', false, Json::error_handler_t::replace)).substr(0, 32);
}

Json to_json(const EncodedSide& side) {
  return {{"tokens", side.tokens},
          {"unknown", side.unknown},
          {"cropped", side.cropped_lines.count},
          {"cropped_lines", side.cropped_lines.first}};
}

EncodedSide side_from(const Json& json) {
  return {json.at("tokens"), json.at("unknown"), {json.at("cropped"), json.at("cropped_lines")}};
}

Json to_json(const Tokenizer& tokenizer, const Vocabulary& vocabulary) {
  const std::string_view resource = tokenizer.resource();
  return {{"tokenizer", std::string(tokenizer.name())},
          {"keep_spaces", tokenizer.options().keep_spaces},
          {"resource", Json::binary({resource.begin(), resource.end()})},
          {"vocabulary", vocabulary.to_escaped_tokens()}};
}

void restore(const Json& json, const std::string& origin, Tokenizer& tokenizer, Vocabulary& vocabulary) {
  const auto& bytes = json.at("resource").get_binary();
  tokenizer = Tokenizer::restored(json.at("tokenizer").get<std::string>(), {json.at("keep_spaces")},
                                  std::string(bytes.begin(), bytes.end()), origin);
  vocabulary = Vocabulary::from_escaped_tokens(json.at("vocabulary").get<std::vector<std::string>>());
}

}  // namespace

PairCache::PairCache(const DataConfig& config, std::uint64_t seed) : folder_(config.cache) {
  if (folder_.empty())
    fail(ExitCode::config, "data.streaming needs a folder for encoded pairs; set data.cache");
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    fail(ExitCode::file, "cannot make the folder {} for encoded pairs: {}; set data.cache", folder_.string(),
         error.message());
  }
  key_ = key_of(config, seed);
  const std::filesystem::path file = folder_ / (key_ + ".lock");
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) {
    fail(ExitCode::file, "cannot write into {}: {}; set data.cache to another folder", folder_.string(),
         std::generic_category().message(errno));
  }
  // A file system without locks is used without.
  while (::flock(lock_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

PairCache::~PairCache() {
  ::close(lock_);
}

std::optional<PairCache::Facts> PairCache::load() {
  std::error_code error;
  if (!std::filesystem::exists(facts_file(), error)) return std::nullopt;
  try {
    std::string bytes = read_file(facts_file());
    const std::size_t digits = std::min<std::size_t>(bytes.size(), 64);
    const std::string digest = bytes.substr(bytes.size() - digits);
    bytes.resize(bytes.size() - digits);
    if (sha256_hex(bytes) != digest) return std::nullopt;
    const Json json = Json::from_cbor(bytes);
    if (json.at("checksum") != open()->checksum()) return std::nullopt;
    Facts facts;
    facts.name = json.at("name");
    facts.sha256 = json.at("sha256");
    facts.source = side_from(json.at("source"));
    facts.target = side_from(json.at("target"));
    const std::string origin = facts_file().string();
    restore(json.at("source_text"), origin, facts.text.source_tokenizer, facts.text.source_vocabulary);
    restore(json.at("target_text"), origin, facts.text.target_tokenizer, facts.text.target_vocabulary);
    facts.lint = lint_from_json(json.at("lint").get<std::string>());
    return facts;
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // a damaged entry is made again
  }
}

void PairCache::save(const Facts& facts, const EncodedFile& ids) const {
  const Json json{{"checksum", ids.checksum()},
                  {"name", facts.name},
                  {"sha256", facts.sha256},
                  {"source", to_json(facts.source)},
                  {"target", to_json(facts.target)},
                  {"source_text", to_json(facts.text.source_tokenizer, facts.text.source_vocabulary)},
                  {"target_text", to_json(facts.text.target_tokenizer, facts.text.target_vocabulary)},
                  {"lint", lint_json(facts.lint)}};
  const std::vector<std::uint8_t> cbor = Json::to_cbor(json);
  const std::string bytes(cbor.begin(), cbor.end());
  write_file_atomically(facts_file(), bytes + sha256_hex(bytes));
}

}  // namespace attn
