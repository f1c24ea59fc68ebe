// Accuracy of the cortical classifier on the MNIST test file, trained on the MNIST training file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "apps/io/idx_file.h"
#include "ocellus/cortex_training.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

std::string mnist() {
  const char* const data = std::getenv("OCELLUS_TEST_DATA");
  return data == nullptr ? "" : std::string(data) + "/mnist/";
}

LabeledImages read_mnist(const std::string& name) {
  app::LabeledIdx read = app::read_labeled_idx(mnist() + name + "-images-idx3-ubyte.gz",
                                               mnist() + name + "-labels-idx1-ubyte.gz");
  LabeledImages images;
  images.width = read.images.width;
  images.height = read.images.height;
  images.ink = std::move(read.images.pixels);
  images.labels.assign(read.labels.begin(), read.labels.end());
  return images;
}

class SlowCortexDigits : public testing::Test {
 protected:
  void SetUp() override {
    if (mnist().empty() || !std::filesystem::exists(mnist()))
      GTEST_SKIP() << "needs MNIST in OCELLUS_TEST_DATA/mnist";
  }
  static double accuracy(const CortexTraining& training) {
    const auto cortex = must(train_cortex(read_mnist("train"), training));
    const LabeledImages test = read_mnist("t10k");
    const auto answers = must(classify(cortex, test));
    int right = 0;
    for (std::size_t i = 0; i < test.count(); ++i) right += answers[i].label == test.labels[i];
    return right / static_cast<double>(test.count());
  }
};

// Fails if the features, or the one pass that counts, became worse than docs/cortex_measurements.md
// says.
TEST_F(SlowCortexDigits, Bayes) {
  CortexTraining training;
  training.read_out = CortexReadOut::kBayes;
  training.parameters.levels[0].minicolumns = 1024;
  training.feature_images = 100000;
  training.copies = 3;
  EXPECT_GE(accuracy(training), 0.98);
}

// Fails if the delta rule became worse than docs/cortex_measurements.md says.
TEST_F(SlowCortexDigits, Delta) {
  CortexTraining training;
  training.copies = 3;
  EXPECT_GE(accuracy(training), 0.986);
}

}  // namespace
}  // namespace ocellus::test
