// What each command of the program prints, as JSON and as text, is that of the snapshots.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "apps/io/digit_scene.h"
#include "apps/io/image_io.h"
#include "apps/program_checks.h"
#include "cortex/labeled_strokes.h"
#include "cortical_network/textures.h"
#include "restoration/blurred_squares.h"
#include "snapshots/snapshot.h"
#include "support/files.h"
#include "support/idx_files.h"

namespace ocellus::test {
namespace {

using Arguments = std::vector<std::string>;

enum class Prints { kJsonAndText, kJson, kText };

/// A command. "@" in an argument stands for the folder of the inputs.
struct Case {
  const char* name;
  Arguments arguments;
  Prints prints = Prints::kJsonAndText;
  const char* writes = nullptr;  ///< name of a file in the folder, whose bytes are compared

  friend void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
};

const Arguments kCpu = {"--backend", "cpu", "--threads", "2"};

Arguments on_cpu(Arguments arguments) {
  return plus(std::move(arguments), kCpu);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"flow", on_cpu({"flow", "test:160x120,frames=2"})},
      {"flow_objects", on_cpu({"flow", "test:160x120,frames=2", "--objects", "8"})},
      {"flow_frames", on_cpu({"flow", "test:96x64,frames=4", "-o", "@/field_%d.flo"})},
      {"flow_drawn",
       on_cpu({"flow", "test:96x64,frames=3", "--objects", "8", "-o", "@/drawn.y4m"})},
      {"flow_kernels", on_cpu({"flow", "test:48x40,frames=8", "--method", "kernels", "--taps",
                               "5x5x4", "--deviation", "@/deviation.pfm", "-o", "@/kernels.flo"})},
      {"halftone", on_cpu({"halftone", "test:64x48,frames=2"})},
      {"halftone_color", on_cpu({"halftone", "@/color.ppm", "-o", "@/dots.ppm"}),
       Prints::kJsonAndText, "dots.ppm"},
      {"halftone_chroma",
       on_cpu({"halftone", "@/color.ppm", "--chroma", "keep", "-o", "@/dots.ppm"}),
       Prints::kJsonAndText, "dots.ppm"},
      {"cnn", on_cpu({"cnn", "test:64x48,frames=2", "--template", "erosion | edge"})},
      {"cnn_drawn",
       on_cpu({"cnn", "@/sheet.pgm", "--template", "erosion | edge", "--binarize", "128", "-o",
               "@/parts.pgm"}),
       Prints::kJsonAndText, "parts.pgm"},
      {"restore", on_cpu({"restore", "test:64x48,frames=2", "--filter", "@/filter.ocellus"})},
      {"restore_color", on_cpu({"restore", "@/color.ppm", "-o", "@/restored.ppm"})},
      {"restore_luma",
       on_cpu({"restore", "@/color.ppm", "--color", "luma", "-o", "@/restored.ppm"}),
       Prints::kJsonAndText, "restored.ppm"},
      {"digits", on_cpu({"digits", "test:digits@10,frames=2,size=320x240,digits=4"})},
      {"digits_tiles", on_cpu({"digits", "@/sheet.pgm", "--layout", "tiles", "--ink", "dark",
                               "--min-confidence", "0.9"})},
      {"digits_images",
       on_cpu({"digits", "--images", "@/digits-images", "--labels", "@/digits-labels"})},
      {"cortex", on_cpu({"cortex", "test:56x28,frames=2"})},
      {"cortex_tiles", on_cpu({"cortex", "@/sheet.pgm", "--layout", "tiles"})},
      {"cortex_learn",
       on_cpu({"cortex", "@/sheet.pgm", "--learn", "--save-model", "@/learned.ocellus"})},
      {"cortex_images",
       on_cpu({"cortex", "--images", "@/digits-images", "--labels", "@/digits-labels"})},
      {"network", on_cpu({"network", "test:56x28,frames=2", "--learn"})},
      {"network_tiles", on_cpu({"network", "@/sheet.pgm", "--layout", "tiles"})},
      {"cortex_plan",
       {"cortex", "plan", "--hypercolumns", "31", "--simulate",
        "gpu:1.0x,80GB gpu:0.4x,1.5GiB cpu:0.05x"}},
      {"train_digits",
       {"train", "digits", "--images", "@/digits-images", "--labels", "@/digits-labels", "--planes",
        "8,12", "--copies", "1", "--passes", "1", "--validation", "0.2", "--threads", "2", "-o",
        "@/digits.ocellus"}},
      {"train_cortex",
       {"train", "cortex", "--images", "@/strokes-images", "--labels", "@/strokes-labels",
        "--levels", "8x8/4x4:24", "--keep-slant", "--feature-images", "200", "--validation", "0.2",
        "--threads", "2", "-o", "@/cortex.ocellus"}},
      {"train_network",
       train_network_command("@/textures-images", "@/textures-labels", "@/network.ocellus")},
      {"identify_psf", {"identify", "--psf", "gaussian:1.5", "-o", "@/identified.ocellus"}},
      {"identify_pair",
       {"identify", "--degraded", "@/blurred.pgm", "--sharp", "@/sharp.pgm", "--support", "2",
        "--largest-root", "0.8", "-o", "@/identified.ocellus"}},
      {"identify_show", {"identify", "--show", "gaussian-1"}},
      {"compare_flow", {"compare", "flow", "@/slow.flo", "@/fast.flo", "--border", "4"}},
      {"compare_image", {"compare", "image", "@/blurred.pgm", "@/sharp.pgm"}},
      {"compare_latency", {"compare", "latency", "@/first.json", "@/second.json"}},
      {"latency", on_cpu({"latency", "--size", "32x32", "--fps", "500", "--frames", "3",
                          "--budget-ms", "10000", "--memory", "host"})},
      {"latency_halftone", on_cpu({"latency", "--pipeline", "halftone", "--size", "32x32",
                                   "--back-to-back", "--frames", "3", "--memory", "host"})},
      {"bench_devices",
       {"bench", "devices", "--operator", "halftone", "--size", "64x48", "--devices", "cpu cpu",
        "--threads", "1", "--frames", "3"}},
      {"bench_halftone",
       {"bench", "halftone", "--size", "64x48", "--frames", "2", "--backend", "cpu", "--threads",
        "1"},
       Prints::kJson},
      {"bench_digits",
       {"bench", "digits", "--patches", "1", "--frames", "2", "--backend", "cpu", "--threads", "1"},
       Prints::kJson},
      {"bench_cortex",
       {"bench", "cortex", "--hypercolumns", "31", "--minicolumns", "32", "--warm-up", "1",
        "--steps", "2", "--backend", "cpu", "--threads", "1"},
       Prints::kJson},
      {"kernels_make",
       {"kernels", "make", "--kernels", "foveated", "--size", "64x48", "--taps", "5x5x4", "-o",
        "@/made.ocellus"},
       Prints::kText},
      {"kernels_info", {"kernels", "info", "@/kernels.ocellus"}},
      {"template_list", {"template", "list"}},
      {"template_show", {"template", "show", "erosion | edge"}},
      {"template_make",
       {"template", "make", "@/template.json", "-o", "@/template.ocellus"},
       Prints::kText},
      {"devices", {"devices"}},
      {"options_flow", {"options", "flow"}},
      {"options_filter", {"options", "filter"}},
      {"options_halftone", {"options", "halftone"}},
      {"options_cnn", {"options", "cnn"}},
      {"options_restore", {"options", "restore"}},
      {"options_digits", {"options", "digits"}},
      {"options_cortex", {"options", "cortex"}},
      {"options_network", {"options", "network"}},
  };
  return all;
}

/// Writes a gray image whose pixels are `gray(x, y)`.
template <typename Gray>
void write_gray(const std::string& path, ImageSize size, Gray gray) {
  app::GrayImage image(size, PixelFormat::kGray8);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      image.pixels[static_cast<std::size_t>(y * size.width + x)] =
          static_cast<std::uint8_t>(std::lround(gray(x, y)));
  app::write_image_gray(path, image, 8);
}

/// Digits of 28x28 pixels, as their ink: drawn ones of half the size.
app::DigitImages small_digits(std::size_t count) {
  constexpr int kSide = 28;
  const app::DigitImages drawn = app::draw_digits(count, 3);
  app::DigitImages images;
  images.width = images.height = kSide;
  images.labels = drawn.labels;
  const int left = drawn.width / 2 - kSide;
  const int top = drawn.height / 2 - kSide;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const from =
        &drawn.ink[i * static_cast<std::size_t>(drawn.width * drawn.height)];
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const std::uint8_t* const at = from + (top + 2 * y) * drawn.width + left + 2 * x;
        images.ink.push_back(
            static_cast<std::uint8_t>((at[0] + at[1] + at[drawn.width] + at[drawn.width + 1]) / 4));
      }
    }
  }
  return images;
}

/// The inputs of the commands.
class Inputs {
 public:
  Inputs() {
    write_digits();
    write_bytes(folder_ / "textures-images", idx_images(30, 8, 8, textures(30)));
    std::vector<std::uint8_t> classes;
    for (int i = 0; i < 30; ++i) classes.push_back(static_cast<std::uint8_t>(i % 3));
    write_bytes(folder_ / "textures-labels", idx_labels(classes));
    const LabeledImages strokes = labeled_strokes(80, 1);
    write_bytes(folder_ / "strokes-images", idx_images(80, 16, 16, strokes.ink));
    write_bytes(folder_ / "strokes-labels",
                idx_labels({strokes.labels.begin(), strokes.labels.end()}));
    write_gray(folder_ / "sharp.pgm", {128, 128}, squares);
    write_gray(folder_ / "blurred.pgm", {128, 128}, blurred);
    std::string color = "P6 48 40 255\n";
    for (int i = 0; i < 3 * 48 * 40; ++i) color += static_cast<char>(i * 7 + i / 97 * 13);
    write_bytes(folder_ / "color.ppm", color);
    write_bytes(folder_ / "template.json", R"({"a": [[0, 1, 0], [1, 3, 1], [0, 1, 0]],
      "b": [[0, 0, 0], [0, 4, 0], [0, 0, 0]], "threshold": -1, "sweeps": 10})");
    make({"identify", "--psf", "gaussian:1.5", "-o", "@/filter.ocellus"});
    make({"kernels", "make", "--taps", "5x5x4", "-o", "@/kernels.ocellus"});
    make(on_cpu({"flow", "test:96x64,frames=2", "--preset", "quality", "-o", "@/slow.flo"}));
    make(on_cpu({"flow", "test:96x64,frames=2", "-o", "@/fast.flo"}));
    Json report =
        Json::parse(make(on_cpu({"latency", "--size", "32x32", "--fps", "500", "--frames", "3",
                                 "--budget-ms", "10000", "--memory", "host", "--json"})),
                    nullptr, false);
    report["device"] = report["machine"]["cpu"] = "A CPU";
    report["date"] = "2000-01-01T00:00:00Z";
    report["host"] = "somewhere";
    for (const auto& [key, time] : {std::pair{"p50", 1.5}, std::pair{"max", 2.5}})
      report["runs"][0]["latency_ms"][key] = time;
    report["runs"][0]["jitter_ms"]["deviation"] = 0.25;
    write_bytes(folder_ / "first.json", report.dump());
    report["runs"][0]["latency_ms"]["p50"] = 1.25;
    write_bytes(folder_ / "second.json", report.dump());
  }

  Arguments filled_in(const Arguments& arguments) const {
    Arguments filled;
    for (const std::string& argument : arguments)
      filled.push_back(argument[0] == '@' ? folder_.path() + argument.substr(1) : argument);
    return filled;
  }
  /// Size and checksum of a file.
  Json file(const std::string& name) const {
    const std::string bytes = bytes_of(folder_ / name);
    return {{"bytes", bytes.size()},
            {"crc32", crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                            static_cast<uInt>(bytes.size()))}};
  }
  std::string without_folder(const std::string& text) const {
    return replaced(text, folder_.path(), "@");
  }

 private:
  std::string make(const Arguments& arguments) const {
    const ChildResult result = run_program(filled_in(arguments));
    EXPECT_EQ(result.exit_code, 0) << arguments[0] << ": " << result.err;
    return result.out;
  }

  void write_digits() const {
    constexpr int kCount = 40;
    const app::DigitImages digits = small_digits(kCount);
    write_bytes(folder_ / "digits-images", idx_images(kCount, 28, 28, digits.ink));
    write_bytes(folder_ / "digits-labels", idx_labels(digits.labels));
    // Five tiles of dark digits on bright paper in a row, the last one empty.
    write_gray(folder_ / "sheet.pgm", {5 * 28, 28}, [&](int x, int y) {
      const int ink =
          x < 4 * 28 ? digits.ink[static_cast<std::size_t>(x / 28 * 28 * 28 + y * 28 + x % 28)] : 0;
      return 200 - ink * 3 / 5;
    });
  }

  const TemporaryFolder folder_;
};

class Program : public testing::TestWithParam<Case> {
 protected:
  static bool has_snapshots() {
    return std::filesystem::is_directory(OCELLUS_SNAPSHOTS_OF_PROGRAM);
  }
  static void SetUpTestSuite() {
    if (!has_snapshots()) return;
    // What `devices` prints does not depend on a GPU then.
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    inputs_ = new Inputs;
  }
  static void TearDownTestSuite() {
    delete inputs_;
    inputs_ = nullptr;
  }
  void SetUp() override {
    if (!has_snapshots()) GTEST_SKIP() << "there is no source tree with the snapshots";
  }
  static const Inputs* inputs_;
};
const Inputs* Program::inputs_ = nullptr;

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Command, Program, testing::ValuesIn(cases()), name_of);

// Fails when a command prints another key, another order of keys, another value or another text
// than before, or ends with another status.
TEST_P(Program, PrintsTheSnapshot) {
  const Case& tested = GetParam();
  Json seen = {{"arguments", tested.arguments}};
  const auto run = [&](const Arguments& more) {
    const ChildResult result = run_program(plus(inputs_->filled_in(tested.arguments), more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return inputs_->without_folder(result.out);
  };
  if (tested.prints != Prints::kText) {
    const Json printed = Json::parse(run({"--json"}), nullptr, false);
    ASSERT_TRUE(printed.is_object());
    seen["json"] = neutral(printed, tested.name);
  }
  if (tested.prints != Prints::kJson) seen["text"] = neutral_lines(run({}));
  if (tested.writes != nullptr) seen["file"] = inputs_->file(tested.writes);
  Snapshots(OCELLUS_SNAPSHOTS_OF_PROGRAM).check(tested.name, seen);
}

// Fails when a snapshot remains of a case that is gone.
TEST(ProgramSnapshots, HaveACase) {
  if (!std::filesystem::is_directory(OCELLUS_SNAPSHOTS_OF_PROGRAM))
    GTEST_SKIP() << "there is no source tree with the snapshots";
  std::set<std::string> names;
  for (const Case& one : cases()) names.insert(one.name);
  Snapshots(OCELLUS_SNAPSHOTS_OF_PROGRAM).check_names(names);
}

}  // namespace
}  // namespace ocellus::test
