#include "bench/limits/machine_limits.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/input_error.h"
#include "apps/common/threads.h"
#include "bench/limits/limits_kernels.h"

namespace ocellus::app {
namespace {

/// Runs `work(thread)` on all threads at once, `passes` times. Returns the shortest time from the
/// first start to the last end. The worker threads read the clock themselves, because another
/// thread might be woken late.
double best_seconds(int threads, int passes, const std::function<void(int)>& work) {
  using Clock = std::chrono::steady_clock;
  std::barrier gate(threads);
  const auto slots = static_cast<std::size_t>(threads * passes);
  std::vector<Clock::time_point> begins(slots);
  std::vector<Clock::time_point> ends(slots);
  run_on_threads(threads, [&](int t) {
    for (int pass = 0; pass < passes; ++pass) {
      const auto slot = static_cast<std::size_t>(pass * threads + t);
      gate.arrive_and_wait();
      begins[slot] = Clock::now();
      work(t);
      ends[slot] = Clock::now();
    }
  });
  double best = 1e9;
  for (int pass = 0; pass < passes; ++pass) {
    const auto first = static_cast<std::ptrdiff_t>(pass * threads);
    const Clock::time_point begin =
        *std::min_element(begins.begin() + first, begins.begin() + first + threads);
    const Clock::time_point end =
        *std::max_element(ends.begin() + first, ends.begin() + first + threads);
    best = std::min(best, std::chrono::duration<double>(end - begin).count());
  }
  return best;
}

}  // namespace

std::size_t last_cache_bytes() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::size_t value = 0;
    char unit = 0;
    if (!(file >> value)) continue;
    file >> unit;
    largest = std::max(largest, value * (unit == 'K'   ? std::size_t{1024}
                                         : unit == 'M' ? std::size_t{1} << 20
                                                       : std::size_t{1}));
  }
  return largest;
}

MachineLimits measure_limits(int threads) {
  MachineLimits limits;
  limits.threads = threads;
  limits.block_bytes = std::max<std::size_t>(std::size_t{256} << 20, 8 * last_cache_bytes());
  limits.block_bytes = std::min<std::size_t>(limits.block_bytes, std::size_t{1} << 30);
  // Each thread has a slice that is a multiple of 4 KiB.
  const std::size_t slice = limits.block_bytes / static_cast<std::size_t>(threads) / 4096 * 4096;
  limits.block_bytes = slice * static_cast<std::size_t>(threads);
  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  const std::unique_ptr<void, Free> block(std::aligned_alloc(4096, limits.block_bytes));
  if (!block) throw InputError("no memory to measure the bandwidth with");
  auto* const bytes = static_cast<std::uint8_t*>(block.get());
  const auto start_of = [&](int t) { return bytes + static_cast<std::size_t>(t) * slice; };
  best_seconds(threads, 1, [&](int t) {
    std::memset(start_of(t), t + 1, slice);
  });  // each thread touches its own pages first

  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads) * 16);
  const double read = best_seconds(threads, 8, [&](int t) {
    sums[static_cast<std::size_t>(t) * 16] += read_block(start_of(t), slice);
  });
  limits.read_bytes_per_s = static_cast<double>(limits.block_bytes) / read;
  // Copies the upper half of each slice to the lower half.
  const double copy = best_seconds(
      threads, 8, [&](int t) { std::memcpy(start_of(t), start_of(t) + slice / 2, slice / 2); });
  limits.copy_bytes_per_s = static_cast<double>(limits.block_bytes) / copy;

  constexpr std::int64_t kRounds = 2'000'000;
  double flops_each = 0.0;
  const double fma = best_seconds(threads, 6, [&](int t) {
    double flops = 0.0;
    sums[static_cast<std::size_t>(t) * 16] += multiply_add(kRounds, flops);
    if (t == 0) flops_each = flops;
  });
  limits.flops = flops_each * threads / fma;
  return limits;
}

}  // namespace ocellus::app
