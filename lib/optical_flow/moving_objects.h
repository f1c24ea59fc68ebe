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

  explicit CellGrid(ImageSize field) noexcept;
};

/// The vectors in the centers of the cells, row after row, or in the last pixel of the field.
struct CellSamples {
  float* u = nullptr;
  float* v = nullptr;
  float* deviation = nullptr;  ///< 0 if the field has none
};

/// Takes the samples of a field in host memory. `deviation` may be left out.
void sample_cells(const CellGrid& grid, const ImageView& u, const ImageView& v,
                  const ImageView& deviation, const CellSamples& samples) noexcept;

/// Finds the objects of one field after the other, in bounded time.
class MovingObjects {
 public:
  explicit MovingObjects(const OpticalFlowPlan& plan) noexcept;

  const CellGrid& grid() const noexcept { return grid_; }
  /// Memory of the samples that `find` searches.
  const CellSamples& samples() const noexcept { return samples_; }

  void layout(LayoutBuilder& builder) noexcept;
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
