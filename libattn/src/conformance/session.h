#pragma once
// A context of a plugin, used through the C table alone, with everything around its tensors watched.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/runtime/backend.h"
#include "case.h"

namespace attn::conformance {

/// Something that the plugin did wrong: which property, and one sentence.
class Fault : public std::runtime_error {
 public:
  Fault(std::string aspect, const std::string& message)
      : std::runtime_error(message), aspect_(std::move(aspect)) {}
  const std::string& aspect() const noexcept { return aspect_; }

 private:
  std::string aspect_;
};

/// The descriptor of a case; the memory is given later.
class Description {
 public:
  explicit Description(const Case& one);
  attn_op op() const;
  std::vector<attn_tensor>& tensors() { return tensors_; }

 private:
  const Case& case_;
  std::vector<attn_tensor> tensors_;
};

struct Support {
  bool supported = false;
  std::size_t workspace_bytes = 0;
  std::string why_not;
};

/// What the elements of an output hold before an operation overwrites them.
enum class Poison : unsigned char { not_a_number = 0xFF, large = 0x7B };

struct RunOptions {
  Poison poison = Poison::not_a_number;
  bool misaligned = false;  ///< tensors begin at a multiple of their element size only
};

class Session {
 public:
  Session(std::shared_ptr<const Backend> backend, int device, int threads);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;
  ~Session();

  const attn_backend& table() const { return backend_->table(); }
  attn_context* context() const { return context_; }

  /// Throws Fault where the answer breaks a rule.
  Support query(const attn_op& op) const;
  /// The bytes of all outputs (nothing for absent ones). Throws Fault if the run fails, writes beside its
  /// outputs or changes an input.
  std::vector<std::vector<std::byte>> run(const Case& one, std::size_t workspace_bytes,
                                          const RunOptions& options) const;

 private:
  std::shared_ptr<const Backend> backend_;
  attn_context* context_ = nullptr;
};

/// Memory of a session's device.
class Memory {
 public:
  Memory(const Session& session, std::size_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&&) = delete;
  Memory& operator=(Memory&&) = delete;
  ~Memory();

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  void upload(const std::vector<std::byte>& bytes) const;
  std::vector<std::byte> download() const;

 private:
  const Session& session_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

}  // namespace attn::conformance
