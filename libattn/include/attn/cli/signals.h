#pragma once

namespace attn::cli {

/// From now on the first SIGINT or SIGTERM only sets a flag, so that the program can save and end in order; a
/// second SIGINT ends it at once. The flag is the process's one global state. SIGPIPE is ignored, so that a
/// broken pipe shows as an error of write.
void install_signal_handlers();

/// The signal that arrived (SIGINT or SIGTERM), or 0.
int interrupting_signal() noexcept;

/// Whether the program was asked to stop.
inline bool interrupted() noexcept {
  return interrupting_signal() != 0;
}

/// Forgets the signal, for tests.
void clear_interruption() noexcept;

}  // namespace attn::cli
