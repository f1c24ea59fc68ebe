// LatencyHistogram against exact percentiles of sorted values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "ocellus/latency_histogram.h"

namespace ocellus {
namespace {

// A histogram has 100 KiB, so it is kept off the stack.
std::unique_ptr<LatencyHistogram> make_histogram() {
  return std::make_unique<LatencyHistogram>();
}

// Log-uniform durations from 1 us to 10 s.
std::vector<std::int64_t> random_durations(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(std::log(1e3), std::log(1e10));
  std::vector<std::int64_t> values(count);
  for (auto& value : values) value = static_cast<std::int64_t>(std::exp(exponent(random)));
  return values;
}

// The smallest value v for which at least `percent` percent of the values are at most v.
std::int64_t exact_percentile(const std::vector<std::int64_t>& sorted, double percent) {
  const double rank = std::ceil(percent * static_cast<double>(sorted.size()) / 100.0);
  const std::size_t index = rank < 1.0 ? 0 : static_cast<std::size_t>(rank) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

// Fails when a percentile has an error of more than three significant digits, or when a rank is
// wrong. The count is prime, so that no rank falls on a rounding edge.
// Promises: RT-013.
TEST(LatencyHistogram, PercentilesMatchTheSortedValues) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::vector<std::int64_t> values = random_durations(20011, seed);
    const auto histogram = make_histogram();
    for (const std::int64_t value : values) histogram->record(value);
    std::sort(values.begin(), values.end());
    ASSERT_EQ(histogram->count(), values.size());
    for (const double percent :
         {0.0, 0.1, 1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
      const std::int64_t exact = exact_percentile(values, percent);
      const std::int64_t got = histogram->percentile_ns(percent);
      EXPECT_LE(std::abs(static_cast<double>(got - exact)), 1e-3 * static_cast<double>(exact))
          << "percent " << percent << " seed " << seed;
      EXPECT_GE(got, exact) << "a percentile must not be rounded down; percent " << percent;
    }
    EXPECT_EQ(histogram->min_ns(), values.front());
    EXPECT_EQ(histogram->max_ns(), values.back());
    EXPECT_EQ(histogram->percentile_ns(100.0), values.back());
  }
}

// Fails when a whole rank is rounded up to the next value because percent / 100 is not exact in
// binary.
TEST(LatencyHistogram, WholeRanksAreNotRoundedUp) {
  const auto histogram = make_histogram();
  // the buckets of 1 ns are exact
  for (int value = 1; value <= 1000; ++value) histogram->record(value);
  for (int tenth = 1; tenth <= 1000; ++tenth) {
    ASSERT_EQ(histogram->percentile_ns(tenth / 10.0), tenth) << "percent " << tenth / 10.0;
  }
}

// Fails when a bucket between 1 us and 10 s is wider than 0.1 % of its values, or when an edge
// belongs to the wrong bucket.
// Promises: RT-013.
TEST(LatencyHistogram, EveryBucketKeepsThreeDigits) {
  const auto histogram = make_histogram();
  std::int64_t lower = 0;
  for (int bucket = 0; bucket < LatencyHistogram::bucket_count(); ++bucket) {
    const std::int64_t upper = LatencyHistogram::bucket_upper_ns(bucket);
    ASSERT_GE(upper, lower) << "bucket " << bucket;
    ASSERT_LE(static_cast<double>(upper - lower), 1e-3 * static_cast<double>(upper))
        << "bucket " << bucket;
    if (bucket % 97 == 0 || bucket < 3 || bucket > LatencyHistogram::bucket_count() - 3) {
      for (const std::int64_t value : {lower, upper}) {
        histogram->reset();
        histogram->record(value);
        ASSERT_EQ(histogram->bucket_value(bucket), 1u) << "value " << value;
        ASSERT_EQ(histogram->percentile_ns(50.0), value) << "a single value must be the median";
      }
    }
    lower = upper + 1;
  }
  EXPECT_EQ(lower - 1, LatencyHistogram::kHighestNs) << "no bucket has longer durations";
}

// Fails when a power of two is counted in a neighboring bucket.
TEST(LatencyHistogram, PowersOfTwoAreWithinThreeDigits) {
  const auto histogram = make_histogram();
  for (int bit = 0; bit < 34; ++bit) {
    for (const std::int64_t offset : {-1, 0, 1}) {
      const std::int64_t value = (std::int64_t{1} << bit) + offset;
      histogram->reset();
      histogram->record(0);
      histogram->record(value);
      histogram->record(std::numeric_limits<std::int64_t>::max());
      const std::int64_t got = histogram->percentile_ns(50.0);
      EXPECT_GE(got, value);
      EXPECT_LE(static_cast<double>(got - value), 1e-3 * static_cast<double>(value)) << value;
    }
  }
}

// Fails when an empty histogram divides by its count or reports a value other than 0.
TEST(LatencyHistogram, EmptyIsZero) {
  const auto histogram = make_histogram();
  EXPECT_EQ(histogram->count(), 0u);
  EXPECT_EQ(histogram->min_ns(), 0);
  EXPECT_EQ(histogram->max_ns(), 0);
  EXPECT_EQ(histogram->mean_ns(), 0.0);
  for (const double percent : {-5.0, 0.0, 50.0, 100.0, 250.0})
    EXPECT_EQ(histogram->percentile_ns(percent), 0);
}

// Fails when a negative or too long duration writes outside the buckets, or when one that a bucket
// holds counts as overflow.
TEST(LatencyHistogram, ExtremesAreCounted) {
  const auto histogram = make_histogram();
  histogram->record(-1);
  histogram->record(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(histogram->bucket_value(0), 2u);
  EXPECT_EQ(histogram->max_ns(), 0);

  histogram->record(LatencyHistogram::kHighestNs);
  EXPECT_EQ(histogram->overflow(), 0u);
  histogram->record(LatencyHistogram::kHighestNs + 1);
  EXPECT_EQ(histogram->overflow(), 1u);
  histogram->record(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram->overflow(), 2u);
  EXPECT_EQ(histogram->bucket_value(LatencyHistogram::bucket_count() - 1), 1u);
  EXPECT_EQ(histogram->count(), 5u);
  EXPECT_EQ(histogram->min_ns(), 0);
  EXPECT_EQ(histogram->max_ns(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram->percentile_ns(0.0), 0);
}

// Fails when a percentile among durations that are too long for the buckets looks like a measured
// one, or when it takes the place of one that is known.
TEST(LatencyHistogram, PercentilesBeyondTheBucketsOnlySayThatTheyAreLonger) {
  const auto histogram = make_histogram();
  for (int i = 0; i < 60; ++i) histogram->record(5'000'000);
  for (int i = 0; i < 40; ++i) histogram->record(60'000'000'000 + i);
  EXPECT_EQ(histogram->overflow(), 40u);
  EXPECT_NEAR(static_cast<double>(histogram->percentile_ns(60.0)), 5e6, 5e3);
  for (const double percent : {60.1, 90.0, 99.9})
    EXPECT_EQ(histogram->percentile_ns(percent), LatencyHistogram::kHighestNs + 1) << percent;
  EXPECT_EQ(histogram->percentile_ns(100.0), 60'000'000'039);
  histogram->reset();
  histogram->record(60'000'000'000);
  EXPECT_EQ(histogram->percentile_ns(50.0), LatencyHistogram::kHighestNs + 1);
}

// Fails when a percentage outside 0 to 100, or NaN, is not limited to the extremes.
TEST(LatencyHistogram, PercentIsLimited) {
  const auto histogram = make_histogram();
  for (const std::int64_t value : {5000, 6000, 7000}) histogram->record(value);
  EXPECT_EQ(histogram->percentile_ns(-1.0), histogram->percentile_ns(0.0));
  EXPECT_EQ(histogram->percentile_ns(101.0), 7000);
  EXPECT_EQ(histogram->percentile_ns(std::nan("")), histogram->percentile_ns(0.0));
  EXPECT_DOUBLE_EQ(histogram->mean_ns(), 6000.0);
}

// Fails when merging loses a count, an extreme or the overflow. The merged histogram must equal one
// that recorded all values.
// Promises: RT-013.
TEST(LatencyHistogram, MergeEqualsRecordingEverything) {
  const auto left = make_histogram();
  const auto right = make_histogram();
  const auto both = make_histogram();
  std::vector<std::int64_t> values = random_durations(5000, 11);
  values.push_back(0);
  values.push_back(LatencyHistogram::kHighestNs * 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    (i % 3 == 0 ? left : right)->record(values[i]);
    both->record(values[i]);
  }
  left->merge(*right);
  EXPECT_EQ(left->count(), both->count());
  EXPECT_EQ(left->overflow(), both->overflow());
  EXPECT_EQ(left->min_ns(), both->min_ns());
  EXPECT_EQ(left->max_ns(), both->max_ns());
  EXPECT_NEAR(left->mean_ns(), both->mean_ns(), 1e-9 * both->mean_ns());
  for (int bucket = 0; bucket < LatencyHistogram::bucket_count(); ++bucket) {
    ASSERT_EQ(left->bucket_value(bucket), both->bucket_value(bucket)) << bucket;
  }
}

// Fails when merging with an empty histogram uses its minimum of 0.
TEST(LatencyHistogram, MergeWithEmptyKeepsTheExtremes) {
  const auto filled = make_histogram();
  const auto empty = make_histogram();
  filled->record(4000);
  filled->merge(*empty);
  EXPECT_EQ(filled->min_ns(), 4000);
  EXPECT_EQ(filled->count(), 1u);
  empty->merge(*filled);
  EXPECT_EQ(empty->min_ns(), 4000);
  EXPECT_EQ(empty->max_ns(), 4000);
  EXPECT_EQ(empty->count(), 1u);
}

// Fails when reset keeps any value.
TEST(LatencyHistogram, ResetForgetsAllValues) {
  const auto histogram = make_histogram();
  histogram->record(123456);
  histogram->record(LatencyHistogram::kHighestNs + 5);
  histogram->reset();
  EXPECT_EQ(histogram->count(), 0u);
  EXPECT_EQ(histogram->overflow(), 0u);
  EXPECT_EQ(histogram->percentile_ns(100.0), 0);
  EXPECT_EQ(histogram->mean_ns(), 0.0);
  for (int bucket = 0; bucket < LatencyHistogram::bucket_count(); ++bucket) {
    ASSERT_EQ(histogram->bucket_value(bucket), 0u);
  }
  histogram->record(2000);
  EXPECT_EQ(histogram->min_ns(), 2000) << "the minimum must be reset";
}

// Fails when the histogram grows, or allocates its buckets elsewhere.
TEST(LatencyHistogram, HasAFixedSize) {
  EXPECT_LE(sizeof(LatencyHistogram), 104u * 1024u);
  EXPECT_GE(sizeof(LatencyHistogram),
            static_cast<std::size_t>(LatencyHistogram::bucket_count()) * sizeof(std::uint32_t));
}

}  // namespace
}  // namespace ocellus
