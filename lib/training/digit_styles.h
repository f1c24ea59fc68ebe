// Digits in the styles of other hands: strokes that are drawn into images of digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neocognitron/normalization.h"

namespace ocellus::detail {

/// Random numbers that depend on their keys alone, not on the order of images or threads.
class CountedRandom {
 public:
  CountedRandom(std::uint64_t seed, std::uint64_t image) noexcept
      : key_(mix(seed ^ mix(image + kStep))) {}

  /// From `low` to `high`.
  double uniform(double low, double high) noexcept {
    const double unit = static_cast<double>(mix(key_ + kStep * ++count_) >> 11) * 0x1p-53;
    return low + (high - low) * unit;
  }
  bool chance(double probability) noexcept { return uniform(0.0, 1.0) < probability; }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  /// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

/// Draws strokes of another style into a copy of a digit.
class DigitStyles {
 public:
  /// Draws a 1 with an upstroke, a foot or both into `out`, which has the size of the image. False
  /// if the image is not one plain stroke.
  bool draw_one(const InkImage& image, CountedRandom& random, std::vector<std::uint8_t>& out);
  /// Draws a 7 with a bar through its stem, a serif at the begin of its upper stroke, or both.
  /// False if the image has no upper stroke with a single stem below, or has a bar.
  bool draw_seven(const InkImage& image, CountedRandom& random, std::vector<std::uint8_t>& out);

 private:
  struct Point {
    double x = 0.0;
    double y = 0.0;
  };
  /// The ink of a row.
  struct Row {
    int runs = 0;  // of pixels with at least half of full ink
    int first = 0;
    int end = 0;
    double center = 0.0;
  };
  bool measure(const InkImage& image);
  void stroke(Point from, Point bend, Point to, double width, std::vector<std::uint8_t>& out) const;
  Point inside(Point from, Point to) const;

  int width_ = 0;
  int height_ = 0;
  int top_ = 0;
  int bottom_ = 0;  // one past the last row
  double stroke_width_ = 0.0;
  std::vector<Row> rows_;
};

}  // namespace ocellus::detail
