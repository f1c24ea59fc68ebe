// Characters in frames with known boxes: polarity, light, noise, slant, touching characters, forms,
// clutter, and the limits of the finder.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "neocognitron/digit_scene.h"

namespace ocellus::test {
namespace {

using detail::CharacterFinderConfig;

constexpr int kWidth = 640;
constexpr int kHeight = 480;

CharacterFinderConfig config_for(int width = kWidth, int height = kHeight) {
  CharacterFinderConfig config;
  config.size = {width, height};
  return config;
}

/// Each expected box has one found box, in the same order.
void expect_boxes(const std::vector<Rect>& found, const std::vector<Rect>& expected,
                  double least = 0.7) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_GT(intersection_over_union(found[i], expected[i]), least)
        << "character " << i << ": found " << found[i].x << ' ' << found[i].y << ' '
        << found[i].width << ' ' << found[i].height << ", expected " << expected[i].x << ' '
        << expected[i].y << ' ' << expected[i].width << ' ' << expected[i].height;
  }
}

Scene eight_digits(double degrees = 0, double height = 36) {
  Scene scene(kWidth, kHeight);
  const double slope = std::tan(degrees * std::numbers::pi / 180);
  constexpr std::array<int, 8> kDigits{2, 0, 4, 8, 1, 5, 3, 6};
  for (int i = 0; i < 8; ++i) {
    const double x = 110 + i * 1.15 * height;
    scene.digit(kDigits[i], x, 180 + slope * (x - 110), height, 4, degrees);
  }
  return scene;
}

class EightDigits : public testing::TestWithParam<bool> {};

// Fails if a polarity is not recognized, or if boxes, order or lines are wrong.
TEST_P(EightDigits, AreFoundInOrder) {
  const Scene scene = eight_digits();
  Finder finder(config_for());
  finder.find(scene.pixels(GetParam()), kWidth, kHeight);
  expect_boxes(finder.boxes(), scene.boxes());
  // An isolated character costs one recognition.
  EXPECT_EQ(finder->candidates().size(), 8u);
  for (const auto& character : finder.characters()) {
    EXPECT_EQ(character.line, 0);
    EXPECT_EQ(character.light, GetParam());
  }
  EXPECT_FALSE(finder.choice().more);
  EXPECT_FALSE(finder->truncated());
}

// Fails if the threshold does not follow the light, or if noise breaks strokes or adds characters.
TEST_P(EightDigits, AreFoundInUnevenLightNoiseAndBlur) {
  for (const double height : {24.0, 36.0, 48.0}) {
    Scene scene = eight_digits(0, height);
    scene.blur(1);
    Finder finder(config_for());
    finder.find(scene.pixels(GetParam(), 2, 5), kWidth, kHeight);
    expect_boxes(finder.boxes(), scene.boxes(), 0.6);
  }
}

// Fails if a line of characters falls apart into several lines.
TEST_P(EightDigits, AreOneLineUpToTwentyDegrees) {
  for (const double degrees : {-20.0, -8.0, 8.0, 20.0}) {
    const Scene scene = eight_digits(degrees);
    Finder finder(config_for());
    finder.find(scene.pixels(GetParam()), kWidth, kHeight);
    expect_boxes(finder.boxes(), scene.boxes());
    for (const auto& character : finder.characters()) EXPECT_EQ(character.line, 0) << degrees;
  }
}

INSTANTIATE_TEST_SUITE_P(Polarity, EightDigits, testing::Bool(), [](const auto& param) {
  return param.param ? std::string("LightOnDark") : std::string("DarkOnLight");
});

// Fails if a polarity that the caller names is not kept to.
TEST(CharacterFinder, NamedPolarityIsKept) {
  const Scene scene = eight_digits();
  for (const bool light : {false, true}) {
    CharacterFinderConfig config = config_for();
    config.ink = light ? CharacterInk::kLight : CharacterInk::kDark;
    Finder finder(config);
    finder.find(scene.pixels(light), kWidth, kHeight);
    expect_boxes(finder.boxes(), scene.boxes());
    finder.find(scene.pixels(!light), kWidth, kHeight);
    for (const auto& character : finder.characters()) EXPECT_EQ(character.light, light);
    EXPECT_LT(finder.characters().size(), 8u);
  }
}

// Fails if lines are not told apart, or if they are not ordered from the top.
TEST(CharacterFinder, LinesAreOrderedFromTheTop) {
  Scene scene(kWidth, kHeight);
  for (int line = 0; line < 3; ++line) {
    for (int i = 0; i < 6; ++i) scene.digit((3 * line + i) % 10, 60 + 40 * i, 100 + 62 * line, 34);
  }
  Finder finder(config_for());
  finder.find(scene.pixels(), kWidth, kHeight);
  expect_boxes(finder.boxes(), scene.boxes());
  for (int i = 0; i < 18; ++i) EXPECT_EQ(finder.characters()[i].line, i / 6);

  CharacterFinderConfig config = config_for();
  config.group_lines = false;
  Finder unordered(config);
  unordered.find(scene.pixels(), kWidth, kHeight);
  ASSERT_EQ(unordered.characters().size(), 18u);
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_EQ(unordered.characters()[i].line, 0);
    if (i > 0) {
      const Rect a = unordered.characters()[i - 1].box;
      const Rect b = unordered.characters()[i].box;
      EXPECT_LE(2 * a.x + a.width, 2 * b.x + b.width);
    }
  }
}

// Fails if touching characters stay together, or if the option has no effect.
TEST(CharacterFinder, TouchingCharactersAreSplit) {
  Scene scene(320, 120);
  scene.digit(5, 40, 40, 40);
  scene.digit(3, 90, 40, 40);
  scene.digit(0, 117, 40, 40);
  scene.digit(7, 180, 40, 40);
  Finder finder(config_for(320, 120));
  finder.find(scene.pixels(), 320, 120);
  expect_boxes(finder.boxes(), scene.boxes(), 0.6);
  // A stroke along a cut belongs to both characters, any other pixel to one.
  std::vector<int> owners(320 * 120, 0);
  for (int i = 0; i < static_cast<int>(finder.characters().size()); ++i) {
    for (const auto& run : finder->ink(finder.chosen()[i])) {
      for (int x = run.first; x < run.end; ++x) ++owners[run.y * 320 + x];
    }
  }
  const auto shared = std::count(owners.begin(), owners.end(), 2);
  const auto single = std::count(owners.begin(), owners.end(), 1);
  EXPECT_LT(shared, single / 20);
  EXPECT_LE(*std::max_element(owners.begin(), owners.end()), 2);

  CharacterFinderConfig config = config_for(320, 120);
  config.split_touching = false;
  Finder whole(config);
  whole.find(scene.pixels(), 320, 120);
  EXPECT_EQ(whole.characters().size(), 3u);
}

// Fails if the candidates of touching characters do not cover them, or if a piece of a cluster is
// named wrongly.
TEST(CharacterFinder, TouchingCharactersAreACluster) {
  Scene scene(320, 120);
  scene.digit(3, 90, 40, 40);
  scene.digit(0, 117, 40, 40);
  scene.digit(7, 180, 40, 40);
  Finder finder(config_for(320, 120));
  finder.find(scene.pixels(), 320, 120);
  const auto candidates = finder->candidates();
  ASSERT_GE(candidates.size(), 4u);
  EXPECT_EQ(candidates.back().cluster, 1);
  EXPECT_EQ(candidates.back().first_segment, 0);
  EXPECT_EQ(candidates.back().last_segment, 0);
  int end = 0;
  for (const auto& candidate : candidates) {
    EXPECT_LE(candidate.first_segment, candidate.last_segment);
    EXPECT_LE(candidate.fit, 0.0f);
    if (candidate.cluster == 0) end = std::max(end, candidate.last_segment + 1);
  }
  ASSERT_GE(end, 2);
  // The outer segments have candidates of their own.
  const auto has = [&](int first, int last) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const auto& c) {
      return c.cluster == 0 && c.first_segment == first && c.last_segment == last;
    });
  };
  EXPECT_TRUE(has(0, 0));
  EXPECT_TRUE(has(end - 1, end - 1));
  // Candidates with the same segments are the same ink, so that each appears once.
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    EXPECT_FALSE(candidates[i].cluster == candidates[i - 1].cluster &&
                 candidates[i].first_segment == candidates[i - 1].first_segment &&
                 candidates[i].last_segment == candidates[i - 1].last_segment);
  }
}

// Fails if a character that is broken into two parts side by side has no candidate of its own.
TEST(CharacterFinder, NeighborsThatMayBeOneCharacterAreACluster) {
  Scene scene(320, 120);
  scene.digit(1, 40, 40, 40);
  scene.line({122, 40}, {120, 78}, 4);
  scene.line({130, 42}, {131, 80}, 4);
  scene.digit(7, 200, 40, 40);
  Finder finder(config_for(320, 120));
  finder.find(scene.pixels(), 320, 120);
  const auto candidates = finder->candidates();
  ASSERT_EQ(candidates.size(), 5u);
  EXPECT_EQ(candidates[2].cluster, 1);
  EXPECT_EQ(candidates[3].first_segment, 0);
  EXPECT_EQ(candidates[3].last_segment, 1);
  EXPECT_LE(candidates[3].box.x, candidates[1].box.x);
  EXPECT_GE(candidates[3].box.x + candidates[3].box.width,
            candidates[2].box.x + candidates[2].box.width);
  // Its runs are in the order of rows.
  const auto ink = finder->ink(3);
  EXPECT_EQ(ink.size(), finder->ink(1).size() + finder->ink(2).size());
  for (std::size_t i = 1; i < ink.size(); ++i) EXPECT_LE(ink[i - 1].y, ink[i].y);
  EXPECT_EQ(finder.characters().size(), 4u);
}

// Fails if a low character that touches a tall one, as a zero behind a six, has no candidate.
TEST(CharacterFinder, LowCharactersThatTouchTallOnesAreCandidates) {
  Scene scene(320, 120);
  scene.digit(1, 30, 40, 40);
  const Rect six = scene.digit(6, 80, 40, 40);
  const Rect zero = scene.digit(0, 112, 56, 24);
  scene.line({100, 79}, {119, 80}, 4);
  scene.digit(7, 180, 40, 40);
  Finder finder(config_for(320, 120));
  finder.find(scene.pixels(), 320, 120);
  const auto candidates = finder->candidates();
  for (const Rect& box : {six, zero}) {
    EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), [&](const auto& candidate) {
      return intersection_over_union(candidate.box, box) > 0.6;
    })) << box.x;
  }
}

// Fails if single digits, above all wide ones, are cut.
TEST(CharacterFinder, SingleCharactersAreNotSplit) {
  for (int digit = 0; digit < 10; ++digit) {
    Scene scene(320, 120);
    for (int i = 0; i < 4; ++i) scene.digit(digit, 40 + 60 * i, 40, 40, 5);
    Finder finder(config_for(320, 120));
    finder.find(scene.pixels(), 320, 120);
    expect_boxes(finder.boxes(), scene.boxes());
  }
}

// Fails if the frame of a form is taken for a character.
TEST(CharacterFinder, BoxesOfFormsAreLeftOut) {
  Scene scene(kWidth, kHeight);
  for (int i = 0; i < 4; ++i) {
    const double x = 100 + 90 * i;
    scene.digit(2 * i, x + 22, 120, 36);
    for (const auto& [a, b] : {std::pair<Point, Point>{{x, 100}, {x + 70, 100}},
                               {{x + 70, 100}, {x + 70, 180}},
                               {{x + 70, 180}, {x, 180}},
                               {{x, 180}, {x, 100}}}) {
      scene.line(a, b, 2);
    }
  }
  Finder finder(config_for());
  finder.find(scene.pixels(), kWidth, kHeight);
  expect_boxes(finder.boxes(), scene.boxes());
}

// Fails if a ruled line joins the characters that stand on it, or is taken for one.
TEST(CharacterFinder, RuledLinesAreRemoved) {
  Scene scene(kWidth, kHeight);
  for (int i = 0; i < 6; ++i) scene.digit(i, 100 + 50 * i, 200, 40);
  scene.line({20, 240}, {620, 240}, 2);
  scene.line({20, 190}, {620, 190}, 2);
  Finder finder(config_for());
  finder.find(scene.pixels(), kWidth, kHeight);
  expect_boxes(finder.boxes(), scene.boxes(), 0.6);
}

// Fails if specks become characters or disturb their boxes.
TEST(CharacterFinder, SpecksAreLeftOut) {
  Scene scene = eight_digits();
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const Point at{static_cast<double>(random() % kWidth), static_cast<double>(random() % 160)};
    scene.line(at, at, 1.5 + random() % 3);
  }
  Finder finder(config_for());
  finder.find(scene.pixels(), kWidth, kHeight);
  expect_boxes(finder.boxes(), scene.boxes());
}

// Fails if dots and dashes of a number are taken for digits.
TEST(CharacterFinder, DotsAndDashesAreLeftOut) {
  Scene scene(kWidth, kHeight);
  for (int i = 0; i < 6; ++i) scene.digit(3 + i, 100 + 50 * i, 200, 40);
  scene.line({236, 240}, {236, 240}, 6);
  scene.line({410, 222}, {450, 220}, 4);
  Finder finder(config_for());
  finder.find(scene.pixels(), kWidth, kHeight);
  expect_boxes(finder.boxes(), scene.boxes());
}

// Fails if a part that does not touch its character is lost or becomes a character.
TEST(CharacterFinder, DetachedPartsAreJoined) {
  Scene scene(320, 120);
  scene.digit(1, 30, 40, 40);
  const Rect bar = scene.line({82, 40}, {104, 40}, 4);
  const Rect belly_top = scene.line({82, 48}, {80, 60}, 4);
  const Rect belly = scene.line({80, 60}, {102, 66}, 4);
  const Rect end = scene.line({102, 66}, {96, 80}, 4);
  const Rect foot = scene.line({96, 80}, {80, 79}, 4);
  scene.digit(7, 140, 40, 40);
  Finder finder(config_for(320, 120));
  finder.find(scene.pixels(), 320, 120);
  ASSERT_EQ(finder.characters().size(), 3u);
  Rect five = bar;
  for (const Rect& part : {belly_top, belly, end, foot}) {
    const int right = std::max(five.x + five.width, part.x + part.width);
    const int bottom = std::max(five.y + five.height, part.y + part.height);
    five.x = std::min(five.x, part.x);
    five.y = std::min(five.y, part.y);
    five.width = right - five.x;
    five.height = bottom - five.y;
  }
  EXPECT_GT(intersection_over_union(finder.characters()[1].box, five), 0.85);
}

// Fails if the lower loop of a broken eight is lost. It is at the end of the line, so that no
// neighbor on the right links it to the line.
TEST(CharacterFinder, LowerPartsAtTheEndOfALineAreJoined) {
  Scene scene(320, 120);
  for (int i = 0; i < 3; ++i) scene.digit(5 + i, 40 + 50 * i, 40, 40);
  Finder finder(config_for(320, 120));
  Scene broken = scene;
  const Rect top = broken.digit(0, 192, 40, 17);
  const Rect bottom = broken.digit(0, 190, 64, 16);
  const Rect eight{std::min(top.x, bottom.x), top.y,
                   std::max(top.x + top.width, bottom.x + bottom.width) - std::min(top.x, bottom.x),
                   bottom.y + bottom.height - top.y};
  std::vector<Rect> expected = scene.boxes();
  expected.push_back(eight);
  finder.find(broken.pixels(), 320, 120);
  expect_boxes(finder.boxes(), expected);
}

// Fails if heights outside of the configured range are accepted.
TEST(CharacterFinder, HeightsAreLimited) {
  Scene scene(kWidth, kHeight);
  for (int i = 0; i < 3; ++i) scene.digit(3, 60 + 40 * i, 40, 20, 3);
  for (int i = 0; i < 3; ++i) scene.digit(5, 60 + 80 * i, 130, 50);
  for (int i = 0; i < 3; ++i) scene.digit(2, 60 + 150 * i, 250, 120, 9);
  CharacterFinderConfig config = config_for();
  config.min_height = 35;
  config.max_height = 80;
  Finder finder(config);
  finder.find(scene.pixels(), kWidth, kHeight);
  const auto& boxes = scene.boxes();
  expect_boxes(finder.boxes(), {boxes[3], boxes[4], boxes[5]});
}

// Fails if something is found where nothing is.
TEST(CharacterFinder, EmptyFramesHaveNoCharacters) {
  Finder finder(config_for());
  for (const int level : {0, 1, 128, 254, 255}) {
    finder.find(std::vector<std::uint8_t>(kWidth * kHeight, level), kWidth, kHeight);
    EXPECT_TRUE(finder.characters().empty()) << level;
  }
  Scene paper(kWidth, kHeight);
  for (const double noise : {1.0, 5.0, 15.0}) {
    finder.find(paper.pixels(false, 2, noise), kWidth, kHeight);
    EXPECT_TRUE(finder.characters().empty()) << "noise " << noise;
    finder.find(paper.pixels(true, 2, noise), kWidth, kHeight);
    EXPECT_TRUE(finder.characters().empty()) << "noise " << noise;
  }
}

// Fails if clutter of any kind crashes, gives boxes outside of the frame, or takes unbounded time.
// Promises: RT-006.
TEST(CharacterFinder, NoiseEndsInBoundedTime) {
  std::mt19937 random(3);
  Finder finder(config_for());
  for (const int cell : {1, 2, 3, 5, 9, 20}) {
    std::vector<std::uint8_t> pixels(kWidth * kHeight);
    std::vector<std::uint8_t> cells(kWidth * kHeight);
    for (auto& value : cells) value = static_cast<std::uint8_t>(random());
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        pixels[y * kWidth + x] = cells[y / cell * kWidth + x / cell];
      }
    }
    const auto start = std::chrono::steady_clock::now();
    finder.find(pixels, kWidth, kHeight);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_LT(time.count(), 2.0) << "cells of " << cell;
    EXPECT_LE(finder.characters().size(), 64u);
    for (const Rect& box : finder.boxes()) {
      EXPECT_GE(box.x, 0);
      EXPECT_GE(box.y, 0);
      EXPECT_GT(box.width, 0);
      EXPECT_GT(box.height, 0);
      EXPECT_LE(box.x + box.width, kWidth);
      EXPECT_LE(box.y + box.height, kHeight);
    }
  }
}

// Fails if runs beyond the capacity are written, or if the caller is not told.
// Promises: RT-006.
TEST(CharacterFinder, TruncationIsReported) {
  Finder finder(config_for());
  std::vector<std::uint8_t> pixels(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) pixels[y * kWidth + x] = x % 4 == 0 && y % 2 == 0 ? 20 : 200;
  }
  finder.find(pixels, kWidth, kHeight);
  EXPECT_TRUE(finder->truncated());
  // The next frame is not affected.
  const Scene scene = eight_digits();
  finder.find(scene.pixels(), kWidth, kHeight);
  EXPECT_FALSE(finder->truncated());
  expect_boxes(finder.boxes(), scene.boxes());
}

// Fails if more than 64 characters are not reported, or if not the first ones are kept.
TEST(CharacterFinder, FirstCharactersAreKept) {
  Scene scene(kWidth, kHeight);
  for (int i = 0; i < 80; ++i) scene.digit(i % 10, 30 + 36 * (i % 16), 40 + 60 * (i / 16), 28, 3);
  Finder finder(config_for());
  finder.find(scene.pixels(), kWidth, kHeight);
  EXPECT_TRUE(finder.choice().more);
  const auto& boxes = scene.boxes();
  expect_boxes(finder.boxes(), {boxes.begin(), boxes.begin() + 64});
}

// Fails if a size of a frame is not handled.
TEST(CharacterFinder, SizesOfFrames) {
  for (const ImageSize size : {ImageSize{1, 1}, {65, 3}, {3, 65}, {7, 7}, {8, 9}, {129, 17}}) {
    Finder finder(config_for(size.width, size.height));
    std::vector<std::uint8_t> pixels(size.width * size.height, 200);
    finder.find(pixels, size.width, size.height);
    EXPECT_TRUE(finder.characters().empty());
    pixels[pixels.size() / 2] = 10;
    finder.find(pixels, size.width, size.height);
    EXPECT_TRUE(finder.characters().empty()) << size.width << 'x' << size.height;
  }
  Scene scene(4096, 2160);
  for (int i = 0; i < 10; ++i) scene.digit(i, 300 + 180 * i, 900, 120, 14);
  Finder finder(config_for(4096, 2160));
  finder.find(scene.pixels(), 4096, 2160);
  expect_boxes(finder.boxes(), scene.boxes());
}

// Fails if the stride is ignored, if a frame leaves traces, or if pixels beyond a row count.
TEST(CharacterFinder, StrideAndRepetition) {
  const Scene scene = eight_digits();
  const auto pixels = scene.pixels(false, 2, 5);
  Finder finder(config_for());
  finder.find(pixels, kWidth, kHeight);
  const auto once = finder.boxes();
  constexpr int kStride = kWidth + 37;
  std::vector<std::uint8_t> wide(kStride * kHeight, 0);
  for (int y = 0; y < kHeight; ++y) {
    std::copy_n(pixels.begin() + y * kWidth, kWidth, wide.begin() + y * kStride);
  }
  finder.find(scene.pixels(true), kWidth, kHeight);
  finder.find({wide.data(), kStride, {kWidth, kHeight}});
  EXPECT_EQ(finder.boxes(), once);
}

// ---- outlines of fields

constexpr int kFieldWidth = 150;
constexpr int kFieldHeight = 56;

/// A field with two digits, which is the whole frame, and its outline, whose middle lies `inset`
/// pixels from the sides. `sides`: a bit for each of top, bottom, left and right. `down`: pixels by
/// which the digits are moved.
Scene outlined(double thickness, double inset, unsigned sides = 15, double down = 0) {
  Scene scene(kFieldWidth, kFieldHeight);
  scene.digit(8, 50, 14 + down, 28, 3.5);
  scene.digit(7, 85, 14 + down, 28, 3.5);
  const Point a{inset - 0.5, inset - 0.5};
  const Point b{kFieldWidth - inset - 0.5, kFieldHeight - inset - 0.5};
  if ((sides & 1) != 0) scene.line(a, {b.x, a.y}, thickness);
  if ((sides & 2) != 0) scene.line({a.x, b.y}, b, thickness);
  if ((sides & 4) != 0) scene.line(a, {a.x, b.y}, thickness);
  if ((sides & 8) != 0) scene.line({b.x, a.y}, b, thickness);
  return scene;
}

CharacterFinderConfig field_config(int width = kFieldWidth, int height = kFieldHeight) {
  CharacterFinderConfig config = config_for(width, height);
  config.drop_outline = true;
  return config;
}

// Fails if the outline of a field, or the pieces of it that lie in the field, are read.
TEST(Outline, IsDropped) {
  Finder finder(field_config());
  for (const double thickness : {1.0, 2.0, 3.0}) {
    for (const double inset : {0.0, 0.5, 1.0, 2.0, 3.0, 5.0}) {
      for (const bool blurred : {false, true}) {
        Scene scene = outlined(thickness, inset);
        if (blurred) scene.blur(0.8);
        SCOPED_TRACE(testing::Message()
                     << thickness << " pixels, inset " << inset << ' ' << blurred);
        finder.find(scene.pixels(false, 1.5, 3), kFieldWidth, kFieldHeight);
        expect_boxes(finder.boxes(), scene.boxes(), 0.6);
      }
    }
  }
}

// Fails if a field whose other sides are outside of it reads the sides that are left as ones.
TEST(Outline, PiecesAreDropped) {
  Finder finder(field_config());
  for (const double thickness : {1.0, 2.0, 3.0}) {
    for (unsigned sides = 1; sides < 16; ++sides) {
      const Scene scene = outlined(thickness, 0.5 * thickness, sides);
      // A single upright side is told from a one by its thickness alone.
      if ((sides == 4 || sides == 8) && thickness > 2) continue;
      SCOPED_TRACE(testing::Message() << thickness << " pixels, sides " << sides);
      finder.find(scene.pixels(false, 1.5, 3), kFieldWidth, kFieldHeight);
      expect_boxes(finder.boxes(), scene.boxes(), 0.6);
    }
  }
}

// Fails if a digit that touches the outline is dropped with it, or has a side of it.
TEST(Outline, TouchingDigitsAreSeparated) {
  Finder finder(field_config());
  for (const double thickness : {1.0, 2.0, 3.0}) {
    for (const double inset : {1.5, 3.0}) {
      for (const double sign : {-1.0, 1.0}) {
        // The ink is 1 pixel in the outline.
        const double down = sign * (13.25 - inset - 0.5 * thickness);
        const Scene scene = outlined(thickness, inset, 15, down);
        SCOPED_TRACE(testing::Message() << thickness << " pixels, inset " << inset << ", " << down);
        finder.find(scene.pixels(false, 1.5, 3), kFieldWidth, kFieldHeight);
        expect_boxes(finder.boxes(), scene.boxes(), 0.6);
      }
    }
  }
}

// Fails if something of an empty box is read.
TEST(Outline, EmptyFieldHasNoCharacters) {
  Finder finder(field_config());
  for (const double inset : {0.5, 1.0, 3.0}) {
    Scene scene(kFieldWidth, kFieldHeight);
    const double far_x = kFieldWidth - inset - 0.5;
    const double far_y = kFieldHeight - inset - 0.5;
    scene.line({inset, inset}, {far_x, inset}, 2);
    scene.line({inset, far_y}, {far_x, far_y}, 2);
    scene.line({inset, inset}, {inset, far_y}, 2);
    scene.line({far_x, inset}, {far_x, far_y}, 2);
    finder.find(scene.pixels(false, 1.5, 3), kFieldWidth, kFieldHeight);
    EXPECT_TRUE(finder.boxes().empty()) << inset;
  }
}

// Fails if a digit that touches the border of a field is taken for a side of an outline.
TEST(Outline, DigitsInTightFieldsAreKept) {
  for (int first = 0; first < 10; ++first) {
    for (int second = 0; second < 10; ++second) {
      for (const double slant : {-6.0, 0.0, 6.0}) {
        Scene page(200, 100);
        const Rect a = page.digit(first, 40, 30, 36, 4, slant);
        const Rect b = page.digit(second, 40 + 36, 30, 36, 4, slant);
        const int top = std::min(a.y, b.y);
        const int bottom = std::max(a.y + a.height, b.y + b.height);
        const ImageSize size{b.x + b.width - a.x, bottom - top};
        const auto pixels = page.pixels(false, 1, 3);
        const detail::GrayPlane field{pixels.data() + top * 200 + a.x, 200, size};
        Finder plain(config_for(size.width, size.height));
        Finder finder(field_config(size.width, size.height));
        plain.find(field);
        finder.find(field);
        EXPECT_EQ(finder.boxes(), plain.boxes()) << first << second << " slant " << slant;
      }
    }
  }
}

// Fails if ranges of rows that are extracted apart differ from the whole.
TEST(InkComponents, RangesOfRowsGiveTheSameRuns) {
  const Scene scene = eight_digits();
  const auto pixels = scene.pixels(false, 2, 5);
  const detail::GrayPlane plane{pixels.data(), kWidth, {kWidth, kHeight}};
  Finder finder(config_for());
  finder.find(plane);
  detail::LayoutBuilder size;
  { const detail::InkComponents probe(plane.size, 10, false, size); }
  const LaidOutMemory memory(size.bytes());
  detail::LayoutBuilder layout(memory.get());
  detail::InkComponents components(plane.size, 10, false, layout);
  std::vector<std::uint8_t> thresholds(detail::InkComponents::threshold_bytes(kWidth));
  std::vector<std::uint64_t> ink(detail::InkComponents::ink_words(kWidth));
  std::vector<detail::InkRun> whole(20000);
  const int count = components.extract(plane, finder->levels(), 0, kHeight, thresholds.data(),
                                       ink.data(), whole.data(), static_cast<int>(whole.size()));
  ASSERT_GT(count, 100);
  std::vector<detail::InkRun> parts(20000);
  int sum = 0;
  for (const auto& [first, end] : {std::pair{0, 61}, {61, 62}, {62, 200}, {200, kHeight}}) {
    sum += components.extract(plane, finder->levels(), first, end, thresholds.data(), ink.data(),
                              &parts[sum], static_cast<int>(parts.size()) - sum);
  }
  ASSERT_EQ(sum, count);
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(parts[i].y, whole[i].y);
    EXPECT_EQ(parts[i].first, whole[i].first);
    EXPECT_EQ(parts[i].end, whole[i].end);
    EXPECT_EQ(parts[i].contrast, whole[i].contrast);
  }
}

}  // namespace
}  // namespace ocellus::test
