// The operator Network on every backend, against a network and a read-out in double precision:
// winners, answers, what is learned and saved, any number of workers and format, patches that are
// stretched, feedback, bad frames, configurations that are refused, no allocation per frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "cortical_network/network_patterns.h"
#include "cortical_network/network_reference.h"
#include "image/patch_stretch.h"
#include "ocellus/network_training.h"
#include "ocellus/ocellus.h"
#include "realtime/interpose.h"
#include "support/files.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus::test {
namespace {

constexpr int kColumns = 3;
constexpr int kRows = 2;
constexpr int kPatches = kColumns * kRows;
constexpr int kClasses = 4;

using Image = std::vector<std::uint8_t>;

/// Images of one of four patterns with noise, and their labels.
LabeledImages labeled_patterns(const CorticalNetworkConfig& config, int count, unsigned seed) {
  const auto pixels =
      static_cast<std::size_t>(config.width) * static_cast<std::size_t>(config.height);
  const Patterns patterns(kClasses, pixels, 0.0, 3);
  std::mt19937 random(seed);
  LabeledImages images;
  images.width = config.width;
  images.height = config.height;
  images.names = {"one", "two", "three", "four"};
  for (int i = 0; i < count; ++i) {
    const std::size_t label = random() % kClasses;
    Image image = patterns.images[label];
    for (auto& p : image)
      if (random() % 50 == 0) p = static_cast<std::uint8_t>(random() % 256);
    images.ink.insert(images.ink.end(), image.begin(), image.end());
    images.labels.push_back(static_cast<std::uint16_t>(label));
  }
  return images;
}

std::vector<int> winners_of(const ReferenceNetwork& network) {
  std::vector<int> winners;
  for (const auto& level : network.levels)
    for (const auto& hypercolumn : level.hypercolumns) winners.push_back(hypercolumn.winner);
  return winners;
}

/// The first row of each hypercolumn in CorticalReadOut::weights.
std::vector<std::size_t> rows_of(const ReferenceNetwork& network) {
  std::vector<std::size_t> rows{0};
  for (const auto& level : network.levels)
    for (const auto& hypercolumn : level.hypercolumns)
      rows.push_back(rows.back() + hypercolumn.weights.size() + 1);
  return rows;
}

/// (c) and (d) in double precision.
struct ReferenceAnswer {
  int label = -1;
  double confidence = 0.0;

  ReferenceAnswer(const ReferenceNetwork& network, const TrainedReadOut& read_out) {
    const std::vector<std::size_t> rows = rows_of(network);
    const std::vector<int> winners = winners_of(network);
    std::vector<double> e;
    for (std::size_t c = 0; c < read_out.names.size(); ++c) {
      e.push_back(read_out.class_bias[c] / 1024.0);
      for (std::size_t h = 0; h < winners.size(); ++h) {
        const std::size_t row = rows[h] + static_cast<std::size_t>(winners[h] + 1);
        e.back() += read_out.weights[row * read_out.names.size() + c] / 1024.0;
      }
    }
    const double most = *std::max_element(e.begin(), e.end());
    if (most == *std::min_element(e.begin(), e.end())) return;
    double sum = 0.0;
    for (const double value : e)
      sum += std::exp(static_cast<double>(read_out.sharpness) * (value - most));
    label = static_cast<int>(std::max_element(e.begin(), e.end()) - e.begin());
    confidence = 1.0 / sum;
  }
};

/// A frame whose tiles are images of the network.
FrameBuffer tiles(const CorticalNetworkConfig& config, const LabeledImages& images,
                  PixelFormat format = PixelFormat::kGray8) {
  FrameBuffer frame({kColumns * config.width, kRows * config.height}, format, 3, 1);
  for (int y = 0; y < kRows * config.height; ++y) {
    for (int x = 0; x < kColumns * config.width; ++x) {
      const int patch = y / config.height * kColumns + x / config.width;
      frame.set(x, y,
                images.image(static_cast<std::size_t>(
                    patch))[y % config.height * config.width + x % config.width]);
    }
  }
  return frame;
}

/// A network that has learned some images, in a file with a read-out.
class NetworkOperator : public OnBackend {
 protected:
  NetworkOperator() : reference_(network_config()) {
    CorticalNetwork network = must(CorticalNetwork::create(network_config()));
    learned_ = labeled_patterns(network_config(), 200, 1);
    for (std::size_t i = 0; i < learned_.count(); ++i) {
      network.step(learned_.image(i), learned_.width, true);
      reference_.step(image_of(learned_, i), true);
    }
    read_out_ = must(train_read_out(network, learned_, {}));
    must(network.set_feedback(2, 5));  // not the operator's
    must(network.save_file(path_.c_str(), read_out_.view()));
  }

  static CorticalNetworkConfig network_config() {
    CorticalNetworkConfig config = overlapping_tiles();
    config.lgn = LgnTransform::kLevel;
    config.lgn_threshold = 128;
    return config;
  }
  static Image image_of(const LabeledImages& images, std::size_t i) {
    return {images.image(i), images.image(i + 1)};
  }
  static LabeledImages images_of(unsigned number) {
    return labeled_patterns(network_config(), kPatches, 100 + number);
  }

  NetworkConfig config(bool learn) const {
    NetworkConfig made;
    made.size = {kColumns * network_config().width, kRows * network_config().height};
    EXPECT_TRUE(made.model.assign(path_));
    made.layout = PatchLayout::kTiles;
    made.tile_width = network_config().width;
    made.tile_height = network_config().height;
    made.learn = learn;
    return made;
  }
  std::string saved(OperatorHandle& op) const {
    const std::string path = folder_ / "saved.ocellus";
    must(op.save_model(path.c_str()));
    return bytes_of(path);
  }

  /// Compares the winners and answers to the patches of a frame with the reference, which learns.
  void expect_frame(const Results& got, ReferenceNetwork& reference, const LabeledImages& images,
                    bool learn) const {
    const PlaneF& plane = got.planes[0][0];
    for (std::size_t patch = 0; patch < kPatches; ++patch) {
      reference.step(image_of(images, patch), learn);
      const std::vector<int> winners = winners_of(reference);
      ASSERT_EQ(plane.width, static_cast<int>(winners.size()));
      for (std::size_t h = 0; h < winners.size(); ++h)
        ASSERT_EQ(plane.at(static_cast<int>(h), static_cast<int>(patch)),
                  static_cast<float>(winners[h]))
            << "patch " << patch << " hypercolumn " << h;
    }
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "network.ocellus";
  LabeledImages learned_;
  ReferenceNetwork reference_;
  TrainedReadOut read_out_;
};
INSTANTIATE_TEST_SUITE_P(Backends, NetworkOperator, testing::ValuesIn(conformance_backends()),
                         backend_label);

NetworkRecord step_frame(Rig<Network>& rig, const FrameBuffer& frame) {
  OutputBuffer out(rig.op.info());
  NetworkRecord record;
  OperatorOutput output = out.output();
  output.record = &record;
  must(rig.op.wait(must(rig.op.submit(frame.frame(0), output)),
                   Deadline::after(std::chrono::seconds(60))));
  return record;
}

// Fails if a winner, a weight or a number of wins is another one than equations (1) to (7) say, for
// any number of workers or format, or if what is learned is lost in the file.
// Promises: RES-003.
TEST_P(NetworkOperator, LearnsByTheEquations) {
  for (const int workers : {1, 2, 3}) {
    for (const PixelFormat format : {PixelFormat::kGray8, PixelFormat::kGray16}) {
      NetworkConfig made = config(true);
      made.format = format;
      auto made_rig = rig<Network>(made, workers);
      ReferenceNetwork reference = reference_;
      for (unsigned f = 0; f < 8; ++f) {
        const LabeledImages images = images_of(f);
        expect_frame(send(made_rig.op, {tiles(network_config(), images, format)}), reference,
                     images, true);
      }
      saved(made_rig.op);
      const CorticalNetwork network =
          must(CorticalNetwork::load_file((folder_ / "saved.ocellus").c_str()));
      EXPECT_EQ(network.steps(), learned_.count() + std::size_t{8} * kPatches);
      for (int l = 0; l < network.levels(); ++l) {
        const auto& level = reference.levels[static_cast<std::size_t>(l)];
        for (std::size_t h = 0; h < level.hypercolumns.size(); ++h) {
          const auto& weights = level.hypercolumns[h].weights;
          for (std::size_t m = 0; m < weights.size(); ++m)
            for (std::size_t i = 0; i < weights[m].size(); ++i)
              ASSERT_EQ(
                  network.weight(l, static_cast<int>(h), static_cast<int>(i), static_cast<int>(m)),
                  weights[m][i] * 32768.0);
        }
      }
      const NetworkModelInfo info =
          must(Network::read_model_info((folder_ / "saved.ocellus").c_str()));
      EXPECT_EQ(info.classes, kClasses);
      EXPECT_EQ(info.config.feedback_rounds, 2);
      EXPECT_EQ(info.config.feedback_tolerance, 5);
      EXPECT_STREQ(info.names[2].c_str(), "three");
      EXPECT_EQ(info.sharpness, read_out_.sharpness);
    }
  }
}

// Fails if a read-out is not that of its equation, or if an answer is not that of (c) and (d).
// Promises: RES-003.
TEST_P(NetworkOperator, AnswersByTheEquations) {
  const std::vector<std::size_t> rows = rows_of(reference_);
  std::vector<double> all(rows.back());
  std::vector<double> counts(rows.back() * kClasses);
  std::vector<double> images(kClasses);
  const auto shown = static_cast<double>(learned_.count());
  for (std::size_t i = 0; i < learned_.count(); ++i) {
    reference_.step(image_of(learned_, i), false);
    const std::vector<int> winners = winners_of(reference_);
    for (std::size_t h = 0; h < winners.size(); ++h) {
      const std::size_t row = rows[h] + static_cast<std::size_t>(winners[h] + 1);
      ++all[row];
      ++counts[row * kClasses + learned_.labels[i]];
    }
    ++images[learned_.labels[i]];
  }
  for (std::size_t c = 0; c < kClasses; ++c) {
    EXPECT_NEAR(read_out_.class_bias[c] / 1024.0, std::log(images[c] / shown), 0.5 / 1024.0);
    for (std::size_t row = 0; row < rows.back(); ++row) {
      const double p = all[row] / shown;
      const double expected =
          p == 0.0 ? 0.0 : std::log((counts[row * kClasses + c] + p) / (images[c] + 1.0) / p);
      ASSERT_NEAR(read_out_.weights[row * kClasses + c] / 1024.0, expected, 0.50001 / 1024.0);
    }
  }
  auto made_rig = rig<Network>(config(false));
  int right = 0;
  for (unsigned f = 0; f < 20; ++f) {
    const LabeledImages patches = images_of(f);
    const NetworkRecord record = step_frame(made_rig, tiles(network_config(), patches));
    ASSERT_EQ(record.count, kPatches);
    EXPECT_FALSE(record.truncated);
    for (std::size_t patch = 0; patch < kPatches; ++patch) {
      reference_.step(image_of(patches, patch), false);
      const ReferenceAnswer expected(reference_, read_out_);
      ASSERT_EQ(record.label[patch], expected.label);
      EXPECT_NEAR(record.confidence[patch], expected.confidence, 1e-6);
      right += record.label[patch] == patches.labels[patch];
    }
  }
  EXPECT_GT(right, 110);
}

// Fails if the votes are not those of the highest level, or if a patch without a vote has a class.
TEST_P(NetworkOperator, Votes) {
  CorticalNetwork network = must(CorticalNetwork::load_file(path_.c_str()));
  must(network.set_feedback(0, 1));
  NetworkReadOutTraining training;
  training.read_out = NetworkReadOut::kVote;
  const TrainedReadOut votes = must(train_read_out(network, learned_, training));
  must(network.save_file(path_.c_str(), votes.view()));
  auto made_rig = rig<Network>(config(false));
  int unknown = 0;
  for (unsigned f = 0; f < 20; ++f) {
    const LabeledImages patches = images_of(f);
    const NetworkRecord record = step_frame(made_rig, tiles(network_config(), patches));
    for (std::size_t patch = 0; patch < kPatches; ++patch) {
      reference_.step(image_of(patches, patch), false);
      EXPECT_EQ(record.label[patch], ReferenceAnswer(reference_, votes).label);
      network.step(patches.image(patch), patches.width, false);
      EXPECT_EQ(answer_of(network, votes.view()), record.label[patch]);
      unknown += record.label[patch] == -1;
    }
  }
  EXPECT_GT(unknown, 0);
}

// Fails if frames in flight share memory that only one of them may use, or if what is learned
// depends on their number or on the workers.
// Promises: RES-007.
TEST_P(NetworkOperator, FramesInFlight) {
  std::vector<FrameBuffer> frames;
  for (unsigned f = 0; f < 12; ++f) frames.push_back(tiles(network_config(), images_of(f)));
  NetworkConfig made = config(true);
  auto one_by_one = rig<Network>(made, 1);
  const Results expected = send(one_by_one.op, frames);
  made.depth = 4;
  auto in_flight = rig<Network>(made, 3);
  const Results got = send(in_flight.op, frames, 4);
  for (std::size_t f = 0; f < frames.size(); ++f)
    EXPECT_EQ(got.planes[f][0].data, expected.planes[f][0].data);
  EXPECT_EQ(got.records, expected.records);
  EXPECT_EQ(saved(in_flight.op), saved(one_by_one.op));
}

// Fails if a network that continues from a file, or in an operator for other frames, differs from
// one that was never interrupted, or if a reset forgets it.
// Promises: RES-007.
TEST_P(NetworkOperator, Continues) {
  std::vector<FrameBuffer> frames;
  for (unsigned f = 0; f < 6; ++f) frames.push_back(tiles(network_config(), images_of(f)));
  auto whole = rig<Network>(config(true));
  (void)send(whole.op, frames);
  const std::string expected = saved(whole.op);
  auto first = rig<Network>(config(true));
  (void)send(first.op, {frames.begin(), frames.begin() + 3});
  const std::string path = folder_ / "half.ocellus";
  must(first.op.save_model(path.c_str()));
  NetworkConfig made = config(true);
  ASSERT_TRUE(made.model.assign(path));
  auto second = rig<Network>(made);
  (void)send(second.op, {frames.begin() + 3, frames.end()});
  EXPECT_EQ(saved(second.op), expected);
  made = config(true);
  made.size.width += 5;  // beside the whole tiles
  auto moved = rig<Network>(made);
  must(moved.op.take_learned(first.op));
  moved.op.reset();
  for (std::size_t f = 3; f < frames.size(); ++f) {
    FrameBuffer wide(made.size, PixelFormat::kGray8);
    const ImageSize size = config(true).size;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) wide.set(x, y, frames[f].value(x, y));
    (void)send(moved.op, {wide});
  }
  EXPECT_EQ(saved(moved.op), expected);
  NetworkConfig other = config(true);
  other.model = {};
  auto refused = rig<Network>(other);
  EXPECT_EQ(refused.op.take_learned(first.op).error().status, Status::kInvalidArgument);
}

// Fails if a new network is not that of its options, or if a frame of another size is not stretched
// by area means.
TEST_P(NetworkOperator, NewNetworkOfStretchedFrames) {
  for (const ImageSize size : {ImageSize{37, 23}, {200, 150}, {5, 6}}) {
    NetworkConfig made;
    made.size = size;
    made.learn = true;
    made.width = 20;
    made.height = 16;
    made.lgn = LgnTransform::kContrast;
    made.lgn_threshold = 9;
    made.levels = "4x4/2x2:33,3x2/1x1:40";
    made.learning.random_firing = 0.4f;
    made.seed = 77;
    CorticalNetworkConfig of;
    of.width = made.width;
    of.height = made.height;
    of.lgn = made.lgn;
    of.lgn_threshold = made.lgn_threshold;
    of.level_count = 2;
    of.levels[0] = {4, 4, 2, 2, 33};
    of.levels[1] = {3, 2, 1, 1, 40};
    of.learning = made.learning;
    of.seed = 77;
    CorticalNetwork network = must(CorticalNetwork::create(of));
    auto made_rig = rig<Network>(made);
    for (const FrameBuffer& frame : noise_frames(size, PixelFormat::kGray8, 5, 9, 3)) {
      const Frame view = frame.frame(0);
      Image image(20 * 16);
      detail::stretch_patch(
          {static_cast<const std::uint8_t*>(view.data), view.stride, size.width, size.height}, 20,
          16, 0, 16, image.data());
      network.step(image.data(), 20, true);
      const Results got = send(made_rig.op, {frame});
      std::vector<float> expected;
      for (int l = 0; l < 2; ++l)
        for (const std::int32_t winner : network.winners(l))
          expected.push_back(static_cast<float>(winner));
      ASSERT_EQ(got.planes[0][0].data, expected);
    }
    const std::string path = folder_ / "class.ocellus";
    must(network.save_file(path.c_str()));
    EXPECT_EQ(saved(made_rig.op), bytes_of(path));
    const NetworkRecord record =
        step_frame(made_rig, noise_frames(size, PixelFormat::kGray8, 1, 9, 3)[0]);
    EXPECT_EQ(record.count, 1);
    EXPECT_EQ(record.label[0], -1);
    EXPECT_EQ(record.confidence[0], 0.0f);
  }
}

// Fails if rounds of feedback differ from (a) and (b).
TEST_P(NetworkOperator, Feedback) {
  NetworkConfig made = config(false);
  made.feedback_rounds = 2;
  made.feedback_tolerance = 3;
  CorticalNetworkConfig of = network_config();
  of.feedback_rounds = made.feedback_rounds;
  of.feedback_tolerance = made.feedback_tolerance;
  ReferenceNetwork reference(of);
  for (std::size_t i = 0; i < learned_.count(); ++i) reference.step(image_of(learned_, i), true);
  auto made_rig = rig<Network>(made, 3);
  for (unsigned f = 0; f < 5; ++f) {
    const LabeledImages images = images_of(f);
    expect_frame(send(made_rig.op, {tiles(network_config(), images)}), reference, images, false);
  }
}

// Fails if a frame with NaN teaches anything, or has a result.
TEST_P(NetworkOperator, BadFrames) {
  NetworkConfig made = config(true);
  made.format = PixelFormat::kFloat32;
  auto made_rig = rig<Network>(made);
  (void)send(made_rig.op, {tiles(network_config(), images_of(1), PixelFormat::kFloat32)});
  const std::string before = saved(made_rig.op);
  FrameBuffer bad = tiles(network_config(), images_of(2), PixelFormat::kFloat32);
  bad.set(7, 5, std::numeric_limits<double>::quiet_NaN());
  const Results got = send(made_rig.op, {bad});
  EXPECT_NE(got.infos[0].flags & kBadPixels, 0u);
  for (const float winner : got.planes[0][0].data) ASSERT_EQ(winner, -1.0f);
  for (const std::uint32_t value : got.records[0]) ASSERT_EQ(value, 0u);
  EXPECT_EQ(saved(made_rig.op), before);
}

// Fails if a frame allocates or frees memory on any thread.
// Promises: RT-001.
TEST_P(NetworkOperator, DoesNotAllocate) {
  if (!interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  if (GetParam() == BackendChoice::kCuda)
    GTEST_SKIP() << "threads of the driver allocate; realtime.device sets them apart";
  auto made_rig = rig<Network>(config(true), 2);
  const FrameBuffer frame = tiles(network_config(), images_of(1));
  OutputBuffer out(made_rig.op.info());
  int failed = 0;
  const auto step = [&](std::uint64_t number) {
    const auto ticket = made_rig.op.submit(frame.frame(number), out.output());
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

// Fails if a bad configuration or file is accepted, or if the error does not name what is wrong.
TEST_P(NetworkOperator, Refuses) {
  const auto refusal = [](const NetworkConfig& made) {
    const auto info = Network::info_for(made);
    return info ? Error{} : info.error();
  };
  constexpr Status kInvalid = Status::kInvalidArgument;
  NetworkConfig made = config(false);
  made.tile_width = 1000;
  expect_words(refusal(made), kInvalid, {"1000x"});
  made = config(false);
  made.model = {};
  for (const char* levels : {"", "3x3", "3x3/1x1:64,", "3x3/1x1:64;2x2/1x1:3", "3x3/1x1:64 "}) {
    made.levels = Text<kMaxOptionText>{};
    ASSERT_TRUE(made.levels.assign(levels));
    expect_words(refusal(made), kInvalid, {"levels", "is not valid"});
  }
  ASSERT_TRUE(made.levels.assign("30x3/1x1:64"));
  expect_words(refusal(made), kInvalid, {"30"});
  made = config(false);
  made.feedback_rounds = 101;
  expect_words(refusal(made), kInvalid, {"feedback_rounds", "101"});
  made = config(false);
  made.model = "none.ocellus";
  expect_words(refusal(made), Status::kIoError, {"none.ocellus"});
  NetworkConfig options;
  EXPECT_TRUE(set_option(options, "model", path_));
  const auto unknown = set_option(options, "levels", "3x3/1x1:64");
  ASSERT_FALSE(unknown);
  expect_words(unknown.error(), kInvalid, {"levels", "no model"});
  // A byte of the read-out, which the checksum covers.
  std::string bytes = bytes_of(path_);
  bytes[bytes.size() - 9] = static_cast<char>(bytes[bytes.size() - 9] ^ 1);
  std::ofstream(path_, std::ios::binary) << bytes;
  const auto footprint = Network::footprint(must(Engine::probe(engine_config(1))), config(false));
  ASSERT_FALSE(footprint);
  expect_words(footprint.error(), Status::kCorruptFile, {path_});
}

}  // namespace
}  // namespace ocellus::test
