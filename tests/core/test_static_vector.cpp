#include <memory>
#include <string>

#include "attn/core/static_vector.h"
#include "support/catch.h"

using attn::StaticVector;

TEST_CASE("a static vector holds what was put in, in order") {
  StaticVector<std::string, 4> names{"a", "b"};
  names.push_back("c");
  CHECK(names.size() == 3);
  CHECK_FALSE(names.empty());
  CHECK(names[0] == "a");
  CHECK(names[2] == "c");
  std::string all;
  for (const std::string& name : names) all += name;
  CHECK(all == "abc");
  names[1] += "x";
  CHECK(names.begin()[1] == "bx");
  names.clear();
  CHECK(names.empty());
  CHECK(names.begin() == names.end());
}

TEST_CASE("a static vector copies and moves its elements") {
  const auto shared = std::make_shared<int>(7);
  StaticVector<std::shared_ptr<int>, 3> first{shared, shared};
  CHECK(shared.use_count() == 3);
  auto second = first;
  CHECK(shared.use_count() == 5);
  second = first;
  CHECK(shared.use_count() == 5);
  const auto& itself = second;
  second = itself;
  CHECK(second.size() == 2);
  StaticVector<std::shared_ptr<int>, 3> third(std::move(first));
  CHECK(third.size() == 2);
  CHECK(third[1].get() == shared.get());
  CHECK(shared.use_count() == 5);
  second = std::move(third);
  CHECK(second.size() == 2);
  CHECK(shared.use_count() == 3);
  second = StaticVector<std::shared_ptr<int>, 3>{};
  CHECK(second.empty());
  CHECK(shared.use_count() == 1);
}

TEST_CASE("a static vector destroys each element once") {
  const auto shared = std::make_shared<int>(7);
  {
    StaticVector<std::shared_ptr<int>, 8> full;
    for (int i = 0; i < 8; ++i) full.push_back(shared);
    CHECK(full.size() == 8);
    CHECK(shared.use_count() == 9);
  }
  CHECK(shared.use_count() == 1);
}

TEST_CASE("a static vector holds elements that cannot be copied") {
  StaticVector<std::unique_ptr<int>, 2> owners;
  owners.push_back(std::make_unique<int>(1));
  StaticVector<std::unique_ptr<int>, 2> moved(std::move(owners));
  REQUIRE(moved.size() == 1);
  CHECK(*moved[0] == 1);
}
