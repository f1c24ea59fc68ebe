// How well identified filters restore photographs, against a Wiener filter that knows the blur.
// The photographs are those of the development data (OCELLUS_TEST_DATA) and of the package
// opencv-doc. toolchains/restoration-tables measures the same beside the methods of scikit-image.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "apps/io/image_io.h"
#include "identify/fft.h"
#include "identify/picture.h"
#include "ocellus/identification.h"
#include "ocellus/restoration.h"
#include "support/run.h"

namespace ocellus {
namespace {

using identify::Complex;
using identify::Picture;
using identify::Spectrum;

constexpr int kBorder = 24;
constexpr int kPad = 128;

/// A photograph, at most 512x512 of its center.
Picture read_picture(const std::string& path) {
  const app::GrayImage image = app::read_image(path);
  const int width = std::min(512, image.size.width);
  const int height = std::min(512, image.size.height);
  Picture p(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      p.at(y, x) = static_cast<double>(image.brightness(x + (image.size.width - width) / 2,
                                                        y + (image.size.height - height) / 2)) /
                   255.0;
    }
  }
  return p;
}

std::vector<Picture> photographs() {
  const char* set = std::getenv("OCELLUS_OPENCV_DOC");
  const std::string examples = set != nullptr ? set : "/usr/share/doc/opencv-doc/examples/data";
  std::vector<Picture> all;
  for (const std::string& path :
       {test::data_folder() + "/images/camera.pgm", examples + "/building.jpg",
        examples + "/fruits.jpg", examples + "/home.jpg"}) {
    if (std::filesystem::exists(path)) all.push_back(read_picture(path));
  }
  return all;
}

/// The picture in the middle of a larger one, reflected at its borders.
Spectrum reflected(const Picture& p) {
  // A multiple of 64 is fast to transform.
  Spectrum s((std::max(p.width, p.height) + 2 * kPad + 63) / 64 * 64);
  const auto fold = [](int k, int n) {
    const int r = ((k % (2 * n)) + 2 * n) % (2 * n);
    return r < n ? r : 2 * n - 1 - r;
  };
  for (int i = 0; i < s.side; ++i) {
    for (int j = 0; j < s.side; ++j)
      s.at(i, j) = p.at(fold(i - kPad, p.height), fold(j - kPad, p.width));
  }
  return s;
}

Picture middle(const Spectrum& s, int width, int height) {
  Picture p(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) p.at(y, x) = s.at(y + kPad, x + kPad).real();
  return p;
}

Spectrum transfer_of(const Psf& psf, int side) {
  Spectrum s(side);
  for (int y = 0; y < psf.height; ++y) {
    for (int x = 0; x < psf.width; ++x) {
      s.at((y - psf.height / 2 + side) % side, (x - psf.width / 2 + side) % side) =
          psf.values[static_cast<std::size_t>(y * psf.width + x)];
    }
  }
  identify::fourier_transform(s);
  return s;
}

/// Multiplies the spectrum of `p` by `factor(w, frequencies)`.
template <typename Factor>
Picture filtered(const Spectrum& transformed, const Picture& p, Factor factor) {
  Spectrum s = transformed;
  for (int i = 0; i < s.side; ++i)
    for (int j = 0; j < s.side; ++j) s.at(i, j) *= factor(i, j);
  identify::fourier_transform(s, true);
  return middle(s, p.width, p.height);
}

double psnr(const Picture& a, const Picture& b, int border = kBorder, int dx = 0, int dy = 0) {
  double sum = 0.0;
  double count = 0.0;
  for (int y = border; y < b.height - border; ++y) {
    for (int x = border; x < b.width - border; ++x) {
      const double difference = a.at(y + dy, x + dx) - b.at(y, x);
      sum += difference * difference;
      count += 1.0;
    }
  }
  return -10.0 * std::log10(sum / count);
}

/// The PSNR at the best displacement by whole pixels.
double aligned_psnr(const Picture& a, const Picture& b, int reach, int border) {
  double best = 0.0;
  for (int dy = -reach; dy <= reach; ++dy)
    for (int dx = -reach; dx <= reach; ++dx) best = std::max(best, psnr(a, b, border, dx, dy));
  return best;
}

/// The Wiener filter that knows the blur, with the best balance between the noise and the Laplacian
/// of the picture, which is the prior of scikit-image.
double wiener_psnr(const Picture& degraded, const Picture& sharp, const Psf& psf, int reach = 0,
                   int border = kBorder) {
  Spectrum s = reflected(degraded);
  identify::fourier_transform(s);
  const Spectrum blur = transfer_of(psf, s.side);
  const auto at = [&](double exponent) {
    const double balance = std::pow(10.0, exponent);
    const Picture restored = filtered(s, degraded, [&](int i, int j) {
      const double u = 2.0 * std::numbers::pi * identify::frequency(i, s.side);
      const double v = 2.0 * std::numbers::pi * identify::frequency(j, s.side);
      const double laplacian = 4.0 - 2.0 * std::cos(u) - 2.0 * std::cos(v);
      const Complex h = blur.at(i, j);
      return std::conj(h) / (std::norm(h) + balance * laplacian * laplacian);
    });
    return aligned_psnr(restored, sharp, reach, border);
  };
  double best = 0.0;
  for (double exponent = -4.5; exponent <= 0.6; exponent += 0.3)
    best = std::max(best, at(exponent));
  return best;
}

Picture degrade(const Picture& sharp, const Psf& psf, double noise) {
  Spectrum s = reflected(sharp);
  identify::fourier_transform(s);
  const Spectrum blur = transfer_of(psf, s.side);
  Picture p = filtered(s, sharp, [&](int i, int j) { return blur.at(i, j); });
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0.0, noise);
  for (double& v : p.values) v = std::clamp(v + normal(random), 0.0, 1.0);
  return p;
}

/// Pixels in gray levels of 8 bits.
struct Pixels {
  explicit Pixels(const Picture& p) : size{p.width, p.height}, values(p.values.size()) {
    std::transform(p.values.begin(), p.values.end(), values.begin(),
                   [](double v) { return static_cast<float>(255.0 * v); });
  }
  ImageView view(int x = 0, int y = 0, int width = 0, int height = 0) {
    ImageView v;
    v.data = values.data() + static_cast<std::ptrdiff_t>(y) * size.width + x;
    v.size = width > 0 ? ImageSize{width, height} : size;
    v.stride = 4 * size.width;
    v.format = PixelFormat::kFloat32;
    return v;
  }
  ImageView center() { return view((size.width - 128) / 2, (size.height - 128) / 2, 128, 128); }
  ImageSize size;
  std::vector<float> values;
};

/// Restores with the operator.
Picture restore(const RestorationFilter& filter, const Picture& degraded) {
  RestorationConfig config;
  config.size = {degraded.width, degraded.height};
  config.format = PixelFormat::kFloat32;
  config.coefficients = &filter;
  auto rig = test::Rig<Restoration>::make(config);
  Pixels in(degraded);
  Pixels out(degraded);
  const ImageView from = in.view();
  const Frame frame{
      .data = from.data, .size = from.size, .stride = from.stride, .format = from.format};
  const auto ticket = rig.op.submit(frame, out.view());
  EXPECT_TRUE(ticket) << ticket.error().text;
  if (ticket) {
    EXPECT_TRUE(rig.op.wait(*ticket, Deadline::never()));
  }
  Picture result(degraded.width, degraded.height);
  std::transform(out.values.begin(), out.values.end(), result.values.begin(),
                 [](float v) { return static_cast<double>(v) / 255.0; });
  return result;
}

#define SKIP_WITHOUT(images, count)                                                             \
  if ((images).size() != (count)) {                                                             \
    GTEST_SKIP() << "the photographs are missing: OCELLUS_TEST_DATA must name the development " \
                    "data, and OCELLUS_OPENCV_DOC the folder of opencv-doc's pictures";         \
  }

// Fails when the identified filter loses to the Wiener filter: 0.3 dB on average, 0.9 dB anywhere.
TEST(SlowRestorationQuality, FromAPair) {
  std::vector<Picture> images = photographs();
  SKIP_WITHOUT(images, 4u)
  double sum = 0.0;
  int count = 0;
  for (const Picture& sharp : images) {
    for (const Psf& psf :
         {*gaussian_psf(1.2), *gaussian_psf(2.0), *disk_psf(3.0), *motion_psf(7.0, 0.0)}) {
      for (const double noise : {0.003, 0.02}) {
        const Picture degraded = degrade(sharp, psf, noise);
        Pixels d(degraded);
        Pixels s(sharp);
        const auto found = identify_from_pair(d.center(), s.center());
        ASSERT_TRUE(found) << found.error().text;
        const double difference =
            psnr(restore(found->filter, degraded), sharp) - wiener_psnr(degraded, sharp, psf);
        EXPECT_GT(difference, -0.9) << "picture " << count / 8 << ", blur " << count % 8;
        sum += difference;
        ++count;
      }
    }
  }
  EXPECT_GT(sum / count, -0.3);
}

// Nine places of a fragment of 128x128 pixels in each photograph, which may show sky. Fails when
// the filter is made for the fragment and not for the photograph, or when a fragment with few
// details does not determine the blur: this cost up to 8 dB.
TEST(SlowRestorationQuality, ThePlaceOfTheFragmentDoesNotMatter) {
  double sum = 0.0;
  int count = 0;
  for (const char* name : {"camera", "coins"}) {
    const std::string path = test::data_folder() + "/images/" + name + ".pgm";
    if (!std::filesystem::exists(path))
      GTEST_SKIP() << path << " is missing: OCELLUS_TEST_DATA must name the development data";
    const Picture sharp = read_picture(path);
    for (const Psf& psf : {*gaussian_psf(1.5), *disk_psf(2.5)}) {
      const Picture degraded = degrade(sharp, psf, 1.5 / 255.0);
      const double wiener = wiener_psnr(degraded, sharp, psf);
      Pixels d(degraded);
      Pixels s(sharp);
      for (int k = 0; k < 9; ++k) {
        const int x = k % 3 * (sharp.width - 128) / 2;
        const int y = k / 3 * (sharp.height - 128) / 2;
        IdentificationConfig config;
        config.picture = d.view();
        const auto found =
            identify_from_pair(d.view(x, y, 128, 128), s.view(x, y, 128, 128), config);
        ASSERT_TRUE(found) << found.error().text;
        const double difference = psnr(restore(found->filter, degraded), sharp) - wiener;
        EXPECT_GT(difference, -0.9) << name << ", case " << count << ", fragment " << k;
        sum += difference;
        ++count;
      }
    }
  }
  EXPECT_GT(sum / count, -0.3);
}

// Fails when the blur of an edge, or the spectrum of the picture behind the blur, is estimated
// wrongly: a spectrum that is too strong at high frequencies cost up to 1.5 dB.
TEST(SlowRestorationQuality, FromAnEdge) {
  std::vector<Picture> images = photographs();
  SKIP_WITHOUT(images, 4u)
  for (Picture& sharp : images) {
    constexpr int kFine = 8;
    for (int y = 24; y < 104; ++y) {
      for (int x = 24; x < 104; ++x) {
        int bright = 0;
        for (int k = 0; k < kFine * kFine; ++k) {
          const double u = x - 64 + (k % kFine + 0.5) / kFine;
          const double v = y - 64 + (static_cast<double>(k / kFine) + 0.5) / kFine;
          bright += u * std::cos(0.14) + v * std::sin(0.14) > 0.3 ? 1 : 0;
        }
        sharp.at(y, x) = 0.2 + 0.6 * bright / (kFine * kFine);
      }
    }
    for (const double sigma : {1.2, 1.6, 2.0}) {
      for (const double noise : {0.003, 0.02}) {
        const Psf psf = *gaussian_psf(sigma);
        const Picture degraded = degrade(sharp, psf, noise);
        Pixels d(degraded);
        const auto found = identify_from_edge(d.view(), {40, 40, 48, 48});
        ASSERT_TRUE(found) << found.error().text;
        EXPECT_GT(psnr(restore(found->filter, degraded), sharp),
                  wiener_psnr(degraded, sharp, psf) - 1.0)
            << "picture " << &sharp - images.data() << ", sigma " << sigma << ", noise " << noise;
      }
    }
  }
}

// Fails when an identified filter is unstable, or a fragment with details is refused. A fragment of
// a smooth area tells nothing about a blur.
TEST(SlowRestorationQuality, RandomFragmentsGiveStableFilters) {
  std::vector<Picture> images = photographs();
  SKIP_WITHOUT(images, 4u)
  std::mt19937 random(5);
  const std::vector<Psf> blurs = {*gaussian_psf(1.2), *gaussian_psf(2.0), *disk_psf(3.0),
                                  *motion_psf(7.0, 30.0)};
  int refused = 0;
  for (int n = 0; n < 200; ++n) {
    const Picture& sharp = images[static_cast<std::size_t>(n) % images.size()];
    const Psf& psf = blurs[static_cast<std::size_t>(n / 4) % blurs.size()];
    const double noise = n / 16 % 2 == 0 ? 0.003 : 0.02;
    const int side = 64 + static_cast<int>(random() % 65);
    const int x = static_cast<int>(random() % static_cast<unsigned>(sharp.width - side));
    const int y = static_cast<int>(random() % static_cast<unsigned>(sharp.height - side));
    Pixels s(identify::crop(sharp, x, y, side, side));
    Pixels d(degrade(identify::crop(sharp, x, y, side, side), psf, noise));
    IdentificationConfig config;
    config.support = 5;
    const auto found = identify_from_pair(d.view(), s.view(), config);
    if (!found) {
      ++refused;
      EXPECT_NE(std::string(found.error().text).find("details above the noise"), std::string::npos)
          << found.error().text;
      continue;
    }
    const auto properties = analyze_filter(found->filter);
    EXPECT_TRUE(properties) << n << ": " << properties.error().text;
  }
  EXPECT_LE(refused, 15);
  std::printf("%d of 200 fragments refused\n", refused);
}

// Real camera shake: each photograph with its twin gives the filter for the other photographs with
// the same shake. Fails when one of them is not better than the blurred picture, when the mean
// loses 1 dB to the Wiener filter of the measured kernel, or the filter from the kernel alone 0.3
// dB.
TEST(SlowRestorationQuality, RealCameraShake) {
  const std::string folder = test::data_folder() + "/blur/levin";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "OCELLUS_TEST_DATA has no blur/levin";
  constexpr int kCut = 35;
  constexpr int kReach = 6;
  double pair_sum = 0.0;
  double kernel_sum = 0.0;
  int count = 0;
  for (int kernel = 1; kernel <= 4; ++kernel) {
    const auto psf = read_psf((folder + "/kernel" + std::to_string(kernel) + ".txt").c_str());
    ASSERT_TRUE(psf) << psf.error().text;
    std::vector<Picture> sharp;
    std::vector<Picture> blurred;
    std::vector<double> wiener;
    for (int image = 1; image <= 4; ++image) {
      const std::string n = std::to_string(image);
      sharp.push_back(read_picture(folder + "/sharp_im" + n + ".pgm"));
      blurred.push_back(
          read_picture(folder + "/blurred_im" + n + "_kernel" + std::to_string(kernel) + ".pgm"));
      wiener.push_back(wiener_psnr(blurred.back(), sharp.back(), *psf, kReach, kCut));
    }
    IdentificationConfig config;
    config.support = 15;
    const auto known = identify_from_psf(psf->values.data(), psf->width, psf->height, 2.0, config);
    ASSERT_TRUE(known) << known.error().text;
    for (std::size_t i = 0; i < 4; ++i) {
      const Picture restored = restore(known->filter, blurred[i]);
      kernel_sum += aligned_psnr(restored, sharp[i], kReach, kCut) - wiener[i];
      Pixels d(blurred[i]);
      Pixels s(sharp[i]);
      const auto found = identify_from_pair(d.view(), s.view(), config);
      ASSERT_TRUE(found) << found.error().text;
      for (std::size_t j = 0; j < 4; ++j) {
        if (i == j) continue;
        const double value =
            aligned_psnr(restore(found->filter, blurred[j]), sharp[j], kReach, kCut);
        EXPECT_GT(value, aligned_psnr(blurred[j], sharp[j], kReach, kCut))
            << "kernel " << kernel << ", from " << i << " to " << j;
        pair_sum += value - wiener[j];
        ++count;
      }
    }
  }
  EXPECT_GT(pair_sum / count, -1.0);
  EXPECT_GT(kernel_sum / 16.0, -0.3);
}

}  // namespace
}  // namespace ocellus
