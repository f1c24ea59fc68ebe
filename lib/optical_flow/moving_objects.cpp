#include "ocellus/moving_objects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <utility>

#include "core/checks.h"
#include "core/option_table.h"
#include "optical_flow/motion_threshold.h"

namespace ocellus {
namespace {

using Objects = detail::Rows<MovingObjectsConfig>;

constexpr int kCellsAlongShorterSide = 120;
constexpr int kLeastCell = 4;
/// Cells between which a gap is bridged, such as that between the legs of a walker.
constexpr int kReach = 2;
constexpr int kStill = -1;
/// Of the smallest object, unless min_area says otherwise.
constexpr int kLeastCells = 16;

constexpr Option kOptions[] = {
    Objects::integer<[](auto& c) { return &c.min_area; }>(
        "min_area", 0, 1 << 28, "pixels", "Smaller objects are left out; 0 = 16 cells"),
    Objects::integer<[](auto& c) { return &c.max_objects; }>(
        "max_objects", 1, kMaxMovingObjects, "", "Most objects of a frame; the largest are kept"),
};

Expected<void> check(const MovingObjectsConfig& config) noexcept {
  if (auto good = detail::check_geometry(config.size, PixelFormat::kFloat32, {}, 1); !good)
    return good;
  if (auto good = detail::check_not_negative("min_motion", config.min_motion); !good) return good;
  if (auto good = detail::check_not_negative("min_deviations", config.min_deviations); !good)
    return good;
  return detail::check_options(MovingObjectsConfig::options(), &config);
}

struct Cell {
  int parent = kStill;  ///< index of a cell of the same object; kStill: the cell does not move
  float u = 0.0f;
  float v = 0.0f;
};

/// The place of a cell that moves.
struct Place {
  int column = 0;
  int row = 0;
};

/// A component, under the index of its root.
struct Component {
  int cells = 0;
  int left = 0;
  int right = 0;
  int top = 0;
  int bottom = 0;
  double u = 0.0;
  double v = 0.0;
};

bool similar(const Cell& a, const Cell& b) noexcept {
  const float longer = std::max(a.u * a.u + a.v * a.v, b.u * b.u + b.v * b.v);
  const float du = a.u - b.u;
  const float dv = a.v - b.v;
  return du * du + dv * dv <= 0.25f * std::max(1.0f, longer);
}

struct Finder {
  MovingObjectsConfig config;
  int side = kLeastCell;  // of a cell, pixels
  int columns = 0;
  int rows = 0;
  int least_cells = 1;  // of an object
  std::unique_ptr<Cell[]> cells;
  std::unique_ptr<Place[]> places;  // of the cells that move, row by row
  int moving = 0;
  std::unique_ptr<Component[]> components;
  std::unique_ptr<int[]> roots;  // of the components that are large enough
  std::array<MovingObject, kMaxMovingObjects> objects;
  int found = 0;
  bool fits = false;  // whether the last field had the right size

  int count() const noexcept { return columns * rows; }
  int root_of(int cell) noexcept {
    while (cells[at(cell)].parent != cell) {
      int& up = cells[at(cell)].parent;
      up = cells[at(up)].parent;
      cell = up;
    }
    return cell;
  }
  static std::size_t at(int index) noexcept { return static_cast<std::size_t>(index); }
  void sample(const FlowOutput& flow) noexcept;
  void connect(int column, int row) noexcept;
  void sum() noexcept;
  std::span<const MovingObject> select() noexcept;
};

void Finder::sample(const FlowOutput& flow) noexcept {
  const detail::MotionThreshold threshold(flow, config.min_motion, config.min_deviations);
  moving = 0;
  for (int row = 0; row < rows; ++row) {
    const int y = std::min(row * side + side / 2, config.size.height - 1);
    const float* const from_u = flow.u.row<const float>(y);
    const float* const from_v = flow.v.row<const float>(y);
    // The rows are too far apart for the processor to see the next one coming.
    const int below = std::min(y + side, config.size.height - 1);
    const float* const next_u = flow.u.row<const float>(below);
    const float* const next_v = flow.v.row<const float>(below);
    for (int column = 0; column < columns; ++column) {
      const int x = std::min(column * side + side / 2, config.size.width - 1);
      __builtin_prefetch(next_u + x);
      __builtin_prefetch(next_v + x);
      // Infinite for vectors whose square is, which `similar` could not compare.
      const float length = std::sqrt(from_u[x] * from_u[x] + from_v[x] * from_v[x]);
      const bool moves = threshold.passes(length, x, y);
      const int here = row * columns + column;
      cells[at(here)].parent = kStill;
      if (!moves) continue;
      cells[at(here)] = {here, from_u[x], from_v[x]};
      places[at(moving++)] = {column, row};
    }
  }
}

/// Connects a cell with those before it.
void Finder::connect(int column, int row) noexcept {
  const int here = row * columns + column;
  for (int y = std::max(0, row - kReach); y <= row; ++y) {
    const int last = y == row ? column - 1 : std::min(columns - 1, column + kReach);
    for (int x = std::max(0, column - kReach); x <= last; ++x) {
      const int there = y * columns + x;
      const Cell& other = cells[at(there)];
      // Equal parents: connected already, as most cells of a large object are.
      if (other.parent == kStill || other.parent == cells[at(here)].parent ||
          !similar(cells[at(here)], other))
        continue;
      const int a = root_of(here);
      const int b = root_of(there);
      // Short ways to the root, so that most cells of an object have equal parents.
      const int root = std::min(a, b);
      cells[at(std::max(a, b))].parent = root;
      cells[at(there)].parent = root;
      cells[at(here)].parent = root;
    }
  }
}

void Finder::sum() noexcept {
  found = 0;
  for (int i = 0; i < moving; ++i) {
    const auto [column, row] = places[at(i)];
    const int here = row * columns + column;
    Cell& cell = cells[at(here)];
    const int root = root_of(here);
    cell.parent = root;
    Component& component = components[at(root)];
    // The root is the first cell of its component.
    if (root == here) {
      component = {0, column, column, row, row, 0.0, 0.0};
      roots[at(found++)] = root;
    }
    ++component.cells;
    component.left = std::min(component.left, column);
    component.right = std::max(component.right, column);
    component.bottom = row;
    component.u += static_cast<double>(cell.u);
    component.v += static_cast<double>(cell.v);
  }
}

std::span<const MovingObject> Finder::select() noexcept {
  const std::int64_t pixels = std::int64_t{side} * side;
  int* const first = roots.get();
  int* const last = std::remove_if(
      first, first + found, [&](int root) { return components[at(root)].cells < least_cells; });
  found = static_cast<int>(last - first);
  const int kept = std::min(found, config.max_objects);
  std::partial_sort(first, first + kept, last, [this](int a, int b) {
    const int cells_a = components[at(a)].cells;
    const int cells_b = components[at(b)].cells;
    return cells_a != cells_b ? cells_a > cells_b : a < b;
  });
  for (int i = 0; i < kept; ++i) {
    const Component& c = components[at(first[i])];
    const int x = c.left * side;
    const int y = c.top * side;
    const int right = std::min((c.right + 1) * side, config.size.width);
    const int bottom = std::min((c.bottom + 1) * side, config.size.height);
    objects[at(i)] = {{x, y, right - x, bottom - y},
                      static_cast<float>(c.u / c.cells),
                      static_cast<float>(c.v / c.cells),
                      c.cells * pixels};
  }
  return std::span(objects).first(at(kept));
}

}  // namespace

struct MovingObjects::State : Finder {};

OptionTable MovingObjectsConfig::options() noexcept {
  return kOptions;
}

Expected<MovingObjects> MovingObjects::create(const MovingObjectsConfig& config) noexcept {
  if (Expected<void> good = check(config); !good) return tl::unexpected(good.error());
  const auto no_memory = [] {
    return tl::unexpected(make_error(Status::kOutOfMemory, "the system gave no memory"));
  };
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return no_memory();
  state->config = config;
  const int shorter = std::min(config.size.width, config.size.height);
  state->side = std::max(kLeastCell, shorter / kCellsAlongShorterSide);
  state->columns = (config.size.width + state->side - 1) / state->side;
  state->rows = (config.size.height + state->side - 1) / state->side;
  const int pixels = state->side * state->side;
  state->least_cells = config.min_area > 0 ? (config.min_area + pixels - 1) / pixels : kLeastCells;
  const std::size_t cells = State::at(state->count());
  state->cells.reset(new (std::nothrow) Cell[cells]);
  state->places.reset(new (std::nothrow) Place[cells]);
  state->components.reset(new (std::nothrow) Component[cells]);
  state->roots.reset(new (std::nothrow) int[cells]);
  if (!state->cells || !state->places || !state->components || !state->roots) return no_memory();
  return MovingObjects(std::move(state));
}

std::span<const MovingObject> MovingObjects::find(const FlowOutput& flow) noexcept {
  State& s = *state_;
  s.found = 0;
  const auto fits = [&s](const ImageView& plane) {
    return plane.data != nullptr && plane.size == s.config.size;
  };
  s.fits = fits(flow.u) && fits(flow.v) && (flow.deviation.data == nullptr || fits(flow.deviation));
  if (!s.fits) return {};
  s.sample(flow);
  for (int i = 0; i < s.moving; ++i)
    s.connect(s.places[State::at(i)].column, s.places[State::at(i)].row);
  s.sum();
  return s.select();
}

bool MovingObjects::moves_at(int x, int y) const noexcept {
  const State& s = *state_;
  if (x < 0 || y < 0 || x >= s.config.size.width || y >= s.config.size.height || !s.fits)
    return false;
  const int root = s.cells[State::at(y / s.side * s.columns + x / s.side)].parent;
  return root != kStill && s.components[State::at(root)].cells >= s.least_cells;
}

int MovingObjects::found() const noexcept {
  return state_->found;
}
int MovingObjects::cell() const noexcept {
  return state_->side;
}

MovingObjects::MovingObjects(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
MovingObjects::MovingObjects(MovingObjects&&) noexcept = default;
MovingObjects& MovingObjects::operator=(MovingObjects&&) noexcept = default;
MovingObjects::~MovingObjects() = default;

}  // namespace ocellus
