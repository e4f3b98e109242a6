#include "session.h"

#include <algorithm>
#include <cstring>

namespace attn::conformance {
namespace {

constexpr std::size_t guard_bytes = 256;  // a multiple of every alignment that a device wants
constexpr auto guard = std::byte{0xA5};

std::string reason(const attn_error& error) {
  const auto length = strnlen(error.message, sizeof error.message);
  return length > 0 ? std::string(error.message, length) : "no reason given";
}

std::size_t padded(std::size_t bytes) {
  return (bytes + guard_bytes - 1) / guard_bytes * guard_bytes;
}

// All tensors of a case in one piece of memory, with guard zones between them.
struct Layout {
  std::vector<std::size_t> begin, bytes;  // of inputs, then outputs
  std::vector<std::byte> image;           // what the memory holds before
  std::vector<bool> writable;
};

Layout lay_out(const Case& one, const RunOptions& options) {
  Layout layout;
  std::size_t next = guard_bytes;
  const auto place = [&](const CaseTensor& tensor, std::vector<std::byte> contents) {
    const std::size_t shift = options.misaligned ? size_of(tensor.type) : 0;
    layout.begin.push_back(next + shift);
    layout.bytes.push_back(contents.size());
    next += padded(contents.size() + shift) + guard_bytes;
    layout.image.resize(next, guard);
    std::copy(contents.begin(), contents.end(),
              layout.image.begin() + static_cast<std::ptrdiff_t>(layout.begin.back()));
  };
  for (const CaseTensor& input : one.inputs)
    place(input, input.present ? encode(input) : std::vector<std::byte>{});
  for (const CaseTensor& output : one.outputs) {
    if (output.alias >= 0) {
      layout.begin.push_back(layout.begin[static_cast<std::size_t>(output.alias)]);
      layout.bytes.push_back(layout.bytes[static_cast<std::size_t>(output.alias)]);
    } else if (!output.present) {
      place(output, {});
    } else if (output.in_out) {
      place(output, encode(output));
    } else {
      place(output,
            std::vector<std::byte>(elements_of(output) * size_of(output.type), std::byte(options.poison)));
    }
  }
  layout.writable.resize(layout.image.size(), false);
  for (std::size_t i = one.inputs.size(); i < layout.begin.size(); ++i) {
    std::fill_n(layout.writable.begin() + static_cast<std::ptrdiff_t>(layout.begin[i]), layout.bytes[i],
                true);
  }
  return layout;
}

// Whose memory, or the zone beside whose memory, this byte is in.
std::string place_of(const Case& one, const Layout& layout, std::size_t at) {
  for (std::size_t i = 0; i < layout.begin.size(); ++i) {
    const bool is_input = i < one.inputs.size();
    const std::string name =
        fmt::format("{} {}", is_input ? "input" : "output", is_input ? i : i - one.inputs.size());
    if (at >= layout.begin[i] && at < layout.begin[i] + layout.bytes[i]) return name;
    if (at >= layout.begin[i] + layout.bytes[i] &&
        at < layout.begin[i] + padded(layout.bytes[i]) + guard_bytes)
      return fmt::format("{} bytes behind {}", at - layout.begin[i] - layout.bytes[i] + 1, name);
    if (at < layout.begin[i] && at + guard_bytes >= layout.begin[i])
      return fmt::format("{} bytes before {}", layout.begin[i] - at, name);
  }
  return "memory that belongs to no tensor";
}

void check_surroundings(const Case& one, const Layout& layout, const std::vector<std::byte>& after) {
  for (std::size_t at = 0; at < after.size(); ++at) {
    if (layout.writable[at] || after[at] == layout.image[at]) continue;
    const std::string place = place_of(one, layout, at);
    const bool input = place.starts_with("input");
    throw Fault(input ? "input changed" : "guard zone",
                input ? fmt::format("{} was written to", place) : fmt::format("wrote {}", place));
  }
}

}  // namespace

Description::Description(const Case& one) : case_(one) {
  for (const auto* list : {&one.inputs, &one.outputs}) {
    for (const CaseTensor& tensor : *list) {
      attn_tensor& described = tensors_.emplace_back();
      described.dtype = static_cast<std::int32_t>(tensor.type);
      described.rank = tensor.present ? tensor.shape.rank() : -1;
      for (int axis = 0; axis < described.rank; ++axis) described.dims[axis] = tensor.shape[axis];
    }
  }
}

attn_op Description::op() const {
  return {case_.kind, static_cast<std::uint16_t>(case_.inputs.size()),
          static_cast<std::uint16_t>(case_.outputs.size()), tensors_.data(), case_.params.data()};
}

Memory::Memory(const Session& session, std::size_t bytes) : session_(session), bytes_(bytes) {
  attn_error error{ATTN_OK, -1, {}};
  if (session.table().allocate(session.context(), bytes, &data_, &error) != ATTN_OK)
    throw Fault("memory", fmt::format("cannot allocate {} bytes: {}", bytes, reason(error)));
}

Memory::~Memory() {
  session_.table().release(session_.context(), data_);
}

void Memory::upload(const std::vector<std::byte>& bytes) const {
  attn_error error{ATTN_OK, -1, {}};
  if (session_.table().upload(session_.context(), data_, bytes.data(), bytes.size(), &error) != ATTN_OK)
    throw Fault("memory", fmt::format("cannot upload {} bytes: {}", bytes.size(), reason(error)));
}

std::vector<std::byte> Memory::download() const {
  std::vector<std::byte> bytes(bytes_);
  attn_error error{ATTN_OK, -1, {}};
  if (session_.table().download(session_.context(), bytes.data(), data_, bytes_, &error) != ATTN_OK)
    throw Fault("memory", fmt::format("cannot download {} bytes: {}", bytes_, reason(error)));
  return bytes;
}

Session::Session(std::shared_ptr<const Backend> backend, int device, int threads)
    : backend_(std::move(backend)) {
  attn_options options{};
  options.struct_size = sizeof options;
  options.device = device;
  options.threads = threads;
  options.deterministic = 1;
  attn_error error{ATTN_OK, -1, {}};
  if (table().open(&options, &context_, &error) != ATTN_OK)
    throw Fault("context",
                fmt::format("a context with {} threads cannot be opened: {}", threads, reason(error)));
}

Session::~Session() {
  table().close(context_);
}

Support Session::query(const attn_op& op) const {
  attn_support support{};
  support.struct_size = sizeof support;
  attn_error error{ATTN_OK, -1, {}};
  const attn_status status = table().query(context_, &op, &support, &error);
  if (status != ATTN_OK) throw Fault("query", fmt::format("query failed: {}", reason(error)));
  const std::string why_not(support.why_not, strnlen(support.why_not, sizeof support.why_not));
  if (support.supported == 0 && why_not.empty()) throw Fault("query", "query said no without a reason");
  return {support.supported != 0, support.workspace_bytes, why_not};
}

std::vector<std::vector<std::byte>> Session::run(const Case& one, std::size_t workspace_bytes,
                                                 const RunOptions& options) const {
  const Layout layout = lay_out(one, options);
  const Memory memory(*this, layout.image.size());
  memory.upload(layout.image);
  const Memory workspace(*this, workspace_bytes + guard_bytes);
  if (workspace_bytes > 0) workspace.upload(std::vector<std::byte>(workspace_bytes + guard_bytes, guard));

  Description description(one);
  for (std::size_t i = 0; i < layout.begin.size(); ++i) {
    if (description.tensors()[i].rank >= 0) description.tensors()[i].data = memory.data() + layout.begin[i];
  }
  const attn_op op = description.op();
  const attn_batch batch{sizeof(attn_batch), 1, &op, 0, workspace_bytes > 0 ? workspace.data() : nullptr,
                         workspace_bytes};
  attn_error error{ATTN_OK, -1, {}};
  const attn_status status = table().run(context_, &batch, &error);
  if (status != ATTN_OK) {
    throw Fault("promise", fmt::format("query said that it runs, but it failed with status {}: {}",
                                       static_cast<int>(status), reason(error)));
  }
  if (table().synchronize(context_, &error) != ATTN_OK)
    throw Fault("promise", fmt::format("query said that it runs, but synchronize failed: {}", reason(error)));
  const std::vector<std::byte> after = memory.download();
  check_surroundings(one, layout, after);
  if (workspace_bytes > 0) {
    const std::vector<std::byte> left = workspace.download();
    if (!std::all_of(left.end() - guard_bytes, left.end(), [](std::byte b) { return b == guard; }))
      throw Fault("guard zone", fmt::format("wrote behind the workspace of {} bytes", workspace_bytes));
  }
  std::vector<std::vector<std::byte>> outputs;
  for (std::size_t i = one.inputs.size(); i < layout.begin.size(); ++i) {
    const auto begin = after.begin() + static_cast<std::ptrdiff_t>(layout.begin[i]);
    outputs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(layout.bytes[i]));
  }
  return outputs;
}

}  // namespace attn::conformance
