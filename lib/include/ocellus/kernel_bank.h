// KernelConfig: the spatio-temporal kernels of optical flow and where they come from.
#pragma once

#include <cstdint>

#include "ocellus/options.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Limits of a kernel's support, in taps.
inline constexpr int kMaxKernelTaps = 25;
/// Most convolutions of the same frame that one pass computes (the paper's package execution).
inline constexpr int kMaxConvolutions = 8;
/// Most separable terms whose sum is one kernel.
inline constexpr int kMaxKernelTerms = 4;

/// How kernels differ over the image.
enum class KernelForm : std::uint8_t {
  kUniform,   ///< the same kernels at every pixel
  kPerPixel,  ///< every destination pixel has its own: Ohmura et al. 2011, equation (2) and table
              ///< II
};

/// Who makes the taps.
enum class KernelOrigin : std::uint8_t {
  kGaussian,  ///< the library: Gaussian smoothing and Gaussian derivatives, sigma_space and
              ///< sigma_time everywhere
  kFoveated,  ///< the library: the same with sigma growing with the distance from `fovea`; needs
              ///< kPerPixel
  kCallback,  ///< the caller's function, called at creation
  kFile,      ///< a kernel bank file (*.ocellus)
};

/// Writes the taps of one separable term at one pixel: wx[0..nx), wy[0..ny), wt[0..nt), so that the
/// kernel is w(xi, eta, tau) = sum over terms of wx[xi + nx/2] wy[eta + ny/2] wt[tau]   (integer
/// division). The taps are 0 before the call. It is a true convolution: tap xi weighs the pixel x -
/// xi; tau = 0 is the newest frame. For kUniform it is called with x = y = 0. Called from `create`
/// only, on the calling thread, in row-major order of (y, x), then convolution, then term.
using KernelCallback = void (*)(void* user, int x, int y, int convolution, int term, float* wx,
                                float* wy, float* wt);

/// Kernels of `convolutions` linear filters over nx x ny pixels and nt frames. Made by the library
/// (kGaussian, kFoveated) they are the three derivatives Ix, Iy, It in this order, in gray levels
/// per pixel and per frame: products of a sampled Gaussian of sum 1 along two axes and of its
/// derivative along the third, which has sum 0 and the response 1 to a ramp of slope 1. The
/// Gaussians are centered on tap nx/2, ny/2 (integer division) and, in time, on (nt-1)/2 exactly.
/// Odd nx and ny keep the result on the pixel.
struct KernelConfig {
  KernelForm form = KernelForm::kUniform;
  KernelOrigin origin = KernelOrigin::kGaussian;
  int nx = 15;           ///< 1 to 25 taps
  int ny = 15;           ///< 1 to 25 taps
  int nt = 20;           ///< 1 to 25 frames; 2 to 5 give a low delay
  int convolutions = 3;  ///< 1 to 8; optical flow needs 3
  int terms = 1;         ///< R, 1 to 4: separable terms in the sum that is one kernel

  float sigma_space = 1.5f;  ///< pixels, 0.1 to 1000; kFoveated: sigma in the fovea
  float sigma_time = 1.5f;   ///< frames, 0.1 to 1000

  /// kFoveated: sigma(e) = sigma_space (1 + e / fovea_radius), e the distance from the fovea's
  /// center.
  float fovea_x = -1.0f;        ///< pixels, up to 16384; -1 = the image's center
  float fovea_y = -1.0f;        ///< pixels, up to 16384; -1 = the image's center
  float fovea_radius = 100.0f;  ///< pixels, 0.001 to 1e6: eccentricity at which sigma has doubled

  KernelCallback callback = nullptr;  ///< kCallback
  void* user = nullptr;               ///< kCallback: first argument of the callback
  Text<kMaxOptionText>
      path;  ///< kFile; the file's own form, taps, convolutions and terms must match
};

}  // namespace ocellus

#pragma GCC visibility pop
