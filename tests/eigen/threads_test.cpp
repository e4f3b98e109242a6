#include "threads.h"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/catch.h"

namespace attn::eigen::test {

TEST_CASE("every task runs exactly once at any number of threads") {
  for (const int count : {1, 2, 3, 8}) {
    Threads threads(count);
    CHECK(threads.count() == count);
    for (int round = 0; round < 200; ++round) {
      const std::int64_t tasks = round % 17;
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      threads.parallel(tasks, [&](std::int64_t task) { ++runs[static_cast<std::size_t>(task)]; });
      int wrong = 0;
      for (const auto& run : runs) wrong += run != 1 ? 1 : 0;
      REQUIRE(wrong == 0);
    }
  }
}

TEST_CASE("an exception of a task reaches the caller, and the threads go on working") {
  Threads threads(3);
  const auto fail = [](std::int64_t task) {
    if (task == 5) throw std::runtime_error("task 5");
  };
  CHECK_THROWS_AS(threads.parallel(9, fail), std::runtime_error);
  std::atomic<std::int64_t> sum{0};
  threads.parallel(10, [&](std::int64_t task) { sum += task; });
  CHECK(sum == 45);
}

TEST_CASE("temporary memory is aligned, separate while it is used, and used again") {
  Workspace workspace;
  const void* kept = nullptr;
  {
    const auto first = workspace.take<float>(1000);
    const auto second = workspace.take<double>(3);
    CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % 64 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(second.data()) % 64 == 0);
    for (std::int64_t i = 0; i < first.size(); ++i) first[i] = 1;
    for (std::int64_t i = 0; i < second.size(); ++i) second[i] = 2;
    CHECK(first[0] == 1);
    CHECK(first[999] == 1);
    kept = first.data();
  }
  CHECK(workspace.take<char>(4000).data() == kept);
}

}  // namespace attn::eigen::test
