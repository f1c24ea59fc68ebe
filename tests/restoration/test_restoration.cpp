// Conformance: Restoration is the recursion of equation (1), computed in double precision, on every
// backend.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "ocellus/restoration.h"
#include "reference/image.h"
#include "restoration/plan.h"
#include "restoration/restoration_reference.h"
#include "support/restoration_filters.h"
#include "support/simd.h"

namespace ocellus {
namespace {

using namespace test;

ImageView view_of(const FrameBuffer& buffer) {
  const Frame frame = buffer.frame();
  return {const_cast<void*>(frame.data),
          frame.size,
          frame.stride,
          frame.format,
          MemorySpace::kHost,
          nullptr};
}

class RestorationConformance : public OnBackend {
 protected:
  /// Expects the result of each schedule for a frame of noise to be the reference.
  void expect_reference(const RestorationFilter& filter, ImageSize size, PixelFormat format,
                        RestorationBorder border, int workers) const;

 private:
  void expect_schedule(RestorationConfig config, const FrameBuffer& frame, const PlaneD& expected,
                       double tolerance, int workers) const;
};
constexpr std::array kSchedules = {RestorationSchedule::kRecursion,
                                   RestorationSchedule::kFrequency};
INSTANTIATE_TEST_SUITE_P(Backends, RestorationConformance,
                         testing::ValuesIn(conformance_backends()), backend_label);

void RestorationConformance::expect_reference(const RestorationFilter& filter, ImageSize size,
                                              PixelFormat format, RestorationBorder border,
                                              int workers) const {
  SCOPED_TRACE("m = " + std::to_string(filter.support) + ", " + std::to_string(size.width) + "x" +
               std::to_string(size.height) + ", border " +
               std::to_string(static_cast<int>(border)));
  RestorationConfig config;
  config.size = size;
  config.format = format;
  config.border = border;
  config.coefficients = &filter;
  FrameBuffer frame(size, format, 5, 3);
  frame.fill(noise(size, static_cast<unsigned>(filter.support)));
  const FilterProperties properties = must(analyze_filter(filter));
  PlaneD expected = restore_reference(frame.values(), filter, border, properties.response);
  const bool whole = format != PixelFormat::kFloat32;
  if (whole)
    for (double& value : expected.data) value = std::clamp(value, 0.0, 255.0);
  const double rounding = !whole ? 0.0 : format == PixelFormat::kGray8 ? 0.5 : 0.5 / 257.0;
  const double tolerance = rounding + kFloatTolerance * properties.absolute_gain * 255.0;
  for (const RestorationSchedule schedule : kSchedules) {
    config.schedule = schedule;
    expect_schedule(config, frame, expected, tolerance, workers);
  }
}

void RestorationConformance::expect_schedule(RestorationConfig config, const FrameBuffer& frame,
                                             const PlaneD& expected, double tolerance,
                                             int workers) const {
  SCOPED_TRACE("schedule " + std::to_string(static_cast<int>(config.schedule)));
  auto rig = this->rig<Restoration>(config, workers);
  FrameBuffer out(config.size, config.format, 7, 1);
  const Ticket ticket = must(rig.op.submit(frame.frame(3), view_of(out)));
  ASSERT_EQ(must(rig.op.wait(ticket, Deadline::never())).sequence, 3u);
  for (int y = 0; y < config.size.height; ++y)
    for (int x = 0; x < config.size.width; ++x)
      ASSERT_NEAR(out.value(x, y), expected.at(x, y), tolerance) << "at (" << x << ", " << y << ")";
}

// Fails when a pixel differs from the reference for some support: a wrong quadrant, a wrong tap, a
// block of the recursion that begins with the wrong values, a wrong transfer function.
// Promises: RES-003.
TEST_P(RestorationConformance, EverySupport) {
  for (int support = 1; support <= kMaxFilterSupport; ++support) {
    expect_reference(random_filter(support, 0.6, static_cast<unsigned>(support)), {41, 29},
                     PixelFormat::kFloat32, RestorationBorder::kReflect, 1 + support % 5);
  }
}

// Fails when a size that is odd, one pixel wide or high, or smaller than the support differs from
// the reference, or a border or a format does.
// Promises: RES-003.
TEST_P(RestorationConformance, EverySizeBorderAndFormat) {
  unsigned seed = 1;
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
    for (const RestorationBorder border :
         {RestorationBorder::kReflect, RestorationBorder::kReplicate, RestorationBorder::kZero}) {
      for (const ImageSize size : {ImageSize{1, 1}, ImageSize{1, 37}, ImageSize{38, 1},
                                   ImageSize{3, 9}, ImageSize{61, 47}, ImageSize{130, 64}}) {
        const int support = 1 + static_cast<int>(seed * 5 % 12);
        expect_reference(random_filter(support, 0.5, seed), size, format, border,
                         1 + static_cast<int>(seed % 4));
        ++seed;
      }
    }
  }
}

// Fails when a schedule differs from the reference with one instruction set of this processor.
// Promises: RES-002.
TEST_P(RestorationConformance, EveryInstructionSet) {
  if (GetParam() != BackendChoice::kCpu) GTEST_SKIP() << "a device has none of them";
  for (const SimdTarget& target : simd_targets()) {
    SCOPED_TRACE(target.name);
    const OnlyTargets only(target.bit);
    expect_reference(random_filter(7, 0.6, 2), {53, 34}, PixelFormat::kGray16,
                     RestorationBorder::kReflect, 2);
  }
}

// Fails when a filter of the largest gain leaves the range of a pixel or of a float.
TEST(RestorationOnCpu, LargeGainsAreLimited) {
  for (const RestorationSchedule schedule :
       {RestorationSchedule::kRecursion, RestorationSchedule::kFrequency}) {
    for (const float gain : {9.9e5f, -9.9e5f}) {
      RestorationFilter filter;
      filter.feedforward[0] = {gain};
      RestorationConfig config;
      config.size = {64, 48};
      config.format = PixelFormat::kGray8;
      config.coefficients = &filter;
      config.schedule = schedule;
      auto rig = Rig<Restoration>::make(config, 1, BackendChoice::kCpu);
      FrameBuffer frame(config.size, config.format);
      PlaneD white(config.size.width, config.size.height);
      std::fill(white.data.begin(), white.data.end(), 255.0);
      frame.fill(white);
      FrameBuffer out(config.size, config.format);
      must(rig.op.wait(must(rig.op.submit(frame.frame(), view_of(out))), Deadline::never()));
      for (const double value : out.values().data) ASSERT_EQ(value, gain > 0.0f ? 255.0 : 0.0);
    }
  }
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(detail::pixel_of<std::uint8_t>(kNan), 0);
  EXPECT_EQ(detail::pixel_of<std::uint16_t>(kNan), 0);
  EXPECT_EQ(detail::pixel_of<std::uint8_t>(kInfinity), 255);
  EXPECT_EQ(detail::pixel_of<std::uint8_t>(-kInfinity), 0);
}

// Fails when a long impulse response is cut: the padding must reach as far as the filter remembers.
TEST_P(RestorationConformance, LongResponses) {
  RestorationFilter filter = random_filter(3, 0.5, 9);
  // Along rows and along columns, with a root at 0.93 and one at -0.9.
  filter.feedback[0] = {0.0f, 0.93f};
  filter.feedback[3] = {0.0f, 0.0f, 0.0f, -0.9f};
  const FilterProperties properties = must(analyze_filter(filter));
  EXPECT_GT(properties.response, 60);
  EXPECT_LT(properties.response, 200);
  expect_reference(filter, {70, 50}, PixelFormat::kFloat32, RestorationBorder::kReflect, 2);
}

// Fails when the recursion computes with denormal numbers, which takes many times as long, or when
// it leaves the thread that waits in the mode without them.
TEST(RestorationOnCpu, NoDenormalNumbersBehindTheLastBrightPixel) {
  RestorationFilter filter;
  filter.support = 2;
  filter.feedforward[0] = {1.0f};
  filter.feedback[0] = {0.0f, 0.5f, 0.25f, 0.0f};
  RestorationConfig config;
  config.size = {400, 20};
  config.format = PixelFormat::kFloat32;
  config.coefficients = &filter;
  config.schedule = RestorationSchedule::kRecursion;
  auto rig = Rig<Restoration>::make(config, 2, BackendChoice::kCpu);
  FrameBuffer frame(config.size, config.format);
  frame.fill(PlaneD(config.size.width, config.size.height)).set(0, 0, 200.0);
  FrameBuffer out(config.size, config.format);
  must(rig.op.wait(must(rig.op.submit(frame.frame(), view_of(out))), Deadline::never()));
  EXPECT_GT(out.value(100, 0), 0.0);
  for (const double value : out.values().data) {
    const double magnitude = std::fabs(value);
    ASSERT_TRUE(magnitude == 0.0 ||
                magnitude >= static_cast<double>(std::numeric_limits<float>::min()))
        << value;
  }
  volatile float small = std::numeric_limits<float>::min();
  small = small / 2.0f;
  EXPECT_GT(small, 0.0f);
}

// Fails when a frame with NaN leaves its numbers in the result, is not reported, or changes the
// next frame.
TEST_P(RestorationConformance, BadFramesAreBlack) {
  RestorationConfig config;
  config.size = {40, 30};
  config.format = PixelFormat::kFloat32;
  FrameBuffer frame(config.size, config.format);
  for (const RestorationSchedule schedule : kSchedules) {
    config.schedule = schedule;
    auto rig = this->rig<Restoration>(config);
    SCOPED_TRACE(rig.op.info().summary);
    std::vector<double> first;
    for (const bool bad : {false, true, false}) {
      frame.fill(noise(config.size, 5));
      if (bad) frame.set(39, 29, std::nan(""));
      FrameBuffer out(config.size, config.format);
      const FrameInfo info =
          must(rig.op.wait(must(rig.op.submit(frame.frame(), view_of(out))), Deadline::never()));
      EXPECT_EQ((info.flags & kBadPixels) != 0, bad);
      if (bad) {
        for (const double value : out.values().data) ASSERT_EQ(value, 0.0);
      } else if (first.empty()) {
        first = out.values().data;
      } else {
        EXPECT_EQ(out.values().data, first);
      }
    }
  }
}

// Fails when a tile of the recursion begins with wrong values, writes a wrong part of the result,
// or overwrites the results of another tile: the image has many tiles along both axes.
TEST_P(RestorationConformance, ManyTiles) {
  expect_reference(random_filter(4, 0.5, 21), {1100, 90}, PixelFormat::kFloat32,
                   RestorationBorder::kReflect, 2);
  expect_reference(random_filter(18, 0.5, 22), {203, 620}, PixelFormat::kGray16,
                   RestorationBorder::kReplicate, 2);
}

// Fails when a filter of the library does not restore a Gaussian blur, or changes the brightness.
TEST_P(RestorationConformance, LibraryFiltersSharpen) {
  for (const char* name : {"gaussian-1", "gaussian-1.5", "gaussian-2"}) {
    const auto filter = find_restoration_filter(name);
    ASSERT_TRUE(filter) << name;
    EXPECT_NEAR(must(analyze_filter(*filter)).gain, 1.0, 0.01) << name;
    const double sigma = std::stod(std::string(name).substr(9));
    const ImageSize size{96, 80};
    PlaneD sharp(size.width, size.height);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        sharp.at(x, y) = (x / 12 + y / 10) % 2 == 0 ? 60.0 : 190.0;
    std::vector<double> taps;
    double sum = 0.0;
    for (int k = -6; k <= 6; ++k) taps.push_back(std::exp(-k * k / (2.0 * sigma * sigma)));
    for (const double tap : taps) sum += tap;
    for (double& tap : taps) tap /= sum;
    const PlaneD blurred = reference::filter(sharp, taps, 6, taps, 6);
    RestorationConfig config;
    config.size = size;
    config.format = PixelFormat::kFloat32;
    ASSERT_TRUE(config.filter.assign(name));
    auto rig = this->rig<Restoration>(config);
    FrameBuffer frame(size, config.format);
    frame.fill(blurred);
    FrameBuffer out(size, config.format);
    must(rig.op.wait(must(rig.op.submit(frame.frame(), view_of(out))), Deadline::never()));
    const auto error = [&](const auto& value) {
      double squares = 0.0;
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          squares += (value(x, y) - sharp.at(x, y)) * (value(x, y) - sharp.at(x, y));
      return squares;
    };
    EXPECT_LT(error([&](int x, int y) { return out.value(x, y); }),
              0.65 * error([&](int x, int y) { return blurred.at(x, y); }))
        << name;
  }
}

// Fails when the CPU does not take the schedule that was far faster in measurements, or when an
// operator does not name its schedule.
TEST(RestorationConfig, ScheduleOnTheCpu) {
  const auto summary_of = [](const RestorationFilter& filter, ImageSize size) {
    RestorationConfig config;
    config.size = size;
    config.coefficients = &filter;
    const auto rig = Rig<Restoration>::make(config, 2, BackendChoice::kCpu);
    return std::string(rig.op.info().summary);
  };
  const auto schedule_of = [&](int support, ImageSize size) {
    return summary_of(random_filter(support, 0.4, 1), size);
  };
  EXPECT_NE(schedule_of(1, {640, 480}).find("by recursion"), std::string::npos);
  EXPECT_NE(schedule_of(7, {640, 480}).find("in the frequency domain"), std::string::npos);
  EXPECT_NE(schedule_of(15, {61, 40}).find("in the frequency domain"), std::string::npos);
  // The response reaches far beyond a small image, and a few coefficients compute it.
  RestorationFilter filter = random_filter(2, 0.5, 1);
  filter.feedback[0] = {0.0f, 0.95f};
  EXPECT_NE(summary_of(filter, {64, 64}).find("by recursion"), std::string::npos);
}

// Fails when a coefficient or a filter that is not valid is taken, or the refusal does not say why.
TEST(RestorationConfig, FiltersAreChecked) {
  const auto refusal = [](const RestorationFilter& filter) {
    RestorationConfig config;
    config.size = {64, 48};
    config.coefficients = &filter;
    const auto info = Restoration::info_for(config);
    EXPECT_FALSE(info);
    return info ? Error{} : info.error();
  };
  RestorationFilter filter = random_filter(5, 0.5, 1);
  for (const int support : {0, 32, -1}) {
    filter.support = support;
    expect_words(refusal(filter), Status::kInvalidArgument,
                 {"support", std::to_string(support), "1 to 31"});
  }
  filter.support = 5;
  filter.feedback[2][7] = std::numeric_limits<float>::quiet_NaN();
  expect_words(refusal(filter), Status::kInvalidArgument, {"b(1, 2)", "quadrant 2", "nan"});
  filter = random_filter(5, 0.5, 1);
  filter.feedforward[1][24] = std::numeric_limits<float>::infinity();
  expect_words(refusal(filter), Status::kInvalidArgument, {"a(4, 4)", "quadrant 1", "inf"});
  filter = random_filter(5, 0.5, 1);
  filter.feedback[3][0] = 0.25f;
  expect_words(refusal(filter), Status::kInvalidArgument, {"b(0, 0)", "quadrant 3", "0.25"});
  filter = random_filter(5, 0.5, 1);
  filter.feedback[1] = {0.0f, 1.01f};
  expect_words(refusal(filter), Status::kInvalidArgument, {"quadrant 1", "unstable", "1.0100"});
}

// Fails when a filter that is not there is replaced, or the refusal does not name it.
TEST(RestorationConfig, FiltersMustExist) {
  RestorationConfig config;
  config.size = {64, 48};
  config.filter = {};
  auto info = Restoration::info_for(config);
  ASSERT_FALSE(info);
  expect_words(info.error(), Status::kInvalidArgument, {"filter is empty"});
  ASSERT_TRUE(config.filter.assign("/nowhere/sharp.ocellus"));
  info = Restoration::info_for(config);
  ASSERT_FALSE(info);
  expect_words(info.error(), Status::kIoError, {"/nowhere/sharp.ocellus"});
}

}  // namespace
}  // namespace ocellus
