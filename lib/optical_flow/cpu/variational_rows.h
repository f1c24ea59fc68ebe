// Row functions of the variational solver. Rows have kRowSlack; `width` is in pixels. Rows of one
// color hold the even or the odd pixels of a row.
#pragma once

#include "optical_flow/variational.h"

namespace ocellus::detail {

/// residual = warped - reference, mean = half of their sum
void warp_difference_row(const float* warped, const float* reference, float* residual, float* mean,
                         int width) noexcept;

/// The weights between the pixels of a row and their right and lower neighbors. `guide` are the row
/// and the one below it, u and v the rows from one above to one below, all readable one pixel
/// beyond both ends.
struct SmoothnessRow {
  const float* guide[2];
  const float* u[3];
  const float* v[3];
  float weight;
  float* right;
  float* down;
};
void smoothness_row(const SmoothnessRow& row, int width) noexcept;

/// The linear system of the pixels of a row.
struct SystemRow {
  const float* ix[5];        ///< Ix of five rows, readable two pixels beyond both ends
  const float* iy[5];        ///< the same of Iy
  const float* residual[5];  ///< and of R
  const float* u;
  const float* v;
  const float* right;  ///< smoothness weights of the row, readable one pixel before it
  const float* down;
  const float* up;  ///< the weights `down` of the row above
  int x;            ///< position of the row's first pixel in the image
  int y;
  int image_width;
  int image_height;
  float* inverse[3];  ///< xx, xy and yy of the inverse of the diagonal block
  float* constant[2];
  float* confidence;  ///< smaller eigenvalue of the matrix of the data term, or null
};
void system_row(const SystemRow& row, int width) noexcept;

void split_colors_row(const float* in, float* even, float* odd, int width) noexcept;

/// One half sweep over the pixels of one color in a row.
struct HalfSweepRow {
  float* u;
  float* v;
  const float* left_u;  ///< the neighbors of the first pixel and those that follow
  const float* left_v;
  const float* right_u;
  const float* right_v;
  const float* up_u;
  const float* up_v;
  const float* down_u;
  const float* down_v;
  const float* left;  ///< weights
  const float* right;
  const float* up;
  const float* down;
  const float* inverse[3];
  const float* constant[2];
};
void half_sweep_row(const HalfSweepRow& row, int count) noexcept;

/// The pixels of both colors, at most kLargestStep from `before`.
void join_colors_row(const float* even, const float* odd, const float* before, float* out,
                     int width) noexcept;

/// out = min(|a - b|, kCandidateCap)
void match_row(const float* a, const float* b, float* out, int width) noexcept;

inline constexpr int kCandidates = 5;  ///< the flow of the pixel itself, then those of neighbors
struct CandidateRow {
  const float* match[kCandidates][3];  ///< three rows, readable one pixel beyond both ends
  const float* u[kCandidates];
  const float* v[kCandidates];
  float* out_u;
  float* out_v;
};
/// Takes the flow of a neighbor where it matches clearly better over 3x3 pixels.
void candidate_row(const CandidateRow& row, int width) noexcept;

/// The trust in the flow of each pixel. `v` are the rows above and below. Multiplies `confidence`
/// by the trust, unless it is null.
void trust_row(const float* u, const float* const* v, const float* residual, float* trust,
               float* confidence, int width) noexcept;

/// Rows y - 4, y - 2, ..., y + 4, readable kGuidedReach pixels beyond both ends.
struct GuidedMedianRow {
  const float* guide[5];
  const float* trust[5];
  const float* u[5];
  const float* v[5];
  int reweightings;
  float* out_u;
  float* out_v;
};
/// The median of the flow over 5x5 samples that have the color of the pixel, by iterated weights.
void guided_median_row(const GuidedMedianRow& row, int width) noexcept;

}  // namespace ocellus::detail
