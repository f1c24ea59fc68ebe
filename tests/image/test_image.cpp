// The row operations of the image module against double precision, on every instruction set of this
// processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "image/median.h"
#include "image/pyramid.h"
#include "image/separable_filter.h"
#include "image/separable_sweep.h"
#include "image/warp.h"
#include "reference/convolution.h"
#include "reference/image.h"
#include "support/scene.h"
#include "support/simd.h"

namespace ocellus::detail {
namespace {

using test::PlaneD;

constexpr int kMargin = 32;

/// A plane of floats with a margin on all sides and kRowSlack floats behind each row. The margin
/// holds conspicuous values, which show if they are read, until `replicate` fills it with the
/// nearest pixels.
class Padded {
 public:
  Padded(int width, int height)
      : width_(width), height_(height), stride_(row_stride(width + 2 * kMargin)) {
    data_.assign(stride_ * static_cast<std::size_t>(height + 2 * kMargin) + kRowSlack, 1e30f);
  }
  explicit Padded(const PlaneD& plane) : Padded(plane.width, plane.height) {
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) row(y)[x] = static_cast<float>(plane.at(x, y));
    }
  }
  float* row(int y) {
    return data_.data() + static_cast<std::size_t>(y + kMargin) * stride_ + kMargin;
  }
  std::size_t stride() const { return stride_; }
  /// Repeats the edges: `before` pixels on the left and above, `after` pixels on the right and
  /// below.
  void replicate(int before, int after) {
    for (int y = 0; y < height_; ++y) replicate_edges(row(y), width_, before, after);
    for (int y = 1; y <= before; ++y)
      std::copy_n(row(0) - before, before + width_ + after, row(-y) - before);
    for (int y = 1; y <= after; ++y)
      std::copy_n(row(height_ - 1) - before, before + width_ + after,
                  row(height_ - 1 + y) - before);
  }

 private:
  int width_;
  int height_;
  std::size_t stride_;
  std::vector<float> data_;
};

// Values that are exact in float, so that rounding of the input adds no error.
PlaneD random_plane(int width, int height, unsigned seed) {
  PlaneD plane = test::noise({width, height}, seed);
  for (double& value : plane.data) value = static_cast<double>(static_cast<float>(value - 100.0));
  return plane;
}

std::vector<double> random_taps(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  std::vector<double> taps(static_cast<std::size_t>(n));
  for (double& tap : taps) tap = static_cast<double>(static_cast<float>(unit(random)));
  return taps;
}

std::vector<float> as_floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

constexpr std::pair<int, int> kSizes[] = {{1, 1},   {1, 7},  {7, 1},   {2, 3},   {5, 5},  {16, 9},
                                          {17, 13}, {31, 4}, {33, 33}, {67, 21}, {130, 3}};

class Image : public testing::TestWithParam<test::SimdTarget> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam().bit); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};
INSTANTIATE_TEST_SUITE_P(Targets, Image, testing::ValuesIn(test::simd_targets()),
                         [](const auto& one) { return one.param.name; });

// Fails when edges are not repeated, or when other parts of the row are written.
TEST(ImageEdges, AreRepeated) {
  for (const int width : {1, 2, 15, 16, 17}) {
    for (const auto& [left, right] : {std::pair{0, 0}, {1, 2}, {12, 12}, {0, 5}, {16, 1}}) {
      std::vector<float> row(static_cast<std::size_t>(width) + 40, -7.0f);
      float* begin = row.data() + 20;
      for (int x = 0; x < width; ++x) begin[x] = static_cast<float>(x + 1);
      replicate_edges(begin, width, left, right);
      for (int x = -20; x < width + 20; ++x) {
        const bool untouched = x < -left || x >= width + right;
        const float expected =
            untouched ? -7.0f : static_cast<float>(std::clamp(x, 0, width - 1) + 1);
        ASSERT_EQ(begin[x], expected) << "x " << x << " width " << width;
      }
    }
  }
}

// Fails when a tap is left out or shifted, or when the last pixels of a row, which fill no whole
// vector, differ from the others.
TEST_P(Image, SeparableFilterEqualsTheFullSum) {
  for (const auto& [width, height] : kSizes) {
    for (const auto& [nx, ny] : {std::pair{1, 1}, {2, 3}, {5, 4}, {15, 15}, {25, 25}, {24, 1}}) {
      const PlaneD image = random_plane(width, height, 1);
      const auto tx = random_taps(nx, 2);
      const auto ty = random_taps(ny, 3);
      const int left = (nx - 1) / 2;
      const int above = ny / 2;
      const PlaneD expected = reference::filter(image, tx, left, ty, above);
      Padded in(image);
      in.replicate(25, 25);
      Padded horizontal(width, height);
      for (int y = 0; y < height; ++y)
        filter_row(in.row(y), as_floats(tx).data(), nx, left, horizontal.row(y), width);
      Padded out(width, height);
      for (int y = 0; y < height; ++y) {
        std::vector<const float*> rows;
        for (int k = 0; k < ny; ++k)
          rows.push_back(horizontal.row(std::clamp(y + k - above, 0, height - 1)));
        filter_column(rows.data(), as_floats(ty).data(), ny, out.row(y), width, false);
        const double scale = 150.0 * nx * ny;
        for (int x = 0; x < width; ++x)
          ASSERT_NEAR(out.row(y)[x], expected.at(x, y), 1e-6 * scale)
              << width << "x" << height << " taps " << nx << "x" << ny;
        // Accumulating adds the same sum again.
        filter_column(rows.data(), as_floats(ty).data(), ny, out.row(y), width, true);
        for (int x = 0; x < width; ++x)
          ASSERT_NEAR(out.row(y)[x], 2.0 * expected.at(x, y), 2e-6 * scale);
      }
    }
  }
}

// Fails when the symmetric form differs from the same filter with all taps.
TEST_P(Image, SymmetricFilterEqualsTheFullSum) {
  for (const auto& [width, height] : kSizes) {
    for (const int radius : {0, 1, 2, 7, 15}) {
      const PlaneD image = random_plane(width, height, 4);
      const auto weights = random_taps(radius + 1, 5);
      std::vector<double> taps(static_cast<std::size_t>(2 * radius + 1));
      for (int k = -radius; k <= radius; ++k)
        taps[static_cast<std::size_t>(k + radius)] = weights[static_cast<std::size_t>(std::abs(k))];
      const PlaneD expected = reference::filter(image, taps, radius, {1.0}, 0);
      Padded in(image);
      in.replicate(16, 16);
      Padded out(width, height);
      for (int y = 0; y < height; ++y) {
        filter_row_symmetric(in.row(y), as_floats(weights).data(), radius, out.row(y), width);
        for (int x = 0; x < width; ++x)
          ASSERT_NEAR(out.row(y)[x], expected.at(x, y), 1e-3) << "radius " << radius;
      }
    }
  }
}

// Fails when a sweep over bands gives different values than a sweep over the whole image, or
// computes a row twice or out of order.
TEST_P(Image, SweepsOverBandsAgree) {
  for (const auto& [width, height] : kSizes) {
    for (const int radius : {0, 1, 3, 15}) {
      const PlaneD first = random_plane(width, height, 6);
      const PlaneD second = random_plane(width, height, 7);
      SymmetricTaps taps;
      std::vector<float> by_distance = as_floats(random_taps(radius + 1, 8));
      taps.set(radius, by_distance.data());
      std::vector<double> all(taps.taps, taps.taps + 2 * radius + 1);
      const PlaneD expected[2] = {reference::filter(first, all, radius, all, radius),
                                  reference::filter(second, all, radius, all, radius)};
      SweepScratch scratch;
      LayoutBuilder count;
      scratch.layout(count, width, radius, 2);
      std::vector<float> memory(count.bytes() / sizeof(float) + 16, 1e30f);
      LayoutBuilder carve(memory.data());
      scratch.layout(carve, width, radius, 2);
      for (const int bands : {1, 2, 5}) {
        int emitted = 0;
        for (int b = 0; b < bands; ++b) {
          const int begin = height * b / bands;
          const int end = height * (b + 1) / bands;
          if (begin == end) continue;
          int last_row = -1;
          sweep_separable(
              width, height, begin, end, 2, taps, scratch,
              [&](int y, float* const* rows) {
                EXPECT_GT(y, last_row);
                last_row = y;
                for (int p = 0; p < 2; ++p) {
                  for (int x = 0; x < width; ++x)
                    rows[p][x] = static_cast<float>((p == 0 ? first : second).at(x, y));
                }
              },
              [&](int y, float* const* rows) {
                EXPECT_EQ(y, emitted++);
                for (int p = 0; p < 2; ++p) {
                  for (int x = 0; x < width; ++x)
                    EXPECT_NEAR(rows[p][x], expected[p].at(x, y),
                                1e-6 * 150.0 * all.size() * all.size());
                }
              });
          if (HasFailure()) return;
        }
        EXPECT_EQ(emitted, height);
      }
    }
  }
}

// Fails when a level of the pyramid is smoothed or sampled wrongly, also for odd sizes and at the
// edges.
TEST_P(Image, ReduceEqualsTheReference) {
  for (const auto& [width, height] : kSizes) {
    const PlaneD image = random_plane(width, height, 9);
    const PlaneD expected = reference::reduce(image);
    Padded in(image);
    Padded work(width, 1);
    Padded out(expected.width, expected.height);
    for (int y = 0; y < expected.height; ++y) {
      const float* rows[5];
      for (int k = 0; k < 5; ++k) rows[k] = in.row(std::clamp(2 * y + k - 2, 0, height - 1));
      reduce_row(rows, width, work.row(0), out.row(y));
      for (int x = 0; x < expected.width; ++x)
        ASSERT_NEAR(out.row(y)[x], expected.at(x, y), 1e-4)
            << width << "x" << height << " at " << x << ", " << y;
    }
  }
}

// Fails when flow is not doubled, or when a fine pixel uses the wrong coarse pixels.
TEST_P(Image, ExpandEqualsTheReference) {
  for (const auto& [width, height] : kSizes) {
    const PlaneD coarse = random_plane((width + 1) / 2, (height + 1) / 2, 10);
    const PlaneD expected = reference::expand_flow(coarse, width, height);
    Padded in(coarse);
    in.replicate(0, 2);
    Padded out(width, height);
    for (int y = 0; y < height; ++y) {
      const int last = coarse.height - 1;
      expand_flow_row(in.row(std::min(y / 2, last)), in.row(std::min((y + 1) / 2, last)),
                      out.row(y), width);
      for (int x = 0; x < width; ++x)
        ASSERT_NEAR(out.row(y)[x], expected.at(x, y), 1e-4)
            << width << "x" << height << " at " << x << ", " << y;
    }
  }
}

// Fails when the interpolation is not bilinear or Catmull-Rom, a position outside is not moved
// inside, or a whole position does not give the pixel itself.
TEST_P(Image, WarpEqualsTheReference) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> motion(-9.0, 9.0);
  for (const auto& [width, height] : kSizes) {
    const PlaneD image = random_plane(width, height, 12);
    Padded in(image);
    in.replicate(kWarpBefore, kWarpAfter);
    const WarpSource source = {in.row(0), in.stride(), width, height};
    for (const bool cubic : {false, true}) {
      Padded u(width, 1);
      Padded v(width, 1);
      Padded out(width, 1);
      for (int y = 0; y < height; ++y) {
        // The operation reads kRowSlack floats beyond the width. They are zero here; operators
        // have finite values there.
        std::fill_n(u.row(0), width + kRowSlack, 0.0f);
        std::fill_n(v.row(0), width + kRowSlack, 0.0f);
        for (int x = 0; x < width; ++x) {
          const double whole = std::round(motion(random));
          u.row(0)[x] = static_cast<float>(x % 5 == 0 ? whole : motion(random));
          v.row(0)[x] = static_cast<float>(x % 5 == 0 ? whole : motion(random));
        }
        warp_row(source, 0, y, u.row(0), v.row(0), cubic, out.row(0), width);
        for (int x = 0; x < width; ++x) {
          const double px = static_cast<double>(static_cast<float>(x) + u.row(0)[x]);
          const double py = static_cast<double>(static_cast<float>(y) + v.row(0)[x]);
          const double expected =
              cubic ? reference::bicubic(image, px, py) : reference::bilinear(image, px, py);
          // The tolerance is the error of a position in float, times the largest difference of
          // neighbors.
          ASSERT_NEAR(out.row(0)[x], expected, 6e-3)
              << (cubic ? "cubic" : "bilinear") << " at " << px << ", " << py << " of " << width
              << "x" << height;
        }
      }
    }
  }
}

// Fails when a warp of a part of a row (a region of interest) differs from the warp of the whole
// row.
TEST_P(Image, WarpOfAPartOfARowEqualsTheWholeRow) {
  const PlaneD image = random_plane(50, 20, 13);
  Padded in(image);
  in.replicate(kWarpBefore, kWarpAfter);
  const WarpSource source = {in.row(0), in.stride(), 50, 20};
  Padded u(50, 1);
  Padded v(50, 1);
  for (int x = 0; x < 50 + kRowSlack; ++x) {
    u.row(0)[x] = 0.3f * static_cast<float>(x % 7) - 1.0f;
    v.row(0)[x] = 0.2f * static_cast<float>(x % 11) - 1.0f;
  }
  for (const bool cubic : {false, true}) {
    Padded whole(50, 1);
    warp_row(source, 0, 8, u.row(0), v.row(0), cubic, whole.row(0), 50);
    for (const int first : {1, 13, 37}) {
      Padded part(50, 1);
      warp_row(source, first, 8, u.row(0) + first, v.row(0) + first, cubic, part.row(0),
               50 - first);
      for (int x = first; x < 50; ++x) ASSERT_EQ(part.row(0)[x - first], whole.row(0)[x]);
    }
  }
}

// Fails when NaN or a position far outside leads to a read outside the image.
TEST_P(Image, WarpSurvivesAnyPosition) {
  const PlaneD image = random_plane(20, 10, 14);
  Padded in(image);
  in.replicate(kWarpBefore, kWarpAfter);
  const WarpSource source = {in.row(0), in.stride(), 20, 10};
  const float wild[] = {std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity(),
                        1e30f,
                        -1e30f,
                        3e9f,
                        -3e9f,
                        1e-40f};
  const auto [low, high] = std::minmax_element(image.data.begin(), image.data.end());
  const double room = 0.3 * (*high - *low);  // a cubic interpolation may overshoot
  for (const bool cubic : {false, true}) {
    for (const float a : wild) {
      for (const float b : wild) {
        Padded u(20, 1);
        Padded v(20, 1);
        Padded out(20, 1);
        std::fill_n(u.row(0), 20 + kRowSlack, a);
        std::fill_n(v.row(0), 20 + kRowSlack, b);
        warp_row(source, 0, 5, u.row(0), v.row(0), cubic, out.row(0), 20);
        for (int x = 0; x < 20; ++x) {
          ASSERT_GE(out.row(0)[x], *low - room) << a << " " << b;
          ASSERT_LE(out.row(0)[x], *high + room) << a << " " << b;
        }
      }
    }
  }
}

// Fails when a median is not exactly the middle value, also with equal values and at the edges.
TEST_P(Image, MedianIsExact) {
  for (const auto& [width, height] : kSizes) {
    for (const bool ties : {false, true}) {
      PlaneD image = random_plane(width, height, 15);
      if (ties) {
        for (double& value : image.data) value = std::floor(value / 60.0);
      }
      Padded in(image);
      in.replicate(1, 1);
      Padded out(width, height);
      for (int y = 0; y < height; ++y) {
        const float* rows[3];
        for (int k = 0; k < 3; ++k) rows[k] = in.row(std::clamp(y + k - 1, 0, height - 1));
        median_row(rows, out.row(y), width);
        for (int x = 0; x < width; ++x) {
          ASSERT_EQ(out.row(y)[x], static_cast<float>(reference::median(image, 3, x, y)))
              << "at " << x << ", " << y;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ocellus::detail
