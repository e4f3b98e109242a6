#include "model_config_file.h"

#include "attn/core/error.h"
#include "attn/models/model_names.h"

namespace attn {
namespace {

// One list of the fields for both directions: `visit` is called with each attribute's name and member.
template<typename Config, typename Visit>
void visit_fields(Config& config, Visit&& visit) {
  visit.choice("type", config.type, names::model_types);
  visit.number("embedding_size", config.embedding_size);
  visit.number("hidden_size", config.hidden_size);
  visit.number("encoder_layers", config.encoder_layers);
  visit.number("decoder_layers", config.decoder_layers);
  visit.number("dropout", config.dropout);
  visit.flag("encode_padding", config.encode_padding);
  visit.number("heads", config.heads);
  visit.number("feed_forward_size", config.feed_forward_size);
  visit.number("feed_forward_dropout", config.feed_forward_dropout);
  visit.choice("norm", config.norm, names::norms);
  visit.flag("final_norm", config.final_norm);
  visit.choice("positions", config.positions, names::positions);
  visit.number("max_length", config.max_length);
  visit.flag("attention_bias", config.attention_bias);
  visit.choice("tying", config.tying, names::tyings);
  visit.choice("masking", config.masking, names::maskings);
  // Fields that files of earlier versions lack.
  visit.from_here_optional();
  visit.choice("cell", config.cell, names::cells);
  visit.flag("bidirectional", config.bidirectional);
  visit.choice("scoring", config.scoring, names::scorings);
  visit.flag("deep_output", config.deep_output);
  visit.number("embedding_dropout", config.embedding_dropout);
  visit.number("attention_dropout", config.attention_dropout);
}

class Writer {
 public:
  explicit Writer(hdf5::Group& group) : group_(group) {}

  void from_here_optional() {}
  template<typename T>
  void number(const char* name, T value) {
    group_.set_attribute(name, value);
  }
  void number(const char* name, const std::optional<double>& value) {
    if (value) group_.set_attribute(name, *value);
  }
  void flag(const char* name, bool value) { group_.set_attribute(name, static_cast<std::uint8_t>(value)); }
  template<typename Enum, std::size_t count>
  void choice(const char* name, Enum value, const names::Table<Enum, count>& table) {
    group_.set_attribute(name, names::of(table, value));
  }

 private:
  hdf5::Group& group_;
};

class Reader {
 public:
  explicit Reader(const hdf5::Group& group) : group_(group) {}

  /// What is missing from now on keeps its default.
  void from_here_optional() { optional_ = true; }
  template<typename T>
  void number(const char* name, T& value) {
    if (expected(name)) value = group_.attribute<T>(name);
  }
  void number(const char* name, std::optional<double>& value) {
    if (expected(name)) value = group_.attribute<double>(name);
  }
  void flag(const char* name, bool& value) {
    if (expected(name)) value = group_.attribute<std::uint8_t>(name) != 0;
  }
  template<typename Enum, std::size_t count>
  void choice(const char* name, Enum& value, const names::Table<Enum, count>& table) {
    if (!expected(name)) return;
    const std::string found = group_.string_attribute(name);
    for (const auto& [known, candidate] : table) {
      if (known != found) continue;
      value = candidate;
      return;
    }
    fail(ExitCode::input_data, "{}: the model's {} is '{}', which this version does not know",
         group_.file_name(), name, found);
  }

 private:
  bool expected(const char* name) const { return !optional_ || group_.has_attribute(name); }

  const hdf5::Group& group_;
  bool optional_ = false;
};

class Lister {
 public:
  void from_here_optional() { optional_from = lines.size(); }
  void number(const char* name, const std::optional<double>& value) {
    lines.push_back(fmt::format("{}={}", name, value ? fmt::to_string(*value) : "null"));
  }
  template<typename T>
  void number(const char* name, T value) {
    lines.push_back(fmt::format("{}={}", name, value));
  }
  void flag(const char* name, bool value) { lines.push_back(fmt::format("{}={}", name, value)); }
  template<typename Enum, std::size_t count>
  void choice(const char* name, Enum value, const names::Table<Enum, count>& table) {
    lines.push_back(fmt::format("{}={}", name, names::of(table, value)));
  }

  std::vector<std::string> lines;
  std::size_t optional_from = 0;
};

}  // namespace

void write_model_config(hdf5::Group& group, const ModelConfig& config) {
  visit_fields(config, Writer(group));
}

ModelConfig read_model_config(const hdf5::Group& group) {
  ModelConfig config;
  visit_fields(config, Reader(group));
  return config;
}

std::vector<std::string> model_config_lines(const ModelConfig& config) {
  Lister lister;
  visit_fields(config, lister);
  return std::move(lister.lines);
}

std::vector<std::string> lasting_model_config_lines(const ModelConfig& config) {
  const ModelConfig standard;
  Lister lister, defaults;
  visit_fields(config, lister);
  visit_fields(standard, defaults);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < lister.lines.size(); ++i) {
    if (i < lister.optional_from || lister.lines[i] != defaults.lines[i]) lines.push_back(lister.lines[i]);
  }
  return lines;
}

}  // namespace attn
