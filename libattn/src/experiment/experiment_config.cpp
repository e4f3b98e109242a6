#include "attn/experiment/experiment_config.h"

#include "attn/experiment/guided_data.h"
#include "data_keys.h"
#include "model_keys.h"
#include "run_keys.h"
#include "subwords.h"
#include "training_keys.h"

namespace attn {
namespace {

using config::Boolean;
using config::Choice;
using config::Integer;
using config::Path;
using config::Real;
using config::Schema;
using config::Text;

const Integer positive{.minimum = 1};
const Integer not_negative{.minimum = 0};
const Real fraction{.minimum = 0, .below = 1};

void describe_corpus(Schema& schema, const std::string& name, CorpusFiles& files, const std::string& what) {
  schema.field("data." + name, files.pairs, Path{}, what + ": a file of TAB-separated pairs (.gz possible)");
  schema.field("data." + name + "_source", files.source, Path{}, what + ": source side of parallel files");
  schema.field("data." + name + "_target", files.target, Path{}, what + ": target side of parallel files");
}

void describe_data(Schema& schema, DataConfig& d) {
  describe_corpus(schema, "train", d.train, "Training pairs");
  describe_corpus(schema, "valid", d.valid, "Validation pairs");
  describe_corpus(schema, "test", d.test, "Test pairs");
  schema.field("data.limit", d.limit, not_negative,
               "Training lines to read, 0 for all (the book's num_examples = 600 reads 601)");
  schema.field("data.source_column", d.source_column, positive, "Column of the source in TSV files");
  schema.field("data.target_column", d.target_column, positive, "Column of the target in TSV files");
  schema.field("data.allow_extra_columns", d.allow_extra_columns, Boolean{},
               "Whether TSV lines may have further columns");
  schema.field("data.source_tokenizer", d.source_tokenizer, Text{.may_be_empty = false},
               "word, whitespace, character, bpe or sentencepiece");
  schema.field("data.target_tokenizer", d.target_tokenizer, Text{.may_be_empty = false},
               "word, whitespace, character, bpe or sentencepiece");
  schema.field("data.keep_spaces", d.keep_spaces, Boolean{},
               "Character tokenizer: whether spaces are tokens");
  schema.field("data.min_frequency", d.min_frequency, positive, "Rarer tokens become <unk>");
  schema.field("data.max_vocabulary", d.max_vocabulary, not_negative,
               "Entries of a vocabulary at most; 0: no limit");
  schema.field("data.shared_vocabulary", d.shared_vocabulary, Boolean{}, "One vocabulary for both sides");
  schema.field("data.steps", d.steps, not_negative,
               "Cut or pad every sentence to so many tokens (the book's num_steps); 0: do not");
  schema.field("data.max_length", d.max_length, not_negative,
               "Crop longer sentences to so many tokens; 0: do not");
  describe_data_checks(schema, d);
  describe_alignments(schema, d);
  describe_subwords(schema, d.subwords);
}

void describe_loss(Schema& schema, LossConfig& loss) {
  schema.field(
      "training.loss", loss.mode,
      Choice<LossConfig::Mode>{{{"token", LossConfig::Mode::token}, {"book", LossConfig::Mode::book}}},
      "token: mean over target tokens; book: mean over all steps, summed over sentences");
  schema.field("training.label_smoothing", loss.smoothing, fraction, "Label smoothing");
  schema.field(
      "training.smoothing_kind", loss.smoothing_kind,
      Choice<attn_smoothing_kind>{{{"uniform", ATTN_SMOOTH_UNIFORM}, {"others", ATTN_SMOOTH_OTHERS}}},
      "uniform: over all classes (PyTorch); others: over all but label and padding (OpenNMT)");
}

void describe_optimizer(Schema& schema, OptimizerConfig& o) {
  using Kind = OptimizerConfig::Kind;
  schema.field("training.optimizer", o.kind,
               Choice<Kind>{{{"sgd", Kind::sgd}, {"adam", Kind::adam}, {"adamw", Kind::adamw}}}, "Optimizer");
  schema.field("training.beta1", o.beta1, fraction, "Adam: decay of the first moment");
  schema.field("training.beta2", o.beta2, fraction, "Adam: decay of the second moment");
  schema.field("training.epsilon", o.epsilon, Real{.above = 0},
               "Adam: added to the root of the second moment");
  schema.field("training.momentum", o.momentum, fraction, "SGD: momentum");
  schema.field("training.weight_decay", o.weight_decay, Real{.minimum = 0},
               "Weight decay (decoupled in adamw)");
  schema.field("training.clip_norm", o.clip_norm, Real{.minimum = 0},
               "Largest norm of all gradients together; 0: no clipping");
}

void describe_schedule(Schema& schema, ScheduleConfig& s) {
  using Kind = ScheduleConfig::Kind;
  schema.field("training.learning_rate", s.learning_rate, Real{.above = 0},
               "Learning rate (peak of a schedule; factor of noam)");
  schema.field("training.schedule", s.kind,
               Choice<Kind>{{{"constant", Kind::constant},
                             {"noam", Kind::noam},
                             {"inverse_sqrt", Kind::inverse_sqrt},
                             {"cosine", Kind::cosine},
                             {"step", Kind::step}}},
               "How the learning rate changes");
  schema.field("training.warmup_updates", s.warmup_updates, not_negative, "Updates of linear warm-up");
  schema.field("training.initial_learning_rate", s.initial, Real{.minimum = 0},
               "Learning rate at the start of the warm-up");
  schema.field("training.minimum_learning_rate", s.minimum, Real{.minimum = 0},
               "cosine: the rate at its end");
  schema.field("training.total_updates", s.total_updates, not_negative,
               "cosine: updates until its end; 0: the whole training");
  schema.field("training.decay", s.decay, Real{.above = 0}, "step: factor");
  schema.field("training.decay_interval", s.interval, positive, "step: updates between two factors");
}

void describe_training(Schema& schema, TrainingConfig& t) {
  schema.field("training.epochs", t.epochs, not_negative, "Passes over the training data");
  schema.field("training.max_updates", t.max_updates, not_negative,
               "Stop after so many updates; 0: no limit");
  schema.field("training.batch_size", t.batch_size, not_negative, "Sentences a batch");
  schema.field("training.batch_tokens", t.batch_tokens, not_negative,
               "Positions a batch (source and target, padding counted), instead");
  schema.field("training.shuffle", t.shuffle, Boolean{}, "A new order of the pairs each epoch");
  schema.field("training.sort_by_length", t.sort_by_length, Boolean{},
               "Batches of sentences of similar length");
  schema.field("training.bucket_by_length", t.bucket_by_length, Boolean{},
               "Batches of sentences of nearly equal length on both sides, instead; least padding");
  describe_accumulation(schema, t);
  describe_loss(schema, t.loss);
  describe_guidance(schema, t);
  describe_optimizer(schema, t.optimizer);
  describe_schedule(schema, t.schedule);
}

void describe_reporting(Schema& schema, ExperimentConfig& c) {
  describe_validation(schema, c.validation);
  describe_checkpoints(schema, c.checkpoints);
  schema.field("report.beam", c.report.beam, positive, "Beam for the test set and the samples");
  schema.field("report.max_length", c.report.max_length, not_negative,
               "Tokens of a translation at most; 0: by the training data");
  schema.field("report.samples", c.report.samples, Text{}, "Sources that are translated at the end");
  schema.field("report.sample_count", c.report.sample_count, not_negative,
               "Further samples from the test set");
  schema.field("report.training_bleu", c.report.training_bleu, Boolean{},
               "The book's BLEU over all training pairs, at the end");
  schema.field("report.tensorboard", c.report.tensorboard, Boolean{},
               "The metrics also as scalars for TensorBoard, in the folder tensorboard of the run");
}

void check_files(Schema& schema, const std::string& name, const CorpusFiles& files) {
  const std::string path = "data." + name;
  if (!files.pairs.empty() && (!files.source.empty() || !files.target.empty())) {
    schema.problem(
        path,
        fmt::format("stands beside {0}_source or {0}_target; give one file of pairs or two parallel files",
                    path));
  } else if (files.source.empty() != files.target.empty()) {
    const bool lacks_source = files.source.empty();
    schema.problem(path + (lacks_source ? "_target" : "_source"),
                   fmt::format("needs {}{} beside it", path, lacks_source ? "_source" : "_target"));
  }
}

}  // namespace

void describe_experiment(Schema& schema, ExperimentConfig& config) {
  describe_run(schema, {config.name, config.run_root, config.seed, config.backend},
               "first values, order of batches, and dropout");
  describe_data(schema, config.data);
  describe_model(schema, config.model);
  describe_training(schema, config.training);
  describe_reporting(schema, config);
}

void check_experiment(Schema& schema, const ExperimentConfig& config) {
  const DataConfig& data = config.data;
  if (!data.train.given()) schema.problem("data.train", "is missing; name a file of sentence pairs");
  check_files(schema, "train", data.train);
  check_files(schema, "valid", data.valid);
  check_files(schema, "test", data.test);
  check_subwords(schema, data);
  check_data(schema, config);
  if (data.steps > 0 && data.max_length > 0)
    schema.problem("data.max_length", "and data.steps exclude each other");
  check_model(schema, config);
  check_guidance(schema, config);
  if (config.training.batch_size == 0 && config.training.batch_tokens == 0) {
    schema.problem("training.batch_size",
                   "and training.batch_tokens are both 0; one of them must be above 0");
  }
  check_validation(schema, config);
  check_checkpoints(schema, config);
}

}  // namespace attn
