#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attn/decoding/alignment.h"
#include "attn/io/config_schema.h"
#include "attn/models/translation_model.h"
#include "attn/text/batches.h"
#include "attn/text/sentencepiece_model.h"
#include "attn/training/guided_alignment.h"
#include "attn/training/loss.h"
#include "attn/training/optimizer.h"
#include "attn/training/schedule.h"

namespace attn {

/// Sentence pairs: one TSV file, or two parallel files.
struct CorpusFiles {
  std::filesystem::path pairs;           ///< TSV
  std::filesystem::path source, target;  ///< or these two

  bool given() const { return !pairs.empty() || !source.empty() || !target.empty(); }
};

/// Subwords, for the tokenizers that have them.
struct SubwordConfig {
  SentencePieceOptions training;  ///< of models for the sides without a file
  std::int64_t sentences = 0;     ///< sentences of each side to train on, drawn by the seed; 0: all
  std::filesystem::path source_model, target_model;  ///< SentencePiece models that exist
  std::filesystem::path source_codes, target_codes;  ///< codes of subword-nmt
};

struct DataConfig {
  enum class LongLines { crop, skip };
  enum class Lint { warn, off, error };
  CorpusFiles train, valid, test;
  std::int64_t limit = 0;  ///< lines read of the training data; 0: all
  std::int64_t source_column = 1, target_column = 2;
  bool allow_extra_columns = false;
  std::string source_tokenizer = "word", target_tokenizer = "word";
  bool keep_spaces = true;
  std::int64_t min_frequency = 1;
  std::int64_t max_vocabulary = 0;  ///< 0: no limit
  bool shared_vocabulary = false;
  std::int64_t steps = 0;                  ///< the book's num_steps; 0: sentences keep their length
  std::int64_t max_length = 0;             ///< longer sentences are cropped; 0: never
  LongLines long_lines = LongLines::crop;  ///< skip: training pairs longer than max_length are left out
  Lint lint = Lint::warn;                  ///< error: what is serious stops
  double lint_ratio = 3;
  bool streaming = false;                  ///< training pairs stay on disk
  std::filesystem::path cache;             ///< where; empty: .cache in the folder of the runs
  std::filesystem::path train_alignments;  ///< that attention is taught to follow; empty: none
  AlignmentUnit alignment_unit = AlignmentUnit::word;
  SubwordConfig subwords;
};

struct BackendConfig {
  std::string name = "eigen";
  std::int64_t device = 0;
  std::int64_t threads = 0;       ///< 0: all cores
  std::int64_t memory_limit = 0;  ///< MiB; 0: no limit
  DType dtype = DType::f32;
};

struct TrainingConfig {
  std::int64_t epochs = 10;
  std::int64_t max_updates = 0;
  std::int64_t batch_size = 64;
  std::int64_t batch_tokens = 0;  ///< instead of batch_size if above 0
  bool shuffle = true;
  bool sort_by_length = false;
  bool bucket_by_length = false;  ///< instead
  std::int64_t accumulate = 1;    ///< batches an update
  double ema_decay = 0.0;         ///< of a moving average of the parameters; 0: none
  LossConfig loss;
  GuidedAlignment::Options guided_alignment;  ///< with data.train_alignments
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
};

struct ValidationConfig {
  enum class Metric { loss, perplexity, bleu, chrf };
  std::int64_t every_epochs = 1;
  std::int64_t every_updates = 0;  ///< instead of by epochs if above 0
  Metric metric = Metric::loss;
  bool bleu = true;  ///< translate the validation set each time
  std::int64_t beam = 1;
  std::int64_t patience = 0;
};

struct CheckpointConfig {
  enum class AverageOf { last, best };
  std::int64_t every_epochs = 10;
  std::int64_t every_updates = 0;  ///< instead of by epochs if above 0
  std::int64_t keep_last = 2;
  std::int64_t keep_best = 0;  ///< by the validation's metric, besides best.h5
  std::int64_t average = 0;    ///< checkpoints averaged at the end; 0: none
  AverageOf average_of = AverageOf::last;
};

struct ReportConfig {
  std::int64_t beam = 1;             ///< for the test set and the samples
  std::int64_t max_length = 0;       ///< of a translation; 0: what the data suggests
  std::vector<std::string> samples;  ///< sources translated at the end
  std::int64_t sample_count = 5;     ///< further sources taken from the test (or validation, or training) set
  bool training_bleu = false;        ///< the book's BLEU over all training pairs
  bool tensorboard = false;          ///< the metrics also as TensorBoard scalars
};

/// One experiment: everything that a YAML file of attn-train says.
struct ExperimentConfig {
  std::string name = "experiment";
  std::filesystem::path run_root = "runs";
  std::uint64_t seed = 1;
  BackendConfig backend;
  DataConfig data;
  ModelConfig model;
  TrainingConfig training;
  ValidationConfig validation;
  CheckpointConfig checkpoints;
  ReportConfig report;

  std::filesystem::path run_directory() const { return run_root / name; }
};

/// Declares every key of an experiment; `config` outlives the schema.
void describe_experiment(config::Schema& schema, ExperimentConfig& config);

/// Finds settings that contradict each other (heads that do not divide the width, both batch sizes, no
/// training data) and reports them to the schema with the place that gave them.
void check_experiment(config::Schema& schema, const ExperimentConfig& config);

}  // namespace attn
