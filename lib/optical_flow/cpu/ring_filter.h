// The per-pixel spatio-temporal convolution of one row, with a ring of spatial sums.
//
// A pixel's kernel does not change over time. Its spatial sum over a new frame is therefore
// computed once and kept for nt frames. For separable kernels, equation (2) of Ohmura et al. 2011
// then takes nx ny + ny + nt multiply-adds.
#pragma once

#include <cstddef>

#include "ocellus/kernel_bank.h"
#include "ocellus/optical_flow.h"

namespace ocellus::detail {

/// Pixels in a block. Taps and ring are stored block by block and tap by tap, with 16 neighboring
/// pixels together. A frame thus reads the bank once from start to end, in whole cache lines, on
/// every instruction set:
///   taps: [row][block][convolution][term][wx nx | wy ny | wt nt][16]
///   ring: [row][block][convolution][term][nt elements][16]
/// wx and wy are stored in image order, which reverses the index of the convolution.
inline constexpr int kRingBlock = 16;

struct RingRow {
  /// Pixel at tap (k, 0) of the row's first pixel, for each of the ny rows. Readable up to
  /// kRowSlack beyond the last pixel.
  const float* image[kMaxKernelTaps];
  const void* taps;          ///< first block of the row
  void* ring;                ///< first block of the row
  int slot[kMaxKernelTaps];  ///< ring index of the frame `tau` frames ago; slot[0] is written
  float* out[kMaxConvolutions];
  int blocks;
  int nx;
  int ny;
  int nt;
  int convolutions;
  int terms;
};

void ring_filter_row(const RingRow& row, CoefficientStorage storage) noexcept;

/// The same for kernels that are not separable. No sum of a frame serves a later one, so the frames
/// themselves are kept:
///   taps: [row][block][convolution][tau][eta][xi][16], eta and xi in image order
struct FullRow {
  /// Pixel at tap (k, 0) of the row's first pixel, for each of the ny rows of each frame, the
  /// newest frame first. Readable as those of RingRow.
  const float* image[kMaxKernelTaps * kMaxKernelTaps];
  const void* taps;  ///< first block of the row
  float* out[kMaxConvolutions];
  int blocks;
  int nx;
  int rows;  ///< ny nt
  int convolutions;
};

void full_filter_row(const FullRow& row, CoefficientStorage storage) noexcept;

/// Converts `count` floats (a multiple of 16, aligned) to the storage type.
void store_coefficients(CoefficientStorage storage, const float* from, std::size_t count,
                        void* to) noexcept;

constexpr std::size_t coefficient_bytes(CoefficientStorage storage) {
  return storage == CoefficientStorage::kFloat ? 4 : 2;
}

}  // namespace ocellus::detail
