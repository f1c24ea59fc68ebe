// Row functions of the standard deviation of the flow (optical_flow/deviation.h). Rows have
// kRowSlack; `width` is in pixels.
#pragma once

#include "optical_flow/deviation.h"

namespace ocellus::detail {

/// The derivatives of the middle of five neighboring rows by (1 -8 0 8 -1) / 12. The rows must be
/// readable two pixels beyond both ends.
void gradient_row(const float* const* rows, float* ix, float* iy, int width) noexcept;

/// The residual It + Ix u + Iy v of equation (3). Flow that is not a number counts as none.
void flow_residual_row(const float* ix, const float* iy, const float* it, const float* u,
                       const float* v, float* residual, int width) noexcept;

/// out = in, but 0 where it is not a number
void known_flow_row(const float* in, float* out, int width) noexcept;

/// Three neighboring rows of the flow, readable one pixel beyond both ends.
struct FlowRows {
  const float* u[3];
  const float* v[3];
};

/// The terms of the kDeviationSums means.
void deviation_terms_row(const float* ix, const float* iy, const float* residual,
                         const FlowRows& flow, float gradient_floor, float* const* out,
                         int width) noexcept;

/// The texture of the middle of three neighboring rows of a frame. The rows must be readable one
/// pixel beyond both ends.
void texture_row(const float* const* rows, float* out, int width) noexcept;

/// out = ix^2 + iy^2
void squared_gradient_row(const float* ix, const float* iy, float* out, int width) noexcept;

/// The deviation from the means and the texture.
void deviation_row(const float* const* means, const float* texture, const DeviationModel& model,
                   float* out, int width) noexcept;

}  // namespace ocellus::detail
