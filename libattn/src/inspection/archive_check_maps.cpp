#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "attn/inspection/attention_archive.h"
#include "attn/inspection/attention_statistics.h"
#include "inspection/archive_layout.h"
#include "inspection/archive_tables.h"

namespace attn::archive {
namespace {

// What rounding may do to the sum of a row and to an entropy, for weights of either precision.
constexpr double sum_tolerance = 1e-5, half_sum_tolerance = 1e-2;
constexpr double entropy_tolerance = 1e-4, half_entropy_tolerance = 1e-2;

class MapCheck {
 public:
  MapCheck(const hdf5::Group& group, const SentenceTable& table, Findings& findings)
      : group_(group), table_(table), findings_(findings) {}

  void run() {
    check_attributes();
    check_indices("layer_index", layers_);
    check_indices("head_index", heads_);
    const hdf5::Shape rows{table_.sentences};
    const auto queries = findings_.dataset(group_, path("query_length"), "i32", rows);
    const auto keys = findings_.dataset(group_, path("key_length"), "i32", rows);
    const auto weights = findings_.dataset(group_, path("weights"), "f32|f16", {Findings::any});
    const auto entropy =
        findings_.dataset(group_, path("entropy"), "f32", {table_.sentences, layers_.size(), heads_.size()});
    if (!weights) return;
    const std::vector<std::int64_t> offsets =
        check_offsets(group_, table_.sentences, weights->size(), findings_);
    if (!queries || !keys || offsets.empty()) return;
    queries_ = queries->read<std::int32_t>();
    keys_ = keys->read<std::int32_t>();
    check_lengths();
    half_ = weights->type() == "f16";
    for (std::size_t i = 0; i < table_.sentences; ++i) check_block(i, offsets, *weights, entropy);
  }

 private:
  std::string path(const char* name) const { return fmt::format("{}/{}", group_.path(), name); }

  void check_attributes() {
    findings_.text(group_, "block_axes", "layer,head,query,key");
    findings_.text(group_, "block_order", "C");
    findings_.text(group_, "normalized_axis", "key");
    findings_.text(group_, "stage", stage);
    findings_.text(group_, "score", "scaled_dot|additive");
    findings_.text(group_, "query_row", fmt::format("{}|{}", consumes, predicts));
    const std::string groups = fmt::format("{}", fmt::join(token_groups, "|"));
    query_tokens_ = findings_.text(group_, "query_tokens", groups).value_or("");
    key_tokens_ = findings_.text(group_, "key_tokens", groups).value_or("");
    causal_ = findings_.integer(group_, "causal", 0, 1) == 1;
    findings_.integer(group_, "forced_decoding", 0, 1);
  }

  void check_indices(const char* name, std::vector<std::int32_t>& values) {
    const auto dataset = findings_.dataset(group_, path(name), "i32", {Findings::any});
    if (!dataset) return;
    values = dataset->read<std::int32_t>();
    const bool rising =
        std::adjacent_find(values.begin(), values.end(), std::greater_equal()) == values.end();
    if (values.empty() || values.front() < 0 || !rising)
      findings_.add(path(name), "holds {}; expected rising numbers from 0", fmt::join(values, ", "));
  }

  const std::vector<std::int32_t>& lengths_of(const std::string& tokens) const {
    return is_source(tokens) ? table_.source_lengths : table_.target_lengths;
  }

  void check_lengths() {
    const auto compare = [&](const char* name, const std::vector<std::int32_t>& found,
                             const std::string& tokens) {
      const std::vector<std::int32_t>& expected = lengths_of(tokens);
      if (tokens.empty() || expected.size() != found.size()) return;
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] != expected[i])
          findings_.add(path(name), "is {} for sentence {}; {} has {} tokens", found[i], i, tokens,
                        expected[i]);
      }
    };
    compare("query_length", queries_, query_tokens_);
    compare("key_length", keys_, key_tokens_);
  }

  void check_block(std::size_t i, const std::vector<std::int64_t>& offsets, const hdf5::Dataset& weights,
                   const std::optional<hdf5::Dataset>& entropy) {
    const auto maps = static_cast<std::int64_t>(layers_.size() * heads_.size());
    const std::int64_t count = offsets[i + 1] - offsets[i];
    if (count != maps * queries_[i] * keys_[i]) {
      findings_.add(path("offset"), "gives sentence {} {} weights; expected {} x {} x {} x {}", i, count,
                    layers_.size(), heads_.size(), queries_[i], keys_[i]);
      return;
    }
    const std::vector<float> block =
        weights.read_rows<float>(static_cast<std::uint64_t>(offsets[i]), static_cast<std::uint64_t>(count));
    const auto queries = static_cast<std::size_t>(queries_[i]), keys = static_cast<std::size_t>(keys_[i]);
    const std::vector<float> stored = entropy ? entropy->read_rows<float>(i, 1) : std::vector<float>();
    for (std::size_t map = 0; map < static_cast<std::size_t>(maps); ++map) {
      const auto part = std::span(block).subspan(map * queries * keys, queries * keys);
      for (std::size_t query = 0; query < queries; ++query)
        check_row(i, map, query, part.subspan(query * keys, keys));
      if (!stored.empty()) check_entropy(i, map, mean_entropy(part, queries, keys), stored[map]);
    }
  }

  std::string place(std::size_t i, std::size_t map) const {
    return fmt::format("sentence {}, layer {}, head {}", i, layers_[map / heads_.size()],
                       heads_[map % heads_.size()]);
  }

  void check_row(std::size_t i, std::size_t map, std::size_t query, std::span<const float> row) {
    double sum = 0.0;
    for (std::size_t key = 0; key < row.size(); ++key) {
      const auto weight = static_cast<double>(row[key]);
      if (!(weight >= 0.0 && weight <= 1.0 + sum_tolerance)) {
        findings_.add(path("weights"), "{}, query {}, key {}: is {}; expected 0 to 1", place(i, map), query,
                      key, weight);
      } else if (causal_ && key > query && weight != 0.0) {
        findings_.add(path("weights"), "{}, query {}, key {}: is {}; expected 0, since the key is masked",
                      place(i, map), query, key, weight);
      }
      sum += weight;
    }
    if (sum != 0.0 && !(std::abs(sum - 1.0) <= (half_ ? half_sum_tolerance : sum_tolerance))) {
      findings_.add(path("weights"), "{}, query {}: the row sums to {:.7g}; expected 1, or only zeros",
                    place(i, map), query, sum);
    }
  }

  void check_entropy(std::size_t i, std::size_t map, double expected, float found) {
    if (std::isnan(expected) && std::isnan(found)) return;
    const double tolerance = half_ ? half_entropy_tolerance : entropy_tolerance;
    if (std::abs(expected - static_cast<double>(found)) <= tolerance) return;
    findings_.add(path("entropy"), "{}: is {:.6g}; the weights give {:.6g}", place(i, map), found, expected);
  }

  const hdf5::Group& group_;
  const SentenceTable& table_;
  Findings& findings_;
  std::vector<std::int32_t> layers_, heads_, queries_, keys_;
  std::string query_tokens_, key_tokens_;
  bool causal_ = false, half_ = false;
};

}  // namespace

void check_maps(const hdf5::File& file, const SentenceTable& table, Findings& findings,
                ValidationReport& report) {
  const auto group = findings.group(file, "/attention");
  if (!group) return;
  std::vector<std::string> found;
  for (const std::string& name : group->names()) {
    const std::string path = "/attention/" + name;
    if (!attention_kind(name)) {
      findings.add(path, "is no kind of attention");
    } else if (const auto kind = findings.group(file, path)) {
      found.push_back(name);
      MapCheck(*kind, table, findings).run();
    }
  }
  if (found.empty()) findings.add("/attention", "holds no kind of attention");
  report.summary = fmt::format("{} sentences, attention {}", table.sentences, fmt::join(found, ", "));
}

void check_attention(const hdf5::File& file, ValidationReport& report) {
  Findings findings(report);
  check_header(file, findings);
  const SentenceTable table = check_tables(file, findings);
  check_maps(file, table, findings, report);
}

}  // namespace attn::archive
