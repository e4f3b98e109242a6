#include "decoding/oracle.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "attn/decoding/forced.h"
#include "attn/text/vocabulary.h"
#include "decoding/models.h"
#include "support/catch.h"

namespace attn::test {
namespace {

// Whether the last tokens occur earlier in the sequence.
bool repeats(const Tokens& tokens, std::int64_t size) {
  if (size == 0 || static_cast<std::int64_t>(tokens.size()) < size) return false;
  std::multiset<Tokens> seen;
  for (auto begin = tokens.begin(); begin + size <= tokens.end(); ++begin) seen.insert({begin, begin + size});
  return seen.count(Tokens(tokens.end() - size, tokens.end())) > 1;
}

// The attention of every target on its source, summed over its tokens: [targets, source tokens].
std::vector<std::vector<double>> attended(const TranslationModel& model, const Sources& sources,
                                          const std::vector<Tokens>& labels) {
  const DecoderInput input = make_decoder_input(labels);
  const auto keys = static_cast<std::size_t>(sources.steps);
  std::vector<std::vector<double>> sums(labels.size(), std::vector<double>(keys, 0.0));
  std::vector<std::size_t> next_query;
  Context context;
  context.observe([&](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
    if (kind != AttentionKind::cross && kind != AttentionKind::rnn_cross) return;
    next_query.resize(std::max(next_query.size(), static_cast<std::size_t>(layer) + 1), 0);
    const auto heads = static_cast<std::size_t>(weights.size(1));
    const auto queries = static_cast<std::size_t>(weights.size(2));
    const std::vector<double> values = weights.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t key = i % keys, query = i / keys % queries, b = i / (keys * queries * heads);
      if (next_query[static_cast<std::size_t>(layer)] + query < labels[b].size())
        sums[b][key] += values[i] / static_cast<double>(heads);
    }
    next_query[static_cast<std::size_t>(layer)] += queries;
  });
  model.forward(sources.batch(), input.batch(), context);
  for (auto& row : sums) {
    for (double& sum : row) sum /= static_cast<double>(next_query.size());
  }
  return sums;
}

double normalisation(const SearchOptions& options, std::size_t labels) {
  const auto length = static_cast<double>(labels);
  return options.length_penalty_kind == LengthPenalty::gnmt
             ? std::pow((5.0 + length) / 6.0, options.length_penalty)
             : std::pow(length, options.length_penalty);
}

std::vector<Tokens> all_sequences(const Tokens& prefix, std::int64_t vocabulary,
                                  const SearchOptions& options) {
  std::vector<Tokens> all;
  const std::function<void(const Tokens&)> extend = [&](const Tokens& tokens) {
    for (const std::int32_t token : possible_tokens(tokens, prefix, vocabulary, options)) {
      Tokens longer = tokens;
      longer.push_back(token);
      if (token == Vocabulary::eos || static_cast<std::int64_t>(longer.size()) == options.max_length) {
        all.push_back(longer);
      } else {
        extend(longer);
      }
    }
  };
  extend({});
  return all;
}

}  // namespace

std::vector<std::int32_t> possible_tokens(const Tokens& tokens, const Tokens& prefix, std::int64_t vocabulary,
                                          const SearchOptions& options) {
  if (tokens.size() < prefix.size()) return {prefix[tokens.size()]};
  std::vector<std::int32_t> possible;
  for (std::int32_t token = 0; token < vocabulary; ++token) {
    if (token == Vocabulary::pad || token == Vocabulary::bos || token == Vocabulary::eos) continue;
    Tokens longer = tokens;
    longer.push_back(token);
    if (!repeats(longer, options.no_repeat_ngram)) possible.push_back(token);
  }
  if (possible.empty() || static_cast<std::int64_t>(tokens.size()) + 1 >= options.min_length)
    possible.push_back(Vocabulary::eos);
  return possible;
}

std::vector<Hypothesis> all_hypotheses(const TranslationModel& model, const Tokens& source,
                                       std::int64_t vocabulary, const SearchOptions& options,
                                       const Tokens& prefix) {
  const std::vector<Tokens> labels = all_sequences(prefix, vocabulary, options);
  const Sources sources(std::vector<Tokens>(labels.size(), source));
  const std::vector<ForcedScore> forced = forced_scores(model, sources.batch(), labels);
  std::vector<std::vector<double>> attention;
  if (options.coverage_penalty != 0.0) attention = attended(model, sources, labels);
  std::vector<Hypothesis> all;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Hypothesis hypothesis{labels[i], forced[i].log_probability, 0.0, labels[i].back() == Vocabulary::eos};
    if (hypothesis.finished) hypothesis.tokens.pop_back();
    hypothesis.score = hypothesis.log_probability / normalisation(options, labels[i].size());
    if (!attention.empty()) {
      for (const double sum : attention[i]) hypothesis.coverage += std::log(std::min(sum, 1.0));
      hypothesis.score += options.coverage_penalty * hypothesis.coverage;
    }
    all.push_back(std::move(hypothesis));
  }
  std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
    if (a.finished != b.finished) return a.finished;
    return a.score > b.score;
  });
  return all;
}

Hypothesis plain_greedy(const TranslationModel& model, const Tokens& source, const SearchOptions& options,
                        const Tokens& prefix) {
  Hypothesis hypothesis;
  Context context;
  const auto state = model.encode(Sources({source}).batch(), options.max_length, context);
  std::int32_t last = Vocabulary::bos;
  while (!hypothesis.finished && static_cast<std::int64_t>(hypothesis.tokens.size()) < options.max_length) {
    const std::vector<double> logits =
        model.step(*state, std::span<const std::int32_t>(&last, 1), context).to_vector<double>();
    const auto possible =
        possible_tokens(hypothesis.tokens, prefix, static_cast<std::int64_t>(logits.size()), options);
    last = *std::max_element(possible.begin(), possible.end(), [&](std::int32_t a, std::int32_t b) {
      return logits[static_cast<std::size_t>(a)] < logits[static_cast<std::size_t>(b)];
    });
    double sum = 0.0;
    for (const double logit : logits) sum += std::exp(logit);
    hypothesis.log_probability += logits[static_cast<std::size_t>(last)] - std::log(sum);
    hypothesis.finished = last == Vocabulary::eos;
    if (!hypothesis.finished) hypothesis.tokens.push_back(last);
  }
  return hypothesis;
}

std::vector<Chance> chances(const std::vector<double>& logits, const Tokens& tokens, const Tokens& prefix,
                            const SearchOptions& options) {
  const Sampling& sampling = *options.sampling;
  std::vector<Chance> all;
  for (const std::int32_t token :
       possible_tokens(tokens, prefix, static_cast<std::int64_t>(logits.size()), options))
    all.push_back({token, std::exp(logits[static_cast<std::size_t>(token)] / sampling.temperature)});
  std::sort(all.begin(), all.end(),
            [](const Chance& a, const Chance& b) { return a.probability > b.probability; });
  const auto normalise = [&] {
    double sum = 0.0;
    for (const Chance& chance : all) sum += chance.probability;
    for (Chance& chance : all) chance.probability /= sum;
  };
  if (sampling.top_k > 0) all.resize(std::min(all.size(), static_cast<std::size_t>(sampling.top_k)));
  normalise();
  double together = 0.0;
  std::size_t kept = 0;
  while (kept < all.size() && together < sampling.top_p) together += all[kept++].probability;
  all.resize(kept);
  normalise();
  return all;
}

void require_same_hypotheses(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    INFO("translation " << k);
    REQUIRE(found[k].tokens == expected[k].tokens);
    CHECK(found[k].finished == expected[k].finished);
    CHECK(std::abs(found[k].log_probability - expected[k].log_probability) < 1e-9);
    CHECK(std::abs(found[k].score - expected[k].score) < 1e-9);
    CHECK(std::abs(found[k].coverage - expected[k].coverage) < 1e-9);
  }
}

}  // namespace attn::test
