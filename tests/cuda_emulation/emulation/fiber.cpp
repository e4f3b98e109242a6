#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define ATTN_EMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTN_EMULATION_ASAN 1
#endif
#endif
#if defined(ATTN_EMULATION_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace attn::emulation {

namespace {

#if defined(ATTN_EMULATION_ASAN)
constexpr std::size_t stack_bytes = 256 * 1024;  // its red zones take room
void begin_switch(void** fake_stack, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
}
void end_switch(void* fake_stack, const void** from, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, from, bytes);
}
#else
constexpr std::size_t stack_bytes = 64 * 1024;
void begin_switch(void**, const void*, std::size_t) {}
void end_switch(void*, const void**, std::size_t*) {}
#endif

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

#if defined(__x86_64__)

// swapcontext saves the signal mask with a system call, which makes it twenty times slower than these few
// instructions. They save what the System V calling convention says that a function keeps.
extern "C" void attn_emulation_switch(void** save, void* load);
asm(R"(
.text
.hidden attn_emulation_switch
.globl attn_emulation_switch
.type attn_emulation_switch, @function
attn_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size attn_emulation_switch, .-attn_emulation_switch
.hidden attn_emulation_start
.globl attn_emulation_start
.type attn_emulation_start, @function
attn_emulation_start:
  movq %rbx, %rdi
  callq *%r12
  ud2
.size attn_emulation_start, .-attn_emulation_start
)");
extern "C" void attn_emulation_start();

#endif

void start_fiber(void* fiber) {
  Fiber::start(static_cast<Fiber*>(fiber));
}

Fiber::Fiber(Entry entry, void* argument) : entry_(entry), argument_(argument) {
  memory_bytes_ = stack_bytes + page_bytes();
  memory_ = mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory_, page_bytes(), PROT_NONE);
  char* top = static_cast<char*>(memory_) + memory_bytes_;
#if defined(__x86_64__)
  // what attn_emulation_switch pops: r15 r14 r13 r12 rbx rbp, then where it returns to
  auto** frame = reinterpret_cast<void**>(top) - 9;  // leaves the stack aligned for a call
  frame[3] = reinterpret_cast<void*>(&start_fiber);
  frame[4] = this;
  frame[6] = reinterpret_cast<void*>(&attn_emulation_start);
  own_stack_pointer_ = frame;
#else
  own_ = std::make_unique<ucontext_t>();
  resumer_ = std::make_unique<ucontext_t>();
  getcontext(own_.get());
  own_->uc_stack.ss_sp = top - stack_bytes;
  own_->uc_stack.ss_size = stack_bytes;
  own_->uc_link = nullptr;
  // makecontext passes ints alone
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  const auto trampoline = +[](unsigned low, unsigned high) {
    start_fiber(reinterpret_cast<void*>(static_cast<std::uintptr_t>(high) << 32 | low));
  };
  makecontext(own_.get(), reinterpret_cast<void (*)()>(trampoline), 2, static_cast<unsigned>(address),
              static_cast<unsigned>(static_cast<std::uint64_t>(address) >> 32));
#endif
}

Fiber::~Fiber() {
  munmap(memory_, memory_bytes_);
}

void Fiber::start(Fiber* fiber) {
  end_switch(nullptr, &fiber->resumer_stack_, &fiber->resumer_stack_bytes_);
  fiber->entry_(fiber->argument_);
}

void Fiber::resume() {
  begin_switch(&resumer_fake_stack_, static_cast<char*>(memory_) + memory_bytes_ - stack_bytes, stack_bytes);
#if defined(__x86_64__)
  attn_emulation_switch(&resumer_stack_pointer_, own_stack_pointer_);
#else
  swapcontext(resumer_.get(), own_.get());
#endif
  end_switch(resumer_fake_stack_, nullptr, nullptr);
}

void Fiber::suspend() {
  begin_switch(&own_fake_stack_, resumer_stack_, resumer_stack_bytes_);
#if defined(__x86_64__)
  attn_emulation_switch(&own_stack_pointer_, resumer_stack_pointer_);
#else
  swapcontext(own_.get(), resumer_.get());
#endif
  end_switch(own_fake_stack_, &resumer_stack_, &resumer_stack_bytes_);
}

}  // namespace attn::emulation
