#pragma once
/*
 * Matrix products. Every element of a result is one chain of multiply-adds over the inner dimension, in the
 * same order whatever the other sizes, the position of the element and the number of threads: so a row of
 * the result has the same bits alone and among others.
 */
#include <cstdint>

#include "kernels.h"

namespace attn::eigen {

/// Element (i, j) is data[i * row_step + j * column_step]; one of the steps is 1.
template<class T>
struct MatrixView {
  const T* data;
  std::int64_t row_step, column_step;

  MatrixView transposed() const { return {data, column_step, row_step}; }
};

/// A row-major matrix with rows that lie `row_step` elements apart.
template<class T>
MatrixView<T> row_major(const T* data, std::int64_t row_step) {
  return {data, row_step, 1};
}

/// What follows the product: y = activation(product + bias).
template<class T>
struct Epilogue {
  const T* bias = nullptr;  // one for a column, or none
  std::int32_t activation = ATTN_ACTIVATION_NONE;
};

/// In which order a result is summed up.
enum class Summation {
  kByDepth,       // the fastest that there is for this depth; it may be another one for another depth
  kMultiplyAdds,  // the same for all depths: numbers that are 0 in one operand may follow and change nothing
};

/// c [rows, columns] = alpha a b + beta c with a [rows, depth], b [depth, columns]; c is row-major with rows
/// c_step apart, and is not read if beta is 0. On the calling thread alone.
template<class T>
void multiply_here(Workspace& workspace, std::int64_t rows, std::int64_t columns, std::int64_t depth, T alpha,
                   MatrixView<T> a, MatrixView<T> b, T beta, T* c, std::int64_t c_step,
                   const Epilogue<T>& epilogue = {}, Summation summation = Summation::kByDepth);

/// The same, by all threads if it is large enough. Not within a task.
template<class T>
void multiply(KernelContext& context, std::int64_t rows, std::int64_t columns, std::int64_t depth, T alpha,
              MatrixView<T> a, MatrixView<T> b, T beta, T* c, std::int64_t c_step,
              const Epilogue<T>& epilogue = {}, Summation summation = Summation::kByDepth);

}  // namespace attn::eigen
