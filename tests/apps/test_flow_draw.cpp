// Drawing of flow fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "ocellus/character_draw.h"
#include "ocellus/flow_draw.h"
#include "support/flow_view.h"

namespace ocellus {
namespace {

struct Field {
  ImageSize size;
  std::vector<float> u;
  std::vector<float> v;
  std::vector<float> deviation;  // may be empty

  Field(ImageSize field_size, float fill_u, float fill_v)
      : size(field_size),
        u(static_cast<std::size_t>(size.width * size.height), fill_u),
        v(static_cast<std::size_t>(size.width * size.height), fill_v) {}
  FlowOutput view() { return test::flow_view(size, u, v, deviation); }
};

std::array<int, 3> color_of(float u, float v, float max_motion) {
  Field field({1, 1}, u, v);
  std::uint8_t rgb[3] = {};
  draw_flow_wheel(field.view(), max_motion, rgb, 3);
  return {rgb[0], rgb[1], rgb[2]};
}

// Example failure: v points up, or the color wheel turns the other way, so that colors do not match
// published images.
TEST(FlowWheel, FullMotionHasTheColorsOfTheWheel) {
  EXPECT_EQ(color_of(1.0f, 0.0f, 1.0f), (std::array<int, 3>{255, 0, 0}));  // right is red
  // Down is a quarter of the 54 steps of the wheel, at 13.5 of the 15 steps from red to yellow.
  const auto down = color_of(0.0f, 1.0f, 1.0f);
  EXPECT_EQ(down[0], 255);
  EXPECT_NEAR(down[1], 229, 2);
  EXPECT_EQ(down[2], 0);
  // Left is at step 27: 2 of the 11 steps from cyan to blue.
  const auto left = color_of(-1.0f, 0.0f, 1.0f);
  EXPECT_EQ(left[0], 0);
  EXPECT_NEAR(left[1], 209, 2);
  EXPECT_NEAR(left[2], 255, 1);
  // Up is at step 40.5: 4.5 of the 13 steps from blue to magenta.
  const auto up = color_of(0.0f, -1.0f, 1.0f);
  EXPECT_NEAR(up[0], 88, 2);
  EXPECT_EQ(up[1], 0);
  EXPECT_EQ(up[2], 255);
}

// Example failure: the saturation does not follow the length, or NaN is drawn in a color of the
// wheel.
TEST(FlowWheel, LengthSaturatesThenDarkensAndInvalidIsBlack) {
  EXPECT_EQ(color_of(0.0f, 0.0f, 5.0f), (std::array<int, 3>{255, 255, 255}));
  EXPECT_EQ(color_of(2.5f, 0.0f, 5.0f), (std::array<int, 3>{255, 127, 127}));
  EXPECT_EQ(color_of(10.0f, 0.0f, 5.0f), (std::array<int, 3>{191, 0, 0}));
  EXPECT_EQ(color_of(50.0f, 0.0f, 5.0f), (std::array<int, 3>{191, 0, 0}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(color_of(nan, 1.0f, 5.0f), (std::array<int, 3>{0, 0, 0}));
  EXPECT_EQ(color_of(1.0f, nan, 5.0f), (std::array<int, 3>{0, 0, 0}));
  EXPECT_EQ(color_of(std::numeric_limits<float>::infinity(), 0.0f, 5.0f),
            (std::array<int, 3>{0, 0, 0}));
}

// Example failure: the color steps from 255 to 191 at the scale, so that a body whose motion is
// near it has dark patches with hard edges.
TEST(FlowWheel, DarkensWithoutAStep) {
  int before = 255;
  for (float length = 4.0f; length <= 11.0f; length += 0.125f) {
    const int red = color_of(length, 0.0f, 5.0f)[0];
    EXPECT_LE(red, before) << length;
    EXPECT_GE(red, before - 2) << length;
    before = red;
  }
  EXPECT_EQ(before, 191);
}

// Example failure: an invalid scale makes a color from NaN. That conversion is undefined, and
// builds with sanitizers stop there.
TEST(FlowWheel, AcceptsAnyScale) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Field field({4, 1}, 0.0f, 0.0f);
  field.u = {0.0f, -1.0f, 3e38f, 1e-40f};
  field.v = {0.0f, 2.0f, -3e38f, 0.0f};
  const FlowOutput flow = field.view();
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), -kInfinity}) {
    std::array<std::uint8_t, 12> rgb;
    rgb.fill(7);
    draw_flow_wheel(flow, scale, rgb.data(), sizeof(rgb));
    EXPECT_EQ(rgb, (std::array<std::uint8_t, 12>{})) << scale;
  }
  for (const float scale : {1e-45f, 1e-38f, 3e38f, kInfinity}) {
    std::array<std::uint8_t, 12> rgb{};
    draw_flow_wheel(flow, scale, rgb.data(), sizeof(rgb));
    EXPECT_EQ(rgb[0], 255) << "no motion is white, at " << scale;
  }
  for (const float percent : {std::numeric_limits<float>::quiet_NaN(), -1.0f, kInfinity})
    EXPECT_GE(flow_magnitude_percentile(flow, percent), 1e-3f);
}

// Example failure: the padding of a row is overwritten, or rows are read with the image's width as
// stride.
TEST(FlowWheel, RespectsStrides) {
  const int width = 3;
  const int height = 2;
  const int stride = 16;
  const int flow_stride = 5;
  std::vector<float> u(flow_stride * height, -7.0f);
  std::vector<float> v(flow_stride * height, -7.0f);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      u[static_cast<std::size_t>(y * flow_stride + x)] = 1.0f;
      v[static_cast<std::size_t>(y * flow_stride + x)] = 0.0f;
    }
  }
  const ImageSize size{width, height};
  const std::ptrdiff_t bytes = flow_stride * static_cast<std::ptrdiff_t>(sizeof(float));
  const FlowOutput flow = {
      test::float_plane(u.data(), size, bytes), test::float_plane(v.data(), size, bytes), {}};
  std::vector<std::uint8_t> rgb(stride * height, 0xAB);
  draw_flow_wheel(flow, 1.0f, rgb.data(), stride);
  for (int y = 0; y < height; ++y) {
    for (int b = 0; b < stride; ++b) {
      const int expected = b >= 3 * width ? 0xAB : b % 3 == 0 ? 255 : 0;
      EXPECT_EQ(rgb[static_cast<std::size_t>(y * stride + b)], expected)
          << "row " << y << ", byte " << b;
    }
  }
}

// Example failure: the percentile includes invalid vectors, or is that of a neighbor in the order.
TEST(FlowMagnitude, PercentileEqualsSorting) {
  std::mt19937 random(7);
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{17, 13}, ImageSize{64, 48}}) {
    Field field(size, 0.0f, 0.0f);
    std::vector<float> lengths;
    for (std::size_t i = 0; i < field.u.size(); ++i) {
      field.u[i] = static_cast<float>(random() % 10000) * 1e-3f;
      field.v[i] = static_cast<float>(random() % 10000) * 1e-3f - 5.0f;
      if (random() % 5 == 0 && i > 0) {
        field.u[i] = std::numeric_limits<float>::quiet_NaN();
      } else {
        lengths.push_back(std::hypot(field.u[i], field.v[i]));
      }
    }
    std::sort(lengths.begin(), lengths.end());
    for (const float percent : {0.0f, 10.0f, 50.0f, 99.0f, 100.0f}) {
      const double rank =
          std::ceil(static_cast<double>(percent) / 100.0 * static_cast<double>(lengths.size()));
      const float expected = lengths[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
      EXPECT_FLOAT_EQ(flow_magnitude_percentile(field.view(), percent), std::max(1e-3f, expected))
          << percent << " % of " << size.width << "x" << size.height;
    }
  }
}

// Example failure: a field without a valid or moving vector gives 0, and a division by it gives
// colors of NaN.
TEST(FlowMagnitude, IsNeverBelowAThousandth) {
  Field still({8, 8}, 0.0f, 0.0f);
  EXPECT_FLOAT_EQ(flow_magnitude_percentile(still.view(), 50.0f), 1e-3f);
  Field invalid({8, 8}, std::numeric_limits<float>::quiet_NaN(), 0.0f);
  EXPECT_FLOAT_EQ(flow_magnitude_percentile(invalid.view(), 99.0f), 1e-3f);
}

/// A frame with separate planes, and with guard bytes around them and between rows.
class GuardedImage {
 public:
  static constexpr std::uint8_t kGuard = 0xA5;
  static constexpr std::uint8_t kGray = 0x80;
  static constexpr int kMargin = 64;

  GuardedImage(OverlayImage::Format format, ImageSize size) {
    image_.format = format;
    image_.size = size;
    const int half_width = (size.width + 1) / 2;
    const int half_height = (size.height + 1) / 2;
    const auto row_bytes = [&] {
      switch (format) {
        case OverlayImage::Format::kGray16:
        case OverlayImage::Format::kP010:
          return 2 * size.width;
        case OverlayImage::Format::kYuy2:
        case OverlayImage::Format::kUyvy:
          return 4 * half_width;
        case OverlayImage::Format::kBgr:
        case OverlayImage::Format::kRgb:
          return 3 * size.width;
        case OverlayImage::Format::kBgrx:
        case OverlayImage::Format::kRgbx:
          return 4 * size.width;
        default:
          return size.width;
      }
    };
    add_plane(row_bytes(), size.height);
    if (format == OverlayImage::Format::kI420) {
      add_plane(half_width, half_height);
      add_plane(half_width, half_height);
    }
    if (format == OverlayImage::Format::kNv12) add_plane(2 * half_width, half_height);
    if (format == OverlayImage::Format::kP010) add_plane(4 * half_width, half_height);
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      image_.planes[p] = planes_[p].bytes.data() + kMargin * planes_[p].stride;
      image_.strides[p] = planes_[p].stride;
    }
  }

  const OverlayImage& image() const { return image_; }

  bool guards_whole() const {
    for (const Plane& plane : planes_) {
      for (int y = 0; y < plane.height + 2 * kMargin; ++y) {
        for (int x = 0; x < plane.stride; ++x) {
          const bool inside = y >= kMargin && y < kMargin + plane.height && x < plane.row_bytes;
          if (!inside && plane.bytes[static_cast<std::size_t>(y * plane.stride + x)] != kGuard)
            return false;
        }
      }
    }
    return true;
  }

  int bytes_drawn(std::size_t p) const {
    const Plane& plane = planes_[p];
    int drawn = 0;
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.row_bytes; ++x)
        drawn += plane.bytes[static_cast<std::size_t>((y + kMargin) * plane.stride + x)] != kGray
                     ? 1
                     : 0;
    }
    return drawn;
  }
  std::size_t plane_count() const { return planes_.size(); }

 private:
  struct Plane {
    std::vector<std::uint8_t> bytes;
    int row_bytes;
    int height;
    int stride;
  };
  void add_plane(int row_bytes, int height) {
    Plane plane{{}, row_bytes, height, row_bytes + 37};  // odd, so that a wrong stride shows
    plane.bytes.assign(static_cast<std::size_t>(plane.stride * (height + 2 * kMargin)), kGuard);
    for (int y = 0; y < height; ++y) {
      std::fill_n(plane.bytes.begin() + (y + kMargin) * plane.stride, row_bytes, kGray);
    }
    planes_.push_back(std::move(plane));
  }

  OverlayImage image_;
  std::vector<Plane> planes_;
};

constexpr OverlayImage::Format kFormats[] = {
    OverlayImage::Format::kGray8, OverlayImage::Format::kGray16, OverlayImage::Format::kI420,
    OverlayImage::Format::kNv12,  OverlayImage::Format::kP010,   OverlayImage::Format::kYuy2,
    OverlayImage::Format::kUyvy,  OverlayImage::Format::kBgr,    OverlayImage::Format::kRgb,
    OverlayImage::Format::kBgrx,  OverlayImage::Format::kRgbx};

MovingObjectsRecord objects_in(std::initializer_list<Rect> boxes) {
  MovingObjectsRecord record;
  for (const Rect& box : boxes) {
    const auto i = static_cast<std::size_t>(record.count++);
    record.x[i] = box.x;
    record.y[i] = box.y;
    record.width[i] = box.width;
    record.height[i] = box.height;
    record.u[i] = 3.0f;
  }
  return record;
}

// Example failure: an arrow across the edge writes to the next row, or an extreme vector writes
// outside the buffer. Or the chroma of an odd size is one column short.
TEST(FlowOverlay, WritesNothingOutsideTheImage) {
  std::mt19937 random(3);
  const float wild[] = {0.0f,
                        0.3f,
                        3.0f,
                        40.0f,
                        1e6f,
                        3e38f,
                        std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()};
  for (const OverlayImage::Format format : kFormats) {
    for (const ImageSize size : {ImageSize{1, 1}, ImageSize{17, 13}, ImageSize{2, 31},
                                 ImageSize{64, 48}, ImageSize{5, 1}}) {
      for (const int step : {0, 4, 16, 256}) {
        Field field(size, 0.0f, 0.0f);
        for (std::size_t i = 0; i < field.u.size(); ++i) {
          field.u[i] = wild[random() % std::size(wild)] * (random() % 2 == 0 ? 1.0f : -1.0f);
          field.v[i] = wild[random() % std::size(wild)] * (random() % 2 == 0 ? 1.0f : -1.0f);
        }
        GuardedImage image(format, size);
        OverlayConfig config;
        config.step = step;
        config.legend = step == 4;
        config.style = step == 0 ? FlowStyle::kWheel : FlowStyle::kArrows;
        draw_flow_overlay(field.view(), config, image.image());
        draw_moving_objects(objects_in({{-3, -3, 9, 7}, {size.width - 2, size.height - 1, 40, 40}}),
                            image.image());
        EXPECT_TRUE(image.guards_whole()) << "format " << static_cast<int>(format) << ", "
                                          << size.width << "x" << size.height << ", step " << step;
      }
    }
  }
}

// Example failure: nothing is drawn at all, which the test above would not detect, or a plane is
// left out.
TEST(FlowOverlay, DrawsInEveryPlane) {
  for (const OverlayImage::Format format : kFormats) {
    for (const ImageSize size : {ImageSize{1, 1}, ImageSize{17, 13}, ImageSize{64, 48}}) {
      Field field(size, 3.0f, 1.0f);
      GuardedImage image(format, size);
      draw_flow_overlay(field.view(), OverlayConfig{}, image.image());
      for (std::size_t p = 0; p < image.plane_count(); ++p) {
        EXPECT_GT(image.bytes_drawn(p), 0) << "format " << static_cast<int>(format) << ", plane "
                                           << p << ", " << size.width << "x" << size.height;
      }
      EXPECT_TRUE(image.guards_whole());
    }
  }
}

// Example failure: noise below min_motion or invalid flow is drawn.
TEST(FlowOverlay, DrawsNothingForStillOrInvalidPixels) {
  for (const float u : {0.0f, 0.2f, std::numeric_limits<float>::quiet_NaN()}) {
    Field field({64, 48}, u, 0.0f);
    GuardedImage image(OverlayImage::Format::kI420, field.size);
    draw_flow_overlay(field.view(), OverlayConfig{}, image.image());
    for (std::size_t p = 0; p < image.plane_count(); ++p) EXPECT_EQ(image.bytes_drawn(p), 0) << u;
  }
}

// Example failure: still ground in a compressed video gets arrows, because its noise is longer than
// `min_motion`. Or the threshold is not that of `min_deviations`, or a field without the plane is
// not drawn.
TEST(FlowOverlay, DrawsMotionAboveItsNoise) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  struct Case {
    float deviation;  // 0: no plane
    float multiple;
    bool drawn;
  };
  for (const FlowStyle style : {FlowStyle::kArrows, FlowStyle::kWheel}) {
    for (const Case& c :
         {Case{0.0f, 3.0f, true}, Case{0.33f, 3.0f, true}, Case{0.34f, 3.0f, false},
          Case{0.34f, 2.5f, true}, Case{kInfinity, 3.0f, false}, Case{kInfinity, 0.0f, true}}) {
      Field field({64, 48}, 1.0f, 0.0f);
      if (c.deviation > 0.0f) field.deviation.assign(field.u.size(), c.deviation);
      GuardedImage image(OverlayImage::Format::kI420, field.size);
      OverlayConfig config;
      config.style = style;
      config.min_deviations = c.multiple;
      draw_flow_overlay(field.view(), config, image.image());
      EXPECT_EQ(image.bytes_drawn(0) > 0, c.drawn) << c.deviation << " times " << c.multiple;
    }
  }
}

// Example failure: the wheel paints still pixels white, or is not at the position of the region.
TEST(FlowOverlay, WheelPaintsPixelsThatMove) {
  Field field({8, 4}, 0.0f, 0.0f);
  field.u[8 + 3] = 2.0f;  // pixel (3, 1)
  GuardedImage image(OverlayImage::Format::kRgb, {16, 16});
  OverlayConfig config;
  config.style = FlowStyle::kWheel;
  config.max_motion = 2.0f;
  config.roi = {5, 6, 8, 4};
  draw_flow_overlay(field.view(), config, image.image());
  const OverlayImage& view = image.image();
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      const std::uint8_t* const pixel = view.planes[0] + y * view.strides[0] + 3 * x;
      const bool moves = x == 8 && y == 7;
      EXPECT_NEAR(pixel[0], moves ? 255 : GuardedImage::kGray, moves ? 2 : 0) << x << ", " << y;
      EXPECT_NEAR(pixel[1], moves ? 0 : GuardedImage::kGray, moves ? 2 : 0) << x << ", " << y;
    }
  }
}

// Example failure: the legend covers the picture, or is cut off in a small one.
TEST(FlowOverlay, LegendIsAtTheLowerRight) {
  Field field({320, 240}, 0.0f, 0.0f);
  GuardedImage image(OverlayImage::Format::kGray8, field.size);
  OverlayConfig config;
  config.legend = true;
  config.max_motion = 8.0f;
  draw_flow_overlay(field.view(), config, image.image());
  const OverlayImage& view = image.image();
  int left = 320, top = 240;
  for (int y = 0; y < 240; ++y)
    for (int x = 0; x < 320; ++x)
      if (view.planes[0][y * view.strides[0] + x] != GuardedImage::kGray) {
        left = std::min(left, x);
        top = std::min(top, y);
      }
  EXPECT_GT(left, 200);
  EXPECT_LT(left, 300);
  EXPECT_GT(top, 160);
  EXPECT_LT(top, 220);

  Field small({40, 24}, 0.0f, 0.0f);
  GuardedImage tiny(OverlayImage::Format::kGray8, small.size);
  draw_flow_overlay(small.view(), config, tiny.image());
  EXPECT_EQ(tiny.bytes_drawn(0), 0);
}

// Example failure: an option sets another member.
TEST(FlowOverlay, OptionsSetTheirMembers) {
  OverlayConfig config;
  const OptionSetting settings[] = {{"style", "wheel"},
                                    {"arrow_step", "24"},
                                    {"arrow_scale", "2.5"},
                                    {"max-motion", "9"},
                                    {"legend", "true"}};
  ASSERT_TRUE(set_options(config, settings));
  EXPECT_EQ(config.style, FlowStyle::kWheel);
  EXPECT_EQ(config.step, 24);
  EXPECT_EQ(config.scale, 2.5f);
  EXPECT_EQ(config.max_motion, 9.0f);
  EXPECT_TRUE(config.legend);
  EXPECT_EQ(OverlayConfig::options().size(), std::size(settings));
}

// Example failure: the scale falls with slow frames, so that the colors of a video flicker.
TEST(FlowOverlay, ScaleNeverFalls) {
  Field fast({16, 16}, 5.0f, 0.0f);
  Field slow({16, 16}, 0.1f, 0.0f);
  EXPECT_FLOAT_EQ(grown_flow_scale(slow.view(), 0.0f), 0.5f);
  const float scale = grown_flow_scale(fast.view(), 0.0f);
  EXPECT_NEAR(scale, 5.0f, 1e-3f);
  EXPECT_EQ(grown_flow_scale(slow.view(), scale), scale);
}

// Example failure: a box is drawn beside its object.
TEST(FlowOverlay, BoxesOfObjectsSurroundThem) {
  GuardedImage image(OverlayImage::Format::kGray8, {128, 96});
  draw_moving_objects(objects_in({{15, 32, 30, 20}}), image.image());
  const OverlayImage& view = image.image();
  const auto drawn = [&](int x, int y) {
    return view.planes[0][y * view.strides[0] + x] != GuardedImage::kGray;
  };
  EXPECT_TRUE(drawn(15, 32));
  EXPECT_TRUE(drawn(44, 51));
  EXPECT_FALSE(drawn(30, 42));  // inside
  EXPECT_FALSE(drawn(47, 54));
}

// Example failure: on a large picture, noise is drawn that is left out on a small one.
TEST(FlowOverlay, LeastMotionGrowsWithTheImage) {
  for (const auto& [motion, side, drawn] :
       {std::tuple{1.4f, 240, false}, std::tuple{1.6f, 240, true}, std::tuple{1.0f, 0, true},
        std::tuple{1.0f, 480, true}}) {
    Field field({480, 360}, motion, 0.0f);
    GuardedImage image(OverlayImage::Format::kGray8, field.size);
    OverlayConfig config;
    config.min_motion_side = side;
    draw_flow_overlay(field.view(), config, image.image());
    EXPECT_EQ(image.bytes_drawn(0) > 0, drawn) << motion << ", " << side;
  }
}

// Example failure: the label of an object at the right is cut off, has no unit, or is as small on a
// picture of 4K as on one of 640x480.
TEST(FlowOverlay, LabelsAreLegible) {
  int height_before = 0;
  for (const ImageSize size :
       {ImageSize{160, 120}, ImageSize{640, 480}, ImageSize{1920, 1080}, ImageSize{3840, 2160}}) {
    SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
    GuardedImage image(OverlayImage::Format::kGray8, size);
    MovingObjectsRecord objects = objects_in({{size.width - 20, size.height / 2, 20, 10}});
    objects.u[0] = 3.0f;
    objects.v[0] = 4.0f;
    draw_moving_objects(objects, image.image());
    // The rows above the box that have a bright pixel, and the extent of the pixels.
    const OverlayImage& view = image.image();
    int top = size.height, bottom = 0, left = size.width, right = 0;
    for (int y = 0; y < size.height / 2 - 2; ++y) {
      for (int x = 0; x < size.width; ++x) {
        if (view.planes[0][y * view.strides[0] + x] < 180) continue;
        top = std::min(top, y), bottom = std::max(bottom, y);
        left = std::min(left, x), right = std::max(right, x);
      }
    }
    // "5.0 px/frame" is 12 characters, and '/' and 'p' have the full height of a line.
    const int scale = (right - left + kGlyphWidth / 2) / (12 * kGlyphWidth - 1);
    EXPECT_GE(scale, 1);
    EXPECT_NEAR(right - left + 1, scale * (12 * kGlyphWidth - 1), scale);
    EXPECT_LT(right, size.width);
    const int height = bottom - top + 1;
    EXPECT_GE(height * 50, size.height) << height << " rows";
    EXPECT_LE(height * 15, size.height) << height << " rows";
    EXPECT_GT(height, height_before);
    height_before = height;
  }
}

/// Whether a text of this color is whole somewhere in the part of a gray image.
bool has_text(const OverlayImage& image, const char* text, int scale, const OverlayColor& color,
              const Rect& part) {
  const ImageSize size{static_cast<int>(std::strlen(text)) * kGlyphWidth * scale,
                       kGlyphHeight * scale};
  GuardedImage pattern(OverlayImage::Format::kGray8, size);
  draw_text(text, 0, 0, scale, color, pattern.image());
  const auto at = [](const OverlayImage& of, int x, int y) {
    return of.planes[0][y * of.strides[0] + x];
  };
  GuardedImage dot(OverlayImage::Format::kGray8, {1, 1});
  draw_box({0, 0, 1, 1}, 1, color, dot.image());
  const int luma = at(dot.image(), 0, 0);
  const auto matches = [&](int left, int top) {
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        if ((at(pattern.image(), x, y) == luma) != (at(image, left + x, top + y) == luma))
          return false;
    return true;
  };
  for (int y = std::max(part.y, 0);
       y < std::min(part.y + part.height, image.size.height) - size.height; ++y)
    for (int x = std::max(part.x, 0);
         x < std::min(part.x + part.width, image.size.width) - size.width; ++x)
      if (matches(x, y)) return true;
  return false;
}

// Example failure: the label of a small object covers that of its neighbor, or lies under its box.
TEST(FlowOverlay, LabelsOfNeighborsDoNotCoverOneAnother) {
  struct Case {
    ImageSize size;
    int scale;  // of the text
  };
  for (const auto& [size, scale] :
       {Case{{640, 480}, 2}, Case{{1920, 1080}, 3}, Case{{3840, 2160}, 6}}) {
    MovingObjectsRecord objects;
    const int side = 13 * scale;
    const auto count = std::size_t{12};
    for (std::size_t i = 0; i < count; ++i) {
      objects.x[i] = static_cast<int>(i % 4) * 30 * scale;  // a label with its unit is 78 * scale
      objects.y[i] = static_cast<int>(i / 4) * 27 * scale;
      objects.width[i] = objects.height[i] = side;
      objects.u[i] = 1.1f + 0.3f * static_cast<float>(i);
    }
    objects.count = static_cast<int>(count);
    GuardedImage image(OverlayImage::Format::kGray8, size);
    draw_moving_objects(objects, image.image());
    for (std::size_t i = 0; i < count; ++i) {
      char text[16];
      std::snprintf(text, sizeof(text), "%.1f", static_cast<double>(objects.u[i]));
      const Rect around{objects.x[i] - 4 * side, objects.y[i] - 2 * side, 9 * side, 5 * side};
      EXPECT_TRUE(has_text(image.image(), text, scale, {255, 220, 0}, around))
          << text << " at " << size.width << "x" << size.height;
    }
  }
}

// Example failure: motion outside of the boxes is drawn, or a box is taken for one in the region.
TEST(FlowOverlay, DrawsOnlyWhatBelongsToObjects) {
  Field field({64, 48}, 2.0f, 0.0f);
  GuardedImage image(OverlayImage::Format::kGray8, {128, 96});
  const MovingObjectsRecord objects = objects_in({{40, 50, 8, 6}, {100, 20, 9, 9}});
  OverlayConfig config;
  config.style = FlowStyle::kWheel;
  config.roi = {30, 40, 64, 48};
  config.objects = &objects;
  draw_flow_overlay(field.view(), config, image.image());
  const OverlayImage& view = image.image();
  for (int y = 0; y < 96; ++y) {
    for (int x = 0; x < 128; ++x) {
      const bool inside = x >= 40 && x < 48 && y >= 50 && y < 56;
      EXPECT_EQ(view.planes[0][y * view.strides[0] + x] != GuardedImage::kGray, inside)
          << x << ", " << y;
    }
  }
}

// Example failure: the field of a region is drawn at the corner of the image.
TEST(FlowOverlay, DrawsARegionAtItsPosition) {
  Field field({16, 16}, 2.0f, 0.0f);
  GuardedImage image(OverlayImage::Format::kGray8, {128, 96});
  OverlayConfig config;
  config.roi = {80, 60, 16, 16};
  draw_flow_overlay(field.view(), config, image.image());
  const OverlayImage& view = image.image();
  int first_row = 96;
  int first_column = 128;
  for (int y = 0; y < 96; ++y) {
    for (int x = 0; x < 128; ++x) {
      if (view.planes[0][y * view.strides[0] + x] == GuardedImage::kGray) continue;
      first_row = std::min(first_row, y);
      first_column = std::min(first_column, x);
    }
  }
  EXPECT_GE(first_column, 80);
  EXPECT_LT(first_column, 96);
  EXPECT_GE(first_row, 60);
  EXPECT_LT(first_row, 76);
  // A region outside the image draws nothing, and its corners are not computed, because they would
  // overflow.
  constexpr int kFar = std::numeric_limits<int>::max();
  for (const Rect roi :
       {Rect{128, 0, 16, 16}, Rect{0, 96, 16, 16}, Rect{-1, 0, 16, 16}, Rect{kFar, kFar, 16, 16}}) {
    GuardedImage empty(OverlayImage::Format::kGray8, {128, 96});
    config.roi = roi;
    draw_flow_overlay(field.view(), config, empty.image());
    EXPECT_EQ(empty.bytes_drawn(0), 0) << roi.x << ", " << roi.y;
  }
}

}  // namespace
}  // namespace ocellus
