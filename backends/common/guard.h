#pragma once
// Turns C++ exceptions into the status codes and messages of the C boundary. No exception may cross it.
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/backend_abi.h"

namespace attn::backend {

/// printf into a string; a plugin needs no formatting library.
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
inline std::string
message(const char* pattern, ...) {
  char text[sizeof(attn_error::message)];
  std::va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

/// Copies text into a fixed field of a C struct: cut to fit, always NUL-terminated.
template<std::size_t Size>
void copy_text(char (&field)[Size], const char* text) {
  std::snprintf(field, Size, "%s", text);
}

/// What a backend throws to say which status the caller is to see.
class BackendError : public std::runtime_error {
 public:
  BackendError(attn_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  attn_status status() const noexcept { return status_; }

 private:
  attn_status status_;
};

/// Fills in the caller's error, which may be NULL, and returns the status. A failure of an operation names
/// its position in the batch: "operation 3: ...".
inline attn_status report(attn_error* error, attn_status status, int op_index, const char* text) noexcept {
  if (error == nullptr) return status;
  error->status = status;
  error->op_index = op_index;
  if (status == ATTN_OK) {
    error->message[0] = '\0';  // the usual case, once an operation: it should cost nothing
  } else if (op_index >= 0) {
    std::snprintf(error->message, sizeof error->message, "operation %d: %s", op_index, text);
  } else {
    copy_text(error->message, text);
  }
  return status;
}

/// Calls function() and translates whatever it throws. `op_index` is the position in the batch, -1 if none.
template<typename Function>
attn_status guarded(attn_error* error, int op_index, Function&& function) noexcept {
  try {
    std::forward<Function>(function)();
    return report(error, ATTN_OK, -1, "");
  } catch (const BackendError& failure) {
    return report(error, failure.status(), op_index, failure.what());
  } catch (const std::bad_alloc&) {
    return report(error, ATTN_OUT_OF_MEMORY, op_index, "not enough memory");
  } catch (const std::exception& failure) {
    return report(error, ATTN_INTERNAL, op_index, failure.what());
  } catch (...) {
    return report(error, ATTN_INTERNAL, op_index, "an exception of unknown type");
  }
}

}  // namespace attn::backend
