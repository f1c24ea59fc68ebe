#include "reference/pyramid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "reference/image.h"
#include "reference/lucas_kanade.h"

namespace ocellus::reference {

using test::PlaneD;

namespace {

PlaneD box_mean(const PlaneD& in, int size) {
  const std::vector<double> taps(static_cast<std::size_t>(size), 1.0 / size);
  return filter(in, taps, size / 2, taps, size / 2);
}

PlaneD presmoothed(const PlaneD& plane, double sigma) {
  const std::vector<double> light = window_weights(5, sigma);
  return filter(plane, light, 2, light, 2);
}

/// One level of a frame as Lucas-Kanade takes it.
PlaneD prepared(const PlaneD& raw) {
  const PlaneD mean = box_mean(raw, 7);
  const PlaneD high =
      make(raw.width, raw.height, [&](int x, int y) { return raw.at(x, y) - mean.at(x, y); });
  const PlaneD variance = box_mean(
      make(raw.width, raw.height, [&](int x, int y) { return high.at(x, y) * high.at(x, y); }), 7);
  return presmoothed(make(raw.width, raw.height,
                          [&](int x, int y) {
                            return 20.0 * high.at(x, y) / std::sqrt(variance.at(x, y) + 3.0 * 3.0);
                          }),
                     0.8);
}

PlaneD warped(const PlaneD& next, const PlaneD& u, const PlaneD& v) {
  return make(u.width, u.height,
              [&](int x, int y) { return bicubic(next, x + u.at(x, y), y + v.at(x, y)); });
}

/// Smooths, warps and solves once on one level.
void refine(const PlaneD& reference, const PlaneD& next, const OpticalFlowConfig& config,
            PyramidResult& flow) {
  const PyramidConfig& pyramid = config.pyramid;
  const int width = reference.width;
  const int height = reference.height;
  flow.u = box_mean(flow.u, pyramid.smoothing_size);
  flow.v = box_mean(flow.v, pyramid.smoothing_size);
  const PlaneD there = warped(next, flow.u, flow.v);
  const PlaneD mean = make(
      width, height, [&](int x, int y) { return 0.5 * (reference.at(x, y) + there.at(x, y)); });
  const PlaneD derivatives[] = {derivative_x(mean), derivative_y(mean)};

  PlaneD products[5];
  for (PlaneD& product : products) product = PlaneD(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double ix = derivatives[0].at(x, y);
      const double iy = derivatives[1].at(x, y);
      const double it = there.at(x, y) - reference.at(x, y);
      const double from_x = x + flow.u.at(x, y);
      const double from_y = y + flow.v.at(x, y);
      const double inside = std::min(
          std::min(std::min<double>(x, width - 1 - x), std::min<double>(y, height - 1 - y)),
          std::min(std::min(from_x, width - 1 - from_x), std::min(from_y, height - 1 - from_y)));
      const double weight = std::pow(std::clamp((inside + 0.5) / 5.0, 0.02, 1.0), 2.0);
      products[0].at(x, y) = weight * ix * ix;
      products[1].at(x, y) = weight * ix * iy;
      products[2].at(x, y) = weight * iy * iy;
      products[3].at(x, y) = weight * it * ix;
      products[4].at(x, y) = weight * it * iy;
    }
  }
  const std::vector<double> window = window_weights(config.window, window_sigma(config));
  for (PlaneD& product : products)
    product = filter(product, window, config.window / 2, window, config.window / 2);
  flow.confidence = PlaneD(width, height);
  const auto ridge = static_cast<double>(pyramid.ridge);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double xx = products[0].at(x, y);
      const double xy = products[1].at(x, y);
      const double yy = products[2].at(x, y);
      const double xt = products[3].at(x, y);
      const double yt = products[4].at(x, y);
      const double spread = std::hypot(0.5 * (xx - yy), xy);
      flow.confidence.at(x, y) = std::max(0.0, 0.5 * (xx + yy) - spread);
      const double determinant = (xx + ridge) * (yy + ridge) - xy * xy;
      if (determinant <= 0.0) continue;
      flow.u.at(x, y) += std::clamp((-(yy + ridge) * xt + xy * yt) / determinant, -1.0, 1.0);
      flow.v.at(x, y) += std::clamp((xy * xt - (xx + ridge) * yt) / determinant, -1.0, 1.0);
    }
  }
}

/// The two frames of a result. The first frame of all is also the one before it.
const PlaneD& newest(const std::vector<PlaneD>& frames) {
  return frames.back();
}
const PlaneD& reference_of(const std::vector<PlaneD>& frames) {
  return frames.size() > 1 ? frames[frames.size() - 2] : frames.back();
}

}  // namespace

PyramidResult pyramid_flow(const std::vector<PlaneD>& frames, const OpticalFlowConfig& config) {
  const PyramidConfig& pyramid = config.pyramid;
  std::vector<PlaneD> reference = levels_of(reference_of(frames), pyramid.levels);
  std::vector<PlaneD> next = levels_of(newest(frames), pyramid.levels);
  PyramidResult flow;
  for (std::size_t level = reference.size(); level-- > 0;) {
    const PlaneD here = prepared(reference[level]);
    const PlaneD there = prepared(next[level]);
    const bool top = level + 1 == reference.size();
    flow.u = top ? PlaneD(here.width, here.height) : expand_flow(flow.u, here.width, here.height);
    flow.v = top ? PlaneD(here.width, here.height) : expand_flow(flow.v, here.width, here.height);
    const int warps = level < 2 ? pyramid.warps : pyramid.coarse_warps;
    for (int w = 0; w < warps; ++w) refine(here, there, config, flow);
  }
  return flow;
}

DeviationRange pyramid_deviation(const std::vector<PlaneD>& frames, const OpticalFlowConfig& config,
                                 const PlaneD& u, const PlaneD& v) {
  const FlowSolver solver = config.pyramid.solver;
  const auto image = [&](const PlaneD& raw) {
    return solver == FlowSolver::kVariational ? presmoothed(raw, 0.65) : prepared(raw);
  };
  const PlaneD here = image(reference_of(frames));
  const PlaneD there = warped(image(newest(frames)), u, v);
  const PlaneD residual =
      make(u.width, u.height, [&](int x, int y) { return there.at(x, y) - here.at(x, y); });
  return deviation(pyramid_constants(config.format, solver), derivative_x(here), derivative_y(here),
                   residual, texture_of(reference_of(frames)), u, v);
}

}  // namespace ocellus::reference
