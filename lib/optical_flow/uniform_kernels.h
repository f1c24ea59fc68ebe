// UniformKernels: kernels that are the same for all pixels, in the form in which they are computed.
#pragma once

#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"
#include "optical_flow/deviation.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Uniform kernels, arranged so that shared parts are computed once. First come the distinct
/// temporal profiles. Then come the distinct pairs of a temporal and a horizontal profile. Last
/// comes one vertical pass for each kernel.
struct UniformKernels {
  static constexpr int kMost = kMaxConvolutions * kMaxKernelTerms;

  struct Horizontal {
    int temporal;
    float taps[kMaxKernelTaps];  ///< in image order
  };
  struct Vertical {
    int horizontal;
    int convolution;
    float taps[kMaxKernelTaps];  ///< in image order
  };

  int temporal_count = 0;
  int horizontal_count = 0;
  int vertical_count = 0;
  float temporal[kMost][kMaxKernelTaps];
  Horizontal horizontal[kMost];
  Vertical vertical[kMost];

  /// Reads all kernels, and adds them to `noise`. Temporal taps are scaled to 8-bit gray levels.
  Expected<void> load(const OpticalFlowPlan& plan, const KernelConfig& kernels,
                      KernelNoise& noise) noexcept;

 private:
  void add(const OpticalFlowPlan& plan, int convolution, const float* wx, const float* wy,
           const float* wt) noexcept;
};

}  // namespace ocellus::detail
