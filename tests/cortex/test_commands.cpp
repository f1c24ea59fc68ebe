// ocellus train cortex and ocellus cortex: the model that is written classifies, and every mistake
// is reported.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/io/image_io.h"
#include "apps/program_checks.h"
#include "cortex/labeled_strokes.h"
#include "ocellus/cortex_training.h"
#include "support/files.h"
#include "support/idx_files.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

class CortexCommands : public testing::Test {
 protected:
  /// Options that name files with strokes.
  std::vector<std::string> files(int count, unsigned seed, const std::string& name) const {
    const LabeledImages images = labeled_strokes(count, seed);
    const std::vector<std::uint8_t> labels(images.labels.begin(), images.labels.end());
    return {"--images",
            write_bytes(folder_ / (name + "-images.gz"),
                        gzipped(idx_images(static_cast<std::uint32_t>(count), 16, 16, images.ink))),
            "--labels", write_bytes(folder_ / (name + "-labels"), idx_labels(labels))};
  }
  std::vector<std::string> train(int count = 1200, const std::string& levels = "8x8/4x4:24") const {
    return plus(plus({"train", "cortex"}, files(count, 1, "train")),
                {"--levels", levels, "--keep-slant", "--feature-images", "2000", "-o", model_});
  }

  const TemporaryFolder folder_;
  const std::string model_ = folder_ / "model.ocellus";
};

// Fails if a source that fails takes away what the frames before it have taught.
TEST_F(CortexCommands, WhatWasLearnedIsSavedBeforeAnError) {
  const std::string video = folder_ / "a.y4m";
  const auto learn = [&](const std::string& rest) {
    std::string bytes = "YUV4MPEG2 W28 H28 Cmono\n";
    for (int frame = 0; frame < 3; ++frame) {
      bytes += "FRAME\n";
      for (int i = 0; i < 28 * 28; ++i) bytes += static_cast<char>(i * (frame + 3) % 251);
    }
    write_bytes(video, bytes);
    std::ofstream(video, std::ios::app) << rest;
    return run_program({"cortex", video, "--learn", "--save-model", model_, "--backend", "cpu"});
  };
  EXPECT_EQ(learn("").exit_code, 0);
  const std::string whole = bytes_of(model_);
  ASSERT_FALSE(whole.empty());
  std::filesystem::remove(model_);
  const ChildResult failed = learn("FRAME\nabc");
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_NE(failed.err.find("truncated: frame 3"), std::string::npos) << failed.err;
  EXPECT_TRUE(bytes_of(model_) == whole);
}

// Fails if the report is not of the model in the file, or if the model does not classify other
// images.
TEST_F(CortexCommands, WhatIsLearnedClassifies) {
  for (const char* read_out : {"bayes", "delta"}) {
    const auto report = json_of(plus(train(), {"--read-out", read_out, "--validation", "0.2"}));
    EXPECT_EQ(report["images"], 960);
    EXPECT_EQ(report["validation_images"], 240);
    EXPECT_EQ(report["classes"].size(), 4u);
    EXPECT_GT(report["accuracy"].get<double>(), 0.9);
    EXPECT_EQ(report["bytes"], bytes_of(model_).size());
    const auto read = read_cortex(model_.c_str());
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->parameters.levels[0], (CorticalLevel{8, 8, 4, 4, 24}));
    EXPECT_FALSE(read->parameters.deslant);

    const auto answers = json_of(
        plus(plus({"cortex"}, files(200, 2, "test")), {"--model", model_, "--batch", "33"}));
    EXPECT_GT(answers["accuracy"].get<double>(), 0.9);
    ASSERT_EQ(answers["predictions"].size(), 200u);
    const LabeledImages images = labeled_strokes(200, 2);
    const auto expected = classify(*read, images);
    int right = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      EXPECT_EQ(answers["predictions"][i], (*expected)[i].label);
      right += (*expected)[i].label == images.labels[i] ? 1 : 0;
    }
    EXPECT_DOUBLE_EQ(answers["accuracy"].get<double>(), right / 200.0);
    int counted = 0;
    for (const auto& row : answers["confusion"])
      for (const auto& cell : row) counted += cell.get<int>();
    EXPECT_EQ(counted, 200);
  }
}

// Fails if a pixel of the picture is not the probability of its weight, or the picture has another
// hypercolumn than the one in the middle.
TEST_F(CortexCommands, PictureShowsTheFeatures) {
  const std::string path = folder_ / "features.png";
  const auto report = json_of(plus(train(400), {"--picture", path}));
  EXPECT_EQ(report["picture"], path);
  const TrainedCortex cortex = must(read_cortex(model_.c_str()));
  const app::GrayImage picture = app::read_image(path);
  // 24 minicolumns of 8x8 pixels, enlarged 3 times, with gaps of 3, in rows of 16.
  ASSERT_EQ(picture.size.width, 16 * 27 + 3);
  ASSERT_EQ(picture.size.height, 2 * 27 + 3);
  const auto pixel = [&](int x, int y) {
    return int{picture.pixels[static_cast<std::size_t>(y * picture.size.width + x)]};
  };
  EXPECT_EQ(pixel(0, 0), 128);
  // 3x3 hypercolumns; rows of weights have room for 32 minicolumns.
  const std::size_t middle = std::size_t{4} * 64 * 32;
  for (int m = 0; m < 24; ++m) {
    for (int input = 0; input < 64; ++input) {
      const double weight =
          cortex.weights[middle + static_cast<std::size_t>(input * 32 + m)] / 24.0;
      const int x = 3 + m % 16 * 27 + input % 8 * 3 + 1;
      const int y = 3 + m / 16 * 27 + input / 8 * 3 + 1;
      EXPECT_NEAR(pixel(x, y), 255.0 / (1.0 + std::exp(-weight)), 0.5 + 1e-9) << m << " " << input;
    }
  }
  expect_error(plus(train(40), {"--picture", folder_ / "features.jpg"}), {"must end in .png"});
}

// Fails if --levels with free fields, --rule or an option of it does not reach the training, or if
// the picture has a pixel of a field at another place.
TEST_F(CortexCommands, FieldsAreLearned) {
  const std::string path = folder_ / "features.png";
  const std::vector<std::string> fields =
      plus(train(1200, "5*40:20,3x1/2x1:12"), {"--rule", "bcpnn", "--competitors", "3"});
  const auto report = json_of(plus(
      fields, {"--picture", path, "--batch", "50", "--trace-rate", "0.05", "--validation", "0.2"}));
  EXPECT_GT(report["accuracy"].get<double>(), 0.8);
  const TrainedCortex cortex = must(read_cortex(model_.c_str()));
  EXPECT_EQ(cortex.parameters.fields, 5);
  EXPECT_EQ(cortex.parameters.field_inputs, 40);
  EXPECT_EQ(cortex.parameters.levels[0].minicolumns, 20);
  EXPECT_EQ(cortex.parameters.levels[1], (CorticalLevel{3, 1, 2, 1, 12}));
  // 20 minicolumns of 16x16 pixels, enlarged 3 times, with gaps of 3, in rows of 16.
  const app::GrayImage picture = app::read_image(path);
  ASSERT_EQ(picture.size.width, 16 * 51 + 3);
  std::vector<int> expected(256, 128);
  for (std::size_t i = 0; i < 40; ++i) {
    const double weight = cortex.weights[(2 * 40 + i) * 32 + 7] / 24.0;
    expected[cortex.fields[2 * 40 + i]] =
        static_cast<int>(std::lround(255.0 / (1.0 + std::exp(-weight))));
  }
  for (int i = 0; i < 256; ++i) {
    const int x = 3 + 7 * 51 + i % 16 * 3 + 1;
    const int y = 3 + i / 16 * 3 + 1;
    EXPECT_EQ(picture.pixels[static_cast<std::size_t>(y * picture.size.width + x)],
              expected[static_cast<std::size_t>(i)])
        << i;
  }
  for (const std::vector<std::string>& change : {std::vector<std::string>{"--rewirings", "0"},
                                                 {"--exchanges", "1"},
                                                 {"--bias-gain", "-3"},
                                                 {"--no-off-cells"},
                                                 {"--batch", "7"},
                                                 {"--trace-rate", "0.2"}}) {
    json_of(plus(fields, change));
    EXPECT_NE(must(read_cortex(model_.c_str())).weights, cortex.weights) << change[0];
  }
}

// Fails if the answers to frames are not those to the same images, in the order of the tiles, or if
// the text does not show them.
TEST_F(CortexCommands, FramesAreClassified) {
  json_of(train());
  constexpr int kColumns = 3;
  constexpr int kRows = 2;
  const LabeledImages images = labeled_strokes(2 * kColumns * kRows, 5);
  const auto expected = classify(must(read_cortex(model_.c_str())), images);
  for (int frame = 0; frame < 2; ++frame) {
    std::string pixels;
    for (int y = 0; y < 16 * kRows; ++y) {
      for (int x = 0; x < 16 * kColumns; ++x) {
        const int image = frame * kColumns * kRows + y / 16 * kColumns + x / 16;
        pixels += static_cast<char>(
            images.ink[static_cast<std::size_t>(image * 256 + y % 16 * 16 + x % 16)]);
      }
    }
    std::ofstream(folder_ / ("f" + std::to_string(frame) + ".pgm"), std::ios::binary)
        << "P5 48 32 255\n"
        << pixels;
  }
  const std::vector<std::string> arguments = {"cortex",        folder_ / "f%d.pgm",
                                              "--model",       model_,
                                              "--layout",      "tiles",
                                              "--tile-width",  "16",
                                              "--ink",         "light",
                                              "--tile-height", "16"};
  const auto report = json_of(arguments);
  ASSERT_EQ(report["frames"].size(), 2u);
  std::string text;
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const auto& frame = report["frames"][i / 6];
    const auto& patch = frame["patches"][i % 6];
    EXPECT_EQ(patch["class"], (*expected)[i].label);
    EXPECT_NEAR(patch["confidence"].get<double>(), (*expected)[i].confidence, 1e-6);
    const std::string name = report["class_names"][static_cast<std::size_t>((*expected)[i].label)];
    if (i % 6 == 0) text += "frame " + std::to_string(i / 6) + ": ";
    if (i % 6 == 3) text += "         ";
    text += name + (i % 3 == 2 ? "\n" : "");
  }
  EXPECT_NE(run_program(arguments).out.find(text), std::string::npos) << text;
  // A whole frame is one patch.
  const auto whole = json_of({"cortex", folder_ / "f0.pgm", "--model", model_});
  EXPECT_EQ(whole["frames"][0]["patches"].size(), 1u);
}

// Fails if an error is not reported by a text that names the file or the option.
TEST_F(CortexCommands, MistakesAreNamed) {
  const auto fails = [](const std::vector<std::string>& arguments, const std::string& part) {
    expect_error(arguments, {part});
  };
  fails({"cortex"}, "FRAMES is missing");
  fails(plus({"cortex", "frame.png"}, files(8, 3, "test")), "either FRAMES or --images");
  fails(plus(plus({"cortex"}, files(8, 3, "test")), {"--layout", "tiles"}),
        "each image of --images is one patch");
  fails({"cortex", "frame.png", "--batch", "3"}, "they are those of --images");
  fails({"cortex", "/no/such/frame.png"}, "/no/such/frame.png");
  fails({"cortex", "--images", "/no/such/file"}, "/no/such/file");
  fails(plus(plus({"cortex"}, files(8, 3, "test")), {"--model", "/no/model"}), "/no/model");
  fails(plus(plus({"cortex"}, files(8, 3, "test")), {"--batch", "0"}), "--batch");
  fails(plus(train(40), {"--levels", "8x8:3"}), "'8x8:3' is not a level");
  fails(plus(train(40), {"--levels", "17x8/1x1:8"}), "the window of level 2 is 17x8");
  fails(train(40, "0*9:8"), "'0*9:8' is not a level");
  fails(train(40, "3*9x9:8"), "'3*9x9:8' is not a level");
  fails(train(40, "3*257:8"), "field_inputs is 257; it must be 1 to 256");
  fails(train(40, "8x8/4x4:24,3*9:8"), "'3*9:8' is not a level");
  fails(plus(train(40), {"--exchanges", "3"}), "without free pixels");
  fails(plus(train(40), {"--bias-gain", "3"}), "they belong to --rule bcpnn");
  fails(plus(train(40), {"--rule", "bcpnn", "--least-rate", "0.1"}), "--trace-rate");
  fails(plus(train(40), {"--read-out", "bayes", "--passes", "3"}), "needs one pass");
  fails(plus(train(40), {"--rotation", "3"}), "without --copies");
  fails(plus(plus({"train", "cortex"}, files(40, 4, "train")), {"-o", folder_ / "model"}),
        "must end in .ocellus");
}

}  // namespace
}  // namespace ocellus::test
