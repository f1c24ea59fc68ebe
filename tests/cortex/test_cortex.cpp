// The operator Cortex on every backend: answers equal to the classifier's, any number of workers
// and format, frames that are stretched, ink, bad frames, configurations that are refused, no
// allocation per frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "cortex/patch.h"
#include "cortex/stroke_frames.h"
#include "ocellus/cortex_training.h"
#include "ocellus/ocellus.h"
#include "realtime/interpose.h"
#include "support/files.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus::test {
namespace {

constexpr int kSide = kStrokeSide;

/// A small model of four strokes in a file.
class CortexOperator : public OnBackend {
 protected:
  CortexOperator() {
    CortexTraining training;
    training.parameters.deslant = false;
    training.parameters.levels[0] = {8, 8, 4, 4, 24};
    training.parameters.level_count = 2;
    training.parameters.levels[1] = {2, 2, 1, 1, 12};
    training.feature_images = 2000;
    cortex_ = must(train_cortex(labeled_strokes(800, 1), training));
    path_ = folder_ / "model.ocellus";
    write_model(path_, cortex_);
  }

  CortexConfig config(ImageSize size, CortexLayout layout) const {
    CortexConfig made = stroke_config(path_, 1, 1);
    made.size = size;
    made.layout = layout;
    return made;
  }

  static FrameBuffer grid(const LabeledImages& images, int columns, int rows, PixelFormat format,
                          bool dark = false) {
    return stroke_frame(images, columns, rows, format, dark);
  }

  struct Answer {
    CortexRecord record;
    FrameInfo info;
    std::vector<float> evidence;
  };
  static Answer one(Rig<Cortex>& rig, const FrameBuffer& frame) {
    OutputBuffer out(rig.op.info());
    Answer answer;
    OperatorOutput output = out.output();
    output.record = &answer.record;
    answer.info = must(rig.op.wait(must(rig.op.submit(frame.frame(0), output)),
                                   Deadline::after(std::chrono::seconds(60))));
    EXPECT_TRUE(out.surroundings_untouched());
    const PlaneF plane = out.plane(0);
    for (int y = 0; y < kMaxCortexPatches; ++y)
      for (int c = 0; c < 4; ++c) answer.evidence.push_back(plane.at(c, y));
    return answer;
  }

  TemporaryFolder folder_;
  TrainedCortex cortex_;
  std::string path_;
};
INSTANTIATE_TEST_SUITE_P(Backends, CortexOperator, testing::ValuesIn(conformance_backends()),
                         backend_label);

/// Confidences are sums of exponentials, which backends round differently.
constexpr float kTolerance = 1e-6f;

// Fails if the operator's answers differ from those of the classifier that the other tests compare
// with its equations, for any number of workers, or in another format.
TEST_P(CortexOperator, TilesEqualClassifier) {
  const LabeledImages images = labeled_strokes(35, 2);
  const auto expected = must(classify(cortex_, images));
  for (const int workers : {1, 2, 3}) {
    for (const PixelFormat format :
         {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
      CortexConfig made = config({7 * kSide, 5 * kSide}, CortexLayout::kTiles);
      made.format = format;
      auto made_rig = rig<Cortex>(made, workers);
      const Answer answer = one(made_rig, grid(images, 7, 5, format));
      ASSERT_EQ(answer.record.count, 35);
      EXPECT_FALSE(answer.record.truncated);
      for (std::size_t i = 0; i < 35; ++i) {
        EXPECT_EQ(answer.record.label[i], expected[i].label);
        EXPECT_NEAR(answer.record.confidence[i], expected[i].confidence, kTolerance);
        // The plane says the same.
        const auto begin = answer.evidence.begin() + static_cast<std::ptrdiff_t>(4 * i);
        EXPECT_EQ(std::max_element(begin, begin + 4) - begin, expected[i].label);
        double sum = 0.0;
        for (int c = 0; c < 4; ++c) {
          sum += std::exp(static_cast<double>(cortex_.sharpness) *
                          static_cast<double>(begin[c] - begin[expected[i].label]));
        }
        EXPECT_NEAR(answer.record.confidence[i], 1.0 / sum, 1e-5);
      }
      for (std::size_t i = 4 * 35; i < answer.evidence.size(); ++i)
        ASSERT_EQ(answer.evidence[i], 0.0f);
    }
  }
}

// Fails if frames in flight share memory that only one of them may use.
TEST_P(CortexOperator, FramesInFlight) {
  CortexConfig made = config({4 * kSide, 2 * kSide}, CortexLayout::kTiles);
  std::vector<FrameBuffer> frames;
  for (unsigned i = 0; i < 12; ++i)
    frames.push_back(grid(labeled_strokes(8, 10 + i), 4, 2, PixelFormat::kGray8));
  const Results one_by_one = results<Cortex>(made, frames, 2, 1);
  made.depth = 4;
  const Results in_flight = results<Cortex>(made, frames, 2, 4);
  EXPECT_EQ(in_flight.records, one_by_one.records);
}

// Fails if dark ink is not seen as such, or if `ink` is ignored.
TEST_P(CortexOperator, Ink) {
  const LabeledImages images = labeled_strokes(8, 3);
  CortexConfig made = config({4 * kSide, 2 * kSide}, CortexLayout::kTiles);
  auto light = rig<Cortex>(made);
  const Answer expected = one(light, grid(images, 4, 2, PixelFormat::kGray8));
  made.ink = CortexInk::kDark;
  auto dark = rig<Cortex>(made);
  EXPECT_EQ(one(dark, grid(images, 4, 2, PixelFormat::kGray8, true)).evidence, expected.evidence);
  EXPECT_NE(one(dark, grid(images, 4, 2, PixelFormat::kGray8)).evidence, expected.evidence);
  made.ink = CortexInk::kAuto;
  auto automatic = rig<Cortex>(made);
  for (const bool ink : {false, true}) {
    EXPECT_EQ(one(automatic, grid(images, 4, 2, PixelFormat::kGray8, ink)).evidence,
              expected.evidence);
  }
}

// Fails if a patch is stretched in another way than by area means.
TEST(CortexPatch, AreaMeans) {
  for (const ImageSize size : {ImageSize{28, 28}, {1, 1}, {5, 90}, {61, 33}, {300, 7}}) {
    const FrameBuffer frame = noise_frames(size, PixelFormat::kGray8, 1, 5, 2)[0];
    const Frame view = frame.frame(0);
    const auto* const data = static_cast<const std::uint8_t*>(view.data);
    std::vector<std::uint8_t> out(28 * 20);
    detail::draw_patch({data, view.stride, size.width, size.height}, CortexInk::kLight, 28, 20,
                       out.data());
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 28; ++x) {
        const auto covered = [](double from, double to, int i) {
          return std::max(0.0, std::min(to, i + 1.0) - std::max(from, static_cast<double>(i)));
        };
        const double sx = size.width / 28.0;
        const double sy = size.height / 20.0;
        double sum = 0.0;
        for (int v = 0; v < size.height; ++v)
          for (int u = 0; u < size.width; ++u)
            sum += data[v * view.stride + u] * covered(x * sx, (x + 1) * sx, u) *
                   covered(y * sy, (y + 1) * sy, v);
        ASSERT_NEAR(out[static_cast<std::size_t>(y * 28 + x)], sum / (sx * sy), 0.5 + 1e-6);
      }
    }
  }
}

// Fails if a whole frame of another size is not one patch.
TEST_P(CortexOperator, WholeFrame) {
  LabeledImages image = labeled_strokes(1, 4);
  // Each pixel becomes 3x2 pixels: the area means are the image again.
  FrameBuffer frame({3 * kSide, 2 * kSide}, PixelFormat::kGray8);
  for (int y = 0; y < 2 * kSide; ++y)
    for (int x = 0; x < 3 * kSide; ++x)
      frame.set(x, y, image.ink[static_cast<std::size_t>(y / 2 * kSide + x / 3)]);
  auto made_rig = rig<Cortex>(config({3 * kSide, 2 * kSide}, CortexLayout::kFrame));
  const Answer answer = one(made_rig, frame);
  const auto expected = must(classify(cortex_, image));
  EXPECT_EQ(answer.record.count, 1);
  EXPECT_EQ(answer.record.label[0], expected[0].label);
  EXPECT_NEAR(answer.record.confidence[0], expected[0].confidence, kTolerance);
}

// Fails if a backend stretches a patch, removes its slant or shares the activity in another way
// than the classifier on stretched patches: odd sizes, patches larger and smaller than the model's,
// each number of competitors.
TEST_P(CortexOperator, StretchedPatchesEqualClassifier) {
  for (const int competitors : {1, 3, 8}) {
    TrainedCortex other = cortex_;
    other.parameters.competitors = competitors;
    other.parameters.deslant = competitors != 1;
    write_model(path_, other);
    for (const ImageSize tile : {ImageSize{9, 30}, {kSide, kSide}, {37, 23}, {150, 141}, {5, 6}}) {
      CortexConfig made = config({3 * tile.width + 2, 2 * tile.height + 1}, CortexLayout::kTiles);
      made.tile_width = tile.width;
      made.tile_height = tile.height;
      made.ink = CortexInk::kAuto;
      const FrameBuffer frame = noise_frames(made.size, PixelFormat::kGray8, 1, 9, 3)[0];
      const Frame view = frame.frame(0);
      LabeledImages images = labeled_strokes(6, 1);
      for (int i = 0; i < 6; ++i) {
        const std::ptrdiff_t at = i / 3 * tile.height * view.stride + i % 3 * tile.width;
        detail::draw_patch({static_cast<const std::uint8_t*>(view.data) + at, view.stride,
                            tile.width, tile.height},
                           CortexInk::kAuto, kSide, kSide,
                           images.ink.data() + std::ptrdiff_t{i} * kSide * kSide);
      }
      const auto expected = must(classify(other, images));
      auto made_rig = rig<Cortex>(made);
      const Answer answer = one(made_rig, frame);
      ASSERT_EQ(answer.record.count, 6);
      for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(answer.record.label[i], expected[i].label);
        EXPECT_NEAR(answer.record.confidence[i], expected[i].confidence, kTolerance);
      }
    }
  }
}

// Fails if a backend gives a hypercolumn with a free field other pixels than those of its list, or
// if features of CortexRule::kBcpnn have other answers than the classifier.
TEST_P(CortexOperator, FreeFieldsEqualClassifier) {
  CortexTraining training;
  training.parameters.fields = 9;
  training.parameters.field_inputs = 50;
  training.parameters.levels[0].minicolumns = 40;
  training.parameters.level_count = 2;
  training.parameters.levels[1] = {3, 1, 2, 1, 12};
  training.parameters.competitors = 8;
  training.parameters.softness = 1.0f;
  training.rule = CortexRule::kBcpnn;
  training.feature_images = 2000;
  const TrainedCortex cortex = must(train_cortex(labeled_strokes(800, 1), training));
  const auto bytes = must(encode_cortex(cortex, "strokes"));
  std::ofstream(path_, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const LabeledImages images = labeled_strokes(35, 2);
  const auto expected = must(classify(cortex, images));
  for (const int workers : {1, 3}) {
    auto made_rig = rig<Cortex>(config({7 * kSide, 5 * kSide}, CortexLayout::kTiles), workers);
    const Answer answer = one(made_rig, grid(images, 7, 5, PixelFormat::kGray8));
    ASSERT_EQ(answer.record.count, 35);
    for (std::size_t i = 0; i < 35; ++i) {
      EXPECT_EQ(answer.record.label[i], expected[i].label);
      EXPECT_NEAR(answer.record.confidence[i], expected[i].confidence, kTolerance);
    }
  }
}

// Fails if more tiles than the record holds are not reported, or are written.
TEST_P(CortexOperator, TooManyTiles) {
  CortexConfig made = config({30, 20}, CortexLayout::kTiles);
  made.tile_width = made.tile_height = 1;
  auto made_rig = rig<Cortex>(made);
  const Answer answer = one(made_rig, noise_frames({30, 20}, PixelFormat::kGray8, 1, 6)[0]);
  EXPECT_EQ(answer.record.count, kMaxCortexPatches);
  EXPECT_TRUE(answer.record.truncated);
}

// Fails if a frame with NaN has answers, or changes those of the next frame.
TEST_P(CortexOperator, BadFrame) {
  const LabeledImages images = labeled_strokes(4, 7);
  CortexConfig made = config({2 * kSide, 2 * kSide}, CortexLayout::kTiles);
  made.format = PixelFormat::kFloat32;
  auto made_rig = rig<Cortex>(made);
  const FrameBuffer good = grid(images, 2, 2, PixelFormat::kFloat32);
  const Answer before = one(made_rig, good);
  EXPECT_EQ(before.info.flags & kBadPixels, 0u);
  FrameBuffer bad = grid(images, 2, 2, PixelFormat::kFloat32);
  bad.set(5, 31, std::numeric_limits<double>::quiet_NaN());
  const Answer answer = one(made_rig, bad);
  EXPECT_NE(answer.info.flags & kBadPixels, 0u);
  EXPECT_EQ(answer.record.count, 0);
  for (const float value : answer.evidence) ASSERT_EQ(value, 0.0f);
  EXPECT_EQ(one(made_rig, good).evidence, before.evidence);
}

// Fails if a frame allocates or frees memory on any thread.
TEST_P(CortexOperator, DoesNotAllocate) {
  if (!interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  if (GetParam() == BackendChoice::kCuda)
    GTEST_SKIP() << "threads of the driver allocate; realtime.device sets them apart";
  for (const PixelFormat format : {PixelFormat::kGray8, PixelFormat::kFloat32}) {
    CortexConfig made = config({7 * kSide, 5 * kSide}, CortexLayout::kTiles);
    made.format = format;
    auto made_rig = rig<Cortex>(made, 2);
    const FrameBuffer frame = grid(labeled_strokes(35, 8), 7, 5, format);
    OutputBuffer out(made_rig.op.info());
    CortexRecord record;
    OperatorOutput output = out.output();
    output.record = &record;
    int failed = 0;
    const auto step = [&](std::uint64_t number) {
      const auto ticket = made_rig.op.submit(frame.frame(number), output);
      if (!ticket || !made_rig.op.wait(*ticket, Deadline::never())) ++failed;
    };
    for (std::uint64_t i = 0; i < 20; ++i) step(i);
    arm_interposer();
    for (std::uint64_t i = 20; i < 1000; ++i) step(i);
    const AllocationCounts counts = disarm_interposer();
    EXPECT_EQ(counts.allocations, 0u);
    EXPECT_EQ(counts.frees, 0u);
    EXPECT_EQ(failed, 0);
  }
}

// Fails if a bad configuration is accepted, or if the error does not name what is wrong.
TEST_P(CortexOperator, RefusesBadConfigurations) {
  const CortexConfig good = config({64, 64}, CortexLayout::kTiles);
  const auto text = [](const CortexConfig& made, Status status) -> std::string {
    const auto info = Cortex::info_for(made);
    if (info) return "accepted";
    EXPECT_EQ(info.error().status, status) << info.error().text;
    return info.error().text;
  };
  EXPECT_TRUE(Cortex::info_for(good));
  CortexConfig bad = good;
  bad.size = {0, 64};
  EXPECT_NE(text(bad, Status::kInvalidArgument).find("0x64"), std::string::npos);
  bad = good;
  bad.tile_width = 65;
  EXPECT_EQ(text(bad, Status::kInvalidArgument),
            "tiles have 65x16 pixels; the frame has 64x64 and must hold one");
  bad = good;
  bad.depth = 9;
  EXPECT_NE(text(bad, Status::kInvalidArgument).find("depth"), std::string::npos);
  bad = good;
  EXPECT_TRUE(bad.model.assign(""));
  EXPECT_NE(text(bad, Status::kInvalidArgument).find("model is empty"), std::string::npos);
  EXPECT_TRUE(bad.model.assign("/no/such/model.ocellus"));
  EXPECT_NE(text(bad, Status::kIoError).find("/no/such/model.ocellus"), std::string::npos);
  std::ofstream(path_, std::ios::binary | std::ios::in | std::ios::out).seekp(70).put('\x7f');
  EXPECT_NE(text(good, Status::kCorruptFile).find(path_), std::string::npos);
  CortexConfig own = good;
  EXPECT_TRUE(own.model.assign("digits"));
  EXPECT_TRUE(Cortex::info_for(own));
}

// Fails if the library's model is damaged or is not the one that the documentation describes.
TEST(CortexLibraryModel, IsDigits) {
  const auto info = must(Cortex::read_model_info("digits"));
  EXPECT_EQ(info.classes, 10);
  EXPECT_EQ(info.names[7].view(), "7");
  EXPECT_EQ(info.parameters.width, 28);
  EXPECT_EQ(info.hypercolumns, 81);
  EXPECT_EQ(info.parameters.levels[0], (CorticalLevel{12, 12, 2, 2, 256}));
  EXPECT_TRUE(library_cortex_model("nonsense").empty());
}

}  // namespace
}  // namespace ocellus::test
