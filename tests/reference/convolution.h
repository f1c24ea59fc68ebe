// Equation (2) of Ohmura et al. 2011 in double precision, as it stands there: one sum over space
// and time for each pixel.
#pragma once

#include <functional>
#include <vector>

#include "ocellus/kernel_bank.h"
#include "support/plane.h"

namespace ocellus::reference {

/// One separable product wx(xi) wy(eta) wt(tau).
struct Term {
  std::vector<double> wx;
  std::vector<double> wy;
  std::vector<double> wt;
};

/// The kernel of a pixel and a convolution: the sum of its terms.
using Kernel = std::vector<Term>;
using KernelAt = std::function<Kernel(int x, int y, int convolution)>;

struct Response {
  double value = 0.0;
  double absolute = 0.0;  ///< sum of the absolute terms, what errors are measured against
};

/// u(x, y, t) = sum over xi, eta, tau of w(xi, eta, tau) o(x - xi, y - eta, t - tau), t the last of
/// `frames`. Space outside the image repeats the nearest pixel, time before the first frame repeats
/// that frame.
Response convolve_at(const std::vector<test::PlaneD>& frames, const Kernel& kernel, int x, int y);

/// All pixels of one convolution.
test::PlaneD convolve(const std::vector<test::PlaneD>& frames, const KernelAt& kernel,
                      int convolution);

/// n samples of a Gaussian about `center` (in taps), of sum 1.
std::vector<double> gaussian(int n, double center, double sigma);

/// n taps of a Gaussian's derivative, of sum 0 and response 1 to the ramp o(x) = x under a true
/// convolution.
std::vector<double> gaussian_derivative(int n, double center, double sigma);

/// The library's own derivatives Ix, Iy, It: kGaussian (one sigma) or kFoveated (sigma growing with
/// eccentricity).
KernelAt library_kernels(const KernelConfig& config, ImageSize size);

/// What a caller's function writes.
KernelAt callback_kernels(const KernelConfig& config);

/// Of whichever origin the configuration names.
KernelAt kernels_of(const KernelConfig& config, ImageSize size);

}  // namespace ocellus::reference
