#include "attn/cli/signals.h"

#include <csignal>

namespace attn::cli {
namespace {

volatile std::sig_atomic_t received = 0;

extern "C" void attn_on_signal(int number) {
  if (received != 0 && number == SIGINT) {
    // Asked twice: die of the signal, as the shell expects it.
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  received = number;
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a read from a terminal or pipe must wake up.
  sigaction(number, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  handle(SIGINT, attn_on_signal);
  handle(SIGTERM, attn_on_signal);
  handle(SIGPIPE, SIG_IGN);
}

int interrupting_signal() noexcept {
  return static_cast<int>(received);
}

void clear_interruption() noexcept {
  received = 0;
}

}  // namespace attn::cli
