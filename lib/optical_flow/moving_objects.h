// MovingObjects: the search for objects that move in a field. Both backends sample the field where
// it lies; the search runs on the host.
#pragma once

#include <array>

#include "core/layout_builder.h"
#include "optical_flow/cell_rows.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Square cells that cover a field. The last ones of a row and of a column may reach beyond it.
struct CellGrid {
  ImageSize size;  ///< of the field, pixels
  int side = 1;    ///< of a cell, pixels
  int columns = 0;
  int rows = 0;

  CellGrid() noexcept = default;
  explicit CellGrid(ImageSize field) noexcept;

  constexpr std::size_t cells() const noexcept {
    return static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows);
  }
  /// The pixel that is sampled: the center of the cell, or the last one of the field.
  constexpr int sample_x(int column) const noexcept { return sample(column, size.width); }
  constexpr int sample_y(int row) const noexcept { return sample(row, size.height); }
  /// The row of cells, or the column, whose sample is here; -1 if there is none.
  constexpr int row_at(int y) const noexcept { return sample_y(y / side) == y ? y / side : -1; }
  constexpr int column_at(int x) const noexcept { return sample_x(x / side) == x ? x / side : -1; }

 private:
  constexpr int sample(int cell, int pixels) const noexcept {
    const int center = cell * side + side / 2;
    return center < pixels ? center : pixels - 1;
  }
};

/// The vectors in the samples of the cells, row after row.
struct CellSamples {
  float* u = nullptr;
  float* v = nullptr;
  /// Only with MotionThreshold::min_deviations, and only where the motion may pass the threshold.
  float* deviation = nullptr;
};

/// Finds the objects of one field after the other, in bounded time.
class MovingObjects {
 public:
  explicit MovingObjects(const OpticalFlowPlan& plan) noexcept;

  const CellGrid& grid() const noexcept { return grid_; }
  /// Memory of the samples that `find` searches.
  const CellSamples& samples() const noexcept { return samples_; }

  void layout(LayoutBuilder& builder) noexcept;

  /// Keeps the samples in row y of the field. Rows may come in any order and from several threads.
  void take_motion(int y, const float* u, const float* v) const noexcept;
  /// The same of the deviation, of which there are pixels [x, x + width).
  void take_deviation(int y, int x, int width, const float* deviation) const noexcept;
  /// The first row of pixels from y on with samples of cells `first` to `last` whose motion may be
  /// that of an object; `end` if there is none before it.
  int moving_row(int y, int end, int first, int last) const noexcept;

  /// Writes the largest objects to the record.
  void find(MovingObjectsRecord& record) noexcept;

 private:
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

    void add(const Component& other) noexcept;
    /// Runs must come in order. A body is one without texture inside, too, which nothing is known
    /// of.
    void cover(const Run& run) noexcept;
  };

  static std::size_t at(int index) noexcept { return static_cast<std::size_t>(index); }
  /// The first run of the object.
  int root_of(int run) noexcept;
  bool take_row(int row) noexcept;
  int join(int root, int other) noexcept;
  void connect(int row) noexcept;
  void select(MovingObjectsRecord& record) noexcept;

  CellGrid grid_;
  MotionThreshold threshold_;
  int x_;  // position of the field in the frame
  int y_;
  int most_;                           // objects of a record
  int least_cells_;                    // of an object
  std::array<int, kLinks> neighbors_;  // index of a linked cell, from that of the cell
  CellSamples samples_;

  // The newest row is the last one.
  CellRows<CellRow> vectors_{};
  CellRows<int*> links_{};
  int* needed_ = nullptr;  // links, of the newest row
  std::size_t row_length_;

  // Runs are numbered from 0, row by row.
  int* run_of_ = nullptr;  // of each cell that moves
  Run* spans_ = nullptr;   // of each run
  int runs_ = 0;
  int* parents_ = nullptr;           // a run of the same object; the first one is its own parent
  Component* components_ = nullptr;  // of the first run of each object
  int* large_ = nullptr;             // first runs of the objects that are large enough
};

}  // namespace ocellus::detail
