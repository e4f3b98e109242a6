#include "attn/io/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "attn/core/error.h"
#include "attn/io/atomic_file.h"

namespace attn::yaml {
namespace {

/// Anchors can describe a tree that is exponentially larger than its text; no configuration needs this many
/// values.
constexpr std::size_t largest_tree = 1'000'000;

std::size_t count_nodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += count_nodes(item);
  for (const Entry& entry : node.entries) count += count_nodes(entry.value);
  return count;
}

Node make_node(Node::Kind kind, Position position) {
  Node node;
  node.kind = kind;
  node.position = std::move(position);
  return node;
}

Node make_scalar(const std::string& text, bool quoted, Position position) {
  Node node = make_node(Node::Kind::scalar, std::move(position));
  node.text = text;
  node.quoted = quoted;
  return node;
}

/// Builds the tree from the parser's events.
class Builder : public YAML::EventHandler {
 public:
  Builder(Document& document, std::string file, bool with_lines)
      : document_(document), file_(std::move(file)), with_lines_(with_lines) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    place(make_node(Node::Kind::null, position(mark)), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      fail(ExitCode::config, "{}: an alias stands inside the value that it names", position(mark).text());
    }
    copied_ += count_nodes(found->second);
    if (copied_ > largest_tree) {
      fail(ExitCode::config, "{}: the anchors expand to more than {} values", position(mark).text(),
           largest_tree);
    }
    Node copy = found->second;
    copy.position = position(mark);
    place(std::move(copy), 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    place(make_scalar(value, tag == "!", position(mark)), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Node::Kind::sequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Node::Kind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    std::optional<Node> key = {};   ///< read, while its value is awaited
    std::vector<Node> merged = {};  ///< values of <<
  };

  Position position(const YAML::Mark& mark) const {
    if (!with_lines_) return {.file = file_};
    return {.file = file_, .line = mark.line + 1, .column = mark.column + 1};
  }

  void open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    frames_.push_back({.node = make_node(kind, position(mark)), .anchor = anchor});
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const Node& source : frame.merged) {
      for (const Entry& entry : source.entries) {
        if (frame.node.find(entry.key) == nullptr) frame.node.entries.push_back(entry);
      }
    }
    place(std::move(frame.node), frame.anchor);
  }

  void place(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    if (frames_.empty()) {
      document_.root = std::move(node);
    } else if (Frame& frame = frames_.back(); frame.node.is_sequence()) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.key) {
      frame.key = std::move(node);
    } else {
      add_entry(frame, std::move(node));
    }
  }

  void add_entry(Frame& frame, Node value) {
    const Node key = std::move(*frame.key);
    frame.key.reset();
    if (!key.is_scalar()) {
      document_.problems.push_back(
          fmt::format("{}: a key must be a word, found {}", key.position.text(), key.describe()));
      return;
    }
    if (key.text == "<<" && !key.quoted) {
      merge(frame, key, std::move(value));
      return;
    }
    const auto same = [&](const Entry& entry) { return entry.key == key.text; };
    const auto first = std::find_if(frame.node.entries.begin(), frame.node.entries.end(), same);
    if (first != frame.node.entries.end()) {
      const std::string where = with_lines_ ? fmt::format(" in line {}", first->position.line) : "";
      document_.problems.push_back(fmt::format("{}: duplicate key '{}' (first given{})", key.position.text(),
                                               path_of(key.text), where));
      return;
    }
    // Nothing has no place of its own; the key has.
    if (value.is_null()) value.position = key.position;
    frame.node.entries.push_back({.key = key.text, .position = key.position, .value = std::move(value)});
  }

  void merge(Frame& frame, const Node& key, Node value) {
    std::vector<Node> sources;
    if (value.is_sequence()) {
      sources = std::move(value.items);
    } else {
      sources.push_back(std::move(value));
    }
    for (Node& source : sources) {
      if (source.is_map()) {
        frame.merged.push_back(std::move(source));
      } else {
        document_.problems.push_back(
            fmt::format("{}: '<<' merges maps, found {}", key.position.text(), source.describe()));
      }
    }
  }

  /// The key with those of the maps around it: "training.learning_rate".
  std::string path_of(const std::string& key) const {
    std::string path;
    for (const Frame& frame : frames_) {
      if (frame.key) path += frame.key->text + ".";
    }
    return path + key;
  }

  Document& document_;
  std::string file_;
  bool with_lines_;
  std::vector<Frame> frames_ = {};
  std::map<YAML::anchor_t, Node> anchors_ = {};
  std::size_t copied_ = 0;
};

Document parse_document(std::string_view text, const std::string& name, bool with_lines) {
  Document document;
  document.root.position = {.file = name, .line = with_lines ? 1 : 0, .column = with_lines ? 1 : 0};
  std::istringstream stream{std::string(text)};
  const auto where = [&](const YAML::Mark& mark) {
    if (!with_lines || mark.is_null()) return name;
    return Position{.file = name, .line = mark.line + 1, .column = mark.column + 1}.text();
  };
  try {
    YAML::Parser parser(stream);
    Builder builder(document, name, with_lines);
    parser.HandleNextDocument(builder);
    Document second;
    Builder rest(second, name, with_lines);
    if (parser.HandleNextDocument(rest) && !second.root.is_null()) {
      fail(ExitCode::config, "{}: a second YAML document begins; use one file for each",
           second.root.position.text());
    }
  } catch (const YAML::Exception& error) {
    fail(ExitCode::config, "{}: {}", where(error.mark), error.msg);
  }
  return document;
}

}  // namespace

std::string Position::text() const {
  return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column);
}

const Node* Node::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

std::string Node::describe() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return fmt::format("'{}'", text);
    case Kind::sequence:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "nothing";
}

void Document::require_valid() const {
  if (!problems.empty()) throw Error(ExitCode::config, fmt::format("{}", fmt::join(problems, "\n")));
}

Document load(const std::filesystem::path& path) {
  return parse_document(read_file(path), path.string(), true);
}

Document parse(std::string_view text, const std::string& name) {
  return parse_document(text, name, true);
}

Node parse_value(std::string_view text, const std::string& label) {
  Document document = parse_document(text, label, false);
  document.require_valid();
  return std::move(document.root);
}

std::string quote(std::string_view text) {
  constexpr std::array<std::string_view, 14> words = {"null", "true", "false", "yes", "no",   "on",   "off",
                                                      "y",    "n",    "nan",   "inf", ".nan", ".inf", "<<"};
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto is_word = [&](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; };
  const auto is_plain = [&](char c) {
    return is_word(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
  };
  std::string folded(text);
  std::transform(folded.begin(), folded.end(), folded.begin(), lower);
  const bool reserved = std::find(words.begin(), words.end(), folded) != words.end();
  const bool begins_plainly =
      !text.empty() && (is_word(text.front()) || text.front() == '/' || text.front() == '_');
  if (begins_plainly && !reserved && std::all_of(text.begin(), text.end(), is_plain))
    return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (code < 0x20 || code == 0x7F) {
      quoted += fmt::format("\\x{:02x}", code);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace attn::yaml
