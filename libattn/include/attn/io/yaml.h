#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// YAML as a tree that knows where each value stands in its file. Parsing is yaml-cpp's; this layer adds
/// positions of keys, the detection of duplicated keys, and expands anchors and merge keys (<<).
namespace attn::yaml {

/// A place in a file; line and column count from 1. Line 0 stands for a text without lines, as a --set
/// argument.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;

  /// "configs/x.yaml:12:3", or just the file's name without a line.
  std::string text() const;
};

struct Entry;

/// A value: nothing, a text, a list or a map. Numbers and booleans are texts until a schema reads them.
struct Node {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  Position position = {};
  std::string text = {};       ///< of a scalar
  bool quoted = false;         ///< whether the scalar stood in quotation marks
  std::vector<Node> items;     ///< of a sequence
  std::vector<Entry> entries;  ///< of a map, in the file's order; a duplicated key only once

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_map() const { return kind == Kind::map; }

  /// The value of a map's key, or nullptr.
  const Node* find(std::string_view key) const;
  /// For messages: "'abc'", "a list", "a map" or "nothing".
  std::string describe() const;
};

struct Entry {
  std::string key;
  Position position;  ///< of the key
  Node value;
};

struct Document {
  Node root;
  /// What is wrong but did not stop the parser, each with its position: duplicated keys, keys that are no
  /// plain text.
  std::vector<std::string> problems = {};

  /// Throws Error (ExitCode::config) with all problems, one a line, when there are any.
  void require_valid() const;
};

/// Reads a YAML file of one document; an empty file is a null node. Throws Error: ExitCode::file when it
/// cannot be read, ExitCode::config with file:line:column when it is malformed.
Document load(const std::filesystem::path& path);

/// The same for a text; `name` stands for the file in messages.
Document parse(std::string_view text, const std::string& name);

/// The same for a text without lines, as the value of --set; all positions are `label`.
Node parse_value(std::string_view text, const std::string& label);

/// A scalar as YAML that reads back as the same text: plain where that is safe, else in double quotation
/// marks.
std::string quote(std::string_view text);

}  // namespace attn::yaml
