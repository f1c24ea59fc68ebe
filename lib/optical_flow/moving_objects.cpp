#include "ocellus/moving_objects.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "core/checks.h"
#include "core/failure.h"
#include "core/option_table.h"
#include "image/separable_filter.h"
#include "optical_flow/cell_rows.h"
#include "optical_flow/motion_threshold.h"

namespace ocellus {
namespace {

using Objects = detail::Rows<MovingObjectsConfig>;

constexpr int kCellsAlongShorterSide = 120;
constexpr int kLeastCell = 4;
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
  OCELLUS_TRY(detail::check_not_negative("min_motion", config.min_motion));
  OCELLUS_TRY(detail::check_not_negative("min_deviations", config.min_deviations));
  return detail::check_options(MovingObjectsConfig::options(), &config);
}

/// Connected cells side by side.
struct Run {
  int row;
  int left;
  int right;
};

/// What is known of connected cells.
struct Component {
  int cells = 0;
  int area = 0;  ///< cells, with those between two of them in a row
  int last_row = -1;
  int last_column = 0;  ///< in this row, of the cells that `area` counts
  int left = 0;
  int right = 0;
  int top = 0;
  int bottom = 0;
  double u = 0.0;
  double v = 0.0;

  void add(const Component& other) noexcept {
    cells += other.cells;
    left = std::min(left, other.left);
    right = std::max(right, other.right);
    top = std::min(top, other.top);
    bottom = std::max(bottom, other.bottom);
    u += other.u;
    v += other.v;
  }
  /// Runs must come in order. A body is one without texture inside, too, which nothing is known of.
  void cover(const Run& run) noexcept {
    area += run.right - (run.row == last_row ? last_column : run.left - 1);
    last_row = run.row;
    last_column = run.right;
  }
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Finder {
  MovingObjectsConfig config;
  int side = kLeastCell;  // of a cell, pixels
  int columns = 0;
  int rows = 0;
  int least_cells = 1;                          // of an object
  std::array<int, detail::kLinks> neighbors{};  // index of a linked cell, from that of the cell

  // The newest row is the last one.
  detail::CellRows<detail::CellRow> vectors{};
  detail::CellRows<int*> links{};
  int* needed = nullptr;  // links, of the newest row
  std::unique_ptr<float[]> vector_memory;
  std::unique_ptr<int[]> link_memory;
  std::size_t row_length = 0;

  // Runs are numbered from 0, row by row.
  std::unique_ptr<int[]> run_of;  // of each cell; kStill: it does not move
  std::unique_ptr<Run[]> spans;   // of each run
  int runs = 0;
  std::unique_ptr<int[]> parents;  // a run of the same object; the first one is its own parent
  std::unique_ptr<Component[]> components;  // of the first run of each object
  std::unique_ptr<int[]> large;             // first runs of the objects that are large enough
  std::array<MovingObject, kMaxMovingObjects> objects;
  int found = 0;
  bool fits = false;  // whether the last field had the right size

  bool allocate() noexcept;
  static std::size_t at(int index) noexcept { return static_cast<std::size_t>(index); }
  /// The first run of the object.
  int root_of(int run) noexcept {
    while (parents[at(run)] != run) {
      int& up = parents[at(run)];
      up = parents[at(up)];
      run = up;
    }
    return run;
  }
  void begin() noexcept;
  bool sample(const FlowOutput& flow, const detail::MotionThreshold& threshold, int row) noexcept;
  void link() noexcept;
  int join(int root, int other) noexcept;
  void connect(int row) noexcept;
  std::span<const MovingObject> select() noexcept;
};

bool Finder::allocate() noexcept {
  const auto take = [](auto& array, std::size_t length) {
    using T = typename std::remove_reference_t<decltype(array)>::element_type;
    array.reset(new (std::nothrow) T[length]());
    return array != nullptr;
  };
  const std::size_t cells = at(columns) * at(rows);
  row_length = detail::row_stride(columns + 2 * detail::kCellReach);
  if (!take(vector_memory, vectors.size() * 3 * row_length) ||
      !take(link_memory, (links.size() + 1) * row_length) || !take(run_of, cells) ||
      !take(spans, cells) || !take(parents, cells) || !take(components, cells) ||
      !take(large, cells))
    return false;
  float* vector = &vector_memory[detail::kCellReach];
  for (detail::CellRow& row : vectors) {
    for (float** part : {&row.u, &row.v, &row.squared}) {
      *part = vector;
      vector += row_length;
    }
  }
  int* link = &link_memory[detail::kCellReach];
  for (int*& row : links) {
    row = link;
    link += row_length;
  }
  needed = link;
  return true;
}

/// Above the first row, no cell moves.
void Finder::begin() noexcept {
  runs = 0;
  for (const detail::CellRow& row : vectors)
    std::fill_n(row.u - detail::kCellReach, row_length, kNan);
}

/// Takes the vectors of the next row. Returns whether one of its cells moves.
bool Finder::sample(const FlowOutput& flow, const detail::MotionThreshold& threshold,
                    int row) noexcept {
  std::rotate(vectors.begin(), vectors.begin() + 1, vectors.end());
  std::rotate(links.begin(), links.begin() + 1, links.end());
  const detail::CellRow& to = vectors.back();
  const int y = std::min(row * side + side / 2, config.size.height - 1);
  const float* const from_u = flow.u.row<const float>(y);
  const float* const from_v = flow.v.row<const float>(y);
  // The rows are too far apart for the processor to fetch the next one early by itself.
  const int below = std::min(y + side, config.size.height - 1);
  const float* const next_u = flow.u.row<const float>(below);
  const float* const next_v = flow.v.row<const float>(below);
  bool any = false;
  for (int column = 0; column < columns; ++column) {
    const int x = std::min(column * side + side / 2, config.size.width - 1);
    __builtin_prefetch(next_u + x);
    __builtin_prefetch(next_v + x);
    const float u = from_u[x];
    const float v = from_v[x];
    const float squared = u * u + v * v;
    // Vectors whose square is infinite do not move; `link_cells` could not compare them.
    const bool moves = threshold.passes(std::sqrt(squared), x, y);
    to.u[column] = moves ? u : kNan;
    to.v[column] = v;
    to.squared[column] = squared;
    any = any || moves;
  }
  return any;
}

/// Of the newest row. Rows in which no cell moves keep old links, which no other cell uses.
void Finder::link() noexcept {
  detail::link_cells(vectors, columns, links.back());
  detail::needed_links(links, columns, needed);
}

/// Makes one object of those with these first runs, and returns its first run.
int Finder::join(int root, int other) noexcept {
  if (root == other) return root;
  const int first = std::min(root, other);
  const int second = std::max(root, other);
  parents[at(second)] = first;
  components[at(first)].add(components[at(second)]);
  return first;
}

/// Finds the runs of the newest row and connects them with those before them.
void Finder::connect(int row) noexcept {
  const detail::CellRow& vector = vectors.back();
  int* const run_of_row = &run_of[at(row) * at(columns)];
  for (int column = 0; column < columns;) {
    if (needed[column] == 0) {
      run_of_row[column++] = kStill;
      continue;
    }
    const int run = runs++;
    parents[at(run)] = run;
    Component sum;
    sum.left = column;
    sum.top = sum.bottom = row;
    sum.right = column;
    components[at(run)] = sum;
    int root = run;
    do {
      run_of_row[column] = run;
      ++sum.cells;
      sum.u += static_cast<double>(vector.u[column]);
      sum.v += static_cast<double>(vector.v[column]);
      unsigned open = static_cast<unsigned>(needed[column] & (detail::kLinkLeft - 1));
      for (; open != 0; open &= open - 1) {
        const int neighbor = neighbors[at(std::countr_zero(open))];
        root = join(root, root_of(run_of_row[column + neighbor]));
      }
      ++column;
    } while (column < columns && (needed[column] & detail::kLinkLeft) != 0);
    sum.right = column - 1;
    spans[at(run)] = {row, sum.left, sum.right};
    components[at(root)].add(sum);
  }
}

std::span<const MovingObject> Finder::select() noexcept {
  const std::int64_t pixels = std::int64_t{side} * side;
  found = 0;
  for (int run = 0; run < runs; ++run) {
    parents[at(run)] = root_of(run);
    components[at(parents[at(run)])].cover(spans[at(run)]);
  }
  for (int run = 0; run < runs; ++run) {
    if (parents[at(run)] == run && components[at(run)].area >= least_cells)
      large[at(found++)] = run;
  }
  int* const first = large.get();
  const int kept = std::min(found, config.max_objects);
  std::partial_sort(first, first + kept, first + found, [this](int a, int b) {
    const int area_a = components[at(a)].area;
    const int area_b = components[at(b)].area;
    return area_a != area_b ? area_a > area_b : a < b;
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
                      c.area * pixels};
  }
  return std::span(objects).first(at(kept));
}

}  // namespace

struct MovingObjects::State : Finder {};

OptionTable MovingObjectsConfig::options() noexcept {
  return kOptions;
}

Expected<MovingObjects> MovingObjects::create(const MovingObjectsConfig& config) noexcept {
  OCELLUS_TRY(check(config));
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
  for (int i = 0; i < detail::kLinks; ++i)
    state->neighbors[State::at(i)] =
        (i / detail::kLinkWindow - detail::kCellReach) * state->columns + i % detail::kLinkWindow -
        detail::kCellReach;
  if (!state->allocate()) return no_memory();
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
  const detail::MotionThreshold threshold(flow, s.config.min_motion, s.config.min_deviations);
  s.begin();
  for (int row = 0; row < s.rows; ++row) {
    if (s.sample(flow, threshold, row)) {
      s.link();
      s.connect(row);
    } else {
      std::fill_n(&s.run_of[State::at(row) * State::at(s.columns)], s.columns, kStill);
    }
  }
  return s.select();
}

bool MovingObjects::moves_at(int x, int y) const noexcept {
  const State& s = *state_;
  if (x < 0 || y < 0 || x >= s.config.size.width || y >= s.config.size.height || !s.fits)
    return false;
  const int run = s.run_of[State::at(y / s.side) * State::at(s.columns) + State::at(x / s.side)];
  return run != kStill && s.components[State::at(s.parents[State::at(run)])].area >= s.least_cells;
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
