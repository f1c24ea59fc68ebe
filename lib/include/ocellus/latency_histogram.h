// LatencyHistogram: a histogram of durations with three significant digits from 1 us to 17 s, in
// constant memory.
#pragma once

#include <array>
#include <cstdint>

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Log-linear buckets as in HdrHistogram: 1 ns wide below 2048 ns, then 1024 equal steps for each
/// power of two. The relative error of a recorded value is below 0.1 %. Negative values count as 0.
/// Values above kHighestNs are in no bucket; `overflow` counts them.
///
/// `record` takes constant time and never allocates. Only one thread may write at a time. A bucket
/// counts up to 2^32 - 1 values; call `reset` before more are recorded. The size is 100 KiB, too
/// large for a small stack.
class LatencyHistogram {
 public:
  /// Longest duration that does not count in `overflow`: 17.18 s.
  static constexpr std::int64_t kHighestNs = (std::int64_t{1} << 34) - 1;

  /// Adds one duration.
  void record(std::int64_t duration_ns) noexcept;
  /// Removes all values.
  void reset() noexcept;
  /// Adds the counts of another histogram.
  void merge(const LatencyHistogram& other) noexcept;

  /// Number of recorded values.
  std::uint64_t count() const noexcept { return count_; }
  /// Number of recorded values above kHighestNs.
  std::uint64_t overflow() const noexcept { return overflow_; }
  std::int64_t min_ns() const noexcept { return count_ ? min_ : 0; }  ///< exact
  std::int64_t max_ns() const noexcept { return max_; }               ///< exact
  double mean_ns() const noexcept;
  /// Returns the duration that `percent` percent (0 to 100) of the recorded values do not exceed; 0
  /// if the histogram is empty. A result above kHighestNs is kHighestNs + 1, which only says that
  /// it is longer; for 100 percent it is max_ns().
  std::int64_t percentile_ns(double percent) const noexcept;

  /// Buckets in ascending order, for plots.
  static int bucket_count() noexcept { return kBuckets; }
  /// Largest duration that the bucket counts.
  static std::int64_t bucket_upper_ns(int bucket) noexcept;
  /// Number of values in the bucket.
  std::uint64_t bucket_value(int bucket) const noexcept {
    return counts_[static_cast<std::size_t>(bucket)];
  }

 private:
  // 2048 buckets of 1 ns, then 23 powers of two up to 2^34 ns with 1024 buckets each.
  static constexpr int kBuckets = 2048 + 23 * 1024;
  static int bucket_of(std::int64_t ns) noexcept;

  std::array<std::uint32_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t overflow_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  double sum_ = 0.0;
};

}  // namespace ocellus

#pragma GCC visibility pop
