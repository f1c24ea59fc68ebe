// Learning: what is learned from little data, and that threads do not change it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "neocognitron/labeled_shapes.h"
#include "ocellus/neocognitron_training.h"
#include "training/reference_learning.h"

namespace ocellus::test {
namespace {

TEST(Training, ShapesAreLearnedFromFewImages) {
  const LabeledImages images = shapes(50, 1);
  std::vector<TrainedNeocognitron> networks;
  for (const int side : {1, 5}) {
    SCOPED_TRACE("side " + std::to_string(side));
    NeocognitronTraining training = small_training();
    training.parameters.reference_side = side;
    networks.push_back(must(train_neocognitron(images, training)));
    const TrainedNeocognitron& network = networks.back();
    EXPECT_EQ(network.parameters.reference_side, side);
    EXPECT_EQ(network.names, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
    EXPECT_TRUE(std::is_sorted(network.labels.begin(), network.labels.end()));
    const LabeledImages others = shapes(100, 2);
    const auto scores = recognize(network, others);
    int right = 0;
    for (std::size_t i = 0; i < others.count(); ++i) {
      const CharacterScores score = must(scores)[i];
      right += score.best == others.labels[i];
      EXPECT_GE(score.margin, 0.0f);
      EXPECT_LE(score.similarity, 1.0001f);
    }
    EXPECT_GE(right, 95);
  }
  EXPECT_EQ(networks[0].weights[2], networks[1].weights[2]) << "stage 3 does not depend on it";
  EXPECT_NE(networks[0].weights[3], networks[1].weights[3]) << "learning ignores the side";
}

// Fails when the class of what is no character is not the last one, when it is an answer, or when
// it is lost by a network that learns more.
TEST(Training, WhatIsNoCharacterIsAClassOfItsOwn) {
  LabeledImages images = shapes(50, 1);
  images.names = {"ring", "none", "T", "L", "roof"};
  NeocognitronTraining training = small_training();
  training.other = "none";
  const auto trained = train_neocognitron(images, training);
  const TrainedNeocognitron& network = must(trained);
  EXPECT_EQ(network.names, (std::vector<std::string>{"ring", "T", "L", "roof", "none"}));
  EXPECT_TRUE(network.has_other);
  EXPECT_EQ(network.characters(), 4u);
  EXPECT_TRUE(std::is_sorted(network.labels.begin(), network.labels.end()));
  const auto count_right = [](const TrainedNeocognitron& of) {
    LabeledImages others = shapes(100, 2);
    others.names = {"ring", "none", "T", "L", "roof"};
    const std::vector<int> classes = classes_of(of, others);
    const auto scores = recognize(of, others);
    int right = 0;
    for (std::size_t i = 0; i < others.count(); ++i) {
      const CharacterScores score = must(scores)[i];
      const bool other = others.labels[i] == 1;
      EXPECT_LT(score.best, static_cast<int>(of.characters()));
      right += other ? score.lead() < 0.0f : score.lead() > 0.0f && score.best == classes[i];
    }
    return right;
  };
  EXPECT_GE(count_right(network), 95);

  // A new class begins before that of what is no character.
  LabeledImages more = with_labels(shapes(60, 3), [](int label) { return label == 0; });
  for (std::size_t i = 0; i < more.ink.size(); i += 2) more.ink[i] = 0;  // columns
  more.names = {"columns"};
  NeocognitronTraining extension = small_training();
  extension.margin = 0.0f;
  const auto extended = extend_neocognitron(network, more, extension);
  EXPECT_EQ(must(extended).names,
            (std::vector<std::string>{"ring", "T", "L", "roof", "columns", "none"}));
  EXPECT_TRUE(must(extended).has_other);
  EXPECT_GE(count_right(must(extended)), 90);
  EXPECT_TRUE(encode_neocognitron(must(extended), ""));

  extension.other = "columns";
  const auto other_name = extend_neocognitron(network, more, extension);
  ASSERT_FALSE(other_name);
  EXPECT_STREQ(
      other_name.error().text,
      "training: `other` is \"columns\", but what is no character is the class \"none\" of "
      "the network");

  training.other = "ink";
  const auto refused = train_neocognitron(images, training);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().text, "training: there is no class \"ink\", which `other` names");
}

// (4): with a / b as the weights, b is 1.
TEST(Training, WeightsAreDividedByTheirLength) {
  const auto trained = train_neocognitron(shapes(25, 3), small_training());
  const TrainedNeocognitron& network = must(trained);
  const std::vector<double> c = [] {
    std::vector<double> weights;  // of stage 2: 32 taps with |v| < 3.1, decay 0.8
    double sum = 0.0;
    for (int y = -4; y <= 4; ++y)
      for (int x = -4; x <= 4; ++x) {
        const double distance = std::hypot(x - 0.5, y - 0.5);
        if (distance >= static_cast<double>(3.1f)) continue;
        weights.push_back(std::pow(static_cast<double>(0.8f), distance));
        sum += weights.back();
      }
    for (double& weight : weights) weight /= sum;
    return weights;
  }();
  ASSERT_EQ(c.size(), 32u);
  const auto planes = static_cast<std::size_t>(network.planes[1]);
  ASSERT_EQ(network.weights[1].size(), 32u * 16u * planes);
  for (std::size_t k = 0; k < planes; ++k) {
    double squares = 0.0;
    for (std::size_t row = 0; row < 32u * 16u; ++row) {
      const auto a = static_cast<double>(network.weights[1][row * planes + k]);
      squares += a * a / c[row / 16];
    }
    EXPECT_NEAR(squares, 1.0, 1e-3) << "plane " << k;
  }
}

// Promises: RES-008.
TEST(Training, ThreadsDoNotChangeTheResult) {
  const LabeledImages images = shapes(40, 4);
  NeocognitronTraining training = small_training();
  training.threads = 1;
  const auto one = train_neocognitron(images, training);
  training.threads = 3;
  const auto three = train_neocognitron(images, training);
  EXPECT_EQ(must(one).planes, must(three).planes);
  EXPECT_EQ(must(one).labels, must(three).labels);
  for (std::size_t l = 0; l < 4; ++l) EXPECT_EQ(must(one).weights[l], must(three).weights[l]);
}

// Fails when tuning does not move references towards the images of their class and away from
// others.
TEST(Training, TuningRaisesTheMargins) {
  const LabeledImages images = shapes(60, 9);
  NeocognitronTraining training = small_training();
  training.references = 5;
  training.margin = 0.2f;
  training.copies = 0;
  std::vector<double> margins;
  for (const int passes : {0, 4}) {
    training.tuning = {passes, 0.3f, 4.0f};  // the shapes differ much
    const auto trained = train_neocognitron(images, training);
    EXPECT_EQ(must(trained).planes[3], 5);
    const LabeledImages others = shapes(100, 10);
    const auto scores = recognize(must(trained), others);
    double sum = 0.0;
    for (std::size_t i = 0; i < others.count(); ++i) {
      const CharacterScores score = must(scores)[i];
      sum += static_cast<double>(score.best == others.labels[i] ? score.margin : -score.margin);
    }
    margins.push_back(sum / static_cast<double>(others.count()));
  }
  EXPECT_GT(margins[1], 1.1 * margins[0]);
}

// Fails when a setting of the tuning has no effect.
TEST(Training, SettingsOfTheTuningCount) {
  const LabeledImages images = shapes(30, 11);
  const auto weights = [&images](float rate, float sharpness, float rotation) {
    NeocognitronTraining training = small_training();
    training.copies = 0;
    training.tuning = {1, rate, sharpness};
    training.rotation = rotation;
    const auto trained = train_neocognitron(images, training);
    return must(trained).weights[3];
  };
  const std::vector<float> tuned = weights(0.3f, 5.0f, 8.0f);
  EXPECT_EQ(weights(0.3f, 5.0f, 8.0f), tuned);
  EXPECT_NE(weights(0.6f, 5.0f, 8.0f), tuned);
  EXPECT_NE(weights(0.3f, 4.0f, 8.0f), tuned);
  EXPECT_NE(weights(0.3f, 5.0f, 20.0f), tuned);
}

// Fails when winners do not delete planes that answer with them, or what remains is of no use.
TEST(Training, WinnersCanKillLosers) {
  const LabeledImages images = shapes(60, 12);
  NeocognitronTraining training = small_training();
  training.features[0].planes = training.features[1].planes = 64;
  const auto all = train_neocognitron(images, training);
  for (FeatureLearning& stage : training.features) stage.kill_losers = true;
  const auto left = train_neocognitron(images, training);
  for (std::size_t l = 1; l < 3; ++l) EXPECT_LT(must(left).planes[l], must(all).planes[l]);
  const LabeledImages others = shapes(100, 13);
  const auto scores = recognize(must(left), others);
  int right = 0;
  for (std::size_t i = 0; i < others.count(); ++i)
    right += must(scores)[i].best == others.labels[i];
  EXPECT_GE(right, 95);
}

// Fails when the margin has no influence on the number of references.
TEST(Training, ASmallerMarginGivesFewerReferences) {
  const LabeledImages images = shapes(60, 8);
  NeocognitronTraining training = small_training();
  std::vector<int> references;
  for (const float margin : {0.02f, 0.3f}) {
    training.margin = margin;
    const auto trained = train_neocognitron(images, training);
    references.push_back(must(trained).planes[3]);
  }
  EXPECT_LT(references[0], references[1]);
}

TEST(Training, BadSettingsOfTheTuningAreNamed) {
  const auto error = [](const ReferenceTuning& tuning) {
    NeocognitronTraining training = small_training();
    training.tuning = tuning;
    const auto trained = train_neocognitron(shapes(5, 1), training);
    return trained ? std::string() : std::string(trained.error().text);
  };
  EXPECT_EQ(error({-2, 0.3f, 40.0f}), "training: tuning.passes is -2; it must be -1 to 1000");
  EXPECT_EQ(error({1, 1.5f, 40.0f}), "training: tuning.rate is 1.5; it must be 0 to 1");
  EXPECT_EQ(error({1, 0.3f, std::nanf("")}),
            "training: tuning.sharpness is nan; it must be 1 to 1000");
}

// Fails when the lead of a class is not signed, or a class wins a tie that it has lost.
TEST(Training, TheLeadOfAClassIsSigned) {
  detail::ClassScores scores;
  scores.similarity = {0.25f, 0.75f, 0.5f};
  detail::rank(scores);
  EXPECT_EQ(detail::lead_of(scores, 1), 0.25f);
  EXPECT_EQ(detail::lead_of(scores, 2), -0.25f);
  EXPECT_EQ(detail::lead_of(scores, 0), -0.5f);
  scores.similarity = {0.5f, 0.5f};
  detail::rank(scores);
  EXPECT_EQ(detail::lead_of(scores, 0), 0.0f);
  EXPECT_LT(detail::lead_of(scores, 1), 0.0f);
  scores.similarity = {0.0f, 0.0f};
  detail::rank(scores);
  EXPECT_EQ(detail::lead_of(scores, 0), -1.0f);
}

TEST(Training, ProgressCanStopIt) {
  NeocognitronTraining training = small_training();
  std::vector<std::string> seen;
  training.progress = [&seen](const char* what, double share) {
    EXPECT_GE(share, 0.0);
    EXPECT_LE(share, 1.0);
    if (seen.empty() || seen.back() != what) seen.emplace_back(what);
    return seen.back() != "stage 4";
  };
  const auto trained = train_neocognitron(shapes(20, 5), training);
  ASSERT_FALSE(trained);
  EXPECT_STREQ(trained.error().text, "training: stopped before its end");
  EXPECT_EQ(seen, (std::vector<std::string>{"stage 2", "stage 3", "stages 1 to 3", "stage 4"}));
}

TEST(Training, RefusesWhatDoesNotFit) {
  const auto error = [](const LabeledImages& images, const NeocognitronTraining& training) {
    const auto trained = train_neocognitron(images, training);
    return trained ? std::string() : std::string(trained.error().text);
  };
  LabeledImages images = shapes(10, 6);
  images.ink.pop_back();
  EXPECT_EQ(error(images, small_training()),
            "training: there are 7839 pixels; 10 images of 28x28 have 7840");
  images = shapes(10, 6);
  images.labels[3] = 256;
  EXPECT_EQ(error(images, small_training()),
            "training: the class of image 3 is 256; it must be 0 to 255");
  images = shapes(10, 6);
  std::fill(images.ink.begin(), images.ink.end(), std::uint8_t{0});
  EXPECT_EQ(error(images, small_training()),
            "training: stage 2 found no feature: the images have no ink");
  NeocognitronTraining training = small_training();
  training.margin = std::nanf("");
  EXPECT_EQ(error(shapes(10, 6), training), "training: margin is nan; it must be -0.5 to 0.5");
  EXPECT_EQ(error({28, 28, {}, {}, {}}, small_training()), "training: there are no images");
  images = shapes(10, 6);
  images.names = {"a", "b", "c", "b", "e"};
  EXPECT_EQ(error(images, small_training()),
            "training: the classes 1 and 3 have the same name \"b\"");
  images.names.clear();
  for (int i = 0; i < 257; ++i) images.names.push_back("c" + std::to_string(i));
  EXPECT_EQ(error(images, small_training()), "training: there are 257 names; there may be 256");
  training = small_training();
  training.checkpoint_images = 0;
  EXPECT_EQ(error(shapes(10, 6), training),
            "training: checkpoint_images is 0; it must be 1 or more");
  training = small_training();
  training.calibration_copies = -1;
  EXPECT_EQ(error(shapes(10, 6), training),
            "training: calibration_copies is -1; it must be 0 to 1e+06");
}

}  // namespace
}  // namespace ocellus::test
