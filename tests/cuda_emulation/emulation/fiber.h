#pragma once
// Stacks that one host thread switches between, so that the threads of a block can wait for each other.
#include <cstddef>
#include <memory>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace attn::emulation {

/// One stack with a function that runs on it. Only suspend() and resume() switch; there is no preemption.
class Fiber {
 public:
  using Entry = void (*)(void*);

  /// `entry(argument)` starts with the first resume() and must not return.
  Fiber(Entry entry, void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the fiber until it suspends itself. Called from outside of all fibers.
  void resume();
  /// Goes back to who resumed this fiber. Called on the fiber itself.
  void suspend();

 private:
  static void start(Fiber* fiber);
  friend void start_fiber(void* fiber);

  Entry entry_;
  void* argument_;
  void* memory_ = nullptr;  // a page that must not be touched, then the stack
  std::size_t memory_bytes_ = 0;
#if defined(__x86_64__)
  void* own_stack_pointer_ = nullptr;
  void* resumer_stack_pointer_ = nullptr;
#else
  std::unique_ptr<ucontext_t> own_, resumer_;
#endif
  // what AddressSanitizer has to be told about each switch
  void* own_fake_stack_ = nullptr;
  void* resumer_fake_stack_ = nullptr;
  const void* resumer_stack_ = nullptr;
  std::size_t resumer_stack_bytes_ = 0;
};

}  // namespace attn::emulation
