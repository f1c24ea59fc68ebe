// Images of the ink of characters.
#include <gtest/gtest.h>

#include "neocognitron/digit_scene.h"

namespace ocellus::test {
namespace {

using detail::InkImager;

struct Image {
  ImageSize size;
  std::vector<std::uint8_t> pixels;

  int at(int x, int y) const { return pixels[y * InkImager::kSide + x]; }
  int highest() const { return *std::max_element(pixels.begin(), pixels.end()); }
  double sum() const {
    double sum = 0;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) sum += at(x, y);
    }
    return sum;
  }
};

/// Finds the characters of a field and draws each of them. `largest`: frames of the imager.
std::vector<Image> draw(const detail::GrayPlane& plane, ImageSize largest) {
  detail::CharacterFinderConfig config;
  config.size = plane.size;
  Finder finder(config);
  finder.find(plane);
  detail::LayoutBuilder size;
  { const InkImager probe(largest, size); }
  const LaidOutMemory memory(size.bytes());
  detail::LayoutBuilder layout(memory.get());
  InkImager imager(largest, layout);
  std::vector<Image> images;
  for (int i = 0; i < static_cast<int>(finder.characters().size()); ++i) {
    Image image{{}, std::vector<std::uint8_t>(InkImager::kSide * InkImager::kSide)};
    image.size = imager.draw(plane, finder->levels(), finder->ink(finder.chosen()[i]),
                             finder.characters()[i].box, image.pixels.data());
    images.push_back(std::move(image));
  }
  return images;
}

std::vector<Image> draw(const std::vector<std::uint8_t>& pixels, int width, int height) {
  const ImageSize size{width, height};
  return draw({pixels.data(), width, size}, size);
}

// Fails if strokes are not full ink, if the background is not 0, or if edges are hard.
TEST(InkImage, StrokesAreFullAndEdgesAreSoft) {
  for (const bool light : {false, true}) {
    Scene scene(200, 120);
    scene.digit(1, 60, 40, 40, 6);
    scene.blur(1);
    const auto images = draw(scene.pixels(light, 2, 2), 200, 120);
    ASSERT_EQ(images.size(), 1u);
    const Image& image = images[0];
    EXPECT_EQ(image.highest(), 255);
    int background = 0;
    int soft = 0;
    int full = 0;
    for (int y = 0; y < image.size.height; ++y) {
      for (int x = 0; x < image.size.width; ++x) {
        background += image.at(x, y) < 16 ? 1 : 0;
        soft += image.at(x, y) > 40 && image.at(x, y) < 215 ? 1 : 0;
        full += image.at(x, y) > 230 ? 1 : 0;
      }
    }
    EXPECT_GT(background, image.size.width * image.size.height / 4);
    EXPECT_GT(full, 100);
    EXPECT_GT(soft, 60);
    // The corner below the flag of the 1 has no ink.
    EXPECT_LT(image.at(1, image.size.height - 2), 16);
  }
}

// Fails if the image depends on the contrast or on the polarity.
TEST(InkImage, ContrastIsStretched) {
  std::vector<std::vector<Image>> all;
  for (const bool light : {false, true}) {
    for (const double ink : {40.0, 120.0}) {
      Scene scene(200, 120, 180, ink);
      scene.digit(3, 60, 40, 40, 5);
      all.push_back(draw(scene.pixels(light), 200, 120));
    }
  }
  for (const auto& images : all) {
    ASSERT_EQ(images.size(), 1u);
    EXPECT_EQ(images[0].size, all[0][0].size);
    EXPECT_NEAR(images[0].sum(), all[0][0].sum(), 0.05 * all[0][0].sum());
  }
}

// Fails if ink of a neighbor in the same box is drawn.
TEST(InkImage, NeighborsAreLeftOut) {
  Scene alone(240, 120);
  alone.digit(7, 60, 40, 40, 4, 25);
  Scene both(240, 120);
  both.digit(7, 60, 40, 40, 4, 25);
  both.digit(7, 84, 40, 40, 4, 25);
  const auto one = draw(alone.pixels(), 240, 120);
  const auto two = draw(both.pixels(), 240, 120);
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(two.size(), 2u);
  ASSERT_EQ(two[0].size, one[0].size);
  EXPECT_NEAR(two[0].sum(), one[0].sum(), 0.03 * one[0].sum());
}

// Fails if an image has pixels outside of the field: beyond the last field, they are beyond the
// frame.
TEST(InkImage, PixelsAreThoseOfTheField) {
  Scene scene(200, 120);
  scene.digit(4, 60, 40, 40, 5);
  scene.digit(7, 100, 40, 40, 5);
  const auto pixels = scene.pixels();
  // The digits touch the borders on the right and below.
  const Rect first = scene.boxes()[0];
  const Rect second = scene.boxes()[1];
  const ImageSize field{second.x + second.width - 1, first.y + first.height - 1};
  std::vector<std::uint8_t> inside;
  for (int y = 0; y < field.height; ++y)
    inside.insert(inside.end(), pixels.begin() + y * 200, pixels.begin() + y * 200 + field.width);
  const auto expected = draw(inside, field.width, field.height);
  const auto images = draw({pixels.data(), 200, field}, {200, 120});
  ASSERT_EQ(images.size(), 2u);
  ASSERT_EQ(expected.size(), 2u);
  for (std::size_t i = 0; i < images.size(); ++i) {
    ASSERT_EQ(images[i].size, expected[i].size);
    for (int y = 0; y < images[i].size.height; ++y)
      for (int x = 0; x < images[i].size.width; ++x)
        ASSERT_EQ(images[i].at(x, y), expected[i].at(x, y)) << x << ", " << y;
  }
}

// Fails if a large character is cut off, or if it is not the mean of areas.
TEST(InkImage, LargeCharactersAreReduced) {
  Scene scene(kMaxImageSide / 16, 400);
  scene.digit(8, 300, 40, 300, 30);
  const auto images = draw(scene.pixels(), scene.width(), scene.height());
  ASSERT_EQ(images.size(), 1u);
  const Image& image = images[0];
  EXPECT_LE(image.size.height, InkImager::kSide);
  EXPECT_GE(image.size.height, InkImager::kSide / 2);
  EXPECT_LT(image.size.width, image.size.height);
  EXPECT_EQ(image.highest(), 255);
  // The holes of the 8 and its upper and lower bows.
  const int middle = image.size.width / 2;
  int changes = 0;
  for (int y = 1; y < image.size.height; ++y) {
    changes += (image.at(middle, y) > 127) != (image.at(middle, y - 1) > 127) ? 1 : 0;
  }
  EXPECT_GE(changes, 5);
}

}  // namespace
}  // namespace ocellus::test
