#include "attn/inspection/attention_maps.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "attn/core/error.h"
#include "attn/decoding/forced.h"
#include "inspection/archive_layout.h"

namespace attn {
namespace {

std::vector<std::int32_t> select_indices(const char* what, AttentionKind kind, std::int64_t available,
                                         std::vector<std::int32_t> wanted) {
  if (wanted.empty()) {
    wanted.resize(static_cast<std::size_t>(available));
    std::iota(wanted.begin(), wanted.end(), 0);
    return wanted;
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (const std::int32_t index : wanted) {
    if (index >= 0 && index < available) continue;
    fail(ExitCode::usage, "{} attention has no {} {}; it has {}s 0 to {}", name_of(kind), what, index, what,
         available - 1);
  }
  return wanted;
}

// Takes the maps of a batch apart into those of its sentences while a model reports them.
class MapCollector {
 public:
  MapCollector(std::span<const AttentionArchiveLayout::Kind> kinds,
               std::span<const std::int32_t> source_lengths,
               std::span<const std::vector<std::int32_t>> targets)
      : kinds_(kinds), sentences_(targets.size()), queries_done_(kinds.size()) {
    for (std::size_t b = 0; b < targets.size(); ++b) {
      const auto source = static_cast<std::size_t>(source_lengths[b]);
      lengths_.push_back({source, targets[b].size()});
      for (const auto& kind : kinds) {
        const Size size = size_of(kind.kind, b);
        sentences_[b].blocks.emplace_back(kind.layers.size() * kind.heads.size() * size.queries * size.keys);
      }
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) queries_done_[k].resize(kinds[k].layers.size());
  }

  void report(AttentionKind kind, std::int64_t layer, const Tensor& weights) {
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      if (kinds_[k].kind != kind) continue;
      const auto& layers = kinds_[k].layers;
      const auto found = std::find(layers.begin(), layers.end(), layer);
      if (found != layers.end()) store(k, static_cast<std::size_t>(found - layers.begin()), weights);
    }
  }

  std::vector<SentenceMaps> take() { return std::move(sentences_); }

 private:
  struct Size {
    std::size_t queries, keys;
  };
  struct Lengths {
    std::size_t source, target;
  };

  Size size_of(AttentionKind kind, std::size_t b) const {
    const archive::KindTraits traits = archive::traits_of(kind);
    const auto length = [&](const char* tokens) {
      return archive::is_source(tokens) ? lengths_[b].source : lengths_[b].target;
    };
    return {length(traits.query_tokens), length(traits.key_tokens)};
  }

  // Bahdanau attention reports one query after the other, so that a report goes on where the one before it of
  // the same layer ended.
  void store(std::size_t k, std::size_t layer, const Tensor& weights) {
    const std::vector<float> values = weights.to_vector<float>();
    const auto heads = static_cast<std::size_t>(weights.size(1));
    const auto queries = static_cast<std::size_t>(weights.size(2));
    const auto keys = static_cast<std::size_t>(weights.size(3));
    const AttentionArchiveLayout::Kind& kind = kinds_[k];
    std::size_t& first = queries_done_[k][layer];
    for (std::size_t b = 0; b < sentences_.size(); ++b) {
      const Size size = size_of(kind.kind, b);
      const std::size_t last = std::min(first + queries, size.queries);
      for (std::size_t h = 0; h < kind.heads.size(); ++h) {
        const auto head = static_cast<std::size_t>(kind.heads[h]);
        float* map =
            sentences_[b].blocks[k].data() + (layer * kind.heads.size() + h) * size.queries * size.keys;
        for (std::size_t query = first; query < last; ++query) {
          const float* row = values.data() + ((b * heads + head) * queries + query - first) * keys;
          std::copy_n(row, size.keys, map + query * size.keys);
        }
      }
    }
    first += queries;
  }

  std::span<const AttentionArchiveLayout::Kind> kinds_;
  std::vector<Lengths> lengths_;
  std::vector<SentenceMaps> sentences_;
  std::vector<std::vector<std::size_t>> queries_done_;  // of each kind and layer
};

}  // namespace

std::vector<AttentionArchiveLayout::Kind> select_attention(const TranslationModel& model,
                                                           const AttentionSelection& selection) {
  const std::vector<TranslationModel::AttentionMap> maps = model.attention_maps();
  if (maps.empty()) {
    fail(ExitCode::usage,
         "this model has no attention to dump; use a model of type seq2seq-attention or transformer");
  }
  const auto map_of = [&](AttentionKind kind) {
    return std::find_if(maps.begin(), maps.end(), [&](const auto& map) { return map.kind == kind; });
  };
  for (const AttentionKind kind : selection.kinds) {
    if (map_of(kind) != maps.end()) continue;
    std::vector<const char*> names;
    names.reserve(maps.size());
    for (const auto& map : maps) names.push_back(name_of(map.kind));
    fail(ExitCode::usage, "this model has no attention of kind {}; it has {}", name_of(kind),
         fmt::join(names, ", "));
  }
  std::vector<AttentionArchiveLayout::Kind> kinds;
  for (const AttentionKind kind : archive::kinds) {
    const auto& wanted = selection.kinds;
    const auto map = map_of(kind);
    if (map == maps.end()) continue;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), kind) == wanted.end()) continue;
    kinds.push_back({kind, select_indices("layer", kind, map->layers, selection.layers),
                     select_indices("head", kind, map->heads, selection.heads)});
  }
  return kinds;
}

std::vector<SentenceMaps> record_attention(const TranslationModel& model,
                                           std::span<const AttentionArchiveLayout::Kind> kinds,
                                           const TokenBatch& source,
                                           std::span<const std::vector<std::int32_t>> targets,
                                           Context context) {
  MapCollector collector(kinds, source.valid_lengths, targets);
  context.observe([&](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
    collector.report(kind, layer, weights);
  });
  const std::vector<ForcedScore> scores = forced_scores(model, source, targets, context);
  std::vector<SentenceMaps> sentences = collector.take();
  for (std::size_t b = 0; b < sentences.size(); ++b) sentences[b].log_probability = scores[b].log_probability;
  return sentences;
}

}  // namespace attn
