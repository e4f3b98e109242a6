// The hypotheses of a sentence attend to one copy of its keys and values. None of that may show in results.
#include <numeric>

#include "model_support.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr std::int64_t vocabulary = small_vocabularies.target;

const std::vector<std::vector<std::int32_t>> sentences = {{4, 7, 5, 8, eos_id}, {6, 5, eos_id}, {8, eos_id}};

struct Report {
  AttentionKind kind;
  std::int64_t layer;
  Shape shape;
  std::vector<double> weights;
  bool operator==(const Report&) const = default;
};

// A decoder state, what each of its rows holds, and what it has reported in the last step.
class Decoding {
 public:
  // Row b begins with sentence of_row[b].
  Decoding(const TranslationModel& model, const std::vector<std::size_t>& of_row, std::int64_t steps)
      : model_(model), of_row_(of_row), tokens_(of_row.size()) {
    std::vector<std::vector<std::int32_t>> source;
    for (const std::size_t sentence : of_row) source.push_back(sentences[sentence]);
    context_.observe([this](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
      if (kind == AttentionKind::cross || kind == AttentionKind::rnn_cross)
        reports_.push_back({kind, layer, weights.shape(), weights.to_vector<double>()});
    });
    state_ = model.encode(Sentences(source, 5).batch(), steps, context_);
  }

  void select(const std::vector<std::int32_t>& rows) {
    state_->select_rows(rows);
    std::vector<std::size_t> of_row;
    std::vector<std::vector<std::int32_t>> tokens;
    for (const std::int32_t row : rows) {
      of_row.push_back(of_row_[static_cast<std::size_t>(row)]);
      tokens.push_back(tokens_[static_cast<std::size_t>(row)]);
    }
    of_row_ = of_row;
    tokens_ = tokens;
  }

  // Another token for each row.
  void step() {
    std::vector<std::int32_t> last;
    for (std::size_t row = 0; row < tokens_.size(); ++row) {
      const auto position = static_cast<std::size_t>(state_->position());
      tokens_[row].push_back(position == 0 ? bos_id : static_cast<std::int32_t>(4 + (row + position) % 5));
      last.push_back(tokens_[row].back());
    }
    reports_.clear();
    logits_ = model_.step(*state_, last, context_).to_vector<double>();
  }

  std::size_t rows() const { return tokens_.size(); }
  const std::vector<std::size_t>& of_row() const { return of_row_; }
  const std::vector<double>& logits() const { return logits_; }
  const std::vector<Report>& reports() const { return reports_; }

  std::vector<double> logits(std::size_t row) const {
    const auto begin = logits_.begin() + static_cast<std::ptrdiff_t>(row) * vocabulary;
    return {begin, begin + vocabulary};
  }
  // The same by teacher forcing of the row's tokens alone.
  std::vector<double> forced(std::size_t row) const {
    const auto all = forced_logits(model_, Sentences({sentences[of_row_[row]]}), Sentences({tokens_[row]}));
    return {all.end() - vocabulary, all.end()};
  }

 private:
  const TranslationModel& model_;
  Context context_;
  std::vector<std::size_t> of_row_;
  std::vector<std::vector<std::int32_t>> tokens_;
  std::unique_ptr<DecoderState> state_;
  std::vector<double> logits_;
  std::vector<Report> reports_;
};

template<typename Action>
void for_all_models(Action action) {
  for (const Setting& setting : settings()) {
    for (const NamedConfig& named : small_models(0.0)) {
      INFO(setting.name << ", " << named.name);
      action(setting, *make_small(named.config, setting.device, setting.type), named.config);
    }
  }
}

std::vector<std::int32_t> ascending(std::size_t count) {
  std::vector<std::int32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

}  // namespace

TEST_CASE("hypotheses that share a source's keys give the logits of each alone, however rows come and go") {
  const std::vector<std::vector<std::int32_t>> choices = {
      {0, 0, 0, 1, 1, 1, 2, 2, 2},  // a beam of three
      {1, 0, 0, 5, 3, 4, 6, 6, 6},  // hypotheses change places
      {0, 1, 2, 6, 7, 8},           // a sentence leaves
      {2, 0, 3, 4, 4, 5},           // uneven: two and four
      {4, 0, 1, 5, 5},              // a sentence in two places
      {1, 2, 2, 0, 0, 3},           // even again, and the other way round
  };
  for_all_models([&](const Setting& setting, const TranslationModel& model, const ModelConfig&) {
    Decoding decoding(model, {0, 1, 2}, 6);
    for (const std::vector<std::int32_t>& rows : choices) {
      decoding.step();
      for (std::size_t row = 0; row < decoding.rows(); ++row) {
        INFO("before rows " << Catch::Detail::stringify(rows) << ": row " << row);
        CHECK(relative_difference(decoding.logits(row), decoding.forced(row)) < setting.tolerance);
      }
      if (&rows != &choices.back()) decoding.select(rows);
    }
  });
}

TEST_CASE("sharing changes neither a bit of the logits nor the weights that observers see") {
  for_all_models([](const Setting&, const TranslationModel& model, const ModelConfig& config) {
    const std::int64_t steps = config.positions == PositionKind::learned ? 6 : 20;
    Decoding shared(model, {0, 1, 2}, steps), apart(model, {0, 0, 0, 1, 1, 1, 2, 2, 2}, steps);
    shared.step();
    apart.step();
    shared.select({0, 0, 0, 1, 1, 1, 2, 2, 2});
    for (std::int64_t position = 1; position < steps; ++position) {
      INFO("position " << position);
      shared.step();
      apart.step();
      CHECK(shared.logits() == apart.logits());
      CHECK(shared.reports() == apart.reports());
      // Sometimes nothing is chosen, so that room for more steps is needed; at last a sentence leaves.
      if (position % 5 == 4) continue;
      std::vector<std::int32_t> rows = ascending(shared.rows());
      std::swap(rows[0], rows[1]);
      rows[5] = rows[4];
      if (position == steps - 3) rows.resize(6);
      shared.select(rows);
      apart.select(rows);
    }
  });
}

TEST_CASE("weights are reported for each hypothesis, with one query") {
  for_all_models([](const Setting&, const TranslationModel& model, const ModelConfig& config) {
    if (config.type == ModelConfig::Type::seq2seq) return;
    Decoding decoding(model, {0, 1}, 3);
    decoding.step();
    decoding.select({0, 0, 1, 1});
    decoding.step();
    const std::int64_t heads = config.type == ModelConfig::Type::transformer ? config.heads : 1;
    CHECK_FALSE(decoding.reports().empty());
    for (const Report& report : decoding.reports()) CHECK(report.shape == Shape{4, heads, 1, 5});
  });
}

TEST_CASE("a wide beam does not copy the keys and values of its sources") {
  for_all_models([](const Setting& setting, const TranslationModel& model, const ModelConfig& config) {
    if (config.type == ModelConfig::Type::seq2seq) return;
    const std::vector<std::int32_t> source(400, 5), rows = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    if (config.positions == PositionKind::learned) return;  // not for so many tokens
    Context context;
    const std::size_t empty = setting.device->memory().in_use;
    const auto state = model.encode(Sentences({source, source}).batch(), 2, context);
    const std::size_t sources = setting.device->memory().in_use - empty;
    state->select_rows(rows);
    model.step(*state, std::vector<std::int32_t>(rows.size(), bos_id), context);
    CHECK(setting.device->memory().in_use - empty < sources + sources / 2);
  });
}
