#include "cortical_network/hierarchy.h"

#include <algorithm>
#include <cstdio>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

Expected<void> check_shape(const CorticalLevel& shape, int number) noexcept {
  char name[48];
  const auto check = [&](const char* member, int value, int low, int high) {
    std::snprintf(name, sizeof(name), "%s of level %d", member, number);
    return check_number(name, value, low, high);
  };
  OCELLUS_TRY(check("window_width", shape.window_width, 1, kMaxLgnSide));
  OCELLUS_TRY(check("window_height", shape.window_height, 1, kMaxLgnSide));
  OCELLUS_TRY(check("stride_x", shape.stride_x, 1, kMaxLgnSide));
  OCELLUS_TRY(check("stride_y", shape.stride_y, 1, kMaxLgnSide));
  return check("minicolumns", shape.minicolumns, kLeastMinicolumns, kMaxMinicolumns);
}

/// The level over a grid of columns x rows points with `cells` inputs each.
Expected<LevelPlan> plan_level(const CorticalLevel& shape, int number, int columns, int rows,
                               int cells) noexcept {
  OCELLUS_TRY(check_shape(shape, number));
  if (shape.window_width > columns || shape.window_height > rows) {
    return invalid_argument("the window of level %d is %dx%d; the grid below it has %dx%d points",
                            number, shape.window_width, shape.window_height, columns, rows);
  }
  LevelPlan level{shape};
  level.columns = (columns - shape.window_width) / shape.stride_x + 1;
  level.rows = (rows - shape.window_height) / shape.stride_y + 1;
  level.below_columns = columns;
  level.below_cells = cells;
  level.padded = padded_minicolumns(shape.minicolumns);
  const double inputs = static_cast<double>(shape.window_width) * shape.window_height * cells;
  if (inputs > kMaxHypercolumnInputs) {
    return invalid_argument("a hypercolumn of level %d has %.0f inputs; it must have 1 to %d",
                            number, inputs, kMaxHypercolumnInputs);
  }
  level.inputs = static_cast<int>(inputs);
  const double below = static_cast<double>(columns) * rows;
  const double here = static_cast<double>(level.columns) * level.rows;
  // One point below needs no second level.
  if (number > 1 && here >= below) {
    return invalid_argument(
        "level %d has %.0f hypercolumns over %.0f; the hierarchy must converge: each level must "
        "have fewer than the one below",
        number, here, below);
  }
  if (here > kMaxHypercolumns) {
    return invalid_argument("level %d has %.0f hypercolumns; a network must have 1 to %d", number,
                            here, kMaxHypercolumns);
  }
  return level;
}

/// The lowest level with free fields over `cells` cells.
Expected<LevelPlan> plan_fields(int minicolumns, int width, int cells,
                                const FreeFields& fields) noexcept {
  OCELLUS_TRY(
      check_number("minicolumns of level 1", minicolumns, kLeastMinicolumns, kMaxMinicolumns));
  OCELLUS_TRY(check_number("fields", fields.count, 1, kMaxHypercolumns));
  OCELLUS_TRY(
      check_number("field_inputs", fields.inputs, 1, std::min(cells, kMaxHypercolumnInputs)));
  LevelPlan level{{fields.inputs, 1, 1, 1, minicolumns}};
  level.columns = fields.count;
  level.rows = 1;
  level.below_columns = width;
  level.below_cells = 1;
  level.inputs = fields.inputs;
  level.padded = padded_minicolumns(minicolumns);
  return level;
}

}  // namespace

Expected<void> check_number(const char* name, long long value, long long low,
                            long long high) noexcept {
  if (value >= low && value <= high) return {};
  return invalid_argument("%s is %lld; it must be %lld to %lld", name, value, low, high);
}

const char* parse_level(const char* text, CorticalLevel& level) noexcept {
  int end = 0;
  const int read =
      std::sscanf(text, "%5dx%5d/%5dx%5d:%5d%n", &level.window_width, &level.window_height,
                  &level.stride_x, &level.stride_y, &level.minicolumns, &end);
  return read == 5 ? text + end : nullptr;
}

Expected<Hierarchy> plan_hierarchy(int width, int height, int cells,
                                   std::span<const CorticalLevel> levels,
                                   const FreeFields& fields) noexcept {
  OCELLUS_TRY(check_number("width", width, 1, kMaxLgnSide));
  OCELLUS_TRY(check_number("height", height, 1, kMaxLgnSide));
  OCELLUS_TRY(check_number("width * height", std::int64_t{width} * height, 1, kMaxLgnPixels));
  Hierarchy hierarchy;
  hierarchy.width = width;
  hierarchy.height = height;
  hierarchy.level_count = static_cast<int>(levels.size());
  int columns = width;
  int rows = height;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    OCELLUS_TRY_ASSIGN(
        made, i == 0 && fields.count > 0
                  ? plan_fields(levels[i].minicolumns, width, width * height * cells, fields)
                  : plan_level(levels[i], static_cast<int>(i) + 1, columns, rows, cells));
    LevelPlan& level = hierarchy.levels[i];
    level = *made;
    level.hypercolumns = level.columns * level.rows;
    level.first = hierarchy.hypercolumns;
    if (i > 0) level.below_first = hierarchy.levels[i - 1].first;
    level.weights = static_cast<std::size_t>(level.inputs) * static_cast<std::size_t>(level.padded);
    level.weights_at = hierarchy.weights;
    level.minicolumns_at = hierarchy.minicolumns;
    const auto hypercolumns = static_cast<std::size_t>(level.hypercolumns);
    hierarchy.hypercolumns += level.hypercolumns;
    hierarchy.weights += hypercolumns * level.weights;
    hierarchy.minicolumns += hypercolumns * static_cast<std::size_t>(level.padded);
    hierarchy.most_inputs = std::max(hierarchy.most_inputs, level.inputs);
    hierarchy.most_minicolumns = std::max(hierarchy.most_minicolumns, level.padded);
    columns = level.columns;
    rows = level.rows;
    cells = level.minicolumns;
  }
  OCELLUS_TRY(
      check_number("hypercolumns of all levels", hierarchy.hypercolumns, 1, kMaxHypercolumns));
  return hierarchy;
}

int active_inputs(const Hierarchy& hierarchy, int level, int hypercolumn, const std::uint8_t* cells,
                  const std::int32_t* winners, std::uint16_t* active) noexcept {
  const LevelPlan& l = hierarchy.level(level);
  const int x0 = hypercolumn % l.columns * l.stride_x;
  const int y0 = hypercolumn / l.columns * l.stride_y;
  int count = 0;
  int input = 0;
  for (int y = y0; y < y0 + l.window_height; ++y) {
    const std::ptrdiff_t point = static_cast<std::ptrdiff_t>(y) * l.below_columns + x0;
    if (level == 0) {
      const std::uint8_t* const from = cells + point * l.below_cells;
      for (int i = 0; i < l.window_width * l.below_cells; ++i, ++input) {
        // Without a branch: active cells are hard to predict.
        active[count] = static_cast<std::uint16_t>(input);
        count += from[i];
      }
      continue;
    }
    const std::int32_t* const from = winners + hierarchy.level(level - 1).first + point;
    for (int i = 0; i < l.window_width; ++i, input += l.below_cells)
      if (from[i] != kSilent) active[count++] = static_cast<std::uint16_t>(input + from[i]);
  }
  return count;
}

int active_inputs(const std::uint16_t* field, int inputs, const std::uint8_t* cells,
                  std::uint16_t* active) noexcept {
  int count = 0;
  for (int i = 0; i < inputs; ++i) {
    active[count] = static_cast<std::uint16_t>(i);
    count += cells[field[i]];
  }
  return count;
}

}  // namespace ocellus::detail
