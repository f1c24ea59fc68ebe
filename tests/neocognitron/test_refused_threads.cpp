// The system refuses a thread while models are trained and images are classified. Each refusal is
// an error, no thread stays, and the next call succeeds.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>

#include "cortex/labeled_strokes.h"
#include "neocognitron/labeled_shapes.h"
#include "ocellus/cortex_training.h"
#include "ocellus/neocognitron_training.h"
#include "support/refused_threads.h"
#include "support/threads.h"

namespace ocellus::test {
namespace {

constexpr int kThreads = 4;

// Fails when a refused thread ends the process, when no error tells of it, or when the threads that
// started before it stay.
void expect_refusals(const std::function<Expected<void>()>& call) {
  const NewThreads threads;
  for (int given = 0; given < kThreads - 1; ++given) {
    threads_left = given;
    const Expected<void> refused = call();
    threads_left = kNoThreadLimit;
    ASSERT_FALSE(refused) << given << " threads were given";
    EXPECT_EQ(refused.error().status, Status::kSystem) << refused.error().text;
    const std::string expected = "training thread " + std::to_string(given + 1) + " ";
    EXPECT_EQ(std::string(refused.error().text).find(expected), 0u) << refused.error().text;
    EXPECT_TRUE(threads.left().empty());
  }
  const Expected<void> made = call();
  EXPECT_TRUE(made) << made.error().text;
  EXPECT_TRUE(threads.left().empty());
}

template <typename T>
Expected<void> outcome(const Expected<T>& result) {
  if (!result) return tl::unexpected(result.error());
  return {};
}

TEST(RefusedThreads, Neocognitron) {
  const LabeledImages images = shapes(20, 1);
  NeocognitronTraining training = small_training();
  const TrainedNeocognitron network = must(train_neocognitron(images, training));
  training.threads = kThreads;
  expect_refusals([&] { return outcome(train_neocognitron(images, training)); });
  expect_refusals([&] { return outcome(extend_neocognitron(network, images, training)); });
  expect_refusals([&] { return outcome(recognize(network, images, kThreads)); });
}

TEST(RefusedThreads, Cortex) {
  const LabeledImages images = labeled_strokes(200, 1);
  CortexTraining training;
  training.parameters.deslant = false;
  training.parameters.levels[0] = {8, 8, 4, 4, 24};
  training.feature_images = 100;
  const TrainedCortex cortex = must(train_cortex(images, training));
  training.threads = kThreads;
  expect_refusals([&] { return outcome(train_cortex(images, training)); });
  expect_refusals([&] { return outcome(classify(cortex, images, kThreads)); });
}

// Fails when a number of threads that no system gives is tried.
TEST(RefusedThreads, NumbersOutOfRange) {
  const LabeledImages images = labeled_strokes(200, 1);
  for (const int threads : {-1, 1025}) {
    CortexTraining training;
    training.threads = threads;
    const auto refused = train_cortex(images, training);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kInvalidArgument);
    EXPECT_EQ(std::string(refused.error().text), "training: threads is " + std::to_string(threads) +
                                                     "; it must be 0 (one for each CPU) to 1024");
  }
}

}  // namespace
}  // namespace ocellus::test
