#include "viewer_page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attn/core/error.h"
#include "attn/core/sha256.h"
#include "attn/figures/palette.h"
#include "attn/text/utf8.h"
#include "selection.h"
#include "viewer_files.h"
#include "words.h"

namespace attn::dump {
namespace {

using Json = nlohmann::ordered_json;
using Token = AttentionArchive::Token;

const char* name_of_status(LineStatus status) {
  constexpr std::array<const char*, 4> names = {"ok", "empty", "cropped", "skipped"};
  return names.at(static_cast<std::size_t>(status));
}

/// "sha256-...": a content security policy's name for an inline script or style.
std::string policy_hash(std::string_view content) {
  const std::string hex = sha256_hex(content);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return "sha256-" + base64(bytes);
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string palette_text() {
  std::string text;
  for (int i = 0; i < palette_size; ++i) text += fmt::format("{:06x}", palette_colour(Palette::viridis, i));
  return text;
}

Json describe(const AttentionArchive& archive, const KindSelection& selection) {
  const AttentionArchive::KindInfo& info = archive.info(selection.kind);
  Json layers = Json::array(), heads = Json::array();
  for (const std::size_t place : selection.layers) layers.push_back(info.layers[place]);
  for (const std::size_t place : selection.heads) heads.push_back(info.heads[place]);
  const AxisTitles axes = axis_titles(info);
  return {{"name", name_of(selection.kind)}, {"title", title_of(selection.kind)},
          {"layers", std::move(layers)},     {"heads", std::move(heads)},
          {"causal", info.causal},           {"axes", {{"query", axes.query}, {"key", axes.key}}}};
}

Json describe(const std::vector<Token>& tokens, std::string_view text) {
  Json texts = Json::array(), special = Json::array();
  for (const Token& token : tokens) {
    texts.push_back(repair_utf8(token.text).text);
    special.push_back(!token.has_span());
  }
  return {{"text", std::move(texts)}, {"special", std::move(special)}, {"word", word_numbers(tokens, text)}};
}

/// The tokens of one sentence, each list once, whichever axes it labels.
class TokenLists {
 public:
  std::size_t place(Json list) {
    const auto same = std::find(lists_.begin(), lists_.end(), list);
    const auto place = static_cast<std::size_t>(same - lists_.begin());
    if (same == lists_.end()) lists_.push_back(std::move(list));
    return place;
  }
  const std::vector<Json>& lists() const { return lists_; }

 private:
  std::vector<Json> lists_;
};

Json describe(const AttentionArchive& archive, const ViewerSelection& selection, std::size_t i) {
  const AttentionArchive::Sentence sentence = archive.sentence(i);
  TokenLists tokens;
  Json maps = Json::object();
  const auto text_of = [&](const std::string& path) -> const std::string& {
    return path.find("source") != std::string::npos ? sentence.source_text : sentence.target_text;
  };
  for (const KindSelection& kind : selection.kinds) {
    const AttentionArchive::KindInfo& info = archive.info(kind.kind);
    const std::vector<Token> queries = archive.query_tokens(kind.kind, i);
    const std::vector<Token> keys = archive.key_tokens(kind.kind, i);
    if (queries.empty() || keys.empty()) continue;
    maps[name_of(kind.kind)] = {{"queries", tokens.place(describe(queries, text_of(info.query_tokens)))},
                                {"keys", tokens.place(describe(keys, text_of(info.key_tokens)))}};
  }
  Json json{{"index", i},
            {"line", sentence.line},
            {"status", name_of_status(sentence.status)},
            {"source", repair_utf8(sentence.source_text).text},
            {"target", repair_utf8(sentence.target_text).text},
            {"score", std::isfinite(sentence.score) ? Json(sentence.score) : Json()},
            {"tokens", tokens.lists()},
            {"maps", std::move(maps)}};
  if (sentence.reference) json["reference"] = repair_utf8(*sentence.reference).text;
  return json;
}

std::string origin_line(const AttentionArchive& archive) {
  const AttentionArchive::Origin origin = archive.origin();
  std::vector<std::string> parts;
  if (!origin.created_utc.empty()) parts.push_back("written " + origin.created_utc);
  if (!origin.checkpoint_sha256.empty())
    parts.push_back("checkpoint " + origin.checkpoint_sha256.substr(0, 12));
  if (!origin.backend.empty()) parts.push_back("backend " + origin.backend);
  if (!origin.command_line.empty()) parts.push_back("by " + origin.command_line);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string file_title(const AttentionArchive& archive) {
  return repair_utf8(std::filesystem::path(archive.file_name()).filename().string()).text;
}

void write_tables(const AttentionArchive& archive, const ViewerSelection& selection,
                  const std::function<void(std::string_view)>& write) {
  Json kinds = Json::array();
  for (const KindSelection& kind : selection.kinds) kinds.push_back(describe(archive, kind));
  const Json head{{"file", file_title(archive)},
                  {"origin", repair_utf8(origin_line(archive)).text},
                  {"viridis", palette_text()},
                  {"kinds", std::move(kinds)}};
  write("<script type=\"application/json\" id=\"archive\">");
  std::string opened = head.dump();
  opened.pop_back();  // the closing brace: sentences follow
  write(json_for_script(opened));
  write(",\"sentences\":[\n");
  bool first = true;
  for (const std::size_t i : selection.sentences) {
    if (!first) write(",\n");
    first = false;
    write(json_for_script(describe(archive, selection, i).dump()));
  }
  write("]}</script>\n");
}

std::string float_bytes(const AttentionArchive::Block& block, const KindSelection& selection) {
  std::string bytes;
  for (const std::size_t layer : selection.layers) {
    for (const std::size_t head : selection.heads) {
      for (const float weight : block.map(layer, head)) {
        const auto bits = std::bit_cast<std::uint32_t>(weight);
        for (const int shift : {0, 8, 16, 24}) bytes += static_cast<char>(bits >> shift & 0xff);
      }
    }
  }
  return bytes;
}

void write_weights(const AttentionArchive& archive, const ViewerSelection& selection,
                   const std::function<void(std::string_view)>& write,
                   const std::function<void()>& after_sentence) {
  for (const std::size_t i : selection.sentences) {
    for (const KindSelection& kind : selection.kinds) {
      const AttentionArchive::Block block = archive.block(kind.kind, i);
      if (block.weights.empty()) continue;
      write(fmt::format("<script type=\"text/plain\" id=\"weights-{}-{}\">", i, name_of(kind.kind)));
      write(base64(float_bytes(block, kind)));
      write("</script>\n");
    }
    after_sentence();
  }
}

}  // namespace

std::uint64_t estimated_page_bytes(const AttentionArchive& archive, const ViewerSelection& selection) {
  constexpr std::uint64_t bytes_a_token = 40;
  std::uint64_t bytes = viewer_template.size() + viewer_style.size() + viewer_script.size();
  for (const std::size_t i : selection.sentences) {
    const AttentionArchive::Sentence sentence = archive.sentence(i);
    const auto source = static_cast<std::uint64_t>(std::max(sentence.source_length, 0));
    const auto target = static_cast<std::uint64_t>(std::max(sentence.target_length, 0));
    bytes += 200 + 2 * (sentence.source_text.size() + sentence.target_text.size()) +
             bytes_a_token * (source + 2 * target);
    for (const KindSelection& kind : selection.kinds) {
      const std::uint64_t queries = kind.kind == AttentionKind::encoder_self ? source : target;
      const std::uint64_t keys = kind.kind == AttentionKind::decoder_self ? target : source;
      bytes += (kind.layers.size() * kind.heads.size() * queries * keys * sizeof(float) + 2) / 3 * 4 + 60;
    }
  }
  return bytes;
}

void write_viewer_page(const AttentionArchive& archive, const ViewerSelection& selection,
                       const std::function<void(std::string_view)>& write,
                       const std::function<void()>& after_sentence) {
  const std::string policy = fmt::format(
      "default-src 'none'; script-src '{}'; style-src '{}'; img-src data: blob:; base-uri 'none'; "
      "form-action 'none'",
      policy_hash(viewer_script), policy_hash(viewer_style));
  std::string_view rest = viewer_template;
  while (true) {
    const std::size_t open = rest.find("{{");
    write(rest.substr(0, open));
    if (open == std::string_view::npos) return;
    const std::size_t close = rest.find("}}", open);
    const std::string_view name = rest.substr(open + 2, close - open - 2);
    if (name == "policy") write(policy);
    if (name == "title") write(escape_html(file_title(archive)) + ": attention");
    if (name == "style") write(viewer_style);
    if (name == "script") write(viewer_script);
    if (name == "data") {
      write_tables(archive, selection, write);
      write_weights(archive, selection, write, after_sentence);
    }
    rest.remove_prefix(close + 2);
  }
}

std::string json_for_script(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (json.substr(i, 3) == "\xE2\x80\xA8" || json.substr(i, 3) == "\xE2\x80\xA9") {
      safe += json[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j > bytes.size() ? '=' : digits[group >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

}  // namespace attn::dump
