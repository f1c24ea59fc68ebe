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
#include "support/operator_cases.h"

namespace ocellus {
namespace {

using test::FrameBuffer;
using test::OperatorCase;
using test::Results;

constexpr PixelFormat kColors[] = {PixelFormat::kYuy2, PixelFormat::kUyvy, PixelFormat::kBgr,
                                   PixelFormat::kRgb,  PixelFormat::kBgrx, PixelFormat::kRgbx};

const char* name_of(PixelFormat format) {
  constexpr const char* kNames[] = {"gray8", "gray16", "float32", "yuy2", "uyvy",
                                    "bgr",   "rgb",    "bgrx",    "rgbx"};
  return kNames[static_cast<std::size_t>(format)];
}

/// Where the bytes of a pixel are, from the definition of each format.
struct Place {
  int bytes;
  int luma;  // of YUV
  int red;   // of RGB
  int blue;
};
Place place_of(PixelFormat format) {
  switch (format) {
    case PixelFormat::kYuy2:
      return {2, 0, -1, -1};
    case PixelFormat::kUyvy:
      return {2, 1, -1, -1};
    case PixelFormat::kBgr:
      return {3, -1, 2, 0};
    case PixelFormat::kRgb:
      return {3, -1, 0, 2};
    case PixelFormat::kBgrx:
      return {4, -1, 2, 0};
    default:
      return {4, -1, 0, 2};
  }
}

/// A frame of random pixels in exactly the bytes that it needs, so that a sanitizer finds a read
/// beyond them.
class ColorFrame {
 public:
  ColorFrame(ImageSize size, PixelFormat format, unsigned seed, int padding = 0)
      : size_(size), format_(format), stride_(row_bytes(format, size.width) + padding) {
    const auto bytes =
        static_cast<std::size_t>(stride_ * (size.height - 1) + row_bytes(format, size.width));
    bytes_ = std::make_unique<std::uint8_t[]>(bytes);
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < bytes; ++i) bytes_[i] = static_cast<std::uint8_t>(random() >> 24);
  }

  const std::uint8_t* row(int y) const { return bytes_.get() + y * stride_; }
  std::uint8_t* row(int y) { return bytes_.get() + y * stride_; }
  Frame frame(std::uint64_t sequence) const {
    Frame made;
    made.data = bytes_.get();
    made.size = size_;
    made.stride = stride_;
    made.format = format_;
    made.sequence = sequence;
    return made;
  }
  /// The frame that an operator must see.
  FrameBuffer gray() const {
    const Place place = place_of(format_);
    FrameBuffer made(size_, PixelFormat::kGray8);
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) {
        const std::uint8_t* const pixel = row(y) + place.bytes * x;
        made.set(x, y,
                 place.luma >= 0 ? pixel[place.luma]
                                 : luma_of_rgb(pixel[place.red], pixel[1], pixel[place.blue]));
      }
    }
    return made;
  }

 private:
  ImageSize size_;
  PixelFormat format_;
  std::ptrdiff_t stride_;
  std::unique_ptr<std::uint8_t[]> bytes_;
};

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

// Fails when a picture with a new luma has another luma or another color, or when what is not a
// pixel changes.
TEST(Luma, ReplacedInEveryFormat) {
  for (const PixelFormat format : kColors) {
    const Place place = place_of(format);
    for (const int width : {1, 2, 7, 64}) {
      SCOPED_TRACE(name_of(format) + (" " + std::to_string(width)));
      const ColorFrame before({width, 1}, format, 77);
      std::vector<std::uint8_t> luma;
      for (int x = 0; x < width; ++x) luma.push_back(static_cast<std::uint8_t>(37 * x));
      for (const PictureColor color : {PictureColor::kKept, PictureColor::kNeutral}) {
        ColorFrame after({width, 1}, format, 1);
        replace_luma_row(before.row(0), format, luma.data(), color, after.row(0), width);
        for (int x = 0; x < width; ++x) {
          const int wanted = luma[static_cast<std::size_t>(x)];
          const std::uint8_t* const from = before.row(0) + place.bytes * x;
          const std::uint8_t* const to = after.row(0) + place.bytes * x;
          if (place.luma >= 0) {
            EXPECT_EQ(to[place.luma], wanted);
            EXPECT_EQ(to[1 - place.luma],
                      color == PictureColor::kKept ? from[1 - place.luma] : 128);
            continue;
          }
          if (place.bytes == 4) {
            EXPECT_EQ(to[3], from[3]);
          }
          const int change = wanted - luma_of_rgb(from[place.red], from[1], from[place.blue]);
          for (int c = 0; c < 3; ++c) {
            EXPECT_EQ(to[c],
                      color == PictureColor::kKept ? std::clamp(from[c] + change, 0, 255) : wanted);
          }
        }
      }
    }
  }
}

// ---- operators

using Parameters = std::tuple<OperatorCase, BackendChoice>;

class Color : public testing::TestWithParam<Parameters> {
 protected:
  void SetUp() override { test::skip_without(backend()); }
  static const OperatorCase& what() { return std::get<0>(GetParam()); }
  static BackendChoice backend() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Backends, Color,
                         testing::Combine(testing::ValuesIn(test::operator_cases()),
                                          testing::ValuesIn(test::conformance_backends())),
                         [](const auto& made) {
                           return std::get<0>(made.param).name +
                                  (std::get<1>(made.param) == BackendChoice::kCuda ? "_cuda"
                                                                                   : "_cpu");
                         });

// Fails when an operator gives another result for a frame with color than for its luma, with one or
// more frames in flight, in odd sizes and with padded rows.
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
