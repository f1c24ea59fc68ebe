// The standard deviation of the flow over a band of rows, for both methods.
#pragma once

#include "image/separable_sweep.h"
#include "optical_flow/cpu/flow_rows.h"
#include "optical_flow/cpu/planes.h"

namespace ocellus::detail {

/// Private buffers of one worker.
struct DeviationScratch {
  RowRing lines;  ///< of the width of the region
  RowRing samples;

  void layout(LayoutBuilder& builder, int width) noexcept {
    lines.layout(builder, 4, width);
    samples.layout(builder, 16, (width + 1) / 2);
  }
  /// Copies every second pixel of a row, which must be readable 2 kRowSlack pixels beyond its end.
  void sample(const float* row, float* to, int width) const noexcept {
    flow_rows().split_row(row, to, samples.row(15), width);
  }
};

/// Computes rows [begin, end) of a region of width x height, whose first pixel is a sample.
/// `derive(y, ix, iy, residual)` must write the samples of these three rows. `flow(y, component)`
/// returns a row of u or v, NaN where it is invalid; it must be readable 2 kRowSlack pixels beyond
/// its end. `texture(y)` returns the row of the texture. `emit(y, deviation)` receives the result.
/// `derive` and `texture` may use the first two lines. `sweep` is for kDeviationRadius and
/// kDeviationSums planes. The edges are repeated.
template <typename Derive, typename Flow, typename Texture, typename Emit>
void sweep_deviation(const DeviationModel& model, int width, int height, int begin, int end,
                     const SweepScratch& sweep, const DeviationScratch& scratch, Derive&& derive,
                     Flow&& flow, Texture&& texture, Emit&& emit) noexcept {
  SymmetricTaps box;
  box.set_box(kDeviationRadius);
  const int samples = (width + 1) / 2;
  float* const image[3] = {scratch.samples.row(0), scratch.samples.row(1), scratch.samples.row(2)};
  sweep_separable(
      samples, (height + 1) / 2, begin / 2, (end + 1) / 2, kDeviationSums, box, sweep,
      [&](int row, float* const* terms) {
        const int y = 2 * row;
        derive(y, image[0], image[1], image[2]);
        DeviationSamples of = {{image[0], image[1], image[2]}, {}};
        for (int c = 0; c < 2; ++c) {
          float* const above = scratch.samples.row(3 + c);
          float* const below = scratch.samples.row(5 + c);
          float* const beside = scratch.samples.row(7 + c);
          scratch.sample(flow(std::max(y - 1, 0), c), above, width);
          scratch.sample(flow(std::min(y + 1, height - 1), c), below, width);
          const float* const here = flow(y, c);
          flow_rows().split_row(here, scratch.samples.row(15), beside, width);
          beside[-1] = here[0];
          beside[samples - 1] = here[width - 1];
          of.flow[c] = {beside - 1, beside, above, below};
        }
        flow_rows().deviation_terms_row(of, model.gradient_floor, terms, samples);
      },
      [&](int row, float* const* means) {
        float* const variance = image[0];
        flow_rows().deviation_variance_row(means, model, variance, samples);
        for (int y = std::max(begin, 2 * row); y < std::min(end, 2 * row + 2); ++y) {
          float* const deviation = scratch.lines.row(2);
          flow_rows().deviation_row(variance, texture(y), model, deviation, width);
          emit(y, deviation);
        }
      });
}

}  // namespace ocellus::detail
