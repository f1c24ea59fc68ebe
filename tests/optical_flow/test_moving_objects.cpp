// MovingObjects against a search by definition.
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

#include "ocellus/moving_objects.h"
#include "support/flow_view.h"
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

MovingObjectsConfig config_of(ImageSize size, int min_area = 1) {
  MovingObjectsConfig config;
  config.size = size;
  config.min_area = min_area;
  return config;
}

MovingObjects make(const MovingObjectsConfig& config) {
  Expected<MovingObjects> made = MovingObjects::create(config);
  if (!made) throw std::runtime_error(made.error().text);
  return std::move(*made);
}

using Key = std::tuple<int, int, int, int, std::int64_t>;

Key key_of(const MovingObject& object) {
  return {object.box.x, object.box.y, object.box.width, object.box.height, object.area};
}

/// The connected components, by flooding from every cell, in double precision.
std::multiset<Key> reference(const Field& field, const MovingObjectsConfig& config, int side) {
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
  MovingObjectsConfig config = config_of(size);
  config.max_objects = kMaxMovingObjects;
  MovingObjects finder = make(config);
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
        const auto objects = finder.find(field.view());
        const std::multiset<Key> expected = reference(field, config, finder.cell());
        EXPECT_EQ(finder.found(), static_cast<int>(expected.size()));
        std::multiset<Key> got;
        for (const MovingObject& object : objects) got.insert(key_of(object));
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
  MovingObjects finder = make(config_of(field.size));
  const auto objects = finder.find(field.view());
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].area, 2400);
  EXPECT_EQ(objects[0].box, (Rect{20, 20, 40, 60}));
  EXPECT_FLOAT_EQ(objects[0].u, 2.0f);
  EXPECT_FLOAT_EQ(objects[0].v, 0.0f);
  EXPECT_EQ(objects[1].box, (Rect{60, 24, 40, 60}));
  EXPECT_FLOAT_EQ(objects[1].u, -2.0f);
  EXPECT_FLOAT_EQ(objects[1].v, 0.5f);
}

// Example failure: a body whose inside has no texture, so that nothing is known of its motion
// there, is left out as too small, or is counted as its edge alone.
TEST(MovingObjects, TheInsideOfABodyBelongsToIt) {
  Field field({160, 120});
  field.fill({40, 40, 32, 32}, 2.0f, 0.0f);
  field.deviation.assign(field.u.size(), 0.1f);
  for (int y = 44; y < 68; ++y)
    for (int x = 44; x < 68; ++x) field.deviation[field.at(x, y)] = kInfinity;
  MovingObjects finder = make(config_of(field.size, 32 * 32));
  const auto objects = finder.find(field.view());
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0].box, (Rect{40, 40, 32, 32}));
  EXPECT_EQ(objects[0].area, 32 * 32);
  EXPECT_TRUE(finder.moves_at(41, 50));
  EXPECT_FALSE(finder.moves_at(56, 56));
}

// Example failure: the smallest objects are kept in place of the largest, or their number is not
// bounded.
TEST(MovingObjects, KeepsTheLargest) {
  Field field({500, 100});
  for (int i = 0; i < 10; ++i) field.fill({i * 50, 8, 4 + 4 * i, 40}, 3.0f, 0.0f);
  MovingObjectsConfig config = config_of(field.size);
  config.max_objects = 3;
  MovingObjects finder = make(config);
  const auto objects = finder.find(field.view());
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(finder.found(), 10);
  EXPECT_EQ(objects[0].box.x, 448);
  EXPECT_EQ(objects[1].box.x, 400);
  EXPECT_EQ(objects[2].box.x, 348);
  config.min_area = 40 * 20;
  MovingObjects large = make(config);
  EXPECT_EQ(large.find(field.view()).size(), 3u);
  EXPECT_EQ(large.found(), 6);
}

// Example failure: the result of the frame before is returned again.
TEST(MovingObjects, StillFieldHasNone) {
  Field field({64, 64});
  field.fill({8, 8, 24, 24}, 1.0f, 1.0f);
  MovingObjects finder = make(config_of(field.size));
  EXPECT_EQ(finder.find(field.view()).size(), 1u);
  Field still(field.size);
  EXPECT_TRUE(finder.find(still.view()).empty());
  EXPECT_EQ(finder.found(), 0);
}

// Example failure: a pixel beside an object moves, or one of an object that is too small.
TEST(MovingObjects, PixelsOfObjectsMove) {
  Field field({160, 120});
  field.fill({40, 40, 40, 40}, 0.0f, -3.0f);
  field.fill({120, 100, 8, 8}, 2.0f, 0.0f);
  MovingObjects finder = make(config_of(field.size, 0));
  EXPECT_FALSE(finder.moves_at(50, 50));  // before the first field
  EXPECT_EQ(finder.find(field.view()).size(), 1u);
  EXPECT_TRUE(finder.moves_at(40, 40));
  EXPECT_TRUE(finder.moves_at(79, 79));
  EXPECT_FALSE(finder.moves_at(80, 79));
  EXPECT_FALSE(finder.moves_at(39, 40));
  EXPECT_FALSE(finder.moves_at(122, 102));  // 4 cells
  for (const auto& [x, y] : {std::pair(-1, 40), {40, -1}, {160, 40}, {40, 120}})
    EXPECT_FALSE(finder.moves_at(x, y));
  EXPECT_TRUE(finder.find(FlowOutput{}).empty());
  EXPECT_FALSE(finder.moves_at(50, 50));
}

// Example failure: planes of another size are read beyond their end.
TEST(MovingObjects, PlanesOfAnotherSizeHaveNone) {
  Field field({64, 64});
  field.fill({0, 0, 64, 64}, 1.0f, 1.0f);
  MovingObjects finder = make(config_of({64, 65}));
  EXPECT_TRUE(finder.find(field.view()).empty());
  EXPECT_TRUE(finder.find(FlowOutput{}).empty());
}

// Example failure: a cell of a large image has 4 pixels, so that the time grows with the image.
TEST(MovingObjects, NumberOfCellsIsBounded) {
  for (const ImageSize size : {ImageSize{640, 480}, ImageSize{1920, 1080}, ImageSize{7680, 4320}}) {
    const MovingObjects finder = make(config_of(size));
    EXPECT_LE(size.height / finder.cell(), 136) << size.height;
    EXPECT_GE(finder.cell(), 4);
  }
}

// Example failure: a bad value is accepted, or the text does not name the member.
TEST(MovingObjects, RefusesBadConfigurations) {
  const auto error_of = [](auto change) {
    MovingObjectsConfig config = config_of({64, 48});
    change(config);
    const Expected<MovingObjects> made = MovingObjects::create(config);
    return made ? std::string("accepted") : std::string(made.error().text);
  };
  using Config = MovingObjectsConfig;
  EXPECT_EQ(error_of([](Config&) {}), "accepted");
  EXPECT_NE(error_of([](Config& c) { c.size = {0, 0}; }).find("size is 0x0"), std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.size.width = 20000; }).find("16384"), std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.min_motion = kNan; }).find("min_motion"), std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.min_motion = -1.0f; }).find("min_motion"),
            std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.min_deviations = kInfinity; }).find("min_deviations"),
            std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.min_area = -1; }).find("min_area is -1"), std::string::npos);
  EXPECT_NE(error_of([](Config& c) { c.max_objects = 257; }).find("max_objects is 257"),
            std::string::npos);
}

}  // namespace
}  // namespace ocellus
