// Operations that say where elements go: permutations, parts, rows by their ids, windows; and dropout.
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>

#include "attn/philox.h"
#include "kernels.h"

namespace attn::libtorch {

void permute(const Call& call) {
  const auto params = call.params<attn_permute_params>();
  const at::Tensor x = call.in(0);
  const std::vector<int64_t> axes(params.axes, params.axes + x.dim());
  call.out(0).copy_(x.permute(axes));
}

namespace {

/// The part of `whole` that begins at the operation's start and has the sizes of `part`.
at::Tensor part_of(const Call& call, at::Tensor whole, const at::Tensor& part) {
  const auto params = call.params<attn_slice_params>();
  for (int axis = 0; axis < whole.dim(); ++axis) {
    whole = whole.narrow(axis, params.start[axis], part.size(axis));
  }
  return whole;
}

}  // namespace

void slice(const Call& call) {
  const at::Tensor y = call.out(0);
  y.copy_(part_of(call, call.in(0), y));
}

void slice_add(const Call& call) {
  const at::Tensor x = call.in(0);
  part_of(call, call.out(0), x).add_(x);
}

void concatenate(const Call& call) {
  const int32_t axis = call.params<attn_concatenate_params>().axis;
  const at::Tensor y = call.out(0);
  int64_t start = 0;
  for (int index = 0; index < call.input_count(); ++index) {
    const at::Tensor x = call.in(index);
    y.narrow(axis, start, x.size(axis)).copy_(x);
    start += x.size(axis);
  }
}

// ---- rows by their ids

void require_rows(const at::Tensor& host_ids, int64_t row_count, int32_t ignored) {
  const auto* ids = host_ids.data_ptr<int32_t>();
  for (int64_t i = 0; i < host_ids.numel(); ++i) {
    if ((ids[i] >= 0 && ids[i] < row_count) || (ignored != -1 && ids[i] == ignored)) continue;
    throw BackendError(
        ATTN_INVALID, message("id %d at position %lld is not a row of the table, which has %lld rows", ids[i],
                              static_cast<long long>(i), static_cast<long long>(row_count)));
  }
}

namespace {

template<typename T>
void add_rows_in_order(const at::Tensor& table, const at::Tensor& host_ids, const at::Tensor& rows,
                       int32_t ignored) {
  const int64_t width = table.size(1);
  const auto* ids = host_ids.data_ptr<int32_t>();
  const T* from = rows.data_ptr<T>();
  T* to = table.data_ptr<T>();
  for (int64_t i = 0; i < host_ids.numel(); ++i) {
    if (ids[i] == ignored) continue;
    T* row = to + ids[i] * width;
    for (int64_t column = 0; column < width; ++column) row[column] += from[i * width + column];
  }
}

}  // namespace

void add_rows(const at::Tensor& table, const at::Tensor& host_ids, const at::Tensor& rows, int32_t ignored) {
  if (rows.numel() == 0) return;
  if (!table.is_cpu()) {
    const at::Tensor kept = at::nonzero(host_ids != ignored).view({-1});
    const at::Tensor ids = host_ids.index_select(0, kept).to(table.device());
    table.index_add_(0, ids, rows.index_select(0, kept.to(table.device())));
  } else if (table.scalar_type() == at::kFloat) {  // at::index_add_ sets up a loop of its own for each row
    add_rows_in_order<float>(table, host_ids, rows.contiguous(), ignored);
  } else {
    add_rows_in_order<double>(table, host_ids, rows.contiguous(), ignored);
  }
}

void gather_rows(const Call& call) {
  const attn_tensor& shape = call.input(0);
  const int64_t count = elements(call.input(1)), height = shape.dims[0];
  require_rows(call.host_integers(1), height, -1);
  if (elements(call.output(0)) == 0) return;
  const int64_t width = dims(shape).product(1, shape.rank);
  at::Tensor y = call.out(0, {count, width});
  at::index_select_out(y, call.in(0, {height, width}), 0, call.in(1, {count}));
}

void scatter_add_rows(const Call& call) {
  const int32_t ignored = call.params<attn_scatter_params>().ignored_id;
  const at::Tensor table = call.out(0), ids = call.host_integers(1).view({-1});
  require_rows(ids, table.size(0), ignored);
  add_rows(table, ids, call.in(0, {ids.size(0), table.size(1)}), ignored);
}

void embed(const Call& call) {
  const auto params = call.params<attn_embed_params>();
  const attn_tensor& ids = call.input(1);
  const int64_t count = elements(ids), steps = columns(ids);
  const at::Tensor table = call.in(0);
  const int64_t width = table.size(1);
  require_rows(call.host_integers(1), table.size(0), -1);
  at::Tensor y = call.out(0, {count, width});
  at::index_select_out(y, table, 0, call.in(1, {count}));
  if (params.scale != 1) y.mul_(params.scale);
  if (call.has_input(2)) {
    y.view({count / steps, steps, width}).add_(call.in(2).narrow(0, params.position_offset, steps));
  }
  const Dropout dropout(call, 3, params.stream, params.dropout_rate, y.sizes());
  if (dropout.active()) y.copy_(dropout(y));
}

void embed_gradient(const Call& call) {
  const auto params = call.params<attn_embed_params>();
  const int64_t count = elements(call.input(0)), steps = columns(call.input(0));
  const int64_t width = columns(call.input(1));
  const at::Tensor ids = call.host_integers(0).view({-1});
  const Dropout dropout(call, 2, params.stream, params.dropout_rate, {count, width});
  const at::Tensor d_y = dropout(call.in(1, {count, width}));
  if (call.has_output(0)) {
    const at::Tensor d_table = call.out(0);
    require_rows(ids, d_table.size(0), params.ignored_id);
    if (!call.accumulates(0)) d_table.zero_();
    add_rows(d_table, ids, params.scale == 1 ? d_y : d_y * params.scale, params.ignored_id);
  }
  if (call.has_output(1)) {
    const at::Tensor d_positions = call.out(1);
    if (!call.accumulates(1)) d_positions.zero_();
    d_positions.narrow(0, params.position_offset, steps).add_(d_y.view({count / steps, steps, width}).sum(0));
  }
}

void kv_append(const Call& call) {
  const at::Tensor x = call.in(0), cache = call.out(0);
  const int64_t position = *call.host_integers(1).data_ptr<int32_t>();
  if (position < 0 || position > cache.size(1) - x.size(1)) {
    throw BackendError(ATTN_INVALID,
                       message("%lld steps at position %lld are not inside a cache of %lld",
                               static_cast<long long>(x.size(1)), static_cast<long long>(position),
                               static_cast<long long>(cache.size(1))));
  }
  cache.narrow(1, position, x.size(1)).copy_(x);
}

// ---- windows

namespace {

/// Calls pair(steps of x, positions of `windows`) for each tap: two views whose elements belong together.
template<typename Pair>
void for_each_tap(const at::Tensor& x, const at::Tensor& windows, const attn_window_params& params,
                  Pair pair) {
  const int64_t steps = x.size(1), positions = windows.size(1);
  for (int64_t tap = 0; tap < params.kernel; ++tap) {
    const int64_t offset = tap * params.dilation - params.padding;  // step = position * stride + offset
    const int64_t first = offset < 0 ? (-offset + params.stride - 1) / params.stride : 0;
    if (offset >= steps) continue;
    const int64_t end = std::min(positions, (steps - 1 - offset) / params.stride + 1);
    if (first >= end) continue;
    const int64_t start = first * params.stride + offset;
    const int64_t last = start + (end - 1 - first) * params.stride;
    pair(x.slice(1, start, last + 1, params.stride), windows.slice(1, first, end).select(2, tap));
  }
}

/// y [B,T_out,kernel*C] as [B,T_out,kernel,C].
at::Tensor as_windows(const at::Tensor& y, const at::Tensor& x, const attn_window_params& params) {
  return y.view({y.size(0), y.size(1), params.kernel, x.size(2)});
}

}  // namespace

void unfold(const at::Tensor& x, const at::Tensor& windows, const attn_window_params& params) {
  windows.zero_();
  if (x.numel() == 0 || windows.numel() == 0) return;
  for_each_tap(x, windows, params,
               [](const at::Tensor& steps, const at::Tensor& positions) { positions.copy_(steps); });
}

void fold_into(const at::Tensor& x, const at::Tensor& windows, const attn_window_params& params) {
  if (x.numel() == 0 || windows.numel() == 0) return;
  for_each_tap(x, windows, params,
               [](const at::Tensor& steps, const at::Tensor& positions) { steps.add_(positions); });
}

void unfold_1d(const Call& call) {
  const auto params = call.params<attn_window_params>();
  const at::Tensor x = call.in(0);
  unfold(x, as_windows(call.out(0), x, params), params);
}

void fold_1d(const Call& call) {
  const auto params = call.params<attn_window_params>();
  const at::Tensor x = call.out(0);
  x.zero_();
  fold_into(x, as_windows(call.in(0), x, params), params);
}

// ---- dropout

Dropout::Dropout(const Call& call, int random, uint32_t stream, double rate, at::IntArrayRef sizes)
    : scale_(1.0 / (1.0 - rate)) {
  if (rate == 0) return;
  const at::Tensor host_random = call.host_integers(random);
  const auto* words = host_random.data_ptr<int32_t>();
  const uint32_t threshold = attn_dropout_threshold(rate);
  dropped_ = at::empty(sizes, at::kBool);
  bool* dropped = dropped_.data_ptr<bool>();
  const int64_t count = dropped_.numel();
  constexpr int64_t blocks_per_task = 4096;
  at::parallel_for(0, (count + 3) / 4, blocks_per_task, [&](int64_t first, int64_t end) {
    for (int64_t block = first; block < end; ++block) {
      std::array<uint32_t, 4> drawn{};
      attn_dropout_block(words, stream, static_cast<uint64_t>(block), drawn.data());
      const int64_t left = std::min<int64_t>(4, count - 4 * block);
      for (int64_t i = 0; i < left; ++i) dropped[4 * block + i] = drawn[i] < threshold;
    }
  });
  dropped_ = dropped_.to(call.device());
}

void dropout(const Call& call) {
  const auto params = call.params<attn_dropout_params>();
  const int64_t count = elements(call.input(0));
  const Dropout dropout(call, 1, params.stream, params.rate, {count});
  call.out(0, {count}).copy_(dropout(call.in(0, {count})));
}

}  // namespace attn::libtorch
