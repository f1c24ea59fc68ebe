// ocellus identify: the filter that it writes restores, and every mistake is reported.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/run_command.h"
#include "ocellus/restoration_filter.h"
#include "restoration/blurred_squares.h"
#include "support/files.h"

namespace ocellus::app {
namespace {

using test::blurred;
using test::squares;

class IdentifyCommand : public testing::Test {
 protected:
  std::string run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "identify");
    testing::internal::CaptureStdout();
    const std::string message = test::run_command(add_identify_command, arguments);
    printed_ = testing::internal::GetCapturedStdout();
    return message;
  }

  /// Writes an image whose pixels are `gray(x, y)`.
  template <typename Gray>
  std::string image(const std::string& name, int width, int height, Gray gray) const {
    const std::string path = folder_ / name;
    std::ofstream file(path, std::ios::binary);
    file << "P5 " << width << " " << height << " 255\n";
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) file.put(static_cast<char>(std::lround(gray(x, y))));
    return path;
  }

  const test::TemporaryFolder folder_;
  const std::string out_ = folder_ / "filter.ocellus";
  std::string printed_;
};

// Fails when the displacement is not found, or the filter is not the one that was asked for, not
// stable, or does not keep the brightness.
TEST_F(IdentifyCommand, FromAPair) {
  const std::string sharp = image("sharp.pgm", 128, 128, squares);
  const std::string degraded = image("degraded.pgm", 128, 128, blurred);
  ASSERT_EQ(run({"--degraded", degraded, "--sharp", sharp, "--support", "5", "-o", out_, "--json"}),
            "");
  const auto report = nlohmann::json::parse(printed_);
  EXPECT_NEAR(report["shift"][0].get<double>(), 2.0, 0.1);
  EXPECT_NEAR(report["shift"][1].get<double>(), 0.0, 0.1);
  EXPECT_NEAR(report["gain"].get<double>(), 1.0, 0.02);
  const auto filter = read_restoration_filter(out_.c_str());
  ASSERT_TRUE(filter) << filter.error().text;
  EXPECT_EQ(filter->support, 5);
  const auto properties = analyze_filter(*filter);
  ASSERT_TRUE(properties) << properties.error().text;
  EXPECT_NEAR(properties->gain, 1.0, 0.05);
  EXPECT_LT(properties->largest_root, 0.96);
}

// Fails when a kernel of the command line or of a file does not become a filter of its own.
TEST_F(IdentifyCommand, FromAKernel) {
  const std::string kernel = folder_ / "kernel.txt";
  std::ofstream(kernel) << "0 1 0\n1 2 1\n0 1 0\n";
  std::vector<RestorationFilter> filters;
  for (const std::string& psf :
       {std::string("gaussian:1.2"), std::string("motion:5,30"), std::string("disk:2"), kernel}) {
    ASSERT_EQ(run({"--psf", psf, "--noise", "2", "--support", "4", "-o", out_}), "") << psf;
    EXPECT_NE(printed_.find("stable"), std::string::npos);
    const auto filter = read_restoration_filter(out_.c_str());
    ASSERT_TRUE(filter) << filter.error().text;
    for (const RestorationFilter& other : filters)
      EXPECT_NE(filter->feedforward, other.feedforward) << psf;
    filters.push_back(*filter);
  }
}

// Fails when the filters of the library are not what the command in their notes gives.
TEST_F(IdentifyCommand, GivesTheFiltersOfTheLibrary) {
  for (const char* name : {"gaussian-1", "gaussian-1.5", "gaussian-2"}) {
    const auto shipped = find_restoration_filter(name);
    ASSERT_TRUE(shipped) << name;
    const std::string note = shipped->note;
    std::istringstream words(note.substr(note.find("--psf")));
    std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
    arguments.insert(arguments.end(), {"-o", out_});
    ASSERT_EQ(run(arguments), "") << note;
    const auto made = read_restoration_filter(out_.c_str());
    ASSERT_TRUE(made) << made.error().text;
    ASSERT_EQ(made->support, shipped->support);
    // The order of the operations differs between compilers.
    for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(made->support * made->support); ++k) {
        ASSERT_NEAR(made->feedforward[q][k], shipped->feedforward[q][k], 1e-3f) << name;
        ASSERT_NEAR(made->feedback[q][k], shipped->feedback[q][k], 1e-3f) << name;
      }
    }
  }
}

// Fails when a value of the kernel goes to another displacement, or the file is not a filter.
TEST_F(IdentifyCommand, WritesABlur) {
  const std::string kernel = folder_ / "kernel.txt";
  std::ofstream(kernel) << "1 2 3 0 0\n4 5 6 0 0\n7 8 9 0 0\n";
  ASSERT_EQ(run({"--psf", kernel, "--blur", "-o", out_}), "");
  const auto filter = read_restoration_filter(out_.c_str());
  ASSERT_TRUE(filter) << filter.error().text;
  ASSERT_EQ(filter->support, 3);
  // Columns -2 to 2 and rows -1 to 1.
  EXPECT_EQ(filter->feedforward[0][0], 6.0f);
  EXPECT_EQ(filter->feedforward[0][3], 9.0f);
  EXPECT_EQ(filter->feedforward[1][1], 5.0f);
  EXPECT_EQ(filter->feedforward[1][2], 4.0f);
  EXPECT_EQ(filter->feedforward[1][5], 7.0f);
  EXPECT_EQ(filter->feedforward[2][3], 3.0f);
  EXPECT_EQ(filter->feedforward[3][5], 1.0f);
  EXPECT_NE(run({"--blur", "-o", out_}).find("--blur needs --psf"), std::string::npos);
  EXPECT_NE(run({"--psf", "motion:61,0", "--blur", "-o", out_}).find("up to 61x61"),
            std::string::npos);
}

// Fails when the file does not carry the proof or the residual, or does not show them.
TEST_F(IdentifyCommand, ShowsAFile) {
  ASSERT_EQ(run({"--psf", "disk:2", "--noise", "2", "--support", "4", "--max-response", "30", "-o",
                 out_, "--json"}),
            "");
  const auto made = nlohmann::json::parse(printed_);
  EXPECT_LE(made["response"].get<int>(), 30);
  ASSERT_EQ(run({"--show", out_, "--json"}), "");
  const auto shown = nlohmann::json::parse(printed_);
  EXPECT_EQ(shown["note"], "identified from disk:2");
  EXPECT_EQ(shown["support"], 4);
  for (const char* key : {"margin", "response", "gain_of_constant"})
    EXPECT_EQ(shown[key], made[key]) << key;
  EXPECT_NEAR(shown["residual_rms"].get<double>(), made["residual_rms"].get<double>(), 1e-4);
  ASSERT_EQ(run({"--show", out_}), "");
  EXPECT_NE(printed_.find("margin"), std::string::npos) << printed_;
  EXPECT_NE(printed_.find("RMS error"), std::string::npos) << printed_;
  ASSERT_EQ(run({"--show", "gaussian-1"}), "");
  EXPECT_NE(printed_.find("stable"), std::string::npos) << printed_;
  EXPECT_NE(run({"--show", out_, "--psf", "disk:2"}).find("--psf has no meaning here"),
            std::string::npos);
  EXPECT_NE(run({"--show", folder_ / "none.ocellus"}).find("none.ocellus"), std::string::npos);
}

// Fails when a mistake is taken, or its message does not name what is wrong.
TEST_F(IdentifyCommand, ReportsMistakes) {
  const std::string sharp = image("sharp.pgm", 128, 128, squares);
  const std::string degraded = image("degraded.pgm", 128, 128, blurred);
  const std::string flat = image("flat.pgm", 128, 128, [](int, int) { return 90.0; });
  const std::string other =
      image("other.pgm", 128, 128, [](int x, int y) { return (x * 7919 + y * 104729) % 251; });
  const std::string small = image("small.pgm", 100, 128, squares);
  const auto refuses = [&](const std::vector<std::string>& arguments, const std::string& says) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"-o", out_});
    const std::string message = run(all);
    EXPECT_NE(message.find(says), std::string::npos) << message << "\nlacks: " << says;
    EXPECT_FALSE(std::ifstream(out_).good());
  };
  refuses({}, "one of --sharp, --psf and --edge");
  refuses({"--psf", "disk:2", "--sharp", sharp, "--degraded", degraded}, "no second one");
  refuses({"--sharp", sharp}, "--sharp needs --degraded");
  refuses({"--psf", "disk:2", "--fragment", "0,0,64,64"}, "--fragment needs --degraded");
  refuses({"--psf", "disk:wide"}, "disk:RADIUS");
  refuses({"--psf", "motion:9"}, "motion:LENGTH,ANGLE");
  refuses({"--psf", folder_ / "none.txt"}, "none.txt");
  refuses({"--psf", "disk:2", "--support", "0"}, "support is 0; it must be 1 to 31");
  refuses({"--psf", "disk:2", "--support", "32"}, "support is 32; it must be 1 to 31");
  refuses({"--degraded", degraded, "--sharp", small}, "both must be equal");
  refuses({"--degraded", degraded, "--sharp", sharp, "--fragment", "100,0,64,64"},
          "must lie inside of");
  refuses({"--degraded", degraded, "--sharp", sharp, "--fragment", "0,0,32,64"}, "64x64");
  refuses({"--degraded", flat, "--sharp", flat}, "constant");
  refuses({"--degraded", other, "--sharp", sharp}, "same scene");
  EXPECT_NE(run({"--psf", "disk:2"}).find("-o must name"), std::string::npos);
  run({"--psf", "disk:2", "-o", folder_ / "filter.txt"});
  EXPECT_FALSE(std::ifstream(folder_ / "filter.txt").good());
}

}  // namespace
}  // namespace ocellus::app
