// The deviation in the cells of moving objects on the CPU: it is that of the plane, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "optical_flow/cpu/deviation_sweep.h"
#include "support/run.h"
#include "support/simd.h"

namespace ocellus {
namespace {

constexpr float kUntouched = -1.0f;

/// A plane of noise that is readable beyond the ends of its rows.
struct NoisePlane {
  static constexpr int kBeyond = 2 * detail::kRowSlack;

  NoisePlane(ImageSize size, unsigned seed, float low, float high)
      : stride(static_cast<std::size_t>(size.width + 2 * kBeyond)),
        values(stride * static_cast<std::size_t>(size.height)) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(low, high);
    for (float& at : values) at = value(random);
  }
  float* row(int y) { return values.data() + static_cast<std::size_t>(y) * stride + kBeyond; }

  std::size_t stride;
  std::vector<float> values;
};

/// Memory of an object with a function `layout`.
template <typename Layout>
std::unique_ptr<void, void (*)(void*)> laid_out(const Layout& layout) {
  detail::LayoutBuilder counted;
  layout(counted);
  std::unique_ptr<void, void (*)(void*)> memory(
      std::aligned_alloc(kMemoryAlignment, counted.bytes()), std::free);
  detail::LayoutBuilder placed(memory.get());
  layout(placed);
  return memory;
}

/// Compares the cells of a region of interest, in bands, with the plane of the whole region.
void expect_cells_of_the_plane(ImageSize size, const Rect& roi) {
  constexpr detail::DeviationModel kModel = {1.0f, 0.22f, 0.0014f, 37.0f, 0.9f, 0.3f, 0.05f, 0.4f};
  NoisePlane gradient_x(size, 1, -2.0f, 2.0f);
  NoisePlane gradient_y(size, 2, -2.0f, 2.0f);
  NoisePlane difference(size, 3, -1.0f, 1.0f);
  NoisePlane texture(size, 4, 0.0f, 3.0f);
  // Most of the field is still, a part moves, and some of that is invalid.
  NoisePlane u(size, 5, -0.5f, 0.5f);
  NoisePlane v(size, 6, -0.5f, 0.5f);
  std::mt19937 random(7);
  for (int y = size.height / 5; y < size.height / 2; ++y) {
    for (int x = size.width / 3; x < 2 * size.width / 3; ++x) {
      u.row(y)[x] += 2.0f;
      if (random() % 9 == 0) u.row(y)[x] = v.row(y)[x] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  u.row(size.height - 1)[size.width - 1] = 3.0f;

  detail::SweepScratch sweep;
  detail::DeviationScratch scratch;
  const auto memory = laid_out([&](detail::LayoutBuilder& builder) {
    sweep.layout(builder, size.width, detail::kDeviationRadius, detail::kDeviationSums);
    scratch.layout(builder, size.width);
  });
  const detail::DeviationSource source{
      [&](int y, const detail::DeviationColumns& columns, float* ix, float* iy, float* residual) {
        scratch.sample(gradient_x.row(y) + columns.x, ix, columns.width);
        scratch.sample(gradient_y.row(y) + columns.x, iy, columns.width);
        scratch.sample(difference.row(y) + columns.x, residual, columns.width);
      },
      [&](int y, int component) { return (component == 0 ? u : v).row(y); },
      [&](int y, const detail::DeviationColumns& columns) { return texture.row(y) + columns.x; }};
  test::PlaneF plane(size.width, size.height);
  detail::sweep_deviation(
      kModel, size, {0, 0, size.width, size.height}, sweep, scratch, source,
      [&](int y, const float* deviation) { std::copy_n(deviation, size.width, &plane.at(0, y)); });

  OpticalFlowConfig config;
  config.size = size;
  config.roi = roi;
  config.objects = 1;
  config.min_motion_side = 0;
  detail::MovingObjects objects(test::must(detail::make_plan(config)));
  const auto cells = laid_out([&](detail::LayoutBuilder& builder) { objects.layout(builder); });
  const detail::CellGrid& grid = objects.grid();
  std::fill_n(objects.samples().deviation, grid.cells(), kUntouched);
  for (int y = 0; y < roi.height; ++y)
    objects.take_motion(y, u.row(roi.y + y) + roi.x, v.row(roi.y + y) + roi.x);
  const int cut = roi.height / 2 | 1;
  detail::sweep_moving_cells(kModel, size, roi, 0, cut, sweep, scratch, source, objects);
  detail::sweep_moving_cells(kModel, size, roi, cut, roi.height, sweep, scratch, source, objects);
  std::size_t moving = 0;
  std::size_t untouched = 0;
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      const int x = roi.x + grid.sample_x(column);
      const int y = roi.y + grid.sample_y(row);
      const float got = objects.samples().deviation[row * grid.columns + column];
      const bool moves = u.row(y)[x] * u.row(y)[x] + v.row(y)[x] * v.row(y)[x] >= 1.0f;
      moving += moves ? 1 : 0;
      untouched += got == kUntouched ? 1 : 0;
      if (!moves && got == kUntouched) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(plane.at(x, y)))
          << got << " and " << plane.at(x, y) << " at (" << x << ", " << y << ")";
    }
  }
  if (roi.width > 60) {
    EXPECT_GT(moving, grid.cells() / 50);
  }
  if (roi.width > 200) {
    EXPECT_GT(untouched, grid.cells() / 3);
  }
}

// Fails when a cell is computed from other pixels than the plane or in another order, at the edge
// of a block, a band or the region, too, or when all cells are computed.
TEST(DeviationOfCells, IsThatOfThePlane) {
  for (const test::SimdTarget& target : test::simd_targets()) {
    SCOPED_TRACE(target.name);
    const test::OnlyTargets only(target.bit);
    for (const ImageSize size :
         {ImageSize{67, 45}, {131, 97}, {640, 200}, {701, 1201}, {40, 9}, {1, 1}}) {
      for (const int margin : {0, 5}) {
        const Rect roi = {margin, margin, size.width - margin, size.height - margin};
        if (roi.width < 1 || roi.height < 1) continue;
        SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height) + ", margin " +
                     std::to_string(margin));
        expect_cells_of_the_plane(size, roi);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace ocellus
