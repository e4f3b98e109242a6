#pragma once
// Word alignments of the training corpus, which a model's attention is taught to follow: their keys and
// files.
#include <memory>

#include "attn/experiment/data.h"
#include "attn/experiment/experiment_config.h"
#include "attn/training/guided_alignment.h"
#include "attn/training/trainer.h"

/// Word alignments of the training corpus, which a model's attention is taught to follow: their keys and
/// files.
namespace attn {

void describe_alignments(config::Schema& schema, DataConfig& config);
void describe_guidance(config::Schema& schema, TrainingConfig& config);
/// Reports settings that contradict each other, with the remedy.
void check_guidance(config::Schema& schema, const ExperimentConfig& config);

/// Reads data.train_alignments: line i has the links of line i of the training corpus, blank lines counted,
/// in Pharaoh's format, source-target from 0. With AlignmentUnit::word the words are those between white
/// space, and every token of a word has the links of the word; otherwise they are tokens. Throws
/// Error(input_data) that names file and line for a malformed link and one outside its sentence, and both
/// counts for a file of another length (with data.limit it may be longer); Error(file) for one that cannot be
/// read.
std::map<std::size_t, std::vector<GuidedLink>> read_training_links(const DataConfig& config,
                                                                   const Corpus& corpus,
                                                                   const TextProcessing& text);

/// The guidance that the configuration asks for, or null.
std::shared_ptr<const GuidedAlignment> guidance_of(const ExperimentConfig& config, const PreparedData& data);

/// The same settings with the guidance.
TrainerConfig with_guidance(TrainerConfig trainer, const ExperimentConfig& config, const PreparedData& data);

}  // namespace attn
