// Conformance: NewOperator is the mean of equation (1), computed in double precision, on every
// backend.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "ocellus/new_operator.h"

namespace ocellus {
namespace {

using namespace test;

/// Equation (1), in gray levels of 8 bits.
double mean_at(const PlaneD& image, const NewOperatorConfig& config, int x, int y) {
  double sum = 0.0;
  for (int dy = -config.radius; dy <= config.radius; ++dy) {
    for (int dx = -config.radius; dx <= config.radius; ++dx) {
      const bool inside =
          x + dx >= 0 && x + dx < image.width && y + dy >= 0 && y + dy < image.height;
      if (inside || config.border == NewOperatorBorder::kRepeat)
        sum += image.clamped(x + dx, y + dy);
    }
  }
  const double side = 2.0 * config.radius + 1.0;
  return sum / (side * side);
}

/// The value that the format has for a mean: whole numbers are rounded, halves up.
double stored(double mean, PixelFormat format) {
  if (format == PixelFormat::kFloat32) return mean;
  const double step = format == PixelFormat::kGray16 ? 1.0 / 257.0 : 1.0;
  // A half stays one after the division of 16 bits by 257; what is none is 1/450 away or more.
  return std::floor(mean / step + 0.5 + 1e-6) * step;
}

ImageView view_of(const FrameBuffer& buffer) {
  const Frame frame = buffer.frame();
  return {const_cast<void*>(frame.data),
          frame.size,
          frame.stride,
          frame.format,
          MemorySpace::kHost,
          nullptr};
}

class NewOperatorConformance : public OnBackend {};
INSTANTIATE_TEST_SUITE_P(Backends, NewOperatorConformance,
                         testing::ValuesIn(conformance_backends()), backend_label);

// Fails when a pixel differs from the reference: a wrong border, a sum over the wrong pixels,
// another rounding, or a result that depends on the number of workers.
TEST_P(NewOperatorConformance, IsTheReference) {
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
    for (const ImageSize size : {ImageSize{1, 1}, ImageSize{3, 9}, ImageSize{61, 47}}) {
      for (const int radius : {1, 2, 7}) {
        for (const NewOperatorBorder border :
             {NewOperatorBorder::kRepeat, NewOperatorBorder::kBlack}) {
          NewOperatorConfig config;
          config.size = size;
          config.format = format;
          config.radius = radius;
          config.border = border;
          auto rig = this->rig<NewOperator>(config, 1 + radius % 3);
          FrameBuffer frame(size, format, 5, 3);
          frame.fill(noise(size, static_cast<unsigned>(radius)));
          const PlaneD seen = frame.values();
          FrameBuffer out(size, format, 7, 1);
          const Ticket ticket = must(rig.op.submit(frame.frame(3), view_of(out)));
          EXPECT_EQ(must(rig.op.wait(ticket, Deadline::never())).sequence, 3u);
          for (int y = 0; y < size.height; ++y) {
            for (int x = 0; x < size.width; ++x) {
              ASSERT_NEAR(out.value(x, y), stored(mean_at(seen, config, x, y), format),
                          format == PixelFormat::kFloat32 ? kFloatTolerance * 255.0 : 1e-9)
                  << "radius " << radius << " at (" << x << ", " << y << ")";
            }
          }
        }
      }
    }
  }
}

// Fails when a frame with NaN leaves its numbers in the result, is not told, or spoils the next
// frame.
TEST_P(NewOperatorConformance, BadFramesAreBlack) {
  NewOperatorConfig config;
  config.size = {40, 30};
  config.format = PixelFormat::kFloat32;
  auto rig = this->rig<NewOperator>(config);
  FrameBuffer frame(config.size, config.format);
  for (const bool bad : {false, true, false}) {
    frame.fill(noise(config.size, 5));
    if (bad) frame.set(39, 29, std::nan(""));
    FrameBuffer out(config.size, config.format);
    const FrameInfo info =
        must(rig.op.wait(must(rig.op.submit(frame.frame(), view_of(out))), Deadline::never()));
    EXPECT_EQ((info.flags & kBadPixels) != 0, bad);
    for (const double value : out.values().data) ASSERT_EQ(value == 0.0, bad);
  }
}

// Fails when a value out of its range is taken, or the refusal does not name it.
TEST(NewOperatorConfig, IsChecked) {
  NewOperatorConfig config;
  config.size = {64, 48};
  config.radius = 8;
  const auto info = NewOperator::info_for(config);
  ASSERT_FALSE(info);
  EXPECT_STREQ(info.error().text, "radius is 8; it must be 1 to 7 pixels");
}

}  // namespace
}  // namespace ocellus
