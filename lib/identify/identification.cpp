#include "ocellus/identification.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/failure.h"
#include "identify/estimates.h"
#include "identify/filter_design.h"
#include "identify/picture.h"

namespace ocellus {
namespace identify {
namespace {

// The noise is taken to be at least this, in units of white: a tenth of the rounding of 8 bits.
// Without noise, the filter would be the inverse of the blur, which need not be stable.
constexpr double kLeastNoise = 1e-4;
constexpr int kResidualBorder = 16;
// A filter without feedback reaches `support` pixels, so a small bound cannot always be met.
constexpr int kLeastResponse = 8;
constexpr double kLeastRootBound = 0.2;
// The spectrum for a known blur without a picture. It has more details than the mean of
// photographs. The filters of the library are made with it.
constexpr PowerLaw kDetailedPicture{.log_power = -2.5, .exponent = 2.6};

Expected<void> check(const IdentificationConfig& config) {
  if (config.support < 1 || config.support > kMaxFilterSupport) {
    return detail::invalid_argument("support is %d; it must be 1 to %d", config.support,
                                    kMaxFilterSupport);
  }
  if (config.feedback_support < 0 || config.feedback_support > config.support) {
    return detail::invalid_argument("feedback_support is %d; it must be 1 to support (%d), or 0",
                                    config.feedback_support, config.support);
  }
  if (!(config.largest_root >= 0.5 && config.largest_root <= 0.98)) {
    return detail::invalid_argument("largest_root is %g; it must be 0.5 to 0.98",
                                    config.largest_root);
  }
  if (config.max_shift < 0 || config.max_shift > 16) {
    return detail::invalid_argument("max_shift is %d; it must be 0 to 16 pixels", config.max_shift);
  }
  if (config.max_response < kLeastResponse || config.max_response > kMaxFilterResponse) {
    return detail::invalid_argument("max_response is %d; it must be %d to %d pixels",
                                    config.max_response, kLeastResponse, kMaxFilterResponse);
  }
  return {};
}

/// Reads part of a view as numbers, 1 for white.
Expected<Picture> read_picture(const char* name, const ImageView& view, const Rect& area) {
  Picture picture(area.width, area.height);
  for (int y = 0; y < area.height; ++y) {
    for (int x = 0; x < area.width; ++x) {
      const int column = area.x + x;
      double value = 0.0;
      switch (view.format) {
        case PixelFormat::kGray8:
          value = view.row<const std::uint8_t>(area.y + y)[column] / 255.0;
          break;
        case PixelFormat::kGray16:
          value = view.row<const std::uint16_t>(area.y + y)[column] / 65535.0;
          break;
        default:  // kFloat32; no color comes here
          value = static_cast<double>(view.row<const float>(area.y + y)[column]) / 255.0;
          break;
      }
      if (!(std::fabs(value) < 1e13)) {
        return detail::invalid_argument(
            "the %s has the value %g at column %d, row %d; it must be finite", name, 255.0 * value,
            column, area.y + y);
      }
      picture.at(y, x) = value;
    }
  }
  return picture;
}

Expected<void> check_view(const char* name, const ImageView& view, int least_side) {
  if (view.data == nullptr)
    return detail::invalid_argument("the %s has no pixels (data is null)", name);
  if (view.size.width < least_side || view.size.height < least_side ||
      view.size.width > kMaxImageSide || view.size.height > kMaxImageSide) {
    return detail::invalid_argument("the %s has %dx%d pixels; it must have %dx%d to %dx%d", name,
                                    view.size.width, view.size.height, least_side, least_side,
                                    kMaxImageSide, kMaxImageSide);
  }
  if (view.format != PixelFormat::kGray8 && view.format != PixelFormat::kGray16 &&
      view.format != PixelFormat::kFloat32) {
    return detail::invalid_argument("the %s has format %d; it must be gray8, gray16 or float32",
                                    name, static_cast<int>(view.format));
  }
  if (view.space == MemorySpace::kCuda) {
    return tl::unexpected(make_error(
        Status::kUnsupported, "the %s is in device memory; it must be in host memory", name));
  }
  return {};
}

/// The center of a view, at most kMaxFragmentSide on a side.
Rect center(ImageSize size) {
  const int width = std::min(size.width, kMaxFragmentSide);
  const int height = std::min(size.height, kMaxFragmentSide);
  return {(size.width - width) / 2, (size.height - height) / 2, width, height};
}

/// The transfer function of a kernel whose center is displacement (shift_x, shift_y).
Spectrum kernel_transfer(const double* kernel, int width, int height, int shift_x, int shift_y) {
  Spectrum s(kDesignSide);
  const auto wrap = [](int k) { return ((k % kDesignSide) + kDesignSide) % kDesignSide; };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      s.at(wrap(y - height / 2 + shift_y), wrap(x - width / 2 + shift_x)) += kernel[y * width + x];
    }
  }
  fourier_transform(s);
  return s;
}

/// Wiener's filter conj(H) S / (|H|^2 S + N). Of a blur that is known but for the variance V of its
/// transfer function, |H|^2 + V is the mean square, so N contains V S.
DesignTarget wiener_target(const Spectrum& blur, const PowerLaw& law,
                           const std::vector<double>& noise_power) {
  DesignTarget target;
  const std::size_t size = blur.values.size();
  target.input_power.resize(size);
  for (std::size_t w = 0; w < size; ++w) {
    const double signal = law.at(design_frequency(w), design_angle(w));
    const double noise = std::max(noise_power[w], kLeastNoise * kLeastNoise);
    const double power = std::norm(blur.values[w]) * signal + noise;
    target.response.values[w] = std::conj(blur.values[w]) * signal / power;
    target.input_power[w] = power;
    target.ideal_error += signal * noise / power / static_cast<double>(size);
  }
  return target;
}

std::vector<double> power_of(const Spectrum& blur) {
  std::vector<double> power(blur.values.size());
  std::transform(blur.values.begin(), blur.values.end(), power.begin(),
                 [](Complex value) { return std::norm(value); });
  return power;
}

/// Designs the filter. Where its response is too long, it is designed again with a smaller bound of
/// the roots: a response decays about as the powers of the largest root.
Expected<Identification> design(const DesignTarget& target, const IdentificationConfig& config) {
  const int feedback =
      config.feedback_support > 0 ? config.feedback_support : std::min(config.support, 7);
  double bound = config.largest_root;
  while (bound >= kLeastRootBound) {
    const Design designed = design_filter(target, config.support, feedback, bound);
    const Expected<FilterProperties> properties = analyze_filter(designed.filter);
    double root = bound;
    int response = 2 * kMaxFilterResponse;
    if (properties) {
      root = properties->largest_root;
      response = properties->response;
    } else if (properties.error().status != Status::kInvalidArgument) {
      return tl::unexpected(properties.error());
    }  // else: the roots are below the bound, so the response is above 512 pixels
    if (response <= config.max_response) {
      Identification result;
      result.filter = designed.filter;
      result.properties = *properties;
      IdentificationReport& report = result.report;
      report.approximation_loss_db = 10.0 * std::log10(1.0 + designed.excess / target.ideal_error);
      report.residual_rms = 255.0 * std::sqrt(designed.excess + target.ideal_error);
      report.root_bound = bound;
      return result;
    }
    bound = std::min(bound - 0.01, std::pow(root, 1.05 * response / config.max_response));
  }
  return detail::invalid_argument(
      "no filter of support %d with an impulse response of at most %d pixels was found; a larger "
      "max_response or a smaller support is needed",
      config.support, config.max_response);
}

/// The RMS of the filtered fragment minus the sharp one. The fragment is reflected at its borders.
double restoration_rms(const RestorationFilter& filter, const Picture& degraded,
                       const Picture& sharp, int shift_x, int shift_y) {
  constexpr int kPad = 48;
  const int side = power_of_two(std::max(degraded.width, degraded.height) + 2 * kPad);
  const auto reflected = [](int k, int n) {
    const int period = 2 * n;
    const int r = ((k % period) + period) % period;
    return r < n ? r : period - 1 - r;
  };
  Spectrum s(side);
  for (int i = 0; i < side; ++i) {
    const int y = reflected(i < side - kPad ? i : i - side, degraded.height);
    for (int j = 0; j < side; ++j) {
      s.at(i, j) = degraded.at(y, reflected(j < side - kPad ? j : j - side, degraded.width));
    }
  }
  fourier_transform(s);
  const Spectrum transfer = transfer_function(filter, side);
  for (std::size_t w = 0; w < s.values.size(); ++w) s.values[w] *= transfer.values[w];
  fourier_transform(s, true);
  double sum = 0.0;
  double count = 0.0;
  for (int y = kResidualBorder; y < sharp.height - kResidualBorder; ++y) {
    for (int x = kResidualBorder; x < sharp.width - kResidualBorder; ++x) {
      const double error = s.at(y, x).real() - sharp.at(y - shift_y, x - shift_x);
      sum += error * error;
      count += 1.0;
    }
  }
  return 255.0 * std::sqrt(sum / count);
}

/// The picture of the configuration, or nothing.
Expected<std::optional<Picture>> configured_picture(const IdentificationConfig& config) {
  if (config.picture.data == nullptr) return std::optional<Picture>();
  OCELLUS_TRY(check_view("picture", config.picture, kMinFragmentSide));
  OCELLUS_TRY_ASSIGN(picture, read_picture("picture", config.picture, center(config.picture.size)));
  return std::optional<Picture>(std::move(*picture));
}

Expected<Identification> from_psf(const double* psf, int width, int height, double noise,
                                  const std::optional<Picture>& picture,
                                  const IdentificationConfig& config) {
  const Spectrum blur = kernel_transfer(psf, width, height, 0, 0);
  const PowerLaw law =
      picture ? fit_power_law(radial_spectrum(*picture, true), power_of(blur), noise * noise)
              : kDetailedPicture;
  const std::vector<double> noise_power(blur.values.size(), noise * noise);
  OCELLUS_TRY_ASSIGN(result, design(wiener_target(blur, law, noise_power), config));
  result->report.noise = 255.0 * noise;
  result->report.gain = blur.values[0].real();
  result->report.spectrum_exponent = law.exponent;
  return result;
}

}  // namespace
}  // namespace identify

Expected<Identification> identify_from_pair(const ImageView& degraded, const ImageView& sharp,
                                            const IdentificationConfig& config) {
  using namespace identify;
  OCELLUS_TRY(check(config));
  OCELLUS_TRY(check_view("degraded fragment", degraded, kMinFragmentSide));
  OCELLUS_TRY(check_view("sharp fragment", sharp, kMinFragmentSide));
  if (degraded.size != sharp.size) {
    return detail::invalid_argument(
        "the degraded fragment has %dx%d pixels and the sharp one %dx%d; they must have the same "
        "size",
        degraded.size.width, degraded.size.height, sharp.size.width, sharp.size.height);
  }
  const Rect area = center(degraded.size);
  OCELLUS_TRY_ASSIGN(d, read_picture("degraded fragment", degraded, area));
  OCELLUS_TRY_ASSIGN(s, read_picture("sharp fragment", sharp, area));
  for (const auto& [name, picture] : {std::pair{"degraded", &*d}, std::pair{"sharp", &*s}}) {
    // A fragment of one gray value tells nothing about the blur.
    if (variance(*picture) < 1e-8) {
      return detail::invalid_argument("the %s fragment is constant; it must show details", name);
    }
  }
  OCELLUS_TRY_ASSIGN(estimate, estimate_blur(*d, *s, config.max_shift));

  OCELLUS_TRY_ASSIGN(picture, configured_picture(config));
  const int side = 2 * estimate->radius + 1;
  const int undone_x = config.undo_shift ? estimate->shift_x : 0;
  const int undone_y = config.undo_shift ? estimate->shift_y : 0;
  const Spectrum blur = kernel_transfer(estimate->kernel.data(), side, side, undone_x, undone_y);
  const PowerLaw part =
      fit_power_law(radial_spectrum(*s, true), std::vector<double>(blur.values.size(), 1.0), 0.0);
  const PowerLawPrior prior = prior_of_picture(part, std::min(s->width, s->height));
  const PowerLaw law = *picture ? fit_power_law(radial_spectrum(**picture, true), power_of(blur),
                                                estimate->noise_variance, prior)
                                : prior.mean;
  std::vector<double> noise = interpolate(radial_spectrum(estimate->residual, false));
  for (std::size_t w = 0; w < noise.size(); ++w)
    noise[w] += estimate->transfer_variance[w] * law.at(design_frequency(w), design_angle(w));
  OCELLUS_TRY_ASSIGN(result, design(wiener_target(blur, law, noise), config));
  IdentificationReport& report = result->report;
  report.shift_x = estimate->shift_x + estimate->centroid_x;
  report.shift_y = estimate->shift_y + estimate->centroid_y;
  report.gain = estimate->gain;
  report.offset = 255.0 * estimate->offset;
  report.noise = 255.0 * std::sqrt(estimate->noise_variance);
  report.kernel_radius = estimate->prior_radius;
  report.kernel_variance = estimate->prior_variance;
  report.spectrum_exponent = law.exponent;
  report.blur = estimate->shape.name();
  report.blur_size = estimate->shape.size;
  report.blur_angle = estimate->shape.angle;
  report.residual_rms = restoration_rms(result->filter, *d, *s, estimate->shift_x - undone_x,
                                        estimate->shift_y - undone_y);
  return result;
}

Expected<Identification> identify_from_psf(const double* psf, int width, int height, double noise,
                                           const IdentificationConfig& config) {
  using namespace identify;
  OCELLUS_TRY(check(config));
  if (psf == nullptr)
    return detail::invalid_argument("psf is null; it must have width * height values");
  if (width < 1 || width > kMaxPsfSide || height < 1 || height > kMaxPsfSide) {
    return detail::invalid_argument("the blur kernel has %dx%d values; it must have 1x1 to %dx%d",
                                    width, height, kMaxPsfSide, kMaxPsfSide);
  }
  if (!(noise > 0.0 && noise < 255.0)) {
    return detail::invalid_argument("noise is %g; it must be above 0 and below 255 gray levels",
                                    noise);
  }
  double sum = 0.0;
  double magnitude = 0.0;
  for (int k = 0; k < width * height; ++k) {
    if (!std::isfinite(psf[k])) {
      return detail::invalid_argument(
          "the blur kernel has the value %g at column %d, row %d; it must be "
          "finite",
          psf[k], k % width, k / width);
    }
    sum += psf[k];
    magnitude += std::fabs(psf[k]);
  }
  if (!(std::fabs(sum) > 1e-3 * magnitude) || !std::isfinite(magnitude)) {
    return detail::invalid_argument(
        "the sum of the blur kernel is %g; it must not be 0, and is usually 1", sum);
  }
  OCELLUS_TRY_ASSIGN(picture, configured_picture(config));
  return from_psf(psf, width, height, noise / 255.0, *picture, config);
}

Expected<Identification> identify_from_edge(const ImageView& degraded, const Rect& area,
                                            const IdentificationConfig& config) {
  using namespace identify;
  constexpr int kLeastEdgeSide = 16;
  OCELLUS_TRY(check(config));
  OCELLUS_TRY(check_view("degraded picture", degraded, kLeastEdgeSide));
  const Rect whole{0, 0, degraded.size.width, degraded.size.height};
  const Rect rect = area.empty() ? whole : area;
  if (rect.x < 0 || rect.y < 0 || rect.width < kLeastEdgeSide || rect.height < kLeastEdgeSide ||
      rect.width > kMaxFragmentSide || rect.height > kMaxFragmentSide ||
      rect.x > whole.width - rect.width || rect.y > whole.height - rect.height) {
    return detail::invalid_argument(
        "the area of the edge is %dx%d at (%d, %d); it must be %dx%d to %dx%d and lie inside the "
        "picture of %dx%d",
        rect.width, rect.height, rect.x, rect.y, kLeastEdgeSide, kLeastEdgeSide, kMaxFragmentSide,
        kMaxFragmentSide, whole.width, whole.height);
  }
  OCELLUS_TRY_ASSIGN(edge_picture, read_picture("degraded picture", degraded, rect));
  OCELLUS_TRY_ASSIGN(edge, fit_edge(*edge_picture));
  OCELLUS_TRY_ASSIGN(psf, edge->disk ? disk_psf(std::min(edge->size, 20.0))
                                     : gaussian_psf(std::min(edge->size, 7.0)));

  OCELLUS_TRY_ASSIGN(picture, configured_picture(config));
  if (!*picture && degraded.size.width >= kMinFragmentSide &&
      degraded.size.height >= kMinFragmentSide) {
    OCELLUS_TRY_ASSIGN(own, read_picture("degraded picture", degraded, center(degraded.size)));
    *picture = std::move(*own);
  }
  OCELLUS_TRY_ASSIGN(result, from_psf(psf->values.data(), psf->width, psf->height,
                                      std::max(edge->noise, kLeastNoise), *picture, config));
  result->report.blur = edge->disk ? "disk" : "gaussian";
  result->report.blur_size = edge->size;
  return result;
}

}  // namespace ocellus
