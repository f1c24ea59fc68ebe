#include "optical_flow/cpu/pyramid_flow.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "image/pixel_rows.h"
#include "image/pyramid.h"
#include "optical_flow/cpu/flow_rows.h"

namespace ocellus::detail {
namespace {

constexpr int kSweepPlanes = 2;  // of the filters other than those of the deviation
/// Pixels beyond the ends of a stored row, for warps and the guided median.
constexpr int kStoredReach = std::max(kWarpAfter, kGuidedReach);

std::size_t floats(int count) {
  return static_cast<std::size_t>(count);
}

}  // namespace

PyramidFlow::PyramidFlow(const OpticalFlowPlan& plan, int workers,
                         const KernelConfig* kernels) noexcept
    : FlowOperator(plan, workers, kernels), pyramid_(plan), levels_(plan.levels) {
  contrast_box_.set_box(kContrastRadius);
  smoothing_.set_box(plan.pyramid.smoothing_size / 2);
  presmoothing_.set(kPresmoothingRadius, pyramid_.presmoothing.data());
  for (int l = 0; l < levels_; ++l) {
    const auto i = floats(l);
    full_bands_[i] = Bands::cut(plan.level_size[i].height, workers, 3, 16);
    region_bands_[i] = Bands::cut(pyramid_.region[i].height, workers, 3, 16);
    refine_bands_[i] = Bands::cut(pyramid_.region[i].height, workers, 1, 16);
  }
  finish_bands_ = Bands::cut(plan.roi.height, workers, 3, 16);
  if (plan.deviation) deviation_ = pyramid_deviation(plan, pyramid_);
}

PyramidFlow::Plane PyramidFlow::take_plane(LayoutBuilder& builder, int width, int height,
                                           bool with_borders) noexcept {
  Plane plane;
  plane.stride = row_stride(width + 2 * kMargin);
  const int before = with_borders ? kWarpBefore : 0;
  const int after = with_borders ? kWarpAfter : 0;
  float* block = builder.take<float>(floats(before + height + after) * plane.stride);
  plane.origin = block == nullptr ? nullptr : block + floats(before) * plane.stride + kMargin;
  return plane;
}

void PyramidFlow::layout_method(LayoutBuilder& builder) noexcept {
  for (int l = 0; l < levels_; ++l) {
    const auto i = floats(l);
    const ImageSize size = plan_.level_size[i];
    raw_[i] = take_plane(builder, size.width, size.height, false);
    if (!is_variational(plan_)) {
      highpass_[i] = take_plane(builder, size.width, size.height, false);
      normalized_[i] = take_plane(builder, size.width, size.height, false);
    }
    for (auto& frame : window_) frame[i] = take_plane(builder, size.width, size.height, true);
    for (FlowPlanes& flow : flow_[i]) {
      flow.u = take_plane(builder, pyramid_.region[i].width, pyramid_.region[i].height, false);
      flow.v = take_plane(builder, pyramid_.region[i].width, pyramid_.region[i].height, false);
    }
  }
  const auto work_plane = [&] {
    return take_plane(builder, plan_.size.width, plan_.size.height, false);
  };
  if (is_variational(plan_)) {
    for (Plane& guide : guide_) guide = work_plane();
    flow_residual_ = work_plane();
  }
  if (plan_.deviation)
    for (Plane& texture : texture_) texture = work_plane();
  warped_ = work_plane();
  confidence_ = work_plane();
  const int radius = std::max(kContrastRadius, plan_.pyramid.smoothing_size / 2);
  for (int w = 0; w < workers_; ++w) {
    Scratch& scratch = scratch_[floats(w)];
    layout_window_scratch(builder, plan_.size.width, 2 * plan_.radius + 1, scratch.window);
    scratch.sweep.layout(builder, plan_.size.width, radius, kSweepPlanes);
    if (plan_.deviation) scratch.deviation.layout(builder, plan_.size.width);
    if (is_variational(plan_)) scratch.variational.layout(builder, plan_.size.width, plan_.pyramid);
    scratch.mean_stride = row_stride(plan_.size.width + 2 * kMargin);
    scratch.mean = builder.take<float>(5 * scratch.mean_stride);
    scratch.row = builder.take<float>(2 * scratch.mean_stride);
  }
}

Expected<void> PyramidFlow::load(const KernelConfig&) noexcept {
  return {};
}

const Bands& PyramidFlow::bands_of(StepKind kind, int level) const noexcept {
  if (kind == StepKind::kFinish) return finish_bands_;
  if (kind >= StepKind::kCandidates && kind <= StepKind::kGuidedMedian)
    return refine_bands_[floats(level)];
  return kind <= StepKind::kPresmooth ? full_bands_[floats(level)] : region_bands_[floats(level)];
}

/// Whether the parts of a step are those of all levels, one after the other.
bool PyramidFlow::is_of_all_levels(StepKind kind) noexcept {
  return kind >= StepKind::kHighpass && kind <= StepKind::kPresmooth;
}

void PyramidFlow::build_method(JobStep* steps, StepContext* contexts) noexcept {
  for (int s = 0; s < pyramid_.step_count; ++s) {
    const Step& step = pyramid_.steps[s];
    contexts[s].index = s;
    int parts = 0;
    if (is_of_all_levels(step.kind))
      for (int l = 0; l < levels_; ++l) parts += bands_of(step.kind, l).count();
    else
      parts = bands_of(step.kind, step.level).count();
    steps[s] = {&PyramidFlow::run, &contexts[s], parts};
  }
}

void PyramidFlow::run(void* context, int part, int worker) noexcept {
  // In the order of PyramidStepKind.
  static constexpr StepFunction kFunctions[] = {
      &PyramidFlow::ingest,     &PyramidFlow::reduce,    &PyramidFlow::highpass,
      &PyramidFlow::normalize,  &PyramidFlow::presmooth, &PyramidFlow::expand,
      &PyramidFlow::smooth,     &PyramidFlow::warp,      &PyramidFlow::solve,
      &PyramidFlow::candidates, &PyramidFlow::refine,    &PyramidFlow::guided_median,
      &PyramidFlow::finish};
  static_assert(std::size(kFunctions) == static_cast<std::size_t>(StepKind::kFinish) + 1);
  const StepContext& at = *static_cast<StepContext*>(context);
  FrameJob& frame = *at.frame;
  PyramidFlow& self = *static_cast<PyramidFlow*>(frame.owner);
  Step step = self.pyramid_.steps[at.index];
  if (step.kind != StepKind::kIngest && frame.bad.load(std::memory_order_relaxed)) return;
  if (is_of_all_levels(step.kind))
    for (step.level = 0; part >= self.full_bands_[floats(step.level)].count(); ++step.level)
      part -= self.full_bands_[floats(step.level)].count();
  const Bands& bands = self.bands_of(step.kind, step.level);
  (self.*kFunctions[static_cast<std::size_t>(step.kind)])(
      frame, step, bands.begin(part), bands.end(part), self.scratch_[floats(worker)]);
}

// ---- a new frame

void PyramidFlow::ingest(FrameJob& frame, const Step&, int begin, int end,
                         const Scratch&) noexcept {
  bool finite = true;
  for (int y = begin; y < end; ++y) {
    const void* in = static_cast<const char*>(frame.in.data) + y * frame.in.stride;
    finite &= convert_row(in, plan_.format, raw_[0].row(y), plan_.size.width);
    if (plan_.deviation) replicate_edges(raw_[0].row(y), plan_.size.width, 1, 1);
    if (is_variational(plan_)) {
      float* const guide = guide_[floats(history_.head())].row(y);
      std::memcpy(guide, raw_[0].row(y), floats(plan_.size.width) * sizeof(float));
      replicate_edges(guide, plan_.size.width, kGuidedReach, kGuidedReach);
    }
  }
  if (!finite) mark_bad(frame);
}

void PyramidFlow::reduce(FrameJob&, const Step& step, int begin, int end,
                         const Scratch& scratch) noexcept {
  const ImageSize below = plan_.level_size[floats(step.level - 1)];
  const Plane& source = raw_[floats(step.level - 1)];
  for (int y = begin; y < end; ++y) {
    const float* rows[5];
    for (int k = 0; k < 5; ++k)
      rows[k] = source.row(std::clamp(2 * y + k - 2, 0, below.height - 1));
    reduce_row(rows, below.width, scratch.row + kMargin, raw_[floats(step.level)].row(y));
  }
}

void PyramidFlow::highpass(FrameJob&, const Step& step, int begin, int end,
                           const Scratch& scratch) noexcept {
  const ImageSize size = plan_.level_size[floats(step.level)];
  const Plane& raw = raw_[floats(step.level)];
  const Plane& out = highpass_[floats(step.level)];
  sweep_separable(
      size.width, size.height, begin, end, 1, contrast_box_, scratch.sweep,
      [&](int y, int, float* row) {
        std::memcpy(row, raw.row(y), floats(size.width) * sizeof(float));
      },
      [&](int y, float* const* mean) {
        subtract_row(raw.row(y), mean[0], out.row(y), size.width);
      });
}

void PyramidFlow::normalize(FrameJob&, const Step& step, int begin, int end,
                            const Scratch& scratch) noexcept {
  const ImageSize size = plan_.level_size[floats(step.level)];
  const Plane& in = highpass_[floats(step.level)];
  const Plane& out = normalized_[floats(step.level)];
  sweep_separable(
      size.width, size.height, begin, end, 1, contrast_box_, scratch.sweep,
      [&](int y, int, float* row) { square_row(in.row(y), row, size.width); },
      [&](int y, float* const* variance) {
        normalize_row(in.row(y), variance[0], kContrastFloor, out.row(y), size.width);
      });
}

void PyramidFlow::presmooth(FrameJob&, const Step& step, int begin, int end,
                            const Scratch& scratch) noexcept {
  const ImageSize size = plan_.level_size[floats(step.level)];
  const Plane& in =
      is_variational(plan_) ? raw_[floats(step.level)] : normalized_[floats(step.level)];
  const Plane& out = window_[floats(history_.head())][floats(step.level)];
  const auto keep = [&](int y, const float* row) {
    std::memcpy(out.row(y), row, floats(size.width) * sizeof(float));
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
      [&](int y, int, float* row) {
        std::memcpy(row, in.row(y), floats(size.width) * sizeof(float));
      },
      [&](int y, float* const* row) { keep_row(y, row[0]); });
  if (plan_.deviation && step.level == 0) texture(begin, end);
}

void PyramidFlow::texture(int begin, int end) noexcept {
  const Plane& out = texture_[floats(history_.head())];
  for (int y = begin; y < end; ++y) {
    const float* rows[3];
    for (int k = 0; k < 3; ++k)
      rows[k] = raw_[0].row(std::clamp(y + k - 1, 0, plan_.size.height - 1));
    texture_row(rows, out.row(y), plan_.size.width);
  }
}

// ---- the flow of the reference frame

const PyramidFlow::Plane& PyramidFlow::stored(int age, int level) const noexcept {
  return window_[floats(history_.ring_index(age))][floats(level)];
}

const float* PyramidFlow::stored_row(int age, int level, int y) const noexcept {
  const Rect& region = pyramid_.region[floats(level)];
  return stored(age, level).row(region.y + y) + region.x;
}

void PyramidFlow::expand(FrameJob&, const Step& step, int begin, int end,
                         const Scratch& scratch) noexcept {
  const auto level = floats(step.level);
  const Rect& region = pyramid_.region[level];
  const FlowPlanes& out = flow_[level][floats(step.to)];
  if (step.level == levels_ - 1) {
    for (int y = begin; y < end; ++y) {
      std::fill(out.u.row(y), out.u.row(y) + region.width, 0.0f);
      std::fill(out.v.row(y), out.v.row(y) + region.width, 0.0f);
      replicate_edges(out.u.row(y), region.width, kGuidedReach, kGuidedReach);
      replicate_edges(out.v.row(y), region.width, kGuidedReach, kGuidedReach);
    }
    return;
  }
  const Rect& coarse = pyramid_.region[level + 1];
  const FlowPlanes& in = flow_[level + 1][floats(step.from)];
  const int first = region.x / 2 - coarse.x;
  const int count = (region.width + 1) / 2;
  const auto one = [&](const Plane& from, const Plane& to, int y) {
    const int fine = region.y + y;
    const auto coarse_row = [&](int row) {
      return from.row(std::min(row - coarse.y, coarse.height - 1));
    };
    // Copied, because the last column must be repeated after it.
    float* upper = scratch.row + kMargin;
    float* lower = upper + scratch.mean_stride;
    const int there = std::min(count + 1, coarse.width - first);
    std::memcpy(upper, coarse_row(fine / 2) + first, floats(there) * sizeof(float));
    std::memcpy(lower, coarse_row((fine + 1) / 2) + first, floats(there) * sizeof(float));
    std::fill(upper + there, upper + count + 1, upper[there - 1]);
    std::fill(lower + there, lower + count + 1, lower[there - 1]);
    expand_flow_row(upper, lower, to.row(y), region.width);
    replicate_edges(to.row(y), region.width, kGuidedReach, kGuidedReach);
  };
  for (int y = begin; y < end; ++y) {
    one(in.u, out.u, y);
    one(in.v, out.v, y);
  }
}

void PyramidFlow::smooth(FrameJob&, const Step& step, int begin, int end,
                         const Scratch& scratch) noexcept {
  const auto level = floats(step.level);
  const Rect& region = pyramid_.region[level];
  const FlowPlanes& in = flow_[level][floats(step.from)];
  const FlowPlanes& out = flow_[level][floats(step.to)];
  const std::size_t bytes = floats(region.width) * sizeof(float);
  sweep_separable(
      region.width, region.height, begin, end, 2, smoothing_, scratch.sweep,
      [&](int y, int p, float* row) { std::memcpy(row, (p == 0 ? in.u : in.v).row(y), bytes); },
      [&](int y, float* const* rows) {
        std::memcpy(out.u.row(y), rows[0], bytes);
        std::memcpy(out.v.row(y), rows[1], bytes);
      });
}

void PyramidFlow::warp(FrameJob& frame, const Step& step, int begin, int end,
                       const Scratch&) noexcept {
  if (step.for_deviation && !frame.wants(3)) return;
  const auto level = floats(step.level);
  const Rect& region = pyramid_.region[level];
  const ImageSize size = plan_.level_size[level];
  const FlowPlanes& flow = flow_[level][floats(step.from)];
  const Plane& source = stored(kNext, step.level);
  const WarpSource from = {source.origin, source.stride, size.width, size.height};
  for (int y = begin; y < end; ++y) {
    warp_row(from, region.x, region.y + y, flow.u.row(y), flow.v.row(y), true, warped_.row(y),
             region.width);
  }
}

void PyramidFlow::solve(FrameJob&, const Step& step, int begin, int end,
                        const Scratch& scratch) noexcept {
  const auto level = floats(step.level);
  const Rect& region = pyramid_.region[level];
  const ImageSize size = plan_.level_size[level];
  const FlowPlanes& in = flow_[level][floats(step.from)];
  const FlowPlanes& out = flow_[level][floats(step.to)];
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, region.height - 1); };
  const auto mean = [&](int y) {
    return scratch.mean + floats(y % 5) * scratch.mean_stride + kMargin;
  };

  SolveRow row = begin_solve(plan_, scratch.window, region.width, region.width);
  row.ridge = plan_.pyramid.ridge;

  int next = clamp_row(begin - plan_.radius - kGradientReach);
  const auto products = [&](int y, float* const* to) {
    next = std::max(next, clamp_row(y - kGradientReach));
    for (; next <= clamp_row(y + kGradientReach); ++next)
      mean_of_frames(step.level, next, mean(next));
    ResidualRow residual;
    for (int k = 0; k < 5; ++k) residual.mean[k] = mean(clamp_row(y + k - kGradientReach));
    residual.reference = stored_row(kReference, step.level, y);
    residual.warped = warped_.row(y);
    residual.u = in.u.row(y);
    residual.v = in.v.row(y);
    residual.x = region.x;
    residual.y = region.y + y;
    residual.image_width = size.width;
    residual.image_height = size.height;
    weighted_products_row(residual, to, region.width);
  };
  const auto emit = [&](int y) {
    add_increment_row(row.u, in.u.row(y), out.u.row(y), region.width);
    add_increment_row(row.v, in.v.row(y), out.v.row(y), region.width);
    std::memcpy(confidence_.row(y), row.confidence, floats(region.width) * sizeof(float));
  };
  sweep_window(plan_, region.width, region.height, {0, 0, region.width, region.height},
               scratch.window, begin, end, row, products, emit);
}

void PyramidFlow::mean_of_frames(int level, int y, float* to) const noexcept {
  const int width = pyramid_.region[floats(level)].width;
  mean_row(stored_row(kReference, level, y), warped_.row(y), to, width);
  replicate_edges(to, width, kGradientReach, kGradientReach);
}

VariationalLevel PyramidFlow::variational_level(int level) const noexcept {
  const auto l = floats(level);
  const Rect& region = pyramid_.region[l];
  const ImageSize size = plan_.level_size[l];
  const Plane& next = stored(kNext, level);
  const auto part = [&](Plane plane) {
    plane.origin = plane.row(region.y) + region.x;
    return plane;
  };
  VariationalLevel to;
  to.next = {next.origin, next.stride, size.width, size.height};
  to.reference = part(stored(kReference, level));
  to.guide = level == 0 ? part(guide_[floats(history_.ring_index(kReference))]) : to.reference;
  to.residual = flow_residual_;
  if (level == 0) to.confidence = confidence_;
  to.x = region.x;
  to.y = region.y;
  to.width = region.width;
  to.height = region.height;
  to.smoothness = smoothness_of(plan_.pyramid, level);
  to.half_sweeps = half_sweeps(plan_.pyramid, level);
  to.reweightings = plan_.pyramid.reweightings;
  return to;
}

void PyramidFlow::candidates(FrameJob&, const Step& step, int begin, int end,
                             const Scratch& scratch) noexcept {
  const auto& flow = flow_[floats(step.level)];
  scratch.variational.candidates(variational_level(step.level), flow[floats(step.from)],
                                 flow[floats(step.to)], begin, end);
}

void PyramidFlow::refine(FrameJob&, const Step& step, int begin, int end,
                         const Scratch& scratch) noexcept {
  const auto& flow = flow_[floats(step.level)];
  scratch.variational.refine(variational_level(step.level), flow[floats(step.from)],
                             flow[floats(step.to)], step.last, begin, end);
}

void PyramidFlow::guided_median(FrameJob&, const Step& step, int begin, int end,
                                const Scratch& scratch) noexcept {
  const auto& flow = flow_[floats(step.level)];
  scratch.variational.guided_median(variational_level(step.level), flow[floats(step.from)],
                                    flow[floats(step.to)], begin, end);
}

void PyramidFlow::finish(FrameJob& frame, const Step& step, int begin, int end,
                         const Scratch& scratch) noexcept {
  const Rect& region = pyramid_.region[0];
  const FlowPlanes& flow = flow_[0][floats(step.from)];
  const int x = plan_.roi.x - region.x;
  const std::size_t bytes = floats(plan_.roi.width) * sizeof(float);
  float* u = scratch.row;
  float* v = scratch.row + scratch.mean_stride;
  for (int y = begin; y < end; ++y) {
    const int at = plan_.roi.y - region.y + y;
    const float* confidence = confidence_.row(at) + x;
    std::memcpy(u, flow.u.row(at) + x, bytes);
    std::memcpy(v, flow.v.row(at) + x, bytes);
    if (plan_.confidence_threshold > 0.0f) {
      mark_invalid_row(confidence, plan_.confidence_threshold, invalid_value(plan_), u, v,
                       plan_.roi.width);
    }
    std::memcpy(frame.out_row<float>(0, y), u, bytes);
    std::memcpy(frame.out_row<float>(1, y), v, bytes);
    if (frame.wants(2)) std::memcpy(frame.out_row<float>(2, y), confidence, bytes);
  }
  if (plan_.deviation && frame.wants(3)) deviation(frame, step, begin, end, scratch);
}

void PyramidFlow::deviation(FrameJob& frame, const Step& step, int begin, int end,
                            const Scratch& scratch) noexcept {
  const Rect& region = pyramid_.region[0];
  const FlowPlanes& flow = flow_[0][floats(step.from)];
  const int left = plan_.roi.x - region.x;
  const int top = plan_.roi.y - region.y;
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, region.height - 1); };
  const auto mean = [&](int y) {
    return scratch.mean + floats(y % 5) * scratch.mean_stride + kMargin;
  };
  int next = clamp_row(top + begin - kDeviationReach);
  const auto derive = [&](int y, float* ix, float* iy, float* residual) {
    for (; next <= clamp_row(y + kGradientReach); ++next) mean_of_frames(0, next, mean(next));
    const float* rows[5];
    for (int k = 0; k < 5; ++k) rows[k] = mean(clamp_row(y + k - kGradientReach));
    gradient_row(rows, ix, iy, region.width);
    subtract_row(warped_.row(y), stored_row(kReference, 0, y), residual, region.width);
  };
  const Plane& texture = texture_[floats(history_.ring_index(kReference))];
  sweep_deviation(
      deviation_, region.width, region.height, top + begin, top + end, scratch.deviation, derive,
      [&](int y, int component) { return (component == 0 ? flow.u : flow.v).row(y); },
      [&](int y) { return texture.row(region.y + y) + region.x; },
      [&](int y, const float* deviation) {
        float* const out = frame.out_row<float>(3, y - top);
        const float* const confidence = confidence_.row(y) + left;
        std::memcpy(out, deviation + left, floats(plan_.roi.width) * sizeof(float));
        if (plan_.confidence_threshold <= 0.0f) return;
        for (int x = 0; x < plan_.roi.width; ++x)
          if (!(confidence[x] >= plan_.confidence_threshold)) out[x] = kNoDeviation;
      });
}

}  // namespace ocellus::detail
