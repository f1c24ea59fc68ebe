// Digits in strips of handwritten amounts of cheques, from the development data
// (OCELLUS_TEST_DATA).
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "neocognitron/digit_frames.h"
#include "neocognitron/digit_scene.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

// Fails if fewer digits of the strips are found than today. The parameters of the finder were
// chosen with the strips of even index, so only the others count.
TEST(DigitStrips, DigitsAreFound) {
  const std::string folder = data_folder() + "/digit_strings/orand_car_a";
  if (data_folder().empty() || !std::filesystem::exists(folder + "/digits.csv")) {
    GTEST_SKIP() << "OCELLUS_TEST_DATA has no digit_strings/orand_car_a";
  }
  const auto strips = read_strips(folder, Strips::kOdd);
  ASSERT_EQ(strips.size(), 100u);
  int digits = 0;
  int found_digits = 0;
  int count = 0;
  int complete = 0;
  for (const DigitFrame& strip : strips) {
    const app::GrayImage& image = strip.image;
    detail::CharacterFinderConfig config;
    config.size = image.size;
    Finder finder(config);
    finder.find(image.pixels, image.size.width, image.size.height);
    const auto found = finder.boxes();
    std::vector<bool> used(found.size());
    int matches = 0;
    for (const Rect& box : strip.boxes) {
      for (std::size_t f = 0; f < found.size(); ++f) {
        if (used[f] || intersection_over_union(box, found[f]) <= 0.5) continue;
        used[f] = true;
        ++matches;
        break;
      }
    }
    digits += static_cast<int>(strip.boxes.size());
    found_digits += matches;
    ++count;
    if (matches == static_cast<int>(strip.boxes.size()) &&
        matches == static_cast<int>(found.size())) {
      ++complete;
    }
  }
  RecordProperty("digits_found", std::to_string(found_digits) + " of " + std::to_string(digits));
  RecordProperty("strips_complete", std::to_string(complete) + " of " + std::to_string(count));
  EXPECT_GE(found_digits, digits * 89 / 100);
  EXPECT_GE(complete, count * 65 / 100);
}

}  // namespace
}  // namespace ocellus::test
