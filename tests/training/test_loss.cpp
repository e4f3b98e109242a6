#include "attn/training/loss.h"
#include "support/catch.h"
#include "support/golden_module.h"

namespace {

using namespace attn;
using namespace attn::test;

// A batch whose labels and lengths are those of a case; what a loss does not look at is left empty.
Batch batch_of(const std::vector<std::int32_t>& labels, const std::vector<std::int32_t>& lengths) {
  Batch batch;
  batch.size = static_cast<std::int64_t>(lengths.size());
  batch.target_steps = static_cast<std::int64_t>(labels.size() / lengths.size());
  batch.labels = labels;
  batch.target_valid_lengths = lengths;
  for (const std::int32_t length : lengths) batch.target_tokens += length;
  return batch;
}

// The loss of a case and its gradient, with the rows of the logits in either order.
class LossRun {
 public:
  LossRun(const std::string& name, const Setting& setting, TokenOrder order)
      : golden_(name),
        setting_(setting),
        order_(order),
        batch_(batch_of(golden_.integers("label"), golden_.integers("valid_lens"))),
        shape_(golden_.shape("logits")) {
    std::vector<double> values = golden_.values("logits");
    if (order == TokenOrder::time_major) values = permuted(values, shape_, {1, 0, 2});
    logits_ = tape_.watch(
        Tensor::from<double>(setting.device, values, Shape{shape_[0] * shape_[1], shape_[2]}, setting.type));
  }

  BatchLoss loss(const LossConfig& config) { return batch_loss({logits_, order_}, batch_, config); }
  void check(const Tensor& found, const std::string& dataset) const {
    check(found.to_vector<double>(), dataset);
  }
  void check(const std::vector<double>& found, const std::string& dataset) const {
    INFO(setting_.name << ": " << dataset << (order_ == TokenOrder::time_major ? ", time-major" : ""));
    CHECK(relative_difference(found, golden_.values(dataset)) < setting_.tolerance);
  }
  void check_gradient(const Tensor& objective, const std::string& dataset) {
    tape_.backward(objective);
    std::vector<double> found = tape_.gradient_of(logits_).to_vector<double>();
    if (order_ == TokenOrder::time_major)
      found = permuted(found, {shape_[1], shape_[0], shape_[2]}, {1, 0, 2});
    check(found, dataset);
  }
  const GoldenCase& golden() const { return golden_; }

 private:
  GoldenCase golden_;
  Setting setting_;
  TokenOrder order_;
  Batch batch_;
  std::vector<std::int64_t> shape_;
  Tape tape_;
  Tensor logits_;
};

template<typename Check>
void in_every_setting(const std::string& name, Check&& check) {
  for (const Setting& setting : settings()) {
    for (const TokenOrder order : {TokenOrder::batch_major, TokenOrder::time_major}) {
      LossRun run(name, setting, order);
      check(run);
    }
  }
}

}  // namespace

TEST_CASE("the loss of a batch equals the reference values in both modes") {
  in_every_setting("cross_entropy_masked", [](LossRun& run) {
    const BatchLoss token = run.loss({});
    run.check(token.objective, "loss_mean");
    run.check(token.summed, "loss_sum");
    CHECK(token.tokens == 7);
    CHECK(token.steps == 4);
    run.check_gradient(token.objective, "grad_logits_mean");
    LossConfig book;
    book.mode = LossConfig::Mode::book;
    const BatchLoss by_the_book = run.loss(book);
    run.check(by_the_book.objective, "d2l_sum");
    run.check(by_the_book.summed, "loss_sum");
    run.check_gradient(by_the_book.objective, "grad_logits_d2l_sum");
  });
}

TEST_CASE("both kinds of label smoothing equal the reference values") {
  in_every_setting("cross_entropy_smooth", [](LossRun& run) {
    LossConfig config;
    config.smoothing = run.golden().scalar("smoothing");
    const BatchLoss loss = run.loss(config);
    run.check(loss.objective, "loss_mean");
    run.check(loss.summed, "loss_sum");
    run.check_gradient(loss.objective, "grad_logits_mean");
  });
  in_every_setting("cross_entropy_smooth_kl", [](LossRun& run) {
    LossConfig config;
    config.smoothing = run.golden().scalar("smoothing");
    config.smoothing_kind = ATTN_SMOOTH_OTHERS;
    const BatchLoss loss = run.loss(config);
    run.check(loss.summed, "loss_sum");
    run.check_gradient(loss.summed, "grad_logits_sum");
  });
}

TEST_CASE("the book's toy example and its figure come out") {
  const GoldenCase golden("cross_entropy_toy");
  const std::vector<double> per_sequence = golden.values("per_seq");
  const double expected = per_sequence[0] + per_sequence[1] + per_sequence[2];
  for (const Setting& setting : settings()) {
    const Batch batch = batch_of(std::vector<std::int32_t>(12, 1), {4, 2, 0});
    const Tensor logits =
        Tensor::from<double>(setting.device, std::vector<double>(120, 1.0), Shape{12, 10}, setting.type);
    LossConfig config;
    config.mode = LossConfig::Mode::book;
    const BatchLoss loss = batch_loss({logits, TokenOrder::batch_major}, batch, config);
    INFO(setting.name);
    CHECK(loss.objective.item() == Approx(expected).epsilon(setting.tolerance));
    LossTotals totals;
    totals.add(loss.summed.item(), loss);
    totals.add(loss.summed.item(), loss);
    CHECK(totals.tokens == 12);
    CHECK(totals.book_figure() == Approx(expected / 6).epsilon(setting.tolerance));
    CHECK(totals.per_token() == Approx(4 * expected / 6).epsilon(setting.tolerance));
  }
}

TEST_CASE("padding never counts, with or without label smoothing") {
  const std::vector<std::int32_t> lengths{3, 1};
  for (const Setting& setting : settings()) {
    for (const double smoothing : {0.0, 0.2}) {
      for (const attn_smoothing_kind kind : {ATTN_SMOOTH_UNIFORM, ATTN_SMOOTH_OTHERS}) {
        std::vector<double> values(30);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 11) / 3;
        std::vector<double> other = values;
        for (std::size_t i = 20; i < 30; ++i) other[i] = 50.0 - static_cast<double>(i);  // rows of padding
        const LossConfig config{LossConfig::Mode::token, smoothing, kind, {}};
        const auto loss_of = [&](const std::vector<double>& logits, std::vector<std::int32_t> labels) {
          const Tensor rows = Tensor::from<double>(setting.device, logits, Shape{6, 5}, setting.type);
          return batch_loss({rows, TokenOrder::batch_major}, batch_of(labels, lengths), config)
              .objective.item();
        };
        INFO(setting.name << ", smoothing " << smoothing);
        const double loss = loss_of(values, {4, 0, 3, 2, 1, 1});
        CHECK(loss == loss_of(other, {4, 0, 3, 2, 1, 1}));
        CHECK(loss == loss_of(values, {4, 0, 3, 2, 4, 3}));
        CHECK(loss != loss_of(values, {4, 0, 3, 3, 1, 1}));
      }
    }
  }
}

TEST_CASE("totals of nothing are zero") {
  CHECK(LossTotals{}.per_token() == 0.0);
  CHECK(LossTotals{}.book_figure() == 0.0);
}
