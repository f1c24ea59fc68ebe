// `ocellus halftone` and `ocellus cnn`: files, figures and messages.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "apps/io/image_io.h"
#include "apps/io/test_scene.h"
#include "ocellus/luma.h"
#include "program_checks.h"

namespace ocellus::test {
namespace {

using app::GrayImage;
using app::read_image;
using nlohmann::json;

void write_pgm(const std::string& path, const GrayImage& image) {
  std::ofstream file(path, std::ios::binary);
  file << "P5\n" << image.size.width << " " << image.size.height << "\n255\n";
  file.write(reinterpret_cast<const char*>(image.pixels.data()),
             static_cast<std::streamsize>(image.pixels.size()));
}

template <typename Value>
GrayImage image_of(ImageSize size, Value&& value) {
  GrayImage image(size, PixelFormat::kGray8);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      image.pixels[static_cast<std::size_t>(y * size.width + x)] =
          static_cast<std::uint8_t>(value(x, y));
  return image;
}

/// A smooth ramp, dark on the left. Every halftone must preserve it.
GrayImage ramp(ImageSize size) {
  return image_of(size, [&](int x, int y) { return 20 + 215 * (x + y / 4) / size.width % 236; });
}

/// A black square on white that covers 4 to 11 along both axes.
GrayImage square(ImageSize size) {
  return image_of(size,
                  [](int x, int y) { return x >= 4 && x < 12 && y >= 4 && y < 12 ? 0 : 255; });
}

std::set<int> values_of(const GrayImage& image) {
  return {image.pixels.begin(), image.pixels.end()};
}

/// Bits per sample from the header of a PNG file.
int bit_depth(const std::string& path) {
  const std::string bytes = bytes_of(path);
  return bytes.size() > 24 ? bytes[24] : -1;
}

// Example failure: the result is inverted, has an intermediate level, has 8 bits, or differs
// visibly from the frame.
TEST(Halftone, IsBlackAndWhiteAndResemblesTheFrame) {
  const TemporaryFolder folder;
  for (const ImageSize size : {ImageSize{96, 80}, ImageSize{97, 83}}) {
    write_pgm(folder / "in.pgm", ramp(size));
    for (const std::vector<std::string>& options :
         std::vector<std::vector<std::string>>{{},
                                               {"--preset", "fast"},
                                               {"--template", "hlf5", "--start", "error-diffusion"},
                                               {"--template", "hlf5", "--start", "blue-noise"}}) {
      const json report =
          json_of(plus({"halftone", folder / "in.pgm", "-o", folder / "out.png"}, options));
      const GrayImage out = read_image(folder / "out.png");
      EXPECT_EQ(out.size, size);
      EXPECT_EQ(values_of(out), (std::set<int>{0, 255}));
      EXPECT_EQ(bit_depth(folder / "out.png"), 1);
      const json seen = json_of({"compare", "image", folder / "out.png", folder / "in.pgm"});
      EXPECT_GT(seen["hvs_psnr"], 28.0) << (options.empty() ? "default" : options.back());
      EXPECT_NEAR(seen["mean_difference"].get<double>(), 0.0, 0.01);
      ASSERT_EQ(report["frames"].size(), 1u);
      EXPECT_GT(report["frames"][0]["sweeps"], 0);
      EXPECT_EQ(report["frames"][0]["file"], folder / "out.png");
      EXPECT_EQ(report["size"], (json{size.width, size.height}));
      EXPECT_GT(report["median_ms"], 0.0);
      EXPECT_GE(report["p99_ms"], report["median_ms"]);
    }
  }
  // The default preset.
  const json quality = json_of({"halftone", folder / "in.pgm", "--preset", "quality"});
  EXPECT_EQ(json_of({"halftone", folder / "in.pgm"})["config"], quality["config"]);
  EXPECT_TRUE(quality["output"].is_null());
}

// Example failure: a result with more than two levels is written with one bit, or has fewer levels
// than requested.
TEST(Halftone, HasTheRequestedNumberOfLevels) {
  const TemporaryFolder folder;
  write_pgm(folder / "in.pgm", ramp({128, 64}));
  json_of({"halftone", folder / "in.pgm", "--template", "hlf3", "--levels", "4", "-o",
           folder / "out.png"});
  EXPECT_EQ(bit_depth(folder / "out.png"), 2);
  const std::set<int> values = values_of(read_image(folder / "out.png"));
  EXPECT_GT(values.size(), 2u);
  for (const int value : values) EXPECT_EQ(value % 85, 0) << value;
}

// Example failure: a preset of gray levels has other levels, a file for e-ink has other bits than
// the display takes, or its pixels are packed wrongly. 127 is not a multiple of the pixels in a
// byte.
TEST(Halftone, PresetsOfGrayLevelsArePacked) {
  const TemporaryFolder folder;
  write_pgm(folder / "in.pgm", ramp({127, 64}));
  for (const auto& [preset, bits] : {std::pair{"gray4", 2}, {"gray16", 4}}) {
    const std::vector<std::string> command = {"halftone", folder / "in.pgm", "--preset", preset};
    const json report = json_of(plus(command, {"-o", folder / "out.png"}));
    EXPECT_EQ(report["frames"][0]["converged"], true);
    EXPECT_EQ(bit_depth(folder / "out.png"), bits);
    const GrayImage packed = read_image(folder / "out.png");
    EXPECT_GT(values_of(packed).size(), bits == 2 ? 3u : 12u);
    for (const int value : values_of(packed)) EXPECT_EQ(value % (255 / ((1 << bits) - 1)), 0);
    json_of(plus(command, {"-o", folder / "out.pgm"}));
    EXPECT_EQ(packed.pixels, read_image(folder / "out.pgm").pixels);
  }
}

// Example failure: the dots depend on the number of threads or on the run, or --seed has no effect.
TEST(Halftone, IsDeterministic) {
  const TemporaryFolder folder;
  write_pgm(folder / "in.pgm", ramp({150, 90}));
  const auto dots = [&](const std::vector<std::string>& options) {
    json_of(plus({"halftone", folder / "in.pgm", "-o", folder / "out.png"}, options));
    return read_image(folder / "out.png").pixels;
  };
  EXPECT_EQ(dots({"--threads", "1"}), dots({"--threads", "4"}));
  const std::vector<std::string> noise = {"--template", "hlf5", "--start", "noise"};
  EXPECT_EQ(dots(noise), dots(plus(noise, {"--seed", "1"})));
  EXPECT_NE(dots(noise), dots(plus(noise, {"--seed", "2"})));
}

// Example failure: the dots of a still picture change between frames in spite of a warm start, or
// every frame has a warm start although none was requested.
TEST(Halftone, WarmStartKeepsTheDotsOfAStillPicture) {
  const TemporaryFolder folder;
  const GrayImage still = ramp({96, 64});
  for (int i = 0; i < 3; ++i) write_pgm(folder / ("f" + std::to_string(i) + ".pgm"), still);
  const std::vector<std::string> command = {"halftone", folder / "f%d.pgm", "--template", "hlf5",
                                            "-o",       folder / "o%d.png", "--start",    "noise"};
  const json warm = json_of(plus(command, {"--warm-start"}));
  EXPECT_EQ(warm["config"]["warm_start"], true);
  ASSERT_EQ(warm["frames"].size(), 3u);
  ASSERT_EQ(warm["frames"][0]["converged"], true);
  // At its fixed point nothing changes any more, which one sweep detects.
  EXPECT_EQ(warm["frames"][1]["sweeps"], 1);
  EXPECT_EQ(warm["frames"][1]["changed"], 0);
  EXPECT_EQ(read_image(folder / "o1.png").pixels, read_image(folder / "o0.png").pixels);
  const json cold = json_of(command);
  EXPECT_EQ(cold["frames"][1]["sweeps"], cold["frames"][0]["sweeps"]);
  EXPECT_GT(cold["frames"][1]["sweeps"], 1);
}

// Example failure: 16-bit frames are read with a wrong scale, or color is not converted to luma. Or
// a frame of the test scene differs from the same frame in a numbered file.
TEST(Halftone, AcceptsAllKindsOfFrames) {
  const TemporaryFolder folder;
  const auto mean = [](const GrayImage& image) {
    double sum = 0.0;
    for (const std::uint8_t value : image.pixels) sum += value;
    return sum / static_cast<double>(image.pixels.size());
  };
  for (const char* scene : {"test:64x48,frames=3", "test:64x48,frames=3,bits=16"}) {
    const json report = json_of({"halftone", scene, "-o", folder / "t%02d.png"});
    EXPECT_EQ(report["frames_read"], 3);
    const GrayImage expected = app::TestScene::parse("test:64x48,frames=3").frame(1);
    EXPECT_NEAR(mean(read_image(folder / "t01.png")), mean(expected), 4.0) << scene;
  }
  // Red 100, green 150 and blue 200 have luma 141.
  std::ofstream color(folder / "c.ppm", std::ios::binary);
  color << "P6\n64 64\n255\n";
  for (int i = 0; i < 64 * 64; ++i)
    color << static_cast<char>(100) << static_cast<char>(150) << static_cast<char>(200);
  color.close();
  json_of({"halftone", folder / "c.ppm", "-o", folder / "c.png"});
  EXPECT_NEAR(mean(read_image(folder / "c.png")), 141.0, 3.0);
  const json limited = json_of({"halftone", "test:64x48,frames=9", "--limit", "2"});
  EXPECT_EQ(limited["frames"].size(), 2u);
}

// Example failure: a written video cannot be read back, or has a different number of frames.
TEST(Halftone, WritesVideo) {
  if (!has_gstreamer()) GTEST_SKIP() << "built without GStreamer";
  const TemporaryFolder folder;
  const std::string video = folder / "o.webm";
  const ChildResult written =
      run_program({"halftone", "test:64x48@15,frames=6", "-o", video, "--warm-start"});
  if (written.exit_code == 2 && written.err.find("is missing; it is in") != std::string::npos)
    GTEST_SKIP() << written.err;
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_NE(written.out.find("6 of 6 frames converged"), std::string::npos) << written.out;
  EXPECT_EQ(json_of({"halftone", video})["frames_read"], 6);
}

// Example failure: the text report lacks figures that the JSON has.
TEST(Halftone, PrintsASummary) {
  const TemporaryFolder folder;
  write_pgm(folder / "in.pgm", ramp({64, 64}));
  const ChildResult one = run_program({"halftone", folder / "in.pgm", "-o", folder / "o.png"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  for (const char* text : {": 64x64, ", "preset quality", "sweeps", " ms", "written: "})
    EXPECT_NE(one.out.find(text), std::string::npos) << text << "\n" << one.out;
  const ChildResult stopped = run_program({"halftone", folder / "in.pgm", "--template", "hlf5",
                                           "--start", "noise", "--max-sweeps", "1"});
  EXPECT_NE(stopped.out.find("changed at the end"), std::string::npos) << stopped.out;
}

// Example failure: a chain runs in the wrong order, black and white are exchanged, or the outline
// of a square is not one cell wide.
TEST(Cnn, RunsTemplatesAndChains) {
  const TemporaryFolder folder;
  constexpr ImageSize kSize{16, 16};
  write_pgm(folder / "in.pgm", square(kSize));
  const auto result = [&](const std::string& chain, const std::vector<std::string>& more = {}) {
    const json report = json_of(
        plus({"cnn", folder / "in.pgm", "--template", chain, "-o", folder / "o.png"}, more));
    EXPECT_EQ(report["frames"][0]["converged"], true) << chain;
    return read_image(folder / "o.png").pixels;
  };
  const auto box = [&](int from, int to, bool filled) {
    return image_of(kSize,
                    [&](int x, int y) {
                      const bool inside = x >= from && x <= to && y >= from && y <= to;
                      const bool deep = x > from && x < to && y > from && y < to;
                      return inside && (filled || !deep) ? 0 : 255;
                    })
        .pixels;
  };
  EXPECT_EQ(result("edge"), box(4, 11, false));
  EXPECT_EQ(result("erosion"), box(5, 10, true));
  EXPECT_EQ(result("dilation"), box(3, 12, true));
  EXPECT_EQ(result("erosion | dilation"), box(4, 11, true));
  EXPECT_EQ(result("dilation|edge"), box(3, 12, false));
  // Four passes take the square away, and the fifth changes nothing.
  EXPECT_EQ(result("[erosion]"), std::vector<std::uint8_t>(256, 255));
  EXPECT_EQ(result("[erosion] * 2 | dilation"), box(5, 10, true));
  const ChildResult passes = run_program({"cnn", folder / "in.pgm", "--template", "[erosion]"});
  EXPECT_NE(passes.out.find(" in 5 passes, converged"), std::string::npos) << passes.out;
  for (const char* update : {"colors", "raster", "synchronous"})
    EXPECT_EQ(result("edge", {"--update", update}), box(4, 11, false)) << update;
  // With white as +1, the white background is eroded, except at the border of the image.
  EXPECT_EQ(result("erosion", {"--polarity", "white"}), box(3, 12, true));
}

// Example failure: the wrong side of the threshold becomes white, or 16-bit frames use a threshold
// of 8 bits.
TEST(Cnn, BinarizesAtAThreshold) {
  const TemporaryFolder folder;
  write_pgm(folder / "in.pgm", image_of({8, 1}, [](int x, int) { return 99 + (x + 1) / 4; }));
  json_of({"cnn", folder / "in.pgm", "--template", "threshold", "--binarize", "100", "-o",
           folder / "o.png"});
  EXPECT_EQ(read_image(folder / "o.png").pixels,
            (std::vector<std::uint8_t>{0, 0, 0, 255, 255, 255, 255, 255}));
}

// Example failure: a picture of dots loses its color although --chroma says keep, has color without
// it, or has other dots.
TEST(Halftone, KeepsTheColorOfPictures) {
  const TemporaryFolder folder;
  constexpr ImageSize kSize{48, 40};
  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < kSize.height; ++y)
    for (int x = 0; x < kSize.width; ++x)
      for (const int value : {100 + 2 * x, 90 + y, 60 + x})
        rgb.push_back(static_cast<std::uint8_t>(value));
  app::write_image_rgb(folder / "in.ppm", kSize, rgb.data());
  json_of({"halftone", folder / "in.ppm", "-o", folder / "gray.png"});
  const json report =
      json_of({"halftone", folder / "in.ppm", "--chroma", "keep", "-o", folder / "color.png"});
  EXPECT_EQ(report["config"]["chroma"], "keep");
  std::vector<app::GrayImage> planes;
  const app::GrayImage dots = app::read_image(folder / "gray.png", &planes);
  EXPECT_TRUE(planes.empty());
  app::read_image(folder / "color.png", &planes);
  ASSERT_EQ(planes.size(), 3u);
  for (std::size_t i = 0; i < dots.pixels.size(); ++i) {
    const std::uint8_t* const from = &rgb[3 * i];
    const int change = dots.pixels[i] - luma_of_rgb(from[0], from[1], from[2]);
    for (std::size_t c = 0; c < 3; ++c)
      ASSERT_EQ(planes[c].pixels[i], std::clamp(from[c] + change, 0, 255)) << i << " " << c;
  }
}

// Example failure: the chroma of a video is lost, has the strength of another range, or is written
// although nobody asked for it.
TEST(Halftone, KeepsTheColorOfVideos) {
  const TemporaryFolder folder;
  constexpr std::size_t kPixels = 32 * 16;
  std::string video = "YUV4MPEG2 W32 H16 F25:1 C420\nFRAME\n" + std::string(kPixels, 'p');
  for (std::size_t i = 0; i < kPixels / 2; ++i) video += static_cast<char>(60 + i % 140);
  std::ofstream(folder / "in.y4m", std::ios::binary) << video;
  for (const bool keep : {false, true}) {
    json_of({"halftone", folder / "in.y4m", "--chroma", keep ? "keep" : "neutral", "-o",
             folder / "out.y4m"});
    std::ifstream file(folder / "out.y4m", std::ios::binary);
    const std::string out((std::istreambuf_iterator<char>(file)), {});
    for (std::size_t i = 1; i <= kPixels / 2; ++i) {
      const int wanted = static_cast<std::uint8_t>(video[video.size() - i]);
      ASSERT_NEAR(static_cast<std::uint8_t>(out[out.size() - i]), keep ? wanted : 128,
                  keep ? 1 : 0);
    }
  }
}

// Example failure: the initial state is ignored or has the wrong sign. The template "hole" keeps
// the initial state: all black, which is its own default, or all white.
TEST(Cnn, StartsFromTheInitialImage) {
  const TemporaryFolder folder;
  constexpr ImageSize kSize{16, 16};
  const GrayImage ring = image_of(kSize, [](int x, int y) {
    const int ring_of = std::max(std::abs(x - 8), std::abs(y - 8));
    return ring_of == 4 ? 0 : 255;
  });
  const GrayImage filled = image_of(kSize, [](int x, int y) {
    return std::max(std::abs(x - 8), std::abs(y - 8)) <= 4 ? 0 : 255;
  });
  write_pgm(folder / "in.pgm", ring);
  write_pgm(folder / "black.pgm", image_of(kSize, [](int, int) { return 0; }));
  const GrayImage white = image_of(kSize, [](int, int) { return 255; });
  write_pgm(folder / "white.pgm", white);
  const auto result = [&](const std::vector<std::string>& more) {
    json_of(plus({"cnn", folder / "in.pgm", "--template", "hole", "-o", folder / "o.png"}, more));
    return read_image(folder / "o.png").pixels;
  };
  EXPECT_EQ(result({}), filled.pixels);
  EXPECT_EQ(result({"--initial", folder / "black.pgm"}), filled.pixels);
  EXPECT_EQ(result({"--initial", folder / "white.pgm"}), white.pixels);
}

// Example failure: an option applies to the first stage only, or the report does not show it.
TEST(Cnn, OptionsApplyToAllStages) {
  const json config =
      json_of({"cnn", "test:32x32,frames=1", "--template", "erosion | dilation", "--boundary",
               "periodic", "--update", "raster", "--max-sweeps", "7", "--levels", "3"})["config"];
  EXPECT_EQ(config["template"], "erosion | dilation");
  EXPECT_EQ(config["boundary"], "periodic");
  EXPECT_EQ(config["update"], "raster");
  EXPECT_EQ(config["max_sweeps"], 7);
  EXPECT_EQ(config["levels"], 3);
  EXPECT_EQ(json_of({"cnn", "test:32x32,frames=1", "--template", "edge", "--boundary",
                     "-0.5"})["config"]["boundary"],
            "-0.5");
}

/// A template file: a group of one stage that changes every cell in every sweep, without end.
std::string endless_template(const TemporaryFolder& folder) {
  const std::string text = folder / "endless.json";
  std::ofstream(text) << R"({"group_stages": 1, "max_passes": 100000, "sweeps": 100000,
                             "update": "synchronous", "a": [[0, 0, 0], [0, -3, 0], [0, 0, 0]]})";
  std::string file = folder / "endless.ocellus";
  const ChildResult made = run_program({"template", "make", text, "-o", file});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return file;
}

// Example failure: the limits of stages and passes multiply, so a frame takes days; or the report
// does not tell that the limit of the frame's sweeps ended it.
// Promises: RT-006.
TEST(Cnn, TheSweepsOfAFrameAreLimited) {
  const TemporaryFolder folder;
  const std::string file = endless_template(folder);
  const std::vector<std::string> command = {"cnn", "test:32x24,frames=2", "--template", file};
  const json usual = json_of(command);
  EXPECT_EQ(usual["frames"][0]["sweeps"], 4096);
  const json few = json_of(plus(command, {"--max-sweeps", "7"}));
  for (const json& frame : few["frames"]) {
    EXPECT_EQ(frame["sweeps"], 7);
    EXPECT_EQ(frame["finished"], false);
    EXPECT_EQ(frame["converged"], false);
  }
  EXPECT_EQ(few["finished"], false);
  const ChildResult text = run_program(plus(command, {"--max-sweeps", "7"}));
  EXPECT_NE(text.out.find("--max-sweeps ended 2 frames"), std::string::npos) << text.out;
  EXPECT_EQ(json_of({"cnn", "test:32x24,frames=2"})["finished"], true);
}

// Example failure: the program waits for the end of a frame that takes minutes, and the terminal
// does not come back.
TEST(Cnn, AFrameThatTakesLongEndsWithTheSignal) {
  const TemporaryFolder folder;
  const std::string file = endless_template(folder);
  for (const int signal : {SIGINT, SIGTERM}) {
    RunningProgram program({"cnn", "test:640x480,frames=3", "--template", file, "--max-sweeps",
                            "1000000", "-o", folder / "o_%d.png"});
    std::this_thread::sleep_for(std::chrono::seconds(2));
    program.send(signal);
    const ChildResult result = program.wait();
    EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    EXPECT_LT(result.seconds, 30.0);
    EXPECT_NE(result.err.find("interrupted after 0 frames"), std::string::npos) << result.err;
    EXPECT_EQ(files_in(folder / "", "o_"), (std::vector<std::string>{}));
    RunningProgram latency({"latency", "--pipeline", "cnn max_sweeps=1000000 template=" + file,
                            "--frames", "3", "--warm-up", "0", "--back-to-back"});
    std::this_thread::sleep_for(std::chrono::seconds(2));
    latency.send(signal);
    const ChildResult measured = latency.wait();
    EXPECT_EQ(measured.exit_code, 128 + signal) << measured.err;
    EXPECT_LT(measured.seconds, 30.0);
    EXPECT_NE(measured.err.find("interrupted after 0 of 3 frames"), std::string::npos)
        << measured.err;
  }
}

// Example failure: bad input gives a different exit code, or a message that does not name the
// mistake.
TEST(Cells, ReportsBadInput) {
  const TemporaryFolder folder;
  write_pgm(folder / "in.pgm", ramp({32, 24}));
  write_pgm(folder / "small.pgm", ramp({16, 16}));
  const std::string in = folder / "in.pgm";
  const std::string out = folder / "o.png";
  const std::vector<std::string> halftone = {"halftone", in, "-o", out};
  const std::vector<std::string> cnn = {"cnn", in, "-o", out, "--template", "edge"};
  expect_error({"halftone"}, {"FRAMES"});
  expect_error({"halftone", folder / "absent.pgm", "-o", out}, {"absent.pgm", "no such file"});
  expect_error({"halftone", "test:0x0", "-o", out}, {"0x0"});
  expect_error({"halftone", folder / "%d.pgm", "-o", out}, {"%d.pgm", "no file"});
  expect_error({"halftone", in, "-o", folder / "o.bmp"}, {"o.bmp", ".png", ".pgm"});
  expect_error({"halftone", in, "-o", folder / "o%s.png"}, {"o%s.png", "%0Nd"});
  expect_error({"halftone", in, "-o", "/nonexistent-folder/o.png"}, {"/nonexistent-folder/o.png"});
  expect_error({"halftone", "test:32x32,frames=3", "-o", out}, {"o.png", "one file", "%03d"});
  EXPECT_TRUE(files_in(folder / "", "o").empty()) << "something was written before the error";
  expect_error({"halftone", "/dev/video99", "-o", out}, {"/dev/video99"});
  expect_error(plus(halftone, {"--preset", "best"}), {"best", "quality", "fast"});
  expect_error(plus(halftone, {"--levels", "3"}), {"--levels has no meaning here", "presets"});
  expect_error(plus(halftone, {"--template", "hlf5", "--levels", "1"}),
               {"--levels is 1", "2 to 256"});
  expect_error(plus(halftone, {"--template", "hlf5", "--levels", "257"}),
               {"--levels is 257", "0 to 256"});
  expect_error(plus(halftone, {"--max-sweeps", "-1"}), {"--max-sweeps is -1", "1 to 1000000"});
  expect_error(plus(halftone, {"--template", "hlf9"}), {"--template", "hlf9", "hlf5"});
  expect_error(plus(halftone, {"--template", "erosion ||edge"}), {"--template"});
  expect_error(plus(halftone, {"--template", folder / "absent.ocellus"}), {"absent.ocellus"});
  expect_error(plus(halftone, {"--start", "zero"}), {"zero", "blue-noise"});
  expect_error(plus(halftone, {"--seed", "-1"}), {"--seed"});
  expect_error(plus(halftone, {"--polarity", "gray"}), {"gray", "black", "white"});
  expect_error(plus(halftone, {"--chroma", "blue"}), {"blue", "neutral", "keep"});
  expect_error(plus(cnn, {"--binarize", "100", "--chroma", "keep"}),
               {"--binarize", "no color", "--chroma keep"});
  expect_error(plus(cnn, {"--boundary", "mirror"}), {"--boundary", "mirror", "zero-flux"});
  expect_error(plus(cnn, {"--boundary", "nan"}), {"--boundary", "nan"});
  expect_error(plus(cnn, {"--boundary", "1.5"}), {"--boundary", "1.5", "-1 to 1"});
  expect_error(plus(cnn, {"--update", "all"}), {"all", "synchronous"});
  expect_error(plus(cnn, {"--color-spacing", "1"}), {"--color-spacing is 1"});
  expect_error(plus(cnn, {"--color-spacing", "10"}), {"--color-spacing is 10"});
  expect_error(plus(cnn, {"--binarize", "256"}), {"--binarize", "256"});
  expect_error(plus(cnn, {"--binarize", "nan"}), {"--binarize", "nan"});
  expect_error(plus(cnn, {"--initial", folder / "small.pgm"}), {"small.pgm", "16x16", "32x24"});
  expect_error(plus(cnn, {"--initial", folder / "absent.pgm"}), {"absent.pgm"});
  expect_error(plus(halftone, {"--backend", "cuda:1000"}), {"cuda:1000"});
  expect_error({"cnn", in, "-o", out, "--template", "hole", "--warm-start"},
               {"--warm-start is true", "starts with a constant", "halftone"});
  expect_error({"cnn", in, "-o", out, "--template", "smkiller", "--warm-start"},
               {"--warm-start is true", "no weights in B", "halftone"});
  // Options that would have no effect.
  expect_error(plus(halftone, {"--fps", "25"}), {"--fps has no meaning here: "});
  expect_error(plus(halftone, {"--preset", "fast", "--template", "hlf5"}),
               {"--preset has no meaning here: "});
  expect_error(plus(halftone, {"--seed", "3"}), {"--seed has no meaning here: "});
  expect_error(plus(cnn, {"--initial", in, "--start", "noise"}), {"--start has no meaning here: "});
  expect_error(plus(cnn, {"--update", "raster", "--color-spacing", "2"}),
               {"--color-spacing has no meaning here: "});
  expect_error(plus(halftone, {"--template", ""}), {"--template is empty"});
  EXPECT_TRUE(files_in(folder / "", "o").empty());
}

// Example failure: a failed write replaces a good file by half a file.
TEST(Cells, AFailedWriteKeepsTheOldFile) {
  const TemporaryFolder folder;
  const std::string out = folder / "o.png";
  std::ofstream(out) << "what stood there";
  // Noise does not compress, so the result is well above the limit.
  const std::vector<std::string> command = {
      "halftone", "test:256x256,frames=1", "--template", "hlf3", "--start", "noise", "-o", out};
  const ChildResult failed = RunningProgram(command, 1000).wait();
  EXPECT_EQ(failed.exit_code, 2) << failed.out;
  EXPECT_NE(failed.err.find("o.png: cannot be written"), std::string::npos) << failed.err;
  EXPECT_EQ(bytes_of(out), "what stood there");
  EXPECT_EQ(files_in(folder / ""), (std::vector<std::string>{"o.png"}));
  EXPECT_EQ(run_program(command).exit_code, 0);
  EXPECT_EQ(read_image(out).size, (ImageSize{256, 256}));
}

// Example failure: the program waits forever for an encoder that stopped because the disk is full.
TEST(Cells, FailsWhenAVideoDoesNotFitOnTheDisk) {
  if (!has_gstreamer()) GTEST_SKIP() << "built without GStreamer";
  const TemporaryFolder folder;
  // More frames than the encoder's queue holds.
  RunningProgram program(
      {"halftone", "test:640x480,frames=100", "--preset", "fast", "-o", folder / "o.webm"}, 20'000);
  const ChildResult failed = program.wait();
  EXPECT_EQ(failed.exit_code, 2) << failed.out;
  if (failed.err.find("is missing; it is in") != std::string::npos) GTEST_SKIP() << failed.err;
  EXPECT_NE(failed.err.find("o.webm: cannot be written"), std::string::npos) << failed.err;
  EXPECT_EQ(files_in(folder / ""), (std::vector<std::string>{}));
}

// Example failure: Ctrl-C leaves half a frame, or loses the report of the finished frames.
TEST(Cells, FinishesFilesAndReportWhenInterrupted) {
  const TemporaryFolder folder;
  RunningProgram program(
      {"halftone", "test:320x240,frames=1000", "-o", folder / "o_%05d.png", "--json"});
  ASSERT_TRUE(wait_until([&] { return files_in(folder / "", "o_").size() > 3; }));
  program.send(SIGINT);
  const ChildResult result = program.wait();
  EXPECT_EQ(result.exit_code, 128 + SIGINT) << result.err;
  EXPECT_NE(result.err.find("interrupted after"), std::string::npos) << result.err;
  const json report = json::parse(result.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << result.out;
  const std::vector<std::string> files = files_in(folder / "", "o_");
  EXPECT_EQ(report["frames"].size(), files.size());
  for (const std::string& file : files)
    EXPECT_EQ(read_image(folder / file).size, (ImageSize{320, 240})) << file;
}

// Example failure: latency supports flow only, or passes an option to an operator that lacks it.
TEST(Cells, RunInAPipelineOfLatency) {
  const json report =
      json_of({"latency", "--pipeline",
               "halftone preset=fast warm-start=true ! cnn template=erosion|edge ! flow", "--size",
               "64x48", "--fps", "500", "--budget-ms", "10000", "--frames", "5", "--warm-up", "2",
               "--levels", "2", "--method", "pyramid"});
  EXPECT_EQ(report["pipeline"], (json{"halftone", "cnn", "flow"}));
  ASSERT_EQ(report["operators"].size(), 3u);
  EXPECT_EQ(report["configs"][0]["operator"], "halftone");
  EXPECT_EQ(report["configs"][0]["preset"], "fast");
  EXPECT_EQ(report["configs"][0]["warm_start"], true);
  EXPECT_EQ(report["configs"][1]["template"], "erosion|edge");
  EXPECT_EQ(report["configs"][2]["levels"], 2);
  expect_error({"latency", "--pipeline", "halftone", "--taps", "5x5x5"},
               {"--taps has no meaning here: ", "flow"});
  expect_error({"latency", "--pipeline", "halftone preset=best"}, {"halftone preset=best", "fast"});
  expect_error({"latency", "--pipeline", "cnn template=edg"}, {"cnn template=edg", "edge"});
  expect_error({"latency", "--pipeline", "halftone warm-start"},
               {"'warm-start' in 'halftone warm-start'", "write warm-start=true"});
  for (const char* chain : {"erosion | edge", "erosion| edge", "erosion |edge"})
    expect_error({"latency", "--pipeline", std::string("cnn template=") + chain},
                 {"blanks are not allowed", "template=erosion|edge"});
  expect_error({"latency", "--pipeline", "halftone ! numbers"},
               {"numbers", "flow, filter, halftone, cnn"});
}

}  // namespace
}  // namespace ocellus::test
