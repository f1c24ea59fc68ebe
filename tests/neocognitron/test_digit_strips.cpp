// Digits in strips of handwritten amounts of cheques, from the development data
// (OCELLUS_TEST_DATA).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "apps/io/image_io.h"
#include "neocognitron/digit_scene.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

struct Strip {
  std::string file;
  std::vector<Rect> boxes;
};

std::vector<Strip> read_strips(const std::string& folder) {
  std::ifstream in(folder + "/digits.csv");
  std::vector<Strip> strips;
  std::string line;
  std::getline(in, line);  // the header
  while (std::getline(in, line)) {
    Strip strip;
    std::istringstream fields(line);
    std::string text;
    std::getline(fields, strip.file, ',');
    std::getline(fields, text, ',');
    while (std::getline(fields, text, ';')) {
      std::istringstream numbers(text);
      Rect box;
      if (numbers >> box.x >> box.y >> box.width >> box.height) strip.boxes.push_back(box);
    }
    strips.push_back(std::move(strip));
  }
  return strips;
}

// Fails if fewer digits of the strips are found than today. The parameters of the finder were
// chosen with the strips of even index, so only the others count.
TEST(DigitStrips, DigitsAreFound) {
  const std::string folder = data_folder() + "/digit_strings/orand_car_a";
  if (data_folder().empty() || !std::filesystem::exists(folder + "/digits.csv")) {
    GTEST_SKIP() << "OCELLUS_TEST_DATA has no digit_strings/orand_car_a";
  }
  const auto strips = read_strips(folder);
  ASSERT_EQ(strips.size(), 200u);
  int digits = 0;
  int found_digits = 0;
  int count = 0;
  int complete = 0;
  for (std::size_t i = 1; i < strips.size(); i += 2) {
    const app::GrayImage image = app::read_image(folder + "/images/" + strips[i].file);
    detail::CharacterFinderConfig config;
    config.size = image.size;
    Finder finder(config);
    finder.find(image.pixels, image.size.width, image.size.height);
    const auto found = finder.boxes();
    std::vector<bool> used(found.size());
    int matches = 0;
    for (const Rect& box : strips[i].boxes) {
      for (std::size_t f = 0; f < found.size(); ++f) {
        if (used[f] || intersection_over_union(box, found[f]) <= 0.5) continue;
        used[f] = true;
        ++matches;
        break;
      }
    }
    digits += static_cast<int>(strips[i].boxes.size());
    found_digits += matches;
    ++count;
    if (matches == static_cast<int>(strips[i].boxes.size()) &&
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
