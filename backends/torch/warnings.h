#pragma once
// LibTorch prints its warnings on standard error unless someone takes them; here they go to the program's
// log.
#include <c10/util/Exception.h>

#include <string>

#include "attn/backend_abi.h"

#if __has_include(<torch/csrc/api/include/torch/version.h>)
#include <torch/csrc/api/include/torch/version.h>
#else
#include <torch/version.h>
#endif

namespace attn::libtorch {

namespace torch_warnings =
#if TORCH_VERSION_MAJOR >= 2
    c10::WarningUtils;
#else
    c10::Warning;
#endif

/// Hands on the warnings of the calling thread as long as it lives. `host` may be NULL: they are lost then.
class WarningsToLog final : private c10::WarningHandler {
 public:
  explicit WarningsToLog(const attn_host* host) : host_(host), guard_(this) {}

 private:
#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning& warning) override {
    log(warning.msg());
  }
#else
  void process(const c10::SourceLocation&, const std::string& text, const bool) override {
    log(text);
  }
#endif
  void log(const std::string& text) const {
    if (host_ == nullptr || !ATTN_HAS(host_, attn_host, log)) return;
    host_->log(1, text.substr(0, text.find('\n')).c_str());
  }

  const attn_host* host_;
  torch_warnings::WarningHandlerGuard guard_;
};

}  // namespace attn::libtorch
