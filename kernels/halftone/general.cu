// The general kernels, for everything that bands do not support: any number of levels, any
// boundary, order and size, and groups of stages. They compute the state of each cell from the
// outputs in device memory at every update. In color order, they update only cells near which an
// output has changed. Marks for pieces of rows record these changes.
#include <cooperative_groups.h>

#include "kernels/halftone/cells.cuh"

namespace ocellus::cuda {
namespace {

namespace cg = cooperative_groups;
using detail::beyond;
using detail::CellStagePlan;
using detail::color_class;
using detail::color_class_count;
using detail::ColorClass;

/// B u + T of a cell, with the contribution of fixed cells outside the image. `thresholds` may be
/// null.
__device__ std::int32_t bias_at(const CellSource& u, const CellStagePlan& stage,
                                const std::int32_t* thresholds, int width, int height,
                                std::int64_t pitch, int x, int y) {
  const int radius = stage.radius;
  std::int64_t control = 0;
  int weight = 0;
  for (int dy = -radius; dy <= radius; ++dy) {
    const int from_y = beyond(y + dy, height, stage.boundary);
    for (int dx = -radius; dx <= radius; ++dx, ++weight) {
      const int from_x = beyond(x + dx, width, stage.boundary);
      if (from_x < 0 || from_y < 0) {
        control +=
            static_cast<std::int64_t>(stage.b[weight] + stage.a[weight]) * stage.boundary_value;
      } else if (stage.b[weight] != 0) {
        control += stage.b[weight] * input_at(u, from_x, from_y);
      }
    }
  }
  std::int64_t threshold = stage.threshold;
  if (thresholds != nullptr) threshold += thresholds[y * pitch + x];
  return static_cast<std::int32_t>(detail::bias_of(control, stage.levels, threshold, stage.limit));
}

__global__ void __launch_bounds__(kBiasThreads) make_bias(const __grid_constant__ BiasArguments a) {
  for (int y = blockIdx.x; y < a.height; y += gridDim.x) {
    for (int x = threadIdx.x; x < a.width; x += kBiasThreads) {
      a.bias[y * a.pitch + x] =
          bias_at(a.u, a.stage, a.threshold_plane, a.width, a.height, a.pitch, x, y);
    }
  }
}

/// What the sweeps of a stage work on; see GeneralArguments.
struct StageWork {
  const CellStagePlan& stage;
  CellPlane cells;
  std::uint8_t* other;
  const std::int32_t* bias;
  std::uint32_t* counts;
  std::uint8_t* marks;
  const CellEnd& end;
};

struct Cells {
  const StageWork& a;
  std::uint8_t* k;
  // The outputs that states are computed from; in a synchronous step, those before the step.
  const std::uint8_t* from;
  unsigned changed = 0;  // number of changes by this thread

  __device__ explicit Cells(const StageWork& work) : a(work), k(work.cells.k), from(work.cells.k) {}

  __device__ std::int64_t at(int x, int y) const { return y * a.cells.pitch + x; }

  __device__ std::int32_t state(int x, int y) const {
    const CellStagePlan& stage = a.stage;
    const int radius = stage.radius;
    const int most = stage.levels - 1;
    std::int32_t sum = a.bias[at(x, y)];
    if (!stage.has_a) {
      const int center = 2 * radius * (radius + 1);
      return sum + stage.a[center] * (2 * from[at(x, y)] - most);
    }
    int weight = 0;
    for (int dy = -radius; dy <= radius; ++dy) {
      const int from_y = beyond(y + dy, a.cells.height, stage.boundary);
      for (int dx = -radius; dx <= radius; ++dx, ++weight) {
        const int from_x = beyond(x + dx, a.cells.width, stage.boundary);
        if (from_x < 0 || from_y < 0) continue;  // part of the bias
        sum += stage.a[weight] * (2 * from[at(from_x, from_y)] - most);
      }
    }
    return sum;
  }

  __device__ bool update(int x, int y) {
    const CellStagePlan& stage = a.stage;
    const std::int32_t sum = state(x, y);
    const int to = stage.levels == 2 ? (sum >= 0 ? 1 : 0)
                                     : detail::many_levels_output(sum, stage.levels, stage.xi);
    const bool changes = to != from[at(x, y)];
    if (changes) ++changed;
    k[at(x, y)] = static_cast<std::uint8_t>(to);
    return changes;
  }

  __device__ bool swap(int x, int y) {
    const CellStagePlan& stage = a.stage;
    const int center = 2 * stage.radius * (stage.radius + 1);
    const int own = 2 * k[at(x, y)] - 1;
    const bool right = x + 1 < a.cells.width && 2 * k[at(x + 1, y)] - 1 != own;
    const bool below = y + 1 < a.cells.height && 2 * k[at(x, y + 1)] - 1 != own;
    if (!right && !below) return false;
    const std::int32_t here = state(x, y);
    std::int32_t best = 0;
    std::int64_t partner = 0;
    if (right) {
      const std::int32_t gain =
          own * (state(x + 1, y) - here) + 2 * (stage.a[center] - stage.a[center + 1]);
      if (gain > best) {
        best = gain;
        partner = at(x + 1, y);
      }
    }
    if (below) {
      const std::int32_t gain = own * (state(x, y + 1) - here) +
                                2 * (stage.a[center] - stage.a[center + 2 * stage.radius + 1]);
      if (gain > best) {
        best = gain;
        partner = at(x, y + 1);
      }
    }
    if (best == 0) return false;
    k[at(x, y)] ^= 1;
    k[partner] ^= 1;
    changed += 2;
    return true;
  }

  // ---- marks

  __device__ int tiles() const { return (a.cells.width + kMarkColumns - 1) / kMarkColumns; }

  __device__ void mark_all() {
    for (int i = static_cast<int>(blockIdx.x) * kGeneralThreads + threadIdx.x;
         i < tiles() * a.cells.height; i += static_cast<int>(gridDim.x) * kGeneralThreads)
      a.marks[i] = 1;
  }

  /// Marks all cells that depend on the cell at (x, y), which has changed. With swaps, its right or
  /// lower neighbor has changed as well, and swaps also depend on the states of neighbors.
  __device__ void mark(int x, int y) {
    const int reach = a.stage.radius + (a.stage.move == CellMove::kSwap ? 1 : 0);
    // These are at most two tiles, except with a periodic boundary.
    const int step = a.stage.boundary == CellBoundary::kPeriodic ? 1 : 2 * reach;
    for (int dy = -reach; dy <= reach; ++dy) {
      const int row = seen(y + dy, a.cells.height);
      for (int dx = -reach; dx <= reach; dx += step)
        a.marks[row * tiles() + seen(x + dx, a.cells.width) / kMarkColumns] = 1;
    }
  }
  __device__ int seen(int position, int length) const {
    if (a.stage.boundary == CellBoundary::kPeriodic)
      return beyond(position, length, CellBoundary::kPeriodic);
    return min(max(position, 0), length - 1);
  }

  // ---- one sweep; the grid synchronizes before and after it

  __device__ void each() {
    for (int y = blockIdx.x; y < a.cells.height; y += gridDim.x)
      for (int x = threadIdx.x; x < a.cells.width; x += kGeneralThreads) update(x, y);
  }

  /// Rows of a class do not depend on each other, so the grid need not synchronize between the
  /// colors of a row.
  __device__ void colors(cg::grid_group& grid, std::uint8_t* marked) {
    const CellStagePlan& stage = a.stage;
    const int row_classes = color_class_count(a.cells.height, stage.spacing, stage.boundary);
    const int column_classes = color_class_count(a.cells.width, stage.spacing, stage.boundary);
    const int wide = tiles();
    const int at_once = kGeneralThreads / wide;  // rows
    for (int r = 0; r < row_classes; ++r) {
      if (r > 0) grid.sync();
      const ColorClass rows = color_class(r, a.cells.height, stage.spacing, stage.boundary);
      const int step = static_cast<int>(gridDim.x) * rows.step;
      for (int first = rows.first + static_cast<int>(blockIdx.x) * rows.step; first < rows.end;
           first += at_once * step) {
        const int y = first + static_cast<int>(threadIdx.x) / wide * step;
        bool asks = false;
        if (static_cast<int>(threadIdx.x) < at_once * wide && y < rows.end) {
          std::uint8_t& mark = a.marks[y * wide + static_cast<int>(threadIdx.x) % wide];
          asks = mark != 0;
          mark = 0;
        }
        marked[threadIdx.x] = asks ? 1 : 0;
        if (__syncthreads_or(asks ? 1 : 0) == 0) continue;
        for (int i = 0; i < at_once && first + i * step < rows.end; ++i)
          colors_row(first + i * step, column_classes, marked + i * wide);
      }
    }
  }

  __device__ void colors_row(int y, int column_classes, const std::uint8_t* marked) {
    const CellStagePlan& stage = a.stage;
    const int wide = tiles();
    const bool asks = static_cast<int>(threadIdx.x) < wide && marked[threadIdx.x] != 0;
    if (__syncthreads_or(asks ? 1 : 0) == 0) return;
    for (int c = 0; c < column_classes; ++c) {
      const ColorClass columns = color_class(c, a.cells.width, stage.spacing, stage.boundary);
      for (int x = columns.first + static_cast<int>(threadIdx.x) * columns.step; x < columns.end;
           x += kGeneralThreads * columns.step) {
        // A change of a cell of an earlier color can mark a tile while the row is processed.
        const int tile = x / kMarkColumns;
        if (marked[tile] == 0 && a.marks[y * wide + tile] == 0) continue;
        if (stage.move == CellMove::kSwap ? swap(x, y) : update(x, y)) mark(x, y);
      }
      __syncthreads();
    }
  }

  /// Updates the cells in the order of ascending sums x + (radius + 1) y. Cells with equal sums do
  /// not depend on each other. Among cells that do, a smaller sum means an earlier position in
  /// raster order, so the result is that of raster order. With a periodic boundary this does not
  /// hold, so one thread updates all cells.
  __device__ void raster(cg::grid_group& grid) {
    const int slope = a.stage.radius + 1;
    const int width = a.cells.width;
    const int height = a.cells.height;
    if (a.stage.boundary == CellBoundary::kPeriodic) {
      if (blockIdx.x != 0 || threadIdx.x != 0) return;
      for (int y = 0; y < height && stop_word(a.end) == 0; ++y)
        for (int x = 0; x < width; ++x) update(x, y);
      return;
    }
    const int thread = static_cast<int>(blockIdx.x) * kGeneralThreads + threadIdx.x;
    const int threads = static_cast<int>(gridDim.x) * kGeneralThreads;
    const int last = width - 1 + slope * (height - 1);
    for (int sum = 0; sum <= last; ++sum) {
      if (sum > 0) grid.sync();
      const int least = sum < width ? 0 : (sum - width + slope) / slope;
      const int most = min(sum / slope, height - 1);
      for (int y = least + thread; y <= most; y += threads) update(sum - slope * y, y);
    }
  }
};

/// Adds the changes of all threads of the block to `count`. `block_changed` is in shared memory,
/// and 0 before and after.
__device__ void add_changes(std::uint32_t& count, unsigned changed, unsigned& block_changed) {
  if (changed != 0) atomicAdd(&block_changed, changed);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (block_changed != 0) atomicAdd(&count, block_changed);
  block_changed = 0;
}

/// In a counter of changes: the operator was stopped. No sweep has as many changes.
constexpr std::uint32_t kStopped = 1u << 31;

/// Sweeps up to the fixed point or the limit, at most `left` times. The final outputs are in
/// `cells.from`. The grid has synchronized before. `marked` is an array in shared memory of
/// kGeneralThreads elements.
__device__ CellTotals run_sweeps(cg::grid_group& grid, Cells& cells, unsigned& block_changed,
                                 std::uint8_t* marked, std::uint32_t left) {
  const StageWork& a = cells.a;
  const bool leader = blockIdx.x == 0 && threadIdx.x == 0;
  const bool synchronous = a.stage.update == CellUpdate::kSynchronous;
  // Without A, the order of updates does not matter.
  const bool each = !a.stage.has_a && a.stage.move == CellMove::kUpdate;
  if (leader)
    for (int i = 0; i < 3; ++i) a.counts[i] = 0;
  if (threadIdx.x == 0) block_changed = 0;
  cells.mark_all();
  grid.sync();
  CellTotals totals{};
  if (left == 0) return totals;
  const auto most = static_cast<std::uint32_t>(a.stage.max_sweeps);
  std::uint32_t n = 0;
  std::uint32_t count = 0;
  do {
    std::uint32_t asked = leader ? stop_word(a.end) : 0;
    cells.changed = 0;
    if (synchronous && !each) cells.k = cells.from == a.cells.k ? a.other : a.cells.k;
    if (each || synchronous) {
      cells.each();
    } else if (a.stage.update == CellUpdate::kRaster) {
      cells.raster(grid);
    } else {
      cells.colors(grid, marked);
    }
    cells.from = cells.k;
    // A sweep of this order may have ended early.
    if (leader && a.stage.update == CellUpdate::kRaster) asked |= stop_word(a.end);
    add_changes(a.counts[n % 3], cells.changed, block_changed);
    if (asked != 0) atomicOr(&a.counts[n % 3], kStopped);
    grid.sync();
    count = *static_cast<volatile std::uint32_t*>(&a.counts[n % 3]);
    // This counter is used again two sweeps later. It was last read in the previous sweep.
    if (leader) a.counts[(n + 2) % 3] = 0;
    ++n;
  } while (count != 0 && count < kStopped && n < most && n < left);
  totals.sweeps = n;
  totals.changed = count & ~kStopped;
  totals.converged = totals.changed == 0 ? 1 : 0;
  totals.stopped = count >= kStopped ? 1 : 0;
  totals.finished = totals.stopped == 0 && (totals.converged != 0 || n == most) ? 1 : 0;
  return totals;
}

/// Ends a run, whose outputs are in `from`: copies them to `to` and writes the result.
__device__ void end_run(const CellEnd& end, const CellTotals& totals, const std::uint8_t* from,
                        const CellPlane& to) {
  if (blockIdx.x == 0 && threadIdx.x == 0) add_totals(end, totals);
  const bool bad = *static_cast<volatile unsigned*>(&end.state->bad) != 0;
  for (int y = blockIdx.x; y < to.height; y += gridDim.x) {
    for (int x = threadIdx.x; x < to.width; x += kGeneralThreads) {
      const std::int64_t at = y * to.pitch + x;
      const std::uint8_t k = from[at];
      if (from != to.k) to.k[at] = k;
      if (end.keep != nullptr && !bad) end.keep[at] = k;
      if (end.last) write_gray(end, x, y, k, bad);
    }
  }
  __syncthreads();
  if (end.last && threadIdx.x == 0) finish_frame(end.state, end.outcome, end.frames, gridDim.x);
}

__global__ void __launch_bounds__(kGeneralThreads)
    run_general(const __grid_constant__ GeneralArguments a) {
  __shared__ unsigned block_changed;
  __shared__ std::uint8_t marked[kGeneralThreads];
  cg::grid_group grid = cg::this_grid();
  const StageWork work = {a.stage, a.cells, a.other, a.bias, a.counts, a.marks, a.end};
  Cells cells(work);
  const CellTotals totals = run_sweeps(grid, cells, block_changed, marked, sweeps_left(a.end));
  end_run(a.end, totals, cells.from, a.cells);
}

// ---- groups of stages

/// The planes of a stage of a group, as indices of GroupArguments::k.
struct StagePlanes {
  int plane;  // initial outputs
  int other;  // for the synchronous update

  /// `from` has the outputs of the previous stage, or is -1.
  __device__ explicit StagePlanes(int from)
      : plane(from == 0 ? 1 : 0), other(3 - plane - max(from, plane == 0 ? 1 : 0)) {}
};

/// Computes the initial outputs and the bias of a stage.
__device__ void start_stage(const GroupArguments& a, const GroupStage& stage, CellInput input,
                            CellStart start, const std::uint8_t* previous, int previous_levels,
                            std::uint8_t* to) {
  StartArguments s{};
  s.u = a.frame;
  if (input == CellInput::kPrevious) {
    s.u.k = previous;
    s.u.levels = previous_levels;
  }
  s.to = {to, a.pitch, a.width, a.height};
  s.start = start;
  s.value = stage.plan.start_value;
  s.seed = stage.plan.seed;
  s.plane = stage.start_plane;
  s.ranks = a.ranks;
  s.previous = previous;
  s.previous_levels = previous_levels;
  for (int y = blockIdx.x; y < a.height; y += gridDim.x) {
    for (int x = threadIdx.x; x < a.width; x += kGeneralThreads) {
      const std::int64_t at = y * a.pitch + x;
      to[at] = static_cast<std::uint8_t>(
          detail::first_output(start_state(s, x, y), stage.plan.levels, stage.plan.start_xi));
      a.bias[at] =
          bias_at(s.u, stage.plan, stage.threshold_plane, a.width, a.height, a.pitch, x, y);
    }
  }
}

/// Counts the cells of this thread whose outputs differ from those of the previous pass, which they
/// replace.
__device__ unsigned keep_pass(const GroupArguments& a, const std::uint8_t* now) {
  unsigned changed = 0;
  for (int y = blockIdx.x; y < a.height; y += gridDim.x) {
    for (int x = threadIdx.x; x < a.width; x += kGeneralThreads) {
      const std::int64_t at = y * a.pitch + x;
      if (a.pass[at] != now[at]) ++changed;
      a.pass[at] = now[at];
    }
  }
  return changed;
}

__global__ void __launch_bounds__(kGeneralThreads)
    run_group(const __grid_constant__ GroupArguments a) {
  __shared__ unsigned block_changed;
  __shared__ std::uint8_t marked[kGeneralThreads];
  cg::grid_group grid = cg::this_grid();
  const bool leader = blockIdx.x == 0 && threadIdx.x == 0;
  std::uint32_t* const counts = a.counts + 3;
  if (leader)
    for (int i = 0; i < 3; ++i) counts[i] = 0;
  int from = a.before;
  int levels = a.before_levels;
  CellTotals totals{};
  totals.finished = 1;
  const std::uint32_t left = sweeps_left(a.end);
  int pass = 0;
  bool again = false;
  do {
    for (int s = 0; s < a.stage_count; ++s) {
      const GroupStage& stage = a.stages[s];
      const bool repeats = s == 0 && pass > 0;
      const StagePlanes planes(from);
      const StageWork work = {stage.plan,
                              {a.k[planes.plane], a.pitch, a.width, a.height},
                              a.k[planes.other],
                              a.bias,
                              a.counts,
                              a.marks,
                              a.end};
      start_stage(a, stage, repeats ? a.again_input : stage.plan.input,
                  repeats ? a.again_start : stage.plan.start, from < 0 ? nullptr : a.k[from],
                  levels, work.cells.k);
      grid.sync();
      Cells cells(work);
      const CellTotals swept = run_sweeps(grid, cells, block_changed, marked,
                                          totals.stopped != 0 ? 0 : left - totals.sweeps);
      totals.sweeps += swept.sweeps;
      totals.finished &= swept.finished;
      totals.stopped |= swept.stopped;
      from = cells.from == work.cells.k ? planes.plane : planes.other;
      levels = stage.plan.levels;
    }
    const unsigned changed = keep_pass(a, a.k[from]);
    if (pass == 0) {
      // The plane of the previous pass holds nothing of this frame.
      totals.changed = static_cast<std::uint32_t>(a.width) * static_cast<std::uint32_t>(a.height);
    } else {
      add_changes(counts[pass % 3], changed, block_changed);
      grid.sync();
      totals.changed = *static_cast<volatile std::uint32_t*>(&counts[pass % 3]);
      // This counter is used again two passes later. It was last read in the previous pass.
      if (leader) counts[(pass + 2) % 3] = 0;
    }
    ++pass;
    again = totals.changed != 0 && pass < a.max_passes;
    if (again && totals.sweeps == left) totals.finished = 0;
  } while (again && totals.finished != 0);
  totals.converged = totals.changed == 0 ? 1 : 0;
  totals.passes = static_cast<std::uint32_t>(pass);
  end_run(a.end, totals, a.k[from], {a.k[a.to], a.pitch, a.width, a.height});
}

}  // namespace

const Kernel<BiasArguments> kBiasKernel = make_bias;
const Kernel<GeneralArguments> kGeneralKernel = run_general;
const Kernel<GroupArguments> kGroupKernel = run_group;

}  // namespace ocellus::cuda
