// Fourier transforms on the CPU, of 16 sequences at a time.
//
// A block holds 16 sequences of n complex numbers. Element i of all sequences is at 32 i: 16 real
// parts, then 16 imaginary parts. A vector thus holds one element of several sequences, and all
// butterflies are the same in every lane, for any length and any number of lanes.
#pragma once

#include <cstddef>

#include "image/fft.h"

namespace ocellus::detail {

inline constexpr int kFftSequences = 16;
/// Floats of one element of all sequences.
inline constexpr int kFftElement = 2 * kFftSequences;

// `roots` are those of `make_fft_roots` for the plan's length. Arrays are aligned to 64 bytes.

/// Forward transforms; the frequencies are in the order of `frequency_at`.
void transform_block(const FftPlan& plan, const Complex32* roots, float* block) noexcept;
/// Inverse transforms of frequencies in this order, without a division by the length.
void invert_block(const FftPlan& plan, const Complex32* roots, float* block) noexcept;
/// Forward transforms, the product with `transfer`, an array like the block, and inverse
/// transforms.
void filter_block(const FftPlan& plan, const Complex32* roots, const float* transfer,
                  float* block) noexcept;

/// Transposes 16 x 16 floats: to[x * out_stride + y] = from[y * stride + x].
void transpose_tile(const float* from, std::ptrdiff_t stride, float* to,
                    std::ptrdiff_t out_stride) noexcept;

}  // namespace ocellus::detail
