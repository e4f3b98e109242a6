#include "attn/decoding/alignment.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/core/error.h"
#include "attn/decoding/forced.h"
#include "attn/text/vocabulary.h"

namespace attn {
namespace {

bool is_cross(AttentionKind kind) {
  return kind == AttentionKind::cross || kind == AttentionKind::rnn_cross;
}

struct LayersAndHeads {
  std::int64_t layers = 0, heads = 0;
};

// Of the attention from target to source. The models of an ensemble count their layers one after the other.
LayersAndHeads cross_attention(const TranslationModel& model) {
  LayersAndHeads all;
  for (const auto& map : model.attention_maps()) {
    if (!is_cross(map.kind)) continue;
    all.layers += map.layers;
    all.heads = std::max(all.heads, map.heads);
  }
  return all;
}

void check_place(std::optional<std::int64_t> place, std::int64_t count, const char* what) {
  if (!place || (*place >= 0 && *place < count)) return;
  if (count == 1) {
    fail(ExitCode::usage, "there is no {} {} to align with; the attention of this model has one, number 0",
         what, *place);
  }
  fail(ExitCode::usage, "there is no {} {} to align with; the attention of this model has {}s 0 to {}", what,
       *place, what, count - 1);
}

}  // namespace

bool can_align(const TranslationModel& model) {
  return cross_attention(model).layers > 0;
}

void check(const AlignmentOptions& options, const TranslationModel& model) {
  const LayersAndHeads attention = cross_attention(model);
  if (attention.layers == 0) {
    fail(ExitCode::usage,
         "this model has no attention, so that its translations cannot be aligned; use a model of type "
         "seq2seq_attention or transformer");
  }
  check_place(options.layer, attention.layers, "layer");
  check_place(options.head, attention.heads, "head");
  if (!(options.threshold >= 0.0 && options.threshold <= 1.0)) {
    fail(ExitCode::usage, "an alignment threshold of {} is not possible: weights lie between 0 and 1",
         options.threshold);
  }
}

AlignmentObserver::AlignmentObserver(const TranslationModel& model, const AlignmentOptions& options,
                                     std::int64_t sources, std::int64_t source_steps,
                                     std::int64_t target_steps)
    : options_(options), queries_(target_steps), keys_(source_steps) {
  check(options, model);
  sums_.resize(static_cast<std::size_t>(sources * queries_ * keys_));
}

void AlignmentObserver::watch(Context& context) {
  context.observe([this](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
    if (is_cross(kind) && layer == options_.layer.value_or(layer)) add(layer, weights);
  });
}

// Adds up weights [batch, heads, queries, keys]. Bahdanau attention reports one query after the other, so
// that a report goes on where the one before it of the same layer ended.
void AlignmentObserver::add(std::int64_t layer, const Tensor& weights) {
  if (static_cast<std::size_t>(layer) >= next_query_.size())
    next_query_.resize(static_cast<std::size_t>(layer) + 1);
  std::int64_t& first_query = next_query_[static_cast<std::size_t>(layer)];
  const std::int64_t reported = weights.size(2), heads = weights.size(1);
  if (first_query == 0) maps_ += options_.head ? (*options_.head < heads ? 1 : 0) : heads;
  if (weights.size(3) != keys_ || first_query + reported > queries_) {
    fail(ExitCode::internal, "attention weights of shape {} for {} target and {} source tokens",
         weights.shape(), queries_, keys_);
  }
  const std::vector<double> values = weights.to_vector<double>();
  const double* value = values.data();
  for (std::int64_t b = 0; b < weights.size(0); ++b) {
    for (std::int64_t head = 0; head < heads; ++head, value += reported * keys_) {
      if (head != options_.head.value_or(head)) continue;
      double* sum = sums_.data() + (b * queries_ + first_query) * keys_;
      for (std::int64_t i = 0; i < reported * keys_; ++i) sum[i] += value[i];
    }
  }
  first_query += reported;
}

AlignmentMatrix AlignmentObserver::weights(std::size_t b, std::size_t target_tokens,
                                           std::size_t source_tokens, std::size_t queries) const {
  if (target_tokens > 0 && maps_ == 0)
    fail(ExitCode::usage, "no attention of the layer and head to align with has been met");
  AlignmentMatrix matrix{target_tokens, source_tokens, {}};
  matrix.weights.reserve(target_tokens * source_tokens);
  for (std::size_t t = 0; t < target_tokens; ++t) {
    const std::size_t query = options_.shifted ? std::min(t + 1, queries - 1) : t;
    const double* row =
        sums_.data() + (b * static_cast<std::size_t>(queries_) + query) * static_cast<std::size_t>(keys_);
    for (std::size_t s = 0; s < source_tokens; ++s)
      matrix.weights.push_back(row[s] / static_cast<double>(maps_));
  }
  return matrix;
}

std::vector<AlignmentMatrix> attention_weights(const TranslationModel& model, const TokenBatch& source,
                                               std::span<const std::int32_t> source_tokens,
                                               std::span<const std::vector<std::int32_t>> targets,
                                               const std::vector<bool>& finished,
                                               const AlignmentOptions& options) {
  std::vector<std::vector<std::int32_t>> labels(targets.begin(), targets.end());
  // Only then is there a query that has read the last token.
  for (std::size_t b = 0; options.shifted && b < labels.size(); ++b) {
    if (finished[b]) labels[b].push_back(Vocabulary::eos);
  }
  const DecoderInput input = make_decoder_input(labels);
  AlignmentObserver observer(model, options, source.size, source.steps, input.steps);
  Context context;
  observer.watch(context);
  if (!input.ids.empty()) model.forward(source, input.batch(), context);
  std::vector<AlignmentMatrix> matrices;
  for (std::size_t b = 0; b < targets.size(); ++b) {
    matrices.push_back(
        observer.weights(b, targets[b].size(), static_cast<std::size_t>(source_tokens[b]), labels[b].size()));
  }
  return matrices;
}

std::vector<AlignmentLink> hard_links(const AlignmentMatrix& matrix) {
  std::vector<AlignmentLink> links;
  for (std::size_t t = 0; t < matrix.targets; ++t) {
    const auto row = matrix.row(t);
    const auto largest = std::max_element(row.begin(), row.end());
    if (largest != row.end() && *largest > 0.0)
      links.emplace_back(largest - row.begin(), static_cast<std::int64_t>(t));
  }
  return links;
}

std::vector<AlignmentLink> threshold_links(const AlignmentMatrix& matrix, double threshold) {
  std::vector<AlignmentLink> links;
  for (std::size_t t = 0; t < matrix.targets; ++t) {
    for (std::size_t s = 0; s < matrix.sources; ++s) {
      if (matrix.row(t)[s] >= threshold)
        links.emplace_back(static_cast<std::int64_t>(s), static_cast<std::int64_t>(t));
    }
  }
  return links;
}

std::vector<AlignmentLink> links_of(const AlignmentMatrix& matrix, const AlignmentOptions& options) {
  return options.kind == AlignmentKind::threshold ? threshold_links(matrix, options.threshold)
                                                  : hard_links(matrix);
}

std::string to_pharaoh(std::span<const AlignmentLink> links) {
  std::string text;
  for (const auto& [source, target] : links)
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", source, target);
  return text;
}

std::string to_weighted_pharaoh(const AlignmentMatrix& matrix, double least) {
  std::string text;
  for (const auto& [source, target] : threshold_links(matrix, least)) {
    text += fmt::format("{}{}-{}:{:.4f}", text.empty() ? "" : " ", source, target,
                        matrix.row(static_cast<std::size_t>(target))[static_cast<std::size_t>(source)]);
  }
  return text;
}

}  // namespace attn
