// The kernels that find and draw the ink of a frame, run on the host: their levels, runs and images
// are the bytes of the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "image/gray_rows.h"
#include "kernels/host_work.h"
#include "kernels/neocognitron/kernels.h"
#include "neocognitron/digit_scene.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

using cuda::InkField;
using detail::CharacterFinder;
using detail::CharacterFinderConfig;
using detail::InkGrid;
using detail::InkImager;
using detail::InkRun;

/// Of a frame.
constexpr int kMostCandidates = 1024;

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

CharacterFinder& of(Finder& finder) {
  return *finder.operator->();
}

template <typename Argument>
void run(cuda::Kernel<Argument> kernel, std::size_t blocks, int threads, std::size_t shared_bytes,
         Argument argument, int blocks_y = 1) {
  void* arguments[] = {&argument};
  const auto work = host_work({reinterpret_cast<const void*>(kernel), static_cast<unsigned>(blocks),
                               static_cast<unsigned>(blocks_y), 1, static_cast<unsigned>(threads),
                               shared_bytes, arguments});
  ASSERT_TRUE(work != nullptr) << "the kernel does not run on the host";
  work();
}

/// The arrays of a field.
struct FieldMemory {
  std::vector<cuda::InkBlock> blocks;
  std::vector<detail::InkWindow> windows;
  unsigned long long votes = ~0ull;
  std::vector<std::int16_t> background;
  std::vector<std::int16_t> threshold;
  std::vector<std::int16_t> noise;
  std::vector<std::uint32_t> masks;
  std::vector<int> row_runs;
  int run_count = -1;
  std::unique_ptr<LaidOutMemory> ink;
  detail::PartCounts part_counts;
};

struct Field {
  Rect rect;
  int max_height = 0;  ///< of characters; decides on the sides of the blocks
  bool has_outline = false;
};

CharacterFinderConfig config_of(const Field& field, CharacterInk ink) {
  CharacterFinderConfig config;
  config.size = {field.rect.width, field.rect.height};
  config.ink = ink;
  config.max_height = field.max_height;
  config.drop_outline = field.has_outline;
  return config;
}

/// A frame with fields that goes through the kernels and through the CPU.
class InkTest {
 public:
  InkTest(FrameBuffer frame, const std::vector<Field>& fields, CharacterInk ink,
          bool shared_parts = true)
      : frame_(std::move(frame)),
        fields_(fields),
        memory_(fields.size()),
        counts_(fields.size()),
        ink_(ink) {
    const Frame view = frame_.frame(0);
    size_ = view.size;
    pixels_.resize(index(size_.width * size_.height));
    for (int y = 0; y < size_.height; ++y) {
      std::uint8_t* const row = pixels_.data() + y * size_.width;
      if (view.format == PixelFormat::kGray8)
        std::copy_n(static_cast<const std::uint8_t*>(view.data) + y * view.stride, size_.width,
                    row);
      else
        detail::write_gray_row(view, y, row);
    }
    params_.image = view.data;
    params_.image_stride = view.stride;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      cpu_.push_back(std::make_unique<Finder>(config_of(fields[i], ink)));
      device_fields_.push_back(place(i));
      for (int row = 0; row < device_fields_[i].grid.rows(); ++row)
        rows_.push_back({static_cast<int>(i), row});
    }
    arguments_.frame = &params_;
    arguments_.state = &state_;
    arguments_.fields = device_fields_.data();
    arguments_.field_count = static_cast<int>(fields.size());
    const auto layout_splits = [this](void* memory) {
      detail::LayoutBuilder builder(memory);
      for (detail::SplitArrays& split : splits_) split.layout(builder);
      return builder.bytes();
    };
    split_memory_ = std::make_unique<LaidOutMemory>(layout_splits(nullptr));
    layout_splits(split_memory_->get());
    if (!shared_parts) arguments_.splits = splits_.data();
    arguments_.rows = rows_.data();
    arguments_.ink = ink;
    arguments_.size = size_;
    arguments_.near_runs = shared_parts ? cuda::kNearRuns[0] : 0;
    gray_.assign(pixels_.size(), 7);
    arguments_.gray = gray_.data();
    run(cuda::gray_kernel(view.format), 3, cuda::kGrayThreads, 0, arguments());
    run(cuda::kBlockKernel, rows_.size(), cuda::kInkThreads, 0, arguments());
    run(cuda::kWindowKernel, rows_.size(), cuda::kInkThreads, 0, arguments());
    run(cuda::kMaskKernel, rows_.size(), cuda::kInkThreads, 0, arguments());
    run(cuda::kRunKernel, rows_.size(), cuda::kInkThreads, 0, arguments());
  }

  unsigned bad() const { return state_.bad; }
  int runs(std::size_t field) const { return memory_[field].run_count; }
  int run_capacity(std::size_t field) const { return device_fields_[field].ink.run_capacity; }

  /// Levels, polarity and runs.
  void expect_equal_runs() {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      SCOPED_TRACE("field " + std::to_string(f));
      CharacterFinder& finder = of(*cpu_[f]);
      const detail::GrayPlane plane = plane_of(f);
      for (int half = 0; half < CharacterFinder::kHalves; ++half) finder.measure(plane, half);
      finder.set_levels();
      const detail::InkLevels& levels = finder.levels();
      const FieldMemory& own = memory_[f];

      for (int row = 0; row < levels.block_rows(); ++row)
        for (int column = 0; column < levels.block_columns(); ++column) {
          const detail::InkLevel expected = levels.level(column, row);
          const std::size_t i = index(row * levels.block_columns() + column);
          ASSERT_EQ(own.background[i], expected.background) << column << ", " << row;
          ASSERT_EQ(own.threshold[i], expected.threshold) << column << ", " << row;
          ASSERT_EQ(own.noise[i], expected.noise) << column << ", " << row;
        }
      const std::vector<InkRun> expected = runs_of(f, levels);
      const std::size_t capacity = index(run_capacity(f));
      EXPECT_EQ(index(own.run_count) > capacity, expected.size() > capacity);
      const std::size_t count = std::min(expected.size(), capacity);
      ASSERT_EQ(std::min(index(own.run_count), capacity), count);
      const detail::InkArrays& found = device_fields_[f].ink;
      std::vector<int> row_begin(index(plane.size.height + 1));
      for (std::size_t i = 0; i < count; ++i) {
        expect_equal(found.runs[i], expected[i]);
        for (int y = expected[i].y; y < plane.size.height; ++y) ++row_begin[index(y + 1)];
      }
      EXPECT_TRUE(std::equal(row_begin.begin(), row_begin.end(), found.row_begin));
    }
  }

  /// Groups, candidates and their images. Returns how many candidates there are. To be called after
  /// `expect_equal_runs`.
  std::size_t expect_equal_images() {
    detail::InkArrays arrays{};
    detail::PartArrays parts{};
    run(cuda::kInkGroupKernel, fields_.size(), cuda::kInkGroupThreads,
        cuda::layout_search(arguments_.near_runs, nullptr, arrays, parts), arguments());
    run(cuda::kInkCutKernel, cuda::kInkCutBlocks, cuda::kInkGroupThreads,
        arguments_.splits == nullptr ? cuda::shared_split_bytes() : 0, arguments());
    run(cuda::kInkCandidateKernel, fields_.size(), cuda::kInkGroupThreads, cuda::entry_bytes(),
        arguments());
    struct Candidate {
      std::size_t field;
      int index;
    };
    std::vector<Candidate> candidates;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      CharacterFinder& cpu = of(*cpu_[f]);
      for (int half = 0; half < CharacterFinder::kHalves; ++half) cpu.extract(plane_of(f), half);
      cpu.find();
      expect_equal_groups(f);
      expect_equal_candidates(f);
      for (int i = 0; i < static_cast<int>(cpu.candidates().size()); ++i)
        candidates.push_back({f, i});
    }
    // The candidates behind the first one, so that a batch does not begin with the frame's first.
    const int first = candidates.size() > 1 ? 1 : 0;
    const auto count = static_cast<int>(candidates.size()) - first;
    int present = -1;
    constexpr int kRoom = 2;  // behind the candidates
    std::vector<std::uint8_t> images(index((count + kRoom) * cuda::kImagePixels), 9);
    std::vector<cuda::CandidateImage> sizes(index(count + kRoom));
    int words = 0;
    for (const InkField& field : device_fields_) words = std::max(words, field.grid.width / 32 + 1);
    const cuda::DrawArguments draw{arguments(), kMostCandidates, first,        count + kRoom,
                                   words,       images.data(),   sizes.data(), &present};
    run(cuda::kDrawKernel, cuda::kDrawStrips, cuda::kDrawThreads, cuda::draw_bytes(words), draw,
        count + kRoom);
    EXPECT_EQ(present, count);
    for (int i = 0; i < count; ++i) {
      const Candidate& candidate = candidates[index(first + i)];
      const CharacterFinder& cpu = of(*cpu_[candidate.field]);
      const auto ink = cpu.ink(candidate.index);
      std::vector<std::uint8_t> expected(index(cuda::kImagePixels), 9);
      const ImageSize size =
          imager().draw(plane_of(candidate.field), cpu.levels(), ink,
                        cpu.candidates()[index(candidate.index)].box, expected.data());
      EXPECT_EQ(sizes[index(i)].width, size.width);
      EXPECT_EQ(sizes[index(i)].height, size.height);
      const auto image = images.begin() + i * cuda::kImagePixels;
      const auto differs =
          std::mismatch(expected.begin(), expected.end(), image).first - expected.begin();
      EXPECT_EQ(differs, cuda::kImagePixels)
          << "candidate " << first + i << ": pixel " << differs % cuda::kImageSide << ", "
          << differs / cuda::kImageSide << " of " << size.width << "x" << size.height;
      longest_ = std::max(longest_, static_cast<int>(ink.size()));
    }
    return candidates.size();
  }
  /// The most runs of a candidate that was drawn.
  int longest() const { return longest_; }
  /// Candidates that are pieces of a cluster.
  int cut() const { return cut_; }

 private:
  static bool is_equal(const detail::InkComponent& a, const detail::InkComponent& b) {
    return a.left == b.left && a.top == b.top && a.right == b.right && a.bottom == b.bottom &&
           a.area == b.area && a.contrast == b.contrast && a.runs == b.runs;
  }
  static void expect_equal(const InkRun& run, const InkRun& expected) {
    ASSERT_EQ(run.y, expected.y);
    ASSERT_EQ(run.first, expected.first);
    ASSERT_EQ(run.end, expected.end);
    ASSERT_EQ(run.contrast, expected.contrast);
    ASSERT_EQ(run.label, expected.label);
  }

  void expect_equal_groups(std::size_t field) {
    const FieldMemory& own = memory_[field];
    const CharacterFinder& cpu = of(*cpu_[field]);
    const detail::InkComponents& components = cpu.components();
    for (std::size_t i = 0; i < components.components().size(); ++i)
      ASSERT_TRUE(is_equal(device_fields_[field].ink.components[i], components.components()[i]))
          << i;
    const detail::PartCounts& counts = own.part_counts;
    const detail::PartCounts& expected = cpu.part_counts();
    EXPECT_EQ(counts.truncated, expected.truncated);
    ASSERT_EQ(counts.groups, expected.groups);
    ASSERT_EQ(counts.runs, expected.runs);
    for (int i = 0; i < counts.runs; ++i)
      expect_equal(device_fields_[field].parts.runs[i], cpu.parts().runs[i]);
    for (int i = 0; i < counts.groups; ++i) {
      const detail::FoundGroup& a = device_fields_[field].parts.groups[i];
      const detail::FoundGroup& b = cpu.parts().groups[i];
      ASSERT_TRUE(is_equal(a.box, b.box) && a.first_run == b.first_run &&
                  a.run_count == b.run_count && a.line == b.line &&
                  a.line_height == b.line_height && a.line_x == b.line_x && a.line_y == b.line_y &&
                  a.line_slope == b.line_slope && a.slant.steps == b.slant.steps &&
                  a.slant.rows == b.slant.rows)
          << i;
    }
  }

  void expect_equal_candidates(std::size_t field) {
    const detail::CandidateCounts& counts = counts_[field];
    const CharacterFinder& cpu = of(*cpu_[field]);
    EXPECT_EQ(counts.truncated, cpu.truncated());
    ASSERT_EQ(index(counts.candidates), cpu.candidates().size());
    for (int i = 0; i < counts.candidates; ++i) {
      SCOPED_TRACE("candidate " + std::to_string(i));
      const detail::CharacterCandidate& a = device_fields_[field].lattice.candidates[i];
      const detail::CharacterCandidate& b = cpu.candidates()[index(i)];
      EXPECT_TRUE(a.box.x == b.box.x && a.box.y == b.box.y && a.box.width == b.box.width &&
                  a.box.height == b.box.height);
      EXPECT_TRUE(a.line == b.line && a.light == b.light && a.cluster == b.cluster &&
                  a.first_segment == b.first_segment && a.last_segment == b.last_segment);
      EXPECT_TRUE(a.fit == b.fit && a.width == b.width && a.height == b.height &&
                  a.level == b.level);
      const detail::InkRuns& ink = device_fields_[field].lattice.inks[i];
      const auto expected = cpu.ink(i);
      ASSERT_EQ(index(ink.count), expected.size());
      for (std::size_t r = 0; r < expected.size(); ++r) expect_equal(ink.runs[r], expected[r]);
      cut_ += a.last_segment > 0 ? 1 : 0;
    }
  }

  const cuda::InkArguments& arguments() const { return arguments_; }

  InkField place(std::size_t i) {
    const Rect& rect = fields_[i].rect;
    FieldMemory& own = memory_[i];
    InkField field{};
    field.x = rect.x;
    field.y = rect.y;
    field.grid = CharacterFinder::grid_of(config_of(fields_[i], ink_));
    const std::size_t blocks = index(field.grid.columns() * field.grid.rows());
    own.blocks.resize(blocks);
    own.windows.resize(blocks);
    own.background.resize(blocks);
    own.threshold.resize(blocks);
    own.noise.resize(blocks);
    own.masks.resize(index((rect.width + 31) / 32 * rect.height), ~0u);
    own.row_runs.resize(index(rect.height), -1);
    field.blocks = own.blocks.data();
    field.windows = own.windows.data();
    field.votes = &own.votes;
    field.background = own.background.data();
    field.threshold = own.threshold.data();
    field.noise = own.noise.data();
    field.masks = own.masks.data();
    field.row_runs = own.row_runs.data();
    field.counts = &counts_[i];
    field.run_count = &own.run_count;
    const auto layout = [&](void* memory) {
      detail::LayoutBuilder builder(memory);
      field.ink = CharacterFinder::layout_ink(config_of(fields_[i], ink_), builder);
      field.parts = CharacterFinder::layout_parts(config_of(fields_[i], ink_), field.ink, builder);
      field.lattice.layout(field.ink.run_capacity, true, builder);
      return builder.bytes();
    };
    own.ink = std::make_unique<LaidOutMemory>(layout(nullptr));
    layout(own.ink->get());
    field.part_counts = &own.part_counts;
    return field;
  }

  detail::GrayPlane plane_of(std::size_t field) const {
    const Rect& rect = fields_[field].rect;
    return {pixels_.data() + rect.y * size_.width + rect.x, size_.width, {rect.width, rect.height}};
  }

  /// Those of the CPU, one more than there is room for.
  std::vector<InkRun> runs_of(std::size_t field, const detail::InkLevels& levels) {
    const ImageSize size = plane_of(field).size;
    detail::LayoutBuilder counted;
    { const detail::InkComponents probe(size, 8, false, counted); }
    const LaidOutMemory memory(counted.bytes());
    detail::LayoutBuilder layout(memory.get());
    detail::InkComponents components(size, 8, false, layout);
    std::vector<std::uint8_t> thresholds(detail::InkComponents::threshold_bytes(size.width));
    std::vector<std::uint64_t> words(detail::InkComponents::ink_words(size.width));
    std::vector<InkRun> runs(index(run_capacity(field) + 1));
    const int count = components.extract(plane_of(field), levels, 0, size.height, thresholds.data(),
                                         words.data(), runs.data(), static_cast<int>(runs.size()));
    runs.resize(std::min(index(count), runs.size()));
    return runs;
  }

  InkImager& imager() {
    if (imager_ == nullptr) {
      detail::LayoutBuilder counted;
      { const InkImager probe(size_, counted); }
      imager_memory_ = std::make_unique<LaidOutMemory>(counted.bytes());
      detail::LayoutBuilder layout(imager_memory_->get());
      imager_ = std::make_unique<InkImager>(size_, layout);
    }
    return *imager_;
  }

  FrameBuffer frame_;
  std::vector<Field> fields_;
  std::vector<FieldMemory> memory_;
  std::vector<detail::CandidateCounts> counts_;
  CharacterInk ink_;
  ImageSize size_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> gray_;
  std::vector<std::unique_ptr<Finder>> cpu_;
  std::vector<InkField> device_fields_;
  std::vector<cuda::InkRow> rows_;
  std::vector<detail::SplitArrays> splits_{cuda::kInkCutBlocks};
  std::unique_ptr<LaidOutMemory> split_memory_;
  cuda::FrameParams params_{};
  cuda::TemporalState state_{};
  cuda::InkArguments arguments_{};
  std::unique_ptr<LaidOutMemory> imager_memory_;
  std::unique_ptr<InkImager> imager_;
  int longest_ = 0;
  int cut_ = 0;
};

FrameBuffer frame_of(const std::vector<std::uint8_t>& pixels, ImageSize size,
                     PixelFormat format = PixelFormat::kGray8, double more = 0.0) {
  FrameBuffer frame(size, format, 5);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) frame.set(x, y, pixels[index(y * size.width + x)] + more);
  return frame;
}

/// Digits of different heights, some of them touching, and a rule.
Scene scene_of(int width, int height, double size, double step) {
  Scene scene(width, height);
  for (int i = 0; size > 0 && i * step * size < width; ++i)
    scene.digit((i * 7 + 3) % 10, 3 + step * size * i, 0.2 * height + i % 3, size, size / 8);
  scene.line({0, 0.9 * height}, {0.8 * width, 0.92 * height}, 2);
  scene.blur(0.7);
  return scene;
}

/// Sides of which two lean.
void draw_outline(Scene& scene, const Rect& rect) {
  const double left = rect.x + 3;
  const double top = rect.y + 3;
  const double right = rect.x + rect.width - 4;
  const double bottom = rect.y + rect.height - 3;
  scene.line({left, top}, {right, top + 1.5}, 2);
  scene.line({left, bottom}, {right, bottom}, 1.5);
  scene.line({left, top}, {left + 1, bottom}, 2);
  scene.line({right, top}, {right, bottom}, 2);
}

struct Case {
  const char* name;
  ImageSize size;
  double digits;  ///< height
  std::vector<Field> fields;
  double step = 0.9;  ///< from digit to digit, in their heights
};

class DigitInk : public testing::TestWithParam<Case> {};

// Fails if a level, a run or a pixel of an image is not that of the CPU: for odd sizes, fields,
// blocks of several sides and each polarity.
TEST_P(DigitInk, IsThatOfTheCpu) {
  const Case& c = GetParam();
  Scene scene = scene_of(c.size.width, c.size.height, c.digits, c.step);
  for (const Field& field : c.fields)
    if (field.has_outline) draw_outline(scene, field.rect);
  std::size_t images = 0;
  int cut = 0;
  for (const CharacterInk ink : {CharacterInk::kAuto, CharacterInk::kDark, CharacterInk::kLight}) {
    for (const bool light : {false, true}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(ink)) + (light ? ", light" : ", dark"));
      InkTest test(frame_of(scene.pixels(light, 1.5, 3.0), c.size), c.fields, ink, light);
      EXPECT_EQ(test.bad(), 0u);
      test.expect_equal_runs();
      images += test.expect_equal_images();
      cut += test.cut();
    }
  }
  if (c.step < 0.7) {
    EXPECT_GT(cut, 20) << "the scene has no touching characters: the test is void";
  }
  if (c.digits > 0) {
    EXPECT_GT(images, 6u) << "the scene has no characters: the test is void";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, DigitInk,
    testing::Values(
        Case{"whole", {200, 96}, 32, {{{0, 0, 200, 96}}}},
        Case{"odd", {131, 67}, 24, {{{0, 0, 131, 67}}}}, Case{"least", {3, 2}, 0, {{{0, 0, 3, 2}}}},
        Case{"column", {9, 70}, 0, {{{0, 0, 9, 70}}}},
        Case{"fields", {260, 90}, 30, {{{5, 3, 120, 80}}, {{100, 10, 160, 80}}, {{250, 0, 10, 9}}}},
        Case{"outlines", {261, 73}, 30, {{{1, 3, 140, 69}, 0, true}, {{100, 4, 161, 65}, 0, true}}},
        Case{"touching", {243, 110}, 37, {{{0, 0, 243, 50}}, {{7, 0, 230, 110}}}, 0.5},
        Case{"touching_tall", {221, 190}, 130, {{{0, 0, 221, 190}}}, 0.45},
        Case{"blocks_of_16", {240, 100}, 30, {{{0, 0, 240, 100}, 140}}},
        Case{"blocks_of_64", {150, 200}, 60, {{{0, 0, 150, 200}, 512}}},
        Case{"reduced", {330, 260}, 200, {{{0, 0, 330, 260}}}}),
    [](const auto& made) { return made.param.name; });

// Fails if a format is converted otherwise than on the CPU, or if values that are not finite are
// not found.
TEST(DigitInkFormats, AreThoseOfTheCpu) {
  constexpr ImageSize kSize{120, 60};
  const Scene scene = scene_of(kSize.width, kSize.height, 30, 0.9);
  const std::vector<std::uint8_t> pixels = scene.pixels(false, 1.5, 3.0);
  const std::vector<Field> fields = {{{0, 0, kSize.width, kSize.height}}};
  for (const PixelFormat format : {PixelFormat::kGray16, PixelFormat::kFloat32}) {
    FrameBuffer frame = frame_of(pixels, kSize, format, 0.49);
    InkTest test(frame, fields, CharacterInk::kAuto);
    EXPECT_EQ(test.bad(), 0u);
    test.expect_equal_runs();
    EXPECT_GT(test.expect_equal_images(), 1u);
  }
  FrameBuffer frame = frame_of(pixels, kSize, PixelFormat::kFloat32);
  frame.set(119, 59, std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(InkTest(frame, fields, CharacterInk::kAuto).bad(), 0u);
}

// Fails if more runs or components than there is room for are not counted, or if the first ones are
// not kept. Dots have more components, random ink has components that wind.
// Promises: RT-006.
TEST(DigitInkLimits, WhatIsBeyondTheCapacitiesIsLeftOut) {
  constexpr ImageSize kSize{470, 360};
  for (const bool dots : {false, true}) {
    SCOPED_TRACE(dots);
    std::vector<std::uint8_t> pixels(index(kSize.width * kSize.height), 200);
    std::mt19937 random(3);
    for (int y = 0; y < kSize.height; ++y)
      for (int x = 0; x < kSize.width; ++x)
        if (dots ? x % 3 == 1 && y % 3 == 1 : random() % 3 == 0)
          pixels[index(y * kSize.width + x)] = 20;
    for (const bool has_outline : {false, true}) {
      InkTest test(frame_of(pixels, kSize), {{{0, 0, kSize.width, kSize.height}, 0, has_outline}},
                   CharacterInk::kDark, has_outline);
      EXPECT_GT(test.runs(0), test.run_capacity(0));
      test.expect_equal_runs();
      test.expect_equal_images();
    }
  }
}

// Fails if the lines of a page with more of them than marks are looked for beside differ, or a
// frame with more parts than a warp has lanes.
TEST(DigitInkLimits, PagesHaveManyLines) {
  constexpr ImageSize kSize{110, 780};
  Scene scene(kSize.width, kSize.height);
  for (int line = 0; line < 54; ++line)
    for (int i = 0; i < 3 + line % 2; ++i)
      scene.digit((line * 7 + i * 3) % 10, 5 + 14 * i + line % 3, 4 + 14 * line, 9, 1.5);
  scene.blur(0.4);
  InkTest test(frame_of(scene.pixels(), kSize), {{{0, 0, kSize.width, kSize.height}}},
               CharacterInk::kDark);
  test.expect_equal_runs();
  EXPECT_GT(test.expect_equal_images(), 100u) << "the test is void";
}

// Fails if a candidate with more runs than the device keeps near is drawn wrongly.
TEST(DigitInkLimits, CandidatesMayHaveManyRuns) {
  constexpr ImageSize kSize{500, 560};
  Scene scene(kSize.width, kSize.height);
  for (int i = 0; i < 12; ++i) scene.line({60.0 + 16 * i, 40}, {60.0 + 16 * i, 500}, 7);
  for (int i = 0; i < 2; ++i) scene.line({60, 40.0 + 460 * i}, {236, 40.0 + 460 * i}, 9);
  scene.digit(3, 300, 100, 200, 20);
  InkTest test(frame_of(scene.pixels(), kSize), {{{0, 0, kSize.width, kSize.height}}},
               CharacterInk::kAuto);
  test.expect_equal_runs();
  test.expect_equal_images();
  EXPECT_GT(test.longest(), 1024) << "the test is void";
}

}  // namespace
}  // namespace ocellus::test
