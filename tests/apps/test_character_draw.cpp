// Drawing of boxes, text and characters.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ocellus/character_draw.h"
#include "ocellus/neocognitron.h"

namespace ocellus {
namespace {

constexpr OverlayColor kWhite{255, 255, 255};
constexpr int kWhiteLuma = 235;

/// A gray image of 8 bits with a border that must not change.
struct Canvas {
  static constexpr int kBorder = 4;
  static constexpr std::uint8_t kUntouched = 7;

  explicit Canvas(ImageSize image_size)
      : size(image_size),
        stride(size.width + 2 * kBorder),
        pixels(static_cast<std::size_t>(stride * (size.height + 2 * kBorder)), kUntouched) {}

  OverlayImage view() {
    OverlayImage image;
    image.size = size;
    image.planes[0] = pixels.data() + kBorder * stride + kBorder;
    image.strides[0] = stride;
    return image;
  }
  int at(int x, int y) const {
    return pixels[static_cast<std::size_t>((y + kBorder) * stride + x + kBorder)];
  }
  int changed() const {
    return static_cast<int>(pixels.size() - static_cast<std::size_t>(std::count(
                                                pixels.begin(), pixels.end(), kUntouched)));
  }
  int changed_inside() const {
    int count = 0;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) count += at(x, y) == kUntouched ? 0 : 1;
    return count;
  }

  ImageSize size;
  int stride;
  std::vector<std::uint8_t> pixels;
};

// Fails when rows or columns of the font are mirrored, or the scale does not enlarge each pixel.
TEST(DrawText, DrawsTheFont) {
  Canvas small({6, 8});
  draw_text("L", 0, 0, 1, kWhite, small.view());
  EXPECT_EQ(small.at(0, 0), kWhiteLuma);
  EXPECT_EQ(small.at(4, 6), kWhiteLuma);
  EXPECT_EQ(small.at(4, 0), Canvas::kUntouched);
  EXPECT_EQ(small.changed(), 11);
  Canvas large({18, 24});
  draw_text("L", 0, 0, 3, kWhite, large.view());
  for (int y = 0; y < 24; ++y)
    for (int x = 0; x < 18; ++x) EXPECT_EQ(large.at(x, y), small.at(x / 3, y / 3)) << x << "," << y;
}

// Fails when two characters look alike, one is empty, or one touches its neighbor.
TEST(DrawText, HasAllPrintableCharacters) {
  std::vector<std::vector<std::uint8_t>> seen;
  for (char character = '!'; character <= '~'; ++character) {
    Canvas canvas({kGlyphWidth, kGlyphHeight});
    draw_text(std::string(1, character), 0, 0, 1, kWhite, canvas.view());
    EXPECT_GT(canvas.changed(), 1) << character;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), canvas.pixels), 0) << character;
    for (int y = 0; y < kGlyphHeight; ++y) EXPECT_EQ(canvas.at(5, y), Canvas::kUntouched);
    seen.push_back(canvas.pixels);
  }
  Canvas blank({20, 10});
  draw_text(" ", 0, 0, 1, kWhite, blank.view());
  EXPECT_EQ(blank.changed(), 0);
  // One character of three bytes is one rectangle.
  Canvas other({20, 10});
  draw_text("\xe3\x81\x82", 0, 0, 1, kWhite, other.view());
  EXPECT_EQ(other.changed(), 20);
}

// Fails when text or a box writes beside the image.
TEST(DrawText, CutsWhatIsOutside) {
  for (const int x : {INT_MIN, -70, -3, 0, 14, 30, INT_MAX}) {
    for (const int y : {INT_MIN, -9, 0, 9, INT_MAX}) {
      Canvas canvas({16, 12});
      draw_text("ab\ncd", x, y, 2, kWhite, canvas.view());
      draw_text("ab", x, y, INT_MAX, kWhite, canvas.view());
      draw_box({x, y, 9, 7}, 3, kWhite, canvas.view());
      draw_box({x, y, INT_MAX, INT_MAX}, INT_MAX, kWhite, canvas.view());
      EXPECT_EQ(canvas.changed(), canvas.changed_inside()) << x << "," << y;
    }
  }
}

// Fails when the outline is thicker than asked, or grows out of the box.
TEST(DrawBox, DrawsAnOutline) {
  Canvas canvas({20, 20});
  draw_box({3, 4, 10, 8}, 2, kWhite, canvas.view());
  EXPECT_EQ(canvas.changed(), 10 * 8 - 6 * 4);
  EXPECT_EQ(canvas.at(3, 4), kWhiteLuma);
  EXPECT_EQ(canvas.at(12, 11), kWhiteLuma);
  EXPECT_EQ(canvas.at(5, 6), Canvas::kUntouched);
  Canvas none({20, 20});
  draw_box({3, 4, 0, 8}, 2, kWhite, none.view());
  draw_box({3, 4, 8, -8}, 2, kWhite, none.view());
  EXPECT_EQ(none.changed(), 0);
}

// Fails when a rejected character has the color or the name of an accepted one, or an empty tile is
// drawn.
TEST(DrawCharacters, TellsRejectedFromAccepted) {
  const ClassName names[] = {"A", "B"};
  NeocognitronConfig config;
  config.size = {80, 64};
  Expected<OperatorInfo> info = Neocognitron::info_for(config);
  ASSERT_TRUE(info) << info.error().text;
  EXPECT_EQ(info->class_names, nullptr) << "the names live as long as an operator";
  info->classes = 2;
  info->class_names = names;
  const ImageSize size{80, 64};
  constexpr std::size_t kLuma = std::size_t{80} * 64;
  NeocognitronRecord record;
  record.x[0] = 30;
  record.y[0] = 24;
  record.width[0] = 16;
  record.height[0] = 32;
  const auto draw = [&](std::int32_t label, std::uint32_t flags) {
    record.count = 1;
    record.label[0] = label;
    record.flags[0] = flags;
    std::vector<std::uint8_t> i420(kLuma * 3 / 2, 128);
    OverlayImage image;
    image.format = OverlayImage::Format::kI420;
    image.size = size;
    image.planes = {i420.data(), i420.data() + kLuma, i420.data() + kLuma * 5 / 4};
    image.strides = {80, 40, 40};
    draw_items(*info, &record, image);
    return i420;
  };
  const auto accepted = draw(0, 0);
  const auto rejected = draw(0, kCharacterRejected);
  EXPECT_NE(accepted, draw(1, 0));
  EXPECT_NE(accepted, rejected);
  const std::size_t corner = std::size_t{22} / 2 * 40 + 28 / 2;  // two pixels from the ink
  EXPECT_LT(accepted[kLuma * 5 / 4 + corner], 110) << "green";
  EXPECT_GT(rejected[kLuma * 5 / 4 + corner], 150) << "orange";
  const std::vector<std::uint8_t> untouched(kLuma * 3 / 2, 128);
  EXPECT_EQ(draw(-1, kCharacterEmpty), untouched);
  EXPECT_EQ(draw(2, 0), untouched) << "the model has no such class";
  for (int y = 24; y < 56; ++y)
    for (int x = 30; x < 46; ++x)
      EXPECT_EQ(accepted[static_cast<std::size_t>(y * 80 + x)], 128) << "the ink stays visible";
  // The outline of an item that fills the image lies at its edge, and the name in it.
  record = {};
  record.width[0] = 80;
  record.height[0] = 64;
  const auto whole = draw(0, 0);
  for (const std::size_t at : {std::size_t{0}, std::size_t{79}, kLuma - 80, kLuma - 1})
    EXPECT_NE(whole[at], 128) << at;
  EXPECT_GT(std::count_if(whole.begin() + 3 * 80, whole.begin() + 40 * 80,
                          [](std::uint8_t luma) { return luma != 128; }),
            100);
}

}  // namespace
}  // namespace ocellus
