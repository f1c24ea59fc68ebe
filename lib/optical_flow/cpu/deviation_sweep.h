// The standard deviation of the flow over a band of rows, for both methods.
#pragma once

#include "image/separable_sweep.h"
#include "optical_flow/cpu/flow_rows.h"
#include "optical_flow/cpu/planes.h"

namespace ocellus::detail {

/// Private buffers of one worker.
struct DeviationScratch {
  RowRing flow[2];  ///< u and v
  float* ix = nullptr;
  float* iy = nullptr;
  float* residual = nullptr;
  float* texture = nullptr;  ///< a row, for texture that is not stored
  float* deviation = nullptr;

  void layout(LayoutBuilder& builder, int width) noexcept {
    for (RowRing& ring : flow) ring.layout(builder, 4, width);
    for (float** row : {&ix, &iy, &residual, &texture, &deviation})
      *row = builder.take<float>(row_stride(width));
  }
};

/// Computes rows [begin, end) of a region of width x height. `derive(y, ix, iy, residual)` must
/// write these three rows, and `flow(y, component)` returns a row of u or v, NaN where it is
/// invalid. Both are called in ascending order. `texture(y)` returns the row of the texture.
/// `emit(y, deviation)` receives the result. `sweep` is for kDeviationRadius and kDeviationSums
/// planes. The edges are repeated.
template <typename Derive, typename Flow, typename Texture, typename Emit>
void sweep_deviation(const DeviationModel& model, int width, int height, int begin, int end,
                     const SweepScratch& sweep, const DeviationScratch& scratch, Derive&& derive,
                     Flow&& flow, Texture&& texture, Emit&& emit) noexcept {
  SymmetricTaps box;
  box.set_box(kDeviationRadius);
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, height - 1); };
  int next = clamp_row(clamp_row(begin - kDeviationRadius) - 1);
  sweep_separable(
      width, height, begin, end, kDeviationSums, box, sweep,
      [&](int y, float* const* terms) {
        for (; next <= clamp_row(y + 1); ++next) {
          for (int c = 0; c < 2; ++c) {
            known_flow_row(flow(next, c), scratch.flow[c].row(next), width);
            replicate_edges(scratch.flow[c].row(next), width, 1, 1);
          }
        }
        const FlowRows rows = {rows_around<3>(scratch.flow[0], y, height),
                               rows_around<3>(scratch.flow[1], y, height)};
        derive(y, scratch.ix, scratch.iy, scratch.residual);
        deviation_terms_row(scratch.ix, scratch.iy, scratch.residual, rows, model.gradient_floor,
                            terms, width);
      },
      [&](int y, float* const* means) {
        deviation_row(means, texture(y), model, scratch.deviation, width);
        emit(y, scratch.deviation);
      });
}

}  // namespace ocellus::detail
