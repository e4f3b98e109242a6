#pragma once
// From the descriptors of the boundary to tensors of LibTorch, which borrow their memory.
#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "common/op_view.h"

namespace attn::libtorch {

using namespace backend;  // the vocabulary that all plugins share

/// LibTorch's name of an element type. All types of the boundary have one.
inline at::ScalarType scalar_type(int32_t dtype) {
  switch (dtype) {
    case ATTN_F64:
      return at::kDouble;
    case ATTN_I32:
      return at::kInt;
    case ATTN_BF16:
      return at::kBFloat16;
    case ATTN_I8:
      return at::kChar;
    default:
      return at::kFloat;
  }
}

/// An operation on a device, whose tensors are those of LibTorch. A tensor is a view of the caller's memory:
/// making one neither copies nor owns anything.
class Call : public OpView {
 public:
  Call(const attn_op& op, at::Device device) : OpView(op), device_(device) {}

  at::Device device() const { return device_; }
  at::TensorOptions options(int32_t dtype) const {
    return at::TensorOptions().dtype(scalar_type(dtype)).device(device_);
  }

  at::Tensor in(int index) const { return wrap(input(index), shape(input(index))); }
  at::Tensor out(int index) const { return wrap(output(index), shape(output(index))); }
  /// The same elements in another shape.
  at::Tensor in(int index, at::IntArrayRef sizes) const { return wrap(input(index), sizes); }
  at::Tensor out(int index, at::IntArrayRef sizes) const { return wrap(output(index), sizes); }
  /// [..., columns] as a matrix [rows, columns].
  at::Tensor in_rows(int index) const { return in(index, {rows(input(index)), columns(input(index))}); }
  at::Tensor out_rows(int index) const { return out(index, {rows(output(index)), columns(output(index))}); }

  /// Writes `value`, broadcast to the output's shape, or adds it if the gradient operation says so.
  void store(int index, const at::Tensor& value) const {
    const at::Tensor target = out(index, value.sizes());
    if (accumulates(index)) {
      target.add_(value);
    } else {
      target.copy_(value);
    }
  }

  /// The same for a product of matrices, which goes straight to where it belongs.
  void store_product(int index, const at::Tensor& a, const at::Tensor& b) const;

  /// Whole numbers where the host can read them, and where they must be checked before they become addresses.
  at::Tensor host_integers(int index) const { return in(index).cpu(); }

 private:
  static at::IntArrayRef shape(const attn_tensor& tensor) {
    return {tensor.dims, static_cast<std::size_t>(tensor.rank)};
  }
  at::Tensor wrap(const attn_tensor& tensor, at::IntArrayRef sizes) const {
    return at::for_blob(tensor.data, sizes)
        .options(options(tensor.dtype))
        .target_device(device_)
        .make_tensor();
  }

  at::Device device_;
};

/// y = alpha a b + beta y for matrices; with beta 0 y may hold anything. Parts of fixed size are shared out
/// among the threads, so that the bits do not depend on how many there are.
void multiply(const at::Tensor& y, const at::Tensor& a, const at::Tensor& b, double beta = 0,
              double alpha = 1);
/// The same for batches [n, rows, columns].
void multiply_batch(const at::Tensor& y, const at::Tensor& a, const at::Tensor& b, double beta = 0,
                    double alpha = 1);
/// a b for batches, as a new tensor.
at::Tensor batch_product(const at::Tensor& a, const at::Tensor& b);

/// Fails before anything is written if an id is no row of a table; `ignored` need not be one, -1 for none.
void require_rows(const at::Tensor& host_ids, int64_t row_count, int32_t ignored);

/// table[ids] += rows, in the order of the ids on the processor. table [R,W], rows [N,W].
void add_rows(const at::Tensor& table, const at::Tensor& host_ids, const at::Tensor& rows, int32_t ignored);

/// The windows of x [B,T,C] as rows [B,T_out,kernel,C], written to `windows`.
void unfold(const at::Tensor& x, const at::Tensor& windows, const attn_window_params& params);
/// The transpose of unfold(): adds each element of `windows` to the element of x that it came from.
void fold_into(const at::Tensor& x, const at::Tensor& windows, const attn_window_params& params);

/// The dropout mask that all backends share (attn/op_kinds.h, "Dropout"). It is drawn on the host, and copied
/// if the device is another.
class Dropout {
 public:
  /// `random` is the number of an input, which may be absent while the rate is 0.
  Dropout(const Call& call, int random, uint32_t stream, double rate, at::IntArrayRef sizes);

  bool active() const { return dropped_.defined(); }
  /// dropout(x), or the gradient that dropout lets through; x itself if nothing is dropped.
  at::Tensor operator()(const at::Tensor& x) const {
    // not a product with 0: what is dropped is 0 even if it was infinite
    return active() ? (x * scale_).masked_fill_(dropped_, 0) : x;
  }

 private:
  at::Tensor dropped_;
  double scale_;
};

/// Which keys may not be seen (attn/op_kinds.h, "Masks") in scores [B, heads, Q, K].
class HiddenKeys {
 public:
  HiddenKeys(const Call& call, int lengths, bool causal, int64_t causal_offset, int32_t masking,
             at::IntArrayRef sizes);

  /// The scores with those of hidden keys replaced by what they count as.
  at::Tensor masked(const at::Tensor& scores) const;
  /// Softmax of scores that masked() made, into `weights`, which may be the same memory.
  void softmax_of_masked(const at::Tensor& weights, const at::Tensor& scores) const;
  /// The gradient of the scores from that of the weights.
  at::Tensor gradient(const at::Tensor& weights, const at::Tensor& d_weights) const;

 private:
  at::Tensor hidden_;  // undefined if all keys may be seen
  bool book_;
};

}  // namespace attn::libtorch
