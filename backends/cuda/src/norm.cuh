#pragma once
// Layer norm with residual and dropout, batch norm, and their gradients.
#include "sums.cuh"

namespace attn::cuda {

template<typename T>
struct LayerNormInput {
  const T *x, *residual;  // residual may be NULL
  T* sum;                 // NULL if nobody asks for it
  Dropout<T> dropout;
  bool plain;  // neither residual nor dropout: the sum is x itself
};

/// Calls use(column) for the columns of this thread, four neighbours at a time: they share random words.
template<typename Use>
__device__ void for_each_column(int64_t columns, Use use) {
  for (int64_t four = 4 * static_cast<int64_t>(threadIdx.x); four < columns; four += 4 * blockDim.x) {
    for (int64_t column = four; column < four + 4 && column < columns; ++column) use(column);
  }
}

template<typename T>
__global__ void layer_norm_kernel(T* y, T* mean_out, T* reciprocal_std_out, LayerNormInput<T> input,
                                  const T* gain, const T* bias, int64_t count, int64_t columns, T epsilon) {
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const int64_t start = row * columns;
    const auto computed = [&](int64_t column) {
      const int64_t i = start + column;
      if (input.plain) return input.x[i];
      const T dropped = input.dropout(input.x[i], static_cast<uint64_t>(i));
      return input.residual != nullptr ? input.residual[i] + dropped : dropped;
    };
    // each thread comes back to its own columns alone
    const auto value = [&](int64_t column) {
      return input.sum != nullptr ? input.sum[start + column] : computed(column);
    };
    T total{0};
    for_each_column(columns, [&](int64_t column) {
      const T here = computed(column);
      if (input.sum != nullptr) input.sum[start + column] = here;
      total += here;
    });
    const T mean = block_sum(total) / static_cast<T>(columns);
    T squares{0};
    for_each_column(columns, [&](int64_t column) {
      const T distance = value(column) - mean;
      squares += distance * distance;
    });
    const T reciprocal_std = T{1} / sqrt(block_sum(squares) / static_cast<T>(columns) + epsilon);
    for_each_column(columns, [&](int64_t column) {
      y[start + column] = gain[column] * ((value(column) - mean) * reciprocal_std) + bias[column];
    });
    if (threadIdx.x == 0) {
      mean_out[row] = mean;
      reciprocal_std_out[row] = reciprocal_std;
    }
  }
}

template<typename T>
struct LayerNormGradient {
  const T *sum, *gain, *mean, *reciprocal_std, *d_y, *d_sum;  // d_sum may be NULL
  int64_t count, columns;
};

/// d_x and d_residual may be NULL.
template<typename T>
__global__ void layer_norm_gradient_kernel(T* d_x, bool accumulate_x, T* d_residual, bool accumulate_residual,
                                           LayerNormGradient<T> in, Dropout<T> dropout) {
  for (int64_t row = blockIdx.x; row < in.count; row += gridDim.x) {
    const int64_t start = row * in.columns;
    const T mean = in.mean[row], reciprocal_std = in.reciprocal_std[row];
    T total{0}, weighted{0};
    for_each_column(in.columns, [&](int64_t column) {
      const T d = in.d_y[start + column] * in.gain[column];
      total += d;
      weighted += d * ((in.sum[start + column] - mean) * reciprocal_std);
    });
    const T d_mean = block_sum(total) / static_cast<T>(in.columns);
    const T d_weighted = block_sum(weighted) / static_cast<T>(in.columns);
    for_each_column(in.columns, [&](int64_t column) {
      const int64_t i = start + column;
      const T normal = (in.sum[i] - mean) * reciprocal_std;
      T d = reciprocal_std * (in.d_y[i] * in.gain[column] - d_mean - normal * d_weighted);
      if (in.d_sum != nullptr) d += in.d_sum[i];
      if (d_residual != nullptr) put(d_residual + i, d, accumulate_residual);
      if (d_x != nullptr) put(d_x + i, dropout(d, static_cast<uint64_t>(i)), accumulate_x);
    });
  }
}

/// d_gain and d_bias [row blocks, columns]; both may be NULL.
template<typename T>
__global__ void layer_norm_parameters_kernel(T* d_gain, bool accumulate_gain, T* d_bias, bool accumulate_bias,
                                             LayerNormGradient<T> in, int64_t rows_per_block) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * column_lanes + threadIdx.x;
  const RowRange range = rows_of_block(in.count, rows_per_block);
  T gain_sum{0}, bias_sum{0};
  if (column < in.columns) {
    for (int64_t row = range.first + threadIdx.y; row < range.end; row += column_parts) {
      const int64_t i = row * in.columns + column;
      gain_sum += in.d_y[i] * ((in.sum[i] - in.mean[row]) * in.reciprocal_std[row]);
      bias_sum += in.d_y[i];
    }
  }
  gain_sum = sum_of_parts(gain_sum);
  bias_sum = sum_of_parts(bias_sum);
  if (threadIdx.y != 0 || column >= in.columns) return;
  const int64_t to = blockIdx.y * in.columns + column;
  if (d_gain != nullptr) put(d_gain + to, gain_sum, accumulate_gain);
  if (d_bias != nullptr) put(d_bias + to, bias_sum, accumulate_bias);
}

/// The sum over threadIdx.y, in all of its threads.
template<typename T>
__device__ T sum_for_all_parts(T value) {
  ATTN_SHARED(T, totals, column_lanes);
  value = sum_of_parts(value);
  if (threadIdx.y == 0) totals[threadIdx.x] = value;
  __syncthreads();
  value = totals[threadIdx.x];
  __syncthreads();  // before the next call writes again
  return value;
}

template<typename T>
__global__ void batch_norm_kernel(T* y, T* mean_out, T* variance_out, const T* x, const T* gain,
                                  const T* bias, int64_t count, int64_t channels, T epsilon) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * column_lanes + threadIdx.x;
  const int64_t end = channel < channels ? count : 0;
  const T divisor = static_cast<T>(count > 0 ? count : 1);
  T total{0};
  for (int64_t row = threadIdx.y; row < end; row += column_parts) total += x[row * channels + channel];
  const T mean = sum_for_all_parts(total) / divisor;
  T squares{0};
  for (int64_t row = threadIdx.y; row < end; row += column_parts) {
    const T distance = x[row * channels + channel] - mean;
    squares += distance * distance;
  }
  const T variance = sum_for_all_parts(squares) / divisor;
  const T reciprocal_std = T{1} / sqrt(variance + epsilon);
  for (int64_t row = threadIdx.y; row < end; row += column_parts) {
    const int64_t i = row * channels + channel;
    y[i] = gain[channel] * ((x[i] - mean) * reciprocal_std) + bias[channel];
  }
  if (threadIdx.y != 0 || channel >= channels) return;
  mean_out[channel] = mean;
  variance_out[channel] = variance;
}

/// Where a gradient goes, or NULL, and whether it is added to what is there.
template<typename T>
struct Target {
  T* to;
  bool accumulate;
};

template<typename T>
__global__ void batch_norm_gradient_kernel(Target<T> d_x, Target<T> d_gain, Target<T> d_bias, const T* x,
                                           const T* gain, const T* mean, const T* variance, const T* d_y,
                                           int64_t count, int64_t channels, T epsilon) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * column_lanes + threadIdx.x;
  const int64_t end = channel < channels ? count : 0;
  const T centre = channel < channels ? mean[channel] : T{0};
  const T reciprocal_std = channel < channels ? T{1} / sqrt(variance[channel] + epsilon) : T{0};
  T total{0}, weighted{0};
  for (int64_t row = threadIdx.y; row < end; row += column_parts) {
    const int64_t i = row * channels + channel;
    total += d_y[i];
    weighted += d_y[i] * ((x[i] - centre) * reciprocal_std);
  }
  total = sum_for_all_parts(total);
  weighted = sum_for_all_parts(weighted);
  if (d_x.to != nullptr && end > 0) {
    const T d_mean = total / static_cast<T>(count), d_weighted = weighted / static_cast<T>(count);
    for (int64_t row = threadIdx.y; row < end; row += column_parts) {
      const int64_t i = row * channels + channel;
      const T normal = (x[i] - centre) * reciprocal_std;
      put(d_x.to + i, gain[channel] * reciprocal_std * (d_y[i] - d_mean - normal * d_weighted),
          d_x.accumulate);
    }
  }
  if (threadIdx.y != 0 || channel >= channels) return;
  if (d_gain.to != nullptr) put(d_gain.to + channel, weighted, d_gain.accumulate);
  if (d_bias.to != nullptr) put(d_bias.to + channel, total, d_bias.accumulate);
}

}  // namespace attn::cuda
