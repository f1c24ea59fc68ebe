// ocellus digits: the results as text, JSON and pictures, and the messages of every mistake.
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "apps/io/digit_scene.h"
#include "apps/io/digit_sequence.h"
#include "apps/io/image_io.h"
#include "apps/program_checks.h"
#include "ocellus/neocognitron_training.h"
#include "support/files.h"
#include "support/idx_files.h"

namespace ocellus::test {
namespace {

using app::GrayImage;
using nlohmann::json;

GrayImage gray(ImageSize size, int level) {
  GrayImage image(size, PixelFormat::kGray8);
  std::fill(image.pixels.begin(), image.pixels.end(), static_cast<std::uint8_t>(level));
  return image;
}

/// Eight large digits on even paper.
app::DigitScene clean_scene(unsigned seed, ImageSize size = {480, 160}) {
  app::DigitSceneConfig config;
  config.size = size;
  config.min_height = config.max_height = 32;
  config.min_gap = 0.3;
  config.light_ratio = 1;
  config.tilt = config.roll = 0;
  config.blur = config.noise = 0;
  config.seed = seed;
  return app::make_digit_scene(config, app::draw_digits(200, seed), 0);
}

bool overlaps(const json& box, const Rect& other) {
  return box[0].get<int>() < other.x + other.width &&
         other.x < box[0].get<int>() + box[2].get<int>() &&
         box[1].get<int>() < other.y + other.height &&
         other.y < box[1].get<int>() + box[3].get<int>();
}

std::string fields_text(const std::vector<Rect>& fields) {
  std::string text;
  for (const Rect& f : fields)
    text += (text.empty() ? "" : ";") + std::to_string(f.x) + "," + std::to_string(f.y) + "," +
            std::to_string(f.width) + "," + std::to_string(f.height);
  return text;
}

class DigitsCommand : public testing::Test {
 protected:
  std::string png(const std::string& name, const GrayImage& image) const {
    app::write_png_gray(folder_ / name, image, 8);
    return folder_ / name;
  }
  /// A file of digits drawn from strokes, bright on black, and its labels.
  std::vector<std::string> idx(const app::DigitImages& digits, const std::string& name) const {
    const auto count = static_cast<std::uint32_t>(digits.count());
    return {"digits", "--images",
            write_bytes(folder_ / (name + "-images.gz"),
                        gzipped(idx_images(count, static_cast<std::uint32_t>(digits.height),
                                           static_cast<std::uint32_t>(digits.width), digits.ink))),
            "--labels", write_bytes(folder_ / (name + "-labels"), idx_labels(digits.labels))};
  }

  const TemporaryFolder folder_;
};

// Fails when a member of the JSON is missing, has another type, or describes another character.
TEST_F(DigitsCommand, ReportsTheCharactersOfEachFrame) {
  const app::DigitScene scene = clean_scene(1);
  png("d0.png", scene.image);
  png("d1.png", clean_scene(2).image);
  const json report = json_of({"digits", folder_ / "d%d.png"});
  ASSERT_EQ(report["frames"].size(), 2u);
  EXPECT_EQ(report["size"], (json{480, 160}));
  EXPECT_EQ(report["class_names"].size(), 10u);
  EXPECT_EQ(report["config"]["operator"], "digits");
  EXPECT_FALSE(report.contains("frames_correct")) << "nothing tells what images show";
  for (const json& frame : report["frames"]) {
    const auto text = frame["string"].get<std::string>();
    ASSERT_EQ(frame["digits"].size(), text.size());
    EXPECT_EQ(text.size(), 8u) << text;
    EXPECT_EQ(frame["truncated"], false);
    EXPECT_FALSE(frame.contains("fields"));
    EXPECT_GT(frame["ms"].get<double>(), 0.0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const json& digit = frame["digits"][i];
      ASSERT_TRUE(digit["class"].is_number_integer());
      EXPECT_GE(digit["confidence"].get<double>(), 0.0);
      EXPECT_LE(digit["confidence"].get<double>(), 1.0);
      EXPECT_EQ(digit["box"].size(), 4u);
      const bool rejected = digit.value("rejected", false);
      EXPECT_EQ(text.substr(i, 1), rejected ? "?" : std::to_string(digit["class"].get<int>()));
    }
  }
  int found = 0;
  for (const Rect& box : scene.boxes)
    for (const json& digit : report["frames"][0]["digits"])
      found += overlaps(digit["box"], box) ? 1 : 0;
  EXPECT_GE(found, 7);
}

// Fails when a scene does not say what it shows, or the count of correct frames is of other texts.
TEST_F(DigitsCommand, ComparesAScenesTextWithTheResult) {
  const json report = json_of({"digits", "test:digits@10,size=480x240,frames=4,seed=3"});
  ASSERT_EQ(report["frames"].size(), 4u);
  int correct = 0;
  int digits = 0;
  for (const json& frame : report["frames"]) {
    EXPECT_EQ(frame["expected"].get<std::string>().size(), 8u);
    correct += frame["expected"] == frame["string"] ? 1 : 0;
    digits += static_cast<int>(frame["digits"].size());
  }
  EXPECT_EQ(report["frames_correct"], correct);
  EXPECT_GE(digits, 28);
  const ChildResult text = run_program({"digits", "test:digits,size=480x240,frames=2"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("of 2 frames read correctly"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\nframe 1: "), std::string::npos) << text.out;
  const ChildResult one = run_program({"digits", "test:digits,size=480x240,frames=1,ink=light"});
  EXPECT_NE(one.out.find("confidence"), std::string::npos) << one.out;
  // The scene is of the seed.
  EXPECT_NE(json_of({"digits", "test:digits,frames=1,seed=4"})["frames"][0]["expected"],
            json_of({"digits", "test:digits,frames=1,seed=5"})["frames"][0]["expected"]);
  for (const auto& [text_of, says] : std::vector<std::pair<std::string, std::string>>{
           {"test:digits,frames=0", "'frames=0' must be a number from 1 to 1000"},
           {"test:digits,size=9x9", "must be at least 64x64"},
           {"test:digits,size=ax9", "WIDTHxHEIGHT"},
           {"test:digits,ink=red", "ink=dark or ink=light"},
           {"test:digits,u=1", "'u=1' is unknown"},
           {"test:digits,8", "NAME=VALUE"},
           {"test:digits,sheet=", "must name an image file"},
           {"test:digits,sheet=" + png("sheet.png", gray({30, 200}, 0)), "it is 30x200"},
           {"test:digits@0", "must have 0.1 to 1000 frames per second"}})
    expect_error({"digits", text_of}, {text_of.substr(text_of.find('/') + 1), says});

  // The tile of digit 9 begins in row 180.
  GrayImage sheet({20, 200}, PixelFormat::kGray8);
  EXPECT_EQ(app::read_digit_sheet(png("sheet.png", sheet)).labels,
            (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  sheet.pixels[20 * 187 + 3] = 200;
  const app::DigitImages read = app::read_digit_sheet(png("sheet.png", sheet));
  EXPECT_EQ(read.ink[9 * 400 + 7 * 20 + 3], 200);
  EXPECT_EQ(json_of({"digits", "test:digits,frames=1,sheet=" +
                                   (folder_ / "sheet.png")})["frames"][0]["expected"]
                .get<std::string>()
                .size(),
            8u);
}

// Fails when a character is in the part of another field, or an empty field has no part.
TEST_F(DigitsCommand, HasOnePartForEachField) {
  const app::DigitScene scene = clean_scene(1);
  const std::string frame = png("f.png", scene.image);
  const std::string fields = "0,130,480,30;0,0,480,128";
  const json report = json_of({"digits", frame, "--fields", fields})["frames"][0];
  EXPECT_FALSE(report.contains("string"));
  ASSERT_EQ(report["fields"].size(), 2u);
  EXPECT_EQ(report["fields"][0]["string"], "");
  EXPECT_EQ(report["fields"][0]["digits"], json::array());
  EXPECT_EQ(report["fields"][1]["digits"].size(), 8u);
  EXPECT_EQ(report["fields"][1]["string"].get<std::string>().size(), 8u);

  const json boxes =
      json_of({"digits", frame, "--layout", "boxes", "--fields", fields_text(scene.boxes)});
  ASSERT_EQ(boxes["frames"][0]["fields"].size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    const json& field = boxes["frames"][0]["fields"][i];
    ASSERT_EQ(field["digits"].size(), 1u);
    EXPECT_EQ(field["digits"][0]["box"], (json{scene.boxes[i].x, scene.boxes[i].y,
                                               scene.boxes[i].width, scene.boxes[i].height}));
  }
  const ChildResult text = run_program({"digits", frame, "--fields", fields});
  EXPECT_NE(text.out.find("frame 0, field 0: no digits\n"), std::string::npos) << text.out;
}

// Fails when the fields of a file are not those of the option, or a form of a scene is not read.
TEST_F(DigitsCommand, ReadsFieldsFromAFileAndForms) {
  const std::string frame = png("f.png", clean_scene(1).image);
  const std::string file = folder_ / "fields.txt";
  write_bytes(file, "# two fields\n\n 0,130,480,30 # empty\r\n0,0,480,128");
  const json from_file = json_of({"digits", frame, "--fields", "@" + file});
  const json from_option = json_of({"digits", frame, "--fields", "0,130,480,30;0,0,480,128"});
  EXPECT_EQ(from_file["config"], from_option["config"]);
  EXPECT_EQ(from_file["frames"][0]["fields"], from_option["frames"][0]["fields"]);
  write_bytes(file,
              "\xEF\xBB\xBF"
              "0,130,480,30\n0,0,480,128");  // with a byte order mark
  EXPECT_EQ(json_of({"digits", frame, "--fields", "@" + file})["config"], from_option["config"]);
  write_bytes(file, "0,0,20,20\n1,2,3\n");
  expect_error({"digits", frame, "--fields", "@" + file},
               {"--fields", "fields.txt\", line 2", "\"1,2,3\"", "x,y,width,height"});
  write_bytes(file, "# nothing\n");
  expect_error({"digits", frame, "--fields", "@" + file}, {"it has no fields"});
  std::string many;
  for (int i = 0; i < 65; ++i) many += "0,0,20,20\n";
  write_bytes(file, many);
  expect_error({"digits", frame, "--fields", "@" + file}, {"line 65", "more than 64 fields"});
  write_bytes(file, std::string(20000, ' '));
  expect_error({"digits", frame, "--fields", "@" + file}, {"16384 bytes"});
  expect_error({"digits", frame, "--fields", "@" + (folder_ / "none.txt")}, {"none.txt"});
  expect_error({"digits", frame, "--fields", "@/dev/null"}, {"not a regular file"});

  const json form = json_of({"digits", "test:form,size=960x720,frames=2"});
  ASSERT_EQ(form["frames"].size(), 2u);
  EXPECT_EQ(form["config"]["max_characters"], 0);
  EXPECT_EQ(form["field_count"], 56);
  int right = 0;
  for (const json& read : form["frames"]) {
    ASSERT_EQ(read["fields"].size(), 28u);
    EXPECT_EQ(read["fields"][0]["expected"].get<std::string>().size(), 1u);
    EXPECT_EQ(read["fields"][1]["expected"].get<std::string>().size(), 8u);
    for (const json& field : read["fields"]) right += field["string"] == field["expected"] ? 1 : 0;
  }
  EXPECT_EQ(form["fields_correct"], right);
  EXPECT_GE(right, 40);
  const ChildResult text = run_program({"digits", "test:form,size=960x720,frames=2"});
  EXPECT_NE(text.out.find(std::to_string(right) + " of 56 fields read correctly"),
            std::string::npos)
      << text.out;
  // The printed boxes are where the fields are.
  const json found = json_of({"digits", "test:form,frames=1", "--find-fields"});
  const json given = json_of({"digits", "test:form,frames=1"});
  ASSERT_EQ(found["frames"][0]["fields"].size(), 28u);
  EXPECT_NE(found["config"]["fields"], given["config"]["fields"]);
  EXPECT_GE(found["fields_correct"].get<int>(), 22);
  expect_error({"digits", frame, "--find-fields"}, {"has no printed box"});
  // A printed 8 has the sides of a box. It is no field, and the box around it is one.
  std::string picture = "P5 400 120 255\n" + std::string(400 * 120, static_cast<char>(255));
  const auto ink = [&picture](int x, int y) {
    picture[picture.size() - 400 * 120 + static_cast<std::size_t>(y * 400 + x)] = 0;
  };
  for (int y = 0; y < 120; ++y) {
    for (int x = 0; x < 400; ++x) {
      const bool in_box = x >= 50 && x < 350 && y >= 30 && y < 92;
      if (in_box && (x < 52 || x >= 348 || y < 32 || y >= 90)) ink(x, y);
      for (const int center : {120, 200, 280}) {
        for (const int middle : {53, 69}) {  // the rings of an 8
          const auto inside = [&](double half_width, double half_height) {
            return std::pow(std::abs(x - center) / half_width, 3.0) +
                       std::pow(std::abs(y - middle) / half_height, 3.0) <=
                   1.0;
          };
          if (inside(11, 10) && !inside(7, 6)) ink(x, y);
        }
      }
    }
  }
  const json eights =
      json_of({"digits", write_bytes(folder_ / "eights.pgm", picture), "--find-fields"});
  EXPECT_EQ(eights["config"]["fields"], "50,30,300,62");
  ASSERT_EQ(eights["frames"][0]["fields"].size(), 1u);
  expect_error({"digits", "test:form", "--find-fields", "--fields", "0,0,50,50"},
               {"--find-fields has no meaning here", "--fields"});
  expect_error({"digits", "test:form", "--find-fields", "--layout", "tiles"},
               {"--find-fields has no meaning here"});
  expect_error({"digits", "test:form,digits=3"}, {"'digits=3' is unknown", "test:form[@FPS]"});
  expect_error({"digits", "test:form,size=320x240"}, {"must be at least 640x480"});
}

// Fails when lines run together, a rejected character has a name, or a limit is kept silently.
TEST_F(DigitsCommand, SeparatesLinesAndMarksRejectedAndTruncated) {
  GrayImage two({480, 320}, PixelFormat::kGray8);
  const GrayImage upper = clean_scene(1).image;
  GrayImage lower = upper;
  std::copy(upper.pixels.begin(), upper.pixels.end(), two.pixels.begin());
  std::copy(lower.pixels.begin(), lower.pixels.end(),
            two.pixels.begin() + static_cast<std::ptrdiff_t>(upper.pixels.size()));
  const std::string frame = png("two.png", two);
  const json lines = json_of({"digits", frame})["frames"][0];
  const auto text = lines["string"].get<std::string>();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(text.size(), lines["digits"].size() + 1);
  EXPECT_EQ(text.find('\n'), 8u) << text;

  const json rejected = json_of({"digits", frame, "--min-confidence", "1"})["frames"][0];
  int marked = 0;
  for (const json& digit : rejected["digits"]) marked += digit.value("rejected", false) ? 1 : 0;
  const auto marks = rejected["string"].get<std::string>();
  EXPECT_EQ(std::count(marks.begin(), marks.end(), '?'), marked);
  EXPECT_GE(marked, 8) << "a confidence is below 1";

  const json cut = json_of({"digits", frame, "--max-characters", "3"})["frames"][0];
  EXPECT_EQ(cut["digits"].size(), 3u);
  EXPECT_EQ(cut["truncated"], true);
  const ChildResult told = run_program({"digits", frame, "--max-characters", "3"});
  EXPECT_NE(told.out.find("more characters or more ink than is read"), std::string::npos);
}

// Fails when boxes are not drawn where the characters are, or --plain draws.
TEST_F(DigitsCommand, DrawsTheResult) {
  const app::DigitScene scene = clean_scene(1);
  const std::string frame = png("f.png", scene.image);
  const std::string out = folder_ / "out.png";
  const json report = json_of({"digits", frame, "-o", out});
  EXPECT_EQ(report["frames"][0]["file"], out);
  std::vector<GrayImage> color;
  ASSERT_EQ(app::read_image(out, &color).size, scene.image.size);
  ASSERT_EQ(color.size(), 3u);
  const json& box = report["frames"][0]["digits"][0]["box"];
  const bool rejected = report["frames"][0]["digits"][0].value("rejected", false);
  // Two pixels above and left of the ink.
  const int x = box[0].get<int>() - 2;
  const int y = box[1].get<int>() - 2;
  EXPECT_GT(color[1].brightness(x, y), color[2].brightness(x, y) + 60.0f);
  if (!rejected) {
    EXPECT_GT(color[1].brightness(x, y), color[0].brightness(x, y) + 60.0f);
  }

  const std::string plain = folder_ / "plain.png";
  EXPECT_EQ(run_program({"digits", frame, "-o", plain, "--plain"}).exit_code, 0);
  const GrayImage same = app::read_image(plain);
  int largest = 0;
  for (std::size_t i = 0; i < same.pixels.size(); ++i)
    largest = std::max(largest, std::abs(same.pixels[i] - scene.image.pixels[i]));
  EXPECT_LE(largest, 2) << "limited range and back";

  if (has_gstreamer()) {
    const std::string video = folder_ / "out.webm";
    EXPECT_EQ(run_program({"digits", "test:digits,size=320x240,frames=5", "-o", video}).exit_code,
              0);
    EXPECT_EQ(json_of({"digits", video})["frames"].size(), 5u);
  }
  expect_error({"digits", "test:digits,frames=3", "-o", out}, {"out.png is one file", "%03d"});
  expect_error({"digits", frame, "-o", folder_ / "out.flo"}, {"must end in .png"});
  expect_error({"digits", frame, "--plain"}, {"--plain", "nothing is written"});
}

// Fails when Ctrl-C drops the frames that were read, or leaves an incomplete picture.
TEST_F(DigitsCommand, ReportsTheFramesBeforeCtrlC) {
  RunningProgram child(
      {"digits", "test:digits,size=160x120,frames=1000", "--json", "-o", folder_ / "c%03d.png"});
  EXPECT_TRUE(wait_until([&] { return !files_in(folder_.path(), "c002.png").empty(); }));
  child.send(SIGINT);
  const ChildResult ended = child.wait();
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_NE(ended.err.find("interrupted after"), std::string::npos) << ended.err;
  const json report = json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ended.out;
  EXPECT_GE(report["frames"].size(), 3u);
  EXPECT_LT(report["frames"].size(), 1000u);
  EXPECT_EQ(files_in(folder_.path(), "c").size(), report["frames"].size());
}

// Fails when a frame without characters is an error, or noise breaks a limit.
TEST_F(DigitsCommand, ReadsNothingInEmptyFrames) {
  for (const int level : {0, 128, 255}) {
    const json report = json_of({"digits", png("empty.png", gray({320, 240}, level))})["frames"][0];
    EXPECT_EQ(report["string"], "") << level;
    EXPECT_EQ(report["digits"], json::array());
    EXPECT_EQ(report["truncated"], false);
  }
  const ChildResult text = run_program({"digits", folder_ / "empty.png"});
  EXPECT_NE(text.out.find("frame 0: no digits\n"), std::string::npos) << text.out;
  GrayImage noise({320, 240}, PixelFormat::kGray8);
  std::mt19937 random(1);
  for (std::uint8_t& pixel : noise.pixels) pixel = static_cast<std::uint8_t>(random() & 255U);
  const json report = json_of({"digits", png("noise.png", noise)})["frames"][0];
  EXPECT_LE(report["digits"].size(), 64u);
  write_bytes(folder_ / "zero.pgm", "P5\n0 0\n255\n");
  expect_error({"digits", folder_ / "zero.pgm"}, {"zero.pgm", "0x0"});
  write_bytes(folder_ / "nothing.png", "");
  expect_error({"digits", folder_ / "nothing.png"}, {"nothing.png", "empty"});
}

// Fails when the accuracy of a row is not that of its model, or when the plot lacks a model.
TEST_F(DigitsCommand, BenchTellsTheAccuracyOfEachModel) {
  app::DigitImages digits = app::draw_digits(120, 3);
  for (std::size_t i = 0; i < 3; ++i)  // so that no model is right everywhere
    digits.labels[i] = static_cast<std::uint8_t>((digits.labels[i] + 1) % 10);
  const auto arguments = idx(digits, "bench");
  const std::string plot = folder_ / "plot.svg";
  std::vector<std::string> bench = {"bench",     "digits", "--model",  "digits-small,digits",
                                    "--patches", "1,8",    "--frames", "2",
                                    "--backend", "cpu"};
  bench.insert(bench.end(), arguments.begin() + 1, arguments.end());
  const json rows = json_of(plus(bench, {"--plot", plot}))["rows"];
  ASSERT_EQ(rows.size(), 4u);
  for (const json& row : rows) {
    const json report = json_of(plus(arguments, {"--model", row["model"].get<std::string>()}));
    EXPECT_EQ(row["accuracy"], report["accuracy"]) << row["model"];
    EXPECT_LT(row["accuracy"].get<double>(), 1.0) << "the plot would leave it out";
  }
  const std::string svg = bytes_of(plot);
  int points = 0;
  for (auto at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
    ++points;
  EXPECT_EQ(points, 4);
  EXPECT_NE(svg.find("8 patches"), std::string::npos);
  expect_error(plus(bench, {"--plot", folder_ / "plot.png"}), {"plot.png", "must end in .svg"});
  expect_error({"bench", "digits", "--plot", plot}, {"--plot", "--labels"});
  expect_error({"bench", "digits", "--images", folder_ / "bench-images.gz", "--schedule", "all"},
               {"--images has no meaning here: "});
}

// Fails when predictions are of other images, or figures do not follow from the predictions.
TEST_F(DigitsCommand, RecognizesImages) {
  const app::DigitImages digits = app::draw_digits(150, 1);
  const auto arguments = idx(digits, "digits");
  const std::string mistakes = folder_ / "mistakes.png";
  const json report = json_of(plus(arguments, {"--mistakes", mistakes}));
  EXPECT_EQ(report["images"], 150);
  EXPECT_EQ(report["size"], (json{64, 64}));
  EXPECT_EQ(report["batch"], 64);
  EXPECT_GT(report["ms_per_image"].get<double>(), 0.0);
  const auto predictions = report["predictions"].get<std::vector<int>>();
  ASSERT_EQ(predictions.size(), 150u);
  EXPECT_EQ(report["confidences"].size(), 150u);
  int right = 0;
  for (std::size_t i = 0; i < 150; ++i) right += predictions[i] == digits.labels[i] ? 1 : 0;
  EXPECT_DOUBLE_EQ(report["accuracy"].get<double>(), right / 150.0);
  EXPECT_GE(right, 100) << "a model of digits reads most of them";
  long sum = 0;
  long diagonal = 0;
  ASSERT_EQ(report["confusion"].size(), 10u);
  for (std::size_t row = 0; row < 10; ++row) {
    ASSERT_EQ(report["confusion"][row].size(), 11u);
    for (const json& count : report["confusion"][row]) sum += count.get<long>();
    diagonal += report["confusion"][row][row].get<long>();
  }
  EXPECT_EQ(sum, 150);
  EXPECT_EQ(diagonal, right);
  double answered = 1.0;
  for (const json& point : report["rejection"]) {
    EXPECT_LE(point["answered"].get<double>(), answered);
    answered = point["answered"].get<double>();
  }
  EXPECT_DOUBLE_EQ(report["rejection"][0]["accuracy"].get<double>(), right / 150.0);
  EXPECT_GT(app::read_image(mistakes).size.width, 0);

  // Dark ink, other batches, no labels.
  app::DigitImages dark = digits;
  for (std::uint8_t& level : dark.ink) level = static_cast<std::uint8_t>(255 - level);
  EXPECT_EQ(json_of(idx(dark, "dark"))["predictions"], report["predictions"]);
  EXPECT_EQ(json_of(plus(arguments, {"--max-characters", "7"}))["predictions"],
            report["predictions"]);
  const json unlabeled = json_of({arguments[0], arguments[1], arguments[2]});
  EXPECT_EQ(unlabeled["predictions"], report["predictions"]);
  EXPECT_TRUE(unlabeled["accuracy"].is_null());

  const ChildResult text = run_program(arguments);
  EXPECT_NE(text.out.find("ms per image, in batches of 64"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("min confidence"), std::string::npos) << text.out;
}

// Fails when names of classes are numbers in the text, or run together.
TEST_F(DigitsCommand, WritesTheNamesOfClasses) {
  const app::DigitImages drawn = app::draw_digits(400, 2);
  LabeledImages images;
  images.width = drawn.width;
  images.height = drawn.height;
  images.names = {"nil", "unit"};
  constexpr std::size_t kPixels = std::size_t{64} * 64;
  for (std::size_t i = 0; i < drawn.count(); ++i) {
    if (drawn.labels[i] > 1) continue;
    images.labels.push_back(drawn.labels[i]);
    images.ink.insert(images.ink.end(),
                      drawn.ink.begin() + static_cast<std::ptrdiff_t>(i * kPixels),
                      drawn.ink.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPixels));
  }
  NeocognitronTraining training;
  training.features[0].planes = 16;
  training.features[1].planes = 24;
  training.copies = 0;
  training.passes = 2;
  const auto network = train_neocognitron(images, training);
  ASSERT_TRUE(network) << network.error().text;
  const auto bytes = encode_neocognitron(*network, "two");
  ASSERT_TRUE(bytes) << bytes.error().text;
  const std::string model =
      write_bytes(folder_ / "two.ocellus", std::string(bytes->begin(), bytes->end()));

  const std::string frame = png("f.png", clean_scene(1).image);
  const json report = json_of({"digits", frame, "--model", model, "--min-confidence", "0"});
  EXPECT_EQ(report["class_names"], (json{"nil", "unit"}));
  const json& result = report["frames"][0];
  std::string wanted;
  for (const json& digit : result["digits"])
    wanted += (wanted.empty() ? "" : " ") + std::string(digit["class"] == 0 ? "nil" : "unit");
  EXPECT_EQ(result["string"], wanted);
  EXPECT_NE(wanted, "");

  expect_error(plus(idx(drawn, "all"), {"--model", model}),
               {"all-labels: label", "has no class", "two.ocellus has 2 classes"});

  // Models that are none.
  std::string damaged(bytes->begin(), bytes->end());
  write_bytes(folder_ / "short.ocellus", damaged.substr(0, damaged.size() / 2));
  expect_error({"digits", frame, "--model", folder_ / "short.ocellus"}, {"short.ocellus"});
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  write_bytes(folder_ / "flipped.ocellus", damaged);
  expect_error({"digits", frame, "--model", folder_ / "flipped.ocellus"}, {"flipped.ocellus"});
  const std::string kernels = folder_ / "kernels.ocellus";
  ASSERT_EQ(run_program({"kernels", "make", "-o", kernels}).exit_code, 0);
  expect_error({"digits", frame, "--model", kernels}, {"kernels.ocellus"});
}

// Fails when a mistake is not reported, or the message does not name it.
TEST_F(DigitsCommand, ReportsMistakes) {
  const std::string frame = png("f.png", gray({64, 48}, 255));
  expect_error({"digits"}, {"FRAMES is missing", "--images"});
  expect_error({"digits", frame, "--model", folder_ / "none.ocellus"}, {"none.ocellus"});
  expect_error({"digits", frame, "--fields", "60,0,20,20"}, {"--fields", "frame of 64x48"});
  expect_error({"digits", frame, "--fields", "1,2,3"}, {"--fields", "x,y,width,height"});
  expect_error({"digits", frame, "--layout", "boxes"}, {"--fields is empty"});
  expect_error({"digits", frame, "--layout", "tiles", "--max-characters", "65"},
               {"--max-characters is 65", "at most 64"});
  expect_error({"digits", frame, "--labels", "l"}, {"--labels has no meaning here"});

  const app::DigitImages digits = app::draw_digits(12, 1);
  const auto files = idx(digits, "a");
  expect_error(plus(files, {frame}), {"either FRAMES or --images"});
  expect_error(plus(files, {"--fields", "0,0,9,9"}), {"--fields has no meaning here"});
  expect_error(plus(files, {"-o", "a.png"}), {"no meaning here"});
  expect_error(plus(files, {"--mistakes", "a.txt"}), {"--mistakes", ".png"});
  expect_error({"digits", "--images", files[2], "--mistakes", "a.png"},
               {"--mistakes has no meaning here", "--labels"});
  expect_error({"digits", "--images", files[4]}, {"0x00000801; it must be 0x00000803"});
  expect_error({"digits", "--images", folder_ / "no"}, {"no", "No such file"});
  const std::string bytes = idx_images(12, 64, 64, digits.ink);
  write_bytes(folder_ / "short", bytes.substr(0, bytes.size() - 100));
  expect_error({"digits", "--images", folder_ / "short"}, {"short"});
  const auto few = write_bytes(folder_ / "few", idx_labels({1, 2, 3}));
  expect_error({"digits", "--images", files[2], "--labels", few}, {"12", "3"});
  std::vector<std::uint8_t> labels = digits.labels;
  labels[5] = 77;
  const auto wrong = write_bytes(folder_ / "wrong", idx_labels(labels));
  expect_error({"digits", "--images", files[2], "--labels", wrong},
               {"wrong: label 77 of image 5 has no class", "digits-small has 10 classes"});
  const auto tiny =
      write_bytes(folder_ / "tiny", idx_images(2, 5, 5, std::vector<std::uint8_t>(50, 9)));
  expect_error({"digits", "--images", tiny}, {"the images are 5x5", "8x8 to 1024x1024"});
}

// Fails when latency does not tell how many frames were read correctly, or the verdict is not about
// the percentile.
TEST_F(DigitsCommand, LatencyChecksTheReading) {
  const std::vector<std::string> arguments = {"latency",
                                              "--pipeline",
                                              "flow ! digits",
                                              "--input",
                                              "test:digits,size=320x240,frames=3",
                                              "--frames",
                                              "12",
                                              "--back-to-back",
                                              "--backend",
                                              "cpu",
                                              "--budget-ms",
                                              "9000",
                                              "--budget-percentile",
                                              "90",
                                              "--plot",
                                              folder_ / "l.svg",
                                              "--warm-up",
                                              "0"};
  const json report = json_of(arguments);
  EXPECT_EQ(report["budget_percentile"], 90.0);
  EXPECT_EQ(report["ok"], true);
  const json read = json_of({"digits", "test:digits,size=320x240,frames=3"});
  int correct = 0;
  for (const int frame : {0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1})
    correct += read["frames"][static_cast<std::size_t>(frame)]["string"] ==
                       read["frames"][static_cast<std::size_t>(frame)]["expected"]
                   ? 1
                   : 0;
  EXPECT_EQ(report["frames_read_correctly"], correct);
  EXPECT_NE(bytes_of(folder_ / "l.svg").find("for 90 % of the frames"), std::string::npos);
  const ChildResult text = run_program(arguments);
  EXPECT_NE(text.out.find("of 12 frames read correctly"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("budget 9000.000 ms for 90 % of the frames: 0 misses of 12 frames: kept"),
            std::string::npos)
      << text.out;
  EXPECT_FALSE(json_of({"latency", "--pipeline", "digits", "--size", "64x48", "--frames", "2",
                        "--back-to-back", "--backend", "cpu"})
                   .contains("frames_read_correctly"));
}

}  // namespace
}  // namespace ocellus::test
