// UniformKernels: kernels that are the same for all pixels, in the form that they are computed in.
#pragma once

#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Uniform kernels with everything that two of them share computed once: distinct temporal
/// profiles, then distinct pairs of such a profile and a horizontal one, then one vertical pass for
/// each kernel.
struct UniformKernels {
  static constexpr int kMost = kMaxConvolutions * kMaxKernelTerms;

  struct Horizontal {
    int temporal;
    float taps[kMaxKernelTaps];  ///< in the order of the pixels
  };
  struct Vertical {
    int horizontal;
    int convolution;
    float taps[kMaxKernelTaps];  ///< in the order of the pixels
  };

  int temporal_count = 0;
  int horizontal_count = 0;
  int vertical_count = 0;
  float temporal[kMost][kMaxKernelTaps];
  Horizontal horizontal[kMost];
  Vertical vertical[kMost];

  /// Reads all kernels. Their temporal taps are scaled to gray levels of 8 bits.
  Expected<void> load(const OpticalFlowPlan& plan, const KernelConfig& kernels) noexcept;

 private:
  void add(const OpticalFlowPlan& plan, int convolution, const float* wx, const float* wy,
           const float* wt) noexcept;
};

}  // namespace ocellus::detail
