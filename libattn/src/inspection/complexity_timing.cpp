#include "complexity_timing.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>

#include "attn/core/error.h"
#include "attn/ops/ops.h"

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double now(TimedClock clock) {
  timespec time{};
  clock_gettime(clock == TimedClock::wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// One pass after another. A pass ends when the device has finished it.
class Runner {
 public:
  Runner(const SequenceEncoder& encoder, ParameterStore& store, const Tensor& x, Pass pass, TimedClock clock)
      : encoder_(encoder), store_(store), x_(x), pass_(pass), clock_(clock) {
    if (pass != Pass::forward_backward) return;
    x_ = tape_.watch(x);
    if (store.count() > 0) store.train_with(tape_);
    cotangent_ = ops::full(x, x.shape(), 1.0);
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  Runner(Runner&&) = delete;
  Runner& operator=(Runner&&) = delete;
  ~Runner() {
    if (pass_ == Pass::forward_backward && store_.count() > 0) store_.stop_training();
  }

  double operator()() {
    Device& device = x_.device();
    device.synchronize();
    const double start = now(clock_);
    {
      const Tensor y = encoder_(x_);
      if (pass_ == Pass::forward_backward) tape_.backward(y, cotangent_);
      device.synchronize();
    }
    return now(clock_) - start;
  }

 private:
  const SequenceEncoder& encoder_;
  ParameterStore& store_;
  Tensor x_, cotangent_;
  Pass pass_;
  TimedClock clock_;
  Tape tape_;
};

// MemAvailable of /proc/meminfo in bytes, 0 where there is none.
double available_to_processes() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  double kilobytes = 0;
  while (file >> key >> kilobytes) {
    if (key == "MemAvailable:") return kilobytes * 1024;
    std::getline(file, unit);
  }
  return 0;
}

}  // namespace

namespace inspection {

ComplexityTiming time_encoder(const SequenceEncoder& encoder, ParameterStore& store, const Tensor& x,
                              Pass pass, const TimingOptions& options) {
  Runner run(encoder, store, x, pass, options.clock);
  Device& device = x.device();
  const auto stopped = [&options] { return options.stop_requested && options.stop_requested(); };
  ComplexityTiming timing;
  std::vector<double> seconds;
  const Clock::time_point start = Clock::now();
  device.reset_peak();
  const std::size_t before = device.memory().in_use;
  for (int i = 0; i < options.warm_up && seconds_since(start) < options.time_limit && !stopped(); ++i) run();
  const Clock::time_point timed = Clock::now();
  while (static_cast<int>(seconds.size()) < options.repeats && !stopped()) {
    seconds.push_back(run());
    if (seconds_since(timed) >= options.time_limit) break;
  }
  if (stopped()) fail(ExitCode::interrupted, "interrupted");
  timing.peak_bytes = static_cast<double>(device.memory().peak_in_use - before);
  timing.repeats = static_cast<int>(seconds.size());
  timing.median = median(seconds);
  timing.minimum = *std::min_element(seconds.begin(), seconds.end());
  timing.maximum = *std::max_element(seconds.begin(), seconds.end());
  return timing;
}

double free_bytes(const Device& device) {
  attn_device_info info{};
  info.struct_size = sizeof info;
  attn_error error{};
  if (device.backend().table().device_info(device.options().device, &info, &error) != ATTN_OK) return 0;
  const auto free = static_cast<double>(info.memory_free);
  return info.host_accessible != 0 ? std::max(free, available_to_processes()) : free;
}

}  // namespace inspection

double measured_peak(const std::shared_ptr<Device>& device, TimedClock clock) {
  double best = 0;
  const Clock::time_point start = Clock::now();
  for (const std::int64_t size : {256, 512, 1024}) {
    const Tensor a = ops::full(Tensor::zeros(device, {}, DType::f32), {size, size}, 0.5);
    const Tensor b = ops::full(a, a.shape(), 0.25);
    (void)ops::matmul(a, b);
    device->synchronize();
    std::vector<double> seconds;
    for (int i = 0; i < 7 && (seconds.empty() || seconds_since(start) < 1.0); ++i) {
      const double begin = now(clock);
      (void)ops::matmul(a, b);
      device->synchronize();
      seconds.push_back(now(clock) - begin);
    }
    const auto cube = static_cast<double>(size * size * size);
    best = std::max(best, 2 * cube / median(seconds) * 1e-9);
    if (seconds_since(start) >= 1.0) break;
  }
  return best;
}

}  // namespace attn
