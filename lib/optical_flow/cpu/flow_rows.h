// Row functions of optical flow. Rows have kRowSlack; `width` is in pixels.
#pragma once

#include <array>
#include <cstddef>

#include "optical_flow/deviation.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Products that the window sums: IxIx, IxIy, IyIy, IxIt, IyIt.
inline constexpr int kProducts = 5;

struct SolveRow {
  /// rows[p][k]: product p, filtered along the row, from `radius` rows above to those below.
  const float* const (*rows)[kMaxWindow];
  const float* weight;  ///< OpticalFlowPlan::weight
  int radius;
  float ridge;      ///< added to the diagonal
  float threshold;  ///< threshold of the confidence
  float invalid;    ///< written for u and v where the solution is not valid
  float* u;
  float* v;
  float* confidence;
  int width;
};

/// What the normal equations of a row are made of.
struct ResidualRow {
  /// Five neighboring rows of the mean image, readable two pixels beyond both ends.
  std::array<const float*, 5> mean;
  const float* reference;  ///< image A
  const float* warped;     ///< warped image W
  const float* flow[2];    ///< u and v by which it is warped
  int x;                   ///< position of the row's first pixel in the image
  int y;
  int image_width;
  int image_height;
};

/// A row of samples, which are every second pixel.
struct DeviationSamples {
  const float* image[3];                ///< Ix, Iy and the residual
  std::array<const float*, 4> flow[2];  ///< u and v of the pixels left, right, above and below
};

/// The row functions, compiled for each instruction set.
struct FlowRows {
  // ---- the window sums and the 2x2 solution

  /// Writes the five products of one row of derivatives to out[p][x].
  void (*derivative_products_row)(const float* ix, const float* iy, const float* it,
                                  float* const* out, int width);

  /// Sums the rows and solves. All rows must have kRowSlack.
  void (*lucas_kanade_solve_row)(const SolveRow& row);

  // ---- temporal sums of stored frames

  /// out[s][x] = sum over tau of taps[s][tau] frames[tau][x], for `sums` sums, without scaling.
  /// Rows of frames must be readable, and rows of out writable, up to kRowSlack beyond `width`.
  void (*temporal_sums_row)(const void* const* frames, PixelFormat format, int nt,
                            const float* const* taps, int sums, float* const* out, int width);

  // ---- the pyramid

  void (*subtract_row)(const float* a, const float* b, float* out, int width);
  void (*square_row)(const float* in, float* out, int width);

  /// Normalizes by the local contrast:
  /// out = kContrastScale highpass / sqrt(variance + kContrastFloor^2)
  void (*normalize_row)(const float* highpass, const float* variance, float* out, int width);

  /// out = (a + b) / 2
  void (*mean_row)(const float* a, const float* b, float* out, int width);

  /// Splits a row into its even and its odd pixels. Reads up to 2 kRowSlack pixels beyond the row.
  void (*split_row)(const float* in, float* even, float* odd, int width);

  /// The five products of the normal equations, with a weight that decreases toward the edges of
  /// the image. The derivative filter is (1 -8 0 8 -1) / 12.
  void (*weighted_products_row)(const ResidualRow& row, float* const* out, int width);

  /// out = flow + increment, with the increment clamped to +-1 pixel.
  void (*add_increment_row)(const float* increment, const float* flow, float* out, int width);

  // ---- the standard deviation of the flow

  /// The derivatives of the middle of five neighboring rows by (1 -8 0 8 -1) / 12. The rows must be
  /// readable two pixels beyond both ends.
  void (*gradient_row)(const float* const* rows, float* ix, float* iy, int width);

  /// The terms of the kDeviationSums means.
  void (*deviation_terms_row)(const DeviationSamples& of, float gradient_floor, float* const* out,
                              int samples);

  /// The texture of the middle of three neighboring rows of a frame. The rows must be readable one
  /// pixel beyond both ends.
  void (*texture_row)(const float* const* rows, float* out, int width);

  /// The variances of samples from their means, without what depends on the pixel itself.
  void (*deviation_variance_row)(const float* const* means, const DeviationModel& model, float* out,
                                 int samples);
  /// The deviation of pixels from the variances of their samples and their texture. Writes up to
  /// 2 kRowSlack pixels beyond the row.
  void (*deviation_row)(const float* variance, const float* texture, const DeviationModel& model,
                        float* out, int width);
};

/// Those of this machine.
const FlowRows& flow_rows() noexcept;

}  // namespace ocellus::detail
