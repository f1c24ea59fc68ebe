// Blur kernels: makers and the reader of text files.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "identify/blur_shape.h"
#include "ocellus/identification.h"

namespace ocellus {
namespace {

// Fails when a kernel does not keep the brightness, moves the picture, or has another direction.
TEST(Psf, MakersGiveNormalizedKernels) {
  for (const Psf& psf : {*gaussian_psf(2.0), *disk_psf(3.5), *motion_psf(9.0, 33.0)}) {
    double sum = 0.0;
    double x1 = 0.0;
    double y1 = 0.0;
    for (int k = 0; k < static_cast<int>(psf.values.size()); ++k) {
      const double v = psf.values[static_cast<std::size_t>(k)];
      sum += v;
      x1 += v * (k % psf.width - psf.width / 2);
      y1 += v * (k / psf.width - psf.height / 2);
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_NEAR(x1, 0.0, 0.05);
    EXPECT_NEAR(y1, 0.0, 0.05);
  }
  // Uniform motion by 7 pixels along the row.
  const Psf motion = *motion_psf(7.0, 0.0);
  for (int x = -3; x <= 3; ++x) {
    EXPECT_NEAR(motion.values[static_cast<std::size_t>(motion.height / 2 * motion.width +
                                                       motion.width / 2 + x)],
                1.0 / 7.0, 1e-12);
  }
  // Motion by 45 degrees counterclockwise goes up to the right.
  const Psf diagonal = *motion_psf(9.0, 45.0);
  EXPECT_GT(diagonal.values[static_cast<std::size_t>((diagonal.height / 2 - 2) * diagonal.width +
                                                     diagonal.width / 2 + 2)],
            0.02);
  EXPECT_FALSE(gaussian_psf(0.0));
  EXPECT_FALSE(gaussian_psf(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(disk_psf(31.0));
  EXPECT_FALSE(motion_psf(0.5, 0.0));
  EXPECT_FALSE(motion_psf(5.0, std::numeric_limits<double>::infinity()));
}

// Fails when a shape is moved in another direction, or changes where it is moved.
TEST(Psf, ShapesMove) {
  using Kind = identify::BlurShape::Kind;
  for (const Kind kind : {Kind::kGaussian, Kind::kDisk, Kind::kMotion}) {
    const std::vector<double> still = identify::draw({kind, 2.5, 20.0, 0.0, 0.0}, 12);
    const std::vector<double> moved = identify::draw({kind, 2.5, 20.0, 2.0, -1.0}, 12);
    for (int y = 1; y < 25; ++y) {
      for (int x = 0; x < 23; ++x) {
        EXPECT_NEAR(moved[static_cast<std::size_t>((y - 1) * 25 + x + 2)],
                    still[static_cast<std::size_t>(y * 25 + x)], 1e-5);
      }
    }
  }
}

// Fails when a number is read wrongly, or a text that is not a kernel is taken.
TEST(Psf, ReadsTextAndRefusesWhatIsNotAKernel) {
  const std::string path = testing::TempDir() + "ocellus_psf.txt";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_psf(path.c_str());
  };
  const auto psf = read("0 0.25 0\n0.25, 0.5 -1e-3\n\n");
  ASSERT_TRUE(psf) << psf.error().text;
  EXPECT_EQ(psf->width, 3);
  EXPECT_EQ(psf->height, 2);
  EXPECT_EQ(psf->values[5], -1e-3);
  std::string wide;
  for (int k = 0; k < 64; ++k) wide += "1 ";
  for (const std::string& text : {std::string("1 2\n3\n"), std::string("1 x\n"), std::string(),
                                  std::string("1 nan\n"), wide, std::string(5000, '1')}) {
    const auto bad = read(text);
    ASSERT_FALSE(bad) << text.substr(0, 20);
    EXPECT_EQ(bad.error().status, Status::kCorruptFile) << bad.error().text;
  }
  std::remove(path.c_str());
  EXPECT_EQ(read_psf(path.c_str()).error().status, Status::kIoError);
  EXPECT_EQ(read_psf("").error().status, Status::kInvalidArgument);
}

}  // namespace
}  // namespace ocellus
