#include "optical_flow/cpu/pyramid_flow.h"

#include <algorithm>
#include <iterator>

#include "image/pixel_rows.h"
#include "image/pyramid.h"
#include "optical_flow/cpu/flow_rows.h"

namespace ocellus::detail {
namespace {

/// Pixels beyond the ends of a stored row, for warps and the guided median.
constexpr int kStoredReach = std::max(kWarpAfter, kGuidedReach);

std::size_t floats(int count) {
  return static_cast<std::size_t>(count);
}

}  // namespace

PyramidFlow::PyramidFlow(const OpticalFlowPlan& plan, int workers,
                         const KernelConfig* kernels) noexcept
    : FlowOperator(plan, workers, kernels), pyramid_(plan) {
  contrast_box_.set_box(kContrastRadius);
  smoothing_.set_box(plan.pyramid.smoothing_size / 2);
  presmoothing_.set(kPresmoothingRadius, pyramid_.presmoothing.data());
  if (plan.deviation) deviation_ = pyramid_deviation(plan, pyramid_);
}

PyramidFlow::Plane PyramidFlow::take_plane(LayoutBuilder& builder, int width, int height,
                                           bool with_borders) noexcept {
  Plane plane;
  plane.stride = row_stride(width + 2 * Plane::kMargin);
  const int before = with_borders ? kWarpBefore : 0;
  const int after = with_borders ? kWarpAfter : 0;
  float* block = builder.take<float>(floats(before + height + after) * plane.stride);
  plane.origin =
      block == nullptr ? nullptr : block + floats(before) * plane.stride + Plane::kMargin;
  return plane;
}

void PyramidFlow::layout_method(LayoutBuilder& builder) noexcept {
  for (int l = 0; l < plan_.levels; ++l) {
    const auto i = floats(l);
    const ImageSize size = plan_.level_size[i];
    if (l > 0) raw_[i] = take_plane(builder, size.width, size.height, false);
    if (!is_variational(plan_)) {
      highpass_[i] = take_plane(builder, size.width, size.height, false);
      normalized_[i] = take_plane(builder, size.width, size.height, false);
    }
    for (auto& frame : window_) frame[i] = take_plane(builder, size.width, size.height, true);
    for (FlowPlanes& flow : flow_[i])
      for (Plane& plane : flow)
        plane = take_plane(builder, pyramid_.region[i].width, pyramid_.region[i].height, false);
  }
  const auto work_plane = [&] {
    return take_plane(builder, plan_.size.width, plan_.size.height, false);
  };
  frame_.fill(work_plane());
  if (is_variational(plan_) || plan_.deviation) frame_[1] = work_plane();
  if (is_variational(plan_)) flow_residual_ = work_plane();
  confidence_ = work_plane();
  const int width = plan_.size.width;
  const int radius = std::max({kContrastRadius, kPresmoothingRadius, kDeviationRadius, plan_.radius,
                               plan_.pyramid.smoothing_size / 2});
  for (int w = 0; w < workers_; ++w) {
    Scratch& scratch = scratch_[floats(w)];
    scratch.sweep.layout(builder, width, radius, kMaxSweepPlanes);
    if (!is_variational(plan_))
      for (RowRing* ring : {&scratch.warped, &scratch.mean}) ring->layout(builder, 8, width);
    scratch.row.layout(builder, 1, width);
    if (plan_.deviation) scratch.deviation.layout(builder, width);
    if (is_variational(plan_)) scratch.variational.layout(builder, width, plan_.pyramid);
  }
}

Bands PyramidFlow::bands_of(StepKind kind, int level) const noexcept {
  const bool variational = kind >= StepKind::kCandidates && kind <= StepKind::kGuidedMedian;
  const int rows = kind == StepKind::kFinish      ? plan_.roi.height
                   : kind <= StepKind::kPresmooth ? plan_.level_size[floats(level)].height
                                                  : pyramid_.region[floats(level)].height;
  // Of the variational solver: one for each worker, because a band computes what it needs of its
  // neighbors.
  return Bands::cut(rows, workers_, variational ? 1 : 3, 16);
}

void PyramidFlow::build_method(JobStep* steps, StepContext* contexts) noexcept {
  for (int s = 0; s < pyramid_.step_count; ++s) {
    const Step& step = pyramid_.steps[s];
    contexts[s].index = s;
    // The parts of some steps are those of all levels, one after the other.
    const bool all = step.kind >= StepKind::kHighpass && step.kind <= StepKind::kPresmooth;
    int parts = 0;
    for (int l = step.level; l < (all ? plan_.levels : step.level + 1); ++l)
      parts += bands_of(step.kind, l).count();
    steps[s] = {&PyramidFlow::run, &contexts[s], parts};
  }
}

void PyramidFlow::run(void* context, int part, int worker) noexcept {
  // In the order of PyramidStepKind.
  static constexpr StepFunction kFunctions[] = {
      &PyramidFlow::ingest,      &PyramidFlow::reduce,      &PyramidFlow::highpass,
      &PyramidFlow::normalize,   &PyramidFlow::presmooth,   &PyramidFlow::expand,
      &PyramidFlow::smooth,      &PyramidFlow::solve,       &PyramidFlow::variational,
      &PyramidFlow::variational, &PyramidFlow::variational, &PyramidFlow::finish};
  static_assert(std::size(kFunctions) == static_cast<std::size_t>(StepKind::kFinish) + 1);
  const StepContext& at = *static_cast<StepContext*>(context);
  FrameJob& frame = *at.frame;
  PyramidFlow& self = *static_cast<PyramidFlow*>(frame.owner);
  Step step = self.pyramid_.steps[at.index];
  if (step.kind != StepKind::kIngest && frame.bad.load(std::memory_order_relaxed)) return;
  Bands bands = self.bands_of(step.kind, step.level);
  while (part >= bands.count()) {  // a step of all levels
    part -= bands.count();
    bands = self.bands_of(step.kind, ++step.level);
  }
  (self.*kFunctions[static_cast<std::size_t>(step.kind)])(
      frame, step, bands.begin(part), bands.end(part), self.scratch_[floats(worker)]);
}

// ---- a new frame

const PyramidFlow::Plane& PyramidFlow::raw(int level) const noexcept {
  return level == 0 ? frame_[floats(history_.head())] : raw_[floats(level)];
}

void PyramidFlow::ingest(FrameJob& frame, const Step&, int begin, int end,
                         const Scratch&) noexcept {
  bool finite = true;
  for (int y = begin; y < end; ++y) {
    const void* in = static_cast<const char*>(frame.in.data) + y * frame.in.stride;
    finite &= convert_row(in, plan_.format, raw(0).row(y), plan_.size.width);
    extend_flow_row(raw(0).row(y), plan_.size.width);
  }
  if (!finite) mark_bad(frame);
}

void PyramidFlow::reduce(FrameJob&, const Step& step, int begin, int end,
                         const Scratch& scratch) noexcept {
  const ImageSize below = plan_.level_size[floats(step.level - 1)];
  const Plane& source = raw(step.level - 1);
  for (int y = begin; y < end; ++y) {
    reduce_row(rows_around<5>(source, 2 * y, below.height).data(), below.width, scratch.row.row(0),
               raw_[floats(step.level)].row(y));
  }
}

void PyramidFlow::highpass(FrameJob&, const Step& step, int begin, int end,
                           const Scratch& scratch) noexcept {
  const ImageSize size = plan_.level_size[floats(step.level)];
  const Plane& in = raw(step.level);
  const Plane& out = highpass_[floats(step.level)];
  sweep_separable(
      size.width, size.height, begin, end, 1, contrast_box_, scratch.sweep,
      [&](int y, float* const* row) { std::copy_n(in.row(y), size.width, row[0]); },
      [&](int y, float* const* mean) {
        flow_rows().subtract_row(in.row(y), mean[0], out.row(y), size.width);
      });
}

void PyramidFlow::normalize(FrameJob&, const Step& step, int begin, int end,
                            const Scratch& scratch) noexcept {
  const ImageSize size = plan_.level_size[floats(step.level)];
  const Plane& in = highpass_[floats(step.level)];
  const Plane& out = normalized_[floats(step.level)];
  sweep_separable(
      size.width, size.height, begin, end, 1, contrast_box_, scratch.sweep,
      [&](int y, float* const* row) { flow_rows().square_row(in.row(y), row[0], size.width); },
      [&](int y, float* const* variance) {
        flow_rows().normalize_row(in.row(y), variance[0], out.row(y), size.width);
      });
}

void PyramidFlow::presmooth(FrameJob&, const Step& step, int begin, int end,
                            const Scratch& scratch) noexcept {
  const ImageSize size = plan_.level_size[floats(step.level)];
  const Plane& in = is_variational(plan_) ? raw(step.level) : normalized_[floats(step.level)];
  const Plane& out = window_[floats(history_.head())][floats(step.level)];
  const auto keep = [&](int y, const float* row) {
    std::copy_n(row, size.width, out.row(y));
    replicate_edges(out.row(y), size.width, kStoredReach, kStoredReach);
  };
  const auto keep_row = [&](int y, const float* row) {
    keep(y, row);
    for (int k = 1; y == 0 && k <= kWarpBefore; ++k) keep(-k, row);
    for (int k = 1; y == size.height - 1 && k <= kWarpAfter; ++k) keep(y + k, row);
  };
  // The variational solver smooths the finest level only.
  if (is_variational(plan_) && step.level > 0) {
    for (int y = begin; y < end; ++y) keep_row(y, in.row(y));
    return;
  }
  sweep_separable(
      size.width, size.height, begin, end, 1, presmoothing_, scratch.sweep,
      [&](int y, float* const* row) { std::copy_n(in.row(y), size.width, row[0]); },
      [&](int y, float* const* row) { keep_row(y, row[0]); });
}

// ---- the flow of the reference frame

const PyramidFlow::Plane& PyramidFlow::stored(int age, int level) const noexcept {
  return window_[floats(history_.ring_index(age))][floats(level)];
}

PyramidFlow::Plane PyramidFlow::part(Plane plane, int level) const noexcept {
  const Rect& region = pyramid_.region[floats(level)];
  plane.origin = plane.row(region.y) + region.x;
  return plane;
}

void PyramidFlow::expand(FrameJob&, const Step& step, int begin, int end, const Scratch&) noexcept {
  const auto level = floats(step.level);
  const Rect& region = pyramid_.region[level];
  const FlowPlanes& out = flow_[level][floats(step.to)];
  if (step.level == plan_.levels - 1) {
    for (int y = begin; y < end; ++y) {
      for (const Plane& plane : out) {
        std::fill_n(plane.row(y), region.width, 0.0f);
        extend_flow_row(plane.row(y), region.width);
      }
    }
    return;
  }
  const Rect& coarse = pyramid_.region[level + 1];
  const FlowPlanes& in = flow_[level + 1][floats(step.from)];
  const int first = region.x / 2 - coarse.x;
  const auto row = [&](const Plane& from, int y) {
    return from.row(std::min(y - coarse.y, coarse.height - 1)) + first;
  };
  for (int y = begin; y < end; ++y) {
    const int fine = region.y + y;
    for (std::size_t c = 0; c < 2; ++c) {
      expand_flow_row(row(in[c], fine / 2), row(in[c], (fine + 1) / 2), out[c].row(y),
                      region.width);
      extend_flow_row(out[c].row(y), region.width);
    }
  }
}

void PyramidFlow::smooth(FrameJob&, const Step& step, int begin, int end,
                         const Scratch& scratch) noexcept {
  const auto level = floats(step.level);
  const Rect& region = pyramid_.region[level];
  const FlowPlanes& in = flow_[level][floats(step.from)];
  const FlowPlanes& out = flow_[level][floats(step.to)];
  sweep_separable(
      region.width, region.height, begin, end, 2, smoothing_, scratch.sweep,
      [&](int y, float* const* rows) {
        for (std::size_t c = 0; c < 2; ++c) std::copy_n(in[c].row(y), region.width, rows[c]);
      },
      [&](int y, float* const* rows) {
        for (std::size_t c = 0; c < 2; ++c) std::copy_n(rows[c], region.width, out[c].row(y));
      });
}

void PyramidFlow::solve(FrameJob&, const Step& step, int begin, int end,
                        const Scratch& scratch) noexcept {
  const auto level = floats(step.level);
  const Rect& region = pyramid_.region[level];
  const ImageSize size = plan_.level_size[level];
  const FlowPlanes& in = flow_[level][floats(step.from)];
  const FlowPlanes& out = flow_[level][floats(step.to)];
  const Plane reference = part(stored(kReference, step.level), step.level);
  const Plane& source = stored(kNext, step.level);
  const WarpSource from = {source.origin, source.stride, size.width, size.height};
  SolveRow row{};
  row.ridge = plan_.pyramid.ridge;
  int next = std::max(0, begin - plan_.radius - kGradientReach);
  sweep_window(
      plan_, {region.width, region.height}, {0, 0, region.width, region.height}, begin, end,
      scratch.sweep, row,
      [&](int y, float* const* to) {
        for (; next < std::min(y + kGradientReach + 1, region.height); ++next) {
          float* const warped = scratch.warped.row(next);
          float* const mean = scratch.mean.row(next);
          warp_row(from, region.x, region.y + next, in[0].row(next), in[1].row(next), true, warped,
                   region.width);
          flow_rows().mean_row(reference.row(next), warped, mean, region.width);
          replicate_edges(mean, region.width, kGradientReach, kGradientReach);
        }
        ResidualRow residual;
        residual.mean = rows_around<5>(scratch.mean, y, region.height);
        residual.reference = reference.row(y);
        residual.warped = scratch.warped.row(y);
        for (std::size_t c = 0; c < 2; ++c) residual.flow[c] = in[c].row(y);
        residual.x = region.x;
        residual.y = region.y + y;
        residual.image_width = size.width;
        residual.image_height = size.height;
        flow_rows().weighted_products_row(residual, to, region.width);
      },
      [&](int y, const SolveRow& solved) {
        flow_rows().add_increment_row(solved.u, in[0].row(y), out[0].row(y), region.width);
        flow_rows().add_increment_row(solved.v, in[1].row(y), out[1].row(y), region.width);
        for (const Plane& plane : out) extend_flow_row(plane.row(y), region.width);
        std::copy_n(solved.confidence, region.width, confidence_.row(y));
      });
}

void PyramidFlow::variational(FrameJob&, const Step& step, int begin, int end,
                              const Scratch& scratch) noexcept {
  const auto l = floats(step.level);
  const Rect& region = pyramid_.region[l];
  const ImageSize size = plan_.level_size[l];
  const Plane& next = stored(kNext, step.level);
  VariationalLevel level;
  level.next = {next.origin, next.stride, size.width, size.height};
  level.reference = part(stored(kReference, step.level), step.level);
  level.guide =
      step.level == 0 ? part(frame_[floats(history_.ring_index(kReference))], 0) : level.reference;
  level.residual = flow_residual_;
  if (step.level == 0) level.confidence = confidence_;
  level.region = region;
  level.smoothness = smoothness_of(plan_.pyramid, step.level);
  level.half_sweeps = half_sweeps(plan_.pyramid, step.level);
  level.reweightings = plan_.pyramid.reweightings;
  variational_step(step, level, flow_[l][floats(step.from)], flow_[l][floats(step.to)], begin, end,
                   scratch.variational);
}

void PyramidFlow::finish(FrameJob& frame, const Step& step, int begin, int end,
                         const Scratch& scratch) noexcept {
  const Rect& region = pyramid_.region[0];
  const FlowPlanes& flow = flow_[0][floats(step.from)];
  const int x = plan_.roi.x - region.x;
  for (int y = begin; y < end; ++y) {
    const int at = plan_.roi.y - region.y + y;
    const float* confidence = confidence_.row(at) + x;
    for (int c = 0; c < 2; ++c) {
      float* const out = frame.out_row<float>(c, y);
      std::copy_n(flow[floats(c)].row(at) + x, plan_.roi.width, out);
      mark_invalid(confidence, invalid_value(plan_), out);
    }
    keep_motion(frame, y);
    if (frame.wants(2)) std::copy_n(confidence, plan_.roi.width, frame.out_row<float>(2, y));
  }
  if (plan_.deviation) deviation(frame, step, begin, end, scratch);
}

void PyramidFlow::mark_invalid(const float* confidence, float value, float* row) const noexcept {
  const float threshold = plan_.confidence_threshold;
  if (threshold <= 0.0f) return;
  for (int x = 0; x < plan_.roi.width; ++x) row[x] = confidence[x] >= threshold ? row[x] : value;
}

void PyramidFlow::deviation(FrameJob& frame, const Step& step, int begin, int end,
                            const Scratch& scratch) noexcept {
  const Rect& region = pyramid_.region[0];
  const FlowPlanes& flow = flow_[0][floats(step.from)];
  const Plane image = part(frame_[floats(history_.ring_index(kReference))], 0);
  const Plane reference = part(stored(kReference, 0), 0);
  const Plane& next = stored(kNext, 0);
  const WarpSource from = {next.origin, next.stride, plan_.size.width, plan_.size.height};
  const auto of_columns = [](auto rows, int x) {
    for (const float*& row : rows) row += x;
    return rows;
  };
  const DeviationSource source{
      [&](int y, const DeviationColumns& columns, float* ix, float* iy, float* residual) {
        const auto [x, width] = columns;
        float* const line = scratch.deviation.lines.row(0);
        float* const other = scratch.deviation.lines.row(1);
        flow_rows().gradient_row(of_columns(rows_around<5>(reference, y, region.height), x).data(),
                                 line, other, width);
        scratch.deviation.sample(line, ix, width);
        scratch.deviation.sample(other, iy, width);
        warp_row(from, region.x + x, region.y + y, flow[0].row(y) + x, flow[1].row(y) + x, true,
                 line, width);
        flow_rows().subtract_row(line, reference.row(y) + x, line, width);
        scratch.deviation.sample(line, residual, width);
      },
      [&](int y, int component) { return flow[floats(component)].row(y); },
      [&](int y, const DeviationColumns& columns) {
        float* const line = scratch.deviation.lines.row(0);
        flow_rows().texture_row(
            of_columns(rows_around<3>(image, y, region.height), columns.x).data(), line,
            columns.width);
        return line;
      }};
  compute_deviation(frame, deviation_, region, begin, end, scratch.sweep, scratch.deviation, source,
                    [&](int y, const float* deviation) {
                      float* const out = frame.out_row<float>(3, y);
                      std::copy_n(deviation, plan_.roi.width, out);
                      mark_invalid(
                          confidence_.row(plan_.roi.y - region.y + y) + plan_.roi.x - region.x,
                          kNoDeviation, out);
                    });
}

}  // namespace ocellus::detail
