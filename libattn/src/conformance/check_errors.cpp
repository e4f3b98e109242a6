// Descriptors that no operation can have are refused with a reason, and contexts do not disturb each other.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "check_cases.h"

namespace attn::conformance {
namespace {

/// A way to spoil a valid descriptor.
struct Spoiling {
  const char* name;
  bool must_be_refused;
  bool (*spoil)(std::vector<attn_tensor>& tensors, attn_op& op);  ///< false: not possible for this one
};

std::size_t first_present(const std::vector<attn_tensor>& tensors) {
  std::size_t index = 0;
  while (index < tensors.size() && tensors[index].rank < 0) ++index;
  return index;
}

bool is_gradient(std::uint32_t kind) {
  return std::string_view(ops::find_operation(kind)->name).ends_with("_gradient");
}

const std::vector<Spoiling>& spoilings() {
  static const std::vector<Spoiling> list{
      {"an unknown type", true,
       [](std::vector<attn_tensor>& tensors, attn_op&) {
         tensors[first_present(tensors)].dtype = 99;
         return true;
       }},
      {"a rank above the limit", true,
       [](std::vector<attn_tensor>& tensors, attn_op&) {
         tensors[first_present(tensors)].rank = ATTN_MAX_RANK + 1;
         return true;
       }},
      {"a rank of -2", true,
       [](std::vector<attn_tensor>& tensors, attn_op&) {
         tensors[first_present(tensors)].rank = -2;
         return true;
       }},
      {"a negative size", true,
       [](std::vector<attn_tensor>& tensors, attn_op&) {
         for (attn_tensor& tensor : tensors) {
           if (tensor.rank < 1) continue;
           tensor.dims[0] = -1;
           return true;
         }
         return false;
       }},
      {"sizes whose product overflows", true,
       [](std::vector<attn_tensor>& tensors, attn_op&) {
         for (attn_tensor& tensor : tensors) {
           if (tensor.rank < 2) continue;
           for (int axis = 0; axis < tensor.rank; ++axis) tensor.dims[axis] = std::int64_t{1} << 40;
           return true;
         }
         return false;
       }},
      {"no first input", true,
       [](std::vector<attn_tensor>& tensors, attn_op& op) {
         if (op.input_count == 0) return false;
         tensors[0].rank = -1;
         return true;
       }},
      {"no first output", true,
       [](std::vector<attn_tensor>& tensors, attn_op& op) {
         if (is_gradient(op.kind)) return false;  // where outputs are optional
         tensors[op.input_count].rank = -1;
         return true;
       }},
      {"an output too many", true,
       [](std::vector<attn_tensor>& tensors, attn_op& op) {
         if (tensors.size() == ATTN_MAX_TENSORS) return false;
         tensors.push_back({nullptr, ATTN_I8, 0, {}});
         ++op.output_count;
         return true;
       }},
      {"more tensors than an operation has", true,
       [](std::vector<attn_tensor>& tensors, attn_op& op) {
         const attn_tensor last = tensors.back();
         while (tensors.size() <= ATTN_MAX_TENSORS) tensors.push_back(last);
         op.output_count = static_cast<std::uint16_t>(tensors.size() - op.input_count);
         return true;
       }},
      // only that it is answered
      {"no parameters", false,
       [](std::vector<attn_tensor>&, attn_op& op) {
         op.params = nullptr;
         return true;
       }},
  };
  return list;
}

void check_spoiled(const Workbench& bench, const Case& one, const Spoiling& spoiling) {
  Description description(one);
  std::vector<attn_tensor> tensors = description.tensors();
  attn_op op = description.op();
  if (!spoiling.spoil(tensors, op)) return;
  op.tensors = tensors.data();
  const Support support = bench.one_thread.query(op);
  if (spoiling.must_be_refused && support.supported)
    throw Fault("error path", fmt::format("query says yes to {} with {}", ops::find_operation(one.kind)->name,
                                          spoiling.name));
}

void check_unknown_kind(const Workbench& bench) {
  const Session& session = bench.one_thread;
  const attn_op unknown{9999, 0, 0, nullptr, nullptr};
  if (session.query(unknown).supported) throw Fault("error path", "query says yes to an unknown kind");
  const Memory memory(session, 4);
  const attn_tensor y{memory.data(), ATTN_F32, 0, {}};
  const attn_fill_params fill{sizeof fill, 0, 4};
  const attn_op ops[] = {{ATTN_OP_FILL, 0, 1, &y, &fill}, unknown};
  const attn_batch batch{sizeof batch, 2, ops, 0, nullptr, 0};
  attn_error error{ATTN_OK, -1, {}};
  const attn_status status = session.table().run(session.context(), &batch, &error);
  if (status != ATTN_UNSUPPORTED && status != ATTN_INVALID)
    throw Fault("error path", fmt::format("run of an unknown kind gave status {}", static_cast<int>(status)));
  if (error.op_index != 1)
    throw Fault("error path",
                fmt::format("run of an unknown kind names operation {}, expected 1", error.op_index));
  if (error.message[0] == '\0') throw Fault("error path", "run of an unknown kind gave no message");
  (void)session.table().run(session.context(), &batch, nullptr);  // an attn_error is not required
}

void check_short_support(const Workbench& bench) {
  const Session& session = bench.one_thread;
  const attn_op unknown{9999, 0, 0, nullptr, nullptr};
  attn_support support;
  std::memset(&support, 0x5A, sizeof support);
  support.struct_size = offsetof(attn_support, why_not);
  attn_error error{ATTN_OK, -1, {}};
  if (session.table().query(session.context(), &unknown, &support, &error) != ATTN_OK ||
      support.supported != 0)
    throw Fault("error path", "query of an unknown kind with an older attn_support did not say no");
  if (support.why_not[0] != 0x5A)
    throw Fault("error path", "query wrote behind the end of a shorter attn_support");
}

// A newer program's params are longer, and what is appended is not 0.
void check_longer_params(const Workbench& bench) {
  const Session& session = bench.one_thread;
  const Memory memory(session, 3 * sizeof(float));
  const attn_tensor y{memory.data(), ATTN_F32, 1, {3}};
  struct {
    attn_fill_params known;
    std::uint64_t appended[3];
  } params{{sizeof params, 0, 2.0}, {~0ull, ~0ull, ~0ull}};
  const attn_op op{ATTN_OP_FILL, 0, 1, &y, &params};
  if (!session.query(op).supported) throw Fault("error path", "longer params of a newer program are refused");
  const attn_batch batch{sizeof batch, 1, &op, 0, nullptr, 0};
  attn_error error{ATTN_OK, -1, {}};
  if (session.table().run(session.context(), &batch, &error) != ATTN_OK)
    throw Fault("error path", "an operation with longer params of a newer program failed");
  const std::vector<double> values = decode(DType::f32, memory.download());
  if (values != std::vector<double>(3, 2.0))
    throw Fault("error path", "longer params of a newer program are misread");
}

using Outputs = std::vector<std::vector<std::byte>>;

// Runs the cases in a context of its own, in the given order, and compares with what one context alone gave.
void run_all(const Workbench& bench, const std::vector<Case>& cases, const std::vector<Outputs>& expected,
             bool backwards, int repetitions) {
  const Session session(bench.backend, bench.options.device, 2);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t k = 0; k < cases.size(); ++k) {
      const std::size_t i = backwards ? cases.size() - 1 - k : k;
      Description description(cases[i]);
      const Support support = session.query(description.op());
      if (session.run(cases[i], support.workspace_bytes, {}) != expected[i])
        throw Fault("concurrency",
                    fmt::format("{} gives other bits while another context works", cases[i].name));
    }
  }
}

}  // namespace

void check_errors(const Workbench& bench, const Recipes& recipes) {
  for (const Case& one : samples(bench, recipes)) {
    for (const Spoiling& spoiling : spoilings()) {
      check_aspect(bench, "error path",
                   fmt::format("{} with {}", ops::find_operation(one.kind)->name, spoiling.name),
                   [&] { check_spoiled(bench, one, spoiling); });
    }
  }
  check_aspect(bench, "error path", "an unknown kind", [&] { check_unknown_kind(bench); });
  check_aspect(bench, "error path", "an older attn_support", [&] { check_short_support(bench); });
  check_aspect(bench, "error path", "newer params", [&] { check_longer_params(bench); });
}

void check_concurrency(const Workbench& bench, const Recipes& recipes) {
  check_aspect(bench, "concurrency", "two contexts in two threads", [&] {
    const std::vector<Case> cases = samples(bench, recipes);
    std::vector<Outputs> expected;
    for (const Case& one : cases) {
      Description description(one);
      expected.push_back(
          bench.one_thread.run(one, bench.one_thread.query(description.op()).workspace_bytes, {}));
    }
    std::mutex mutex;
    std::string failure;
    const auto work = [&](bool backwards) {
      try {
        run_all(bench, cases, expected, backwards, bench.options.quick ? 2 : 20);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        failure = error.what();
      }
    };
    std::thread other(work, true);
    work(false);
    other.join();
    if (!failure.empty()) throw Fault("concurrency", failure);
  });
}

}  // namespace attn::conformance
