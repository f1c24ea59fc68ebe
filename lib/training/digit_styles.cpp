// Digits in the styles of other hands: strokes that are drawn into images of digits.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

#include "core/failure.h"
#include "ocellus/neocognitron_training.h"
#include "training/network_run.h"

namespace ocellus {
namespace detail {
namespace {

constexpr int kHalf = 128;       // ink of a pixel that belongs to a stroke
constexpr int kLeastHeight = 8;  // of a digit, in pixels: lower ones show no style

double radians(double degrees) {
  return degrees * std::numbers::pi / 180.0;
}

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
  /// From `left` before to `right` behind its middle.
  void bar(Point middle, double tilt, double left, double right, double width,
           std::vector<std::uint8_t>& out) const;
  Point inside(Point from, Point to) const;

  int width_ = 0;
  int height_ = 0;
  int top_ = 0;
  int bottom_ = 0;  // one past the last row
  double stroke_width_ = 0.0;
  std::vector<Row> rows_;
};

bool DigitStyles::measure(const InkImage& image) {
  width_ = image.width;
  height_ = image.height;
  rows_.assign(static_cast<std::size_t>(height_), {});
  top_ = height_;
  bottom_ = 0;
  int pixels = 0;
  int horizontal = 0;
  int vertical = 0;
  for (int y = 0; y < height_; ++y) {
    Row& row = rows_[static_cast<std::size_t>(y)];
    double sum = 0.0;
    for (int x = 0; x < width_; ++x) {
      if (image.at(x, y) < kHalf) continue;
      const bool begins = x == 0 || image.at(x - 1, y) < kHalf;
      if (begins && row.runs++ == 0) row.first = x;
      row.end = x + 1;
      sum += x;
      ++pixels;
      horizontal += begins ? 1 : 0;
      vertical += y == 0 || image.at(x, y - 1) < kHalf ? 1 : 0;
      row.center += 1.0;
    }
    if (row.runs == 0) continue;
    row.center = sum / row.center;
    top_ = std::min(top_, y);
    bottom_ = y + 1;
  }
  if (bottom_ - top_ < kLeastHeight) return false;
  // The mean length of runs along the axis that crosses the strokes.
  stroke_width_ = static_cast<double>(pixels) / std::max(horizontal, vertical);
  return true;
}

DigitStyles::Point DigitStyles::inside(Point from, Point to) const {
  // Shortened where it would leave the image.
  const double margin = 0.5 * stroke_width_;
  double share = 1.0;
  const auto limit = [&share](double at, double by, double low, double high) {
    if (at + by < low && by < 0.0) share = std::min(share, std::max(0.0, (low - at) / by));
    if (at + by > high && by > 0.0) share = std::min(share, std::max(0.0, (high - at) / by));
  };
  limit(from.x, to.x - from.x, margin, width_ - 1 - margin);
  limit(from.y, to.y - from.y, margin, height_ - 1 - margin);
  return {from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)};
}

void DigitStyles::stroke(Point from, Point bend, Point to, double width,
                         std::vector<std::uint8_t>& out) const {
  // A quadratic Bezier curve as a chain of lines.
  constexpr int kLines = 6;
  std::array<Point, kLines + 1> chain;
  for (int i = 0; i <= kLines; ++i) {
    const double t = static_cast<double>(i) / kLines;
    const double a = (1.0 - t) * (1.0 - t);
    const double b = 2.0 * t * (1.0 - t);
    chain[static_cast<std::size_t>(i)] = {a * from.x + b * bend.x + t * t * to.x,
                                          a * from.y + b * bend.y + t * t * to.y};
  }
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      double least = 1e9;
      for (std::size_t i = 0; i < kLines; ++i) {
        const double dx = chain[i + 1].x - chain[i].x;
        const double dy = chain[i + 1].y - chain[i].y;
        const double square = dx * dx + dy * dy;
        const double along =
            square > 0.0 ? ((x - chain[i].x) * dx + (y - chain[i].y) * dy) / square : 0.0;
        const double t = std::clamp(along, 0.0, 1.0);
        least = std::min(least, std::hypot(x - chain[i].x - t * dx, y - chain[i].y - t * dy));
      }
      const double ink = 255.0 * std::clamp(0.5 * width + 0.5 - least, 0.0, 1.0);
      std::uint8_t& pixel = out[static_cast<std::size_t>(y * width_ + x)];
      pixel = std::max(pixel, static_cast<std::uint8_t>(std::lround(ink)));
    }
  }
}

void DigitStyles::bar(Point middle, double tilt, double left, double right, double width,
                      std::vector<std::uint8_t>& out) const {
  const double x = std::cos(tilt);
  const double y = std::sin(tilt);
  const Point a = inside(middle, {middle.x - left * x, middle.y + left * y});
  const Point b = inside(middle, {middle.x + right * x, middle.y - right * y});
  stroke(a, middle, b, width, out);
}

bool DigitStyles::draw_one(const InkImage& image, CountedRandom& random,
                           std::vector<std::uint8_t>& out) {
  constexpr double kStraight = 0.75;  // most distance of a row's ink from the stem, in strokes
  if (!measure(image)) return false;
  const int ends = std::max(1, static_cast<int>(std::lround(0.5 * stroke_width_)));
  const auto end_at = [&](int first, int last) {
    Point end;
    for (int y = first; y <= last; ++y) {
      end.x += rows_[static_cast<std::size_t>(y)].center;
      end.y += y;
    }
    const int count = last - first + 1;
    return Point{end.x / count, end.y / count};
  };
  const Point head = end_at(top_, top_ + ends - 1);
  const Point foot = end_at(bottom_ - ends, bottom_ - 1);
  const double height = foot.y - head.y;
  const double lean = (foot.x - head.x) / height;
  for (int y = top_; y < bottom_; ++y) {
    const Row& row = rows_[static_cast<std::size_t>(y)];
    if (row.runs != 1) return false;
    const double stem = head.x + lean * (y - head.y);
    if (std::abs(row.center - stem) > kStraight * stroke_width_ + 1.0) return false;
    // A run through a leaning stroke is longer than the stroke is wide.
    if (row.end - row.first > 2.0 * stroke_width_ * std::hypot(1.0, lean) + 1.0) return false;
  }
  const double length = std::hypot(height, foot.x - head.x);
  const double down = std::atan2(foot.y - head.y, foot.x - head.x);
  bool drawn = false;
  if (random.chance(0.85)) {
    // A long upstroke that is not steep would make it a 7.
    const double reach = length * random.uniform(0.15, 0.9);
    const double flattest = 78.0 - 45.0 * reach / length;
    const double most = std::min(down + radians(flattest), radians(155.0));
    const double angle = random.uniform(std::min(down + radians(20.0), most), most);
    const double width = stroke_width_ * random.uniform(0.6, 1.05);
    const Point to =
        inside(head, {head.x + reach * std::cos(angle), head.y + reach * std::sin(angle)});
    const double bulge = random.uniform(-0.12, 0.12);
    const Point bend{0.5 * (head.x + to.x) - bulge * (to.y - head.y),
                     0.5 * (head.y + to.y) + bulge * (to.x - head.x)};
    stroke(head, bend, to, width, out);
    drawn = true;
  }
  if (!drawn || random.chance(0.3)) {
    const double tilt = radians(random.uniform(-12.0, 12.0));
    const double left = length * random.uniform(0.12, 0.4);
    const double right = length * random.uniform(0.12, 0.4);
    const double width = stroke_width_ * random.uniform(0.7, 1.05);
    bar(foot, tilt, left, right, width, out);
  }
  return true;
}

bool DigitStyles::draw_seven(const InkImage& image, CountedRandom& random,
                             std::vector<std::uint8_t>& out) {
  if (!measure(image)) return false;
  const double height = bottom_ - top_;
  const double level = top_ + height * random.uniform(0.42, 0.7);
  const int row = static_cast<int>(level);
  const Row& stem = rows_[static_cast<std::size_t>(row)];
  // The rows from above the bar to the foot have the stem alone. A stroke beside it would become
  // the loop of a 9.
  const int first = std::max(top_, row - static_cast<int>(0.12 * height + stroke_width_));
  for (int y = first; y < bottom_; ++y) {
    const Row& at = rows_[static_cast<std::size_t>(y)];
    if (at.runs != 1 || at.end - at.first > 2.6 * stroke_width_ + 1.0) return false;
  }
  bool drawn = false;
  const double width = stroke_width_ * random.uniform(0.65, 1.05);
  if (random.chance(0.85)) {
    const Point middle{stem.center, level};
    const double tilt = radians(random.uniform(-12.0, 28.0));
    const double left = height * random.uniform(0.15, 0.4);
    const double right = height * random.uniform(0.12, 0.4);
    bar(middle, tilt, left, right, width, out);
    drawn = true;
  }
  if (!drawn || random.chance(0.2)) {
    // The begin of the upper stroke: the leftmost ink of the upper third.
    Point begin{static_cast<double>(width_), 0.0};
    for (int y = top_; y < top_ + static_cast<int>(height / 3.0); ++y) {
      const Row& at = rows_[static_cast<std::size_t>(y)];
      if (at.runs > 0 && at.first < begin.x)
        begin = {static_cast<double>(at.first), static_cast<double>(y)};
    }
    begin.x += 0.5 * stroke_width_ - 0.5;
    const double angle = radians(random.uniform(70.0, 125.0));
    const double reach = height * random.uniform(0.1, drawn ? 0.17 : 0.28);
    const Point to =
        inside(begin, {begin.x + reach * std::cos(angle), begin.y + reach * std::sin(angle)});
    stroke(begin, {0.5 * (begin.x + to.x), 0.5 * (begin.y + to.y)}, to, width, out);
  }
  return true;
}

}  // namespace
}  // namespace detail

Expected<std::size_t> add_digit_styles(LabeledImages& images, double share,
                                       std::uint64_t seed) noexcept {
  using namespace detail;
  OCELLUS_TRY(check_images(images));
  if (!(share >= 0.0 && share <= 4.0))
    return invalid_argument("training: the share of styles is %g; it must be 0 to 4", share);
  const auto class_of = [&images](std::string_view name) {
    if (images.names.empty()) return name.front() - '0';
    const auto found = std::find(images.names.begin(), images.names.end(), name);
    return found == images.names.end() ? -1 : static_cast<int>(found - images.names.begin());
  };
  const int one = class_of("1");
  const int seven = class_of("7");
  const std::size_t count = images.count();
  DigitStyles styles;
  std::vector<std::uint8_t> drawn;
  for (std::size_t i = 0; i < count; ++i) {
    const int label = images.labels[i];
    if (label != one && label != seven) continue;
    CountedRandom random(seed, i);
    for (double rest = share; random.chance(rest); rest -= 1.0) {
      const InkImage image = image_at(images, i);
      drawn.assign(image.ink, image.ink + images.pixels());
      const bool fits = label == one ? styles.draw_one(image, random, drawn)
                                     : styles.draw_seven(image, random, drawn);
      if (!fits) continue;
      images.ink.insert(images.ink.end(), drawn.begin(), drawn.end());
      images.labels.push_back(static_cast<std::uint16_t>(label));
    }
  }
  return images.count() - count;
}

}  // namespace ocellus
