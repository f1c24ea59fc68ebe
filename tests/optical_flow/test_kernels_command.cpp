// ocellus kernels: JSON gives the intended bank, and every mistake is reported.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/optical_flow/kernel_bank_json.h"
#include "apps/run_command.h"
#include "ocellus/kernel_taps.h"
#include "support/files.h"

namespace ocellus::app {
namespace {

class KernelsCommand : public testing::Test {
 protected:
  /// All taps of a file in order.
  std::vector<float> taps() const {
    struct Taps {
      KernelConfig kernels;
      std::vector<float> all;
    } taps;
    auto info = read_kernel_file_info(out_.c_str());
    EXPECT_TRUE(info) << info.error().text;
    if (!info) return {};
    taps.kernels = info->kernels;
    EXPECT_TRUE(info->kernels.path.assign(out_));
    const auto visited = visit_kernels(
        info->kernels, info->size.width > 0 ? info->size : ImageSize{1, 1},
        [](void* user, int, int, int, int, const float* wx, const float* wy, const float* wt) {
          auto& t = *static_cast<Taps*>(user);
          if (t.kernels.form == KernelForm::kFull) {
            t.all.insert(t.all.end(), wx, wx + t.kernels.nx * t.kernels.ny * t.kernels.nt);
            return true;
          }
          t.all.insert(t.all.end(), wx, wx + t.kernels.nx);
          t.all.insert(t.all.end(), wy, wy + t.kernels.ny);
          t.all.insert(t.all.end(), wt, wt + t.kernels.nt);
          return true;
        },
        &taps);
    EXPECT_TRUE(visited) << visited.error().text;
    return taps.all;
  }

  static std::string run(const std::vector<std::string>& arguments) {
    return test::run_command(add_kernels_command, arguments);
  }

  static std::string message_of(const std::string& input, const std::string& out) {
    std::istringstream stream(input);
    try {
      kernel_bank_from_json(stream, out);
    } catch (const InputError& error) {
      EXPECT_FALSE(std::filesystem::exists(out)) << "a file remains although: " << error.what();
      return error.what();
    }
    return "";
  }

  const test::TemporaryFolder folder_;
  const std::string out_ = folder_ / "bank.ocellus";
};

// Fails when values in JSON are read in an order other than pixel, convolution, term, axis.
TEST_F(KernelsCommand, ReadsJson) {
  EXPECT_EQ(message_of(R"({"form": "uniform", "kernels": [
      [{"x": [1], "y": [2, 3], "t": [4]}, {"x": [5], "y": [6, 7], "t": [8]}],
      [{"x": [9], "y": [10, 11], "t": [12]}, {"t": [16], "y": [14, 15], "x": [13]}]]})",
                       out_),
            "");
  EXPECT_EQ(taps(), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(message_of(R"({"note": "two", "form": "per-pixel", "size": [1, 2], "pixels": [
      [[{"x": [1], "y": [2], "t": [3]}]], [[{"x": [4], "y": [5], "t": [6]}]]]})",
                       out_),
            "");
  EXPECT_EQ(taps(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(message_of(R"({"form": "full", "size": [2, 1], "pixels": [
      [[{"taps": [[[1, 2, 3]], [[4, 5, 6]]]}]], [[{"taps": [[[7, 8, 9]], [[10, 11, 12]]]}]]]})",
                       out_),
            "");
  EXPECT_EQ(taps(), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  std::ostringstream json;
  show_kernel_bank(out_, true, json);
  const auto root = nlohmann::json::parse(json.str());
  EXPECT_EQ(root["form"], "full");
  EXPECT_EQ(root["taps"], nlohmann::json({3, 1, 2}));
  EXPECT_EQ(root["convolutions"][0]["sum"], nlohmann::json({21, 57}));
  EXPECT_EQ(root["convolutions"][0]["largest_tap"], 12);
}

// Fails when the size of a bank that stands behind its pixels is not used, or when a bank of more
// values than the parser may hold is refused although its form and size come first.
TEST_F(KernelsCommand, ReadsMembersInAnyOrderAndBanksOfAnyLength) {
  const std::string pixels = R"("pixels": [[[{"x": [1], "y": [2], "t": [3]}]],
      [[{"x": [4], "y": [5], "t": [6]}]]])";
  EXPECT_EQ(
      message_of("{" + pixels + R"(, "note": "n", "size": [1, 2], "form": "per-pixel"})", out_),
      "");
  EXPECT_EQ(taps(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const auto info = read_kernel_file_info(out_.c_str());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->size, (ImageSize{1, 2}));
  EXPECT_STREQ(info->note, "n");

  const std::string pixel = R"([[{"x":[1,2,3],"y":[4],"t":[5]}]])";
  std::string many = pixel;
  for (int i = 1; i < 400 * 250; ++i) many += "," + pixel;
  EXPECT_EQ(message_of(R"({"form":"per-pixel","size":[400,250],"pixels":[)" + many + "]}", out_),
            "");
  EXPECT_EQ(taps().size(), 5u * 400u * 250u);
  std::filesystem::remove(out_);
  const std::string refused =
      message_of(R"({"form":"per-pixel","pixels":[)" + many + R"(],"size":[400,250]})", out_);
  EXPECT_NE(refused.find("stand before \"pixels\""), std::string::npos) << refused;
}

// Fails when a mistake in JSON is accepted, leaves a file, or is reported without its position.
TEST_F(KernelsCommand, ReportsMistakesInJson) {
  const std::string term = R"({"x": [1], "y": [1], "t": [1]})";
  const struct {
    std::string json;
    const char* words;
  } cases[] = {
      {"{", "not valid JSON: parse error at line 1"},
      {"[]", "not an object"},
      {R"({"form": "uniform", "kernel": []})", "\"kernel\" is unknown"},
      {R"({"kernels": []})", "\"form\" must be"},
      {R"({"form": "uniform"})", "has its taps in \"kernels\""},
      {R"({"form": "uniform", "kernels": []})", "kernels must be an array of convolutions"},
      {R"({"form": "uniform", "kernels": [[1]]})", "kernels[0][0] must be an object"},
      {R"({"form": "uniform", "kernels": [[{"x": [1], "y": [1]}]]})",
       "kernels[0][0]: \"t\" must be an array"},
      {R"({"form": "uniform", "kernels": [[{"x": [1], "y": ["a"], "t": [1]}]]})",
       "something other than numbers"},
      {R"({"form": "uniform", "kernels": [[)" + term + R"(], [)" + term + "," + term + "]]}",
       "kernels[1] has 2 terms"},
      {R"({"form": "uniform", "kernels": [[)" + term +
           R"(], [{"x": [1, 2], "y": [1], "t": [1]}]]})",
       "kernels[1][0]: \"x\" has 2 taps; the first kernel has 1"},
      {R"({"form": "uniform", "kernels": [[{"x": [1e9], "y": [1], "t": [1]}]]})", "at most 1e6"},
      {R"({"form": "uniform", "kernels": [[{"x": [1e39], "y": [1], "t": [1]}]]})",
       "kernels[0][0]: \"x\": a tap is 1e+39"},
      {R"({"form": "uniform", "kernels": [[{"x": [1e999], "y": [1], "t": [1]}]]})",
       "not valid JSON: number overflow"},
      {R"({"form": "per-pixel", "size": [2], "pixels": []})", "\"size\" must be"},
      {R"({"form": "per-pixel", "size": [0, 1], "pixels": []})", "\"size\" must be"},
      {R"({"form": "per-pixel", "size": [2, 1], "pixels": [[[)" + term + "]]]}",
       "has 1 pixels; it must have 2"},
      {R"({"form": "per-pixel", "size": [1, 1], "pixels": []})", "has 0 pixels; it must have 1"},
      {R"({"form": "per-pixel", "size": [1, 1], "pixels": 3})", "must be an array of pixels"},
      {R"({"form": "per-pixel", "size": [1, 1], "pixels": [3]})",
       "pixels[0] must be an array of convolutions"},
      {R"({"form": "per-pixel", "size": [1, 1], "pixels": [[[)" + term + "]], [[" + term + "]]]}",
       "there are more taps than the bank's sizes need"},
      {R"({"form": "per-pixel", "size": [1, 1], "pixels": [[[)" + term + R"(]]], "note": "n"})",
       "\"note\" must stand before \"pixels\""},
      {R"({"form": "uniform", "kernels": [[)" + term + "," + term + "," + term + "," + term + "," +
           term + "]]}",
       "a convolution in \"kernels\" has more than 4 terms"},
      {R"({"form": "uniform", "kernels": [[)" + term + R"(]], "note": 3})",
       "\"note\" must be a string"},
      {R"({"form": "uniform", "size": [1, 1], "pixels": [[[)" + term + "]]]}",
       "has its taps in \"kernels\""},
      {R"({"form": "full", "size": [1, 1], "pixels": [[[{"x": [1]}]]]})", "has no \"taps\""},
      {R"({"form": "full", "size": [1, 1], "pixels": [[[{"taps": [[[1, 2], [3]]]}]]]})",
       "pixels[0][0][0]: \"taps\" has 1 columns; it must have 2"},
      {R"({"form": "full", "size": [1, 1], "pixels": [[[{"taps": [[[1, "2"]]]}]]]})",
       "something other than numbers"},
      {R"({"form": "full", "size": [1, 1], "pixels": [[[{"taps": [[[1e7]]]}]]]})",
       "a tap is 1e+07"},
      {R"({"form": "full", "size": [1, 1], "pixels": [[[{"taps": [[[1]]]}, {"taps": [[[1]]]}]]]})",
       "has 2 terms; at most 1"},
      {"", "it is empty"},
      {" \n", "it is empty"},
      {"uniform\ntaps 1 1 1\nconvolutions 1\ndata\n1 2 3\n",
       "it must be JSON, which begins with {; it begins with \"uniform\""},
  };
  for (const auto& c : cases) {
    const std::string message = message_of(c.json, out_);
    EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
    EXPECT_NE(message.find(c.words), std::string::npos) << "\"" << message << "\" for " << c.json;
  }
}

// Fails when `make` writes kernels that differ from those of the library for the same
// configuration.
TEST_F(KernelsCommand, MakesTheKernelsOfTheLibrary) {
  ASSERT_EQ(run({"kernels", "make", "--kernels", "foveated", "--size", "9x7", "--taps", "5x3x4",
                 "--sigma-space", "1.25", "--fovea-x", "2", "--fovea-y", "3", "--fovea-radius", "4",
                 "-o", out_}),
            "");
  KernelConfig expected;
  expected.form = KernelForm::kPerPixel;
  expected.origin = KernelOrigin::kFoveated;
  expected.nx = 5;
  expected.ny = 3;
  expected.nt = 4;
  expected.sigma_space = 1.25f;
  expected.fovea_x = 2.0f;
  expected.fovea_y = 3.0f;
  expected.fovea_radius = 4.0f;
  std::vector<float> all;
  ASSERT_TRUE(visit_kernels(
      expected, {9, 7},
      [](void* user, int, int, int, int, const float* wx, const float* wy, const float* wt) {
        auto& v = *static_cast<std::vector<float>*>(user);
        v.insert(v.end(), wx, wx + 5);
        v.insert(v.end(), wy, wy + 3);
        v.insert(v.end(), wt, wt + 4);
        return true;
      },
      &all));
  ASSERT_EQ(all.size(), 9u * 7u * 3u * 12u);
  EXPECT_EQ(taps(), all);
}

// Fails when a bad option is accepted, or is not named.
TEST_F(KernelsCommand, ReportsBadOptions) {
  const struct {
    std::vector<std::string> arguments;
    const char* words;
  } cases[] = {
      {{"kernels"}, "subcommand"},
      {{"kernels", "make"}, "--output"},
      {{"kernels", "make", "--kernels", "square", "-o", out_}, "--kernels"},
      {{"kernels", "make", "--kernels", "foveated", "-o", out_}, "needs --size"},
      {{"kernels", "make", "--size", "9x9", "-o", out_}, "--size has no meaning here"},
      {{"kernels", "make", "--taps", "9x9", "-o", out_}, "--taps: it is \"9x9\""},
      {{"kernels", "make", "--taps", "9x9x99", "-o", out_}, "--taps: it is \"9x9x99\""},
      {{"kernels", "make", "--kernels", "foveated", "--size", "0x9", "-o", out_},
       "--size is '0x9'"},
      {{"kernels", "make", "--sigma-space", "-1", "-o", out_}, "--sigma-space is -1"},
      {{"kernels", "make", "-o", folder_ / "no/such/folder.ocellus"}, "cannot be written"},
      {{"kernels", "from-json", folder_ / "absent", "-o", out_}, "absent: No such file"},
      {{"kernels", "from-json", folder_.path(), "-o", out_}, "is a folder"},
      {{"kernels", "make", "--fovea-x", "1", "-o", out_}, "--fovea-x has no meaning here"},
      {{"kernels", "make", "--kernels", "uniform", "--fovea-radius", "9", "-o", out_},
       "--fovea-radius has no meaning here"},
      {{"kernels", "make", "--kernels", "foveated", "--size", "9x9", "--fovea-x", "nan", "-o",
        out_},
       "--fovea-x is nan"},
      {{"kernels", "make", "-o", ""}, "--output is empty"},
      {{"kernels", "make", "-o", "-"}, "cannot be written to standard output"},
      {{"kernels", "info", folder_ / "absent"}, "absent\": No such file"},
      {{"kernels", "make", "--kernels", "full", "-o", out_}, "--kernels full needs --size"},
      {{"kernels", "decompose", folder_ / "absent", "-o", out_}, "absent\": No such file"},
      {{"kernels", "decompose", folder_ / "absent", "--rank", "5", "-o", out_}, "--rank"},
  };
  for (const auto& c : cases) {
    const std::string message = run(c.arguments);
    EXPECT_NE(message.find(c.words), std::string::npos)
        << "\"" << message << "\" lacks " << c.words;
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
}

// Fails when `info` prints something that is not in the file, or accepts a damaged file.
TEST_F(KernelsCommand, ShowsTheContentsOfAFile) {
  ASSERT_EQ(run({"kernels", "make", "--taps", "5x7x3", "-o", out_}), "");
  std::ostringstream json;
  show_kernel_bank(out_, true, json);
  const auto root = nlohmann::json::parse(json.str());
  EXPECT_EQ(root["form"], "uniform");
  EXPECT_EQ(root["taps"], nlohmann::json({5, 7, 3}));
  EXPECT_EQ(root["tap_bytes"], 3 * (5 + 7 + 3) * 4);
  ASSERT_EQ(root["convolutions"].size(), 3u);
  for (const auto& convolution : root["convolutions"]) {
    EXPECT_NEAR(convolution["sum"][0].get<double>(), 0.0, 1e-6);  // derivatives have the sum 0
    EXPECT_GT(convolution["largest_tap"].get<double>(), 0.1);
  }
  std::ostringstream text;
  show_kernel_bank(out_, false, text);
  EXPECT_NE(text.str().find("5 x 7 pixels x 3 frames"), std::string::npos) << text.str();

  // A name that is not UTF-8 must not cause a failure.
  const std::string odd = folder_ / "\xff.ocellus";
  std::filesystem::copy_file(out_, odd);
  std::ostringstream replaced;
  show_kernel_bank(odd, true, replaced);
  EXPECT_EQ(nlohmann::json::parse(replaced.str())["tap_bytes"], 3 * (5 + 7 + 3) * 4);

  std::filesystem::resize_file(out_, std::filesystem::file_size(out_) - 1);
  EXPECT_THROW(show_kernel_bank(out_, false, text), InputError);
}

}  // namespace
}  // namespace ocellus::app
