// Row functions of the pyramid method. Rows have kRowSlack; `width` is in pixels.
#pragma once

namespace ocellus::detail {

void subtract_row(const float* a, const float* b, float* out, int width) noexcept;
void square_row(const float* in, float* out, int width) noexcept;

/// Normalizes by the local contrast: out = 20 highpass / sqrt(variance + floor^2), with `floor` in
/// gray levels.
void normalize_row(const float* highpass, const float* variance, float floor, float* out,
                   int width) noexcept;

/// Parameters of the weight of one frame's residual in the solution.
struct ResidualRow {
  const float* reference;  ///< image A
  const float* warped;     ///< warped image W_k
  const float* u;          ///< flow of the reference frame
  const float* v;
  const float* fit;  ///< weight of each pixel, or null
  float offset;      ///< o = k - c, frames between W_k and A
  float robust;      ///< scale of the Cauchy weight; 0: off
  float border;      ///< pixels over which the weight decreases to 0 toward the edges of the image
  int x;             ///< position of the row's first pixel in the image
  int y;
  int image_width;
  int image_height;
};

/// s2 (+)= w o^2 and st (+)= w o (W - A). If `first`, the values are overwritten.
void accumulate_residual_row(const ResidualRow& row, bool first, float* s2, float* st,
                             int width) noexcept;

/// squared[x] = (W - A)^2
void squared_difference_row(const float* a, const float* b, float* squared, int width) noexcept;
/// out = min(out, in). If `first`, out = in.
void minimum_row(const float* in, bool first, float* out, int width) noexcept;
/// out = ((least + floor) / (error + floor))^3: how well a frame fits, compared with the frame that
/// fits best.
void fit_row(const float* least, const float* error, float floor, float* out, int width) noexcept;

/// out = scale (a + b)
void add_scaled_row(const float* a, const float* b, float scale, float* out, int width) noexcept;

/// Computes the five products of the normal equations. If floor > 0, the weight is 1 /
/// (|gradient|^2 + floor^2). `mean` are five neighboring rows of the mean image; each must be
/// readable two pixels beyond both ends. The derivative filter is (1 -8 0 8 -1) / 12.
void weighted_products_row(const float* const* mean, const float* s2, const float* st,
                           float gradient_floor, float* const* out, int width) noexcept;

/// out = flow + increment, with the increment clamped to +-1 pixel.
void add_increment_row(const float* increment, const float* flow, float* out, int width) noexcept;
/// c = confidence + least, cu = c u, cv = c v.
void weigh_flow_row(const float* u, const float* v, const float* confidence, float least, float* c,
                    float* cu, float* cv, int width) noexcept;
/// out = a / b
void divide_row(const float* a, const float* b, float* out, int width) noexcept;

/// Writes `invalid` to u and v where the confidence is below the threshold.
void mark_invalid_row(const float* confidence, float threshold, float invalid, float* u, float* v,
                      int width) noexcept;

}  // namespace ocellus::detail
