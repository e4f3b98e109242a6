// Writes behind the end of a shared array, to see that it does not go unnoticed. It would go on without a
// word on a GPU. AddressSanitizer ends the program; otherwise the emulation complains at the end of the
// block.
#include <cstdio>

#include "cuda_runtime.h"

namespace {

__global__ void overrun() {
  ATTN_SHARED(float, tile, 32);
  tile[threadIdx.x] = 1;
}

}  // namespace

int main() {
  try {
    const std::function<void()> body = overrun;
    attn::emulation::BlockRunner::current().run(1, 33, 0, body);
  } catch (const attn::emulation::Fault& fault) {
    std::puts(fault.what());
    return 0;
  }
  std::puts("not noticed");
  return 1;
}
