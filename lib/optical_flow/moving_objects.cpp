#include "optical_flow/moving_objects.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "image/separable_filter.h"

namespace ocellus::detail {
namespace {

constexpr int kCellsAlongShorterSide = 120;
constexpr int kLeastCell = 4;
/// Of the smallest object, unless min_area says otherwise.
constexpr int kLeastCells = 16;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

CellGrid::CellGrid(ImageSize field) noexcept
    : size(field),
      side(std::max(kLeastCell, std::min(field.width, field.height) / kCellsAlongShorterSide)),
      columns((field.width + side - 1) / side),
      rows((field.height + side - 1) / side) {}

void MovingObjects::Component::add(const Component& other) noexcept {
  cells += other.cells;
  left = std::min(left, other.left);
  right = std::max(right, other.right);
  top = std::min(top, other.top);
  bottom = std::max(bottom, other.bottom);
  u += other.u;
  v += other.v;
}

void MovingObjects::Component::cover(const Run& run) noexcept {
  area += run.right - (run.row == last_row ? last_column : run.left - 1);
  last_row = run.row;
  last_column = run.right;
}

MovingObjects::MovingObjects(const OpticalFlowPlan& plan) noexcept
    : grid_({plan.roi.width, plan.roi.height}),
      threshold_(plan.motion),
      x_(plan.roi.x),
      y_(plan.roi.y),
      most_(plan.objects),
      row_length_(row_stride(grid_.columns + 2 * kCellReach)) {
  const int pixels = grid_.side * grid_.side;
  least_cells_ = plan.min_area > 0 ? (plan.min_area + pixels - 1) / pixels : kLeastCells;
  for (int i = 0; i < kLinks; ++i)
    neighbors_[at(i)] =
        (i / kLinkWindow - kCellReach) * grid_.columns + i % kLinkWindow - kCellReach;
}

void MovingObjects::layout(LayoutBuilder& builder) noexcept {
  const std::size_t cells = grid_.cells();
  for (float** plane : {&samples_.u, &samples_.v, &samples_.deviation})
    *plane = builder.take<float>(cells);
  const auto place_row = [&]<typename T>(T*& row) {
    T* const begin = builder.take<T>(row_length_);
    row = begin == nullptr ? nullptr : begin + kCellReach;
  };
  for (CellRow& row : vectors_) {
    place_row(row.u);
    place_row(row.v);
    place_row(row.squared);
  }
  for (int*& row : links_) place_row(row);
  place_row(needed_);
  run_of_ = builder.take<int>(cells);
  spans_ = builder.take<Run>(cells);
  parents_ = builder.take<int>(cells);
  components_ = builder.take<Component>(cells);
  large_ = builder.take<int>(cells);
}

void MovingObjects::take_motion(int y, const float* u, const float* v) const noexcept {
  const int row = grid_.row_at(y);
  if (row < 0) return;
  const std::size_t first = at(row) * at(grid_.columns);
  for (int column = 0; column < grid_.columns; ++column) {
    const int x = grid_.sample_x(column);
    samples_.u[first + at(column)] = u[x];
    samples_.v[first + at(column)] = v[x];
  }
}

void MovingObjects::take_deviation(int y, int x, int width, const float* deviation) const noexcept {
  const int row = grid_.row_at(y);
  if (row < 0) return;
  const std::size_t first = at(row) * at(grid_.columns);
  for (int column = x / grid_.side; column < grid_.columns; ++column) {
    const int offset = grid_.sample_x(column) - x;
    if (offset >= width) return;
    if (offset >= 0) samples_.deviation[first + at(column)] = deviation[offset];
  }
}

int MovingObjects::moving_row(int y, int end, int first, int last) const noexcept {
  for (int row = y / grid_.side; row < grid_.rows && grid_.sample_y(row) < end; ++row) {
    if (grid_.sample_y(row) < y) continue;
    const std::size_t begin = at(row) * at(grid_.columns);
    for (int column = first; column <= last; ++column) {
      const std::size_t cell = begin + at(column);
      if (threshold_.may_pass(samples_.u[cell], samples_.v[cell])) return grid_.sample_y(row);
    }
  }
  return end;
}

int MovingObjects::root_of(int run) noexcept {
  while (parents_[run] != run) {
    int& up = parents_[run];
    up = parents_[up];
    run = up;
  }
  return run;
}

/// Takes the vectors of the next row. Returns whether one of its cells moves.
bool MovingObjects::take_row(int row) noexcept {
  std::rotate(vectors_.begin(), vectors_.begin() + 1, vectors_.end());
  std::rotate(links_.begin(), links_.begin() + 1, links_.end());
  const CellRow& to = vectors_.back();
  const std::size_t first = at(row) * at(grid_.columns);
  bool any = false;
  for (int column = 0; column < grid_.columns; ++column) {
    const float u = samples_.u[first + at(column)];
    const float v = samples_.v[first + at(column)];
    const float squared = u * u + v * v;
    // Vectors whose square is infinite do not move; `link_cells` could not compare them.
    const bool moves =
        threshold_.passes(std::sqrt(squared), samples_.deviation[first + at(column)]);
    to.u[column] = moves ? u : kNan;
    to.v[column] = v;
    to.squared[column] = squared;
    any = any || moves;
  }
  return any;
}

/// Makes one object of those with these first runs, and returns its first run.
int MovingObjects::join(int root, int other) noexcept {
  if (root == other) return root;
  const int first = std::min(root, other);
  const int second = std::max(root, other);
  parents_[second] = first;
  components_[first].add(components_[second]);
  return first;
}

/// Finds the runs of the newest row and connects them with those before them.
void MovingObjects::connect(int row) noexcept {
  const CellRow& vector = vectors_.back();
  int* const run_of_row = run_of_ + at(row) * at(grid_.columns);
  for (int column = 0; column < grid_.columns;) {
    if (needed_[column] == 0) {
      ++column;
      continue;
    }
    const int run = runs_++;
    parents_[run] = run;
    Component sum;
    sum.left = sum.right = column;
    sum.top = sum.bottom = row;
    components_[run] = sum;
    int root = run;
    do {
      run_of_row[column] = run;
      ++sum.cells;
      sum.u += static_cast<double>(vector.u[column]);
      sum.v += static_cast<double>(vector.v[column]);
      unsigned open = static_cast<unsigned>(needed_[column] & (kLinkLeft - 1));
      for (; open != 0; open &= open - 1) {
        const int neighbor = neighbors_[at(std::countr_zero(open))];
        root = join(root, root_of(run_of_row[column + neighbor]));
      }
      ++column;
    } while (column < grid_.columns && (needed_[column] & kLinkLeft) != 0);
    sum.right = column - 1;
    spans_[run] = {row, sum.left, sum.right};
    components_[root].add(sum);
  }
}

void MovingObjects::select(MovingObjectsRecord& record) noexcept {
  for (int run = 0; run < runs_; ++run) {
    parents_[run] = root_of(run);
    components_[parents_[run]].cover(spans_[run]);
  }
  record.found = 0;
  for (int run = 0; run < runs_; ++run)
    if (parents_[run] == run && components_[run].area >= least_cells_) large_[record.found++] = run;
  record.count = std::min(record.found, most_);
  std::partial_sort(large_, large_ + record.count, large_ + record.found, [this](int a, int b) {
    const int area_a = components_[a].area;
    const int area_b = components_[b].area;
    return area_a != area_b ? area_a > area_b : a < b;
  });
  for (int i = 0; i < record.count; ++i) {
    const Component& c = components_[large_[i]];
    const int x = c.left * grid_.side;
    const int y = c.top * grid_.side;
    record.x[at(i)] = x_ + x;
    record.y[at(i)] = y_ + y;
    record.width[at(i)] = std::min((c.right + 1) * grid_.side, grid_.size.width) - x;
    record.height[at(i)] = std::min((c.bottom + 1) * grid_.side, grid_.size.height) - y;
    record.u[at(i)] = static_cast<float>(c.u / c.cells);
    record.v[at(i)] = static_cast<float>(c.v / c.cells);
    record.area[at(i)] = c.area * grid_.side * grid_.side;
  }
}

void MovingObjects::find(MovingObjectsRecord& record) noexcept {
  runs_ = 0;
  // Above the first row, no cell moves.
  for (const CellRow& row : vectors_) std::fill_n(row.u - kCellReach, row_length_, kNan);
  for (int row = 0; row < grid_.rows; ++row) {
    // Rows in which no cell moves keep old links, which no other cell uses.
    if (!take_row(row)) continue;
    link_cells(vectors_, grid_.columns, links_.back());
    needed_links(links_, grid_.columns, needed_);
    connect(row);
  }
  select(record);
}

}  // namespace ocellus::detail
