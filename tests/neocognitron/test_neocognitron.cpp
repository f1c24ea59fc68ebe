// Conformance: Neocognitron gives the scores of the equations, computed in double precision, on
// every backend.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/conformance.h"
#include "labeled_shapes.h"
#include "neocognitron/normalization.h"
#include "network_reference.h"
#include "ocellus/neocognitron.h"
#include "support/files.h"

namespace ocellus {
namespace {

using namespace test;

/// Of a similarity. Cosines are known to some 1e-6, and three S-layers with thresholds follow.
constexpr double kTolerance = 1e-4;

/// A small network that knows the five shapes, as a file.
class NeocognitronConformance : public OnBackend {
 protected:
  void SetUp() override {
    OnBackend::SetUp();
    if (IsSkipped()) return;
    static const TrainedNeocognitron trained = [] {
      TrainedNeocognitron made = must(train_neocognitron(shapes(60, 1), training()));
      made.calibration = {-0.5f, 4.0f, 0.5f};  // confidences that differ
      return made;
    }();
    network_ = &trained;
    path_ = folder_ / "shapes.ocellus";
    write_model(trained, path_);
  }
  static void write_model(const TrainedNeocognitron& network, const std::string& path) {
    const std::vector<std::uint8_t> bytes = must(encode_neocognitron(network, "shapes"));
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  static NeocognitronTraining training() {
    NeocognitronTraining training = small_training();
    // Odd numbers of planes.
    training.features[0].planes = 17;
    training.features[1].planes = 37;
    training.margin = 0.3f;  // several references of each class
    return training;
  }

  NeocognitronConfig tiles(ImageSize size, PixelFormat format = PixelFormat::kGray8) const {
    NeocognitronConfig config;
    config.size = size;
    config.format = format;
    EXPECT_TRUE(config.model.assign(path_));
    config.layout = CharacterLayout::kTiles;
    config.max_active = 1.0f;
    return config;
  }

  struct Read {
    NeocognitronRecord record;
    std::vector<float> scores;
    FrameInfo info;
  };
  Read read(const NeocognitronConfig& config, const FrameBuffer& frame, int workers = 2) const {
    auto rig = this->rig<Neocognitron>(config, workers);
    Read read;
    const ImageSize size = rig.op.info().planes[0].size;
    read.scores.resize(static_cast<std::size_t>(size.width) *
                       static_cast<std::size_t>(size.height));
    const ImageView view{
        read.scores.data(),
        size,
        static_cast<std::ptrdiff_t>(size.width) * static_cast<std::ptrdiff_t>(sizeof(float)),
        PixelFormat::kFloat32,
        MemorySpace::kHost,
        nullptr};
    const Ticket ticket = must(rig.op.submit(frame.frame(5), view, &read.record));
    read.info = must(rig.op.wait(ticket, Deadline::never()));
    EXPECT_EQ(read.info.sequence, 5u);
    return read;
  }

  TemporaryFolder folder_;
  std::string path_;
  const TrainedNeocognitron* network_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Backends, NeocognitronConformance,
                         testing::ValuesIn(conformance_backends()), backend_label);

/// A frame of the gray levels gray(x, y).
template <typename Gray>
FrameBuffer painted(ImageSize size, PixelFormat format, const Gray& gray) {
  FrameBuffer frame(size, format, 3, 1);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) frame.set(x, y, gray(x, y));
  return frame;
}

/// A frame of images, one beside the other, `columns` in a row, with `edge` more pixels at the
/// right and lower sides.
FrameBuffer mosaic(const LabeledImages& images, int columns, PixelFormat format, bool dark,
                   int edge = 0) {
  const auto count = static_cast<int>(images.count());
  const int rows = (count + columns - 1) / columns;
  const ImageSize size{columns * images.width + edge, rows * images.height + edge};
  return painted(size, format, [&](int x, int y) {
    const int column = x / images.width;
    const int i = y / images.height * columns + column;
    if (column >= columns || i >= count) return dark ? 255.0 : 0.0;
    const auto at = (static_cast<std::size_t>(i) * static_cast<std::size_t>(images.height) +
                     static_cast<std::size_t>(y % images.height)) *
                        static_cast<std::size_t>(images.width) +
                    static_cast<std::size_t>(x % images.width);
    return static_cast<double>(dark ? 255 - images.ink[at] : images.ink[at]);
  });
}

// Fails when a layer, the read-out, the order of tiles, or the class that the record names is not
// what the equations give.
// Promises: RES-003.
TEST_P(NeocognitronConformance, ScoresAreThoseOfTheEquations) {
  const LabeledImages images = shapes(6, 77);
  std::vector<float> scores_of_one;
  for (const auto& [side, dark] : {std::pair{1, false}, {1, true}, {5, false}, {5, true}}) {
    SCOPED_TRACE("side " + std::to_string(side));
    TrainedNeocognitron network = *network_;
    network.parameters.reference_side = side;
    write_model(network, path_);
    const NetworkReference reference(network);
    const FrameBuffer frame = mosaic(images, 3, PixelFormat::kGray8, dark, 5);
    const Read read = this->read(tiles(frame.frame().size), frame);
    if (side == 1) scores_of_one = read.scores;
    if (side == 5) {
      EXPECT_NE(read.scores, scores_of_one) << "the side has no effect";
    }
    ASSERT_EQ(read.record.count, 6);
    EXPECT_FALSE(read.record.truncated);
    const int classes = static_cast<int>(network_->names.size());
    for (int i = 0; i < 6; ++i) {
      SCOPED_TRACE("image " + std::to_string(i));
      const auto index = static_cast<std::size_t>(i);
      detail::PatchTransform transform;
      const detail::InkImage ink{images.ink.data() + index * 784, 28, 28, 28};
      ASSERT_TRUE(detail::find_transform(ink, network_->normalization, transform));
      std::vector<float> u0(65 * 65);
      detail::resample(ink, transform, u0.data());
      const std::vector<double> expected = reference.scores(u0);
      int best = 0;
      double second = 0.0;
      for (int c = 0; c < classes; ++c) {
        EXPECT_NEAR(static_cast<double>(read.scores[static_cast<std::size_t>(i * classes + c)]),
                    expected[static_cast<std::size_t>(c)], kTolerance)
            << "class " << c;
        if (expected[static_cast<std::size_t>(c)] > expected[static_cast<std::size_t>(best)])
          best = c;
      }
      for (int c = 0; c < classes; ++c)
        if (c != best) second = std::max(second, expected[static_cast<std::size_t>(c)]);
      const double similarity = expected[static_cast<std::size_t>(best)];
      EXPECT_EQ(read.record.label[index], best);
      EXPECT_EQ(read.record.label[index], images.labels[index]) << "the network does not know it";
      EXPECT_NEAR(static_cast<double>(read.record.similarity[index]), similarity, kTolerance);
      EXPECT_NEAR(static_cast<double>(read.record.margin[index]), similarity - second,
                  2 * kTolerance);
      const ConfidenceCalibration& fit = network_->calibration;
      const double sum = static_cast<double>(fit.offset) +
                         static_cast<double>(fit.per_margin) * (similarity - second) +
                         static_cast<double>(fit.per_similarity) * similarity;
      EXPECT_NEAR(static_cast<double>(read.record.confidence[index]), 1.0 / (1.0 + std::exp(-sum)),
                  0.02);
      EXPECT_EQ(read.record.x[index], i % 3 * 28);
      EXPECT_EQ(read.record.y[index], i / 3 * 28);
      EXPECT_EQ(read.record.width[index], 28);
      EXPECT_EQ(read.record.height[index], 28);
    }
    for (std::size_t i = static_cast<std::size_t>(6 * classes); i < read.scores.size(); ++i)
      ASSERT_EQ(read.scores[i], 0.0f) << "rows behind the last character";
  }
}

// Fails when what is no character is an answer, when its scores are shown, or when the margin and
// the confidence do not count it. The same cells without the class are known to be right.
TEST_P(NeocognitronConformance, WhatIsNoCharacterIsNoAnswer) {
  const LabeledImages images = shapes(10, 77);
  const FrameBuffer frame = mosaic(images, 5, PixelFormat::kGray8, false);
  NeocognitronConfig config = tiles(frame.frame().size);
  const Read plain = read(config, frame);
  TrainedNeocognitron network = *network_;  // class 4 is what is no character
  network.has_other = true;
  const std::string path = folder_ / "other.ocellus";
  write_model(network, path);
  ASSERT_TRUE(config.model.assign(path.c_str()));
  const Read read = this->read(config, frame);
  ASSERT_EQ(read.record.count, 10);
  ASSERT_EQ(read.scores.size(), 4u * kMaxFieldCharacters);
  for (std::size_t i = 0; i < 10; ++i) {
    SCOPED_TRACE("image " + std::to_string(i));
    const float* const scores = plain.scores.data() + 5 * i;
    const auto best = std::max_element(scores, scores + 4);
    float second = scores[4];
    for (int c = 0; c < 4; ++c) {
      EXPECT_EQ(read.scores[4 * i + static_cast<std::size_t>(c)], scores[c]);
      if (scores + c != best) second = std::max(second, scores[c]);
    }
    EXPECT_EQ(read.record.label[i], best - scores);
    EXPECT_EQ(read.record.similarity[i], *best);
    EXPECT_FLOAT_EQ(read.record.margin[i], *best - second);
    EXPECT_NEAR(read.record.confidence[i], network.calibration.confidence(*best - second, *best),
                1e-5f);
    EXPECT_EQ(read.record.margin[i] < 0.0f, images.labels[i] == 4);
  }
  const auto info = must(Neocognitron::read_model_info(path.c_str()));
  EXPECT_EQ(info.classes, 4);
  EXPECT_TRUE(info.has_other);
}

// Fails when a model whose classes are read from the largest cell interpolates, or does not keep
// that in its file.
TEST_P(NeocognitronConformance, TheLargestCellCanDecide) {
  TrainedNeocognitron network = *network_;
  network.parameters.interpolate = false;
  const std::string path = folder_ / "largest.ocellus";
  write_model(network, path);
  const LabeledImages images = shapes(6, 77);
  const FrameBuffer frame = mosaic(images, 3, PixelFormat::kGray8, false);
  NeocognitronConfig config = tiles(frame.frame().size);
  const Read interpolated = read(config, frame);
  EXPECT_TRUE(config.model.assign(path.c_str()));
  const Read largest = read(config, frame);
  const NetworkReference reference(network);
  const std::size_t classes = network.names.size();
  std::size_t lower = 0;
  for (std::size_t i = 0; i < images.count(); ++i) {
    detail::PatchTransform transform;
    ASSERT_TRUE(detail::find_transform({images.ink.data() + i * 784, 28, 28, 28},
                                       network.normalization, transform));
    std::vector<float> u0(65 * 65);
    detail::resample({images.ink.data() + i * 784, 28, 28, 28}, transform, u0.data());
    const std::vector<double> expected = reference.scores(u0);
    for (std::size_t c = 0; c < classes; ++c) {
      const float score = largest.scores[i * classes + c];
      EXPECT_NEAR(static_cast<double>(score), expected[c], kTolerance);
      lower += static_cast<double>(interpolated.scores[i * classes + c] - score) > 2 * kTolerance;
    }
  }
  EXPECT_GE(lower, 5u) << "both read-outs are the same";
}

// Fails when the result depends on the number of workers, on the frame's format or on the other
// tiles.
TEST_P(NeocognitronConformance, TilesAreIndependent) {
  const LabeledImages images = shapes(9, 3);
  const FrameBuffer frame = mosaic(images, 9, PixelFormat::kGray8, false);
  const Read all = read(tiles(frame.frame().size), frame, 1);
  const auto classes = network_->names.size();
  for (const PixelFormat format : {PixelFormat::kGray16, PixelFormat::kFloat32}) {
    const Read other = read(tiles(frame.frame().size, format), mosaic(images, 9, format, false), 3);
    EXPECT_EQ(other.scores, all.scores);
    EXPECT_EQ(other.record.label, all.record.label);
  }
  for (std::size_t i = 0; i < images.count(); ++i) {
    LabeledImages one;
    one.width = one.height = 28;
    one.labels = {images.labels[i]};
    one.ink.assign(images.ink.begin() + static_cast<std::ptrdiff_t>(i * 784),
                   images.ink.begin() + static_cast<std::ptrdiff_t>((i + 1) * 784));
    const FrameBuffer alone = mosaic(one, 1, PixelFormat::kGray8, false);
    const Read single = read(tiles(alone.frame().size), alone);
    for (std::size_t c = 0; c < classes; ++c)
      EXPECT_EQ(single.scores[c], all.scores[i * classes + c]) << "image " << i << " class " << c;
  }
}

// Fails when a tile without ink gets a class, or a frame with more tiles than the record holds does
// not say so.
TEST_P(NeocognitronConformance, EmptyTilesAndTooManyTiles) {
  NeocognitronConfig config = tiles({28 * 9, 28 * 8});
  const FrameBuffer black = painted(config.size, config.format, [](int, int) { return 0.0; });
  const Read read = this->read(config, black);
  EXPECT_EQ(read.record.count, kMaxFieldCharacters);
  EXPECT_TRUE(read.record.truncated);
  for (std::size_t i = 0; i < kMaxFieldCharacters; ++i) {
    EXPECT_EQ(read.record.label[i], -1);
    EXPECT_EQ(read.record.flags[i], kCharacterEmpty);
    EXPECT_EQ(read.record.confidence[i], 0.0f);
  }
  for (const float score : read.scores) ASSERT_EQ(score, 0.0f);
}

// Fails when the cap on active cells does not hold, is not told, or changes characters below it.
// Promises: RT-006.
TEST_P(NeocognitronConformance, TooManyActiveCellsAreCapped) {
  FrameBuffer frame({28, 28}, PixelFormat::kGray8);
  frame.fill(noise({28, 28}, 9));
  NeocognitronConfig config = tiles(frame.frame().size);
  EXPECT_EQ(read(config, frame).record.flags[0] & kCharacterCapped, 0u);
  config.max_active = 0.02f;
  EXPECT_NE(read(config, frame).record.flags[0] & kCharacterCapped, 0u);

  const LabeledImages images = shapes(1, 5);
  const FrameBuffer shape = mosaic(images, 1, PixelFormat::kGray8, false);
  config.max_active = 1.0f;
  const Read whole = read(config, shape);
  config.max_active = 0.4f;
  const Read enough = read(config, shape);
  EXPECT_EQ(enough.record.flags[0] & kCharacterCapped, 0u);
  EXPECT_EQ(enough.scores, whole.scores);
}

// Fails when a character of little confidence is not rejected, or any other one is.
TEST_P(NeocognitronConformance, LittleConfidenceIsRejected) {
  const LabeledImages images = shapes(10, 12);
  const FrameBuffer frame = mosaic(images, 10, PixelFormat::kGray8, false);
  NeocognitronConfig config = tiles(frame.frame().size);
  const Read first = read(config, frame);
  std::vector<float> sorted(first.record.confidence.begin(), first.record.confidence.begin() + 10);
  std::sort(sorted.begin(), sorted.end());
  config.min_confidence = 0.5f * (sorted[4] + sorted[5]);
  ASSERT_LT(sorted[4], sorted[5]);
  const Read second = read(config, frame);
  for (std::size_t i = 0; i < 10; ++i) {
    const bool rejected = (second.record.flags[i] & kCharacterRejected) != 0;
    EXPECT_EQ(rejected, first.record.confidence[i] < config.min_confidence) << i;
    EXPECT_EQ(second.record.label[i], first.record.label[i]);
  }
}

// Fails when a frame with NaN leaves its numbers in the result, is not told, or spoils the next
// frame.
TEST_P(NeocognitronConformance, BadFramesHaveNoCharacters) {
  const LabeledImages images = shapes(2, 4);
  for (const CharacterLayout layout : {CharacterLayout::kTiles, CharacterLayout::kFind}) {
    FrameBuffer frame = mosaic(images, 2, PixelFormat::kFloat32, false);
    NeocognitronConfig config = tiles(frame.frame().size, PixelFormat::kFloat32);
    config.layout = layout;
    const Read good = read(config, frame);
    EXPECT_EQ(good.info.flags & kBadPixels, 0u);
    frame.set(55, 27, std::nan(""));
    const Read bad = read(config, frame);
    EXPECT_NE(bad.info.flags & kBadPixels, 0u);
    EXPECT_EQ(bad.record.count, 0);
    for (const float score : bad.scores) ASSERT_EQ(score, 0.0f);
  }
}

// Fails when characters in the frame are not found where they are, or the boxes of fields are not
// those of the frame.
TEST_P(NeocognitronConformance, CharactersOfFieldsAreFoundInTheFrame) {
  const LabeledImages images = shapes(5, 21);
  const FrameBuffer line = mosaic(images, 5, PixelFormat::kGray8, true);
  const FrameBuffer frame = painted({300, 200}, PixelFormat::kGray8, [&](int x, int y) {
    for (const int top : {40, 130})
      if (x >= 60 && x < 200 && y >= top && y < top + 28) return line.value(x - 60, y - top);
    return 230.0;
  });
  NeocognitronConfig config = tiles(frame.frame().size);
  config.layout = CharacterLayout::kFind;
  config.fields.count = 2;
  config.fields.fields[0] = {30, 110, 220, 80};
  config.fields.fields[1] = {30, 20, 220, 80};
  const Read read = this->read(config, frame);
  ASSERT_EQ(read.record.count, 10);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(read.record.field[i], i < 5 ? 0 : 1);
    EXPECT_EQ(read.record.label[i], images.labels[i % 5]) << i;
    const int left = 60 + static_cast<int>(i % 5) * 28;
    const int top = i < 5 ? 130 : 40;
    EXPECT_GE(read.record.x[i], left);
    EXPECT_LE(read.record.x[i] + read.record.width[i], left + 28);
    EXPECT_GE(read.record.y[i], top);
    EXPECT_LE(read.record.y[i] + read.record.height[i], top + 28);
  }
  config.layout = CharacterLayout::kBoxes;
  config.fields.count = 5;
  for (int i = 0; i < 5; ++i)
    config.fields.fields[static_cast<std::size_t>(i)] = {60 + 28 * i, 40, 28, 28};
  const Read boxes = this->read(config, frame);
  ASSERT_EQ(boxes.record.count, 5);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(boxes.record.label[i], images.labels[i]) << i;
    EXPECT_EQ(boxes.record.field[i], static_cast<int>(i));
  }
}

// Fails when a value that does not fit the others is taken, or the refusal does not name it.
TEST(NeocognitronConfig, IsChecked) {
  const auto error = [](const NeocognitronConfig& config) {
    const auto info = Neocognitron::info_for(config);
    return info ? std::string() : std::string(info.error().text);
  };
  NeocognitronConfig config;
  config.size = {64, 48};
  EXPECT_EQ(error(config), "");
  config.layout = CharacterLayout::kTiles;
  config.tile_width = 65;
  EXPECT_EQ(error(config), "tiles have 65x28 pixels; the frame has 64x48 and must hold one");
  config.layout = CharacterLayout::kBoxes;
  EXPECT_EQ(error(config), "fields is empty; with layout boxes it must have 1 to 64 boxes");
  config.fields.count = 1;
  config.fields.fields[0] = {60, 0, 10, 10};
  EXPECT_EQ(error(config),
            "fields: number 1 is 60,0,10,10; it must lie in the frame of 64x48 and have at least "
            "8x8 pixels");
  config = {};
  config.size = {64, 48};
  config.min_height = 30;
  config.max_height = 20;
  EXPECT_EQ(error(config), "max_height is 20; it must be 0 or at least min_height, which is 30");
  config = {};
  config.size = {64, 48};
  EXPECT_TRUE(config.model.assign(""));
  EXPECT_EQ(error(config),
            "model is empty; it must be digits-small or digits, or the path of a model file "
            "(*.ocellus)");
  EXPECT_TRUE(config.model.assign("/no/such/file.ocellus"));
  EXPECT_NE(error(config).find("/no/such/file.ocellus"), std::string::npos);
}

// Fails when a model of the library cannot be read, or its description is not that of ten digits.
TEST(NeocognitronModel, OfTheLibrary) {
  for (const char* const name : {"digits-small", "digits"}) {
    const CharacterModelInfo info = must(Neocognitron::read_model_info(name));
    ASSERT_EQ(info.classes, 10);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(info.names[i].view(), std::to_string(i));
    EXPECT_EQ(info.planes[0], kEdgePlanes);
    EXPECT_FALSE(info.note.empty());
    EXPECT_NE(std::string(kLibraryModels).find(name), std::string::npos);
    const auto trained = read_neocognitron(name);
    EXPECT_EQ(must(trained).planes, info.planes);
  }
  EXPECT_TRUE(library_model("digit").empty());
}

}  // namespace
}  // namespace ocellus
