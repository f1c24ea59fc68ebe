// The search for moving objects against one by definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/flow_view.h"
#include "support/object_search.h"
#include "support/simd.h"

namespace ocellus {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Field {
  ImageSize size;
  std::vector<float> u, v, deviation;

  explicit Field(ImageSize field_size)
      : size(field_size),
        u(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height)),
        v(u.size()) {}

  std::size_t at(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
           static_cast<std::size_t>(x);
  }
  void fill(const Rect& box, float fill_u, float fill_v) {
    for (int y = box.y; y < box.y + box.height; ++y) {
      for (int x = box.x; x < box.x + box.width; ++x) {
        u[at(x, y)] = fill_u;
        v[at(x, y)] = fill_v;
      }
    }
  }
  FlowOutput view() { return test::flow_view(size, u, v, deviation); }
};

OpticalFlowConfig config_of(ImageSize size, int min_area = 1) {
  OpticalFlowConfig config;
  config.size = size;
  config.objects = kMaxMovingObjects;
  config.min_motion_side = 0;
  config.min_area = min_area;
  return config;
}

Rect box_of(const MovingObjectsRecord& record, std::size_t i) {
  return {record.x[i], record.y[i], record.width[i], record.height[i]};
}

using Key = std::tuple<int, int, int, int, std::int64_t>;

/// The connected components, by flooding from every cell, in double precision.
std::multiset<Key> reference(const Field& field, const OpticalFlowConfig& config, int side) {
  const int columns = (field.size.width + side - 1) / side;
  const int rows = (field.size.height + side - 1) / side;
  struct Cell {
    bool moves = false;
    double u = 0.0, v = 0.0;
    bool seen = false;
  };
  std::vector<Cell> cells(static_cast<std::size_t>(columns * rows));
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const std::size_t at = field.at(std::min(column * side + side / 2, field.size.width - 1),
                                      std::min(row * side + side / 2, field.size.height - 1));
      Cell& cell = cells[static_cast<std::size_t>(row * columns + column)];
      cell.u = static_cast<double>(field.u[at]);
      cell.v = static_cast<double>(field.v[at]);
      const double length = std::hypot(cell.u, cell.v);
      // The square of a longer vector is not a finite float.
      cell.moves =
          length < 1.8e19 && length > 0.0 && length >= static_cast<double>(config.min_motion);
      if (!field.deviation.empty() && config.min_deviations > 0.0f)
        cell.moves &= length >= static_cast<double>(config.min_deviations) *
                                    static_cast<double>(field.deviation[at]);
    }
  }
  const auto joined = [](const Cell& a, const Cell& b) {
    const double longer = std::max(std::hypot(a.u, a.v), std::hypot(b.u, b.v));
    return std::hypot(a.u - b.u, a.v - b.v) <= 0.5 * std::max(1.0, longer);
  };
  std::multiset<Key> found;
  for (int start = 0; start < columns * rows; ++start) {
    if (!cells[static_cast<std::size_t>(start)].moves ||
        cells[static_cast<std::size_t>(start)].seen)
      continue;
    std::vector<int> open = {start};
    cells[static_cast<std::size_t>(start)].seen = true;
    int left = columns, right = 0, top = rows, bottom = 0;
    // The first and the last cell of each row. Cells between them belong to the body.
    std::vector<std::array<int, 2>> ends(static_cast<std::size_t>(rows), {columns, -1});
    while (!open.empty()) {
      const int here = open.back();
      open.pop_back();
      const int x = here % columns, y = here / columns;
      left = std::min(left, x), right = std::max(right, x);
      top = std::min(top, y), bottom = std::max(bottom, y);
      std::array<int, 2>& row = ends[static_cast<std::size_t>(y)];
      row = {std::min(row[0], x), std::max(row[1], x)};
      for (int ny = std::max(0, y - 2); ny <= std::min(rows - 1, y + 2); ++ny) {
        for (int nx = std::max(0, x - 2); nx <= std::min(columns - 1, x + 2); ++nx) {
          Cell& next = cells[static_cast<std::size_t>(ny * columns + nx)];
          if (!next.moves || next.seen || !joined(cells[static_cast<std::size_t>(here)], next))
            continue;
          next.seen = true;
          open.push_back(ny * columns + nx);
        }
      }
    }
    std::int64_t area = 0;
    for (const std::array<int, 2>& row : ends)
      area += row[1] < 0 ? 0 : std::int64_t{side} * side * (row[1] - row[0] + 1);
    if (area < config.min_area) continue;
    found.insert({left * side, top * side,
                  std::min((right + 1) * side, field.size.width) - left * side,
                  std::min((bottom + 1) * side, field.size.height) - top * side, area});
  }
  return found;
}

/// Fields of all densities, from unlike to similar motion, one after the other.
void expect_connected_components(ImageSize size) {
  std::mt19937 random(11);
  const float wild[] = {kNan, kInfinity, -kInfinity, 3e38f, 0.0f};
  const OpticalFlowConfig config = config_of(size);
  test::ObjectSearch search(config);
  for (const double density : {0.95, 0.02, 0.15, 0.5, 1.0}) {
    for (const float spread : {4.0f, 1.0f, 0.4f}) {
      for (const bool with_deviation : {false, true}) {
        SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height) + ", density " +
                     std::to_string(density) + ", spread " + std::to_string(spread));
        Field field(size);
        if (with_deviation) field.deviation.resize(field.u.size());
        std::uniform_real_distribution<float> motion(-spread, spread);
        std::uniform_real_distribution<float> noise(0.0f, 1.5f);
        std::bernoulli_distribution moves(density);
        const float mean = 2.0f - 0.5f * spread;
        for (std::size_t i = 0; i < field.u.size(); ++i) {
          if (with_deviation) field.deviation[i] = noise(random);
          if (!moves(random)) continue;
          field.u[i] = random() % 50 == 0 ? wild[random() % 5] : mean + motion(random);
          field.v[i] = random() % 50 == 0 ? wild[random() % 5] : motion(random);
        }
        const MovingObjectsRecord objects = search.find(field.view());
        const std::multiset<Key> expected = reference(field, config, search.grid().side);
        EXPECT_EQ(objects.found, static_cast<int>(expected.size()));
        EXPECT_EQ(objects.count, std::min(objects.found, kMaxMovingObjects));
        std::multiset<Key> got;
        for (std::size_t i = 0; i < static_cast<std::size_t>(objects.count); ++i)
          got.emplace(objects.x[i], objects.y[i], objects.width[i], objects.height[i],
                      objects.area[i]);
        if (expected.size() <= static_cast<std::size_t>(kMaxMovingObjects)) {
          EXPECT_EQ(got, expected);
        }
      }
    }
  }
}

// Example failure: a component is cut at a row, joined across the image's edge, or joined although
// its motion differs; or a field changes the result of the next one. Sizes that are no
// multiple of the cell, and smaller than one.
TEST(MovingObjects, AreTheConnectedComponents) {
  for (const test::SimdTarget& target : test::simd_targets()) {
    SCOPED_TRACE(target.name);
    const test::OnlyTargets only(target.bit);
    for (const ImageSize size : {ImageSize{1, 1}, ImageSize{3, 2}, ImageSize{7, 61},
                                 ImageSize{130, 75}, ImageSize{641, 487}})
      expect_connected_components(size);
  }
}

// Example failure: two people who walk past each other become one box.
TEST(MovingObjects, OppositeMotionIsTwoObjects) {
  Field field({160, 120});
  field.fill({20, 20, 40, 60}, 2.0f, 0.0f);
  field.fill({60, 24, 40, 60}, -2.0f, 0.5f);
  const MovingObjectsRecord objects = test::ObjectSearch(config_of(field.size)).find(field.view());
  ASSERT_EQ(objects.count, 2);
  EXPECT_EQ(objects.area[0], 2400);
  EXPECT_EQ(box_of(objects, 0), (Rect{20, 20, 40, 60}));
  EXPECT_FLOAT_EQ(objects.u[0], 2.0f);
  EXPECT_FLOAT_EQ(objects.v[0], 0.0f);
  EXPECT_EQ(box_of(objects, 1), (Rect{60, 24, 40, 60}));
  EXPECT_FLOAT_EQ(objects.u[1], -2.0f);
  EXPECT_FLOAT_EQ(objects.v[1], 0.5f);
}

// Example failure: a body whose inside has no texture, so that nothing is known of its motion
// there, is left out as too small, or is counted as its edge alone.
TEST(MovingObjects, TheInsideOfABodyBelongsToIt) {
  Field field({160, 120});
  field.fill({40, 40, 32, 32}, 2.0f, 0.0f);
  field.deviation.assign(field.u.size(), 0.1f);
  for (int y = 44; y < 68; ++y)
    for (int x = 44; x < 68; ++x) field.deviation[field.at(x, y)] = kInfinity;
  const MovingObjectsRecord objects =
      test::ObjectSearch(config_of(field.size, 32 * 32)).find(field.view());
  ASSERT_EQ(objects.count, 1);
  EXPECT_EQ(box_of(objects, 0), (Rect{40, 40, 32, 32}));
  EXPECT_EQ(objects.area[0], 32 * 32);
}

// Example failure: the smallest objects are kept in place of the largest, or their number is not
// bounded.
TEST(MovingObjects, KeepsTheLargest) {
  Field field({500, 100});
  for (int i = 0; i < 10; ++i) field.fill({i * 50, 8, 4 + 4 * i, 40}, 3.0f, 0.0f);
  OpticalFlowConfig config = config_of(field.size);
  config.objects = 3;
  MovingObjectsRecord objects = test::ObjectSearch(config).find(field.view());
  ASSERT_EQ(objects.count, 3);
  EXPECT_EQ(objects.found, 10);
  EXPECT_EQ(objects.x[0], 448);
  EXPECT_EQ(objects.x[1], 400);
  EXPECT_EQ(objects.x[2], 348);
  config.min_area = 40 * 20;
  objects = test::ObjectSearch(config).find(field.view());
  EXPECT_EQ(objects.count, 3);
  EXPECT_EQ(objects.found, 6);
}

// Example failure: the result of the frame before is returned again.
TEST(MovingObjects, StillFieldHasNone) {
  Field field({64, 64});
  field.fill({8, 8, 24, 24}, 1.0f, 1.0f);
  test::ObjectSearch search(config_of(field.size));
  EXPECT_EQ(search.find(field.view()).count, 1);
  Field still(field.size);
  const MovingObjectsRecord none = search.find(still.view());
  EXPECT_EQ(none.count, 0);
  EXPECT_EQ(none.found, 0);
}

// Example failure: a threshold that is good at 640x480 finds noise at 1920x1080, or the region
// decides in place of the frame. Or `min_motion_side` = 0 does not switch this off.
TEST(MovingObjects, LeastMotionGrowsWithTheFrame) {
  struct Case {
    ImageSize size;
    int side;
    float motion;
    int found;
  };
  for (const Case& c : {Case{{640, 480}, 480, 1.0f, 1}, Case{{640, 480}, 480, 0.99f, 0},
                        Case{{1920, 1080}, 480, 2.26f, 1}, Case{{1920, 1080}, 480, 2.24f, 0},
                        Case{{1920, 1080}, 0, 1.0f, 1}, Case{{1920, 1080}, 0, 0.99f, 0},
                        Case{{1080, 1920}, 240, 4.51f, 1}, Case{{1080, 1920}, 240, 4.49f, 0},
                        Case{{160, 120}, 480, 1.0f, 1}, Case{{160, 120}, 480, 0.99f, 0}}) {
    OpticalFlowConfig config = config_of(c.size);
    config.min_motion_side = c.side;
    config.roi = {20, 20, 120, 96};
    Field field({120, 96});
    field.fill({30, 30, 40, 40}, 0.0f, c.motion);
    EXPECT_EQ(test::ObjectSearch(config).find(field.view()).found, c.found)
        << c.size.width << "x" << c.size.height << ", " << c.side << ", " << c.motion;
  }
}

// Example failure: an object of less than 16 cells is found, or a box is that of the region alone.
TEST(MovingObjects, BoxesAreThoseOfTheFrame) {
  OpticalFlowConfig config = config_of({200, 160}, 0);
  config.roi = {30, 20, 160, 120};
  Field field({160, 120});
  field.fill({40, 40, 40, 40}, 0.0f, -3.0f);
  field.fill({120, 100, 8, 8}, 2.0f, 0.0f);
  const MovingObjectsRecord objects = test::ObjectSearch(config).find(field.view());
  ASSERT_EQ(objects.found, 1);
  EXPECT_EQ(box_of(objects, 0), (Rect{70, 60, 40, 40}));
}

// Example failure: a cell of a large image has 4 pixels, so that the time grows with the image.
// Promises: RT-006.
TEST(MovingObjects, NumberOfCellsIsBounded) {
  for (const ImageSize size : {ImageSize{640, 480}, ImageSize{1920, 1080}, ImageSize{7680, 4320},
                               ImageSize{16384, 480}, ImageSize{16384, 16384}}) {
    const detail::CellGrid grid(size);
    EXPECT_LE(grid.rows, 136) << size.height;
    EXPECT_LE(grid.columns, 4096) << size.width;
    EXPECT_GE(grid.side, 4);
  }
}

// Example failure: a bad value is accepted, or the text does not name the member. Or there is a
// record although no objects are asked for.
TEST(MovingObjects, RefusesBadConfigurations) {
  const auto error_of = [](auto change) {
    OpticalFlowConfig config = config_of({64, 48});
    change(config);
    const Expected<OperatorInfo> made = OpticalFlow::info_for(config);
    return made ? std::string("accepted") : std::string(made.error().text);
  };
  using Config = OpticalFlowConfig;
  EXPECT_EQ(error_of([](Config&) {}), "accepted");
  EXPECT_NE(error_of([](Config& c) { c.min_motion = kNan; }).find("min_motion"), std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.min_motion = -1.0f; }).find("min_motion"),
            std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.min_deviations = kInfinity; }).find("min_deviations"),
            std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.min_area = -1; }).find("min_area is -1"), std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.objects = 65; }).find("objects is 65"), std::string::npos);
  OpticalFlowConfig config = config_of({64, 48});
  EXPECT_NE(test::must(OpticalFlow::info_for(config)).record, nullptr);
  config.objects = 0;
  EXPECT_EQ(test::must(OpticalFlow::info_for(config)).record, nullptr);
}

}  // namespace
}  // namespace ocellus
