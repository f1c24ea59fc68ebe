// ocellus restore: what becomes of the colors of pictures and videos.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/frames.h"
#include "apps/io/image_io.h"
#include "apps/run_command.h"
#include "support/color_frame.h"
#include "support/files.h"
#include "support/run.h"

namespace ocellus::app {
namespace {

constexpr ImageSize kSize{45, 31};

/// Colors whose planes differ, far from black and white.
std::uint8_t sample(int x, int y, int channel) {
  const int square = (x / (5 + channel) + y / 6) % 2;
  return static_cast<std::uint8_t>(95 + 20 * channel + 30 * square);
}

class RestoreCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream color(color_, std::ios::binary);
    color << "P6 " << kSize.width << " " << kSize.height << " 255\n";
    for (int y = 0; y < kSize.height; ++y)
      for (int x = 0; x < kSize.width; ++x)
        for (int c = 0; c < 3; ++c) color.put(static_cast<char>(sample(x, y, c)));
    for (int c = 0; c < 3; ++c) {
      std::ofstream plane(plane_name(c), std::ios::binary);
      plane << "P5 " << kSize.width << " " << kSize.height << " 255\n";
      for (int y = 0; y < kSize.height; ++y)
        for (int x = 0; x < kSize.width; ++x) plane.put(static_cast<char>(sample(x, y, c)));
    }
  }

  std::string plane_name(int channel) const {
    return folder_ / ("plane" + std::to_string(channel) + ".pgm");
  }

  /// Returns the error message.
  std::string run(const std::string& in, const std::string& out,
                  const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"restore", in, "-o", out, "--backend", "cpu", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    testing::internal::CaptureStdout();
    std::string message = test::run_command(add_restoration_command, arguments);
    printed_ = testing::internal::GetCapturedStdout();
    return message;
  }

  struct Result {
    GrayImage gray;
    std::vector<GrayImage> color;
    std::string mode;  ///< as the report names it
  };
  Result restored(const std::string& in, const std::vector<std::string>& more = {}) {
    EXPECT_EQ(run(in, out_, more), "");
    Result result;
    result.gray = read_image(out_, &result.color);
    result.mode = nlohmann::json::parse(printed_)["color"].get<std::string>();
    return result;
  }

  const test::TemporaryFolder folder_;
  const std::string color_ = folder_ / "color.ppm";
  const std::string out_ = folder_ / "out.png";
  std::string printed_;
};

// Fails when a plane of the result is not the restored plane of the picture, or planes change
// places.
TEST_F(RestoreCommand, EachPlaneByDefault) {
  const Result result = restored(color_);
  EXPECT_EQ(result.mode, "each");
  ASSERT_EQ(result.color.size(), 3u);
  for (int c = 0; c < 3; ++c) {
    const Result plane = restored(plane_name(c));
    EXPECT_TRUE(plane.color.empty());
    EXPECT_EQ(plane.mode, "gray");
    EXPECT_EQ(result.color[static_cast<std::size_t>(c)].pixels, plane.gray.pixels) << c;
  }
  EXPECT_EQ(restored(color_, {"--color", "each"}).color[2].pixels, result.color[2].pixels);
}

// Fails when --color luma changes the differences between the planes, or does not restore.
TEST_F(RestoreCommand, LumaKeepsTheChroma) {
  const Result gray = restored(color_, {"--color", "gray"});
  EXPECT_TRUE(gray.color.empty());
  EXPECT_EQ(gray.mode, "gray");
  const Result luma = restored(color_, {"--color", "luma"});
  EXPECT_EQ(luma.mode, "luma");
  ASSERT_EQ(luma.color.size(), 3u);
  int changed = 0;
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      const float red = luma.color[0].brightness(x, y);
      const float green = luma.color[1].brightness(x, y);
      const float blue = luma.color[2].brightness(x, y);
      ASSERT_EQ(red - green, sample(x, y, 0) - sample(x, y, 1));
      ASSERT_EQ(blue - green, sample(x, y, 2) - sample(x, y, 1));
      ASSERT_NEAR(luma.gray.brightness(x, y), gray.gray.brightness(x, y), 1.0f);
      if (std::fabs(green - sample(x, y, 1)) > 2.0f) ++changed;
    }
  }
  EXPECT_GT(changed, 100);
}

// Fails when --color luma gives other bytes for a PNG file than for a PPM file, or than the
// operator for frames of the same pixels in any order. The colors are random, so some sums pass 0
// or 255.
TEST_F(RestoreCommand, LumaOfFilesIsThatOfFrames) {
  const test::ColorFrame colors(kSize, PixelFormat::kRgb, 5);
  const std::string ppm = folder_ / "random.ppm";
  const std::string png = folder_ / "random.png";
  write_image_rgb(ppm, kSize, colors.row(0));
  write_image_rgb(png, kSize, colors.row(0));
  const std::vector<GrayImage> planes = restored(ppm, {"--color", "luma"}).color;
  ASSERT_EQ(planes.size(), 3u);
  const std::vector<GrayImage> of_png = restored(png, {"--color", "luma"}).color;
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(of_png[c].pixels, planes[c].pixels) << c;
  for (const PixelFormat format :
       {PixelFormat::kRgb, PixelFormat::kBgr, PixelFormat::kRgbx, PixelFormat::kBgrx}) {
    const test::Place place = test::place_of(format);
    test::ColorFrame frame(kSize, format, 1);
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        const std::uint8_t* const from = colors.row(y) + 3 * x;
        std::uint8_t* const to = frame.row(y) + place.bytes * x;
        to[place.red] = from[0];
        to[1] = from[1];
        to[place.blue] = from[2];
      }
    }
    RestorationConfig config;
    config.size = kSize;
    config.format = format;
    auto rig = test::Rig<Restoration>::make(config, 1);
    const ImageView image{frame.row(0), kSize, frame.stride(), format};  // in place
    test::must(rig.op.wait(test::must(rig.op.submit(frame.frame(0), image)), Deadline::never()));
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        const std::uint8_t* const got = frame.row(y) + place.bytes * x;
        const auto at = static_cast<std::size_t>(kSize.width * y + x);
        ASSERT_EQ(got[place.red], planes[0].pixels[at]) << test::name_of(format);
        ASSERT_EQ(got[1], planes[1].pixels[at]) << test::name_of(format);
        ASSERT_EQ(got[place.blue], planes[2].pixels[at]) << test::name_of(format);
      }
    }
  }
}

// Fails when files of which only some have color are restored to something else, or when the text
// does not tell what to do.
TEST_F(RestoreCommand, FilesWithAndWithoutColor) {
  const std::string out = folder_ / "out_%d.ppm";
  const std::vector<std::string> luma = {plane_name(0), "--color", "luma"};
  EXPECT_EQ(run(color_, out, luma), "");
  std::vector<GrayImage> color;
  const GrayImage gray = read_image(folder_ / "out_1.ppm", &color);
  ASSERT_EQ(color.size(), 3u);
  EXPECT_EQ(color[0].pixels, color[2].pixels);
  EXPECT_EQ(gray.pixels, restored(plane_name(0)).gray.pixels);
  const std::string message = run(plane_name(0), out, {color_, "--color", "luma"});
  EXPECT_NE(message.find("frame 1 has color, but the first frame has none"), std::string::npos)
      << message;
}

// Fails when a video of restored pictures loses their color, when a restored video does, or when
// --color each takes chroma of half the resolution for planes of the picture.
TEST_F(RestoreCommand, VideosKeepTheirColor) {
  const std::string video = folder_ / "color.webm";
  if (const std::string message = run(color_, video); !message.empty())
    GTEST_SKIP() << message;  // no encoder
  EXPECT_NE(run(video, out_, {"--color", "each"}).find("half the resolution"), std::string::npos);
  const std::string again = folder_ / "again.webm";
  ASSERT_EQ(run(video, again), "");
  EXPECT_EQ(nlohmann::json::parse(printed_)["color"], "luma");
  const std::string gray = folder_ / "gray.webm";
  ASSERT_EQ(run(video, gray, {"--color", "gray"}), "");
  const auto blue_of = [](const std::string& name) {
    InputFrame frame;
    EXPECT_TRUE(open_frames({name})->next(frame));
    double sum = 0.0;
    for (const std::uint8_t value : frame.chroma_u) sum += value;
    return sum / static_cast<double>(frame.chroma_u.size());
  };
  // The means of the planes are 110, 130 and 150, so U is about 128 + 0.56 * 22 * 224 / 255.
  EXPECT_NEAR(blue_of(video), 139.0, 3.0);
  EXPECT_NEAR(blue_of(again), 139.0, 3.0);
  EXPECT_NEAR(blue_of(gray), 128.0, 1.0);
}

// Fails when an unknown choice is taken.
TEST_F(RestoreCommand, UnknownColorIsRefused) {
  EXPECT_NE(run(color_, out_, {"--color", "red"}).find("each"), std::string::npos);
}

}  // namespace
}  // namespace ocellus::app
