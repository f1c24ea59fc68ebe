// ocellus train digits: the model that it writes recognizes, it goes on after Ctrl-C, and every
// mistake is reported.
#include <gtest/gtest.h>

#include <signal.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "apps/program_checks.h"
#include "neocognitron/digit_scene.h"
#include "neocognitron/noise_frame.h"
#include "ocellus/neocognitron_training.h"
#include "support/files.h"
#include "support/idx_files.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

struct Digits {
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;
};

/// Digits of these classes in turns, 28x28, dark on bright paper.
Digits draw(int count, const std::vector<int>& classes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  Digits digits;
  for (int i = 0; i < count; ++i) {
    const int value = classes[static_cast<std::size_t>(i) % classes.size()];
    Scene scene(28, 28);
    scene.digit(value, 9.0 + 2.0 * unit(random), 5.0 + unit(random), 17.0 + unit(random),
                2.5 + 0.7 * unit(random), 8.0 * unit(random));
    const std::vector<std::uint8_t> pixels = scene.pixels();
    digits.pixels.insert(digits.pixels.end(), pixels.begin(), pixels.end());
    digits.labels.push_back(static_cast<std::uint8_t>(value));
  }
  return digits;
}

class TrainCommand : public testing::Test {
 protected:
  /// A command line for digits in files with this name.
  std::vector<std::string> files(const Digits& digits, const std::string& name) const {
    const auto count = static_cast<std::uint32_t>(digits.labels.size());
    return {"train",
            "digits",
            "--images",
            write_bytes(folder_ / (name + "-images.gz"),
                        gzipped(idx_images(count, 28, 28, digits.pixels))),
            "--labels",
            write_bytes(folder_ / (name + "-labels"), idx_labels(digits.labels))};
  }

  /// Writes a frame of 240x80 pixels with the digits 7, 8 and 9. Returns their boxes.
  std::string write_three_digits(const std::string& name) const {
    Scene scene(240, 80);
    std::string boxes;
    for (int i = 0; i < 3; ++i) {
      const Rect box = scene.digit(7 + i, 30 + 60 * i, 20, 36);
      boxes += (i > 0 ? ";" : "") + std::to_string(box.x) + ',' + std::to_string(box.y) + ',' +
               std::to_string(box.width) + ',' + std::to_string(box.height);
    }
    const auto pixels = scene.pixels();
    std::string pgm = "P5\n240 80\n255\n";
    pgm.append(pixels.begin(), pixels.end());
    write_bytes(folder_ / name, pgm);
    return boxes;
  }

  const TemporaryFolder folder_;
  const std::string model_ = folder_ / "model.ocellus";
};

const std::vector<int> kAll{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
const std::vector<std::string> kSmall{"--planes", "16,24", "--copies", "1", "--passes", "2"};

// Fails when the report is not of the model in the file.
TEST_F(TrainCommand, WritesAModelAndReportsIt) {
  const auto arguments = plus(files(draw(150, kAll, 1), "digits"), kSmall);
  const auto report =
      json_of(plus(arguments, {"--validation", "0.2", "--note", "drawn", "-o", model_}));
  EXPECT_EQ(report["images"], 120);
  EXPECT_EQ(report["validation_images"], 30);
  EXPECT_EQ(report["classes"].size(), 10u);
  EXPECT_GE(report["accuracy"].get<double>(), 0.9);
  EXPECT_EQ(report["class_accuracy"].size(), 10u);
  EXPECT_EQ(report["bytes"], bytes_of(model_).size());
  EXPECT_GT(report["seconds"].get<double>(), 0.0);
  const auto read = read_neocognitron(model_.c_str());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(report["planes"], (nlohmann::json{16, read->planes[1], read->planes[2]}));
  EXPECT_EQ(report["references"], read->planes[3]);
  EXPECT_NEAR(report["confidence"]["per_margin"].get<double>(),
              static_cast<double>(read->calibration.per_margin), 1e-3);
  EXPECT_NE(bytes_of(model_).find("drawn"), std::string::npos);
  EXPECT_EQ(read->parameters.reference_side, 1);

  const ChildResult text =
      run_program(plus(arguments, {"--per-class", "3", "--reference-side", "5", "-o", model_}));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  EXPECT_NE(text.out.find("learned 30 images of 10 classes in "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("planes 16, "), std::string::npos);
  EXPECT_EQ(text.out.find("accuracy"), std::string::npos) << "nothing was held back";
  EXPECT_EQ(must(read_neocognitron(model_.c_str())).parameters.reference_side, 5);
  // No file of the work remains.
  EXPECT_EQ(files_in(folder_.path(), "model"), (std::vector<std::string>{"model.ocellus"}));
}

// Fails when a command ends with success and without its model, or removes, overwrites or only
// touches what it reads, because the checkpoint has the name of another file.
TEST_F(TrainCommand, TheCheckpointIsAFileOfItsOwn) {
  namespace fs = std::filesystem;
  const auto arguments = plus(files(draw(20, kAll, 1), "digits"), kSmall);
  const auto with = [&](const std::string& out, const std::string& checkpoint,
                        const std::vector<std::string>& more = {}) {
    return plus(plus(arguments, {"-o", out, "--checkpoint", checkpoint}), more);
  };
  fs::create_symlink(folder_.path(), folder_ / "link");
  fs::create_symlink("later.ocellus", folder_ / "dangling.ocellus");
  // None of the two exists; then both do.
  for (const bool exists : {false, true}) {
    if (exists) write_bytes(model_, "what stood there");
    for (const std::string& name :
         {model_, folder_ / "./model.ocellus", folder_ / "link/model.ocellus"})
      expect_error(with(model_, name), {"-o and --checkpoint name the same file"});
    EXPECT_EQ(bytes_of(model_), exists ? "what stood there" : "");
  }
  expect_error(with(folder_ / "later.ocellus", folder_ / "dangling.ocellus"), {"the same file"});
  fs::remove(model_);

  // A model that --from reads.
  const std::string from = folder_ / "from.ocellus";
  ASSERT_EQ(run_program(plus(arguments, {"-o", from})).exit_code, 0);
  const std::string before = bytes_of(from);
  ASSERT_FALSE(before.empty());
  const auto extend = plus(files(draw(20, kAll, 3), "more"),
                           {"--from", from, "--copies", "0", "--tuning-passes", "0"});
  for (const std::string& name : {from, folder_ / "link/from.ocellus"}) {
    expect_error(plus(extend, {"-o", model_, "--checkpoint", name}), {"is an input"});
    expect_error(plus(extend, {"-o", name}), {"is an input"});
    EXPECT_TRUE(bytes_of(from) == before);
    EXPECT_FALSE(fs::exists(model_));
  }

  // A link to the checkpoint stays, and the state behind it is removed.
  fs::create_symlink("state", folder_ / "to-state");
  const ChildResult good = run_program(with(model_, folder_ / "to-state"));
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_FALSE(bytes_of(model_).empty());
  EXPECT_FALSE(fs::exists(folder_ / "state"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "to-state"));
}

// Fails when --styles adds no images, or hides that there are none to draw in.
TEST_F(TrainCommand, AddsStyles) {
  const auto arguments = plus(files(draw(100, kAll, 6), "styled"), kSmall);
  const auto report =
      json_of(plus(arguments, {"--styles", "1", "--tuning-passes", "0", "-o", model_}));
  EXPECT_GT(report["images"].get<int>(), 105);
  EXPECT_LE(report["images"].get<int>(), 120);
  expect_error(plus(plus(files(draw(20, {2, 3}, 7), "plain"), kSmall),
                    {"--styles", "1", "-o", folder_ / "none.ocellus"}),
               {"--styles: there are no plain images of the classes 1 and 7"});
}

// Fails when bright ink is inverted, or dark ink is not.
TEST_F(TrainCommand, TheColorOfTheInkDoesNotMatter) {
  const Digits dark = draw(30, kAll, 2);
  Digits bright = dark;
  for (std::uint8_t& pixel : bright.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  const auto model = [&](const Digits& digits, const std::vector<std::string>& more) {
    const ChildResult result =
        run_program(plus(plus(files(digits, "ink"), kSmall), plus(more, {"-o", model_})));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return bytes_of(model_);
  };
  const std::string from_dark = model(dark, {});
  EXPECT_EQ(model(bright, {}), from_dark);
  EXPECT_EQ(model(dark, {"--ink", "dark"}), from_dark);
  EXPECT_NE(model(dark, {"--ink", "light"}), from_dark);
}

// Fails when a state after Ctrl-C is incomplete, or a stopped command leaves a model.
// Promises: RES-008.
TEST_F(TrainCommand, GoesOnAfterCtrlC) {
  const auto arguments = plus(files(draw(100, kAll, 3), "digits"),
                              {"--planes", "16,24", "--copies", "4", "--passes", "2"});
  const ChildResult whole = run_program(plus(arguments, {"-o", model_}));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string expected = bytes_of(model_);
  std::remove(model_.c_str());

  const std::string state = folder_ / "state.ocellus";
  std::vector<std::string> line = plus(arguments, {"--checkpoint", state, "--checkpoint-images",
                                                   "64", "--threads", "1", "-o", model_});
  const auto learned_references = [&state] {
    const auto read = read_checkpoint(state.c_str());
    return read && read->position + static_cast<std::uint64_t>(read->passes) > 0;
  };
  for (const bool in_stage_4 : {false, true}) {
    RunningProgram program(line);
    EXPECT_TRUE(
        wait_until([&] { return in_stage_4 ? learned_references() : !bytes_of(state).empty(); }));
    program.send(SIGINT);
    const ChildResult stopped = program.wait();
    EXPECT_EQ(stopped.exit_code, 128 + SIGINT) << stopped.err;
    EXPECT_EQ(stopped.err, "ocellus: stopped; --resume goes on from " + state + "\n");
    EXPECT_EQ(bytes_of(model_), "");
    if (!in_stage_4) line.push_back("--resume");
  }
  EXPECT_TRUE(learned_references());
  line[line.size() - 4] = "2";  // threads
  const ChildResult rest = run_program(line);
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_TRUE(bytes_of(model_) == expected);
  EXPECT_EQ(bytes_of(state), "") << "the state is of no use any more";
}

// Fails when a new class is not added to the model by its name.
TEST_F(TrainCommand, AddsAClass) {
  const auto first = plus(files(draw(90, {0, 1, 2, 3, 4, 5, 6, 8, 9}, 4), "first"), kSmall);
  EXPECT_EQ(run_program(plus(first, {"-o", model_})).exit_code, 0);
  // 7 has no images, but its number is a class.
  const std::string larger = folder_ / "larger.ocellus";
  const std::string names = write_bytes(folder_ / "names", "seven\n");
  Digits sevens = draw(12, {7}, 5);
  std::fill(sevens.labels.begin(), sevens.labels.end(), std::uint8_t{0});
  const auto report =
      json_of(plus(files(sevens, "second"), {"--from", model_, "--class-names", names, "--copies",
                                             "1", "--validation", "0.25", "-o", larger}));
  EXPECT_EQ(report["classes"].size(), 11u);
  EXPECT_EQ(report["classes"][10], "seven");
  EXPECT_EQ(report["class_accuracy"].size(), 1u);
  EXPECT_GE(report["class_accuracy"]["seven"].get<double>(), 0.6);
  const auto before = read_neocognitron(model_.c_str());
  const auto after = read_neocognitron(larger.c_str());
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->weights[2], after->weights[2]);
  EXPECT_GT(after->planes[3], before->planes[3]);
}

// Fails when characters of frames are not learned under their names, or when a mistake in the list
// is not reported with its line.
TEST_F(TrainCommand, LearnsCharactersOfFrames) {
  const std::string boxes = write_three_digits("a frame.pgm");
  const auto learn = [&](const std::string& list) {
    return std::vector<std::string>{"train",        "digits",   "--from",
                                    "digits-small", "--frames", write_bytes(folder_ / "list", list),
                                    "-o",           model_};
  };
  const auto report =
      json_of(plus(learn("# hands\n\na frame.pgm 78x " + boxes + "\n"), {"--tuning-passes", "0"}));
  // Each character as it is in its box, and as the finder cuts it.
  EXPECT_EQ(report["images"], 6);
  EXPECT_EQ(report["classes"].size(), 11u);
  EXPECT_EQ(report["classes"][10], "x");
  const auto refuses = [&](const std::string& list, const std::vector<std::string>& says) {
    expect_error(learn(list), says);
  };
  refuses("\na frame.pgm 78 " + boxes, {"line 2", "78 has 2 characters for 3 boxes"});
  refuses("a frame.pgm", {"line 1", "an image file, the characters, and their boxes"});
  refuses("a frame.pgm 7 1,2,3", {"line 1", "boxes", "1,2,3"});
  refuses("a frame.pgm 7 230,20,20,30", {"line 1", "box 0 is 230,20,20,30", "240x80"});
  refuses("none.pgm 7 1,2,10,10", {"line 1", "none.pgm"});
  refuses("# nothing", {"it has no frames"});
  expect_error(plus(learn("a frame.pgm 78x " + boxes), {"--other", "x"}),
               {"line 1", "it has the character x, which --other names"});
  expect_error(plus(learn("a frame.pgm 789 " + boxes), {"--validation", "0.1"}),
               {"--validation has no meaning here"});

  // Beside images, whose numbers are names: 7 and 8 are known, x is new.
  const std::string list = write_bytes(folder_ / "list", "a frame.pgm 78x " + boxes);
  const auto both =
      json_of(plus(files(draw(40, kAll, 3), "digits"),
                   {"--from", "digits-small", "--frames", list, "--validation", "0.25",
                    "--per-class", "2", "--tuning-passes", "0", "-o", model_}));
  EXPECT_EQ(both["images"], 10 * 2 + 6);
  EXPECT_EQ(both["validation_images"], 10);
  EXPECT_EQ(both["classes"].size(), 11u);
  EXPECT_EQ(both["classes"][10], "x");
}

// Fails when what is no character is not learned from synthetic frames, when the choice is not
// fitted, or when the models of the library read digits in noise.
TEST_F(TrainCommand, LearnsWhatIsNoCharacter) {
  const auto arguments = plus(files(draw(100, kAll, 8), "digits"),
                              {"--planes", "16,24", "--references", "200", "--tuning-passes", "1",
                               "--drawn", "100", "--scenes", "60"});
  const auto report = json_of(plus(arguments, {"--other", "x", "-o", model_}));
  EXPECT_EQ(report["classes"].size(), 11u);
  EXPECT_EQ(report["classes"][10], "x");
  EXPECT_GT(report["images"], 200 + 60 * 3) << "the digits of the frames";
  const auto& choice = report["choice"];
  EXPECT_EQ(choice["frames"], 20) << "a third";
  EXPECT_GT(choice["characters"], 40);
  EXPECT_GT(choice["others"], 20);
  const auto read = must(read_neocognitron(model_.c_str()));
  EXPECT_TRUE(read.has_other);
  EXPECT_EQ(read.sizes.size(), 10u);
  EXPECT_LT(read.odds.weights[kOddsOther], 0.0f);

  // Without --other, what the finder cuts is learned, but nothing else.
  const std::string plain = folder_ / "plain.ocellus";
  const auto without = json_of(plus(arguments, {"-o", plain}));
  EXPECT_EQ(without["classes"].size(), 10u);
  EXPECT_LT(without["images"], report["images"]);
  EXPECT_GT(without["choice"]["others"], 20);
  const std::string frame = write_bytes(folder_ / "noise.pgm", noise_frame(5));
  // What is found, what is accepted, and what is more similar to no character.
  const auto count = [&](const std::string& model) {
    const auto read_noise = json_of({"digits", frame, "--model", model});
    std::array<int, 3> counts{};
    for (const auto& digit : read_noise["frames"][0]["digits"]) {
      ++counts[0];
      counts[1] += digit.value("rejected", false) ? 0 : 1;
      counts[2] += digit["margin"].get<double>() < 0.0 ? 1 : 0;
    }
    return counts;
  };
  EXPECT_GT(count(plain)[0], 10) << "the test shows nothing";
  EXPECT_EQ(count(plain)[2], 0);
  EXPECT_GT(2 * count(model_)[2], count(model_)[0]);
  for (const char* const model : {"digits-small", "digits"}) EXPECT_LE(count(model)[1], 4) << model;

  const Digits two = draw(20, {0, 1}, 4);
  const std::string names = write_bytes(folder_ / "names", "zero\none\n");
  expect_error(plus(files(two, "two"), {"--class-names", names, "--scenes", "3", "-o", model_}),
               {"need the classes 0 to 9; there is no class 0"});
}

// Fails when the choice is not fitted to the frames of a list, or when a mistake in it is told only
// after the training.
TEST_F(TrainCommand, FitsTheChoiceToFrames) {
  const std::string boxes = write_three_digits("frame.pgm");
  const auto with = [&](const std::string& list) {
    return plus(files(draw(20, kAll, 3), "digits"),
                {"--from", "digits-small", "--tuning-passes", "0", "--choice",
                 write_bytes(folder_ / "list", list), "-o", model_});
  };
  // The second line calls a digit of the frame no character.
  const std::string two = boxes.substr(0, boxes.rfind(';'));
  const auto report = json_of(with("frame.pgm 789 " + boxes + "\nframe.pgm 78 " + two + "\n"));
  EXPECT_EQ(report["choice"]["frames"], 2);
  EXPECT_EQ(report["choice"]["characters"], 5);
  EXPECT_EQ(report["choice"]["others"], 1);
  EXPECT_EQ(must(read_neocognitron(model_.c_str())).sizes.size(), 10u);
  const std::string before = bytes_of(model_);
  expect_error(with("frame.pgm 78q " + boxes), {"--choice: the model will have no class \"q\""});
  expect_error(with("frame.pgm 789 " + boxes),
               {"--choice", "3 candidates that are characters and 0 that are not"});
  EXPECT_TRUE(bytes_of(model_) == before);
}

// Fails when a mistake is not reported, or when a model is written in spite of it.
TEST_F(TrainCommand, ReportsMistakes) {
  const Digits digits = draw(20, kAll, 6);
  const auto arguments = files(digits, "digits");
  const auto refuses = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& says) {
    expect_error(plus(arguments, more), says);
    EXPECT_EQ(bytes_of(model_), "");
  };
  const std::string names = write_bytes(folder_ / "names", "zero\none\ntwo\n");
  refuses({"-o", model_, "--class-names", names}, {"label 3 of image 3 has no name", "0 to 2"});
  refuses({}, {"-o must name a file"});
  refuses({"-o", folder_ / "model.txt"}, {"must end in .ocellus"});
  refuses({"-o", "/nonexistent/m.ocellus"}, {"/nonexistent/m.ocellus", "cannot be written"});
  refuses({"-o", model_, "--resume"}, {"--resume has no meaning here: --checkpoint"});
  refuses({"-o", model_, "--checkpoint", model_}, {"-o and --checkpoint name the same file"});
  refuses({"-o", model_, "--checkpoint", folder_ / "none", "--resume"}, {"none", "No such file"});
  refuses({"-o", model_, "--from", names}, {"--from", "names"});
  refuses({"-o", model_, "--from", names, "--planes", "3,4"}, {"--planes has no meaning here"});
  refuses({"-o", model_, "--planes", "0,4"}, {"planes is 0; it must be 1 to 1024"});
  refuses({"-o", model_, "--planes", "4"}, {"--planes"});
  refuses({"-o", model_, "--margin", "0.6"}, {"margin is 0.6; it must be -0.5 to 0.5"});
  refuses({"-o", model_, "--validation", "nan"}, {"--validation"});
  refuses({"-o", model_, "--thresholds", "0.5,0.5,1.5"}, {"threshold", "1.5"});
  expect_error(
      {"train", "digits", "--images", arguments[5], "--labels", arguments[5], "-o", model_},
      {"0x00000801; it must be 0x00000803"});
  expect_error({"train"}, {"ocellus train --help"});
  expect_error({"train", "letters"}, {"unknown subcommand 'letters' of train", "digits"});
  // A state of other settings.
  const std::string state = folder_ / "state.ocellus";
  const auto small = plus(arguments, kSmall);
  const auto trained = train_neocognitron(
      {28, 28, digits.pixels, {digits.labels.begin(), digits.labels.end()}, {}}, [&] {
        NeocognitronTraining training;
        training.checkpoint = [&](const TrainingCheckpoint& now) {
          const auto bytes = encode_checkpoint(now);
          write_bytes(state, {bytes.begin(), bytes.end()});
          return false;
        };
        return training;
      }());
  EXPECT_FALSE(trained);
  refuses({"-o", model_, "--checkpoint", state, "--resume"}, {"comes from other images or labels"});
}

}  // namespace
}  // namespace ocellus::test
