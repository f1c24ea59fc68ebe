// Status, Error, Expected, Frame, Rect, Deadline and the version.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <type_traits>

#include "ocellus/ocellus.h"

namespace ocellus {
namespace {

constexpr int kStatusCount = static_cast<int>(Status::kSystem) + 1;

// Fails when a status has no message or name of its own, for example after one was added and
// forgotten.
TEST(Status, EveryStatusHasItsOwnMessageAndName) {
  std::set<std::string> messages;
  std::set<std::string> names;
  for (int i = 0; i < kStatusCount; ++i) {
    const auto status = static_cast<Status>(i);
    messages.insert(status_message(status));
    names.insert(status_name(status));
    EXPECT_STRNE(status_name(status), "Unknown");
  }
  EXPECT_EQ(messages.size(), static_cast<std::size_t>(kStatusCount));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kStatusCount));
  EXPECT_STREQ(status_name(Status::kDeadlineMissed), "DeadlineMissed");
  EXPECT_STREQ(status_name(Status::kOk), "Ok");
}

// Fails when a value that is no status gives a null or a foreign text.
TEST(Status, UnknownValuesAreNamedSo) {
  const auto unknown = static_cast<Status>(200);
  EXPECT_STREQ(status_name(unknown), "Unknown");
  EXPECT_STREQ(status_message(unknown), "unknown status");
}

// Fails when the text is not formatted, or not cut off and terminated at the capacity.
TEST(Error, TextIsFormattedAndCutOff) {
  const Error error = make_error(Status::kUnsupported, "width is %d of %s", 7, "nine");
  EXPECT_EQ(error.status, Status::kUnsupported);
  EXPECT_STREQ(error.text, "width is 7 of nine");

  const std::string longer(1000, 'x');
  const Error cut = make_error(Status::kIoError, "%s", longer.c_str());
  EXPECT_EQ(std::strlen(cut.text), Error::kTextCapacity - 1);
}

// Fails when Error or Expected begins to own memory.
TEST(Error, IsPlainData) {
  static_assert(std::is_trivially_copyable_v<Error>);
  static_assert(std::is_trivially_copyable_v<Ticket>);
  static_assert(std::is_trivially_copyable_v<FrameInfo>);
  static_assert(std::is_trivially_copyable_v<Frame>);
  const Expected<int> failed = tl::unexpected(make_error(Status::kQueueFull, "full"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, Status::kQueueFull);
}

// Fails when the sizes of the formats or the meaning of an empty rectangle change.
TEST(Frame, FormatsAndRectangles) {
  EXPECT_EQ(bytes_per_pixel(PixelFormat::kGray8), 1);
  EXPECT_EQ(bytes_per_pixel(PixelFormat::kGray16), 2);
  EXPECT_EQ(bytes_per_pixel(PixelFormat::kFloat32), 4);
  EXPECT_TRUE((Rect{3, 4, 0, 0}.empty()));
  EXPECT_FALSE((Rect{0, 0, 1, 0}.empty()));
  EXPECT_EQ((ImageSize{3, 4}), (ImageSize{3, 4}));
  EXPECT_FALSE((ImageSize{3, 4}) == (ImageSize{4, 3}));
}

// Fails when a bit of the flags is shared or read wrongly.
TEST(FrameInfo, FlagsAreSeparate) {
  FrameInfo info;
  EXPECT_FALSE(info.warming_up());
  EXPECT_FALSE(info.bad_pixels());
  info.flags = kWarmingUp;
  EXPECT_TRUE(info.warming_up());
  EXPECT_FALSE(info.bad_pixels());
  info.flags = kBadPixels;
  EXPECT_FALSE(info.warming_up());
  EXPECT_TRUE(info.bad_pixels());
}

// Fails when "never" can pass, when "immediate" has not passed, or when a huge duration overflows
// into the past.
TEST(Deadline, PassesWhenItSays) {
  EXPECT_FALSE(Deadline::never().passed());
  EXPECT_TRUE(Deadline::never().is_never());
  EXPECT_TRUE(Deadline::immediate().passed());
  EXPECT_TRUE(Deadline::after(std::chrono::nanoseconds(0)).passed());
  EXPECT_TRUE(Deadline::after(std::chrono::milliseconds(-5)).passed());
  EXPECT_FALSE(Deadline::after(std::chrono::hours(1)).passed());
  EXPECT_TRUE(Deadline::after(std::chrono::nanoseconds::max()).is_never());
  const Deadline soon = Deadline::after(std::chrono::milliseconds(2));
  EXPECT_FALSE(soon.is_never());
  std::this_thread::sleep_until(soon.time());
  EXPECT_TRUE(soon.passed());
  const auto moment = Deadline::Clock::now() + std::chrono::seconds(9);
  EXPECT_EQ(Deadline::at(moment).time(), moment);
}

// Fails when the linked library and the headers are of different versions.
TEST(Version, LibraryAndHeadersAgree) {
  EXPECT_STREQ(version(), OCELLUS_VERSION_STRING);
  const std::string joined = std::to_string(OCELLUS_VERSION_MAJOR) + "." +
                             std::to_string(OCELLUS_VERSION_MINOR) + "." +
                             std::to_string(OCELLUS_VERSION_PATCH);
  EXPECT_EQ(joined, OCELLUS_VERSION_STRING);
}

}  // namespace
}  // namespace ocellus
