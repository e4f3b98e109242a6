#ifndef ATTN_BACKEND_ABI_H
#define ATTN_BACKEND_ABI_H
/*
 * The boundary between attn and a backend plugin: plain C11, so that a plugin may be built with another
 * compiler, language standard or C++ ABI than the program that loads it.
 *
 * A plugin is a shared library `libattn-backend-<name>[-<isa>].so` that exports one function,
 * attn_backend_get. The operations that it may be asked to run, with the shapes and the meaning of every
 * tensor and parameter, are in attn/op_kinds.h; random numbers that all backends share are in attn/philox.h.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define ATTN_STATIC_ASSERT static_assert
#else
#define ATTN_STATIC_ASSERT _Static_assert
#endif

/* MAJOR: incompatible, refused. MINOR: only appended fields, operation kinds, parameters. */
#define ATTN_ABI_MAJOR 1u
#define ATTN_ABI_MINOR 0u
#define ATTN_MAX_RANK 6
#define ATTN_MAX_TENSORS 16

/* True if the peer's table is long enough to hold FIELD and fills it in. */
#define ATTN_HAS(table, type, field) \
  ((table)->struct_size >= offsetof(type, field) + sizeof((table)->field) && (table)->field)

typedef enum attn_status {
  ATTN_OK = 0,
  ATTN_UNSUPPORTED = 1,
  ATTN_INVALID = 2,
  ATTN_OUT_OF_MEMORY = 3,
  ATTN_NO_DEVICE = 4,
  ATTN_DEVICE_FAILED = 5,
  ATTN_INTERNAL = 6
} attn_status;

/* Owned by the caller: no lifetime to think of, no thread-local state, works before a context exists. */
typedef struct attn_error {
  int32_t status;
  int32_t op_index;  /* position in the batch, -1 if none */
  char message[504]; /* one sentence, UTF-8, NUL-terminated */
} attn_error;

typedef enum attn_dtype { ATTN_F32 = 0, ATTN_F64 = 1, ATTN_I32 = 2, ATTN_BF16 = 3, ATTN_I8 = 4 } attn_dtype;

/*
 * Dense and row-major; rank 0 is a scalar, a dimension of 0 is legal, rank -1 means that an optional tensor
 * is absent. Frozen: tensors travel in arrays.
 */
typedef struct attn_tensor {
  void* data; /* device address: a base from allocate() plus an offset; may be NULL in query() */
  int32_t dtype, rank;
  int64_t dims[ATTN_MAX_RANK];
} attn_tensor;
ATTN_STATIC_ASSERT(sizeof(attn_tensor) == 64, "attn_tensor is frozen at 64 bytes");

/* One operation. Frozen per MAJOR; an operation grows through its params. */
typedef struct attn_op {
  uint32_t kind; /* attn_op_kind */
  uint16_t input_count, output_count;
  const attn_tensor* tensors; /* inputs, then outputs */
  const void* params;         /* attn_<kind>_params, which begins with uint32_t struct_size; or NULL */
} attn_op;
ATTN_STATIC_ASSERT(sizeof(attn_op) == 8 + 2 * sizeof(void*), "attn_op is frozen");

typedef struct attn_batch {
  uint32_t struct_size, count;
  const attn_op* ops;  /* execute as if in order */
  uint64_t repeat_key; /* nonzero: same kinds, shapes, addresses and params as the last batch with this
                          key; may be captured and replayed */
  void* workspace;     /* at least the largest workspace_bytes that query() named for an op of the batch */
  size_t workspace_bytes;
} attn_batch;

typedef struct attn_support {
  uint32_t struct_size;
  int32_t supported;
  size_t workspace_bytes; /* the most this op needs */
  char why_not[256];
} attn_support;

typedef struct attn_device_info {
  uint32_t struct_size;
  int32_t host_accessible; /* 1: data may be dereferenced by the host */
  size_t memory_total, memory_free, alignment;
  char name[128], detail[256];
} attn_device_info;

typedef struct attn_options {
  uint32_t struct_size;
  int32_t device;        /* index below device_count() */
  int32_t threads;       /* CPU threads; 0: the backend chooses */
  int32_t deterministic; /* 1: equal inputs give equal bits, at any number of threads */
  int32_t allow_tf32;
} attn_options;

/* What the program lends to a plugin; valid as long as the process. */
typedef struct attn_host {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor;
  void (*log)(int32_t level, const char* message); /* level 0 error, 1 warning, 2 information */
} attn_host;

typedef struct attn_context attn_context; /* one stream of work; not shared between threads */

typedef struct attn_backend {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor; /* these three never move */
  const char *name, *version, *description;

  /* 0 devices is an answer, not a failure: error->message then says why ("no CUDA driver", "CPU lacks
     AVX2"). Must neither abort nor be slow. */
  int32_t (*device_count)(attn_error*);
  attn_status (*device_info)(int32_t device, attn_device_info*, attn_error*);

  attn_status (*open)(const attn_options*, attn_context**, attn_error*);
  void (*close)(attn_context*);

  /* 64-byte aligned at least; a request of 0 bytes succeeds. */
  attn_status (*allocate)(attn_context*, size_t bytes, void** data, attn_error*);
  void (*release)(attn_context*, void* data);
  attn_status (*upload)(attn_context*, void* to, const void* from_host, size_t bytes, attn_error*);
  attn_status (*download)(attn_context*, void* to_host, const void* from, size_t bytes, attn_error*);

  /* Judged from the whole descriptor; data may be NULL. A yes is a promise: run() may then fail only for
     memory or device reasons. The return value speaks of the call; the answer is support->supported. */
  attn_status (*query)(attn_context*, const attn_op*, attn_support*, attn_error*);
  attn_status (*run)(attn_context*, const attn_batch*, attn_error*); /* may return before the work is done */
  attn_status (*synchronize)(attn_context*, attn_error*);

  /* Optional, may be NULL: runs the batch and says how long the device took. */
  attn_status (*elapsed)(attn_context*, const attn_batch*, double* seconds, attn_error*);
} attn_backend;

/* The only exported symbol. The table lives as long as the process; never NULL, whatever the host's version,
   so that the host can say "plugin built for ABI 2, this program has 1". */
typedef const attn_backend* (*attn_backend_entry)(const attn_host*);
#define ATTN_BACKEND_ENTRY_NAME "attn_backend_get"
#ifdef ATTN_BUILDING_PLUGIN
__attribute__((visibility("default"))) const attn_backend* attn_backend_get(const attn_host*);
#endif

#ifdef __cplusplus
}
#endif
#endif
