// Equation (2) of Ohmura et al. 2011 in double precision: one sum over space and time for each
// pixel.
#pragma once

#include <functional>
#include <vector>

#include "ocellus/kernel_bank.h"
#include "support/plane.h"

namespace ocellus::reference {

/// One separable product wx(xi) wy(eta) wt(tau), or a kernel that is not separable.
struct Term {
  std::vector<double> wx;
  std::vector<double> wy;
  std::vector<double> wt;
  /// If not empty, w(xi, eta, tau), where xi changes fastest, then eta. The others have its sizes.
  std::vector<double> full{};
};

/// The kernel of a pixel and a convolution: the sum of its terms.
using Kernel = std::vector<Term>;
using KernelAt = std::function<Kernel(int x, int y, int convolution)>;

struct Response {
  double value = 0.0;
  double absolute = 0.0;  ///< the sum of the absolute terms, relative to which errors are measured
};

/// u(x, y, t) = sum over xi, eta, tau of w(xi, eta, tau) o(x - xi, y - eta, t - tau), where t is
/// the last of `frames`. Pixels outside the image repeat the nearest one inside. Times before the
/// first frame repeat that frame.
Response convolve_at(const std::vector<test::PlaneD>& frames, const Kernel& kernel, int x, int y);

/// All pixels of one convolution.
test::PlaneD convolve(const std::vector<test::PlaneD>& frames, const KernelAt& kernel,
                      int convolution);

/// n samples of a Gaussian centered at `center` (in taps), with sum 1.
std::vector<double> gaussian(int n, double center, double sigma);

/// n taps of a Gaussian derivative with sum 0. Its response to the ramp o(x) = x in a convolution
/// is 1.
std::vector<double> gaussian_derivative(int n, double center, double sigma);

/// The library's own derivatives Ix, Iy and It: kGaussian (one sigma) or kFoveated (sigma grows
/// with eccentricity).
KernelAt library_kernels(const KernelConfig& config, ImageSize size);

/// The kernels that the configuration's callback writes.
KernelAt callback_kernels(const KernelConfig& config);

/// The kernels of the configuration's origin.
KernelAt kernels_of(const KernelConfig& config, ImageSize size);

}  // namespace ocellus::reference
