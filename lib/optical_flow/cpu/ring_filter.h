// The per-pixel spatio-temporal convolution of one row, with the ring of spatial sums.
//
// A pixel's kernel does not change in time, so its spatial sum over the new frame is taken once and
// kept for as long as the temporal kernel reaches: equation (2) of Ohmura et al. 2011 for separable
// kernels in nx ny + ny + nt multiply-adds.
#pragma once

#include <cstddef>

#include "ocellus/kernel_bank.h"
#include "ocellus/optical_flow.h"

namespace ocellus::detail {

/// Pixels of a block. Taps and ring are stored block by block, tap by tap, 16 neighboring pixels
/// together, so that a frame reads the bank once from end to end, in whole cache lines, on every
/// instruction set:
///   taps: [row][block][convolution][term][wx nx | wy ny | wt nt][16]
///   ring: [row][block][convolution][term][nt slots][16]
/// wx and wy are stored in the order in which pixels lie in the image (reversed against the
/// convolution's index).
inline constexpr int kRingBlock = 16;

struct RingRow {
  /// Pixel under tap (k, 0) of the row's first pixel, for each of the ny rows; readable up to
  /// kRowSlack beyond the last one.
  const float* image[kMaxKernelTaps];
  const void* taps;          ///< first block of the row
  void* ring;                ///< first block of the row
  int slot[kMaxKernelTaps];  ///< ring slot of the frame tau ago; slot[0] is written
  float* out[kMaxConvolutions];
  int blocks;
  int nx;
  int ny;
  int nt;
  int convolutions;
  int terms;
};

constexpr std::size_t ring_taps_per_block(int nx, int ny, int nt, int convolutions, int terms) {
  return static_cast<std::size_t>(nx + ny + nt) * static_cast<std::size_t>(convolutions * terms) *
         kRingBlock;
}
constexpr std::size_t ring_values_per_block(int nt, int convolutions, int terms) {
  return static_cast<std::size_t>(nt) * static_cast<std::size_t>(convolutions * terms) * kRingBlock;
}

void ring_filter_row(const RingRow& row, CoefficientStorage storage) noexcept;

/// Writes `count` floats (a multiple of 16, aligned) as coefficients.
void store_coefficients(CoefficientStorage storage, const float* from, std::size_t count,
                        void* to) noexcept;

constexpr std::size_t coefficient_bytes(CoefficientStorage storage) {
  return storage == CoefficientStorage::kFloat ? 4 : 2;
}

}  // namespace ocellus::detail
