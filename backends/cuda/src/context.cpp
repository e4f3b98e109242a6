#include "context.h"

#include <cstring>

#include "operations.h"

namespace attn::cuda {

namespace {

// What cuBLAS asks for to choose freely among its algorithms; given beforehand so that it allocates nothing
// while a batch is captured.
constexpr std::size_t cublas_workspace_bytes = std::size_t{32} << 20;
constexpr int allow_bf16 = 2;  // a value of attn_options::allow_tf32

cublasComputeType_t f32_products(const attn_options& options) {
  if (options.allow_tf32 == allow_bf16) return CUBLAS_COMPUTE_32F_FAST_16BF;
  return options.allow_tf32 != 0 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

std::string text_of(const IdFault& fault) {
  const auto position = static_cast<long long>(fault.position), rows = static_cast<long long>(fault.rows);
  switch (fault.op_kind) {
    case ATTN_OP_CROSS_ENTROPY:
    case ATTN_OP_CROSS_ENTROPY_GRADIENT:
      return message("label %d at position %lld is not one of %lld classes", fault.id, position, rows);
    case ATTN_OP_KV_APPEND:
      return message("the steps do not fit into the cache from position %d on, only up to position %lld",
                     fault.id, rows - 1);
    default:
      return message("id %d at position %lld is not a row of the table, which has %lld rows", fault.id,
                     position, rows);
  }
}

}  // namespace

Context::Context(const attn_options& options) : options_(options) {
  make_current();
  check(cudaStreamCreateWithFlags(stream_.receive(), cudaStreamNonBlocking), "creating a stream");
  // Memory that is given back stays with the process: the next step asks for the same again.
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, options.device), "looking for the memory pool");
  uint64_t keep_all = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all), "setting up memory");
  check(cublasCreate(cublas_.receive()), "starting");
  check(cublasSetStream(cublas_.get(), stream_.get()), "taking the stream");
  try {
    cublas_workspace_ = allocate(cublas_workspace_bytes);
    check(cublasSetWorkspace(cublas_.get(), cublas_workspace_, cublas_workspace_bytes), "taking memory");
    check(cudaHostAlloc(reinterpret_cast<void**>(&id_fault_), sizeof(IdFault), cudaHostAllocMapped),
          "allocating memory of the host");
    std::memset(id_fault_, 0, sizeof(IdFault));
    check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_id_fault_), id_fault_, 0),
          "mapping memory of the host");
  } catch (const BackendError&) {
    release(cublas_workspace_);
    if (id_fault_ != nullptr) (void)cudaFreeHost(id_fault_);
    throw;
  }
}

Context::~Context() {
  (void)cudaSetDevice(options_.device);
  (void)cudaStreamSynchronize(stream_.get());
  captured_.clear();
  cublas_.reset();
  release(cublas_workspace_);
  (void)cudaStreamSynchronize(stream_.get());
  (void)cudaFreeHost(id_fault_);
}

void Context::make_current() const {
  check(cudaSetDevice(options_.device), "selecting the device");
}

void* Context::allocate(std::size_t bytes) {
  void* data = nullptr;
  // 0 bytes get an address of their own
  const cudaError_t status = cudaMallocAsync(&data, std::max<std::size_t>(bytes, 1), stream_.get());
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for the free memory");
    throw BackendError(ATTN_OUT_OF_MEMORY,
                       message("no memory for %zu bytes: %zu of %zu MiB are free on device %d", bytes,
                               free >> 20, total >> 20, options_.device));
  }
  check(status, "allocating memory");
  return data;
}

void Context::release(void* data) noexcept {
  if (data != nullptr) (void)cudaFreeAsync(data, stream_.get());
}

void Context::upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_.get()), "uploading");
  // the caller may change or free its memory as soon as this returns
  check(cudaStreamSynchronize(stream_.get()), "uploading");
}

void Context::download(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_.get()), "downloading");
  }
  synchronize();
}

void Context::synchronize() {
  check(cudaStreamSynchronize(stream_.get()), "waiting for the device");
  if (id_fault_->occurred == 0) return;
  const IdFault fault = *id_fault_;
  std::memset(id_fault_, 0, sizeof(IdFault));
  throw OpError(ATTN_INVALID, text_of(fault), fault.op_index);
}

void Context::start(const attn_batch& batch) {
  Call call{stream_.get(), cublas_.get(), f32_products(options_), batch.workspace, device_id_fault_, 0, 0};
  for (uint32_t index = 0; index < batch.count;) {
    call.op_index = static_cast<int>(index);
    call.op_kind = batch.ops[index].kind;
    try {
      index += run_operations(batch.ops + index, batch.count - index, call, batch.workspace_bytes);
    } catch (const BackendError& failure) {
      throw OpError(failure.status(), failure.what(), call.op_index);
    }
  }
}

void Context::run(const attn_batch& batch) {
  if (batch.repeat_key == 0) return start(batch);
  std::unique_ptr<Captured>& known = captured_[batch.repeat_key];
  // The first time nothing is captured: CUDA loads kernels when they are first used, which a capture forbids.
  if (known == nullptr || known->count != batch.count || known->workspace != batch.workspace) {
    known.reset(new Captured{batch.count, batch.workspace, {}});
    return start(batch);
  }
  if (known->executable.get() == nullptr) capture(batch, *known);
  check(cudaGraphLaunch(known->executable.get(), stream_.get()), "replaying a batch");
}

void Context::capture(const attn_batch& batch, Captured& captured) {
  OwnedGraph graph;
  check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "beginning to capture");
  try {
    start(batch);
  } catch (...) {
    (void)cudaStreamEndCapture(stream_.get(), graph.receive());
    captured_.erase(batch.repeat_key);
    throw;
  }
  check(cudaStreamEndCapture(stream_.get(), graph.receive()), "capturing a batch");
  check(cudaGraphInstantiate(captured.executable.receive(), graph.get(), 0), "preparing a captured batch");
}

double Context::elapsed(const attn_batch& batch) {
  OwnedEvent begin, end;
  check(cudaEventCreate(begin.receive()), "creating an event");
  check(cudaEventCreate(end.receive()), "creating an event");
  check(cudaEventRecord(begin.get(), stream_.get()), "measuring");
  run(batch);
  check(cudaEventRecord(end.get(), stream_.get()), "measuring");
  check(cudaEventSynchronize(end.get()), "measuring");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "measuring");
  return milliseconds / 1e3;
}

}  // namespace attn::cuda
