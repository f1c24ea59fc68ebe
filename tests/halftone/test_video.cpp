// Halftones of videos: how many cells change from one frame to the next, and how much a warm start
// lowers the quality.
//
// Flicker is the share of cells that differ from the frame before. "still" counts only cells whose
// gray value has changed by at most 1 of 255. The measure of the error is that of test_quality.cpp.
// The videos are those of the package opencv-doc and of the development data. The rows printed
// after "table NAME" are those of docs/halftone.md, see toolchains/halftone-tables.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/input_error.h"
#include "apps/io/frames.h"
#include "apps/measure/image_errors.h"
#include "ocellus/halftone.h"
#include "reference/halftones.h"
#include "support/flow_files.h"
#include "support/networks.h"

namespace ocellus {
namespace {

using namespace test;

constexpr double kSigma = 1.5;

struct Video {
  std::string name;
  std::vector<app::GrayImage> frames;
};

/// At most `most` frames. Returns nothing if the file is missing or cannot be decoded.
std::optional<Video> read_video(const std::string& path, std::size_t most) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  Video video{std::filesystem::path(path).stem().string(), {}};
  try {
    const std::unique_ptr<app::FrameSource> source = app::open_frames({path});
    app::InputFrame frame;
    while (video.frames.size() < most && source->next(frame)) video.frames.push_back(frame.image);
  } catch (const app::InputError& error) {
    std::printf("%s: %s\n", path.c_str(), error.what());
    return std::nullopt;
  }
  return video;
}

std::vector<std::string> video_files() {
  const char* set = std::getenv("OCELLUS_OPENCV_DOC");
  const std::string examples = set != nullptr ? set : "/usr/share/doc/opencv-doc/examples/data";
  return {examples + "/vtest.avi", examples + "/tree.avi", data_folder() + "/video/bikes.mp4",
          data_folder() + "/video/carphone_pristine.mp4"};
}

constexpr const char* kNoVideo =
    "no video could be read: they are in the package opencv-doc (OCELLUS_OPENCV_DOC names the "
    "folder) and in the development data (OCELLUS_TEST_DATA), and need GStreamer's decoders";

struct Course {
  double flicker = 0.0;  ///< share of all cells that change
  double still = 0.0;    ///< the same for cells whose gray value stays
  double psnr = 0.0;     ///< mean over the frames, dB
  double later = 0.0;    ///< mean over the second half of the frames
  double worst = std::numeric_limits<double>::infinity();
  std::size_t worst_frame = 0;
};

/// Halftones of consecutive frames with values 0 or 255.
using Method = std::function<std::vector<std::uint8_t>(const app::GrayImage&)>;

Course course(const Video& video, const Method& method) {
  Course found;
  double cells = 0.0;
  double changed = 0.0;
  double still = 0.0;
  double changed_still = 0.0;
  std::vector<std::uint8_t> before;
  const std::size_t count = video.frames.size();
  for (std::size_t t = 0; t < count; ++t) {
    const app::GrayImage& image = video.frames[t];
    const std::vector<std::uint8_t> out = method(image);
    const app::GrayPlane plane{image.size, {out.begin(), out.end()}};
    const double psnr =
        app::seen_errors(plane, app::gray_plane(image), kSigma, app::kSeenBorder).value().psnr;
    found.psnr += psnr / static_cast<double>(count);
    if (t >= count / 2) found.later += psnr / static_cast<double>(count - count / 2);
    if (psnr < found.worst) {
      found.worst = psnr;
      found.worst_frame = t;
    }
    for (std::size_t i = 0; t > 0 && i < out.size(); ++i) {
      const double change = out[i] != before[i] ? 1.0 : 0.0;
      const int step = image.pixels[i] - video.frames[t - 1].pixels[i];
      cells += 1.0;
      changed += change;
      if (std::abs(step) > 1) continue;
      still += 1.0;
      changed_still += change;
    }
    before = out;
  }
  found.flicker = changed / cells;
  found.still = changed_still / still;
  return found;
}

Course course(const Video& video, const CellularNetworkConfig& config) {
  auto rig = Rig<CellularNetwork>::make(config);
  return course(video,
                [&](const app::GrayImage& image) { return cells_of(rig.op, image.view(0, 0)); });
}

Course diffused(const Video& video) {
  return course(video, [](const app::GrayImage& image) {
    PlaneD gray(image.size.width, image.size.height);
    std::copy(image.pixels.begin(), image.pixels.end(), gray.data.begin());
    const PlaneD made = reference::floyd_steinberg(gray);
    return std::vector<std::uint8_t>(made.data.begin(), made.data.end());
  });
}

CellularNetworkConfig fresh(const Video& video, HalftonePreset preset) {
  return halftone_config(video.frames.front().size, preset);
}
CellularNetworkConfig warm(const Video& video, HalftonePreset preset) {
  CellularNetworkConfig config = fresh(video, preset);
  config.warm_start = true;
  return config;
}
CellularNetworkConfig blue(const Video& video) {
  CellularNetworkConfig config = fresh(video, HalftonePreset::kQuality);
  config.stages[0].start = CellStart::kBlueNoise;
  return config;
}

void print_row(const Video& video, const char* method, const Course& c) {
  std::printf("| %s, %zu frames | %s | %.2f | %.2f | %.2f | %.2f | %.2f (%zu) |\n",
              video.name.c_str(), video.frames.size(), method, 100.0 * c.flicker, 100.0 * c.still,
              c.psnr, c.later, c.worst, c.worst_frame);
  std::fflush(stdout);
}

/// Fails when, where nothing moves, a warm start changes a fifth or more of the cells that cold
/// starts change. Also fails when it costs the quality preset 2 dB.
TEST(Video, WarmStartKeepsCellsWhereNothingMoves) {
  int videos = 0;
  for (const std::string& file : video_files()) {
    const std::optional<Video> video = read_video(file, 25);
    if (!video) continue;
    ++videos;
    SCOPED_TRACE(video->name);
    const Course again = course(*video, fresh(*video, HalftonePreset::kQuality));
    const Course held = course(*video, warm(*video, HalftonePreset::kQuality));
    EXPECT_LT(held.still, 0.2 * again.still);
    EXPECT_LT(held.flicker, again.flicker);
    EXPECT_GT(held.psnr, again.psnr - 2.0);
  }
  if (videos == 0) GTEST_SKIP() << kNoVideo;
}

/// Runs over hundreds of frames and scene cuts. Fails when the quality preset with a warm start
/// falls more than 0.5 dB below error diffusion in one video, or below it on average. Also fails
/// when the worst frame, which follows a cut, is 3 dB worse than any frame with a cold start.
TEST(SlowVideo, WarmStartStaysAsGoodAsErrorDiffusion) {
  int videos = 0;
  double gained = 0.0;
  for (const std::string& file : video_files()) {
    const std::optional<Video> video = read_video(file, 800);
    if (!video) continue;
    if (++videos == 1) {
      std::printf(
          "table video\n| video | method | cells that change, %% | where still, %% | mean, dB | "
          "second half, dB | worst frame, dB |\n|---|---|---|---|---|---|---|\n");
    }
    SCOPED_TRACE(video->name);
    const Course diffusion = diffused(*video);
    print_row(*video, "Floyd-Steinberg", diffusion);
    print_row(*video, "fast, fresh", course(*video, fresh(*video, HalftonePreset::kFast)));
    print_row(*video, "fast, warm", course(*video, warm(*video, HalftonePreset::kFast)));
    const Course again = course(*video, fresh(*video, HalftonePreset::kQuality));
    print_row(*video, "quality, fresh", again);
    print_row(*video, "quality, fresh from blue noise", course(*video, blue(*video)));
    const Course held = course(*video, warm(*video, HalftonePreset::kQuality));
    print_row(*video, "quality, warm", held);
    EXPECT_GT(held.psnr, diffusion.psnr - 0.5);
    EXPECT_GT(held.later, diffusion.later - 0.5);
    gained += held.psnr - diffusion.psnr;
    EXPECT_GT(held.worst, again.worst - 3.0);
  }
  if (videos == 0) GTEST_SKIP() << kNoVideo;
  EXPECT_GT(gained, 0.0);
}

}  // namespace
}  // namespace ocellus
