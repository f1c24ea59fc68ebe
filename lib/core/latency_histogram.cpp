#include "ocellus/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ocellus {
namespace {

// Buckets of 1 ns; above, three digits need steps of at most value / 1024.
constexpr int kLinear = 2048;
constexpr int kSteps = 1024;

}  // namespace

int LatencyHistogram::bucket_of(std::int64_t ns) noexcept {
  if (ns < kLinear) return static_cast<int>(std::max<std::int64_t>(ns, 0));
  const int octave = std::bit_width(static_cast<std::uint64_t>(ns)) - 11;  // 1 for 2048 to 4095
  const int step = static_cast<int>(ns >> octave);                         // 1024 to 2047
  return kLinear + (octave - 1) * kSteps + (step - kSteps);
}

std::int64_t LatencyHistogram::bucket_upper_ns(int bucket) noexcept {
  if (bucket < kLinear) return bucket;
  const int octave = (bucket - kLinear) / kSteps + 1;
  const std::int64_t step = (bucket - kLinear) % kSteps + kSteps;
  return ((step + 1) << octave) - 1;
}

void LatencyHistogram::record(std::int64_t duration_ns) noexcept {
  const std::int64_t ns = std::max<std::int64_t>(duration_ns, 0);
  if (ns > kHighestNs)
    ++overflow_;
  else
    ++counts_[static_cast<std::size_t>(bucket_of(ns))];
  min_ = count_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  sum_ += static_cast<double>(ns);
  ++count_;
}

void LatencyHistogram::reset() noexcept {
  counts_.fill(0);
  count_ = 0;
  overflow_ = 0;
  min_ = 0;
  max_ = 0;
  sum_ = 0.0;
}

void LatencyHistogram::merge(const LatencyHistogram& other) noexcept {
  if (other.count_ == 0) return;
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
  overflow_ += other.overflow_;
}

double LatencyHistogram::mean_ns() const noexcept {
  return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
}

std::int64_t LatencyHistogram::percentile_ns(double percent) const noexcept {
  if (count_ == 0) return 0;
  const double limited = percent > 0.0 ? std::min(percent, 100.0) : 0.0;  // NaN counts as 0
  const double exact = limited * static_cast<double>(count_) / 100.0;
  // Most percentages are not exact in binary. Rounding errors must not raise an integral rank to
  // the next integer.
  const auto rank = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(exact - 1e-9 * std::max(1.0, exact))));
  std::uint64_t seen = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[static_cast<std::size_t>(bucket)];
    // Minimum and maximum are exact; the upper limit of a bucket may lie outside of them.
    if (seen >= rank) return std::clamp(bucket_upper_ns(bucket), min_, max_);
  }
  return limited < 100.0 ? kHighestNs + 1 : max_;
}

}  // namespace ocellus
