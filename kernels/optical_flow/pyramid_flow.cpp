#include "kernels/optical_flow/pyramid_flow.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iterator>

#include "core/failure.h"
#include "image/pixel_rows.h"
#include "image/warp.h"

namespace ocellus::cuda {
namespace {

using detail::PyramidStep;
using Kind = detail::PyramidStepKind;

constexpr int kLine = 32;   // floats in a cache line
constexpr int kBefore = 8;  // floats before a row: whole sectors, with room for the warp
static_assert(kBefore >= detail::kWarpBefore);

int whole_lines(int pixels) {
  return (pixels + kLine - 1) / kLine * kLine;
}

dim3 grid_of(int width, int height, int tile_height) {
  return {block_count(width, kPyramidTileWidth), block_count(height, tile_height), 1};
}
dim3 grid_of(const Rect& part, int tile_height) {
  return grid_of(part.width, part.height, tile_height);
}

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// The index of the variant that takes the least time for the half sweeps of a warp.
int sweep_variant(const Rect& region, int half_sweeps, int multiprocessors) {
  int best = 0;
  int least = INT_MAX;
  for (int v = 0; v < static_cast<int>(std::size(kSweepVariants)); ++v) {
    const SweepVariant& shape = kSweepVariants[v];
    const int launches = (half_sweeps + shape.most - 1) / shape.most;
    const int count = (half_sweeps + launches - 1) / launches;
    const int blocks = static_cast<int>(block_count(region.width, shape.columns()) *
                                        block_count(region.height, shape.rows()));
    const int rounds = (blocks + multiprocessors - 1) / multiprocessors;
    // In half sweeps of four rows of a tile, which take an H200 10 ns. The blocks of a round share
    // the bandwidth of memory. On the mean, half the halo is needed.
    const int load = 8 + std::max(9, std::min(blocks, multiprocessors) / 5);
    const int rows = (shape.rows() + count + 1) / SweepVariant::kRowsOfThread;
    const int time = launches * (250 + rounds * (shape.threads / 32 * load + count * (4 + rows)));
    if (time >= least) continue;
    least = time;
    best = v;
  }
  return best;
}

}  // namespace

PyramidFlow::PyramidFlow(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept
    : FlowOperator(plan, kernels), pyramid_(plan) {
  for (int l = 0; l < plan.levels; ++l) {
    const ImageSize size = plan.level_size[at(l)];
    StoredLevel& level = level_[at(l)].stored;
    level.width = size.width;
    level.height = size.height;
    level.stride = whole_lines(kBefore + size.width + detail::kWarpAfter);
    level.origin = frame_floats_ + std::int64_t{detail::kWarpBefore} * level.stride + kBefore;
    frame_floats_ +=
        std::int64_t{level.stride} * (detail::kWarpBefore + size.height + detail::kWarpAfter);
    raw_stride_[at(l)] = whole_lines(size.width);
    const Rect& region = pyramid_.region[at(l)];
    level_[at(l)] = {level, level, region, whole_lines(region.width)};
  }
  StoredLevel& guide = level_[0].guide = {};
  if (is_variational(plan) || plan.deviation) {
    guide = {frame_floats_, whole_lines(plan.size.width), plan.size.width, plan.size.height};
    frame_floats_ += std::int64_t{guide.stride} * guide.height;
  }
}

void PyramidFlow::layout_method(LayoutBuilder& device) noexcept {
  window_ = device.take<float>(at(plan_.frames) * static_cast<std::size_t>(frame_floats_));
  std::size_t most = 0;
  for (int l = 0; l < plan_.levels; ++l) {
    if (l > 0) {
      raw_[at(l)] = device.take<float>(static_cast<std::size_t>(raw_stride_[at(l)]) *
                                       at(plan_.level_size[at(l)].height));
    }
    const std::size_t pixels = at(level_[at(l)].stride) * at(level_[at(l)].region.height);
    for (float2*& plane : flow_[at(l)]) plane = device.take<float2>(pixels);
    most = std::max(most, pixels);
  }
  confidence_ = device.take<float>(most);
  zeros_ = device.take<float2>(at(level_[at(plan_.levels - 1)].stride));
  if (is_variational(plan_)) {
    system_ = {device.take<float4>(most), device.take<float4>(most)};
    for (float2*& plane : swept_) plane = device.take<float2>(most);
    residual_ = device.take<float>(most);
  } else {
    warped_ = device.take<float2>(most);
  }
}

Expected<void> PyramidFlow::load(Scope& cuda, const KernelConfig&) noexcept {
  Recording frame{cuda, 0, nullptr};
  frame.loading = true;
  return walk(frame);
}

// ---- recording

template <typename Argument>
Expected<void> PyramidFlow::add(Recording& frame, Kernel<Argument> kernel, dim3 grid,
                                std::size_t shared_bytes, const Argument& argument,
                                int threads) noexcept {
  if (frame.loading) return load_kernel(frame.cuda, kernel, shared_bytes);
  // The kernels are short. Each of them may be set up while the previous one ends.
  const bool overlap = !frame.first;
  frame.first = false;
  return launch(frame.cuda, frame.stream, kernel, grid, dim3(static_cast<unsigned>(threads)),
                shared_bytes, argument, overlap);
}

Expected<void> PyramidFlow::record_method(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  Recording frame{cuda, slot, stream};
  return walk(frame);
}

Expected<void> PyramidFlow::walk(Recording& frame) noexcept {
  OCELLUS_TRY(record_frame(frame));
  for (int s = 0; s < pyramid_.step_count; ++s) {
    const PyramidStep& step = pyramid_.steps[s];
    // Without deviation, the kernel before the last step writes the output planes.
    const bool finish = !plan_.deviation && s + 2 == pyramid_.step_count;
    Expected<void> done;
    switch (step.kind) {
      case Kind::kExpand:
        frame.source = expanded(step.level, frame.source);
        frame.plane = 0;
        break;
      case Kind::kSmooth: {
        auto a = flow_arguments<SmoothArguments>(frame, step.level);
        a.target = next_target(frame, step.level, false);
        a.warped = warped_;
        a.radius = plan_.pyramid.smoothing_size / 2;
        done = add(frame, smooth_kernel(a), grid_of(a.target.part, kSmoothTileHeight),
                   smooth_shared_bytes(a.radius), a);
        break;
      }
      case Kind::kSolve:
        done = record_solve(frame, step.level, finish);
        break;
      case Kind::kCandidates: {
        auto a = flow_arguments<FlowArguments>(frame, step.level);
        a.target = next_target(frame, step.level, false);
        const Rect& part = a.target.part;
        const dim3 grid{block_count(part.width, kCandidateColumns),
                        block_count(part.height, kCandidateRows), 1};
        done = add(frame, candidate_kernel(), grid, 0, a, kCandidateThreads);
        break;
      }
      case Kind::kRefine:
        done = record_warp_and_sweeps(frame, step);
        break;
      case Kind::kGuidedMedian:
        done = record_guided_median(frame, step.level, finish);
        break;
      case Kind::kFinish: {
        if (!plan_.deviation) break;
        auto a = flow_arguments<DeviationArguments>(frame, 0, true);
        a.target = final_target(a.level.region);
        a.model = detail::pyramid_deviation(plan_, pyramid_);
        a.cells = deviation_cells();
        a.confidence = confidence_;
        done = add(frame, deviation_kernel(FlowMethod::kPyramid),
                   grid_of(a.target.part, kDeviationTileHeight), 0, a);
        break;
      }
      default:  // done by record_frame
        break;
    }
    if (!done) return done;
  }
  return {};
}

Expected<void> PyramidFlow::record_frame(Recording& frame) noexcept {
  OCELLUS_TRY(frame.loading ? load_check_kernel(frame.cuda)
                            : launch_check(frame.cuda, frame.slot, frame.stream));
  frame.first = plan_.format != PixelFormat::kFloat32;
  for (int l = 1; l < plan_.levels; ++l) {
    ReduceArguments a{};
    a.frame = params(frame.slot);
    a.from = raw_[at(l - 1)];
    a.from_stride = raw_stride_[at(l - 1)];
    a.to = raw_[at(l)];
    a.to_stride = raw_stride_[at(l)];
    a.from_width = plan_.level_size[at(l - 1)].width;
    a.from_height = plan_.level_size[at(l - 1)].height;
    a.width = plan_.level_size[at(l)].width;
    a.height = plan_.level_size[at(l)].height;
    const PixelFormat format = l == 1 ? plan_.format : PixelFormat::kFloat32;
    a.scale = detail::gray_scale(format);
    OCELLUS_TRY(
        add(frame, reduce_kernel(format), grid_of(a.width, a.height, kReduceTileHeight), 0, a));
  }
  PrepareArguments a = with_frame(PrepareArguments{}, frame.slot, false);
  a.window = window();
  a.levels = plan_.levels;
  unsigned blocks = 0;
  for (int l = 0; l < plan_.levels; ++l) {
    const StoredLevel& stored = level_[at(l)].stored;
    const dim3 grid = grid_of(stored.width, stored.height, kPrepareTileHeight);
    a.level[l] = {raw_[at(l)], raw_stride_[at(l)], stored, static_cast<int>(grid.x),
                  static_cast<int>(blocks)};
    blocks += grid.x * grid.y;
  }
  a.guide = level_[0].guide;
  a.scale = detail::gray_scale(plan_.format);
  std::copy(pyramid_.presmoothing.begin(), pyramid_.presmoothing.end(), a.presmoothing);
  return add(frame, prepare_kernel(plan_.format, !is_variational(plan_)), dim3(blocks), 0, a);
}

FlowSource PyramidFlow::expanded(int level, const FlowSource& above) const noexcept {
  FlowSource source{};
  if (level == plan_.levels - 1) {
    source.flow = zeros_;
    return source;
  }
  const Rect& region = pyramid_.region[at(level)];
  const Rect& coarse = pyramid_.region[at(level + 1)];
  source.coarse = true;
  source.flow = above.flow;
  source.stride = above.stride;
  source.region_y = region.y;
  source.first_x = region.x / 2 - coarse.x;
  source.coarse_y = coarse.y;
  source.coarse_width = coarse.width;
  source.coarse_height = coarse.height;
  return source;
}

FlowTarget PyramidFlow::next_target(Recording& frame, int level, bool finish) noexcept {
  const Rect& region = level_[at(level)].region;
  if (finish) return final_target(region);
  FlowTarget target{};
  target.part = {0, 0, region.width, region.height};
  target.flow = flow_[at(level)][at(frame.plane)];
  frame.plane = 1 - frame.plane;
  frame.source = {target.flow, level_[at(level)].stride};
  return target;
}

template <typename Arguments>
Arguments PyramidFlow::flow_arguments(const Recording& frame, int level, bool finish) noexcept {
  Arguments a = with_frame(Arguments{}, frame.slot, finish);
  a.window = window();
  a.level = level_[at(level)];
  a.source = frame.source;
  return a;
}

Expected<void> PyramidFlow::record_solve(Recording& frame, int level, bool finish) noexcept {
  auto a = flow_arguments<SolveArguments>(frame, level, finish);
  a.target = next_target(frame, level, finish);
  a.target.confidence = finish ? nullptr : confidence_;
  a.warped = warped_;
  a.radius = plan_.radius;
  for (int k = -a.radius; k <= a.radius; ++k)
    a.weight[3 + a.radius + k] = plan_.weight[at(std::abs(k))];
  a.ridge = plan_.pyramid.ridge;
  const dim3 grid = grid_of(a.target.part, solve_tile_height(a.radius));
  const int threads =
      solve_threads(a.radius, static_cast<int>(grid.x * grid.y), device().traits().multiprocessors);
  return add(frame, solve_kernel(a.radius, threads), grid, solve_shared_bytes(a.radius, threads), a,
             threads);
}

Expected<void> PyramidFlow::record_warp_and_sweeps(Recording& frame,
                                                   const PyramidStep& step) noexcept {
  const int level = step.level;
  auto a = flow_arguments<SystemArguments>(frame, level);
  a.system = system_;
  if (step.last) a.residual = residual_;
  if (step.last && level == 0) a.confidence = confidence_;
  a.smoothness = detail::smoothness_of(plan_.pyramid, level);
  const Rect& region = pyramid_.region[at(level)];
  const dim3 high = grid_of(region, kHighSystemTile);
  const int multiprocessors = device().traits().multiprocessors;
  const int height =
      static_cast<int>(high.x * high.y) <= multiprocessors ? kLowSystemTile : kHighSystemTile;
  OCELLUS_TRY(
      add(frame, system_kernel(height), grid_of(region, height), 0, a, kPyramidTileWidth * height));
  const int half_sweeps = detail::half_sweeps(plan_.pyramid, level);
  auto sweep = flow_arguments<SweepArguments>(frame, level);
  sweep.system = a.system;
  sweep.before = a.source;
  const int variant = sweep_variant(region, half_sweeps, multiprocessors);
  const SweepVariant& shape = kSweepVariants[variant];
  const dim3 grid{block_count(region.width, shape.columns()),
                  block_count(region.height, shape.rows()), 1};
  const int launches = (half_sweeps + shape.most - 1) / shape.most;
  for (int launch = 0; sweep.first < half_sweeps; ++launch) {
    sweep.count = (half_sweeps - sweep.first) / (launches - launch);
    sweep.last = sweep.first + sweep.count == half_sweeps;
    sweep.median = sweep.last && !step.last;
    sweep.target.flow = swept_[launch % 2];
    if (sweep.last) sweep.target = next_target(frame, level, false);
    OCELLUS_TRY(add(frame, sweep_kernel(variant), grid, 0, sweep, shape.threads));
    sweep.source = {sweep.target.flow, a.level.stride};
    sweep.first += sweep.count;
  }
  return {};
}

Expected<void> PyramidFlow::record_guided_median(Recording& frame, int level,
                                                 bool finish) noexcept {
  auto a = flow_arguments<GuidedMedianArguments>(frame, level, finish);
  a.target = next_target(frame, level, finish);
  a.residual = residual_;
  if (level == 0) {
    a.confidence = confidence_;
    if (!finish) a.target.confidence = confidence_;
  }
  a.reweightings = plan_.pyramid.reweightings;
  return add(frame, guided_median_kernel(), grid_of(a.target.part, kGuidedTileHeight), 0, a);
}

}  // namespace ocellus::cuda
