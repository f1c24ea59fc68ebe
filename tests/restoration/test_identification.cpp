// Identification of restoration filters on generated scenes. The filters are applied by the
// definition, in double precision, and compared with a Wiener filter that knows the blur.
#include "ocellus/identification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "identify/estimates.h"
#include "identify/fft.h"
#include "identify/filter_design.h"
#include "identify/picture.h"

namespace ocellus {
namespace {

using identify::Complex;
using identify::Picture;
using identify::Spectrum;

constexpr int kSide = 256;

/// Overlapping disks of random size and gray value: edges and a spectrum like a photograph's.
Picture make_scene(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  Picture p(kSide, kSide);
  std::fill(p.values.begin(), p.values.end(), 0.5);
  for (int n = 0; n < 1500; ++n) {
    const double radius = 2.0 / std::sqrt(unit(random) * 0.9975 + 0.0025);
    const double cx = kSide * unit(random);
    const double cy = kSide * unit(random);
    const double gray = 0.1 + 0.8 * unit(random);
    for (int y = 0; y < kSide; ++y) {
      double dy = std::fabs(y - cy);
      dy = std::min(dy, kSide - dy);
      if (dy > radius + 1.0) continue;
      for (int x = 0; x < kSide; ++x) {
        double dx = std::fabs(x - cx);
        dx = std::min(dx, kSide - dx);
        const double inside = std::clamp(radius - std::hypot(dx, dy) + 0.5, 0.0, 1.0);
        p.at(y, x) += inside * (gray - p.at(y, x));
      }
    }
  }
  return p;
}

Spectrum transform(const Picture& p) {
  Spectrum s(kSide);
  for (std::size_t k = 0; k < p.values.size(); ++k) s.values[k] = p.values[k];
  identify::fourier_transform(s);
  return s;
}

Picture inverse(Spectrum s) {
  identify::fourier_transform(s, true);
  Picture p(s.side, s.side);
  for (std::size_t k = 0; k < p.values.size(); ++k) p.values[k] = s.values[k].real();
  return p;
}

/// The transfer function of a kernel and a displacement.
Spectrum blur_of(const Psf& psf, double shift_x = 0.0, double shift_y = 0.0) {
  Spectrum s(kSide);
  for (int y = 0; y < psf.height; ++y) {
    for (int x = 0; x < psf.width; ++x) {
      s.at((y - psf.height / 2 + kSide) % kSide, (x - psf.width / 2 + kSide) % kSide) =
          psf.values[static_cast<std::size_t>(y * psf.width + x)];
    }
  }
  identify::fourier_transform(s);
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const double phase =
          -2.0 * std::numbers::pi *
          (identify::frequency(i, kSide) * shift_y + identify::frequency(j, kSide) * shift_x);
      s.at(i, j) *= std::polar(1.0, phase);
    }
  }
  return s;
}

Picture degrade(const Picture& scene, const Spectrum& blur, double noise, unsigned seed = 1) {
  Spectrum s = transform(scene);
  for (std::size_t k = 0; k < s.values.size(); ++k) s.values[k] *= blur.values[k];
  Picture p = inverse(std::move(s));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, noise);
  for (double& v : p.values) v += normal(random);
  return p;
}

/// A view of part of a picture in 8-bit units.
struct Fragment {
  Fragment(const Picture& p, int x, int y, int width, int height)
      : pixels(static_cast<std::size_t>(width * height)) {
    for (int i = 0; i < height; ++i) {
      for (int j = 0; j < width; ++j) {
        pixels[static_cast<std::size_t>(i * width + j)] =
            static_cast<float>(255.0 * p.at(y + i, x + j));
      }
    }
    view.data = pixels.data();
    view.size = {width, height};
    view.stride = 4 * width;
    view.format = PixelFormat::kFloat32;
  }
  Fragment(const Fragment&) = delete;
  Fragment& operator=(const Fragment&) = delete;
  std::vector<float> pixels;
  ImageView view;
};

/// The sum of the four quadrants by the definition. The picture is continued periodically, as
/// `degrade` assumes.
Picture restore(const RestorationFilter& filter, const Picture& p) {
  const int pad = 64;
  const int m = filter.support;
  const int width = p.width + 2 * pad;
  const int height = p.height + 2 * pad;
  const auto wrap = [](int k, int n) { return (k + n) % n; };
  Picture sum(p.width, p.height);
  for (std::size_t q = 0; q < 4; ++q) {
    Picture x(width, height);
    Picture y(width, height);
    const auto column = [&](int j) { return q == 1 || q == 3 ? width - 1 - j : j; };
    const auto row = [&](int i) { return q == 2 || q == 3 ? height - 1 - i : i; };
    for (int i = 0; i < height; ++i) {
      for (int j = 0; j < width; ++j) {
        x.at(row(i), column(j)) = p.at(wrap(i - pad, p.height), wrap(j - pad, p.width));
      }
    }
    for (int i = 0; i < height; ++i) {
      for (int j = 0; j < width; ++j) {
        double value = 0.0;
        for (int k1 = 0; k1 <= std::min(i, m - 1); ++k1) {
          for (int k2 = 0; k2 <= std::min(j, m - 1); ++k2) {
            const auto k = static_cast<std::size_t>(k1 * m + k2);
            value += static_cast<double>(filter.feedforward[q][k]) * x.at(i - k1, j - k2);
            if (k > 0) value += static_cast<double>(filter.feedback[q][k]) * y.at(i - k1, j - k2);
          }
        }
        y.at(i, j) = value;
      }
    }
    for (int i = 0; i < p.height; ++i) {
      for (int j = 0; j < p.width; ++j) sum.at(i, j) += y.at(row(i + pad), column(j + pad));
    }
  }
  return sum;
}

double psnr(const Picture& a, const Picture& b, int border = 24) {
  double sum = 0.0;
  double count = 0.0;
  for (int y = border; y < a.height - border; ++y) {
    for (int x = border; x < a.width - border; ++x) {
      sum += (a.at(y, x) - b.at(y, x)) * (a.at(y, x) - b.at(y, x));
      count += 1.0;
    }
  }
  return -10.0 * std::log10(sum / count);
}

/// The PSNR of the Wiener filter that knows the blur, with the best of 13 balances between the
/// noise and the Laplacian of the picture.
double oracle_psnr(const Picture& scene, const Picture& degraded, const Spectrum& blur) {
  const Spectrum s = transform(degraded);
  double best = 0.0;
  for (int n = 0; n < 13; ++n) {
    const double balance = std::pow(10.0, -5.0 + 0.4 * n);
    Spectrum w = s;
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        const double laplacian =
            4.0 - 2.0 * std::cos(2.0 * std::numbers::pi * identify::frequency(i, kSide)) -
            2.0 * std::cos(2.0 * std::numbers::pi * identify::frequency(j, kSide));
        const Complex h = blur.at(i, j);
        w.at(i, j) *= std::conj(h) / (std::norm(h) + balance * laplacian * laplacian);
      }
    }
    best = std::max(best, psnr(inverse(std::move(w)), scene));
  }
  return best;
}

/// Checks the coefficients themselves, as they would be in a file.
void expect_stable(const Identification& result, double bound) {
  const auto properties = analyze_filter(result.filter);
  ASSERT_TRUE(properties) << properties.error().text;
  // Rounding moves the roots a little.
  EXPECT_LE(properties->largest_root, bound + 1e-4);
  EXPECT_EQ(properties->largest_root, result.properties.largest_root);
  EXPECT_EQ(properties->response, result.properties.response);
}

const Picture& scene() {
  static const Picture kScene = make_scene(7);
  return kScene;
}

// Fails if the quadrants are mirrored wrongly, if the fit loses to the Wiener filter, or if the
// report does not tell what was done to the picture.
TEST(IdentifyFromPair, ReachesTheWienerFilterThatKnowsTheBlur) {
  struct Case {
    Psf psf;
    double noise;
  };
  const std::vector<Case> cases = {{*gaussian_psf(1.2), 0.003},
                                   {*gaussian_psf(2.0), 0.02},
                                   {*disk_psf(3.0), 0.02},
                                   {*motion_psf(7.0, 0.0), 0.01},
                                   {*motion_psf(6.0, 30.0), 0.01}};
  for (std::size_t n = 0; n < cases.size(); ++n) {
    const auto& [psf, noise] = cases[n];
    const Spectrum blur = blur_of(psf);
    const Picture degraded = degrade(scene(), blur, noise);
    const Fragment d(degraded, 64, 70, 128, 128);
    const Fragment s(scene(), 64, 70, 128, 128);
    const auto result = identify_from_pair(d.view, s.view);
    ASSERT_TRUE(result) << result.error().text;
    expect_stable(*result, 0.95);
    const double restored = psnr(restore(result->filter, degraded), scene());
    const double oracle = oracle_psnr(scene(), degraded, blur);
    EXPECT_GT(restored, oracle - 0.3) << "case " << n;
    EXPECT_GT(restored, psnr(degraded, scene()) + 1.0) << "case " << n;
    const IdentificationReport& report = result->report;
    EXPECT_NEAR(report.noise, 255.0 * noise, 0.1 * 255.0 * noise) << n;
    EXPECT_NEAR(report.gain, 1.0, 0.01);
    EXPECT_NEAR(report.offset, 0.0, 1.0);
    EXPECT_LT(std::hypot(report.shift_x, report.shift_y), 0.1) << n;
    EXPECT_GT(result->properties.response, 5);
    // The residual is that of the fragment, whose details differ, reflected at its borders: a long
    // response reaches beyond them.
    if (result->properties.response < 64) {
      EXPECT_NEAR(20.0 * std::log10(255.0 / report.residual_rms), restored, 2.0) << n;
    }
  }
}

/// The scene with few details on its left.
const Picture& uneven_scene() {
  static const Picture kScene = [] {
    Picture p = scene();
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const double contrast = std::clamp(std::abs(x - 80) / 48.0 - 1.0, 0.08, 1.0);
        p.at(y, x) = 0.5 + contrast * (p.at(y, x) - 0.5);
      }
    }
    return p;
  }();
  return kScene;
}

// Fails if the filter is made for the details of the fragment and not for those of the picture, or
// if a fragment with few details does not determine the blur.
TEST(IdentifyFromPair, ThePlaceOfTheFragmentDoesNotMatter) {
  double sum = 0.0;
  int count = 0;
  for (const Psf& psf : {*gaussian_psf(1.5), *disk_psf(2.5), *motion_psf(9.0, 0.0)}) {
    const Spectrum blur = blur_of(psf);
    const Picture degraded = degrade(uneven_scene(), blur, 1.5 / 255.0);
    const Fragment whole(degraded, 0, 0, kSide, kSide);
    const double oracle = oracle_psnr(uneven_scene(), degraded, blur);
    for (const int x : {16, 128}) {
      const Fragment d(degraded, x, 64, 128, 128);
      const Fragment s(uneven_scene(), x, 64, 128, 128);
      IdentificationConfig config;
      config.picture = whole.view;
      const auto result = identify_from_pair(d.view, s.view, config);
      ASSERT_TRUE(result) << result.error().text;
      const double loss = oracle - psnr(restore(result->filter, degraded), uneven_scene());
      EXPECT_LT(loss, 0.9) << "blur " << count / 2 << ", column " << x;
      sum += loss;
      ++count;
    }
  }
  EXPECT_LT(sum / count, 0.3);
}

// Fails if a shape is not found in a fragment with few details, if a displacement is taken from
// noise, or if a kernel that is no shape is taken for one.
TEST(IdentifyFromPair, FindsTheShapeOfTheBlur) {
  struct Case {
    Psf psf;
    double shift;
    const char* name;
    double size;
    double angle;
  };
  const std::vector<Case> cases = {{*gaussian_psf(1.5), 0.0, "gaussian", 1.5, 0.0},
                                   {*disk_psf(3.0), 0.0, "disk", 3.0, 0.0},
                                   {*motion_psf(9.0, 30.0), 0.0, "motion", 9.0, 30.0},
                                   {*gaussian_psf(1.5), 1.4, "gaussian", 1.5, 0.0}};
  IdentificationConfig config;
  config.support = 2;
  for (const Case& c : cases) {
    const Picture degraded = degrade(uneven_scene(), blur_of(c.psf, c.shift), 1.5 / 255.0);
    const Fragment d(degraded, 16, 64, 128, 128);
    const Fragment s(uneven_scene(), 16, 64, 128, 128);
    const auto result = identify_from_pair(d.view, s.view, config);
    ASSERT_TRUE(result) << result.error().text;
    const IdentificationReport& report = result->report;
    EXPECT_STREQ(report.blur, c.name);
    EXPECT_NEAR(report.blur_size, c.size, 0.07 * c.size) << c.name;
    EXPECT_NEAR(report.blur_angle, c.angle, 5.0) << c.name;
    EXPECT_NEAR(report.shift_x, c.shift, c.shift == 0.0 ? 1e-9 : 0.3) << c.name;
    EXPECT_NEAR(report.shift_y, 0.0, c.shift == 0.0 ? 1e-9 : 0.3) << c.name;
    EXPECT_EQ(report.kernel_radius, 0.0);
  }
  // Two positions of a camera.
  Psf twice = *gaussian_psf(1.0);
  for (int k = twice.width - 4; k < static_cast<int>(twice.values.size()); ++k)
    twice.values[static_cast<std::size_t>(k - twice.width + 4)] +=
        0.5 * twice.values[static_cast<std::size_t>(k)];
  const Picture degraded = degrade(scene(), blur_of(twice), 0.003);
  const Fragment d(degraded, 64, 64, 128, 128);
  const Fragment s(scene(), 64, 64, 128, 128);
  const auto result = identify_from_pair(d.view, s.view, config);
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_STREQ(result->report.blur, "");
  EXPECT_GT(result->report.kernel_radius, 0.0);
}

// The variance against the error of the estimate over draws of the noise. Fails if a factor or the
// transform of the covariance is wrong.
TEST(EstimateBlur, TheVarianceIsThatOfTheTransferFunction) {
  Psf psf = *motion_psf(7.0, 20.0);
  for (int k = 0; k < static_cast<int>(psf.values.size()); ++k)
    psf.values[static_cast<std::size_t>(k)] *= 1.0 + 0.12 * (k % psf.width);
  const Picture sharp = identify::crop(scene(), 64, 64, 96, 96);
  double error = 0.0;
  double variance = 0.0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Picture degraded = degrade(scene(), blur_of(psf), 0.01, seed);
    const auto found = identify::estimate_blur(identify::crop(degraded, 64, 64, 96, 96), sharp, 0);
    ASSERT_TRUE(found) << found.error().text;
    ASSERT_EQ(found->shape.kind, identify::BlurShape::Kind::kNone);
    ASSERT_EQ(found->shift_x, 0);
    ASSERT_EQ(found->shift_y, 0);
    // Parseval: the mean square over the frequencies is the sum of the squares of the kernel.
    for (int y = -found->radius; y <= found->radius; ++y) {
      for (int x = -found->radius; x <= found->radius; ++x) {
        const int row = y + psf.height / 2;
        const int column = x + psf.width / 2;
        const bool inside = row >= 0 && row < psf.height && column >= 0 && column < psf.width;
        const double truth =
            inside ? psf.values[static_cast<std::size_t>(row * psf.width + column)] : 0.0;
        const int side = 2 * found->radius + 1;
        const double value =
            found->kernel[static_cast<std::size_t>((y + found->radius) * side + x + found->radius)];
        error += (value - truth) * (value - truth);
      }
    }
    for (double v : found->transfer_variance)
      variance += v / static_cast<double>(found->transfer_variance.size());
  }
  EXPECT_GT(variance, 0.5 * error);
  EXPECT_LT(variance, 2.0 * error);
}

// Fails if a small part is trusted as a large one is, or photographs are not what is left without
// data.
TEST(PriorOfPicture, TrustsALargePart) {
  const identify::PowerLawPrior photographs;
  const identify::PowerLaw part{-8.0, 1.5, 0.0, 0.0, 0.0, 0.0};
  double last_level = part.log_power;
  double last_deviation = 0.0;
  for (const int side : {4096, 512, 128, 64}) {
    const identify::PowerLawPrior prior = identify::prior_of_picture(part, side);
    EXPECT_GT(prior.mean.log_power, last_level) << side;
    EXPECT_LT(prior.mean.log_power, photographs.mean.log_power) << side;
    EXPECT_GT(prior.mean.exponent, part.exponent) << side;
    EXPECT_LT(prior.mean.exponent, photographs.mean.exponent) << side;
    EXPECT_GT(prior.deviation.log_power, last_deviation) << side;
    EXPECT_LT(prior.deviation.log_power, photographs.deviation.log_power) << side;
    last_level = prior.mean.log_power;
    last_deviation = prior.deviation.log_power;
  }
  EXPECT_NEAR(identify::prior_of_picture(part, 4096).mean.log_power, part.log_power, 0.1);
  const identify::PowerLawPrior none = identify::prior_of_picture(part, 1);
  EXPECT_NEAR(none.mean.log_power, photographs.mean.log_power, 0.1);
  EXPECT_NEAR(none.deviation.exponent, photographs.deviation.exponent, 0.01);
}

// A power law that the spectrum of a degraded picture has exactly. Fails if blur or noise are not
// taken out of it, a direction is wrong, or the prior outweighs the data.
TEST(FitPowerLaw, FindsTheLawBehindBlurAndNoise) {
  constexpr int kGrid = identify::kDesignSide;
  const identify::PowerLaw wanted{-5.0, 3.0, 0.0, 0.1, 1.0, -0.2};
  const Spectrum blur = blur_of(*gaussian_psf(0.7));
  std::vector<double> blur_power;
  for (int i = 0; i < kGrid; ++i)
    for (int j = 0; j < kGrid; ++j)
      blur_power.push_back(std::norm(blur.at(i * kSide / kGrid, j * kSide / kGrid)));
  const double noise = 1e-5;
  identify::RadialSpectrum spectrum =
      identify::radial_spectrum(identify::crop(scene(), 0, 0, 128, 128), true);
  for (identify::RadialSpectrum::Part& part : spectrum.parts) {
    double sum = 0.0;
    int count = 0;
    for (std::size_t w = 0; w < blur_power.size(); ++w) {
      const double f = identify::design_frequency(w);
      const double angle = identify::design_angle(w);
      if (f < part.begin || f >= part.end || spectrum.sector_of(angle) != part.sector) continue;
      sum += blur_power[w] * wanted.at(f, angle) + noise;
      ++count;
    }
    ASSERT_GT(count, 0);
    part.log_power = std::log(sum / count);
  }
  const identify::PowerLaw found = identify::fit_power_law(spectrum, blur_power, noise);
  for (const double f : {0.02, 0.05, 0.1, 0.2, 0.4})
    for (const double angle : {0.0, 0.7, 1.6, 2.4})
      EXPECT_NEAR(std::log(found.at(f, angle)), std::log(wanted.at(f, angle)), 0.25)
          << f << " " << angle;
}

// Fails if the sign of the displacement, the gain or the offset is wrong, or if the filter does not
// undo them.
TEST(IdentifyFromPair, UndoesDisplacementAndGain) {
  for (const auto& [dx, dy] : {std::pair{2.3, -1.6}, std::pair{-3.0, 0.5}}) {
    Spectrum blur = blur_of(*gaussian_psf(1.2), dx, dy);
    for (Complex& v : blur.values) v *= 0.8;
    Picture degraded = degrade(scene(), blur, 0.003);
    for (double& v : degraded.values) v += 0.04;
    const Fragment d(degraded, 64, 64, 128, 128);
    const Fragment s(scene(), 64, 64, 128, 128);
    const auto result = identify_from_pair(d.view, s.view);
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_NEAR(result->report.shift_x, dx, 0.05);
    EXPECT_NEAR(result->report.shift_y, dy, 0.05);
    EXPECT_NEAR(result->report.gain, 0.8, 0.005);
    EXPECT_NEAR(result->report.offset, 0.04 * 255.0, 1.0);
    for (double& v : degraded.values) v -= result->report.offset / 255.0;
    const double restored = psnr(restore(result->filter, degraded), scene());
    EXPECT_GT(restored, oracle_psnr(scene(), degraded, blur) - 0.5) << dx;

    // Without undo_shift, whole pixels of the displacement stay.
    IdentificationConfig config;
    config.undo_shift = false;
    const auto kept = identify_from_pair(d.view, s.view, config);
    ASSERT_TRUE(kept) << kept.error().text;
    const Picture moved = restore(kept->filter, degraded);
    Picture aligned = scene();
    const int whole_x = static_cast<int>(std::lround(dx));
    const int whole_y = static_cast<int>(std::lround(dy));
    double best = 0.0;
    // 0.5 may be rounded either way.
    for (int oy = whole_y - 1; oy <= whole_y + 1; ++oy) {
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          aligned.at(y, x) = scene().at((y - oy + kSide) % kSide, (x - whole_x + kSide) % kSide);
        }
      }
      best = std::max(best, psnr(moved, aligned));
    }
    EXPECT_GT(best, restored - 0.5) << dx;
  }
}

// Fails if a support beside the default is handled wrongly: 1, even, larger than the small design
// from which it starts.
TEST(IdentifyFromPair, EverySupportGivesAStableFilter) {
  const Spectrum blur = blur_of(*disk_psf(2.0));
  const Picture degraded = degrade(scene(), blur, 0.01);
  const Fragment d(degraded, 20, 30, 64, 80);
  const Fragment s(scene(), 20, 30, 64, 80);
  double last = 0.0;
  for (const int support : {1, 2, 4, 12}) {
    IdentificationConfig config;
    config.support = support;
    config.largest_root = 0.9;
    const auto result = identify_from_pair(d.view, s.view, config);
    ASSERT_TRUE(result) << result.error().text;
    expect_stable(*result, 0.9);
    const double restored = psnr(restore(result->filter, degraded), scene());
    EXPECT_GT(restored, last - 0.1) << support;
    last = restored;
  }
  EXPECT_GT(last, psnr(degraded, scene()) + 1.5);
}

// Fails if the bound of the response is not held, or if it is held by a filter that does not
// restore.
TEST(IdentifyFromPsf, ShortensTheResponse) {
  const Psf psf = *disk_psf(2.5);
  const Picture degraded = degrade(scene(), blur_of(psf), 0.003);
  double last = psnr(degraded, scene());
  for (const int bound : {24, 512}) {
    IdentificationConfig config;
    config.support = 5;
    config.max_response = bound;
    config.largest_root = 0.95;
    const auto result =
        identify_from_psf(psf.values.data(), psf.width, psf.height, 255.0 * 0.003, config);
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_LE(result->properties.response, bound);
    expect_stable(*result, result->report.root_bound);
    if (bound == 24) {
      EXPECT_LT(result->report.root_bound, 0.95);
    }
    const double restored = psnr(restore(result->filter, degraded), scene());
    EXPECT_GT(restored, last) << bound;
    last = restored;
  }
}

// Fails if a format is scaled wrongly: the coefficients would be the same, but noise and offset
// would not.
TEST(IdentifyFromPair, FormatsGiveTheSameFilter) {
  const Picture degraded = degrade(scene(), blur_of(*gaussian_psf(1.5)), 0.01);
  std::array<Identification, 2> results;
  for (int format = 0; format < 2; ++format) {
    std::array<std::vector<std::uint16_t>, 2> wide;
    std::array<std::vector<std::uint8_t>, 2> bytes;
    std::array<ImageView, 2> views;
    for (std::size_t k = 0; k < 2; ++k) {
      const Picture& p = k == 0 ? degraded : scene();
      for (int y = 0; y < 96; ++y) {
        for (int x = 0; x < 96; ++x) {
          const auto value =
              static_cast<std::uint8_t>(std::clamp(std::lround(255.0 * p.at(y, x)), 0L, 255L));
          bytes[k].push_back(value);
          wide[k].push_back(static_cast<std::uint16_t>(value * 257));
        }
      }
      views[k].data = format == 0 ? static_cast<void*>(bytes[k].data()) : wide[k].data();
      views[k].size = {96, 96};
      views[k].stride = format == 0 ? 96 : 192;
      views[k].format = format == 0 ? PixelFormat::kGray8 : PixelFormat::kGray16;
    }
    IdentificationConfig config;
    config.support = 3;
    auto result = identify_from_pair(views[0], views[1], config);
    ASSERT_TRUE(result) << result.error().text;
    results[static_cast<std::size_t>(format)] = *result;
  }
  EXPECT_NEAR(results[0].report.noise, results[1].report.noise, 1e-9);
  EXPECT_NEAR(results[0].filter.feedforward[0][0], results[1].filter.feedforward[0][0], 1e-6f);
}

// Fails if the kernel's orientation is reversed (the motion kernel is skew) or if the noise is in
// the wrong unit.
TEST(IdentifyFromPsf, ReachesTheWienerFilter) {
  Psf skew = *motion_psf(7.0, 20.0);
  for (int k = 0; k < static_cast<int>(skew.values.size()); ++k) {
    skew.values[static_cast<std::size_t>(k)] *= 1.0 + 0.12 * (k % skew.width);
  }
  double sum = 0.0;
  for (double v : skew.values) sum += v;
  for (double& v : skew.values) v /= sum;
  for (const Psf& psf : {*gaussian_psf(1.6), skew}) {
    for (const double noise : {0.004, 0.02}) {
      const Spectrum blur = blur_of(psf);
      const Picture degraded = degrade(scene(), blur, noise);
      const Fragment d(degraded, 0, 0, kSide, kSide);
      const double oracle = oracle_psnr(scene(), degraded, blur);
      for (const bool picture : {false, true}) {
        IdentificationConfig config;
        if (picture) config.picture = d.view;
        const auto result =
            identify_from_psf(psf.values.data(), psf.width, psf.height, 255.0 * noise, config);
        ASSERT_TRUE(result) << result.error().text;
        expect_stable(*result, 0.95);
        EXPECT_GT(psnr(restore(result->filter, degraded), scene()), oracle - 0.5)
            << noise << picture;
      }
    }
  }
}

/// The scene with an edge in its top left corner, degraded. `angle` is that of the edge's normal.
Picture edge_picture(double sigma, double disk, double angle, double noise) {
  constexpr int kSamples = 8;
  Picture sharp = scene();
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  for (int y = 10; y < 90; ++y) {
    for (int x = 10; x < 90; ++x) {
      double sum = 0.0;
      for (int k = 0; k < kSamples * kSamples; ++k) {
        const double u = x + (k % kSamples + 0.5) / kSamples - 0.5 - 50.3;
        const double v = y + (static_cast<double>(k / kSamples) + 0.5) / kSamples - 0.5 - 49.6;
        sum += u * c + v * s > 0.0 ? 0.8 : 0.2;
      }
      sharp.at(y, x) = sum / (kSamples * kSamples);
    }
  }
  return degrade(sharp, blur_of(disk > 0.0 ? *disk_psf(disk) : *gaussian_psf(sigma)), noise);
}

// Fails if the size or the kind of the blur is found wrongly, if the pixel's aperture is counted as
// blur (sigma 0.7 would become 0.76), or if the noise is not that of the picture.
TEST(IdentifyFromEdge, FindsBlurAndNoise) {
  for (const double angle : {0.12, 2.6, -1.0}) {
    for (const double sigma : {0.7, 1.6}) {
      const Picture p = edge_picture(sigma, 0.0, angle, 0.01);
      const Fragment d(p, 0, 0, kSide, kSide);
      IdentificationConfig config;
      config.support = 2;
      const auto result = identify_from_edge(d.view, {24, 24, 52, 52}, config);
      ASSERT_TRUE(result) << result.error().text;
      EXPECT_STREQ(result->report.blur, "gaussian") << angle << " " << sigma;
      EXPECT_NEAR(result->report.blur_size, sigma, 0.04) << angle;
      EXPECT_NEAR(result->report.noise, 2.55, 0.15);
    }
  }
  const Picture p = edge_picture(0.0, 3.0, 0.15, 0.005);
  const Fragment d(p, 0, 0, kSide, kSide);
  const auto result = identify_from_edge(d.view, {24, 24, 52, 52});
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_STREQ(result->report.blur, "disk");
  EXPECT_NEAR(result->report.blur_size, 3.0, 0.15);
}

TEST(IdentifyFromEdge, RestoresThePicture) {
  for (const double sigma : {1.2, 2.0}) {
    const Picture p = edge_picture(sigma, 0.0, 0.14, 0.005);
    const Picture sharp = edge_picture(0.05, 0.0, 0.14, 0.0);
    const Fragment d(p, 0, 0, kSide, kSide);
    const auto result = identify_from_edge(d.view, {24, 24, 52, 52});
    ASSERT_TRUE(result) << result.error().text;
    expect_stable(*result, 0.95);
    EXPECT_GT(psnr(restore(result->filter, p), sharp),
              oracle_psnr(sharp, p, blur_of(*gaussian_psf(sigma))) - 1.0);
  }
}

// A target that four quadrants represent exactly. Fails if a derivative is wrong: the descent would
// stop early.
TEST(DesignFilter, FindsAnExactRepresentation) {
  RestorationFilter wanted;
  wanted.support = 3;
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (std::size_t q = 0; q < 4; ++q) {
    for (std::size_t k = 0; k < 9; ++k) {
      wanted.feedforward[q][k] = 0.3f * normal(random);
      wanted.feedback[q][k] = k == 0 ? 0.0f : 0.12f * normal(random);
    }
  }
  const auto properties = analyze_filter(wanted);
  ASSERT_TRUE(properties) << properties.error().text;
  ASSERT_LT(properties->largest_root, 0.9);
  identify::DesignTarget target;
  target.response = identify::transfer_function(wanted, identify::kDesignSide);
  target.input_power.assign(target.response.values.size(), 1.0);
  target.ideal_error = 1.0;
  double power = 0.0;
  for (const Complex& v : target.response.values) power += std::norm(v);
  power /= static_cast<double>(target.response.values.size());
  const identify::Design design = identify::design_filter(target, 3, 3, 0.95);
  // The ridge leaves a very small error. With a wrong derivative, about 1e-6 is left.
  EXPECT_LT(design.excess, 1e-10 * power);
}

// Every invalid input gives an error that names it. Fails if one is accepted or gives another text.
TEST(Identify, RefusesBadInput) {
  const Picture degraded = degrade(scene(), blur_of(*gaussian_psf(1.5)), 0.01);
  const Picture other = make_scene(99);
  const Picture flat(kSide, kSide);
  const Fragment d(degraded, 0, 0, 96, 96);
  const Fragment s(scene(), 0, 0, 96, 96);
  const Fragment small(scene(), 0, 0, 63, 96);
  const Fragment larger(scene(), 0, 0, 100, 96);
  const Fragment constant(flat, 0, 0, 96, 96);
  const Fragment elsewhere(other, 0, 0, 96, 96);
  Fragment bad(degraded, 0, 0, 96, 96);
  bad.pixels[96 * 5 + 7] = std::numeric_limits<float>::quiet_NaN();
  const auto expect = [](const auto& result, const char* text, Status status) {
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().status, status);
    EXPECT_NE(std::string(result.error().text).find(text), std::string::npos)
        << result.error().text;
  };
  const auto invalid = [&](const auto& result, const char* text) {
    expect(result, text, Status::kInvalidArgument);
  };
  invalid(identify_from_pair(small.view, small.view), "63x96");
  invalid(identify_from_pair(d.view, larger.view), "100x96");
  invalid(identify_from_pair(constant.view, s.view), "degraded fragment is constant");
  invalid(identify_from_pair(d.view, constant.view), "sharp fragment is constant");
  invalid(identify_from_pair(d.view, elsewhere.view), "same scene");
  invalid(identify_from_pair(bad.view, s.view), "column 7, row 5");
  invalid(identify_from_pair(ImageView{}, s.view), "no pixels");
  ImageView device = d.view;
  device.space = MemorySpace::kCuda;
  expect(identify_from_pair(device, s.view), "device memory", Status::kUnsupported);

  const auto with = [&](auto&& change) {
    IdentificationConfig config;
    change(config);
    return identify_from_pair(d.view, s.view, config);
  };
  invalid(with([](auto& c) { c.support = 0; }), "support is 0");
  invalid(with([](auto& c) { c.support = 32; }), "support is 32");
  invalid(with([](auto& c) { c.feedback_support = 8; }), "feedback_support is 8");
  invalid(with([](auto& c) { c.largest_root = 1.0; }), "largest_root is 1");
  invalid(with([](auto& c) { c.largest_root = std::nan(""); }), "largest_root is");
  invalid(with([](auto& c) { c.max_shift = 17; }), "max_shift is 17");
  invalid(with([](auto& c) { c.max_response = 7; }), "max_response is 7");
  invalid(with([](auto& c) { c.max_response = 513; }), "max_response is 513");
  invalid(with([](auto& c) { c.support = c.max_response = 12; }), "at most 12 pixels");

  const std::vector<double> kernel = {0.25, 0.5, 0.25};
  const std::vector<double> difference = {1.0, 0.0, -1.0};
  invalid(identify_from_psf(kernel.data(), 3, 1, 0.0), "noise is 0");
  invalid(identify_from_psf(kernel.data(), 3, 0, 1.0), "3x0");
  invalid(identify_from_psf(nullptr, 3, 1, 1.0), "psf is null");
  invalid(identify_from_psf(difference.data(), 3, 1, 1.0), "sum");

  invalid(identify_from_edge(d.view, {90, 0, 20, 20}), "inside the picture");
  invalid(identify_from_edge(constant.view, {0, 0, 40, 40}), "constant");
  invalid(identify_from_edge(d.view, {0, 0, 96, 96}), "straight edge");
  Picture vertical(kSide, kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 48; x < kSide; ++x) vertical.at(y, x) = 0.8;
  }
  const Fragment upright(vertical, 0, 0, 96, 96);
  invalid(identify_from_edge(upright.view, {20, 20, 56, 56}), "degrees");
}

}  // namespace
}  // namespace ocellus
