#include "training_keys.h"

#include <string>

namespace attn {
namespace {

using config::Boolean;
using config::Choice;
using config::Integer;
using config::Real;
using config::Schema;
using Metric = ValidationConfig::Metric;
using AverageOf = CheckpointConfig::AverageOf;

constexpr std::int64_t most_accumulated = 1024;

const Integer positive{.minimum = 1};
const Integer not_negative{.minimum = 0};

bool validates(const ExperimentConfig& config) {
  return config.validation.every_epochs > 0 || config.validation.every_updates > 0;
}

}  // namespace

const char* name_of(Metric metric) {
  switch (metric) {
    case Metric::loss:
      return "loss";
    case Metric::perplexity:
      return "perplexity";
    case Metric::bleu:
      return "bleu";
    case Metric::chrf:
      return "chrf";
  }
  return "?";
}

bool larger_is_better(Metric metric) {
  return metric == Metric::bleu || metric == Metric::chrf;
}

void describe_accumulation(Schema& schema, TrainingConfig& t) {
  schema.field("training.accumulate", t.accumulate, Integer{.minimum = 1, .maximum = most_accumulated},
               "Batches an update, whose gradient is that of all their pairs together");
  schema.field("training.ema_decay", t.ema_decay, Real{.minimum = 0, .below = 1},
               "Decay of a moving average of the parameters, which is validated and kept as best; 0: none");
}

void describe_validation(Schema& schema, ValidationConfig& v) {
  Choice<Metric> metrics;
  for (const Metric metric : {Metric::loss, Metric::perplexity, Metric::bleu, Metric::chrf})
    metrics.choices.emplace_back(name_of(metric), metric);
  schema.field("validation.every_epochs", v.every_epochs, not_negative,
               "Epochs between validations; 0: never");
  schema.field("validation.every_updates", v.every_updates, not_negative,
               "Updates between validations, instead of epochs; 0: by epochs");
  schema.field("validation.metric", v.metric, metrics,
               "Decides on the best checkpoint and on early stopping");
  schema.field("validation.bleu", v.bleu, Boolean{},
               "Translate the validation set at each validation, for BLEU and chrF");
  schema.field("validation.beam", v.beam, positive, "Beam of these translations");
  schema.field("validation.patience", v.patience, not_negative,
               "Validations without improvement before stopping; 0: never");
}

void describe_checkpoints(Schema& schema, CheckpointConfig& c) {
  schema.field("checkpoints.every_epochs", c.every_epochs, not_negative,
               "Epochs between checkpoints; 0: only the last");
  schema.field("checkpoints.every_updates", c.every_updates, not_negative,
               "Updates between checkpoints, instead of epochs; 0: by epochs");
  schema.field("checkpoints.keep_last", c.keep_last, positive, "Checkpoints kept, besides the best");
  schema.field("checkpoints.keep_best", c.keep_best, not_negative,
               "Checkpoints kept for their validation, besides best.h5");
  schema.field("checkpoints.average", c.average, not_negative,
               "Checkpoints that are averaged at the end of training; 0: none");
  schema.field("checkpoints.average_of", c.average_of,
               Choice<AverageOf>{{{"last", AverageOf::last}, {"best", AverageOf::best}}},
               "Which are averaged: the last, or the best by the validation's metric");
}

void check_validation(Schema& schema, const ExperimentConfig& config) {
  const ValidationConfig& validation = config.validation;
  if (larger_is_better(validation.metric) && !validation.bleu) {
    schema.problem("validation.metric",
                   std::string(name_of(validation.metric)) + " needs validation.bleu: true");
  }
  const bool has_data = config.data.valid.given();
  if (validation.every_updates > 0 && !has_data)
    schema.problem("validation.every_updates", "needs validation pairs; name them in data.valid");
  if (validation.patience > 0 && !has_data)
    schema.problem("validation.patience", "needs validation pairs; name them in data.valid");
  if (validation.patience > 0 && !validates(config)) {
    schema.problem("validation.patience",
                   "needs validations; set validation.every_epochs or validation.every_updates above 0");
  }
}

void check_checkpoints(Schema& schema, const ExperimentConfig& config) {
  const CheckpointConfig& checkpoints = config.checkpoints;
  const bool has_data = config.data.valid.given();
  if (checkpoints.keep_best > 0 && (!has_data || !validates(config))) {
    schema.problem(
        "checkpoints.keep_best",
        "needs validations; name validation pairs in data.valid, and set validation.every_epochs or "
        "validation.every_updates above 0");
  }
  const std::int64_t count = checkpoints.average;
  if (count == 0) return;
  const auto problem = [&](const std::string& text) {
    schema.problem("checkpoints.average", std::to_string(count) + " " + text);
  };
  if (count == 1) problem("is no average; give 2 or more, or 0 for none");
  if (!has_data) {
    problem(
        "needs validation pairs to compare with; name them in data.valid, or average afterwards with "
        "attn-train --average");
  }
  const bool best = checkpoints.average_of == AverageOf::best;
  if (best && checkpoints.keep_best < count)
    problem("of the best need checkpoints.keep_best: " + std::to_string(count) + " or more");
  if (!best && checkpoints.keep_last < count)
    problem("of the last need checkpoints.keep_last: " + std::to_string(count) + " or more");
  if (!best && checkpoints.every_epochs == 0 && checkpoints.every_updates == 0) {
    problem(
        "of the last need more than the last one; set checkpoints.every_epochs or checkpoints.every_updates "
        "above 0");
  }
}

}  // namespace attn
