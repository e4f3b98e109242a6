#include "internal.h"

namespace attn::ops {
namespace {

TensorSpecs embed_shapes(const Call& call) {
  const auto& params = call.params.as<attn_embed_params>();
  const Tensor &table = call.input(0), &ids = call.input(1);
  require_rank("embed", "table", table, 2);
  require_type("embed", "ids", ids, DType::i32);
  require(ids.rank() >= 1, "embed: ids are a scalar, expected [..., steps]");
  if (call.has(2)) {
    const Tensor& positions = call.input(2);
    require(positions.rank() == 2 && positions.size(1) == table.size(1) &&
                positions.size(0) >= ids.size(-1) + params.position_offset,
            "embed: positions are {}, expected [at least {}, {}]", positions.shape(),
            ids.size(-1) + params.position_offset, table.size(1));
  }
  return {{ids.shape().appended(table.size(1)), table.dtype()}};
}

Tensors embed_decomposed(const Call& call, std::span<const Into>) {
  const auto& params = call.params.as<attn_embed_params>();
  Tensor y = gather_rows(call.input(0), call.input(1));
  if (params.scale != 1.0) y = affine(y, params.scale, 0.0);
  if (call.has(2)) y = add(y, call.input(2).rows(params.position_offset, call.input(1).size(-1)));
  return {dropout(y, {params.dropout_rate, call.input(3), params.stream})};
}

// The outputs have the shapes of the table and the positions, which only the targets know.
Tensors embed_gradient_decomposed(const Call& call, std::span<const Into> into) {
  const auto& params = call.params.as<attn_embed_params>();
  const Tensor& ids = call.input(0);
  const Tensor dy = dropout(call.input(1), {params.dropout_rate, call.input(2), params.stream});
  const std::int64_t width = dy.size(-1), steps = ids.size(-1);
  Tensors results{{}, {}};
  if (call.wants(0)) {
    results[0] = full(dy, into[0].target.shape(), 0.0);
    scatter_add_rows(results[0], affine(dy, params.scale, 0.0).reshaped({ids.elements(), width}),
                     ids.reshaped({ids.elements()}), params.ignored_id);
  }
  if (call.wants(1)) {
    results[1] = full(dy, into[1].target.shape(), 0.0);
    const std::array<int, 1> over_batch{0};
    const Tensor of_steps = sum(dy.reshaped({ids.shape().leading(), steps, width}), over_batch);
    slice_add(results[1], of_steps, std::array<std::int64_t, 2>{params.position_offset, 0});
  }
  return results;
}

}  // namespace

// y = dropout(scale table[ids] + positions[step + offset])
const Operation embed_operation{
    .kind = ATTN_OP_EMBED,
    .name = "embed",
    .shapes = embed_shapes,
    .gradient =
        [](Gradient& g) {
          const std::array<Into, 2> into{g.into(0), g.into(2)};
          apply_operation(Call{&embed_gradient_operation,
                               {g.input(1), g.of(0), g.input(3)},
                               g.params<attn_embed_params>(),
                               3u},
                          into);
        },
    .flops = [](const Call& call, const TensorSpecs& out) { return elements_of(out) * (1 + call.has(2)); },
    .decomposition = embed_decomposed,
};

// dtable[ids] += scale dropout(dy),  dpositions[step + offset] += the sum of dropout(dy) over the batch
const Operation embed_gradient_operation{
    .kind = ATTN_OP_EMBED_GRADIENT,
    .name = "embed_gradient",
    .flops = [](const Call& call, const TensorSpecs&) { return 2 * as_double(call.input(1).elements()); },
    .decomposition = embed_gradient_decomposed,
    .accumulates = true,
};

Tensor embed(const Tensor& table, const Tensor& ids, const Tensor& positions, const EmbedOptions& options) {
  require_random("embed", options.dropout);
  const attn_embed_params params{0,
                                 0,
                                 options.dropout.stream,
                                 options.ignored_id,
                                 options.position_offset,
                                 options.scale,
                                 options.dropout.rate};
  return apply_one(embed_operation, {table, ids, positions, options.dropout.random}, params);
}

}  // namespace attn::ops
