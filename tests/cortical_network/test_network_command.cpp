// ocellus train network: learns, answers and writes a network. ocellus network: runs it.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/program_checks.h"
#include "cortical_network/textures.h"
#include "ocellus/cortical_network.h"
#include "support/files.h"
#include "support/idx_files.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

// Fails if the images do not reach the network, if labels, noise or feedback are not applied, or if
// the network is not written.
TEST(TrainNetworkCommand, LearnsAndAnswers) {
  const TemporaryFolder folder;
  std::vector<std::uint8_t> classes;
  for (int i = 0; i < 30; ++i) classes.push_back(static_cast<std::uint8_t>(i % 3));
  const std::string images =
      write_bytes(folder / "images.gz", gzipped(idx_images(30, 8, 8, textures(30))));
  const std::string labels = write_bytes(folder / "labels", idx_labels(classes));
  const std::string out = folder / "network.ocellus";
  std::vector<std::string> command = train_network_command(images, labels, out);
  command.push_back("--json");
  const auto report = json_of(command);
  EXPECT_EQ(report["steps"], 600);
  EXPECT_EQ(report["labeled_minicolumns"], 3);
  ASSERT_EQ(report["results"].size(), 4u);
  EXPECT_EQ(report["results"][0]["right"], 30);
  EXPECT_EQ(report["results"][1]["right"], 30);
  EXPECT_LT(report["results"][2]["answered"].get<int>(), 15) << "the noise is not applied";
  EXPECT_GT(report["results"][3]["right"].get<int>(), report["results"][2]["right"].get<int>() + 5)
      << "the feedback is not applied";
  const auto network = CorticalNetwork::load_file(out.c_str());
  ASSERT_TRUE(network) << network.error().text;
  EXPECT_EQ(network->steps(), 600u);
  EXPECT_EQ(network->config().feedback_rounds, 3);
}

// Fails if Ctrl-C does not stop the tests, or if it loses what the network has learned.
TEST(TrainNetworkCommand, StopsWhileItTests) {
  const TemporaryFolder folder;
  constexpr int kMany = 20'000;  // with feedback they take minutes
  std::vector<std::uint8_t> classes;
  for (int i = 0; i < kMany; ++i) classes.push_back(static_cast<std::uint8_t>(i % 3));
  const std::string images = write_bytes(folder / "images", idx_images(30, 8, 8, textures(30)));
  const std::string labels =
      write_bytes(folder / "labels", idx_labels({classes.begin(), classes.begin() + 30}));
  const std::string others =
      write_bytes(folder / "others", idx_images(kMany, 8, 8, textures(kMany)));
  const std::string of_others = write_bytes(folder / "of-others", idx_labels(classes));
  const std::string out = folder / "network.ocellus";
  RunningProgram program({"train", "network", "--images", images, "--labels", labels,
                          "--test-images", others, "--test-labels", of_others, "--levels",
                          "2x2/1x1:512,7x7/7x7:512", "--feedback-rounds", "100", "-o", out});
  EXPECT_TRUE(wait_until([&] { return !bytes_of(out).empty(); }))
      << "the network is not written before the tests";
  program.send(SIGINT);
  const ChildResult stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGINT);
  EXPECT_EQ(stopped.err, "ocellus: stopped; " + out + " was written, but not tested\n");
  EXPECT_EQ(stopped.out, "");
  const auto network = CorticalNetwork::load_file(out.c_str());
  ASSERT_TRUE(network) << network.error().text;
  EXPECT_EQ(network->steps(), 30u);
}

// Fails if the network that devices learn is not that of the CPU.
TEST(TrainNetworkCommand, DevicesLearnTheSame) {
  const TemporaryFolder folder;
  std::vector<std::uint8_t> classes;
  for (int i = 0; i < 30; ++i) classes.push_back(static_cast<std::uint8_t>(i % 3));
  const std::string images =
      write_bytes(folder / "images.gz", gzipped(idx_images(30, 8, 8, textures(30))));
  const std::string labels = write_bytes(folder / "labels", idx_labels(classes));
  const auto learn = [&](const std::string& out, const std::vector<std::string>& more) {
    const std::vector<std::string> command = {
        "train",    "network", "--images", images,
        "--labels", labels,    "--levels", "4x4/4x4:32,2x2/1x1:32",
        "--passes", "3",       "-o",       out,
        "--json"};
    const auto report = json_of(plus(command, more));
    EXPECT_EQ(report["steps"], 90);
    return bytes_of(out);
  };
  EXPECT_EQ(learn(folder / "cpu.ocellus", {}),
            learn(folder / "placed.ocellus", {"--devices", "cpu"}));
  expect_error({"train", "network", "--images", images, "--labels", labels, "--devices", "gpu",
                "-o", folder / "x.ocellus"},
               {"--devices: 'gpu'", "cuda:N"});
}

// Fails if the read-out does not reach the operator, or if a network without one is taken for
// images.
TEST(NetworkCommand, ClassifiesImages) {
  const TemporaryFolder folder;
  std::vector<std::uint8_t> classes;
  for (int i = 0; i < 30; ++i) classes.push_back(static_cast<std::uint8_t>(i % 3));
  const std::string images = write_bytes(folder / "images", idx_images(30, 8, 8, textures(30)));
  const std::string labels = write_bytes(folder / "labels", idx_labels(classes));
  const std::string out = folder / "network.ocellus";
  const auto trained =
      json_of({"train", "network", "--images", images, "--labels", labels, "--levels",
               "3x3/1x1:32,2x2/2x2:32", "--passes", "20", "--read-out", "bayes", "--test-images",
               images, "--test-labels", labels, "-o", out, "--json"});
  EXPECT_EQ(trained["read_out"], "bayes");
  EXPECT_EQ(trained["results"][0]["right"], 30);
  const std::vector<std::string> classify = {"network", "--images", images,      "--labels", labels,
                                             "--batch", "7",        "--threads", "2"};
  const auto report = json_of(plus(classify, {"--model", out, "--json"}));
  EXPECT_EQ(report["accuracy"], 1.0);
  EXPECT_EQ(report["predictions"].size(), 30u);
  EXPECT_EQ(report["class_names"].size(), 3u);
  const std::string unlabeled = folder / "unlabeled.ocellus";
  json_of({"network", "test:8x8,frames=3", "--learn", "--width", "8", "--height", "8",
           "--save-model", unlabeled, "--json"});
  EXPECT_EQ(must(CorticalNetwork::load_file(unlabeled.c_str())).steps(), 3u);
  expect_error(plus(classify, {"--model", unlabeled}), {"--model", "has no read-out"});
  expect_error({"network", "test:8x8", "--save-model", out}, {"--save-model", "--learn"});
  expect_error({"network", "test:8x8", "--model", out, "--levels", "3x3/1x1:64"},
               {"--levels", "no model"});
}

}  // namespace
}  // namespace ocellus::test
