#include "reference/convolution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ocellus::reference {

using test::PlaneD;

Response convolve_at(const std::vector<PlaneD>& frames, const Kernel& kernel, int x, int y) {
  const int nx = static_cast<int>(kernel.front().wx.size());
  const int ny = static_cast<int>(kernel.front().wy.size());
  const int nt = static_cast<int>(kernel.front().wt.size());
  const int t = static_cast<int>(frames.size()) - 1;
  Response response;
  for (int tau = 0; tau < nt; ++tau) {
    const PlaneD& frame = frames[static_cast<std::size_t>(std::max(0, t - tau))];
    for (int j = 0; j < ny; ++j) {
      const int eta = j - ny / 2;
      for (int i = 0; i < nx; ++i) {
        const int xi = i - nx / 2;
        const double o = frame.clamped(x - xi, y - eta);
        double w = 0.0;
        double magnitude = 0.0;
        for (const Term& term : kernel) {
          const double product = term.full.empty()
                                     ? term.wx[static_cast<std::size_t>(i)] *
                                           term.wy[static_cast<std::size_t>(j)] *
                                           term.wt[static_cast<std::size_t>(tau)]
                                     : term.full[static_cast<std::size_t>((tau * ny + j) * nx + i)];
          w += product;
          magnitude += std::abs(product);
        }
        response.value += w * o;
        response.absolute += magnitude * std::abs(o);
      }
    }
  }
  return response;
}

PlaneD convolve(const std::vector<PlaneD>& frames, const KernelAt& kernel, int convolution) {
  PlaneD plane(frames.front().width, frames.front().height);
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x)
      plane.at(x, y) = convolve_at(frames, kernel(x, y, convolution), x, y).value;
  }
  return plane;
}

std::vector<double> gaussian(int n, double center, double sigma) {
  std::vector<double> taps(static_cast<std::size_t>(n));
  double sum = 0.0;
  for (int i = 0; i < n; ++i) {
    const double d = i - center;
    sum += taps[static_cast<std::size_t>(i)] = std::exp(-d * d / (2.0 * sigma * sigma));
  }
  for (double& tap : taps) tap /= sum;
  return taps;
}

std::vector<double> gaussian_derivative(int n, double center, double sigma) {
  // The derivative of a Gaussian is the Gaussian times a linear function, here alpha + beta i. The
  // two conditions determine it:
  //   sum of taps:               alpha S0 + beta S1 = 0
  //   response to o(x) = x at 0: -(alpha S1 + beta S2) = 1
  // Tap i is the weight of the sample i steps back.
  std::vector<double> taps = gaussian(n, center, sigma);
  double s0 = 0.0;
  double s1 = 0.0;
  double s2 = 0.0;
  for (int i = 0; i < n; ++i) {
    const double g = taps[static_cast<std::size_t>(i)];
    s0 += g;
    s1 += g * i;
    s2 += g * i * i;
  }
  const double determinant = s0 * s2 - s1 * s1;
  const double alpha = s1 / determinant;
  const double beta = -s0 / determinant;
  for (int i = 0; i < n; ++i) taps[static_cast<std::size_t>(i)] *= alpha + beta * i;
  return taps;
}

KernelAt library_kernels(const KernelConfig& config, ImageSize size) {
  const double center_t = (config.nt - 1) / 2.0;
  const auto gt = gaussian(config.nt, center_t, static_cast<double>(config.sigma_time));
  const auto dt = gaussian_derivative(config.nt, center_t, static_cast<double>(config.sigma_time));
  const double fovea_x =
      config.fovea_x < 0.0f ? (size.width - 1) / 2.0 : static_cast<double>(config.fovea_x);
  const double fovea_y =
      config.fovea_y < 0.0f ? (size.height - 1) / 2.0 : static_cast<double>(config.fovea_y);
  return [=](int x, int y, int convolution) {
    double sigma = static_cast<double>(config.sigma_space);
    if (config.origin == KernelOrigin::kFoveated) {
      const double eccentricity =
          std::sqrt((x - fovea_x) * (x - fovea_x) + (y - fovea_y) * (y - fovea_y));
      sigma *= 1.0 + eccentricity / static_cast<double>(config.fovea_radius);
    }
    Term term;
    term.wx = convolution == 0 ? gaussian_derivative(config.nx, config.nx / 2, sigma)
                               : gaussian(config.nx, config.nx / 2, sigma);
    term.wy = convolution == 1 ? gaussian_derivative(config.ny, config.ny / 2, sigma)
                               : gaussian(config.ny, config.ny / 2, sigma);
    term.wt = convolution == 2 ? dt : gt;
    return Kernel{term};
  };
}

KernelAt callback_kernels(const KernelConfig& config) {
  return [config](int x, int y, int convolution) {
    Kernel kernel;
    const bool uniform = config.form == KernelForm::kUniform;
    if (config.form == KernelForm::kFull) {
      std::vector<float> taps(static_cast<std::size_t>(config.nx * config.ny * config.nt));
      config.callback(config.user, x, y, convolution, 0, taps.data(), nullptr, nullptr);
      const auto empty = [](int n) { return std::vector<double>(static_cast<std::size_t>(n)); };
      return Kernel{
          {empty(config.nx), empty(config.ny), empty(config.nt), {taps.begin(), taps.end()}}};
    }
    for (int r = 0; r < config.terms; ++r) {
      std::vector<float> wx(static_cast<std::size_t>(config.nx));
      std::vector<float> wy(static_cast<std::size_t>(config.ny));
      std::vector<float> wt(static_cast<std::size_t>(config.nt));
      config.callback(config.user, uniform ? 0 : x, uniform ? 0 : y, convolution, r, wx.data(),
                      wy.data(), wt.data());
      kernel.push_back({{wx.begin(), wx.end()}, {wy.begin(), wy.end()}, {wt.begin(), wt.end()}});
    }
    return kernel;
  };
}

KernelAt kernels_of(const KernelConfig& config, ImageSize size) {
  return config.origin == KernelOrigin::kCallback ? callback_kernels(config)
                                                  : library_kernels(config, size);
}

}  // namespace ocellus::reference
