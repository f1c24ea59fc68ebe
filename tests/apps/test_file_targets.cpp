// The files that the program writes: every target, and signals.
#include <gtest/gtest.h>

#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "apps/io/flow_file.h"
#include "apps/io/image_io.h"
#include "apps/io/output_file.h"
#include "halftone/template_file.h"
#include "ocellus/cell_templates.h"
#include "optical_flow/kernel_bank_file.h"
#include "program_checks.h"
#include "restoration/filter_file.h"
#include "support/file_targets.h"
#include "support/idx_files.h"
#include "support/restoration_filters.h"

namespace ocellus::test {
namespace {

/// The text of the error that a writer throws.
std::function<std::string(const std::string&)> text_of(
    const std::function<void(const std::string&)>& write) {
  return [write](const std::string& path) -> std::string {
    try {
      write(path);
      return "";
    } catch (const app::InputError& error) {
      return error.what();
    }
  };
}

// Promises: FILE-001.
TEST(FileTargets, Images) {
  app::GrayImage image({40, 30}, PixelFormat::kGray8);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(i % 3 * 100);
  for (const char* extension : {".png", ".pgm"}) {
    expect_file_targets(
        {"a gray image", extension,
         text_of([&](const std::string& path) { app::write_image_gray(path, image, 8); }), true});
  }
  const std::vector<std::uint8_t> rgb(std::size_t{3} * 40 * 30, 77);
  for (const char* extension : {".png", ".ppm"}) {
    expect_file_targets({"an image with color", extension, text_of([&](const std::string& path) {
                           app::write_image_rgb(path, {40, 30}, rgb.data());
                         }),
                         true});
  }
}

// Promises: FILE-001.
TEST(FileTargets, Fields) {
  app::FlowField field({20, 10}, false);
  expect_file_targets({"a field", ".flo",
                       text_of([&](const std::string& path) { app::write_flo(path, field); }),
                       true});
  const std::vector<float> values(200, 0.5f);
  expect_file_targets({"a plane", ".pfm", text_of([&](const std::string& path) {
                         app::write_pfm(path, {20, 10}, values);
                       }),
                       true});
}

// Promises: FILE-001.
TEST(FileTargets, FiltersTemplatesAndKernels) {
  const auto filter = std::make_unique<detail::FilterFileBytes>();
  ASSERT_TRUE(detail::encode_filter(random_filter(3, 0.5, 1), 0.1f, *filter));
  expect_file_targets({"a filter", ".ocellus", text_of([&](const std::string& path) {
                         app::write_file(path, {filter->bytes, filter->count});
                       }),
                       true});
  const auto file = std::make_unique<detail::CellTemplateFileBytes>();
  ASSERT_TRUE(detail::encode_cell_templates({{*cell_template("edge")}}, "", *file));
  expect_file_targets({"a template", ".ocellus", text_of([&](const std::string& path) {
                         app::write_file(path, {file->bytes, file->count});
                       }),
                       true});
  expect_file_targets({"a kernel bank", ".ocellus", [&](const std::string& path) -> std::string {
                         detail::KernelBankHeader bank;
                         bank.nx = bank.ny = bank.nt = 3;
                         bank.convolutions = bank.terms = 1;
                         bank.size = {1, 1};
                         const auto writer = std::make_unique<detail::KernelBankWriter>();
                         const float taps[] = {0.25f, 0.5f, 0.25f};
                         Expected<void> done = writer->open(path.c_str(), bank);
                         if (done) done = writer->add(taps, taps, taps);
                         if (done) done = writer->finish();
                         return done ? "" : done.error().text;
                       }});
}

/// Commands of the program, and the inputs that they need.
class CommandTargets : public testing::Test {
 protected:
  CommandTargets() {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    std::vector<std::uint8_t> pixels;
    std::vector<std::uint8_t> classes;
    for (int i = 0; i < 12; ++i) {
      for (int y = 0; y < 16; ++y)
        for (int x = 0; x < 16; ++x)
          pixels.push_back((i % 2 == 0 ? x : y) / 2 == 3 + i % 3 ? 255 : 0);
      classes.push_back(static_cast<std::uint8_t>(i % 2));
    }
    images_ = write_bytes(folder_ / "images", idx_images(12, 16, 16, pixels));
    labels_ = write_bytes(folder_ / "labels", idx_labels(classes));
  }

  static FileWriterCase command(const char* name, const char* extension,
                                const std::vector<std::string>& arguments, bool takes_pipes) {
    FileWriterCase made{name, extension, {}, takes_pipes};
    made.reads = {program_path()};
    made.write = [arguments](const std::string& path) {
      const ChildResult result = run_program(plus(arguments, {path}));
      return result.exit_code == 0 ? "" : "exit " + std::to_string(result.exit_code) + result.err;
    };
    return made;
  }
  std::vector<std::string> train(const char* what, const std::vector<std::string>& more) const {
    return plus(
        plus({"train", what, "--images", images_, "--labels", labels_, "--ink", "light"}, more),
        {"-o"});
  }

  const TemporaryFolder folder_;
  std::string images_;
  std::string labels_;
};

// Promises: FILE-001.
TEST_F(CommandTargets, SavedModel) {
  expect_file_targets(command(
      "cortex --save-model", ".ocellus",
      {"cortex", "test:28x28,frames=2", "--learn", "--threads", "1", "--save-model"}, false));
}

// Promises: FILE-001.
TEST_F(CommandTargets, TrainedModels) {
  expect_file_targets(command("train network", ".ocellus",
                              train("network", {"--levels", "4x4/4x4:32", "--passes", "1"}),
                              false));
  expect_file_targets(command("train digits", ".ocellus",
                              train("digits", {"--planes", "4,4", "--copies", "0", "--passes", "1",
                                               "--tuning-passes", "0", "--threads", "1"}),
                              true));
  expect_file_targets(command("train cortex", ".ocellus",
                              train("cortex", {"--levels", "8x8/4x4:8", "--passes", "1",
                                               "--feature-images", "50", "--threads", "1"}),
                              true));
}

// Promises: FILE-001.
TEST_F(CommandTargets, Results) {
  expect_file_targets(
      command("flow", ".flo", {"flow", "test:32x32,frames=3", "--frame", "1", "-o"}, true));
  expect_file_targets(command("halftone", ".png", {"halftone", "test:32x32,frames=1", "-o"}, true));
  expect_file_targets(command("a video", ".y4m", {"flow", "test:32x32,frames=3", "-o"}, true));
  FileWriterCase plot = command("a plot", ".svg",
                                {"latency", "--size", "32x32", "--fps", "1000", "--frames", "5",
                                 "--budget-ms", "10000", "--plot"},
                                true);
  // Times differ from run to run.
  plot.complete = [](const std::string& bytes) {
    return bytes.starts_with("<svg") && bytes.ends_with("</svg>\n");
  };
  expect_file_targets(plot);
}

// Fails if a model that cannot be written is reported only after the last frame, if one that
// --model names cannot go on, or if another input is overwritten.
TEST_F(CommandTargets, TheModelIsCheckedFirst) {
  const std::string model = folder_ / "model.ocellus";
  const auto save = [&](const std::string& path, const std::vector<std::string>& more = {}) {
    return plus({"cortex", "--images", images_, "--learn", "--save-model", path}, more);
  };
  expect_error(save("-"), {"standard output"});
  expect_error(save(images_), {"images", "is an input of this command"});
  ASSERT_EQ(run_program(save(model)).exit_code, 0);
  const std::string first = bytes_of(model);
  ASSERT_EQ(run_program(save(model, {"--model", model})).exit_code, 0);
  EXPECT_FALSE(bytes_of(model) == first);
  // Frames are learned as images are.
  const std::string network = folder_ / "network.ocellus";
  const std::vector<std::string> learn = {"network", "test:28x28,frames=2", "--learn",
                                          "--save-model", network};
  ASSERT_EQ(run_program(learn).exit_code, 0);
  const std::string before = bytes_of(network);
  const ChildResult again = run_program(plus(learn, {"--model", network}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_FALSE(bytes_of(network) == before);
  // The frame is damaged, which is found when it is read.
  const std::string frame = write_bytes(folder_ / "frame.pgm", "P5\n4");
  expect_error({"cortex", frame, "--learn", "--save-model", folder_ / "none/model.ocellus"},
               {"none/model.ocellus", "No such file"});
}

// Fails if signals leave a temporary file beside a model that the library writes, or damage the
// model that was there.
// Promises: FILE-002.
TEST_F(CommandTargets, TwoSignalsLeaveNoFile) {
  const std::string path = folder_ / "saved.ocellus";
  for (int round = 0; round < 12; ++round) {
    const std::string old = round % 2 == 0 ? "" : "what stood there";
    std::filesystem::remove(path);
    if (!old.empty()) std::ofstream(path) << old;
    RunningProgram program(
        {"cortex", "test:48x40,frames=2", "--learn", "--threads", "1", "--save-model", path});
    // The first temporary file is that of the check before the first frame.
    const auto parts = [&] {
      std::size_t most = 0;
      for (const std::string& name : files_in(folder_.path(), "saved.ocellus.")) {
        std::error_code gone;
        const auto bytes = std::filesystem::file_size(folder_ / name, gone);
        if (!gone) most = std::max<std::size_t>(most, bytes);
      }
      return most;
    };
    const auto begin = std::chrono::steady_clock::now();
    while (parts() == 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20) &&
           (old.empty() ? !std::filesystem::exists(path) : bytes_of(path) == old))
      std::this_thread::yield();
    program.send(SIGTERM);
    std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    program.send(SIGTERM);
    program.wait();
    EXPECT_TRUE(files_in(folder_.path(), "saved.ocellus.").empty()) << "round " << round;
    const std::string left = bytes_of(path);
    EXPECT_TRUE(left == old || left.size() > 1'000'000) << left.size();
  }
}

}  // namespace
}  // namespace ocellus::test
