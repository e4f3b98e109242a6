#pragma once
// What lives as long as an opened device: its stream, cuBLAS, and the batches that were captured.
#include <map>
#include <memory>

#include "call.h"

namespace attn::cuda {

/// Frees what CUDA made, by the function that CUDA has for it.
template<typename Handle, auto Destroy>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }

  Handle get() const { return handle_; }
  /// For a function that makes one.
  Handle* receive() {
    reset();
    return &handle_;
  }
  void reset() {
    if (handle_ != nullptr) (void)Destroy(handle_);
    handle_ = nullptr;
  }

 private:
  Handle handle_ = nullptr;
};

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedGraph = Owned<cudaGraph_t, cudaGraphDestroy>;
using OwnedExecutable = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;

class Context {
 public:
  explicit Context(const attn_options& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Every call of the table begins with this: a thread may have contexts on several devices.
  void make_current() const;

  void* allocate(std::size_t bytes);
  void release(void* data) noexcept;
  void upload(void* to, const void* from, std::size_t bytes);
  void download(void* to, const void* from, std::size_t bytes);

  void run(const attn_batch& batch);
  /// Waits, then fails if a kernel met an id that is no row of its table.
  void synchronize();
  /// Seconds that the device needs for the batch.
  double elapsed(const attn_batch& batch);

 private:
  struct Captured {
    uint32_t count;
    void* workspace;
    OwnedExecutable executable;  // empty until the batch comes for the second time
  };

  void start(const attn_batch& batch);
  void capture(const attn_batch& batch, Captured& captured);

  attn_options options_;
  OwnedStream stream_;
  Owned<cublasHandle_t, cublasDestroy> cublas_;
  void* cublas_workspace_ = nullptr;
  IdFault* id_fault_ = nullptr;         // the host's address
  IdFault* device_id_fault_ = nullptr;  // of the same memory
  std::map<uint64_t, std::unique_ptr<Captured>> captured_;
};

/// An operation of a batch failed.
class OpError : public BackendError {
 public:
  OpError(attn_status status, const std::string& text, int op_index)
      : BackendError(status, text), op_index_(op_index) {}
  int op_index() const noexcept { return op_index_; }

 private:
  int op_index_;
};

}  // namespace attn::cuda
