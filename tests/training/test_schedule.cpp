#include <cmath>
#include <numbers>

#include "attn/training/schedule.h"
#include "support/catch.h"
#include "support/golden.h"

namespace {

using namespace attn;
using Kind = ScheduleConfig::Kind;

void check_against(const test::GoldenCase& golden, const std::string& dataset,
                   const ScheduleConfig& schedule) {
  const std::vector<double> steps = golden.values("step"), expected = golden.values(dataset);
  REQUIRE(steps.size() == expected.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    INFO(dataset << " at update " << steps[i]);
    CHECK(learning_rate_at(schedule, static_cast<std::int64_t>(steps[i])) ==
          Approx(expected[i]).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("noam and inverse square root schedules equal the reference values") {
  const test::GoldenCase golden("lr_schedule");
  ScheduleConfig schedule;
  schedule.warmup_updates = static_cast<std::int64_t>(golden.scalar("warmup"));
  schedule.width = static_cast<std::int64_t>(golden.scalar("d"));
  schedule.kind = Kind::noam;
  schedule.learning_rate = 1.0;
  check_against(golden, "noam", schedule);

  schedule.kind = Kind::inverse_sqrt;
  schedule.learning_rate = golden.scalar("peak");
  schedule.initial = golden.scalar("init");
  check_against(golden, "inverse_sqrt", schedule);
  schedule.initial = 0.0;
  check_against(golden, "inverse_sqrt_zero", schedule);
}

TEST_CASE("the factor of noam scales it, and without a warm-up it only falls") {
  ScheduleConfig schedule{Kind::noam, 1.0};
  schedule.warmup_updates = 10;
  const double once = learning_rate_at(schedule, 7);
  schedule.learning_rate = 2.0;
  CHECK(learning_rate_at(schedule, 7) == Approx(2.0 * once));
  schedule.warmup_updates = 0;
  CHECK(learning_rate_at(schedule, 1) == Approx(2.0 / std::sqrt(512.0)));
  CHECK(learning_rate_at(schedule, 4) == Approx(1.0 / std::sqrt(512.0)));
}

TEST_CASE("a constant schedule never changes") {
  const ScheduleConfig schedule{Kind::constant, 0.25};
  for (const std::int64_t n : {1, 2, 1000, 1000000}) CHECK(learning_rate_at(schedule, n) == 0.25);
}

TEST_CASE("a cosine schedule warms up, halves in the middle, and stays at its minimum") {
  ScheduleConfig schedule{Kind::cosine, 0.5};
  schedule.warmup_updates = 100;
  schedule.initial = 0.1;
  schedule.minimum = 0.02;
  schedule.total_updates = 1100;
  CHECK(learning_rate_at(schedule, 50) == Approx(0.3));
  CHECK(learning_rate_at(schedule, 100) == Approx(0.5));
  CHECK(learning_rate_at(schedule, 350) == Approx(0.02 + 0.24 * (1.0 + std::cos(std::numbers::pi / 4))));
  CHECK(learning_rate_at(schedule, 600) == Approx(0.26));
  CHECK(learning_rate_at(schedule, 1100) == Approx(0.02));
  CHECK(learning_rate_at(schedule, 5000) == Approx(0.02));
}

TEST_CASE("a step schedule decays after every interval") {
  ScheduleConfig schedule{Kind::step, 1.0};
  schedule.decay = 0.1;
  schedule.interval = 10;
  CHECK(learning_rate_at(schedule, 1) == 1.0);
  CHECK(learning_rate_at(schedule, 10) == 1.0);
  CHECK(learning_rate_at(schedule, 11) == Approx(0.1));
  CHECK(learning_rate_at(schedule, 31) == Approx(0.001));
  schedule.warmup_updates = 5;
  CHECK(learning_rate_at(schedule, 1) == Approx(0.2));
  CHECK(learning_rate_at(schedule, 5) == 1.0);
}
