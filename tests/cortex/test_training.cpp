// Training of the cortical classifier.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cortex/labeled_strokes.h"
#include "ocellus/cortex_training.h"
#include "training/cortex_activity.h"

namespace ocellus {
namespace {

using test::labeled_strokes;

CortexTraining small_training() {
  CortexTraining training;
  training.parameters.deslant = false;  // it would make the diagonals vertical
  training.parameters.levels[0] = {8, 8, 4, 4, 24};
  training.feature_images = 3000;
  training.threads = 2;
  return training;
}

double accuracy(const TrainedCortex& cortex, const LabeledImages& images) {
  const auto answers = classify(cortex, images, 2);
  EXPECT_TRUE(answers) << answers.error().text;
  int right = 0;
  for (std::size_t i = 0; i < images.count(); ++i) right += (*answers)[i].label == images.labels[i];
  return right / static_cast<double>(images.count());
}

bool equal(const TrainedCortex& a, const TrainedCortex& b) {
  return a.weights == b.weights && a.bias == b.bias && a.read_out == b.read_out &&
         a.class_bias == b.class_bias && a.sharpness == b.sharpness && a.names == b.names;
}

// Fails if features or a read-out learn nothing: chance is 25%.
TEST(CortexTraining, LearnsStrokes) {
  const LabeledImages images = labeled_strokes(2000, 1);
  const LabeledImages others = labeled_strokes(400, 2);
  for (const CortexReadOut read_out : {CortexReadOut::kBayes, CortexReadOut::kDelta}) {
    CortexTraining training = small_training();
    training.read_out = read_out;
    const auto cortex = train_cortex(images, training);
    ASSERT_TRUE(cortex) << cortex.error().text;
    EXPECT_GT(accuracy(*cortex, others), 0.95) << static_cast<int>(read_out);
  }
}

// Fails if a training or a classification cannot be stopped in one of its parts, or asks only after
// a whole hypercolumn or pass.
TEST(CortexTraining, StopsInEachPart) {
  const LabeledImages images = labeled_strokes(1000, 5);
  for (const CortexReadOut read_out : {CortexReadOut::kBayes, CortexReadOut::kDelta}) {
    CortexTraining training = small_training();
    training.read_out = read_out;
    training.threads = 1;
    training.parameters.levels[0] = {16, 16, 16, 16, 24};  // one hypercolumn
    for (const std::string where : {"cells", "features", "read-out"}) {
      int asked = 0;
      training.progress = [&](const char* what, double share) {
        EXPECT_GE(share, 0.0);
        EXPECT_LE(share, 1.0);
        return what != where || ++asked < 3;
      };
      const auto stopped = train_cortex(images, training);
      ASSERT_FALSE(stopped) << where;
      EXPECT_EQ(stopped.error().status, Status::kUnsupported) << stopped.error().text;
      EXPECT_EQ(asked, 3) << where;
    }
  }
  const auto cortex = train_cortex(images, small_training());
  ASSERT_TRUE(cortex) << cortex.error().text;
  const auto answers = classify(*cortex, images, 1, [](const char* what, double) {
    EXPECT_STREQ(what, "classification");
    return false;
  });
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().status, Status::kUnsupported);
}

// Fails if a training asks only on the threads that compute: of one hypercolumn and several
// threads, the caller may have nothing to compute. It would then learn for hours.
TEST(CortexTraining, StopsWhileAnotherThreadComputes) {
  const LabeledImages images = labeled_strokes(100, 6);
  CortexTraining training = small_training();
  training.parameters.levels[0] = {16, 16, 16, 16, 256};
  training.feature_images = 100'000'000;
  training.threads = 4;
  training.progress = [](const char* what, double) { return std::string(what) != "features"; };
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(train_cortex(images, training));
}

// Fails if the mean confidence is far from the accuracy on images that were not learned.
TEST(CortexTraining, ConfidenceIsCalibrated) {
  const LabeledImages others = labeled_strokes(1000, 4);
  const auto cortex = train_cortex(labeled_strokes(2000, 3), small_training());
  ASSERT_TRUE(cortex);
  const auto answers = classify(*cortex, others);
  double sum = 0.0;
  for (const CortexAnswer& answer : *answers) sum += static_cast<double>(answer.confidence);
  EXPECT_NEAR(sum / 1000.0, accuracy(*cortex, others), 0.03);
}

// Fails if the hypercolumns of different threads share something, or if the seed has no effect.
TEST(CortexTraining, DoesNotDependOnThreads) {
  const LabeledImages images = labeled_strokes(500, 5);
  CortexTraining training = small_training();
  training.parameters.level_count = 2;
  training.parameters.levels[1] = {2, 2, 1, 1, 16};
  training.parameters.competitors = 3;
  training.threads = 1;
  const auto one = train_cortex(images, training);
  training.threads = 3;
  const auto three = train_cortex(images, training);
  ASSERT_TRUE(one && three);
  EXPECT_TRUE(equal(*one, *three));
  training.seed = 2;
  const auto other = train_cortex(images, training);
  EXPECT_NE(other->weights, one->weights);
}

// Fails if labels beyond the first ones of each class are used, or if the features depend on
// labels.
TEST(CortexTraining, UsesFewLabels) {
  LabeledImages images = labeled_strokes(800, 6);
  CortexTraining training = small_training();
  training.read_out = CortexReadOut::kBayes;
  training.labels_per_class = 5;
  const auto few = train_cortex(images, training);
  ASSERT_TRUE(few);
  EXPECT_GT(accuracy(*few, labeled_strokes(400, 7)), 0.6);
  // The first 20 images have all the labels that count.
  for (std::size_t i = 20; i < images.count(); ++i)
    images.labels[i] = static_cast<std::uint16_t>((images.labels[i] + 1) % 4);
  const auto changed = train_cortex(images, training);
  ASSERT_TRUE(changed);
  EXPECT_TRUE(equal(*few, *changed));
}

// Fails if a weight is not the logarithm of (a): with one minicolumn pattern, P is the share of
// images in which a pixel is on.
TEST(CortexTraining, WeightsAreLogarithmsOfProbabilities) {
  LabeledImages images;
  images.width = 8;
  images.height = 8;
  // Pixel 0 is on in every image, pixel 1 in half of them, the others never.
  for (int i = 0; i < 400; ++i) {
    for (int p = 0; p < 64; ++p) images.ink.push_back(p == 0 || (p == 1 && i % 2 == 0) ? 255 : 0);
    images.labels.push_back(static_cast<std::uint16_t>(i % 2));
  }
  CortexTraining training = small_training();
  training.parameters.levels[0] = {8, 8, 1, 1, 2};
  training.feature_images = 20000;
  training.read_out = CortexReadOut::kBayes;
  const double limit = std::log(0.99 / 0.01);
  Expected<TrainedCortex> cortex;
  const auto weight = [&](int input, int m) {
    return cortex->weights[static_cast<std::size_t>(input * 32 + m)] /
           static_cast<double>(kCortexWeightScale);
  };
  // Both minicolumns may begin with the same kind of image, and then one of them wins always. Among
  // ten seeds there is one with which they divide the images between them.
  bool divided = false;
  for (training.seed = 1; training.seed <= 10 && !divided; ++training.seed) {
    cortex = train_cortex(images, training);
    ASSERT_TRUE(cortex);
    divided = std::abs(weight(1, 0) - weight(1, 1)) > limit;
  }
  ASSERT_TRUE(divided);
  for (int m = 0; m < 2; ++m) {
    EXPECT_NEAR(weight(0, m), limit, 0.03);
    EXPECT_NEAR(std::abs(weight(1, m)), limit, 0.03);
    EXPECT_NEAR(weight(40, m), -limit, 0.03);
    const int on = weight(1, m) > 0.0 ? 2 : 1;
    // Each of 64 inputs has the probability 0.99 to be as expected. b counts all as off.
    EXPECT_NEAR(cortex->bias[static_cast<std::size_t>(m)] / static_cast<double>(kCortexWeightScale),
                (64 - on) * std::log(0.99) + on * std::log(0.01), 0.1);
  }
  // R of the class that a minicolumn wins always, and the prior p(c).
  const int on = weight(1, 0) > 0.0 ? 0 : 1;  // images with pixel 1 are of class 0
  const double r =
      cortex->read_out[static_cast<std::size_t>(on * 2)] / static_cast<double>(kCortexReadOutScale);
  EXPECT_NEAR(r, std::log((200.0 + 0.5) / (200.0 + 1.0) / 0.5), 0.002);
  EXPECT_NEAR(cortex->class_bias[0] / static_cast<double>(kCortexReadOutScale), std::log(0.5),
              0.002);
}

// Fails if a copy without distortion is not the image, or if a distortion moves ink beyond what its
// bounds permit.
TEST(CortexTraining, CopiesAreDistorted) {
  LabeledImages images = labeled_strokes(3, 11);
  CortexTraining training = small_training();
  training.rotation = training.scale = training.shear = training.shift = 0.0f;
  std::vector<std::uint8_t> out(256);
  detail::draw_copy(images, 2, 1, training, out.data());
  EXPECT_TRUE(std::equal(out.begin(), out.end(), images.ink.begin() + 512));
  // One bright pixel that moves by at most 2 along x and y keeps its ink.
  std::fill(images.ink.begin(), images.ink.end(), std::uint8_t{0});
  images.ink[256 + 8 * 16 + 8] = 200;
  training.shift = 2.0f;
  double moved = 0.0;
  for (int copy = 1; copy <= 20; ++copy) {
    detail::draw_copy(images, 1, copy, training, out.data());
    double sum = 0.0;
    double x = 0.0;
    for (int i = 0; i < 256; ++i) {
      sum += out[static_cast<std::size_t>(i)];
      x += out[static_cast<std::size_t>(i)] * (i % 16);
    }
    EXPECT_NEAR(sum, 200.0, 2.0);
    EXPECT_LE(std::abs(x / sum - 8.0), 2.05);
    moved = std::max(moved, std::abs(x / sum - 8.0));
  }
  EXPECT_GT(moved, 1.0);
}

// Fails if copies are not learned, or with the labels of other images.
TEST(CortexTraining, LearnsCopies) {
  const LabeledImages images = labeled_strokes(60, 12);
  CortexTraining training = small_training();
  const auto without = train_cortex(images, training);
  training.copies = 10;
  training.rotation = 3.0f;
  training.shift = 2.0f;
  const auto with = train_cortex(images, training);
  ASSERT_TRUE(without && with);
  const LabeledImages others = labeled_strokes(1000, 13);
  EXPECT_GT(accuracy(*with, others), accuracy(*without, others));
  EXPECT_GT(accuracy(*with, others), 0.9);
}

// Fails if training goes on after `progress` has returned false.
TEST(CortexTraining, Stops) {
  CortexTraining training = small_training();
  training.progress = [](const char*, double) { return false; };
  const auto stopped = train_cortex(labeled_strokes(100, 8), training);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().status, Status::kUnsupported);
}

// Fails if bad images or parameters are accepted, or if the error does not name them.
TEST(CortexTraining, RefusesBadInput) {
  const auto text = [](const LabeledImages& images, const CortexTraining& training) -> std::string {
    const auto made = train_cortex(images, training);
    return made ? "accepted" : made.error().text;
  };
  const LabeledImages good = labeled_strokes(20, 9);
  const CortexTraining training = small_training();
  EXPECT_NE(text({}, training).find("there are no images"), std::string::npos);
  LabeledImages bad = good;
  bad.ink.pop_back();
  EXPECT_NE(text(bad, training).find("there are 5119 pixels"), std::string::npos);
  bad = good;
  bad.labels[3] = 256;
  EXPECT_NE(text(bad, training).find("label 256"), std::string::npos);
  bad = good;
  bad.names = {"a", "b", "c"};
  EXPECT_NE(text(bad, training).find("label 3 has no name"), std::string::npos);
  bad = good;
  bad.height = 4;
  bad.width = 64;
  EXPECT_NE(text(bad, training).find("height is 4"), std::string::npos);
  CortexTraining wrong = training;
  wrong.passes = 0;
  EXPECT_NE(text(good, wrong).find("passes is 0"), std::string::npos);
  wrong = training;
  wrong.rate = std::nanf("");
  EXPECT_NE(text(good, wrong).find("rate is"), std::string::npos);
  wrong = training;
  wrong.parameters.levels[0].minicolumns = 0;
  EXPECT_NE(text(good, wrong).find("minicolumns of level 1 is 0"), std::string::npos);
  LabeledImages small = labeled_strokes(4, 10);
  small.width = 8;
  small.height = 32;
  const auto cortex = train_cortex(good, training);
  const auto refused = classify(*cortex, small);
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string(refused.error().text).find("the model takes 16x16"), std::string::npos);
}

}  // namespace
}  // namespace ocellus
