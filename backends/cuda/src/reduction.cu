#include "kernels.h"
#include "reduction.cuh"
#include "sums.h"

namespace attn::cuda {

namespace {

constexpr int64_t most_norm_blocks = 256, elements_per_norm_thread = 8;

template<typename T>
void reduce(const Call& call, T* y, const T* x, const Reduction& reduction, bool along_memory) {
  if (along_memory) {
    launch(call.stream, row_blocks(reduction.kept.count), row_threads(reduction.reduced.count),
           reduce_rows_kernel<T>, y, x, reduction);
  } else {
    const auto blocks = static_cast<unsigned>(divide_up(reduction.kept.count, column_lanes));
    launch(call.stream, blocks, dim3(column_lanes, column_parts), reduce_columns_kernel<T>, y, x, reduction);
  }
}

}  // namespace

template<typename T>
void run_reduce(const OpView& op, Call& call) {
  const attn_tensor& x = op.input(0);
  const auto params = op.params<attn_reduce_params>();
  const Dims sizes = dims(x), strides = backend::dense_strides(sizes);
  Dims kept_sizes, kept_strides, reduced_sizes, reduced_strides;
  bool along_memory = true;
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    const bool reduced = (params.axes >> axis & 1u) != 0;
    (reduced ? reduced_sizes : kept_sizes).push_back(sizes[axis]);
    (reduced ? reduced_strides : kept_strides).push_back(strides[axis]);
    if (sizes[axis] > 1) along_memory = reduced;  // the last axis decides
  }
  const Reduction reduction = {make_walk<1>(kept_sizes, {kept_strides}),
                               make_walk<1>(reduced_sizes, {reduced_strides}), params.function,
                               params.accumulate != 0};
  reduce(call, data<T>(op.output(0)), data<const T>(x), reduction, along_memory);
}

template<typename T>
void column_sums(const Call& call, T* y, const T* x, int64_t rows, int64_t columns, bool accumulate,
                 T* parts) {
  const RowParts cut(rows);
  const auto blocks = static_cast<unsigned>(divide_up(columns, column_lanes));
  const dim3 threads(column_lanes, column_parts);
  if (cut.count > 1) {
    launch(call.stream, dim3(blocks, static_cast<unsigned>(cut.count)), threads, column_sums_kernel<T>, parts,
           x, rows, columns, cut.rows_per_part, false);
    x = parts;
    rows = cut.count;
  }
  launch(call.stream, blocks, threads, column_sums_kernel<T>, y, x, rows, columns, std::max<int64_t>(rows, 1),
         accumulate);
}
template void column_sums<float>(const Call&, float*, const float*, int64_t, int64_t, bool, float*);
template void column_sums<double>(const Call&, double*, const double*, int64_t, int64_t, bool, double*);

std::size_t squared_norm_workspace() {
  return most_norm_blocks * sizeof(double);
}

template<typename T>
void run_squared_norm(const OpView& op, Call& call) {
  TensorList list{};
  list.count = op.input_count();
  int64_t total = 0;
  for (int input = 0; input < list.count; ++input) {
    list.data[input] = op.input(input).data;
    list.sizes[input] = elements(op.input(input));
    total += list.sizes[input];
  }
  const int64_t wanted = divide_up(total, elements_per_norm_thread * element_threads);
  const auto blocks = static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, most_norm_blocks));
  auto* partial = call.workspace_as<double>();
  launch(call.stream, blocks, element_threads, squared_norm_kernel<T>, partial, list);
  launch(call.stream, 1, row_threads(blocks), squared_norm_total_kernel<T>, data<T>(op.output(0)), partial,
         static_cast<int>(blocks));
}

ATTN_FOR_BOTH_TYPES(run_reduce)
ATTN_FOR_BOTH_TYPES(run_squared_norm)

}  // namespace attn::cuda
