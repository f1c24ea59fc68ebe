// The range of luma from a video through the operators into a video.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "apps/common/input_error.h"
#include "apps/io/frames.h"
#include "apps/io/image_io.h"
#include "program_checks.h"
#include "raw_video.h"

namespace ocellus::test {
namespace {

using app::GrayImage;
using app::InputFrame;
using nlohmann::json;

constexpr ImageSize kSize = kRawVideoSize;

constexpr const char* kFull = "1:4:0:0";
constexpr const char* kLimited = "2:4:0:0";

bool is_black(int x) {
  return x < kSize.width / 2;
}

/// The number of pixels of a black and white image that differ from `is_black`.
int stray_dots(const GrayImage& image) {
  int count = 0;
  for (int y = 0; y < kSize.height; ++y)
    for (int x = 0; x < kSize.width; ++x)
      count += image.brightness(x, y) != (is_black(x) ? 0 : 255);
  return count;
}

/// Example failure: luma of limited range is used as full range, which puts stray dots into black
/// and white areas. Or the other way round, and dark and light gray have no dots.
TEST(VideoRange, IsTakenFromTheVideo) {
  const TemporaryFolder folder;
  for (const char* colorimetry : {kFull, kLimited}) {
    const bool full = colorimetry == kFull;
    const std::string video = folder / (full ? "full.mkv" : "limited.mkv");
    {
      RawVideo raw(video);
      for (int i = 0; i < 2; ++i)
        raw.add(colorimetry, [](int x, int y) {
          const int off = (x + y) % 5 == 0 ? 3 : 0;
          return is_black(x) ? 16 - off : 235 + off;
        });
    }
    const auto source = app::open_frames({video});
    InputFrame frame;
    ASSERT_TRUE(source->next(frame));
    EXPECT_EQ(frame.range, full ? (GrayRange{0.0f, 255.0f}) : (GrayRange{16.0f, 235.0f}));
    EXPECT_EQ(frame.image.pixels[1], 16) << "luma is unchanged";
    for (const char* preset : {"quality", "fast"}) {
      const json report =
          json_of({"halftone", video, "--preset", preset, "-o", folder / "o%d.png"});
      EXPECT_EQ(report["input_range"], full ? (json{0.0, 255.0}) : (json{16.0, 235.0}));
      const GrayImage out = app::read_image(folder / "o1.png");
      if (full)
        EXPECT_GT(stray_dots(out), 50) << "16 and 235 are grays here";
      else
        EXPECT_EQ(stray_dots(out), 0);
    }
    // Black passes the threshold of 0.98, a slightly lighter gray does not.
    json_of({"cnn", video, "--template", "threshold(0.98)", "-o", folder / "t%d.png"});
    EXPECT_EQ(stray_dots(app::read_image(folder / "t0.png")) == 0, !full);
  }
}

/// Example failure: --binarize counts from 0 in a video whose black is 16.
TEST(VideoRange, AppliesToTheThreshold) {
  const TemporaryFolder folder;
  const std::string video = folder / "in.mkv";
  {
    RawVideo raw(video);
    // The left half has 99.0, the right half 100.1 of 255.
    for (int i = 0; i < 2; ++i)
      raw.add(kLimited, [](int x, int) { return is_black(x) ? 101 : 102; });
  }
  json_of({"cnn", video, "--binarize", "100", "--template", "threshold", "-o", folder / "o%d.png"});
  EXPECT_EQ(stray_dots(app::read_image(folder / "o0.png")), 0);
}

/// Example failure: frames with different values for black are accepted as equal.
TEST(VideoRange, MustNotChange) {
  class TwoFrames : public app::FrameSource {
   public:
    TwoFrames() : FrameSource("two frames") {}

   protected:
    bool read(InputFrame& frame) override {
      frame.image = GrayImage(kSize, PixelFormat::kGray8);
      frame.number = count_;
      if (count_ == 1) frame.range = {16.0f, 235.0f};
      return count_++ < 2;
    }

   private:
    int count_ = 0;
  } source;
  InputFrame frame;
  EXPECT_TRUE(source.next(frame));
  try {
    source.next(frame);
    ADD_FAILURE() << "no error";
  } catch (const app::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("luma from 16 to 235"), std::string::npos)
        << error.what();
  }
}

/// Example failure: full-range black and white are written to a video whose luma has limited range.
TEST(VideoRange, IsLimitedInWrittenVideos) {
  const TemporaryFolder folder;
  std::ofstream file(folder / "in.pgm", std::ios::binary);
  file << "P5\n" << kSize.width << " " << kSize.height << "\n255\n";
  for (int y = 0; y < kSize.height; ++y)
    for (int x = 0; x < kSize.width; ++x) file.put(static_cast<char>(is_black(x) ? 0 : 255));
  file.close();
  const std::string video = folder / "o.webm";
  const ChildResult written = run_program({"halftone", folder / "in.pgm", "-o", video});
  if (written.exit_code == 2 && written.err.find("is missing; it is in") != std::string::npos)
    GTEST_SKIP() << written.err;
  ASSERT_EQ(written.exit_code, 0) << written.err;
  const auto source = app::open_frames({video});
  InputFrame frame;
  ASSERT_TRUE(source->next(frame));
  EXPECT_EQ(frame.range, (GrayRange{16.0f, 235.0f}));
  // The encoder may change values slightly, and more near the edge.
  for (int y = 4; y < kSize.height - 4; ++y) {
    for (int x = 4; x < kSize.width - 4; ++x) {
      const double error = frame.image.brightness(x, y) - (is_black(x) ? 16 : 235);
      EXPECT_TRUE(std::abs(error) < 4 || (x >= 24 && x < 40)) << error << " at " << x << ", " << y;
    }
  }
  std::set<int> chroma(frame.chroma_u.begin(), frame.chroma_u.end());
  for (const int value : chroma) EXPECT_NEAR(value, 128, 2);
}

}  // namespace
}  // namespace ocellus::test
