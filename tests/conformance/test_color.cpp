// Frames with color: their luma, and what every operator makes of them on every backend.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "ocellus/luma.h"
#include "support/color_frame.h"
#include "support/operator_cases.h"
#include "support/simd.h"

namespace ocellus {
namespace {

using test::ColorFrame;
using test::FrameBuffer;
using test::kColors;
using test::name_of;
using test::OperatorCase;
using test::Results;

// ---- luma

// Fails when the luma of RGB is not that of BT.601, or when gray pixels do not keep their value.
TEST(Luma, IsThatOfBt601) {
  for (std::uint32_t v = 0; v < 256; ++v) EXPECT_EQ(luma_of_rgb(v, v, v), v);
  for (std::uint32_t r = 0; r < 256; r += 3) {
    for (std::uint32_t g = 0; g < 256; ++g) {
      for (std::uint32_t b = 0; b < 256; b += 5) {
        ASSERT_NEAR(luma_of_rgb(r, g, b), 0.299 * r + 0.587 * g + 0.114 * b, 0.52)
            << r << " " << g << " " << b;
      }
    }
  }
}

// Fails when a format's bytes are taken for those of another one, when a vector and the rest of a
// row give different values, or when pixels beside the row are read or written.
TEST(Luma, OfRowsOfEveryFormatAndWidth) {
  for (const PixelFormat format : kColors) {
    SCOPED_TRACE(name_of(format));
    for (int width = 1; width <= 140; ++width) {
      const ColorFrame color({width, 1}, format, static_cast<unsigned>(width));
      const FrameBuffer gray = color.gray();
      std::vector<std::uint8_t> luma(static_cast<std::size_t>(width) + 1, 0xA5);
      luma_of_row(color.row(0), format, luma.data(), width);
      for (int x = 0; x < width; ++x)
        ASSERT_EQ(luma[static_cast<std::size_t>(x)], gray.value(x, 0)) << x << " of " << width;
      EXPECT_EQ(luma.back(), 0xA5);
    }
  }
}

// Fails when a vector of an instruction set and the rest of a row give other bytes than the plain
// loop, when a byte beside the row is written, or when the row cannot be replaced in place. Widths
// of up to two vectors of 64 bytes and more; the luma of the pixels has all values.
TEST(Luma, ReplacedInEveryFormatAndWidthOnEachTarget) {
  for (const test::SimdTarget& target : test::simd_targets()) {
    const test::OnlyTargets only(target.bit);
    for (const PixelFormat format : kColors) {
      for (const PictureColor color : {PictureColor::kKept, PictureColor::kNeutral}) {
        SCOPED_TRACE(target.name + " " + name_of(format) +
                     (color == PictureColor::kKept ? "" : " neutral"));
        for (int width = 1; width <= 140; ++width) {
          const ColorFrame before({width, 1}, format, static_cast<unsigned>(width));
          std::vector<std::uint8_t> luma;
          for (int x = 0; x < width; ++x) luma.push_back(static_cast<std::uint8_t>(width + 37 * x));
          const std::vector<std::uint8_t> wanted =
              test::picture_row(before.row(0), format, luma.data(), color, width);
          ColorFrame after({width, 1}, format, 1);
          replace_luma_row(before.row(0), format, luma.data(), color, after.row(0), width);
          ASSERT_EQ(after.bytes(), wanted) << width;
          ColorFrame same({width, 1}, format, static_cast<unsigned>(width));
          replace_luma_row(same.row(0), format, luma.data(), color, same.row(0), width);
          ASSERT_EQ(same.bytes(), wanted) << width << " in place";
        }
      }
    }
  }
}

// Fails when a color and a luma give another picture than the plain loop, for some of the values
// where a sum passes 0 or 255.
TEST(Luma, ReplacedForEveryGrayLevel) {
  constexpr int kWidth = 4096;
  for (const PixelFormat format : kColors) {
    const ColorFrame before({kWidth, 1}, format, 5);
    for (int level = 0; level < 256; ++level) {
      const std::vector<std::uint8_t> luma(kWidth, static_cast<std::uint8_t>(level));
      ColorFrame after({kWidth, 1}, format, 1);
      replace_luma_row(before.row(0), format, luma.data(), PictureColor::kKept, after.row(0),
                       kWidth);
      ASSERT_EQ(after.bytes(),
                test::picture_row(before.row(0), format, luma.data(), PictureColor::kKept, kWidth))
          << name_of(format) << " " << level;
    }
  }
}

// ---- operators

using Parameters = std::tuple<OperatorCase, BackendChoice>;

std::string label(const testing::TestParamInfo<Parameters>& made) {
  return std::get<0>(made.param).name +
         (std::get<1>(made.param) == BackendChoice::kCuda ? "_cuda" : "_cpu");
}

/// Those whose result is a picture of the frame.
std::vector<OperatorCase> picture_cases() {
  std::vector<OperatorCase> some;
  for (const OperatorCase& made : test::operator_cases()) {
    const OperatorInfo info = test::must(made.with({16, 16}, 1, PixelFormat::kRgb).info());
    if (info.planes[0].follows_frame) some.push_back(made);
  }
  return some;
}

class Color : public testing::TestWithParam<Parameters> {
 protected:
  void SetUp() override { test::skip_without(backend()); }
  static const OperatorCase& what() { return std::get<0>(GetParam()); }
  static BackendChoice backend() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Backends, Color,
                         testing::Combine(testing::ValuesIn(test::operator_cases()),
                                          testing::ValuesIn(test::conformance_backends())),
                         label);

class ColorPictures : public Color {};
INSTANTIATE_TEST_SUITE_P(Backends, ColorPictures,
                         testing::Combine(testing::ValuesIn(picture_cases()),
                                          testing::ValuesIn(test::conformance_backends())),
                         label);

// Fails when an operator gives another result for a frame with color than for its luma, with one or
// more frames in flight, in odd sizes and with padded rows.
// Promises: RES-006.
TEST_P(Color, ResultIsThatOfTheLuma) {
  constexpr int kFrames = 3;
  for (const PixelFormat format : kColors) {
    const bool odd = format != PixelFormat::kUyvy && format != PixelFormat::kRgbx;
    for (const ImageSize size : {odd ? ImageSize{37, 23} : ImageSize{40, 24}}) {
      SCOPED_TRACE(name_of(format) + (" " + std::to_string(size.width)));
      std::vector<ColorFrame> colors;
      std::vector<FrameBuffer> grays;
      for (int f = 0; f < kFrames; ++f) {
        colors.emplace_back(size, format, static_cast<unsigned>(f + 1), f == 1 ? 4 : 5);
        grays.push_back(colors.back().gray());
      }
      const Results expected = test::run(what().with(size), grays, 2, 1, backend());
      const int depth = format == PixelFormat::kBgr ? 2 : 1;
      auto rig = test::make_rig(what().with(size, depth, format), 2, backend());
      EXPECT_EQ(rig.op.info().format, format);
      std::vector<std::unique_ptr<test::OutputBuffer>> outs;
      std::vector<Ticket> tickets;
      Results got;
      const auto land = [&] {
        const std::size_t f = got.planes.size();
        got.infos.push_back(test::must(rig.op.wait(tickets[f], Deadline::never())));
        EXPECT_TRUE(outs[f]->surroundings_untouched());
        got.records.push_back(outs[f]->record());
        std::vector<test::PlaneF> planes;
        for (int p = 0; p < outs[f]->plane_count(); ++p) planes.push_back(outs[f]->plane(p));
        got.planes.push_back(std::move(planes));
      };
      for (int f = 0; f < kFrames; ++f) {
        if (f - static_cast<int>(got.planes.size()) == depth) land();
        outs.push_back(std::make_unique<test::OutputBuffer>(rig.op.info()));
        tickets.push_back(test::must(
            rig.op.submit(colors[static_cast<std::size_t>(f)].frame(static_cast<std::uint64_t>(f)),
                          outs.back()->output())));
      }
      while (got.planes.size() < kFrames) land();
      EXPECT_TRUE(test::same_bytes(got, expected));
    }
  }
}

/// A picture in the memory of a ColorFrame.
ImageView picture_in(ColorFrame& memory) {
  ImageView view;
  view.data = memory.row(0);
  view.size = memory.size();
  view.stride = memory.stride();
  view.format = memory.format();
  return view;
}

/// Sends frames with color, `depth` at a time, and expects pictures of their format, with the luma
/// that the operator gives for gray frames. `in_place`: the pictures replace the frames.
void expect_pictures(const OperatorConfig& gray_config, OperatorConfig config, PixelFormat format,
                     int workers, int depth, bool in_place, BackendChoice backend) {
  constexpr int kFrames = 3;
  const ImageSize size = test::must(gray_config.info()).size;
  config.set_input(size, format);
  test::must(config.set_option("depth", std::to_string(depth)));
  std::vector<ColorFrame> frames;
  std::vector<ColorFrame> pictures;
  std::vector<FrameBuffer> grays;
  for (int f = 0; f < kFrames; ++f) {
    frames.emplace_back(size, format, static_cast<unsigned>(f + 1), f == 1 ? 4 : 5);
    pictures.emplace_back(size, format, 99U, f == 2 ? 8 : 3);
    grays.push_back(frames.back().gray());
  }
  const Results luma = test::run(gray_config, grays, workers, 1, backend);
  auto rig = test::make_rig(config, workers, backend);
  const PictureColor color = rig.op.info().planes[0].color;
  std::vector<std::vector<std::uint8_t>> expected;
  for (std::size_t f = 0; f < kFrames; ++f) {
    expected.push_back(test::picture_bytes(in_place ? frames[f] : pictures[f], frames[f],
                                           luma.planes[f][0], color));
  }
  std::vector<Ticket> tickets;
  std::size_t landed = 0;
  const auto land = [&] {
    test::must(rig.op.wait(tickets[landed], Deadline::never()));
    EXPECT_EQ((in_place ? frames : pictures)[landed].bytes(), expected[landed])
        << "frame " << landed;
    ++landed;
  };
  for (std::size_t f = 0; f < kFrames; ++f) {
    if (f - landed == static_cast<std::size_t>(depth)) land();
    OperatorOutput out;
    out.planes[0] = picture_in((in_place ? frames : pictures)[f]);
    tickets.push_back(test::must(rig.op.submit(frames[f].frame(f), out)));
  }
  while (landed < kFrames) land();
}

// Fails when a picture in the format of its frame has another luma than the operator's, other
// colors, or bytes written beside its pixels. Sizes and strides are odd, and the frames have one
// worker or three.
// Promises: RES-006.
TEST_P(ColorPictures, HaveTheColorOfTheFrame) {
  for (const PixelFormat format : kColors) {
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(name_of(format) + std::string(in_place ? " in place" : ""));
      const int workers = in_place ? 3 : 1;
      const OperatorConfig gray = what().with({37, 23});
      expect_pictures(gray, gray, format, workers, in_place ? 1 : 2, in_place, backend());
      OperatorConfig keeping = gray;
      if (!keeping.set_option("chroma", "keep")) continue;  // it always keeps the color
      expect_pictures(gray, keeping, format, workers, 1, in_place, backend());
    }
  }
  // A single pixel, and a row of the image shorter than a vector.
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{3, 2}}) {
    const OperatorConfig gray = what().with(size);
    for (const PixelFormat format : {PixelFormat::kYuy2, PixelFormat::kRgb})
      expect_pictures(gray, gray, format, 2, 1, false, backend());
  }
}

// Fails when bands of several workers leave out rows or write rows of others. The frame is large
// enough for five bands.
TEST(ColorBands, HaveAllRows) {
  for (const char* name : {"restore", "cnn"}) {
    OperatorConfig config(*find_operator(name));
    config.set_input({515, 309}, PixelFormat::kGray8);
    for (const int workers : {1, 3}) {
      SCOPED_TRACE(name);
      expect_pictures(config, config, PixelFormat::kBgr, workers, 2, false, BackendChoice::kCpu);
    }
  }
}

// Fails when a device gives another picture than the CPU. The cells of halftones are the same on
// every backend, so the bytes must be, too.
// Promises: RES-006.
TEST(ColorBackends, GiveTheSamePictures) {
  test::skip_without_device();
  if (IsSkipped()) return;
  constexpr ImageSize kSize{131, 47};
  for (const PixelFormat format : kColors) {
    SCOPED_TRACE(name_of(format));
    const ColorFrame frame(kSize, format, 13, 3);
    std::vector<std::vector<std::uint8_t>> pictures;
    for (const BackendChoice backend : {BackendChoice::kCpu, BackendChoice::kCuda}) {
      OperatorConfig config(*find_operator("halftone"));
      config.set_input(kSize, format);
      test::must(config.set_option("chroma", "keep"));
      auto rig = test::make_rig(config, 2, backend);
      ColorFrame picture(kSize, format, 99, 5);
      OperatorOutput out;
      out.planes[0] = picture_in(picture);
      test::must(rig.op.wait(test::must(rig.op.submit(frame.frame(0), out)), Deadline::never()));
      pictures.push_back(picture.bytes());
    }
    EXPECT_EQ(pictures[0], pictures[1]);
  }
}

// Fails when a picture of a wrong format, size or stride is written, or when the text does not say
// what is wrong and what would be right.
TEST_P(Color, WrongPicturesAreErrors) {
  constexpr ImageSize kSize{37, 23};
  ColorFrame color(kSize, PixelFormat::kYuy2, 3);
  ColorFrame memory(kSize, PixelFormat::kRgbx, 4);  // large enough for each format
  auto rig = test::make_rig(what().with(kSize, 1, PixelFormat::kYuy2), 1, backend());
  const OperatorInfo& info = rig.op.info();
  const std::string name = info.planes[0].name;
  test::OutputBuffer whole(info);
  const auto refused = [&](const ImageView& picture, const std::vector<std::string>& words) {
    OperatorOutput out = whole.output();
    out.planes[0] = picture;
    const Expected<Ticket> ticket = rig.op.submit(color.frame(0), out);
    ASSERT_FALSE(ticket);
    test::expect_words(ticket.error(), Status::kInvalidArgument, words);
  };
  ImageView picture = picture_in(memory);
  picture.size = info.planes[0].size;
  picture.format = PixelFormat::kYuy2;
  if (!info.planes[0].follows_frame) {
    refused(picture, {name, "kYuy2", "must have"});
    return;
  }
  picture.format = PixelFormat::kRgbx;
  refused(picture, {name, "kRgbx", "kGray8", "kYuy2"});
  picture.format = static_cast<PixelFormat>(kPixelFormats);
  refused(picture, {name, "unknown", "kGray8", "kYuy2"});
  picture.format = PixelFormat::kYuy2;
  picture.size = {36, 23};
  refused(picture, {name, "36x23", "37x23"});
  picture.size = kSize;
  picture.stride = 75;
  refused(picture, {name, "stride is 75 bytes", "at least 76"});
  picture = picture_in(color);
  picture.stride += 2;
  refused(picture, {name, "memory of the frame", "78 bytes", "76 bytes"});
}

// Fails when a frame of the wrong format or with rows that are too short is read, or when the text
// does not name the bytes that a row needs. A row of YUV 4:2:2 has whole pairs of pixels.
TEST(ColorFrames, WrongOnesAreErrors) {
  const OperatorConfig flow(*find_operator("flow"));
  const auto with = [&flow](ImageSize size, PixelFormat format) {
    OperatorConfig made = flow;
    made.set_input(size, format);
    return made;
  };
  struct Case {
    PixelFormat format;
    int width;
    std::ptrdiff_t least;
    const char* text;
  };
  for (const Case& bad :
       {Case{PixelFormat::kYuy2, 37, 76,
             "frame.stride is 75 bytes; 37 pixels of kYuy2 need at least 76"},
        Case{PixelFormat::kUyvy, 36, 72,
             "frame.stride is 71 bytes; 36 pixels of kUyvy need at least 72"},
        Case{PixelFormat::kBgr, 37, 111,
             "frame.stride is 110 bytes; 37 pixels of kBgr need at least 111"},
        Case{PixelFormat::kRgbx, 37, 148,
             "frame.stride is 147 bytes; 37 pixels of kRgbx need at least 148"}}) {
    const ImageSize size{bad.width, 23};
    EXPECT_EQ(row_bytes(bad.format, bad.width), bad.least);
    auto rig = test::make_rig(with(size, bad.format), 1);
    test::OutputBuffer out(rig.op.info());
    const ColorFrame color(size, bad.format, 3);
    Frame frame = color.frame(0);
    frame.stride = bad.least - 1;
    const Expected<Ticket> refused = rig.op.submit(frame, out.output());
    ASSERT_FALSE(refused);
    EXPECT_STREQ(refused.error().text, bad.text);
    frame = color.frame(0);
    frame.format = PixelFormat::kGray8;
    const Expected<Ticket> gray = rig.op.submit(frame, out.output());
    ASSERT_FALSE(gray);
    test::expect_words(gray.error(), Status::kInvalidArgument, {"kGray8", "made for"});
    frame.format = static_cast<PixelFormat>(kPixelFormats);
    EXPECT_FALSE(rig.op.submit(frame, out.output()));
  }
  const OperatorConfig unknown = with({37, 23}, static_cast<PixelFormat>(kPixelFormats));
  const Expected<OperatorInfo> info = unknown.info();
  ASSERT_FALSE(info);
  test::expect_words(info.error(), Status::kInvalidArgument, {"format is 9", "kYuy2", "kRgbx"});
}

}  // namespace
}  // namespace ocellus
