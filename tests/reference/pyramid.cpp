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

/// One level of a frame after preprocessing.
PlaneD prepared(const PlaneD& raw, bool normalize) {
  PlaneD plane = raw;
  if (normalize) {
    const PlaneD mean = box_mean(raw, 7);
    const PlaneD high =
        make(raw.width, raw.height, [&](int x, int y) { return raw.at(x, y) - mean.at(x, y); });
    const PlaneD variance = box_mean(
        make(raw.width, raw.height, [&](int x, int y) { return high.at(x, y) * high.at(x, y); }),
        7);
    plane = make(raw.width, raw.height, [&](int x, int y) {
      return 20.0 * high.at(x, y) / std::sqrt(variance.at(x, y) + 3.0 * 3.0);
    });
  }
  const std::vector<double> light = window_weights(5, 0.8);
  return filter(plane, light, 2, light, 2);
}

struct Partner {
  const PlaneD* image;
  double offset;  ///< in frames after the reference
  PlaneD warped;
  PlaneD fit;
};

/// Warps, solves and smooths once on one level.
void refine(const PlaneD& reference, std::vector<Partner>& partners, bool all_frames, bool last,
            const OpticalFlowConfig& config, PyramidResult& flow) {
  const PyramidConfig& pyramid = config.pyramid;
  const int width = reference.width;
  const int height = reference.height;
  if (pyramid.smoothing == FlowSmoothing::kBeforeWarp) {
    flow.u = box_mean(flow.u, pyramid.smoothing_size);
    flow.v = box_mean(flow.v, pyramid.smoothing_size);
  }
  for (Partner& partner : partners) {
    partner.warped = make(width, height, [&](int x, int y) {
      const double from_x = x + partner.offset * flow.u.at(x, y);
      const double from_y = y + partner.offset * flow.v.at(x, y);
      return pyramid.interpolation == Interpolation::kCubic
                 ? bicubic(*partner.image, from_x, from_y)
                 : bilinear(*partner.image, from_x, from_y);
    });
    partner.fit = PlaneD(width, height, 1.0);
  }
  const auto residual = [&](const Partner& partner, int x, int y) {
    return partner.warped.at(x, y) - reference.at(x, y);
  };
  if (all_frames) {
    std::vector<PlaneD> errors;
    for (const Partner& partner : partners) {
      errors.push_back(box_mean(
          make(width, height, [&](int x, int y) { return std::pow(residual(partner, x, y), 2.0); }),
          9));
    }
    for (std::size_t k = 0; k < partners.size(); ++k) {
      partners[k].fit = make(width, height, [&](int x, int y) {
        double least = errors[0].at(x, y);
        for (const PlaneD& error : errors) least = std::min(least, error.at(x, y));
        return std::pow((least + 0.3) / (errors[k].at(x, y) + 0.3), 3.0);
      });
    }
  }
  const PlaneD mean = make(width, height, [&](int x, int y) {
    double sum = reference.at(x, y);
    for (const Partner& partner : partners) sum += partner.warped.at(x, y);
    return sum / static_cast<double>(partners.size() + 1);
  });

  const PlaneD derivatives[] = {derivative_x(mean), derivative_y(mean)};

  PlaneD products[5];
  for (PlaneD& product : products) product = PlaneD(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double ix = derivatives[0].at(x, y);
      const double iy = derivatives[1].at(x, y);
      double s2 = 0.0;
      double st = 0.0;
      for (const Partner& partner : partners) {
        const double r = residual(partner, x, y);
        const double from_x = x + partner.offset * flow.u.at(x, y);
        const double from_y = y + partner.offset * flow.v.at(x, y);
        const double inside = std::min(
            std::min(std::min<double>(x, width - 1 - x), std::min<double>(y, height - 1 - y)),
            std::min(std::min(from_x, width - 1 - from_x), std::min(from_y, height - 1 - from_y)));
        const double ramp = std::clamp((inside + 0.5) / (pyramid.normalize ? 5.0 : 1.0), 0.02, 1.0);
        double weight = ramp * ramp * partner.fit.at(x, y);
        const auto robust = static_cast<double>(pyramid.robust);
        if (last && robust > 0.0) weight /= 1.0 + (r / robust) * (r / robust);
        s2 += weight * partner.offset * partner.offset;
        st += weight * partner.offset * r;
      }
      const auto floor = static_cast<double>(pyramid.gradient_floor);
      const double even = floor > 0.0 ? 1.0 / (ix * ix + iy * iy + floor * floor) : 1.0;
      products[0].at(x, y) = even * s2 * ix * ix;
      products[1].at(x, y) = even * s2 * ix * iy;
      products[2].at(x, y) = even * s2 * iy * iy;
      products[3].at(x, y) = even * st * ix;
      products[4].at(x, y) = even * st * iy;
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
  if (pyramid.smoothing == FlowSmoothing::kConfidence) {
    const auto weight = [&](int x, int y) { return flow.confidence.at(x, y) + 1e-3; };
    const PlaneD sum = box_mean(make(width, height, weight), pyramid.smoothing_size);
    for (PlaneD* plane : {&flow.u, &flow.v}) {
      const PlaneD weighted = box_mean(
          make(width, height, [&](int x, int y) { return weight(x, y) * plane->at(x, y); }),
          pyramid.smoothing_size);
      *plane = make(width, height, [&](int x, int y) { return weighted.at(x, y) / sum.at(x, y); });
    }
  }
}

/// Age of the frame that the flow belongs to, if `seen` frames have come.
int age_of_reference(const PyramidConfig& pyramid, int seen) {
  return std::min(std::max(1, (pyramid.window_frames - 1) / 2), seen - 1);
}

}  // namespace

PyramidResult pyramid_flow(const std::vector<PlaneD>& frames, const OpticalFlowConfig& config) {
  const PyramidConfig& pyramid = config.pyramid;
  const int seen = std::min(static_cast<int>(frames.size()), pyramid.window_frames);
  std::vector<std::vector<PlaneD>> images;  // [age][level]
  for (int age = 0; age < seen; ++age) {
    images.push_back(
        levels_of(frames[frames.size() - 1 - static_cast<std::size_t>(age)], pyramid.levels));
    for (PlaneD& level : images.back()) level = prepared(level, pyramid.normalize);
  }
  const int reference_age = age_of_reference(pyramid, seen);
  const auto& reference = images[static_cast<std::size_t>(reference_age)];

  PyramidResult flow;
  for (int l = static_cast<int>(reference.size()) - 1; l >= 0; --l) {
    const auto level = static_cast<std::size_t>(l);
    const int width = reference[level].width;
    const int height = reference[level].height;
    const bool top = level + 1 == reference.size();
    flow.u = top ? PlaneD(width, height) : expand_flow(flow.u, width, height);
    flow.v = top ? PlaneD(width, height) : expand_flow(flow.v, width, height);
    const int warps = l < 2 ? pyramid.warps : pyramid.coarse_warps;
    for (int w = 0; w < warps; ++w) {
      const bool last = w == warps - 1;
      const bool all_frames = last && l == 0 && pyramid.window_frames > 2;
      std::vector<Partner> partners;
      for (int age = 0; age < seen; ++age) {
        const int offset = reference_age - age;
        // The first frame of all is also used in place of the next one.
        const bool next = offset == 1 || seen == 1;
        if (!next && (!all_frames || offset == 0)) continue;
        partners.push_back({&images[static_cast<std::size_t>(age)][level],
                            seen == 1 ? 1.0 : static_cast<double>(offset),
                            {},
                            {}});
      }
      refine(reference[level], partners, all_frames, last, config, flow);
    }
    if (pyramid.median > 0) {
      for (PlaneD* plane : {&flow.u, &flow.v})
        *plane =
            make(width, height, [&](int x, int y) { return median(*plane, pyramid.median, x, y); });
    }
  }
  return flow;
}

DeviationRange pyramid_deviation(const std::vector<PlaneD>& frames, const OpticalFlowConfig& config,
                                 const PlaneD& u, const PlaneD& v) {
  const PyramidConfig& pyramid = config.pyramid;
  const int seen = std::min(static_cast<int>(frames.size()), pyramid.window_frames);
  const int age = age_of_reference(pyramid, seen);
  const auto frame = [&](int back) -> const PlaneD& {
    return frames[frames.size() - 1 - static_cast<std::size_t>(back)];
  };
  const PlaneD here = prepared(frame(age), pyramid.normalize);
  const PlaneD next = prepared(frame(std::max(0, age - 1)), pyramid.normalize);
  const auto warped = make(u.width, u.height, [&](int x, int y) {
    const double from_x = x + u.at(x, y);
    const double from_y = y + v.at(x, y);
    return pyramid.interpolation == Interpolation::kCubic ? bicubic(next, from_x, from_y)
                                                          : bilinear(next, from_x, from_y);
  });
  const PlaneD mean = make(u.width, u.height,
                           [&](int x, int y) { return 0.5 * (here.at(x, y) + warped.at(x, y)); });
  const PlaneD residual =
      make(u.width, u.height, [&](int x, int y) { return warped.at(x, y) - here.at(x, y); });
  return deviation(pyramid_constants(config.format, pyramid.normalize), derivative_x(mean),
                   derivative_y(mean), residual, texture_of(frame(age)), u, v);
}

}  // namespace ocellus::reference
