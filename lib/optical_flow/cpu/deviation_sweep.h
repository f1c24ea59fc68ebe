// The standard deviation of the flow over a band of rows, for both methods.
#pragma once

#include <algorithm>
#include <cstring>

#include "image/separable_sweep.h"
#include "optical_flow/cpu/flow_rows.h"

namespace ocellus::detail {

/// Private buffers of one worker.
struct DeviationScratch {
  static constexpr int kMargin = 16;
  static constexpr int kFlowRows = 3;

  SweepScratch sweep;
  float* terms = nullptr;  ///< kDeviationSums rows
  float* ix = nullptr;
  float* iy = nullptr;
  float* residual = nullptr;
  float* texture = nullptr;  ///< a row, for texture that is not stored
  float* deviation = nullptr;
  float* flow = nullptr;  ///< kFlowRows rows of u and of v, with margins
  std::size_t stride = 0;

  void layout(LayoutBuilder& builder, int width) noexcept {
    sweep.layout(builder, width, kDeviationRadius, kDeviationSums);
    stride = row_stride(width + 2 * kMargin);
    terms = builder.take<float>(kDeviationSums * stride);
    ix = builder.take<float>(stride);
    iy = builder.take<float>(stride);
    residual = builder.take<float>(stride);
    texture = builder.take<float>(stride);
    deviation = builder.take<float>(stride);
    flow = builder.take<float>(2 * kFlowRows * stride);
  }
  float* flow_row(int y, int component) const noexcept {
    return flow + static_cast<std::size_t>(2 * (y % kFlowRows) + component) * stride + kMargin;
  }
};

/// Computes rows [begin, end) of a region of width x height. `derive(y, ix, iy, residual)` must
/// write these three rows, and `flow(y, component)` returns a row of u or v, NaN where it is
/// invalid. Both are called in ascending order. `texture(y)` returns the row of the texture.
/// `emit(y, deviation)` receives the result. The edges are repeated.
template <typename Derive, typename Flow, typename Texture, typename Emit>
void sweep_deviation(const DeviationModel& model, int width, int height, int begin, int end,
                     const DeviationScratch& scratch, Derive&& derive, Flow&& flow,
                     Texture&& texture, Emit&& emit) noexcept {
  SymmetricTaps box;
  box.set_box(kDeviationRadius);
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, height - 1); };
  const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(float);
  float* terms[kDeviationSums];
  for (int p = 0; p < kDeviationSums; ++p)
    terms[p] = scratch.terms + static_cast<std::size_t>(p) * scratch.stride;
  int next = clamp_row(clamp_row(begin - kDeviationRadius) - 1);
  const auto compute_terms = [&](int y) {
    for (; next <= clamp_row(y + 1); ++next) {
      for (int c = 0; c < 2; ++c) {
        known_flow_row(flow(next, c), scratch.flow_row(next, c), width);
        replicate_edges(scratch.flow_row(next, c), width, 1, 1);
      }
    }
    FlowRows rows{};
    for (int k = 0; k < DeviationScratch::kFlowRows; ++k) {
      rows.u[k] = scratch.flow_row(clamp_row(y + k - 1), 0);
      rows.v[k] = scratch.flow_row(clamp_row(y + k - 1), 1);
    }
    derive(y, scratch.ix, scratch.iy, scratch.residual);
    deviation_terms_row(scratch.ix, scratch.iy, scratch.residual, rows, model.gradient_floor, terms,
                        width);
  };
  sweep_separable(
      width, height, begin, end, kDeviationSums, box, scratch.sweep,
      [&](int y, int p, float* row) {
        if (p == 0) compute_terms(y);
        std::memcpy(row, terms[p], bytes);
      },
      [&](int y, float* const* means) {
        deviation_row(means, texture(y), model, scratch.deviation, width);
        emit(y, scratch.deviation);
      });
}

}  // namespace ocellus::detail
