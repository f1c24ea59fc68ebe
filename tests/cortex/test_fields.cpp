// Free receptive fields and CortexRule::kBcpnn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cortex/bcpnn_reference.h"
#include "cortex/labeled_strokes.h"
#include "ocellus/cortex_training.h"
#include "support/run.h"
#include "training/cortex_activity.h"

namespace ocellus {
namespace {

using test::information_of;
using test::labeled_strokes;
using test::ReferenceHypercolumn;

/// Hypercolumns with fields of free inputs over images of 16x16 pixels.
CortexTraining field_training(CortexRule rule) {
  CortexTraining training;
  training.parameters.deslant = false;
  training.parameters.fields = 6;
  training.parameters.field_inputs = 40;
  training.parameters.levels[0].minicolumns = 20;
  training.rule = rule;
  training.feature_images = 4000;
  training.batch = 50;
  training.trace_rate = 0.05f;
  training.rewirings = 20;
  training.exchanges = 5;
  training.threads = 2;
  return training;
}

std::vector<std::vector<int>> cells_of(const LabeledImages& images) {
  const auto pixels =
      static_cast<std::size_t>(images.width) * static_cast<std::size_t>(images.height);
  std::vector<std::vector<int>> cells(images.count());
  for (std::size_t i = 0; i < images.ink.size(); ++i)
    cells[i / pixels].push_back(images.ink[i] >= CortexParameters().lgn_threshold ? 1 : 0);
  return cells;
}

/// A joint distribution of minicolumns and inputs: P_m and P_im, [minicolumn][input].
struct Joint {
  std::vector<double> active;
  std::vector<double> joint;
};
Joint random_joint(std::size_t minicolumns, std::size_t inputs, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  Joint made;
  double sum = 0.0;
  for (std::size_t m = 0; m < minicolumns; ++m) {
    // The first minicolumn never wins.
    made.active.push_back(m == 0 ? 0.0 : uniform(random));
    sum += made.active.back();
  }
  for (double& p : made.active) p /= sum;
  for (std::size_t m = 0; m < minicolumns; ++m)
    for (std::size_t i = 0; i < inputs; ++i)
      // Input 0 is never active, input 1 always.
      made.joint.push_back(made.active[m] * (i == 0 ? 0.0 : i == 1 ? 1.0 : uniform(random)));
  return made;
}

// Fails if the information of an input differs from (g), is not 0 for an input that is constant or
// independent, or is not log 2 for one that tells two minicolumns apart.
TEST(MutualInformation, EqualsReference) {
  const Joint made = random_joint(7, 30, 1);
  const std::vector<double> got = detail::mutual_information(made.active, made.joint);
  ASSERT_EQ(got.size(), 30u);
  for (std::size_t i = 0; i < 30; ++i) {
    std::vector<double> joint;
    for (std::size_t m = 0; m < 7; ++m) joint.push_back(made.joint[m * 30 + i]);
    EXPECT_NEAR(got[i], information_of(made.active, joint), 1e-12) << i;
  }
  EXPECT_NEAR(got[0], 0.0, 1e-12);
  EXPECT_NEAR(got[1], 0.0, 1e-12);
  const std::vector<double> halves =
      detail::mutual_information(std::vector{0.5, 0.5}, std::vector{0.5, 0.1, 0.0, 0.1});
  EXPECT_NEAR(halves[0], std::log(2.0), 1e-12);
  EXPECT_NEAR(halves[1], 0.0, 1e-12);
}

// Fails if a rewiring lowers the information of a field, makes more exchanges than permitted,
// connects an input twice, or ends before the best inputs are connected.
TEST(Rewiring, IncreasesInformation) {
  std::mt19937 random(2);
  std::vector<double> information;
  for (int i = 0; i < 90; ++i) information.push_back(static_cast<double>(random() % 1000));
  std::vector<std::uint16_t> field(20);
  std::iota(field.begin(), field.end(), std::uint16_t{30});
  const auto sum = [&] {
    double all = 0.0;
    for (const std::uint16_t i : field) all += information[i];
    return all;
  };
  int exchanged = 0;
  for (int round = 0; round < 20; ++round) {
    const double before = sum();
    const std::vector<std::uint16_t> old = field;
    const int done = detail::rewire(field, information, 3);
    EXPECT_LE(done, 3);
    std::vector<std::uint16_t> kept;
    std::set_intersection(old.begin(), old.end(), field.begin(), field.end(),
                          std::back_inserter(kept));
    EXPECT_EQ(kept.size() + static_cast<std::size_t>(done), field.size());
    for (std::size_t i = 1; i < field.size(); ++i) ASSERT_LT(field[i - 1], field[i]);
    if (done > 0)
      EXPECT_GT(sum(), before);
    else
      EXPECT_EQ(field, old);
    exchanged += done;
  }
  EXPECT_GT(exchanged, 3);
  std::vector<double> sorted = information;
  std::sort(sorted.rbegin(), sorted.rend());
  EXPECT_EQ(sum(), std::accumulate(sorted.begin(), sorted.begin() + 20, 0.0));
}

// Fails if a random field has an input twice or outside of the patch, or if two hypercolumns have
// the same one.
TEST(Rewiring, FieldsBeginAtRandom) {
  std::vector<std::uint16_t> field(50);
  detail::draw_field(3, 4, 60, field);
  for (std::size_t i = 1; i < field.size(); ++i) ASSERT_LT(field[i - 1], field[i]);
  EXPECT_LT(field.back(), 60);
  std::vector<std::uint16_t> other(50);
  detail::draw_field(3, 5, 60, other);
  EXPECT_NE(field, other);
  detail::draw_field(4, 4, 60, other);
  EXPECT_NE(field, other);
}

/// Compares each hypercolumn of the lowest level with the reference.
void expect_reference(const CortexTraining& training, const LabeledImages& images) {
  const TrainedCortex cortex = test::must(train_cortex(images, training));
  const auto cells = cells_of(images);
  const int hypercolumns = std::max(training.parameters.fields, 1);
  const int minicolumns = training.parameters.levels[0].minicolumns;
  std::size_t row = 0;
  for (int h = 0; h < hypercolumns; ++h) {
    ReferenceHypercolumn reference(training, h, cells);
    reference.learn();
    const std::size_t inputs = reference.field.size();
    if (training.parameters.fields > 0) {
      EXPECT_GT(reference.gained, 0.0);
      EXPECT_GE(reference.least_gain, 0.0);
      for (std::size_t i = 0; i < inputs; ++i) {
        ASSERT_EQ(cortex.fields[static_cast<std::size_t>(h) * inputs + i], reference.field[i])
            << "hypercolumn " << h;
      }
    }
    for (std::size_t i = 0; i < inputs; ++i, ++row) {
      for (int m = 0; m < minicolumns; ++m) {
        ASSERT_EQ(cortex.weights[row * 32 + static_cast<std::size_t>(m)],
                  reference.weights[static_cast<std::size_t>(m)][i])
            << "hypercolumn " << h << " input " << i << " minicolumn " << m;
      }
    }
    for (int m = 0; m < minicolumns; ++m) {
      ASSERT_EQ(cortex.bias[static_cast<std::size_t>(h * 32 + m)],
                reference.bias[static_cast<std::size_t>(m)]);
    }
  }
}

// Fails if a trace, a weight, a bias or an exchange differs from (e), (f) or (g): with the winner
// alone and with soft competition, with off-on cells and without, a batch that does not divide the
// number of images.
TEST(Bcpnn, EqualsReference) {
  const LabeledImages images = labeled_strokes(300, 1);
  CortexTraining training = field_training(CortexRule::kBcpnn);
  training.parameters.fields = 3;
  training.feature_images = 1234;
  expect_reference(training, images);
  training.parameters.competitors = 4;
  training.parameters.softness = 0.3f;
  training.bias_gain = -0.5f;
  expect_reference(training, images);
  training.off_cells = false;
  training.parameters.softness = 1.0f;
  expect_reference(training, images);
  training.parameters.fields = 0;
  training.parameters.levels[0] = {16, 16, 1, 1, 12};
  expect_reference(training, images);
}

// Fails if the rule or the rewiring depends on the number of threads, or if the seed has no effect.
TEST(Bcpnn, DoesNotDependOnThreads) {
  const LabeledImages images = labeled_strokes(500, 5);
  for (const CortexRule rule : {CortexRule::kBcpnn, CortexRule::kHebb}) {
    CortexTraining training = field_training(rule);
    training.parameters.level_count = 2;
    training.parameters.levels[1] = {3, 1, 3, 1, 16};
    training.parameters.competitors = 3;
    training.threads = 1;
    const auto one = test::must(train_cortex(images, training));
    training.threads = 4;
    const auto four = test::must(train_cortex(images, training));
    EXPECT_EQ(one.fields, four.fields);
    EXPECT_EQ(one.weights, four.weights);
    EXPECT_EQ(one.bias, four.bias);
    EXPECT_EQ(one.read_out, four.read_out);
    EXPECT_EQ(one.sharpness, four.sharpness);
    training.seed = 2;
    EXPECT_NE(test::must(train_cortex(images, training)).fields, one.fields);
  }
}

/// 64 of 256 pixels show one of eight patterns, at places that have no order. The others are on in
/// half of the images, independent of each other: each has more entropy than a pixel of a pattern.
LabeledImages scattered_patterns(int count, unsigned seed, std::vector<bool>& informative) {
  std::mt19937 places(7);
  std::vector<int> pixel(256);
  std::iota(pixel.begin(), pixel.end(), 0);
  std::shuffle(pixel.begin(), pixel.end(), places);
  std::vector<std::uint32_t> pattern(64);
  for (std::uint32_t& p : pattern) p = places() % 256;
  informative.assign(256, false);
  for (int i = 0; i < 64; ++i)
    informative[static_cast<std::size_t>(pixel[static_cast<std::size_t>(i)])] = true;
  std::mt19937 random(seed);
  LabeledImages images;
  images.width = images.height = 16;
  images.ink.assign(static_cast<std::size_t>(count) * 256, 0);
  for (int n = 0; n < count; ++n) {
    const unsigned label = random() % 8;
    for (std::size_t i = 0; i < 256; ++i) {
      const bool on = i < 64 ? (pattern[i] >> label & 1u) != 0 : random() % 2 == 0;
      if (on)
        images.ink[static_cast<std::size_t>(n) * 256 + static_cast<std::size_t>(pixel[i])] = 255;
    }
    images.labels.push_back(static_cast<std::uint16_t>(label));
  }
  return images;
}

// Fails if fields do not find the pixels that have something in common: at random, a quarter of
// their inputs is informative.
TEST(Rewiring, FindsInformativePixels) {
  std::vector<bool> informative;
  const LabeledImages images = scattered_patterns(2000, 3, informative);
  for (const CortexRule rule : {CortexRule::kBcpnn, CortexRule::kHebb}) {
    CortexTraining training = field_training(rule);
    training.feature_images = 20000;
    training.rewirings = 60;
    const auto share = [&] {
      const TrainedCortex cortex = test::must(train_cortex(images, training));
      int found = 0;
      for (const std::uint16_t input : cortex.fields) found += informative[input];
      return found / static_cast<double>(cortex.fields.size());
    };
    EXPECT_GT(share(), 0.95) << static_cast<int>(rule);
    training.rewirings = 0;
    EXPECT_LT(share(), 0.4) << static_cast<int>(rule);
  }
}

// Fails if the features of a field carry nothing to the read-out: chance is 25 %.
TEST(Fields, LearnStrokes) {
  const LabeledImages images = labeled_strokes(2000, 1);
  const LabeledImages others = labeled_strokes(400, 2);
  for (const CortexRule rule : {CortexRule::kBcpnn, CortexRule::kHebb}) {
    for (const CortexReadOut read_out : {CortexReadOut::kBayes, CortexReadOut::kDelta}) {
      CortexTraining training = field_training(rule);
      training.parameters.competitors = 4;
      training.parameters.softness = 1.0f;
      training.read_out = read_out;
      const auto answers =
          test::must(classify(test::must(train_cortex(images, training)), others, 2));
      int right = 0;
      for (std::size_t i = 0; i < others.count(); ++i)
        right += answers[i].label == others.labels[i];
      EXPECT_GT(right, 360) << static_cast<int>(rule) << " " << static_cast<int>(read_out);
    }
  }
}

// Fails if a wrong number is accepted, or if the error does not name it.
TEST(Fields, RefuseBadParameters) {
  const LabeledImages images = labeled_strokes(20, 9);
  const auto has = [&](const auto& change, const char* part) {
    CortexTraining training = field_training(CortexRule::kBcpnn);
    training.feature_images = 100;
    change(training);
    const auto made = train_cortex(images, training);
    ASSERT_FALSE(made) << part;
    EXPECT_NE(std::string(made.error().text).find(part), std::string::npos) << made.error().text;
  };
  using T = CortexTraining;
  has([](T& t) { t.parameters.fields = 1025; }, "fields is 1025; it must be 0 to 1024");
  has([](T& t) { t.parameters.fields = -1; }, "fields is -1");
  has([](T& t) { t.parameters.field_inputs = 257; }, "field_inputs is 257; it must be 1 to 256");
  has([](T& t) { t.parameters.field_inputs = 0; }, "field_inputs is 0");
  has([](T& t) { t.parameters.levels[0].minicolumns = 1; }, "minicolumns of level 1 is 1");
  has([](T& t) { t.batch = 0; }, "batch is 0; it must be 1 to 1e+06");
  has([](T& t) { t.trace_rate = 0.0f; }, "trace_rate is 0");
  has([](T& t) { t.bias_gain = std::nanf(""); }, "bias_gain is");
  has([](T& t) { t.rewirings = -1; }, "rewirings is -1");
  has([](T& t) { t.exchanges = 0; }, "exchanges is 0; it must be 1 to 4096");
}

}  // namespace
}  // namespace ocellus
