// Frames through pipes: Y4M and PNM on standard input and output, and .y4m files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "apps/common/input_error.h"
#include "apps/io/frame_stream.h"
#include "child_process.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

using app::InputFrame;

void put_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string bytes_by(std::size_t count, const std::function<int(std::size_t)>& value) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(value(i));
  return bytes;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const app::InputError& error) {
    return error.what();
  }
  return "";
}

app::SourceOptions with_color() {
  app::SourceOptions options;
  options.color = true;
  return options;
}

/// Runs the program in a shell, such as "$PROGRAM ... < in > out". Returns its exit code.
int run_shell(const std::string& line) {
  const int status =
      std::system(("PROGRAM='" + program_path() + "'; " + line).c_str());  // NOLINT(cert-env33-c)
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Example failure: rows or chroma of odd sizes are read with the wrong width, or the times do not
// follow the rate.
TEST(Y4m, ReadsEveryFormat) {
  struct Case {
    const char* tag;
    int across, down;  // pixels of luma for one of chroma; 0: none
  };
  constexpr int kWidth = 5, kHeight = 3;
  const TemporaryFolder folder;
  for (const Case& c : {Case{"", 2, 2}, Case{" C420jpeg", 2, 2}, Case{" C420mpeg2", 2, 2},
                        Case{" C422", 2, 1}, Case{" C444", 1, 1}, Case{" Cmono", 0, 0}}) {
    const int columns = c.across > 0 ? (kWidth + c.across - 1) / c.across : 0;
    const int rows = c.across > 0 ? (kHeight + c.down - 1) / c.down : 0;
    const auto chroma = static_cast<std::size_t>(columns * rows);
    std::string stream = std::string("YUV4MPEG2 W5 H3 F30000:1001 Ip A1:1") + c.tag + " XYSCSS=X\n";
    for (int frame = 0; frame < 2; ++frame) {
      stream += frame == 0 ? "FRAME\n" : "FRAME Ip\n";
      stream += bytes_by(kWidth * kHeight, [&](std::size_t i) { return 100 * frame + i; });
      // Each sample of chroma is that of its column, so that means are known.
      stream += bytes_by(chroma, [&](std::size_t i) { return 10 * (i % columns); });
      stream += bytes_by(chroma, [&](std::size_t i) { return 200 + i % columns; });
    }
    put_file(folder / "a.y4m", stream);
    const auto source = app::open_frames({folder / "a.y4m"}, with_color());
    EXPECT_NEAR(source->fps(), 29.97003, 1e-5);
    InputFrame frame;
    for (int n = 0; n < 2; ++n) {
      ASSERT_TRUE(source->next(frame)) << c.tag;
      EXPECT_EQ(frame.image.size, (ImageSize{kWidth, kHeight}));
      EXPECT_EQ(frame.number, n);
      EXPECT_TRUE(frame.timed);
      EXPECT_EQ(frame.timestamp_ns, n == 0 ? 0 : 33366667);
      EXPECT_EQ(frame.range, (GrayRange{16.0f, 235.0f}));
      for (std::size_t i = 0; i < kWidth * kHeight; ++i)
        EXPECT_EQ(frame.image.pixels[i], 100 * n + static_cast<int>(i)) << c.tag;
      if (c.across == 0) {
        EXPECT_TRUE(frame.chroma_u.empty());
        continue;
      }
      ASSERT_EQ(frame.chroma_u.size(), 6u) << c.tag;
      ASSERT_EQ(frame.chroma_v.size(), 6u) << c.tag;
      for (std::size_t i = 0; i < 6; ++i) {
        // C444: the mean of columns 2k and 2k + 1, of which the last has no neighbor.
        const int column = static_cast<int>(i % 3);
        const int expected = c.across == 2 ? 10 * column : column == 2 ? 40 : 20 * column + 5;
        EXPECT_EQ(frame.chroma_u[i], expected) << c.tag << " " << i;
      }
    }
    EXPECT_FALSE(source->next(frame));
  }
}

// Example failure: full range is taken for limited range, so that a halftone of it is too dark.
TEST(Y4m, RangeIsThatOfTheHeader) {
  const TemporaryFolder folder;
  put_file(folder / "a.y4m",
           "YUV4MPEG2 W1 H1 F0:0 Cmono XCOLORRANGE=FULL\nFRAME\n" + std::string(1, 'x'));
  const auto source = app::open_frames({folder / "a.y4m"});
  EXPECT_EQ(source->fps(), 25.0);
  InputFrame frame;
  ASSERT_TRUE(source->next(frame));
  EXPECT_EQ(frame.range, GrayRange{});
}

// Example failure: a damaged header makes a huge image, an endless loop, or an error without the
// name of the stream.
TEST(Y4m, DamageGivesAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.y4m";
  const auto error_of = [&](const std::string& bytes) {
    put_file(path, bytes);
    return message_of([&] {
      const auto source = app::open_frames({path});
      InputFrame frame;
      while (source->next(frame)) {
      }
    });
  };
  const std::pair<std::string, std::string> cases[] = {
      {"YUV4MPEG2 W0 H3\nFRAME\n", "the image is 0x3"},
      {"YUV4MPEG2 H3\nFRAME\n", "the image is 0x3"},
      {"YUV4MPEG2 W99999 H3\nFRAME\n", "the image is 99999x3"},
      {"YUV4MPEG2 W-4 H3\nFRAME\n", "the image is 0x3"},
      {"YUV4MPEG2 Wx H3\nFRAME\n", "\"Wx\" is not a number of pixels"},
      {"YUV4MPEG2 W4 H3 Fx\nFRAME\n", "\"Fx\" is not a frame rate"},
      {"YUV4MPEG2 W4 H3 C420p10\nFRAME\n", "C420p10"},
      {"YUV4MPEG2 W4 H3 Ix\nFRAME\n", "\"Ix\" is not one of Ip"},
      {"YUV4MPEG2 W4 H3", "truncated: it ends in the header"},
      {"YUV4MPEG2 " + std::string(5000, 'X') + "\n", "a header has more than 4096 bytes"},
      {"YUV4MPEG2 W4 H3\nframe\n", "frame 0 does not begin with FRAME"},
      {"YUV4MPEG2 W4 H3\nFRAMES\n", "frame 0 does not begin with FRAME"},
      {"YUV4MPEG2 W4 H3\nFRAME\nabc", "truncated: frame 0 is 9 bytes short"},
      {"YUV4MPEG2 W16384 H16384\nFRAME\nabc", "truncated: frame 0 is 268435453 bytes short"},
      {"YUV4MPEG2 W4 H3\n", "contains no frame"},
  };
  for (const auto& [bytes, expected] : cases) {
    const std::string error = error_of(bytes);
    EXPECT_NE(error.find(expected), std::string::npos) << error << "\n of " << bytes.substr(0, 60);
    EXPECT_NE(error.find("a.y4m"), std::string::npos) << error;
  }
  // Every truncation of two frames is an error, or ends after one of them.
  const std::string whole = "YUV4MPEG2 W2 H2\nFRAME\nabcdefFRAME\nghijkl";
  for (std::size_t length = 10; length < whole.size(); ++length) {
    const bool at_a_frame = length == 16 + 12;
    EXPECT_EQ(error_of(whole.substr(0, length)).empty(), at_a_frame) << length;
  }
}

// Example failure: the two fields of an interlaced frame are taken for one moment. Or progressive
// frames of a video that is marked as mixed are refused.
TEST(Y4m, InterlacedFramesAreRefused) {
  struct Case {
    const char* video;   // tag in the header
    const char* frames;  // tag of the second frame
    int accepted;        // frames of three
  };
  const TemporaryFolder folder;
  for (const Case& c :
       {Case{"", "", 3}, Case{" Ip", "", 3}, Case{" I?", "", 3}, Case{" It", "", 0},
        Case{" Ib", "", 0}, Case{" Im", "", 3}, Case{" Im", " Itpp", 3}, Case{" Im", " I1pp", 3},
        Case{" Im", " Itii", 1}, Case{" Im", " XA Ibi?", 1}}) {
    SCOPED_TRACE(std::string(c.video) + c.frames);
    std::string stream = std::string("YUV4MPEG2 W1 H1 Cmono") + c.video + "\n";
    for (int i = 0; i < 3; ++i) stream += std::string("FRAME") + (i == 1 ? c.frames : "") + "\nx";
    put_file(folder / "a.y4m", stream);
    int accepted = 0;
    const std::string error = message_of([&] {
      const auto source = app::open_frames({folder / "a.y4m"});
      for (InputFrame frame; source->next(frame);) ++accepted;
    });
    EXPECT_EQ(accepted, c.accepted);
    const std::string expected = "a.y4m: frame " + std::to_string(accepted) + " is interlaced";
    EXPECT_EQ(error.find(expected) != std::string::npos, accepted < 3) << error;
  }
}

// Example failure: the second image is read from the wrong byte, or colors are lost.
TEST(PnmStream, ReadsImagesOneAfterTheOther) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& bytes) {
    put_file(folder / "a.bin", bytes);
    std::vector<InputFrame> frames;
    const auto source = app::open_frame_stream(folder / "a.bin", with_color());
    EXPECT_EQ(source->fps(), 0.0);
    for (InputFrame frame; source->next(frame);) frames.push_back(frame);
    return frames;
  };
  const std::vector<InputFrame> frames = read(
      "P5\n2 1\n255\nab"
      "P2\n# text\n2 1\n255\n7 9\n"
      "P6 2 1 255 RGBrgb"
      "P4\n2 1\n\x80");
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[0].image.pixels, (std::vector<std::uint8_t>{'a', 'b'}));
  EXPECT_EQ(frames[1].image.pixels, (std::vector<std::uint8_t>{7, 9}));
  ASSERT_EQ(frames[2].color.size(), 3u);
  EXPECT_EQ(frames[2].color[1].pixels, (std::vector<std::uint8_t>{'G', 'g'}));
  EXPECT_TRUE(frames[3].color.empty());
  EXPECT_EQ(frames[3].image.pixels, (std::vector<std::uint8_t>{0, 255}));

  EXPECT_NE(message_of([&] { read("P5\n2 1\n255\nabP5\n3 1\n255\nabc"); }).find("same size"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read("P5\n2 1\n255\nabxyz"); }).find("image 1 does not begin"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read("P5\n9 9\n255\nab"); }).find("truncated: 9x9"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read("hello world"); }).find("neither as Y4M"), std::string::npos);
  EXPECT_NE(message_of([&] { read("P7\nWIDTH 1\nHEIGHT 1\n"); }).find("a PAM image"),
            std::string::npos);
}

// Example failure: the bytes on standard output are not those of a file, or a report is among them.
TEST(Streams, ImagesPassThroughPipes) {
  const TemporaryFolder folder;
  put_file(folder / "in.pgm", "P5\n40 30\n255\n" + bytes_by(1200, [](std::size_t i) {
                                return static_cast<int>(i * 7 % 256);
                              }));
  const std::string in = folder / "in.pgm";
  ASSERT_EQ(run_shell("$PROGRAM halftone " + in + " -o " + (folder / "o.pgm") + " > /dev/null"), 0);
  ASSERT_EQ(run_shell("cat " + in + " " + in + " | $PROGRAM halftone - -o - --json > " +
                      (folder / "o2.pgm") + " 2> " + (folder / "report.json")),
            0);
  const std::string one = bytes_of(folder / "o.pgm");
  EXPECT_GT(one.size(), 1200u);
  EXPECT_EQ(bytes_of(folder / "o2.pgm"), one + one);
  EXPECT_NE(bytes_of(folder / "report.json").find("\"frames_read\": 2"), std::string::npos);
}

// Example failure: the video on standard output differs from the file, lacks frames or loses the
// rate.
TEST(Streams, VideosPassThroughPipes) {
  const TemporaryFolder folder;
  std::string video = "YUV4MPEG2 W64 H48 F24:1 C420jpeg\n";
  for (int frame = 0; frame < 6; ++frame) {
    video += "FRAME\n" +
             bytes_by(64 * 48,
                      [&](std::size_t i) {
                        const std::size_t x = i % 64 + 2 * static_cast<std::size_t>(frame);
                        return static_cast<int>(60 + (x * x / 3 + i / 64 * 11) % 120);
                      }) +
             std::string(2 * 32 * 24, '\x80');
  }
  put_file(folder / "in.y4m", video);
  const std::string file = folder / "file.y4m", pipe = folder / "pipe.y4m";
  ASSERT_EQ(run_shell("$PROGRAM flow " + (folder / "in.y4m") + " -o " + file +
                      " --legend"
                      " > /dev/null"),
            0);
  ASSERT_EQ(run_shell("$PROGRAM flow - -o - --legend < " + (folder / "in.y4m") + " > " + pipe +
                      " 2> " + (folder / "report")),
            0);
  const std::string made = bytes_of(pipe);
  EXPECT_EQ(made, bytes_of(file));
  EXPECT_TRUE(made.starts_with("YUV4MPEG2 W64 H48 F24:1 ")) << made.substr(0, 60);
  const auto source = app::open_frames({pipe});
  InputFrame frame;
  int frames = 0;
  while (source->next(frame)) ++frames;
  EXPECT_EQ(frames, 5);
  EXPECT_NE(bytes_of(folder / "report").find("written: -"), std::string::npos)
      << bytes_of(folder / "report");
}

// Example failure: a pipe without data blocks the program for ever.
TEST(Streams, WaitIsLimited) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // Open for reading and writing: it has a writer, which gives no data.
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run_shell("timeout 60 $PROGRAM flow - --source-timeout 0.3 <> " + pipe + " 2> " +
                      (folder / "err")),
            2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  const std::string error = bytes_of(folder / "err");
  EXPECT_NE(error.find("standard input: no data came within 0.3 s"), std::string::npos) << error;
}

}  // namespace
}  // namespace ocellus::test
