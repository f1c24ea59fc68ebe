// KernelConfig: the spatio-temporal kernels of optical flow and their origin.
#pragma once

#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/options.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Largest support of a kernel along each axis, in taps.
inline constexpr int kMaxKernelTaps = 25;
/// Largest number of convolutions of the same frame that one pass computes (package execution in
/// the paper).
inline constexpr int kMaxConvolutions = 8;
/// Largest number of separable terms whose sum is one kernel.
inline constexpr int kMaxKernelTerms = 4;

/// How kernels vary over the image.
enum class KernelForm : std::uint8_t {
  kUniform,  ///< the same kernels at every pixel
  /// Each output pixel has its own kernels: Ohmura et al. 2011, equation (2) and table II.
  kPerPixel,
  /// As kPerPixel, with kernels that need not be separable: table I of the paper. A tap for each
  /// pixel and frame of the support, so 15x15x20 taps are 18 KB for each pixel and convolution.
  kFull,
};

/// The origin of the taps.
enum class KernelOrigin : std::uint8_t {
  /// The library: Gaussian smoothing and Gaussian derivatives with the same sigma_space and
  /// sigma_time at every pixel.
  kGaussian,
  /// The library: as kGaussian, but sigma grows with the distance from `fovea`; not with kUniform.
  kFoveated,
  kCallback,  ///< the caller's function, which creation calls
  kFile,      ///< a kernel bank file (*.ocellus)
};

/// Writes the taps of one separable term at one pixel: wx[0..nx), wy[0..ny), wt[0..nt). The kernel
/// is w(xi, eta, tau) = sum over terms of wx[xi + nx/2] wy[eta + ny/2] wt[tau] (integer division).
/// The taps are 0 before the call. The operation is a true convolution: tap xi is the weight of the
/// pixel x - xi; tau = 0 is the newest frame. For kUniform the function is called with x = y = 0.
/// For kFull, wx is the whole kernel, w(xi, eta, tau) = wx[(tau ny + eta + ny/2) nx + xi + nx/2],
/// and wy and wt are null.
///
/// Only `create` calls the function, on the calling thread, in row-major order of (y, x), then by
/// convolution, then by term.
using KernelCallback = void (*)(void* user, int x, int y, int convolution, int term, float* wx,
                                float* wy, float* wt);

/// Number of taps of one term at one pixel.
constexpr int taps_of_term(KernelForm form, int nx, int ny, int nt) noexcept {
  return form == KernelForm::kFull ? nx * ny * nt : nx + ny + nt;
}

/// Kernels of `convolutions` linear filters over nx x ny pixels and nt frames.
///
/// Kernels that the library makes (kGaussian, kFoveated) are the three derivatives Ix, Iy and It,
/// in this order, in gray levels per pixel and per frame. Each is a product of a sampled Gaussian
/// with sum 1 along two axes and of its derivative along the third. The derivative has sum 0 and
/// response 1 to a ramp of slope 1. The Gaussians are centered on tap nx/2 and ny/2 (integer
/// division) and, in time, exactly on (nt-1)/2. Odd nx and ny keep the result centered on the
/// pixel.
struct KernelConfig {
  KernelForm form = KernelForm::kUniform;
  KernelOrigin origin = KernelOrigin::kGaussian;
  int nx = 15;           ///< 1 to 25 taps
  int ny = 15;           ///< 1 to 25 taps
  int nt = 20;           ///< 1 to 25 frames; 2 to 5 give a short delay
  int convolutions = 3;  ///< 1 to 8; optical flow requires 3
  int terms = 1;         ///< 1 to 4: number R of separable terms whose sum is one kernel; kFull: 1

  float sigma_space = 1.5f;  ///< pixels, 0.1 to 1000; kFoveated: sigma at the center of the fovea
  float sigma_time = 1.5f;   ///< frames, 0.1 to 1000

  /// kFoveated: sigma(e) = sigma_space (1 + e / fovea_radius), where e is the distance from the
  /// center of the fovea.
  float fovea_x = -1.0f;        ///< pixels, up to 16384; -1: center of the image
  float fovea_y = -1.0f;        ///< pixels, up to 16384; -1: center of the image
  float fovea_radius = 100.0f;  ///< pixels, 0.001 to 1e6: distance at which sigma is doubled

  KernelCallback callback = nullptr;  ///< kCallback
  void* user = nullptr;               ///< kCallback: first argument of the callback
  /// kFile: path of the file, which must have the same form, taps, convolutions and terms.
  Text<kMaxOptionText> path{};

  /// Not kUniform: the image that the kernels are made for, when the frames are a part of it; 0x0:
  /// the frames are the whole image. C++ only, without an option.
  ImageSize image{};
  int image_x = 0;  ///< position of the frame's first pixel in `image`
  int image_y = 0;
};

}  // namespace ocellus

#pragma GCC visibility pop
