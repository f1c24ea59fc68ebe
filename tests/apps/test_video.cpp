// The range of luma from a video through the operators into a video.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <set>
#include <thread>

#include "apps/common/input_error.h"
#include "apps/io/frames.h"
#include "apps/io/image_io.h"
#include "apps/io/video.h"
#include "ocellus/luma.h"
#include "program_checks.h"
#include "raw_video.h"
#include "support/files.h"

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

/// Makes a file by a pipeline in the notation of gst-launch. Returns false without its elements.
bool make_file(const std::string& pipeline, const std::string& path) {
  gst_init(nullptr, nullptr);
  GError* error = nullptr;
  GstElement* const made = gst_parse_launch((pipeline + " ! filesink name=sink").c_str(), &error);
  if (made == nullptr || error != nullptr) {
    g_clear_error(&error);
    if (made != nullptr) gst_object_unref(made);
    return false;
  }
  GstElement* const sink = gst_bin_get_by_name(GST_BIN(made), "sink");
  g_object_set(sink, "location", path.c_str(), nullptr);
  gst_object_unref(sink);
  gst_element_set_state(made, GST_STATE_PLAYING);
  GstBus* const bus = gst_element_get_bus(made);
  GstMessage* const message = gst_bus_timed_pop_filtered(
      bus, 30 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  const bool good = message != nullptr && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  EXPECT_TRUE(good) << pipeline;
  if (message != nullptr) gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(made, GST_STATE_NULL);
  gst_object_unref(made);
  return good;
}

std::vector<std::int64_t> times_of(const std::string& video) {
  std::vector<std::int64_t> times;
  const auto source = app::open_frames({video});
  InputFrame frame;
  while (source->next(frame)) times.push_back(frame.timestamp_ns);
  return times;
}

/// Example failure: a video whose frames come at irregular times plays too fast or too slowly.
TEST(VideoTimes, AreThoseOfTheSource) {
  const TemporaryFolder folder;
  const std::vector<int> ms = {0, 40, 70, 400, 440, 1000};
  {
    RawVideo raw(folder / "in.mkv");
    for (const int at : ms)
      raw.add(
          kLimited, [](int x, int) { return is_black(x) ? 16 : 235; }, at);
  }
  const std::vector<std::vector<std::string>> commands = {{"halftone", folder / "in.mkv"},
                                                          {"flow", folder / "in.mkv"}};
  for (const auto& command : commands) {
    const std::string out = folder / (command.front() + ".webm");
    const ChildResult written = run_program(plus(command, {"-o", out}));
    if (written.exit_code == 2 && written.err.find("is missing; it is in") != std::string::npos)
      GTEST_SKIP() << written.err;
    ASSERT_EQ(written.exit_code, 0) << written.err;
    const std::vector<std::int64_t> times = times_of(out);
    // The last frame has no flow to a next one.
    ASSERT_EQ(times.size(), command.front() == "flow" ? ms.size() - 1 : ms.size());
    for (std::size_t i = 0; i < times.size(); ++i)
      EXPECT_NEAR(static_cast<double>(times[i]) * 1e-6, ms[i], 1.5) << command.front() << i;
  }
  // A rate that the user gives has precedence.
  ASSERT_EQ(run_program({"halftone", folder / "in.mkv", "--fps", "10", "-o", folder / "r.webm"})
                .exit_code,
            0);
  const std::vector<std::int64_t> regular = times_of(folder / "r.webm");
  ASSERT_EQ(regular.size(), ms.size());
  for (std::size_t i = 0; i < regular.size(); ++i)
    EXPECT_NEAR(static_cast<double>(regular[i]) * 1e-6, 100.0 * static_cast<double>(i), 1.5);
}

/// Example failure: the video of a turned phone is computed as it lies in the file.
TEST(VideoOrientation, IsApplied) {
  const TemporaryFolder folder;
  const std::string video = folder / "turned.mov";
  // The upper third is white. Turned clockwise, it is on the right.
  if (!make_file("videotestsrc num-buffers=2 pattern=white ! "
                 "video/x-raw,format=I420,width=64,height=16,framerate=10/1 ! "
                 "videobox bottom=-32 fill=black ! jpegenc quality=95 ! qtmux",
                 video))
    GTEST_SKIP() << "GStreamer has no encoder for the video";
  // The matrix of the track says how to turn its frames. The muxer writes none.
  std::string bytes = bytes_of(video);
  const std::size_t matrix = bytes.find("tkhd") + 44;
  ASSERT_LT(matrix + 36, bytes.size());
  const auto set = [&](std::size_t entry, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i)
      bytes[matrix + 4 * entry + i] = static_cast<char>(value >> (24 - 8 * i) & 0xff);
  };
  set(0, 0);
  set(1, 0x00010000);
  set(3, 0xffff0000);
  set(4, 0);
  set(6, 48u << 16);
  std::ofstream(video, std::ios::binary) << bytes;
  const auto source = app::open_frames({video});
  InputFrame frame;
  ASSERT_TRUE(source->next(frame));
  ASSERT_EQ(frame.image.size, (ImageSize{48, 64}));
  for (const int y : {5, 32, 58}) {
    EXPECT_GT(frame.image.brightness(43, y), 200) << y;
    EXPECT_LT(frame.image.brightness(5, y), 50) << y;
  }
  ASSERT_TRUE(source->next(frame));
  EXPECT_FALSE(source->next(frame));
}

/// Example failure: pixels that are not square are ignored without a word, or square ones are told.
TEST(VideoPixels, ThatAreNotSquareAreTold) {
  const TemporaryFolder folder;
  for (const int width : {1, 2}) {
    const std::string video = folder / ("p" + std::to_string(width) + ".mkv");
    {
      RawVideo raw(video);
      for (int i = 0; i < 2; ++i)
        raw.add(
            kLimited, [](int x, int) { return x + 40; }, -1, width);
    }
    const ChildResult result = run_program({"halftone", video});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, width == 1 ? ""
                                     : "ocellus: " + video +
                                           ": its pixels are 2 to 1, which is ignored: they count "
                                           "as square\n");
  }
}

/// Example failure: the two fields of an interlaced frame are taken for one moment. Or progressive
/// video is refused for the mode in its caps.
TEST(VideoFields, InterlacedFramesAreRefused) {
  const auto error_of = [](const std::function<std::unique_ptr<app::FrameSource>()>& open) {
    try {
      const auto source = open();
      for (InputFrame frame; source->next(frame);) {
      }
    } catch (const app::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const auto& [interlacing, refused] :
       {std::pair{"progressive", false}, std::pair{"mixed", false},
        std::pair{"interleaved", true}}) {
    const std::string error = error_of([mode = interlacing] {
      return app::open_pipeline(
          std::string("videotestsrc num-buffers=3 ! video/x-raw,interlace-mode=") + mode, {});
    });
    EXPECT_EQ(error.find("frame 0 is interlaced") != std::string::npos, refused) << error;
    EXPECT_EQ(error.empty(), !refused) << interlacing << ": " << error;
  }
  const TemporaryFolder folder;
  const std::string video = folder / "v.mp4";
  if (!make_file("videotestsrc num-buffers=6 ! "
                 "video/x-raw,format=I420,width=64,height=48,interlace-mode=interleaved ! "
                 "avenc_mpeg4 flags=ildct+ilme ! mp4mux",
                 video))
    GTEST_SKIP() << "GStreamer has no avenc_mpeg4";
  const ChildResult result = run_program({"flow", video});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find(video + ": frame 0 is interlaced"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("yadif"), std::string::npos) << result.err;
}

/// Example failure: frames that are lost at the end of a truncated file are not missed. Or a whole
/// file counts as truncated.
TEST(VideoEnd, MissingFramesAreTold) {
  const TemporaryFolder folder;
  const std::string source =
      "videotestsrc num-buffers=6 ! video/x-raw,format=I420,width=64,height=48,framerate=6/1 ! ";
  const std::pair<const char*, const char*> kinds[] = {{"v.avi", "jpegenc ! avimux"},
                                                       {"v.mkv", "jpegenc ! matroskamux"}};
  for (const auto& [name, muxer] : kinds) {
    const std::string video = folder / name;
    if (!make_file(source + muxer, video)) GTEST_SKIP() << "GStreamer has no encoder for " << name;
    const ChildResult whole = run_program({"halftone", video});
    EXPECT_EQ(whole.exit_code, 0) << whole.err;
    EXPECT_EQ(whole.err, "") << name;
    std::filesystem::resize_file(video, std::filesystem::file_size(video) * 83 / 100);
    const ChildResult cut = run_program({"halftone", video});
    EXPECT_EQ(cut.exit_code, 0) << cut.err;
    const int read = json::parse(run_program({"halftone", video, "--json"}).out)["frames_read"];
    EXPECT_TRUE(read == 4 || read == 5) << name << read;
    EXPECT_NE(cut.err.find(std::string(name) + ": " + std::to_string(read) +
                           " frames were read, but the file states"),
              std::string::npos)
        << name << cut.err;
    EXPECT_NE(cut.err.find("about " + std::to_string(6 - read) + " more"), std::string::npos)
        << name << cut.err;
    // A user who wants fewer frames is not warned.
    EXPECT_EQ(run_program({"halftone", video, "--limit", "3"}).err, "");
  }
}

/// Example failure: a format's luma is read from the wrong bytes, or with other weights.
TEST(VideoFormats, LumaIsThatOfGStreamer) {
  for (const std::string format : {"GRAY8", "I420", "NV12", "YUY2", "UYVY", "Y444", "BGR", "RGB",
                                   "BGRx", "RGBx", "Y42B", "AYUV"}) {
    const bool rgb = format.find('R') != std::string::npos && format.find('B') < 3;
    const std::string meaning = rgb || format == "GRAY8" ? "" : ",colorimetry=bt601";
    const std::string pictures =
        "videotestsrc num-buffers=2 pattern=smpte ! video/x-raw,width=67,"
        "height=45,format=" +
        format + meaning;
    const auto source = app::open_pipeline(pictures, {});
    const auto converted = app::open_pipeline(
        pictures + " ! videoconvert dither=none ! video/x-raw,format=GRAY8" + meaning, {});
    InputFrame ours, theirs;
    for (int n = 0; n < 2; ++n) {
      ASSERT_TRUE(source->next(ours)) << format;
      ASSERT_TRUE(converted->next(theirs)) << format;
      ASSERT_EQ(ours.image.pixels.size(), theirs.image.pixels.size()) << format;
      int most = 0;
      for (std::size_t i = 0; i < ours.image.pixels.size(); ++i)
        most = std::max(most, std::abs(ours.image.pixels[i] - theirs.image.pixels[i]));
      EXPECT_LE(most, 1) << format;
    }
  }
}

/// Example failure: luma of more than 8 bits loses its lower bits, is read from the wrong ones, or
/// has the range of another number of bits; the chroma of a row below is taken.
TEST(VideoFormats, MoreThan8BitsAreReadAs16) {
  struct Case {
    const char* format;
    unsigned bits;
    unsigned shift;     // of a sample in its word
    int columns, rows;  // of luma for one sample of chroma; 0: no chroma
  };
  const TemporaryFolder folder;
  for (const Case& c : {Case{"i420-10le", 10, 0, 2, 2}, Case{"i422-10le", 10, 0, 2, 1},
                        Case{"y444-10le", 10, 0, 1, 1}, Case{"p010-10le", 10, 6, 2, 2},
                        Case{"i420-12le", 12, 0, 2, 2}, Case{"i422-12le", 12, 0, 2, 1},
                        Case{"y444-12le", 12, 0, 1, 1}, Case{"y444-16le", 16, 0, 1, 1},
                        Case{"gray16-le", 16, 0, 0, 0}}) {
    SCOPED_TRACE(c.format);
    constexpr int kWidth = 16, kHeight = 8;
    const unsigned last = (1U << c.bits) - 1;
    const auto luma_at = [&](int x, int y) {
      return static_cast<unsigned>(x + kWidth * y) * last / (kWidth * kHeight - 1);
    };
    std::string bytes;
    const auto add = [&](unsigned value) {
      const unsigned word = value << c.shift;
      bytes += static_cast<char>(word & 255U);
      bytes += static_cast<char>(word >> 8U);
    };
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) add(luma_at(x, y));
    // U grows with the row of pairs of rows, V with the column.
    const auto u_at = [&](int y) {
      return static_cast<unsigned>(32 + 16 * (y / 2)) << (c.bits - 8);
    };
    const auto v_at = [&](int x) {
      return static_cast<unsigned>(16 + 16 * (x / 2)) << (c.bits - 8);
    };
    if (c.columns > 0) {
      const bool pairs = std::string(c.format).starts_with("p01");
      for (int plane = 0; plane < (pairs ? 1 : 2); ++plane) {
        for (int y = 0; y < kHeight; y += c.rows) {
          for (int x = 0; x < kWidth; x += c.columns) {
            if (pairs || plane == 0) add(u_at(y));
            if (pairs || plane == 1) add(v_at(x));
          }
        }
      }
    }
    std::ofstream(folder / "frame", std::ios::binary) << bytes;
    const std::string range = c.columns > 0 ? " colorimetry=bt601" : "";
    app::SourceOptions options;
    options.color = true;
    const auto source = app::open_pipeline("filesrc location=" + (folder / "frame") +
                                               " ! rawvideoparse framerate=1/1 width=16 height=8" +
                                               range + " format=" + c.format,
                                           options);
    InputFrame frame;
    ASSERT_TRUE(source->next(frame));
    ASSERT_EQ(frame.image.format, PixelFormat::kGray16);
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        std::uint16_t got = 0;
        std::memcpy(&got, frame.image.pixels.data() + 2 * (x + kWidth * y), sizeof(got));
        ASSERT_EQ(got, luma_at(x, y) << (16 - c.bits)) << x << ", " << y;
      }
    }
    if (c.columns == 0) continue;
    // Black and white of limited range are those of 8 bits, with zeros below.
    EXPECT_NEAR(frame.range.black * 257.0f, 16 * 256, 0.5f);
    EXPECT_NEAR(frame.range.white * 257.0f, 235 * 256, 0.5f);
    ASSERT_EQ(frame.chroma_u.size(), 32u);
    ASSERT_EQ(frame.chroma_v.size(), 32u);
    for (int y = 0; y < kHeight / 2; ++y) {
      for (int x = 0; x < kWidth / 2; ++x) {
        const auto at = static_cast<std::size_t>(x + kWidth / 2 * y);
        ASSERT_EQ(frame.chroma_u[at], 32 + 16 * y) << x << ", " << y;
        ASSERT_EQ(frame.chroma_v[at], 16 + 16 * x) << x << ", " << y;
      }
    }
  }
}

/// Example failure: a video of 10 bits is written darker, brighter or with other colors than the
/// same one of 8 bits.
TEST(VideoFormats, PicturesOf10BitsAreThoseOf8) {
  const TemporaryFolder folder;
  std::vector<std::string> written;
  for (const char* format : {"I420", "I420_10LE", "I420_12LE"}) {
    const std::string video = folder / (std::string(format) + ".mkv");
    if (!make_file(std::string("videotestsrc num-buffers=1 pattern=smpte ! "
                               "video/x-raw,width=64,height=48,format=I420,colorimetry=bt601 ! "
                               "videoconvert ! video/x-raw,colorimetry=bt601,format=") +
                       format + " ! avenc_ffv1 ! matroskamux",
                   video))
      GTEST_SKIP() << "avenc_ffv1 is not installed";
    const std::string out = folder / (std::string(format) + ".y4m");
    const ChildResult result = run_program({"restore", video, "-o", out});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    written.push_back(bytes_of(out));
  }
  for (const std::string& wide : {written[1], written[2]}) {
    ASSERT_EQ(wide.size(), written[0].size());
    int most = 0;
    for (std::size_t i = 0; i < wide.size(); ++i)
      most = std::max(most, std::abs(static_cast<unsigned char>(wide[i]) -
                                     static_cast<unsigned char>(written[0][i])));
    EXPECT_LE(most, 2);
  }
}

/// Example failure: a video gives another luma than a frame of the library.
TEST(VideoFormats, LumaOfEveryColorIsThatOfFrames) {
  const TemporaryFolder folder;
  constexpr std::uint32_t kPixels = 1 << 24;
  std::string rgb(std::size_t{3} * kPixels, '\0');
  for (std::uint32_t i = 0; i < kPixels; ++i) {
    rgb[3 * i] = static_cast<char>(i);
    rgb[3 * i + 1] = static_cast<char>(i >> 8);
    rgb[3 * i + 2] = static_cast<char>(i >> 16);
  }
  std::ofstream(folder / "colors", std::ios::binary) << rgb;
  const auto source =
      app::open_pipeline("filesrc location=" + (folder / "colors") +
                             " ! rawvideoparse width=4096 height=4096 framerate=1/1 format=rgb",
                         {});
  InputFrame frame;
  ASSERT_TRUE(source->next(frame));
  ASSERT_EQ(frame.image.pixels.size(), kPixels);
  for (std::uint32_t i = 0; i < kPixels; ++i)
    ASSERT_EQ(frame.image.pixels[i], luma_of_rgb(i & 255, i >> 8 & 255, i >> 16)) << i;
}

/// Example failure: the frames of a live source wait in a queue, so that the next one is old after
/// a stall, or a frame that was dropped is not counted; frames of a file are dropped.
TEST(VideoLive, TheNewestFrameIsRead) {
  const std::string frames = " ! video/x-raw,format=GRAY8,width=64,height=48,framerate=100/1";
  const auto read_with_a_stall = [](app::FrameSource& source) {
    InputFrame frame;
    std::vector<std::int64_t> times;
    for (int f = 0; f < 12; ++f) {
      if (f == 6) std::this_thread::sleep_for(std::chrono::milliseconds(500));
      EXPECT_TRUE(source.next(frame));
      EXPECT_EQ(frame.number, f);
      times.push_back(frame.timestamp_ns);
    }
    return times;
  };
  const auto live = app::open_pipeline("videotestsrc is-live=true" + frames, {});
  const std::vector<std::int64_t> times = read_with_a_stall(*live);
  EXPECT_TRUE(live->live());
  // The newest frame of the stall is at most two periods old when it is read.
  EXPECT_GE(times[6] - times[5], 450'000'000);
  const std::int64_t dropped = live->dropped();
  EXPECT_GE(dropped, 40);
  // Each frame that came has been read or dropped. The source's clock may start within a period.
  EXPECT_NEAR(static_cast<double>(times.back()), static_cast<double>((dropped + 11) * 10'000'000),
              1e7);

  const auto file = app::open_pipeline("videotestsrc num-buffers=12" + frames, {});
  const std::vector<std::int64_t> all = read_with_a_stall(*file);
  EXPECT_FALSE(file->live());
  EXPECT_EQ(file->dropped(), 0);
  for (std::size_t f = 0; f < all.size(); ++f)
    EXPECT_EQ(all[f], static_cast<std::int64_t>(f) * 10'000'000);
  InputFrame frame;
  EXPECT_FALSE(file->next(frame));
}

/// Example failure: a file of sound gives an error that does not say so.
TEST(VideoStreams, SoundAloneIsTold) {
  const TemporaryFolder folder;
  if (!make_file("audiotestsrc num-buffers=5 ! wavenc", folder / "s.wav"))
    GTEST_SKIP() << "GStreamer has no wavenc";
  expect_error({"halftone", folder / "s.wav"}, {"s.wav: contains sound, but no video"});
}

}  // namespace
}  // namespace ocellus::test
