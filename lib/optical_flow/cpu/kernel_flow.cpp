#include "optical_flow/cpu/kernel_flow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>

#include "core/failure.h"
#include "image/pixel_rows.h"
#include "optical_flow/cpu/flow_rows.h"
#include "optical_flow/kernel_source.h"

namespace ocellus::detail {
namespace {

/// Floats on both sides of a row for the support of a kernel: at least kMaxKernelTaps / 2, rounded
/// up to whole vectors.
constexpr int kMargin = 16;

}  // namespace

KernelFlow::KernelFlow(const OpticalFlowPlan& plan, int workers,
                       const KernelConfig* kernels) noexcept
    : FlowOperator(plan, workers, kernels),
      left_(plan.nx - 1 - plan.nx / 2),
      right_(plan.nx / 2),
      above_(plan.ny - 1 - plan.ny / 2),
      below_(plan.ny / 2) {
  blocks_ = (plan.support.width + kRingBlock - 1) / kRingBlock;
  ingest_bands_ = Bands::cut(plan.size.height, workers, 2, 16);
  // A row of a bank is large, so small bands have no overhead. With uniform kernels, a band filters
  // ny - 1 rows more than it produces.
  convolve_bands_ = per_pixel() ? Bands::cut(plan.support.height, workers, 32, 1)
                                : Bands::cut(plan.support.height, workers, 3, 32);
  // A band of the window filters 2 radius rows more than it produces.
  if (!plan.filter_only)
    solve_bands_ = Bands::cut(plan.flow.height, workers, 6, std::max(16, 2 * plan.radius));
  if (plan.deviation) finish_bands_ = Bands::cut(plan.roi.height, workers, 3, 16);
}

void KernelFlow::layout_method(LayoutBuilder& builder) noexcept {
  parts_ =
      builder.take<Part>(static_cast<std::size_t>(convolve_bands_.count() + solve_bands_.count()));
  convolved_ =
      builder.take<std::atomic<std::uint32_t>>(static_cast<std::size_t>(convolve_bands_.count()));
  const auto rows = static_cast<std::size_t>(plan_.support.height);
  if (per_pixel()) {
    const std::size_t value = static_cast<std::size_t>(blocks_) * coefficient_bytes(plan_.storage);
    bank_row_bytes_ = taps_per_block() * value;
    ring_row_bytes_ = static_cast<std::size_t>(plan_.nt * pairs() * kRingBlock) * value;
    bank_ = builder.take<char>(rows * bank_row_bytes_);
    if (!full()) ring_ = builder.take<char>(rows * ring_row_bytes_);
    image_.stride = row_stride(plan_.size.width + 3 * kMargin);
    image_.origin = builder.take<float>(
        static_cast<std::size_t>(plan_.size.height * (full() ? plan_.nt : 1)) * image_.stride);
  } else {
    kept_stride_ = align_up((static_cast<std::size_t>(plan_.size.width) + kRowSlack) *
                            static_cast<std::size_t>(bytes_per_pixel(plan_.format)));
    frames_kept_ = builder.take<char>(static_cast<std::size_t>(plan_.nt) *
                                      static_cast<std::size_t>(plan_.size.height) * kept_stride_);
  }
  derivative_stride_ = row_stride(plan_.support.width);
  if (!plan_.filter_only) {
    for (FloatPlane& plane : derivatives_)
      plane = {builder.take<float>(rows * derivative_stride_), derivative_stride_};
  }
  if (plan_.deviation) {
    const std::size_t stride =
        row_stride(plan_.flow.width + kRowSlack);  // as sweep_deviation reads
    for (ImageView& plane : solved_) {
      plane.data = builder.take<float>(static_cast<std::size_t>(plan_.flow.height) * stride);
      plane.stride = static_cast<std::ptrdiff_t>(stride * sizeof(float));
    }
  }
  // The number of shared passes is known only after the kernels were read. Reserve memory for the
  // largest possible number.
  const auto kernels = static_cast<std::size_t>(pairs());
  for (int w = 0; w < workers_; ++w) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(w)];
    if (!per_pixel()) {
      scratch.temporal =
          builder.take<float>(kernels * row_stride(plan_.support.width + 2 * kMargin));
      scratch.horizontal =
          builder.take<float>(static_cast<std::size_t>(plan_.ny) * kernels * derivative_stride_);
    }
    if (plan_.filter_only)
      scratch.rows =
          builder.take<float>(static_cast<std::size_t>(plan_.convolutions) * derivative_stride_);
    if (!plan_.filter_only)
      scratch.sweep.layout(builder, plan_.support.width, std::max(plan_.radius, kDeviationRadius),
                           kMaxSweepPlanes);
    if (plan_.deviation) scratch.deviation.layout(builder, plan_.flow.width);
  }
}

Expected<void> KernelFlow::load(const KernelConfig& kernels) noexcept {
  for (int band = 0; band < convolve_bands_.count(); ++band)
    new (&convolved_[band]) std::atomic<std::uint32_t>(0);
  order_parts();
  KernelNoise noise;
  Expected<void> loaded =
      per_pixel() ? load_per_pixel(kernels, noise) : uniform_.load(plan_, kernels, noise);
  deviation_ = kernel_deviation(plan_, noise);
  return loaded;
}

Expected<void> KernelFlow::load_per_pixel(const KernelConfig& kernels,
                                          KernelNoise& noise) noexcept {
  const int per_pair = plan_.term_taps;
  const std::size_t per_block = taps_per_block();
  const std::size_t element = coefficient_bytes(plan_.storage);
  const auto aligned_delete = [](float* block) {
    ::operator delete[](block, std::align_val_t{kMemoryAlignment});
  };
  const std::unique_ptr<float[], decltype(aligned_delete)> block(
      static_cast<float*>(::operator new[](per_block * sizeof(float),
                                           std::align_val_t{kMemoryAlignment}, std::nothrow)),
      aligned_delete);
  if (!block) return no_memory_for_kernels();
  std::fill_n(block.get(), per_block, 0.0f);
  const auto take = [&](int x, int y, int pair, const float* wx, const float* wy, const float* wt) {
    float* to =
        block.get() + static_cast<std::size_t>(pair * per_pair) * kRingBlock + x % kRingBlock;
    const auto put = [&](float tap) { *to = tap, to += kRingBlock; };
    const int plane = plan_.nx * plan_.ny;
    if (full()) {
      for (int t = 0; t < plan_.nt; ++t)
        for (int i = plane - 1; i >= 0; --i) put(wx[t * plane + i]);
    } else {
      for (int i = plan_.nx - 1; i >= 0; --i) put(wx[i]);
      for (int i = plan_.ny - 1; i >= 0; --i) put(wy[i]);
      for (int i = 0; i < plan_.nt; ++i) put(wt[i]);
    }
    const bool ends_block = x % kRingBlock == kRingBlock - 1 || x == plan_.support.width - 1;
    if (pair < pairs() - 1 || !ends_block) return;
    const std::size_t index = static_cast<std::size_t>(x / kRingBlock) * per_block;
    store_coefficients(plan_.storage, block.get(), per_block,
                       bank_ + static_cast<std::size_t>(y) * bank_row_bytes_ + index * element);
    std::fill_n(block.get(), per_block, 0.0f);
  };
  return read_support(plan_, kernels, noise, take, [](int) { return Expected<void>(); });
}

void KernelFlow::build_method(JobStep* steps, StepContext* contexts) noexcept {
  const int parts[] = {ingest_bands_.count(), convolve_bands_.count() + solve_bands_.count(),
                       finish_bands_.count()};
  for (int s = 0; s < method_steps(); ++s) {
    contexts[s].index = s;
    steps[s] = {&KernelFlow::run, &contexts[s], parts[s]};
  }
}

void KernelFlow::order_parts() noexcept {
  // Parts are started in this order. A band is solved a few parts after the last band that it
  // needs, so that it rarely waits for rows.
  int next = 0;
  int solved = 0;
  const int offset = plan_.flow.y - plan_.support.y;
  for (int band = 0; band < convolve_bands_.count(); ++band) {
    parts_[next++] = {false, band};
    const int rows_there = convolve_bands_.end(std::max(0, band - workers_));
    while (solved < solve_bands_.count() && band >= workers_ &&
           offset + solve_bands_.end(solved) + plan_.radius <= rows_there) {
      parts_[next++] = {true, solved++};
    }
  }
  while (solved < solve_bands_.count()) parts_[next++] = {true, solved++};
}

void KernelFlow::run(void* context, int part, int worker) noexcept {
  const StepContext& at = *static_cast<StepContext*>(context);
  FrameJob& frame = *at.frame;
  KernelFlow& self = *static_cast<KernelFlow*>(frame.owner);
  const Scratch& scratch = self.scratch_[static_cast<std::size_t>(worker)];
  if (at.index == 0)
    return self.ingest(frame, self.ingest_bands_.begin(part), self.ingest_bands_.end(part));
  if (frame.bad.load(std::memory_order_relaxed)) return;
  if (at.index == 2)
    return self.finish(frame, self.finish_bands_.begin(part), self.finish_bands_.end(part),
                       scratch);
  const Part& what = self.parts_[part];
  if (what.solve)
    self.solve(frame, what.band, scratch);
  else
    self.convolve(frame, what.band, scratch);
}

void KernelFlow::ingest(FrameJob& frame, int begin, int end) noexcept {
  bool finite = true;
  for (int y = begin; y < end; ++y) {
    const void* in = static_cast<const char*>(frame.in.data) + y * frame.in.stride;
    if (per_pixel()) {
      float* row = image_.row(y + (full() ? history_.head() * plan_.size.height : 0)) + kMargin;
      finite &= convert_row(in, plan_.format, row, plan_.size.width);
      replicate_edges(row, plan_.size.width, left_, right_);
    } else {
      finite &= copy_row(in, plan_.format, kept_row(history_.head(), y), plan_.size.width);
    }
  }
  if (!finite) mark_bad(frame);
}

void KernelFlow::convolve(FrameJob& frame, int band, const Scratch& scratch) noexcept {
  const int begin = convolve_bands_.begin(band);
  const int end = convolve_bands_.end(band);
  if (full()) {
    convolve_full(frame, begin, end, scratch);
  } else if (per_pixel()) {
    convolve_per_pixel(frame, begin, end, scratch);
  } else {
    convolve_uniform(frame, begin, end, scratch);
  }
  convolved_[band].store(frame_number(), std::memory_order_release);
  convolved_[band].notify_all();
}

void KernelFlow::wait_for_rows(int begin, int end) const noexcept {
  // Bands that are not done are being computed by other workers at this time, because parts are
  // started in order and convolving never waits. Poll first, which is almost always enough. Then
  // sleep, because the other worker may be a thread of lower priority that this thread keeps from
  // running.
  constexpr int kLooks = 2000;
  for (int band = begin / convolve_bands_.band; band <= (end - 1) / convolve_bands_.band; ++band) {
    std::atomic<std::uint32_t>& done = convolved_[band];
    for (int looked = 0; looked < kLooks && done.load(std::memory_order_acquire) != frame_number();
         ++looked)
      relax();
    for (;;) {
      const std::uint32_t seen = done.load(std::memory_order_acquire);
      if (seen == frame_number()) break;
      done.wait(seen, std::memory_order_acquire);
    }
  }
}

void KernelFlow::result_rows(const Scratch& scratch, int y, float** rows) const noexcept {
  for (int c = 0; c < plan_.convolutions; ++c) {
    const auto plane = static_cast<std::size_t>(c);
    rows[c] =
        plan_.filter_only ? scratch.rows + plane * derivative_stride_ : derivatives_[plane].row(y);
  }
}

void KernelFlow::give_rows(const FrameJob& frame, int y, float* const* rows) const noexcept {
  if (!plan_.filter_only) return;
  for (int c = 0; c < plan_.convolutions; ++c)
    std::copy_n(rows[c], plan_.support.width, frame.out_row<float>(c, y));
}

void KernelFlow::convolve_per_pixel(FrameJob& frame, int begin, int end,
                                    const Scratch& scratch) noexcept {
  RingRow row;
  row.blocks = blocks_;
  row.nx = plan_.nx;
  row.ny = plan_.ny;
  row.nt = plan_.nt;
  row.convolutions = plan_.convolutions;
  row.terms = plan_.terms;
  for (int tau = 0; tau < plan_.nt; ++tau) row.slot[tau] = history_.ring_index(tau);
  for (int y = begin; y < end; ++y) {
    for (int j = 0; j < plan_.ny; ++j) {
      const int at = std::clamp(plan_.support.y + y + j - above_, 0, plan_.size.height - 1);
      row.image[j] = image_.row(at) + kMargin + plan_.support.x - left_;
    }
    row.taps = bank_ + static_cast<std::size_t>(y) * bank_row_bytes_;
    row.ring = ring_ + static_cast<std::size_t>(y) * ring_row_bytes_;
    result_rows(scratch, y, row.out);
    ring_filter_row(row, plan_.storage);
    give_rows(frame, y, row.out);
  }
}

void KernelFlow::convolve_full(FrameJob& frame, int begin, int end,
                               const Scratch& scratch) noexcept {
  FullRow row;
  row.blocks = blocks_;
  row.nx = plan_.nx;
  row.rows = plan_.ny * plan_.nt;
  row.convolutions = plan_.convolutions;
  for (int y = begin; y < end; ++y) {
    for (int tau = 0; tau < plan_.nt; ++tau) {
      for (int j = 0; j < plan_.ny; ++j) {
        const int at = std::clamp(plan_.support.y + y + j - above_, 0, plan_.size.height - 1);
        row.image[tau * plan_.ny + j] =
            image_.row(history_.ring_index(tau) * plan_.size.height + at) + kMargin +
            plan_.support.x - left_;
      }
    }
    row.taps = bank_ + static_cast<std::size_t>(y) * bank_row_bytes_;
    result_rows(scratch, y, row.out);
    full_filter_row(row, plan_.storage);
    give_rows(frame, y, row.out);
  }
}

void KernelFlow::convolve_uniform(FrameJob& frame, int begin, int end,
                                  const Scratch& scratch) noexcept {
  const Rect& support = plan_.support;
  const std::size_t temporal_stride = row_stride(support.width + 2 * kMargin);
  // Columns of the image that the kernels of the support read. Columns outside the image repeat the
  // nearest one.
  const int first = std::max(0, support.x - left_);
  const int last = std::min(plan_.size.width, support.x + support.width + right_);
  const auto horizontal = [&](int y, int h) {
    return scratch.horizontal +
           static_cast<std::size_t>((y % plan_.ny) * uniform_.horizontal_count + h) *
               derivative_stride_;
  };
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, plan_.size.height - 1); };

  const float* taps[UniformKernels::kMost];
  float* sums[UniformKernels::kMost];
  for (int t = 0; t < uniform_.temporal_count; ++t) {
    taps[t] = uniform_.temporal[t];
    sums[t] = scratch.temporal + static_cast<std::size_t>(t) * temporal_stride + kMargin + first -
              support.x;
  }
  const std::size_t pixel = static_cast<std::size_t>(bytes_per_pixel(plan_.format));

  int next = clamp_row(support.y + begin - above_);
  for (int y = begin; y < end; ++y) {
    const int center = support.y + y;
    for (; next <= clamp_row(center + below_); ++next) {
      const void* rows[kMaxKernelTaps];
      for (int tau = 0; tau < plan_.nt; ++tau) {
        rows[tau] =
            kept_row(history_.ring_index(tau), next) + static_cast<std::size_t>(first) * pixel;
      }
      flow_rows().temporal_sums_row(rows, plan_.format, plan_.nt, taps, uniform_.temporal_count,
                                    sums, last - first);
      for (int t = 0; t < uniform_.temporal_count; ++t) {
        replicate_edges(sums[t], last - first, first - (support.x - left_),
                        support.x + support.width + right_ - last);
      }
      for (int h = 0; h < uniform_.horizontal_count; ++h) {
        const float* in =
            scratch.temporal +
            static_cast<std::size_t>(uniform_.horizontal[h].temporal) * temporal_stride + kMargin;
        filter_row(in, uniform_.horizontal[h].taps, plan_.nx, left_, horizontal(next, h),
                   support.width);
      }
    }
    float* out[kMaxConvolutions];
    result_rows(scratch, y, out);
    bool written[kMaxConvolutions] = {};
    for (int k = 0; k < uniform_.vertical_count; ++k) {
      const UniformKernels::Vertical& vertical = uniform_.vertical[k];
      const float* rows[kMaxKernelTaps];
      for (int j = 0; j < plan_.ny; ++j)
        rows[j] = horizontal(clamp_row(center + j - above_), vertical.horizontal);
      filter_column(rows, vertical.taps, plan_.ny, out[vertical.convolution], support.width,
                    written[vertical.convolution]);
      written[vertical.convolution] = true;
    }
    give_rows(frame, y, out);
  }
}

void KernelFlow::solve(FrameJob& frame, int band, const Scratch& scratch) noexcept {
  const int begin = solve_bands_.begin(band);
  const int end = solve_bands_.end(band);
  const int offset = plan_.flow.y - plan_.support.y;
  wait_for_rows(std::max(0, offset + begin - plan_.radius),
                std::min(plan_.support.height, offset + end + plan_.radius));
  const WindowPlanes planes = {
      {derivatives_[0].origin, derivatives_[1].origin, derivatives_[2].origin},
      derivative_stride_,
      {plan_.support.width, plan_.support.height},
      {plan_.flow.x - plan_.support.x, offset, plan_.flow.width, plan_.flow.height}};
  const float invalid =
      plan_.deviation ? std::numeric_limits<float>::quiet_NaN() : invalid_value(plan_);
  solve_planes(plan_, planes, invalid, scratch.sweep, begin, end,
               plan_.deviation ? solved_.data() : frame.out.planes.data());
  if (plan_.deviation) return;
  for (int y = begin; y < end; ++y) keep_motion(frame, y);
}

void KernelFlow::finish(FrameJob& frame, int begin, int end, const Scratch& scratch) noexcept {
  const Rect& flow = plan_.flow;
  const int left = plan_.roi.x - flow.x;
  const int top = plan_.roi.y - flow.y;
  for (int y = begin; y < end; ++y) {
    for (int p = 0; p < 2; ++p) {
      const float* const row = solved_row(p, top + y) + left;
      std::replace_copy_if(
          row, row + plan_.roi.width, frame.out_row<float>(p, y),
          [](float value) { return std::isnan(value); }, invalid_value(plan_));
    }
    if (frame.wants(2))
      std::copy_n(solved_row(2, top + y) + left, plan_.roi.width, frame.out_row<float>(2, y));
    keep_motion(frame, y);
  }

  const auto derivative_row = [&](int plane, int y, int x) {
    return derivatives_[static_cast<std::size_t>(plane)].row(flow.y - plan_.support.y + y) +
           flow.x - plan_.support.x + x;
  };
  const DeviationSource source{
      [&](int y, const DeviationColumns& columns, float* ix, float* iy, float* residual) {
        float* const line = scratch.deviation.lines.row(0);
        // Equation (3). Flow that is not a number counts as none.
        const auto known = [](float value) { return std::isnan(value) ? 0.0f : value; };
        const float* const dx = derivative_row(0, y, columns.x);
        const float* const dy = derivative_row(1, y, columns.x);
        const float* const dt = derivative_row(2, y, columns.x);
        const float* const u = solved_row(0, y) + columns.x;
        const float* const v = solved_row(1, y) + columns.x;
        for (int x = 0; x < columns.width; ++x)
          line[x] = dt[x] + dx[x] * known(u[x]) + dy[x] * known(v[x]);
        scratch.deviation.sample(line, residual, columns.width);
        for (const auto& [derivative, to] : {std::pair{dx, ix}, {dy, iy}}) {
          std::copy_n(derivative, columns.width, line);
          scratch.deviation.sample(line, to, columns.width);
        }
      },
      [&](int y, int component) { return solved_row(component, y); },
      [&](int y, const DeviationColumns& columns) {
        float* const row = scratch.deviation.lines.row(0);
        const float* const dx = derivative_row(0, y, columns.x);
        const float* const dy = derivative_row(1, y, columns.x);
        for (int x = 0; x < columns.width; ++x) row[x] = dx[x] * dx[x] + dy[x] * dy[x];
        return row;
      }};
  compute_deviation(frame, deviation_, flow, begin, end, scratch.sweep, scratch.deviation, source,
                    [&](int y, const float* deviation) {
                      float* const out = frame.out_row<float>(3, y);
                      const float* const u = solved_row(0, top + y) + left;
                      for (int x = 0; x < plan_.roi.width; ++x)
                        out[x] = std::isnan(u[x]) ? kNoDeviation : deviation[x];
                    });
}

}  // namespace ocellus::detail
