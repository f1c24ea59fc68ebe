// Fourier transforms of one axis on a device: what the host computes for them.
//
// The passes are those of lib/image/fft.h. A block of threads transforms in shared memory, but the
// first pass of a forward transform reads its elements from elsewhere, and the last one hands its
// results on from registers. There, element s of butterfly t has place s * butterflies + t, so that
// neighboring threads write neighboring places. An inverse transform runs the other way.
#pragma once

#include <array>
#include <bit>

#include "image/fft.h"

namespace ocellus::cuda {

/// Largest radix: a thread holds one butterfly in registers.
inline constexpr int kMaxDeviceRadix = 16;
inline constexpr int kMaxDevicePasses = 4;

/// A pass of the forward transform, which splits blocks of radix * part elements.
struct DeviceFftPass {
  int radix;
  int part;           ///< elements between those of a butterfly
  int butterflies;    ///< length / radix
  unsigned division;  ///< t / part is the upper half of t * division; not used if part is 1
  int roots;          ///< first of `part` roots exp(-2 pi i j / (radix part))
};

/// DeviceFft::shift for the radix of the last pass.
constexpr int gap_shift(int radix) noexcept {
  constexpr int kNoGaps = 31;
  return radix % 2 != 0 ? kNoGaps : std::countr_zero(static_cast<unsigned>(radix));
}

/// The plan of a transform. It has at least two passes.
struct DeviceFft {
  int length;
  int passes;
  /// Position i of shared memory is i + (i >> shift): the gaps spread the butterflies of the last
  /// pass over the banks.
  int shift;
  std::array<DeviceFftPass, kMaxDevicePasses> pass;

  constexpr const DeviceFftPass& last() const noexcept {
    return pass[static_cast<std::size_t>(passes - 1)];
  }
  int shared_elements() const noexcept { return length - 1 + ((length - 1) >> shift) + 1; }
};

/// The plan of the length, at least `length`, that takes the least time. `length` is 1 to
/// detail::kMaxFftLength.
DeviceFft make_device_fft(int length) noexcept;
/// The number of roots of all passes.
int root_count(const DeviceFft& fft) noexcept;
void make_roots(const DeviceFft& fft, detail::Complex32* roots) noexcept;
/// The frequency at a stored place, 0 to length - 1.
int stored_frequency(const DeviceFft& fft, int place) noexcept;

}  // namespace ocellus::cuda
