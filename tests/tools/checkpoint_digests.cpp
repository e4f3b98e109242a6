// checkpoint_digests FILE: one line for each parameter, moment and average of a checkpoint with the SHA-256
// of its values, and the checksum of the progress; what training changed, whatever else the file says about
// its origin.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "attn/core/sha256.h"
#include "attn/io/hdf5.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const attn::hdf5::File file = attn::hdf5::File::open(argv[1]);
    for (const char* name : {"/model", "/optimizer", "/average"}) {
      if (!file.exists(name)) continue;  // a checkpoint for translating only
      const attn::hdf5::Group group = file.group(name);
      for (const std::string& path : group.dataset_paths()) {
        const std::vector<double> values = group.read<double>(path);
        const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                                     values.size() * sizeof(double));
        fmt::print("{}/{} {}\n", name, path, attn::sha256_hex(bytes));
      }
    }
    fmt::print("state {}\n", file.string_attribute("state_sha256"));
  } catch (const std::exception& error) {
    fmt::print(stderr, "checkpoint_digests: {}\n", error.what());
    return 1;
  }
  return 0;
}
