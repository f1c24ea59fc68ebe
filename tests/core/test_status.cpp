// Status, Error, Expected, Frame, Rect, Deadline and the version.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "ocellus/log.h"
#include "ocellus/ocellus.h"

namespace ocellus {
namespace {

constexpr int kStatusCount = static_cast<int>(Status::kStopped) + 1;

// Fails when a status has no message or name of its own, for example after a new status was added.
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

// Fails when an invalid value gives a null pointer or the text of another status.
TEST(Status, UnknownValuesHaveTheirOwnText) {
  const auto unknown = static_cast<Status>(200);
  EXPECT_STREQ(status_name(unknown), "Unknown");
  EXPECT_STREQ(status_message(unknown), "unknown status");
}

// Fails when the text is not formatted, or not cut off and terminated at its capacity.
TEST(Error, TextIsFormattedAndCutOff) {
  const Error error = make_error(Status::kUnsupported, "width is %d of %s", 7, "nine");
  EXPECT_EQ(error.status, Status::kUnsupported);
  EXPECT_STREQ(error.text, "width is 7 of nine");

  const std::string longer(1000, 'x');
  const Error cut = make_error(Status::kIoError, "%s", longer.c_str());
  EXPECT_EQ(std::strlen(cut.text), Error::kTextCapacity - 1);
}

// Fails when Error or Expected owns memory.
TEST(Error, IsPlainData) {
  static_assert(std::is_trivially_copyable_v<Error>);
  static_assert(std::is_trivially_copyable_v<Ticket>);
  static_assert(std::is_trivially_copyable_v<FrameInfo>);
  static_assert(std::is_trivially_copyable_v<Frame>);
  const Expected<int> failed = tl::unexpected(make_error(Status::kQueueFull, "full"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, Status::kQueueFull);
}

// Fails when the value of a failed Expected can be read, which would interpret bytes of the error.
// Also fails when the error of a successful one can be read.
TEST(ExpectedDeathTest, ReadingAnAbsentValueOrErrorEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto with_log = [](auto read) {
    set_log_callback([](void*, LogLevel, const char* text) { std::fputs(text, stderr); }, nullptr);
    read();
  };
  Expected<int> number = tl::unexpected(make_error(Status::kIoError, "no such number"));
  const Expected<std::string> text = tl::unexpected(make_error(Status::kIoError, "no such text"));
  const Expected<void> nothing = tl::unexpected(make_error(Status::kIoError, "not done"));
  const Expected<int> good = 5;
  const Expected<void> done;
  EXPECT_DEATH(with_log([&] { std::printf("%d", *number); }), "IoError: no such number");
  EXPECT_DEATH(with_log([&] { *number = 3; }), "IoError: no such number");
  EXPECT_DEATH(with_log([&] { std::printf("%d", number.value()); }), "IoError: no such number");
  EXPECT_DEATH(with_log([&] { std::printf("%zu", text->size()); }), "IoError: no such text");
  EXPECT_DEATH(with_log([&] { std::printf("%zu", std::move(*text).size()); }), "no such text");
  EXPECT_DEATH(with_log([&] { *nothing; }), "IoError: not done");
  EXPECT_DEATH(with_log([&] { std::printf("%s", good.error().text); }), "successful");
  EXPECT_DEATH(with_log([&] { std::printf("%s", done.error().text); }), "successful");
}

// Fails when an Expected changes, loses or copies its contents, in particular where a bool value
// could be confused with the presence of a value.
TEST(Expected, HoldsAValueOrAnError) {
  Expected<bool> no = false;
  const Expected<bool> copy = no;
  ASSERT_TRUE(copy);
  EXPECT_FALSE(*copy);
  Expected<std::unique_ptr<int>> owner = std::make_unique<int>(7);
  ASSERT_TRUE(owner.has_value());
  const std::unique_ptr<int> taken = *std::move(owner);
  EXPECT_EQ(*taken, 7);
  const Expected<std::string> from_text = "text";
  EXPECT_EQ(from_text->size(), 4u);
  EXPECT_EQ(from_text.value_or("other"), "text");
  const Expected<std::string> failed =
      tl::unexpected(make_error(Status::kCorruptFile, "%d bytes", 12));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, Status::kCorruptFile);
  EXPECT_STREQ(failed.error().text, "12 bytes");
  EXPECT_EQ(failed.value_or("other"), "other");
  Expected<std::string> assigned = failed;
  assigned = std::string("now there");
  EXPECT_EQ(*assigned, "now there");
  EXPECT_TRUE(Expected<void>());
}

// Fails when the size of a format or the meaning of an empty rectangle changes.
TEST(Frame, FormatsHaveTheirSizesAndEmptyRectanglesTheirMeaning) {
  EXPECT_EQ(bytes_per_pixel(PixelFormat::kGray8), 1);
  EXPECT_EQ(bytes_per_pixel(PixelFormat::kGray16), 2);
  EXPECT_EQ(bytes_per_pixel(PixelFormat::kFloat32), 4);
  EXPECT_TRUE((Rect{3, 4, 0, 0}.empty()));
  EXPECT_FALSE((Rect{0, 0, 1, 0}.empty()));
  EXPECT_EQ((ImageSize{3, 4}), (ImageSize{3, 4}));
  EXPECT_FALSE((ImageSize{3, 4}) == (ImageSize{4, 3}));
}

// Fails when two flags share a bit, or a flag is read wrongly.
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

// Fails when "never" can pass, when "immediate" has not passed, or when a very long duration
// overflows into the past.
TEST(Deadline, PassesAtItsTime) {
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

// Fails when the linked library and the headers have different versions.
TEST(Version, LibraryAndHeadersAgree) {
  EXPECT_STREQ(version(), OCELLUS_VERSION_STRING);
  const std::string joined = std::to_string(OCELLUS_VERSION_MAJOR) + "." +
                             std::to_string(OCELLUS_VERSION_MINOR) + "." +
                             std::to_string(OCELLUS_VERSION_PATCH);
  EXPECT_EQ(joined, OCELLUS_VERSION_STRING);
}

}  // namespace
}  // namespace ocellus
