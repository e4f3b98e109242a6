#include "attn/text/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "attn/core/error.h"

namespace attn {
namespace {

// The number that `message` begins with in the variable-length coding of protocol buffers, which is taken
// off.
std::optional<std::uint64_t> take_number(std::string_view& message) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !message.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// The bytes of the last field with this number in a protocol buffer; empty when there is none.
std::string_view field(std::string_view message, std::uint64_t number) {
  std::string_view found;
  while (!message.empty()) {
    const auto key = take_number(message);
    if (!key) break;
    const std::uint64_t kind = *key & 7;
    std::uint64_t length = kind == 1 ? 8 : kind == 5 ? 4 : 0;
    if (kind == 0 || kind == 2) {
      const auto value = take_number(message);
      if (!value) break;
      length = kind == 2 ? *value : 0;
    }
    if (length > message.size()) break;
    if (kind == 2 && *key >> 3 == number) found = message.substr(0, length);
    message.remove_prefix(length);
  }
  return found;
}

// Field numbers of sentencepiece_model.proto; the library has no other way to ask.
std::string normalizer_name(std::string_view model) {
  constexpr std::uint64_t normalizer_spec = 3, name = 1;
  const std::string_view found = field(field(model, normalizer_spec), name);
  return found.empty() ? "user_defined" : std::string(found);
}

// Of the byte pieces of a character, the library gives the last one the character and the others nothing.
void share_spans_of_bytes(std::vector<Token>& tokens, const std::vector<bool>& is_byte) {
  for (std::size_t i = tokens.size(); i-- > 1;) {
    Token& before = tokens[i - 1];
    if (is_byte[i - 1] && is_byte[i] && before.begin == before.end && before.end == tokens[i].begin)
      before.end = tokens[i].end;
  }
}

// The library throws for some damages, reports others, and takes no bytes for a model without pieces.
bool loads(sentencepiece::SentencePieceProcessor& processor, std::string_view bytes) {
  try {
    return processor.LoadFromSerializedProto(bytes).ok() && processor.GetPieceSize() > 0;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

struct SentencePieceModel::State {
  sentencepiece::SentencePieceProcessor processor;
  std::string bytes;
  std::string normalizer;
};

SentencePieceModel SentencePieceModel::from_bytes(std::string bytes, const std::string& name) {
  auto state = std::make_shared<State>();
  if (bytes.empty()) fail(ExitCode::input_data, "{} is empty; expected a SentencePiece model", name);
  if (!loads(state->processor, bytes)) {
    fail(ExitCode::input_data,
         "{} is no SentencePiece model, or a damaged one; give a .model file that spm_train or attn-train "
         "wrote",
         name);
  }
  state->normalizer = normalizer_name(bytes);
  state->bytes = std::move(bytes);
  return SentencePieceModel(std::move(state));
}

SentencePieceModel SentencePieceModel::read(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    fail(ExitCode::file, "{} is a folder; expected a SentencePiece model", path.string());
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ExitCode::file, "cannot open the SentencePiece model {}", path.string());
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) fail(ExitCode::file, "cannot read the SentencePiece model {}", path.string());
  return from_bytes(std::move(bytes), path.string());
}

const std::string& SentencePieceModel::bytes() const noexcept {
  return state_->bytes;
}

const std::string& SentencePieceModel::normalizer() const noexcept {
  return state_->normalizer;
}

Vocabulary SentencePieceModel::vocabulary() const {
  const auto& processor = state_->processor;
  std::vector<std::string> pieces;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    if (!processor.IsUnknown(id) && !processor.IsControl(id)) pieces.push_back(processor.IdToPiece(id));
  }
  return Vocabulary::from_tokens(pieces);
}

std::vector<Token> SentencePieceModel::encode(std::string_view text) const {
  const auto& processor = state_->processor;
  const auto encoded = processor.EncodeAsImmutableProto(text);
  std::vector<Token> tokens;
  std::vector<bool> is_byte;
  for (const auto& piece : encoded.pieces()) {
    tokens.push_back({piece.piece(), piece.begin(), piece.end()});
    is_byte.push_back(processor.IsByte(static_cast<int>(piece.id())));
  }
  share_spans_of_bytes(tokens, is_byte);
  return tokens;
}

JoinedText SentencePieceModel::decode(std::span<const std::string> pieces) const {
  const auto& processor = state_->processor;
  const Vocabulary special;
  std::vector<std::string> known_pieces(pieces.begin(), pieces.end());
  for (std::string& piece : known_pieces) {
    if (piece == special.token(Vocabulary::unk)) piece = processor.IdToPiece(processor.unk_id());
  }
  const auto decoded = processor.DecodePiecesAsImmutableProto(known_pieces);
  JoinedText joined;
  joined.text = decoded.text();
  std::replace(joined.text.begin(), joined.text.end(), '\n', ' ');
  std::vector<bool> is_byte;
  const auto found = decoded.pieces();
  for (std::size_t i = 0; i < found.size(); ++i) {
    joined.tokens.push_back({pieces[i], found[i].begin(), found[i].end()});
    is_byte.push_back(processor.IsByte(static_cast<int>(found[i].id())));
  }
  share_spans_of_bytes(joined.tokens, is_byte);
  return joined;
}

}  // namespace attn
