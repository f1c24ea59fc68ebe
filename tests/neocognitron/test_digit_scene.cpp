// Synthetic scenes of digits.
#include "apps/io/digit_scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "neocognitron/digit_scene.h"

namespace ocellus::test {
namespace {

// Fails if a class is never drawn, or if digits of a class do not vary.
TEST(DrawnDigits, HaveAllClassesAndVary) {
  const app::DigitImages digits = app::draw_digits(300, 1);
  ASSERT_EQ(digits.count(), 300u);
  const auto area =
      static_cast<std::size_t>(digits.width) * static_cast<std::size_t>(digits.height);
  std::array<std::set<std::vector<std::uint8_t>>, 10> images;
  for (std::size_t i = 0; i < digits.count(); ++i) {
    const auto begin = digits.ink.begin() + static_cast<std::ptrdiff_t>(i * area);
    images[digits.labels[i]].emplace(begin, begin + static_cast<std::ptrdiff_t>(area));
    EXPECT_EQ(*std::max_element(begin, begin + static_cast<std::ptrdiff_t>(area)), 255);
  }
  for (const auto& different : images) EXPECT_GT(different.size(), 10u);
}

// Fails if a scene depends on anything but its configuration and number.
TEST(DigitScene, EqualSeedsGiveEqualScenes) {
  const app::DigitImages digits = app::draw_digits(100, 1);
  app::DigitSceneConfig config;
  const app::DigitScene a = app::make_digit_scene(config, digits, 3);
  const app::DigitScene b = app::make_digit_scene(config, digits, 3);
  EXPECT_EQ(a.image.pixels, b.image.pixels);
  EXPECT_EQ(a.string, b.string);
  EXPECT_NE(a.image.pixels, app::make_digit_scene(config, digits, 4).image.pixels);
  config.seed = 2;
  EXPECT_NE(a.image.pixels, app::make_digit_scene(config, digits, 3).image.pixels);
}

// Fails if digits lie outside of the frame or out of order, or if their heights are far from the
// configured ones. The tilt changes heights by less than a quarter.
TEST(DigitScene, BoxesAreInOrderAndOfTheRightHeight) {
  const app::DigitImages digits = app::draw_digits(100, 1);
  const app::DigitSceneConfig config;
  for (int number = 0; number < 10; ++number) {
    const app::DigitScene scene = app::make_digit_scene(config, digits, number);
    ASSERT_EQ(scene.boxes.size(), 8u);
    ASSERT_EQ(scene.string.size(), 8u);
    for (std::size_t i = 0; i < 8; ++i) {
      const Rect& box = scene.boxes[i];
      EXPECT_EQ(scene.string[i], '0' + digits.labels[scene.images[i]]);
      EXPECT_GT(box.x, 0);
      EXPECT_GT(box.y, 0);
      EXPECT_LT(box.x + box.width, config.size.width);
      EXPECT_LT(box.y + box.height, config.size.height);
      EXPECT_GT(box.height, 0.7 * config.min_height);
      EXPECT_LT(box.height, 1.3 * config.max_height);
      if (i > 0) {
        EXPECT_GT(box.x, scene.boxes[i - 1].x);
      }
    }
  }
}

// Fails if a box does not hold the ink of its digit: the finder has to find the same boxes.
TEST(DigitScene, DigitsLieInTheirBoxes) {
  const app::DigitImages digits = app::draw_digits(100, 1);
  for (const bool light : {false, true}) {
    app::DigitSceneConfig config;
    config.light_ink = light;
    config.min_gap = 0.3;
    int found = 0;
    for (int number = 0; number < 5; ++number) {
      const app::DigitScene scene = app::make_digit_scene(config, digits, number);
      detail::CharacterFinderConfig finder_config;
      finder_config.size = config.size;
      Finder finder(finder_config);
      finder.find(scene.image.pixels, config.size.width, config.size.height);
      for (const Rect& box : finder.boxes()) {
        found += std::any_of(scene.boxes.begin(), scene.boxes.end(), [&](const Rect& expected) {
          return intersection_over_union(box, expected) > 0.6;
        });
      }
    }
    EXPECT_GE(found, 36) << "of 40";
  }
}

}  // namespace
}  // namespace ocellus::test
