#include "gradient_pass.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "attn/core/error.h"
#include "attn/op_kinds.h"
#include "attn/ops/operation.h"
#include "attn/ops/ops.h"
#include "attn/training/guided_alignment.h"

namespace attn {

GradientPass::GradientPass(TranslationModel& model, const EncodedCorpus& corpus, LossConfig loss,
                           std::uint64_t seed, Tape& tape)
    : model_(model),
      corpus_(corpus),
      loss_(std::move(loss)),
      seed_(seed),
      tape_(tape),
      random_(model.device(), Shape{4}, DType::i32) {}

GradientTotals GradientPass::run(std::span<const std::span<const std::size_t>> batches, std::int64_t update) {
  totals_ = {};
  update_ = update;
  skipped_tokens_ = 0;
  summed_ = fresh_ = false;
  std::vector<Batch> made;
  made.reserve(batches.size());
  std::int64_t tokens = 0;
  for (const std::span<const std::size_t> indices : batches) {
    made.push_back(corpus_.make_batch(indices));
    tokens += made.back().target_tokens;
    totals_.steps = std::max(totals_.steps, made.back().target_steps);
  }
  divisor_ = loss_divisor(loss_, tokens, totals_.steps);
  for (std::size_t i = 0; i < made.size(); ++i) add(made[i], batches[i], {static_cast<std::uint32_t>(i), 1});
  finish();
  return totals_;
}

void GradientPass::add(const Batch& batch, std::span<const std::size_t> indices, Part part) {
  fold();
  if (fits(batch, part)) return;
  if (part.number == 1) {
    totals_.split_lines.insert(totals_.split_lines.end(), batch.lines.begin(), batch.lines.end());
  }
  if (indices.size() == 1) {
    totals_.skipped_lines.push_back(batch.lines.front());
    skipped_tokens_ += batch.target_tokens;
    return;
  }
  ++totals_.splits;
  const std::size_t half = (indices.size() + 1) / 2;
  const std::span<const std::size_t> first = indices.first(half), second = indices.subspan(half);
  add(corpus_.make_batch(first), first, {part.batch, 2 * part.number});
  add(corpus_.make_batch(second), second, {part.batch, 2 * part.number + 1});
}

// False if memory did not suffice; everything that the attempt held is then given back.
bool GradientPass::fits(const Batch& batch, Part part) {
  try {
    forward_and_backward(batch, part);
    return true;
  } catch (const OutOfMemory&) {
  } catch (const std::bad_alloc&) {
  }
  tape_.clear();
  model_.device()->synchronize();
  model_.device()->release_cache();
  return false;
}

void GradientPass::forward_and_backward(const Batch& batch, Part part) {
  set_random(part);
  Context context(random_);
  if (loss_.guidance) loss_.guidance->request(context, model_);
  const BatchLoss loss =
      batch_loss(model_.forward(source_of(batch), decoder_input_of(batch), context), batch, loss_, divisor_);
  tape_.backward(loss_.guidance ? loss_.guidance->objective(loss.objective, context, batch, divisor_)
                                : loss.objective);
  const double nats = loss.summed.item();  // until now a device may have only queued the work
  totals_.nats += nats;
  totals_.tokens += loss.tokens;
  fresh_ = true;
}

// The words that decide dropout: seed and update. The upper half of the update's number is zero in practice,
// which leaves room for the part, so that no two parts of an update have the same masks.
void GradientPass::set_random(Part part) {
  constexpr unsigned bits_of_number = 20;
  const auto low = [](std::uint64_t value) { return static_cast<std::int32_t>(value & 0xFFFFFFFFu); };
  const auto update = static_cast<std::uint64_t>(update_);
  const std::uint64_t place = (std::uint64_t{part.batch} << bits_of_number) ^ (part.number - 1);
  const std::array<std::int32_t, 4> random{low(seed_), low(seed_ >> 32), low(update),
                                           low((update >> 32) ^ place)};
  random_.assign<std::int32_t>(random);
}

// The next backward pass overwrites the gradients.
void GradientPass::fold() {
  if (!fresh_) return;
  const Tensor& gradients = model_.parameters().flat_gradients();
  if (!sum_.defined()) sum_ = Tensor(model_.device(), gradients.shape(), gradients.dtype());
  if (summed_)
    ops::slice_add(sum_, gradients, std::array<std::int64_t, 1>{0});
  else
    ops::copy_into(sum_, gradients);
  summed_ = true;
  fresh_ = false;
}

void GradientPass::finish() {
  const Tensor& gradients = model_.parameters().flat_gradients();
  if (summed_ && fresh_)
    ops::slice_add(gradients, sum_, std::array<std::int64_t, 1>{0});
  else if (summed_)
    ops::copy_into(gradients, sum_);
  else if (!fresh_)
    ops::apply_to(*ops::find_operation(ATTN_OP_FILL), gradients, {}, attn_fill_params{0, 0, 0.0});
  // The mean is over the tokens that were trained on.
  if (loss_.mode == LossConfig::Mode::token && skipped_tokens_ > 0 && totals_.tokens > 0) {
    const attn_affine_params larger{0, 0, divisor_ / static_cast<double>(totals_.tokens), 0.0};
    ops::apply_to(*ops::find_operation(ATTN_OP_AFFINE), gradients, {gradients}, larger);
  }
}

}  // namespace attn
