// Training that stops and goes on, and networks that learn more.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/model_file.h"
#include "neocognitron/labeled_shapes.h"
#include "neocognitron_training_generated.h"
#include "ocellus/neocognitron_training.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes encoded(const Expected<TrainedNeocognitron>& network) {
  const auto bytes = encode_neocognitron(must(network), "");
  return must(bytes);
}

class TrainingState : public ::testing::Test {
 protected:
  std::string write(const Bytes& bytes) {
    const std::string path = folder_ / "state.ocellus";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  /// The state after it was written to a file and read.
  TrainingCheckpoint through_file(const TrainingCheckpoint& state) {
    const auto read = read_checkpoint(write(encode_checkpoint(state)).c_str());
    return must(read);
  }
  std::string read_error(const Bytes& bytes) {
    const auto read = read_checkpoint(write(bytes).c_str());
    return read ? std::string() : std::string(read.error().text);
  }

  TemporaryFolder folder_;
};

// Fails when the state of a stage, or of any part of stage 4, lacks something.
// Promises: RES-008.
TEST_F(TrainingState, EveryStateLeadsToTheSameModel) {
  const LabeledImages images = shapes(40, 1);
  NeocognitronTraining training = small_training();
  training.parameters.reference_side = 5;
  const Bytes whole = encoded(train_neocognitron(images, training));
  std::vector<TrainingCheckpoint> states;
  training.checkpoint_images = 20;  // rounded up to 32
  training.checkpoint = [&states](const TrainingCheckpoint& state) {
    states.push_back(state);
    return true;
  };
  EXPECT_EQ(encoded(train_neocognitron(images, training)), whole);
  ASSERT_GE(states.size(), 8u);
  EXPECT_EQ(states[0].stage, 1);
  EXPECT_EQ(states[1].stage, 2);
  EXPECT_EQ(states[2].stage, 3);
  EXPECT_TRUE(states[2].labels.empty());
  EXPECT_EQ(states[3].position, 32u);
  EXPECT_FALSE(states[3].labels.empty());
  EXPECT_TRUE(std::any_of(states.begin(), states.end(), [&](const TrainingCheckpoint& state) {
    return state.passes == training.passes + 1 && state.position == 32;
  })) << "no state within the tuning";
  EXPECT_EQ(states.back().passes, training.passes + training.tuning.passes);
  training.checkpoint = nullptr;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const TrainingCheckpoint state = through_file(states[i]);
    training.resume = &state;
    training.threads = i % 2 == 0 ? 1 : 3;
    EXPECT_EQ(encoded(train_neocognitron(images, training)), whole) << "state " << i;
  }
}

// Fails when a stop in stage 4 or in its tuning loses what was learned since the last state.
TEST_F(TrainingState, AStopInStage4SavesItsState) {
  const LabeledImages images = shapes(80, 2);
  for (const char* const where : {"stage 4", "tuning"}) {
    NeocognitronTraining training = small_training();
    const Bytes whole = encoded(train_neocognitron(images, training));
    TrainingCheckpoint state;
    training.checkpoint = [&state](const TrainingCheckpoint& now) {
      state = now;
      return true;
    };
    training.progress = [where](const char* what, double share) {
      return std::string(what) != where || share < 0.1;
    };
    const auto stopped = train_neocognitron(images, training);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().status, Status::kUnsupported);
    EXPECT_EQ(state.passes, std::string(where) == "tuning" ? training.passes : 0);
    EXPECT_EQ(state.position, 64u);
    training.progress = nullptr;
    const TrainingCheckpoint first = state;
    training.resume = &first;
    EXPECT_EQ(encoded(train_neocognitron(images, training)), whole) << where;
  }
}

TEST_F(TrainingState, ACheckpointCanStop) {
  NeocognitronTraining training = small_training();
  int calls = 0;
  training.checkpoint = [&calls](const TrainingCheckpoint&) { return ++calls < 2; };
  const auto trained = train_neocognitron(shapes(20, 3), training);
  ASSERT_FALSE(trained);
  EXPECT_STREQ(trained.error().text, "training: stopped before its end");
  EXPECT_EQ(calls, 2);
}

// Fails when a table that no network has takes memory, or when arrays are held before their
// checksum was compared. The files are sparse: they take next to no room.
// Promises: FILE-004.
TEST_F(TrainingState, LargeFilesAreRefusedBeforeTheyTakeMemory) {
  const auto write_claim = [&](std::uint64_t weights, std::uint16_t planes) {
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<std::uint16_t> both{planes, planes};
    const std::vector<std::uint64_t> counts{weights, 0};
    builder.Finish(file::CreateNeocognitronTraining(builder, 1, 1, 2, builder.CreateVector(both),
                                                    builder.CreateVector(counts)));
    const std::uint64_t arrays = weights * sizeof(float);
    Bytes bytes(detail::model_arrays_at(builder.GetSize()));
    detail::write_model_header({"neotrain", "training checkpoint", 1, 960},
                               builder.GetBufferPointer(), builder.GetSize(), arrays, 1,
                               bytes.data());
    const std::string path = write(bytes);
    std::filesystem::resize_file(path, bytes.size() + arrays);
    return path;
  };
  const auto error = [](const std::string& path) {
    const auto read = read_checkpoint(path.c_str());
    EXPECT_FALSE(read);
    if (read) return std::string();
    EXPECT_EQ(read.error().status, Status::kCorruptFile);
    return std::string(read.error().text);
  };
  const std::string huge = error(write_claim(std::uint64_t{1} << 38, 1024));
  EXPECT_NE(huge.find("no network has so many"), std::string::npos) << huge;

  // 400 taps, 16 planes below and 1024 planes: as many as a network can have.
  rusage before{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &before), 0);
  const std::string damaged = error(write_claim(std::uint64_t{400} * 16 * 1024 * 8, 1024));
  EXPECT_NE(damaged.find("no network has so many"), std::string::npos) << damaged;
  const std::string wrong = error(write_claim(std::uint64_t{400} * 16 * 1024 * 4, 4096));
  EXPECT_NE(wrong.find("no network has so many"), std::string::npos) << wrong;
  const std::string hash = error(write_claim(std::uint64_t{400} * 16 * 1024, 1024));
  EXPECT_NE(hash.find("checksum of its arrays"), std::string::npos) << hash;
  rusage after{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 * 1024) << "KiB; the arrays have 25 MiB";
}

// Fails when a state of another training is taken, or one whose arrays do not fit.
TEST_F(TrainingState, OtherStatesAreRefused) {
  const LabeledImages images = shapes(20, 4);
  NeocognitronTraining training = small_training();
  TrainingCheckpoint last;
  training.checkpoint = [&last](const TrainingCheckpoint& state) {
    last = state;
    return true;
  };
  ASSERT_TRUE(train_neocognitron(images, training));
  training.checkpoint = nullptr;
  const auto error = [&](const LabeledImages& from, const TrainingCheckpoint& state) {
    training.resume = &state;
    const auto trained = train_neocognitron(from, training);
    return trained ? std::string() : std::string(trained.error().text);
  };
  EXPECT_EQ(error(images, last), "");
  LabeledImages other = images;
  std::swap(other.labels[0], other.labels[1]);
  EXPECT_EQ(error(other, last), "training: the state to resume comes from other images or labels");
  training.margin = 0.03f;
  EXPECT_EQ(error(images, last), "training: the state to resume comes from other settings");
  training.margin = small_training().margin;
  training.parameters.reference_side = 5;
  EXPECT_EQ(error(images, last), "training: the state to resume comes from other settings");
  training.parameters.reference_side = 1;
  training.threads = 1;
  EXPECT_EQ(error(images, last), "");

  const char* const unfit = "training: the state to resume does not fit the network";
  TrainingCheckpoint state = last;
  state.labels[0] = 5;
  EXPECT_EQ(error(images, state), unfit);
  state = last;
  state.references.pop_back();
  EXPECT_EQ(error(images, state), unfit);
  state = last;
  state.products.push_back(0.0);
  EXPECT_EQ(error(images, state), unfit);
  state = last;
  state.weights[1].pop_back();
  EXPECT_EQ(error(images, state), unfit);
  state = last;
  state.planes[0] = 0;
  EXPECT_EQ(error(images, state), unfit);
  state.weights[0].clear();
  EXPECT_EQ(error(images, state), unfit);
  state.planes[1] = 0;
  state.weights[1].clear();
  EXPECT_EQ(error(images, state), unfit);
  state = last;
  state.stage = 4;
  EXPECT_EQ(error(images, state), unfit);
}

TEST_F(TrainingState, DamagedFilesAreRefused) {
  TrainingCheckpoint state;
  state.stage = 3;
  state.planes = {1, 1};
  state.weights = {{std::vector<float>(16, 0.5f), {0.25f}}};
  state.labels = {0, 0};
  state.references = {1.0f, 2.0f, 3.0f, 4.0f};
  state.squares = {5.0, 25.0};
  state.products = {11.0};
  state.smallest_products = {0.9f, 0.9f};
  const Bytes whole = encode_checkpoint(state);
  EXPECT_EQ(read_error(whole), "");
  for (std::size_t length = 0; length < whole.size(); length += 3)
    EXPECT_NE(read_error(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))),
              "")
        << length << " bytes";
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes bytes = whole;
    bytes[at] ^= 0x04;
    EXPECT_NE(read_error(bytes), "") << "byte " << at;
  }
  state.references[1] = std::nanf("");
  EXPECT_NE(read_error(encode_checkpoint(state)).find("not finite"), std::string::npos);
  state.references[1] = 2.0f;
  state.squares[0] = 0.0;
  EXPECT_NE(read_error(encode_checkpoint(state)).find("not above 0"), std::string::npos);
  const auto none = read_checkpoint("");
  ASSERT_FALSE(none);
  EXPECT_STREQ(none.error().text, "the path of the training checkpoint is empty");
}

int count_right(const TrainedNeocognitron& network, const LabeledImages& images) {
  const auto scores = recognize(network, images);
  const std::vector<int> classes = classes_of(network, images);
  int right = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) right += must(scores)[i].best == classes[i];
  return right;
}

// Fails when the products of a network's references, which may be many, cannot be stopped.
TEST_F(TrainingState, StopsWhileItTakesOverANetwork) {
  const LabeledImages images = shapes(20, 6);
  NeocognitronTraining training = small_training();
  const TrainedNeocognitron network = must(train_neocognitron(images, training));
  ASSERT_GE(network.planes[3], 2);
  int asked = 0;
  training.progress = [&asked](const char* what, double) {
    return std::string(what) != "references" || ++asked < 2;
  };
  const auto stopped = extend_neocognitron(network, images, training);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().status, Status::kUnsupported);
  EXPECT_EQ(asked, 2);
}

// Fails when a new class changes the features, does not become a class, or costs the old ones.
TEST_F(TrainingState, ANetworkLearnsANewClass) {
  const LabeledImages images = shapes(100, 5);
  const auto old = [](std::uint16_t label) { return label != 2; };
  LabeledImages first = with_labels(images, old);
  first.names = {"ring", "cross", "unused", "L", "roof"};
  // The network has no class for the missing name.
  for (std::uint16_t& label : first.labels) label -= label > 2 ? 1 : 0;
  first.names.erase(first.names.begin() + 2);
  const auto trained = train_neocognitron(first, small_training());
  LabeledImages second = with_labels(images, [&](std::uint16_t label) { return !old(label); });
  second.names = {"ring", "cross", "T"};
  const auto extended = extend_neocognitron(must(trained), second, small_training());
  const TrainedNeocognitron& network = must(extended);
  EXPECT_EQ(network.names, (std::vector<std::string>{"ring", "cross", "L", "roof", "T"}));
  for (std::size_t l = 0; l < 3; ++l) EXPECT_EQ(network.weights[l], must(trained).weights[l]);
  EXPECT_GT(network.planes[3], must(trained).planes[3]);
  EXPECT_EQ(network.labels.back(), 4);

  LabeledImages others = shapes(100, 6);
  others.names = {"ring", "cross", "T", "L", "roof"};
  EXPECT_GE(count_right(network, with_labels(others, old)), 77);  // of 80
  EXPECT_GE(count_right(network, with_labels(others, [](int label) { return label == 2; })), 18);
}

// Fails when the references of the network are not those with which stage 4 begins.
TEST_F(TrainingState, AnExtendedNetworkKeepsItsReferences) {
  const LabeledImages images = shapes(60, 7);
  const auto trained = train_neocognitron(images, small_training());
  NeocognitronTraining more = small_training();
  more.copies = 0;
  more.passes = 1;
  more.references = must(trained).planes[3];  // no new ones
  LabeledImages one = with_labels(images, [](std::uint16_t label) { return label == 3; });
  const auto extended = extend_neocognitron(must(trained), one, more);
  EXPECT_EQ(must(extended).labels, must(trained).labels);
  // References of the other classes are as they were, up to the rounding of their lengths.
  const std::size_t planes = must(trained).labels.size();
  std::size_t learned = 0;
  for (std::size_t k = 0; k < planes; ++k) {
    float most = 0.0f;
    for (std::size_t row = 0; row < must(trained).weights[3].size() / planes; ++row) {
      const std::size_t at = row * planes + k;
      most = std::max(most, std::abs(must(extended).weights[3][at] - must(trained).weights[3][at]));
    }
    if (must(trained).labels[k] == 3) {
      learned += must(extended).lengths[k] > 1.05f * must(trained).lengths[k] ? 1u : 0u;
    } else {
      EXPECT_LT(most, 1e-3f) << "reference " << k;
      EXPECT_NEAR(must(extended).lengths[k] / must(trained).lengths[k], 1.0f, 1e-3f);
    }
  }
  EXPECT_GT(learned, 0u);
}

TEST_F(TrainingState, AnExtensionGoesOnToTheSameModel) {
  const LabeledImages images = shapes(60, 8);
  const auto old = [](std::uint16_t label) { return label < 4; };
  const auto trained = train_neocognitron(with_labels(images, old), small_training());
  NeocognitronTraining training = small_training();
  training.copies = 3;
  training.checkpoint_images = 16;
  std::vector<TrainingCheckpoint> states;
  training.checkpoint = [&states](const TrainingCheckpoint& state) {
    states.push_back(state);
    return true;
  };
  const LabeledImages added = with_labels(images, [&](std::uint16_t l) { return !old(l); });
  const Bytes whole = encoded(extend_neocognitron(must(trained), added, training));
  ASSERT_GE(states.size(), 3u);
  training.checkpoint = nullptr;
  training.threads = 3;
  for (const TrainingCheckpoint& state : states) {
    const TrainingCheckpoint read = through_file(state);
    training.resume = &read;
    EXPECT_EQ(encoded(extend_neocognitron(must(trained), added, training)), whole);
  }
  // The network is a part of the settings.
  training.resume = &states.back();
  TrainedNeocognitron other = must(trained);
  other.lengths[0] *= 2.0f;
  const auto refused = extend_neocognitron(other, added, training);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().text, "training: the state to resume comes from other settings");
}

TEST_F(TrainingState, MoreThan256ClassesAreRefused) {
  LabeledImages images = shapes(20, 9);
  for (int i = 0; i < kMaxCharacterClasses; ++i) images.names.push_back("c" + std::to_string(i));
  const auto trained = train_neocognitron(images, small_training());
  LabeledImages added = shapes(5, 10);
  added.names = {"c0", "c1", "one-more", "c3", "c4"};
  const auto extended = extend_neocognitron(must(trained), added, small_training());
  ASSERT_FALSE(extended);
  EXPECT_STREQ(extended.error().text,
               "training: class \"one-more\" is new, but the network has 256 classes, which is the "
               "limit");
}

TEST_F(TrainingState, ASplitTakesAShareOfEachClass) {
  const LabeledImages all = shapes(103, 11);
  LabeledImages images = all;
  const LabeledImages taken = split_validation(images, 0.2, 7);
  EXPECT_EQ(taken.count(), 20u);
  EXPECT_EQ(images.count(), 83u);
  EXPECT_EQ(images.ink.size(), 83u * 784u);
  for (std::uint16_t label = 0; label < 5; ++label)
    EXPECT_EQ(std::count(taken.labels.begin(), taken.labels.end(), label), 4);
  LabeledImages again = all;
  EXPECT_EQ(split_validation(again, 0.2, 7).ink, taken.ink);
  again = all;
  EXPECT_NE(split_validation(again, 0.2, 8).ink, taken.ink);
  again = all;
  EXPECT_EQ(split_validation(again, 1.0, 8).count(), 98u) << "an image of each class stays";
}

// Answers whose probability is a known function of margin and similarity.
std::vector<CharacterScores> answers(std::size_t count, const ConfidenceCalibration& of,
                                     std::vector<int>& classes) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> unit(0.0f, 1.0f);
  std::vector<CharacterScores> scores;
  for (std::size_t i = 0; i < count; ++i) {
    scores.push_back({3, 0.5f + 0.5f * unit(random), 0.2f * unit(random)});
    const float right = of.confidence(scores.back().margin, scores.back().similarity);
    classes.push_back(unit(random) < right ? 3 : 4);
  }
  return scores;
}

// Fails when the fit is not that of the largest likelihood.
TEST(Confidence, IsFoundFromAnswers) {
  const ConfidenceCalibration truth{-5.0f, 40.0f, 5.0f};
  std::vector<int> classes;
  const auto scores = answers(50000, truth, classes);
  const auto fitted = fit_confidence(scores, classes);
  EXPECT_NEAR(must(fitted).offset, truth.offset, 0.4f);
  EXPECT_NEAR(must(fitted).per_margin, truth.per_margin, 2.0f);
  EXPECT_NEAR(must(fitted).per_similarity, truth.per_similarity, 0.5f);
  // The mean confidence is the share of right answers.
  double mean = 0.0;
  double right = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    mean += static_cast<double>(must(fitted).confidence(scores[i].margin, scores[i].similarity));
    right += scores[i].best == classes[i];
  }
  EXPECT_NEAR(mean / right, 1.0, 1e-3);
}

// Fails when answers without a mistake drive the numbers to infinity.
TEST(Confidence, StaysNearItsPriorWithoutMistakes) {
  const ConfidenceCalibration prior{-3.0f, 50.0f, 3.0f};
  std::vector<CharacterScores> scores(20, {1, 0.9f, 0.15f});
  const std::vector<int> classes(20, 1);
  const auto fitted = fit_confidence(scores, classes, prior);
  EXPECT_NEAR(must(fitted).offset, prior.offset, 0.5f);
  EXPECT_NEAR(must(fitted).per_margin, prior.per_margin, 5.0f);
  EXPECT_NEAR(must(fitted).per_similarity, prior.per_similarity, 0.5f);
  const auto none = fit_confidence({}, {}, prior);
  EXPECT_EQ(must(none).per_margin, prior.per_margin);
  scores.assign(20, {});  // no ink
  const auto empty = fit_confidence(scores, classes, prior);
  EXPECT_EQ(must(empty).offset, prior.offset);
  const auto wrong = fit_confidence(scores, {1, 2}, prior);
  ASSERT_FALSE(wrong);
  EXPECT_STREQ(wrong.error().text, "confidence: there are 20 scores and 2 classes");
}

TEST(Confidence, IsALogisticFunction) {
  const ConfidenceCalibration calibration{-1.0f, 10.0f, 2.0f};
  EXPECT_NEAR(calibration.confidence(0.05f, 0.25f), 0.5f, 1e-6f);
  EXPECT_NEAR(calibration.confidence(0.15f, 0.25f), 1.0f / (1.0f + std::exp(-1.0f)), 1e-6f);
  EXPECT_EQ((ConfidenceCalibration{-1e4f, 0.0f, 0.0f}.confidence(0.0f, 0.0f)), 0.0f);
  EXPECT_EQ((ConfidenceCalibration{1e4f, 0.0f, 0.0f}.confidence(0.0f, 0.0f)), 1.0f);
}

TEST(Confidence, IsFittedAtTheEndOfTheTraining) {
  const LabeledImages images = shapes(40, 12);
  NeocognitronTraining training = small_training();
  training.tuning.passes = 0;  // so that there are mistakes
  const auto fitted = train_neocognitron(images, training);
  const ConfidenceCalibration& calibration = must(fitted).calibration;
  EXPECT_NE(calibration.offset, ConfidenceCalibration{}.offset);
  EXPECT_GT(calibration.confidence(0.2f, 0.9f), calibration.confidence(0.0f, 0.9f));
  training.calibration_copies = 0;
  const auto plain = train_neocognitron(images, training);
  EXPECT_EQ(must(plain).calibration.offset, ConfidenceCalibration{}.offset);
}

}  // namespace
}  // namespace ocellus::test
