// The program: exit codes, messages, JSON and files.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/io/flow_file.h"
#include "apps/io/image_io.h"
#include "apps/io/test_scene.h"
#include "ocellus/cpus.h"
#include "ocellus/engine.h"
#include "ocellus/version.h"
#include "program_checks.h"

namespace ocellus::test {
namespace {

using nlohmann::json;

std::string data_folder() {
  const char* const folder = std::getenv("OCELLUS_TEST_DATA");
  return folder != nullptr ? folder : "";
}

// Example failure: a subcommand throws when it prints its help, or the help goes to stderr.
TEST(Program, PrintsHelpOnEveryLevelAndItsVersion) {
  for (const std::vector<std::string>& level :
       std::vector<std::vector<std::string>>{{},
                                             {"devices"},
                                             {"flow"},
                                             {"halftone"},
                                             {"cnn"},
                                             {"compare"},
                                             {"compare", "flow"},
                                             {"compare", "image"},
                                             {"latency"},
                                             {"bench"},
                                             {"bench", "flow"},
                                             {"bench", "halftone"},
                                             {"kernels"}}) {
    std::vector<std::string> arguments = level;
    arguments.push_back("--help");
    const ChildResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.out.find("Usage:"), std::string::npos)
        << (level.empty() ? "ocellus" : level.back());
    EXPECT_EQ(result.err, "");
  }
  const ChildResult version = run_program({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out, std::string("ocellus ") + OCELLUS_VERSION_STRING + "\n");
}

// Example failure: a box is not around what moves, the ground is an object, or the plane of the
// standard deviation is not written.
TEST(Program, FindsMovingObjects) {
  const TemporaryFolder folder;
  constexpr int kWidth = 160, kHeight = 120, kSide = 40;
  for (int frame = 0; frame < 2; ++frame) {
    std::ofstream file(folder / ("f" + std::to_string(frame) + ".pgm"), std::ios::binary);
    file << "P5\n" << kWidth << " " << kHeight << "\n255\n";
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int left = 50 + 3 * frame;
        const bool inside = x >= left && x < left + kSide && y >= 30 && y < 30 + kSide;
        const double at_x = inside ? x - 3 * frame : x;
        const double value = 128 + 50 * std::sin(at_x * 0.5 + y * 0.2) +
                             40 * std::cos(y * 0.45) * std::sin(at_x * 0.27);
        file.put(static_cast<char>(std::lround(inside ? value : 0.5 * value + 40)));
      }
    }
  }
  const json report =
      json_of({"flow", folder / "f0.pgm", folder / "f1.pgm", "--preset", "quality", "--objects",
               "8", "--deviation", folder / "d.pfm", "-o", folder / "o.flo"});
  EXPECT_EQ(report["deviation"], folder / "d.pfm");
  const json& frame = report["frames"][0];
  EXPECT_EQ(frame["objects_found"], 1) << frame.dump();
  ASSERT_EQ(frame["objects"].size(), 1u);
  const json& object = frame["objects"][0];
  // Near the edges the window sees the ground, too.
  EXPECT_NEAR(object["mean_u"].get<double>(), 3.0, 0.8);
  EXPECT_NEAR(object["mean_v"].get<double>(), 0.0, 0.3);
  const std::vector<int> box = object["box"];
  EXPECT_NEAR(box[0], 50, 14);
  EXPECT_NEAR(box[1], 30, 14);
  EXPECT_NEAR(box[0] + box[2], 93, 14);
  EXPECT_NEAR(box[1] + box[3], 70, 14);
  const app::FloatPlane deviation = app::read_pfm(folder / "d.pfm");
  ASSERT_EQ(deviation.size, (ImageSize{kWidth, kHeight}));
  for (const float value : deviation.values) EXPECT_GT(value, 0.0f);
  expect_error({"flow", folder / "f0.pgm", folder / "f1.pgm", "--min-area", "3"},
               {"--min-area has no meaning here", "--objects"});
  expect_error({"flow", folder / "f0.pgm", folder / "f1.pgm", "--deviation", folder / "d.flo"},
               {"--deviation is", ".pfm"});
}

// Example failure: wrong usage gives CLI11's own exit codes, or a message without the mistake.
// Promises: PRG-001.
TEST(Program, ReportsWrongUsage) {
  const TemporaryFolder folder;
  const std::string out = folder / "o.flo";
  expect_error({}, {"Usage"});
  expect_error({"flwo"}, {"flwo", "flow", "latency"});
  expect_error({"flow"}, {"FRAMES"});
  expect_error({"flow", "test:32x32", "--nonsense"},
               {"there is no option --nonsense\n", "ocellus flow --help"});
  expect_error({"flow", "test:32x32", "--windw", "9"},
               {"there is no option --windw; the nearest is --window\n"});
  expect_error({"flow", "test:32x32", "--window-sgma=2"},
               {"there is no option --window-sgma; the nearest is --window-sigma\n"});
  expect_error({"flow", "test:32x32", "-window", "9"},
               {"there is no option -window; the nearest is --window\n"});
  expect_error({"latency", "--pipeline", "flow windw=9", "--frames", "1"},
               {"there is no option \"windw\"; the nearest is window\n"});
  expect_error({"compare"}, {"subcommand"});
  // Every comparison with NaN is false, so a range check by comparisons alone would accept it.
  expect_error({"latency", "--fps", "nan"}, {"--fps", "nan"});
  expect_error({"latency", "--budget-ms", "nan"}, {"--budget-ms", "nan"});
  expect_error({"flow", "test:32x32", "-o", folder / "o.png", "--max-motion", "nan"},
               {"--max-motion is nan; it must be 0 to 1e+06"});
  expect_error({"flow", "test:32x32", "-o", "a.txt"}, {"a.txt", ".flo"});
  expect_error({"flow", "test:32x32", "-o", "a%s.flo"}, {"a%s.flo", "%0Nd"});
  expect_error({"flow", "test:32x32", "--preset", "finest"}, {"finest", "fast"});
  expect_error({"flow", "test:32x32", "--preset", "fast", "--method", "kernels"},
               {"--preset has no meaning here: it needs method=pyramid"});
  expect_error({"flow", "test:32x32", "--preset", "fast", "--taps", "5x5x5"},
               {"--taps", "not read from a file"});
  const std::vector<std::string> kernels = {"flow", "test:32x32", "--method", "kernels"};
  expect_error(plus(kernels, {"--levels", "3"}), {"--levels", "method=pyramid"});
  expect_error(plus(kernels, {"--taps", "15x15"}), {"--taps", "15x15x20"});
  expect_error(plus(kernels, {"--taps", "99x15x20"}), {"99", "25"});
  expect_error(plus(kernels, {"--storage", "half"}), {"--storage", "differ by pixel"});
  expect_error(plus(kernels, {"--kernels", folder / "no.ocellus"}), {"no.ocellus", "foveated"});
  expect_error({"flow", "test:32x32", "--roi", "1,2,3"}, {"--roi", "x,y,width,height"});
  expect_error({"flow", "test:32x32", "--roi", "20,20,20,20"}, {"20", "32x32"});
  expect_error({"flow", "test:32x32", "--window", "4"}, {"--window is 4", "odd"});
  expect_error({"flow", "test:32x32,frames=5", "--frame", "4", "-o", out}, {"--frame 4", "3"});
  expect_error({"flow", "test:32x32,frames=5", "--frame", "-1", "-o", out}, {"--frame -1"});
  // Numbers of frames around it would overflow.
  expect_error({"flow", "test:32x32,frames=5", "--frame", "9223372036854775807", "-o", out},
               {"--frame", "9223372036854775807"});
  expect_error({"flow", "test:32x32,frames=5", "--frame", "1", "-o", folder / "v.webm"},
               {"--frame", "v.webm"});
  expect_error({"flow", "test:32x32,frames=1", "-o", out}, {"1 frame"});
  expect_error({"flow", "test:32x32", "--backend", "gpu"}, {"gpu"});
  expect_error({"flow", "test:32x32", "--backend", "cuda:1000"}, {"cuda:1000", "cpu"});
  expect_error({"latency", "--backend", "cpu", "--memory", "pinned"}, {"--memory pinned", "cpu"});
  expect_error({"flow", "test:32x32", "--threads", "1000"}, {"1000", "64"});
  expect_error({"flow", "test:32x32,frames=3", "-o", "/nonexistent-folder/o.flo"},
               {"/nonexistent-folder/o.flo"});
  expect_error({"latency", "--pipeline", "flow ! numbers"}, {"numbers", "flow"});
  expect_error({"latency", "--pipeline", "flow !"}, {"operator"});
  expect_error({"latency", "--size", "640"}, {"--size", "640"});
  expect_error({"latency", "--plot", "a.png", "--frames", "1"}, {".svg"});
  expect_error({"latency", "--input", "test:", "--size", "9x9"}, {"--size", "--input"});
  expect_error({"bench", "letters"}, {"letters", "flow", "halftone"});
  expect_error({"bench", "flow", "--truth", "x.flo"}, {"--input"});
  expect_error({"compare", "flow", "a.flo", "b.flo"}, {"a.flo"});
}

// Example failure: a damaged input is silently shortened, or the message does not name the file.
// Promises: PRG-001.
TEST(Program, ReportsBadFrames) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  };
  write("empty.pgm", "");
  write("a0.pgm", "P5\n4 4\n255\n0123456789abcdef");
  write("a1.pgm", "P5\n4 4\n255\n0123");
  write("b0.pgm", "P5\n4 4\n255\n0123456789abcdef");
  write("b1.pgm", "P5\n2 8\n255\n0123456789abcdef");
  write("c0.pgm", "P5\n4 4\n255\n0123456789abcdef");
  write("c2.pgm", "P5\n4 4\n255\n0123456789abcdef");
  expect_error({"flow", folder / "absent.avi"}, {"absent.avi", "no such file"});
  expect_error({"flow", folder / "empty.pgm"}, {"empty.pgm", "empty"});
  expect_error({"flow", folder / "a%d.pgm"}, {"a1.pgm", "truncated"});
  expect_error({"flow", folder / "b%d.pgm"}, {"b%d.pgm", "2x8", "4x4"});
  expect_error({"flow", folder / "c%d.pgm"}, {"c1.pgm", "missing"});
  expect_error({"flow", folder / "z%d.pgm"}, {"z%d.pgm"});
  expect_error({"flow", folder / "a0.pgm"}, {"a0.pgm", "two"});
  expect_error({"flow", folder / "."}, {"folder"});
  expect_error({"flow", "/dev/video99"}, {"/dev/video99"});
  write("noise.avi", std::string(5000, 'x'));
  expect_error({"flow", folder / "noise.avi"}, {"noise.avi"});
  // The remainder modulo 2^32 would be a valid width.
  write("wide.pgm", "P5\n4294967297 2\n255\nxx");
  expect_error({"flow", folder / "wide.pgm"}, {"wide.pgm", "4294967297x2", "16384"});
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  expect_error({"flow", folder / "fifo"}, {"fifo", "is a pipe"});
  expect_error({"compare", "flow", folder / "fifo", "b.flo"}, {"fifo", "a pipe"});
  expect_error({"compare", "flow", "/dev/zero", "b.flo"}, {"/dev/zero", "is a device"});
  expect_error({"compare", "image", "/dev/zero", "b.png"}, {"/dev/zero", "is a device"});
  expect_error({"kernels", "info", folder / "absent.ocellus"}, {"absent.ocellus\": No such file"});
}

// Example failure: the JSON lacks keys that scripts read, or is mixed with text.
TEST(Program, DevicesListsTheBackends) {
  const json devices = json_of({"devices", "--backend", "cpu"});
  EXPECT_EQ(devices["version"], OCELLUS_VERSION_STRING);
  EXPECT_EQ(devices["backends"][0]["name"], "cpu");
  EXPECT_EQ(devices["backends"][0]["available"], true);
  EXPECT_EQ(json_of({"devices", "--backend", "cpu", "--threads", "3"})["workers"], 3);
  // The same numbers as the library, in the report and for people.
  const UsableCpus cpus = usable_cpus();
  const json quota = cpus.quota > 0.0 ? json(cpus.quota) : json(nullptr);
  EXPECT_EQ(devices["usable_cpus"],
            (json{{"count", cpus.count}, {"affinity", cpus.affinity}, {"quota", quota}}));
  EXPECT_EQ(devices["machine"]["usable_cpus"], cpus.count);
  EXPECT_EQ(devices["machine"]["cpu_quota"], quota);
  EXPECT_EQ(devices["workers"], std::min(cpus.count, kMaxWorkers));
  const std::string text = run_program({"devices"}).out;
  EXPECT_NE(text.find("CPUs      " + std::to_string(cpus.count) +
                      " usable: " + std::to_string(cpus.affinity) + " in the affinity mask, "),
            std::string::npos)
      << text;
}

// Example failure: the field of another frame is written, or u and v have a wrong sign. The motion
// of the scene is known.
TEST(Program, FlowOfOneFrameIsTheScenesMotion) {
  const TemporaryFolder folder;
  const std::string scene = "test:96x80,frames=24,motion=translate,u=0.75,v=-0.5";
  const std::string out = folder / "o.flo";
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{},
                                             {"--method", "kernels"},
                                             {"--method", "kernels", "--kernels", "per-pixel"},
                                             {"--preset", "fast"},
                                             {"--preset", "quality"},
                                             {"--method", "kernels", "--taps", "15x15x2"}}) {
    std::vector<std::string> arguments = {"flow", scene, "--frame",      "11",
                                          "-o",   out,   "--confidence", folder / "c.pfm"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const json report = json_of(arguments);
    ASSERT_EQ(report["frames"].size(), 1u);
    EXPECT_EQ(report["frames"][0]["frame"], 11);
    // The smoothness of `quality` acts on a scene that has no detail.
    const double tolerance = !options.empty() && options.back() == "quality" ? 0.1 : 0.05;
    EXPECT_NEAR(report["frames"][0]["mean_u"].get<double>(), 0.75, tolerance);
    EXPECT_NEAR(report["frames"][0]["mean_v"].get<double>(), -0.5, tolerance);
    app::write_flo(folder / "t.flo", app::TestScene::parse(scene).truth());
    const json errors = json_of({"compare", "flow", out, folder / "t.flo", "--border", "12"});
    EXPECT_LT(errors["epe"]["mean"].get<double>(), tolerance)
        << (options.empty() ? "default" : options.back());
    EXPECT_EQ(errors["density"], 1.0);
    const json confident = json_of({"compare", "flow", out, folder / "t.flo", "--border", "12",
                                    "--confidence", folder / "c.pfm", "--density", "50"});
    EXPECT_NEAR(confident["density"].get<double>(), 0.5, 0.01);
  }
}

// Example failure: the temporal support exceeds the available frames, or the report does not show
// it.
TEST(Program, FlowUsesTheLargestSupportThatFits) {
  const TemporaryFolder folder;
  const auto support = [&](const std::string& scene, const std::string& frame) {
    return json_of({"flow", scene, "--method", "kernels", "--frame", frame, "-o",
                    folder / "o.flo"})["frames"][0]["support"];
  };
  EXPECT_EQ(support("test:40x40,frames=2", "0")["frames"], 2);
  EXPECT_EQ(support("test:40x40,frames=15", "7"),
            (json{{"frames", 15}, {"first", 0}, {"last", 14}}));
  EXPECT_EQ(support("test:40x40,frames=60", "30"),
            (json{{"frames", 20}, {"first", 21}, {"last", 40}}));
  EXPECT_EQ(support("test:40x40,frames=60", "58")["frames"], 3);  // 57, 58, 59
}

// Example failure: with all frames and with a single frame, the program assigns a field to
// different frames. The field of a frame must be the same in both cases.
TEST(Program, FieldsOfAllFramesEqualThoseOfSingleFrames) {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {}, {"--method", "kernels"}, {"--method", "kernels", "--taps", "15x15x4"}}) {
    // At a fixed position, the brightness changes from frame to frame. The motion would change only
    // if it were affine about a moving point.
    const std::string scene = "test:48x40,frames=26";
    std::vector<std::string> all = {"flow", scene, "-o", folder / "all_%03d.flo"};
    all.insert(all.end(), options.begin(), options.end());
    const json report = json_of(all);
    ASSERT_EQ(report["frames"].size(), 25u);
    for (const int n : {0, 3, 9, 12, 15, 20, 24}) {
      EXPECT_EQ(report["frames"][static_cast<std::size_t>(n)]["frame"], n);
      std::vector<std::string> one = {
          "flow", scene, "--frame", std::to_string(n), "-o", folder / "one.flo"};
      one.insert(one.end(), options.begin(), options.end());
      json_of(one);
      char name[32];
      std::snprintf(name, sizeof(name), "all_%03d.flo", n);
      const json errors = json_of({"compare", "flow", folder / name, folder / "one.flo"});
      EXPECT_LT(errors["epe"]["mean"].get<double>(), 1e-4) << "frame " << n;
    }
  }
}

// Example failure: without --frame, a single file has the field of the first frame, or the report
// does not name the frame.
TEST(Program, SingleFileWithoutFrameHasTheLastFullySupportedFrame) {
  const TemporaryFolder folder;
  const std::vector<std::string> command = {"flow", "test:48x40,frames=30", "-o", folder / "o.flo"};
  EXPECT_EQ(json_of(command)["frames"][0]["frame"], 28);
  const json report = json_of(plus(command, {"--method", "kernels"}));
  ASSERT_EQ(report["frames"].size(), 1u);
  EXPECT_EQ(report["frames"][0]["frame"], 19);
  EXPECT_NE(report["note"].get<std::string>().find("19"), std::string::npos);
  EXPECT_EQ(json_of({"flow", "test:48x40,frames=2", "-o", folder / "o.flo"})["frames"][0]["frame"],
            0);
}

// Example failure: the bytes of the drawn rows are shifted, or the image of a region has the size
// of the whole image.
TEST(Program, WritesAPngOfTheRegion) {
  const TemporaryFolder folder;
  json_of({"flow", "test:64x48,frames=4", "--frame", "1", "--roi", "10,20,30,15", "-o",
           folder / "o.png"});
  EXPECT_EQ(app::read_image(folder / "o.png").size, (ImageSize{30, 15}));
  json_of({"flow", "test:64x48,frames=4", "-o", folder / "p_%02d.png"});
  for (const char* name : {"p_00.png", "p_01.png", "p_02.png"})
    EXPECT_EQ(app::read_image(folder / name).size, (ImageSize{64, 48}));
  EXPECT_FALSE(std::filesystem::exists(folder / "p_03.png"));
}

// Example failure: --confidence-threshold is ignored, zero is written instead of NaN, or pixels
// that are invalid count as valid because they are zero.
TEST(Program, InvalidFlowIsUnknownInTheFile) {
  const TemporaryFolder folder;
  const json all = json_of({"flow", "test:48x40,frames=4", "--frame", "1", "--confidence-threshold",
                            "1e9", "-o", folder / "o.flo"});
  EXPECT_EQ(all["frames"][0]["valid"], 0.0);
  const app::FlowField nothing = app::read_flo(folder / "o.flo");
  for (const float u : nothing.u) ASSERT_TRUE(std::isnan(u));
  const json none =
      json_of({"flow", "test:48x40,frames=4", "--frame", "1", "--confidence-threshold", "1e9",
               "--invalid", "zero", "-o", folder / "z.flo"});
  const app::FlowField zero = app::read_flo(folder / "z.flo");
  for (const float u : zero.u) ASSERT_EQ(u, 0.0f);
  EXPECT_EQ(none["frames"][0]["valid"], 0.0);
  EXPECT_EQ(none["config"]["invalid"], "zero");

  // A threshold that some pixels pass. Both reports are of the same pixels.
  const auto some = [&](const std::string& invalid) {
    return json_of({"flow", "test:48x40,frames=4", "--frame", "1", "--confidence-threshold", "10",
                    "--invalid", invalid, "-o", folder / (invalid + ".flo")});
  };
  const json with_nan = some("nan")["frames"][0];
  const json with_zero = some("zero")["frames"][0];
  EXPECT_GT(with_nan["valid"], 0.0);
  EXPECT_LT(with_nan["valid"], 1.0);
  for (const char* key : {"valid", "mean_u", "mean_v", "mean_motion", "p99_motion"})
    EXPECT_EQ(with_zero[key], with_nan[key]) << key;
  const app::FlowField unknown = app::read_flo(folder / "nan.flo");
  const app::FlowField zeros = app::read_flo(folder / "zero.flo");
  for (std::size_t i = 0; i < unknown.pixels(); ++i) {
    ASSERT_EQ(zeros.u[i], std::isnan(unknown.u[i]) ? 0.0f : unknown.u[i]);
    ASSERT_EQ(zeros.v[i], std::isnan(unknown.v[i]) ? 0.0f : unknown.v[i]);
  }
}

// Example failure: several image files, 16-bit frames, or a kernel file made by the program cannot
// be used.
TEST(Program, AcceptsImageFilesSixteenBitsAndKernelFiles) {
  const TemporaryFolder folder;
  json_of({"flow", "test:48x40,frames=4,bits=16", "--frame", "1", "-o", folder / "o.flo"});
  const app::TestScene scene = app::TestScene::parse("test:48x40,frames=4");
  std::vector<std::string> files;
  for (int t = 0; t < 4; ++t) {
    const app::GrayImage image = scene.frame(t);
    files.push_back(folder / ("f" + std::to_string(t) + ".pgm"));
    std::ofstream file(files.back(), std::ios::binary);
    file << "P5\n48 40\n255\n";
    file.write(reinterpret_cast<const char*>(image.pixels.data()),
               static_cast<std::streamsize>(image.pixels.size()));
  }
  std::vector<std::string> arguments = {"flow"};
  arguments.insert(arguments.end(), files.begin(), files.end());
  arguments.insert(arguments.end(), {"--frame", "1", "-o", folder / "p.flo"});
  json_of(arguments);
  // 16-bit frames differ from 8-bit frames by rounding only.
  EXPECT_LT(json_of({"compare", "flow", folder / "p.flo", folder / "o.flo", "--border",
                     "5"})["epe"]["median"]
                .get<double>(),
            0.05);

  ASSERT_EQ(
      run_program({"kernels", "make", "--taps", "9x9x4", "-o", folder / "k.ocellus"}).exit_code, 0);
  const json with_file =
      json_of({"flow", "test:48x40,frames=4", "--frame", "1", "--method", "kernels", "--kernels",
               folder / "k.ocellus", "-o", folder / "k.flo"});
  EXPECT_EQ(with_file["config"]["kernels"], folder / "k.ocellus");
  json_of({"flow", "test:48x40,frames=4", "--frame", "1", "--method", "kernels", "--taps", "9x9x4",
           "-o", folder / "t.flo"});
  EXPECT_LT(
      json_of({"compare", "flow", folder / "k.flo", folder / "t.flo"})["epe"]["mean"].get<double>(),
      1e-4);
  expect_error({"flow", "test:48x40,frames=3", "--frame", "1", "--method", "kernels", "--kernels",
                folder / "k.ocellus", "-o", folder / "k.flo"},
               {"4 frames"});
  expect_error({"flow", "test:48x40,frames=4", "--method", "kernels", "--kernels",
                folder / "k.ocellus", "--taps", "9x9x4"},
               {"--taps has no meaning here", "not read from a file"});
}

// Example failure: a limit is ignored, or an exceeded limit does not change the exit code.
// Promises: PRG-001.
TEST(Program, CompareFlowChecksItsLimits) {
  const TemporaryFolder folder;
  app::FlowField a({4, 4}, false);
  app::FlowField b({4, 4}, false);
  for (float& u : b.u) u = 2.0f;
  app::write_flo(folder / "a.flo", a);
  app::write_flo(folder / "b.flo", b);
  const json errors = json_of({"compare", "flow", folder / "a.flo", folder / "b.flo"});
  EXPECT_EQ(errors["epe"]["mean"], 2.0);
  EXPECT_EQ(errors["epe"]["above_1"], 1.0);
  EXPECT_EQ(errors["epe"]["above_3"], 0.0);
  EXPECT_NEAR(errors["aae"]["mean"].get<double>(), std::atan(2.0) * 180.0 / 3.14159265358979, 1e-6);
  EXPECT_EQ(
      json_of({"compare", "flow", folder / "a.flo", folder / "b.flo", "--max-epe", "1.9"}, 1)["ok"],
      false);
  EXPECT_EQ(
      json_of({"compare", "flow", folder / "a.flo", folder / "b.flo", "--max-epe", "2.1"}, 0)["ok"],
      true);
  app::FlowField other({5, 4}, false);
  app::write_flo(folder / "c.flo", other);
  expect_error({"compare", "flow", folder / "a.flo", folder / "c.flo"}, {"4x4", "5x4"});
  expect_error({"compare", "flow", folder / "a.flo", folder / "b.flo", "--border", "2"},
               {"--border"});
  expect_error({"compare", "flow", folder / "a.flo", folder / "b.flo", "--density", "50"},
               {"--confidence"});
}

// Example failure: PSNR is computed on the scale of 16 bits, or SSIM of an image with itself is not
// 1. Or the text report leaves out a figure without a reason.
TEST(Program, CompareImageReportsPsnrAndSsim) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, int offset) {
    std::ofstream file(folder / name, std::ios::binary);
    file << "P5\n16 16\n255\n";
    for (int i = 0; i < 256; ++i) file.put(static_cast<char>(i % 200 + offset));
  };
  write("a.pgm", 0);
  write("b.pgm", 5);
  const json same = json_of({"compare", "image", folder / "a.pgm", folder / "a.pgm"});
  EXPECT_EQ(same["identical"], true);
  EXPECT_NEAR(same["ssim"].get<double>(), 1.0, 1e-12);
  const json other = json_of({"compare", "image", folder / "b.pgm", folder / "a.pgm"});
  EXPECT_NEAR(other["psnr"].get<double>(), 20.0 * std::log10(255.0 / 5.0), 1e-9);
  EXPECT_LT(other["ssim"].get<double>(), 1.0);
  EXPECT_EQ(json_of({"compare", "image", folder / "b.pgm", folder / "a.pgm", "--min-psnr", "60"},
                    1)["ok"],
            false);
  // A border of eight pixels on each side leaves no pixel of 16x16.
  EXPECT_TRUE(other["hvs_psnr"].is_null());
  EXPECT_TRUE(other["mean_difference"].is_null());
  const auto text_of = [](const std::vector<std::string>& arguments) {
    return run_program(arguments).out;
  };
  const std::string small = text_of({"compare", "image", folder / "b.pgm", folder / "a.pgm"});
  EXPECT_NE(
      small.find(
          "HVS, mean gray   not defined (no pixel of 16x16 is left inside a border of 8 pixels"),
      std::string::npos)
      << small;
  EXPECT_NE(small.find("anisotropy       not defined (it needs a block of 64x64"),
            std::string::npos)
      << small;
  const std::string masked =
      text_of({"compare", "image", folder / "b.pgm", folder / "a.pgm", "--mask", folder / "b.pgm"});
  EXPECT_NE(masked.find("HVS, mean gray   not defined (a blur would reach"), std::string::npos)
      << masked;
  EXPECT_NE(masked.find("anisotropy       not defined (blocks would reach"), std::string::npos)
      << masked;
  expect_error({"compare", "image", folder / "b.pgm", folder / "a.pgm", "--min-hvs-psnr", "30"},
               {"--min-hvs-psnr", "16x16"});
  expect_error({"compare", "image", folder / "b.pgm", folder / "a.pgm", "--sigma", "0"},
               {"--sigma", "0.1"});
}

// Fails when a frame is left out, compared with another one, or a missing one is not reported.
TEST(Program, CompareImageTakesSequences) {
  const TemporaryFolder folder;
  for (int frame = 3; frame < 6; ++frame) {
    for (const bool truth : {false, true}) {
      std::ofstream file(folder / ((truth ? "t" : "r") + std::to_string(frame) + ".pgm"),
                         std::ios::binary);
      file << "P5\n16 16\n255\n";
      for (int i = 0; i < 256; ++i) file.put(static_cast<char>(i % 200 + (truth ? 0 : frame)));
    }
  }
  const std::vector<std::string> compare = {"compare", "image", folder / "r%d.pgm",
                                            folder / "t%d.pgm"};
  const json found = json_of(compare);
  ASSERT_EQ(found["frames"].size(), 3u);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(found["frames"][static_cast<std::size_t>(k)]["frame"], k + 3);
    EXPECT_NEAR(found["frames"][static_cast<std::size_t>(k)]["psnr"].get<double>(),
                20.0 * std::log10(255.0 / (k + 3)), 1e-9);
  }
  EXPECT_NEAR(found["least_psnr"].get<double>(), 20.0 * std::log10(255.0 / 5.0), 1e-9);
  expect_error({"compare", "image", folder / "r%d.pgm", folder / "t3.pgm"}, {"both be"});
  std::filesystem::remove(folder / "t4.pgm");
  expect_error(compare, {"different numbers"});
  expect_error({"compare", "image", folder / "x%d.pgm", folder / "t%d.pgm"}, {"no such file"});
}

// Example failure: a halftone is compared only pixel by pixel, where every pixel has the largest
// possible error. Under the Gaussian of the eye, a checkerboard is a medium gray.
TEST(Program, CompareImageModelsTheEye) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, auto value) {
    std::ofstream file(folder / name, std::ios::binary);
    file << "P5\n100 90\n255\n";
    for (int i = 0; i < 9000; ++i) file.put(static_cast<char>(value(i % 100, i / 100)));
  };
  write("chess.pgm", [](int x, int y) { return (x + y) % 2 != 0 ? 255 : 0; });
  write("gray.pgm", [](int, int) { return 127; });
  const std::vector<std::string> compare = {"compare", "image", folder / "chess.pgm",
                                            folder / "gray.pgm"};
  const json seen = json_of(compare);
  EXPECT_LT(seen["psnr"], 6.1);
  EXPECT_NEAR(seen["hvs_psnr"].get<double>(), 20.0 * std::log10(255.0 / 0.5), 1.0);
  EXPECT_NEAR(seen["mean_difference"].get<double>(), 0.5 / 255.0, 1e-9);
  EXPECT_EQ(seen["sigma"], 1.5);
  EXPECT_EQ(seen["anisotropy_db"]["blocks"], 2);
  std::vector<std::string> narrow = compare;
  narrow.insert(narrow.end(), {"--sigma", "0.5"});
  EXPECT_LT(json_of(narrow)["hvs_psnr"], 30.0);
  narrow.insert(narrow.end(), {"--min-hvs-psnr", "40"});
  EXPECT_EQ(json_of(narrow, 1)["ok"], false);
  std::vector<std::string> masked = compare;
  masked.insert(masked.end(), {"--mask", folder / "chess.pgm"});
  EXPECT_TRUE(json_of(masked)["hvs_psnr"].is_null());
  masked.insert(masked.end(), {"--sigma", "2"});
  expect_error(masked, {"--sigma has no meaning here: "});
}

// Example failure: the latency counts from the submission instead of the schedule, which hides an
// overload. Or misses do not change the exit code.
// Promises: PRG-004.
TEST(Program, LatencyCountsFromTheSchedule) {
  const TemporaryFolder folder;
  const json good = json_of({"latency", "--size", "64x48", "--fps", "100", "--budget-ms", "10000",
                             "--frames", "50", "--plot", folder / "l.svg"});
  EXPECT_EQ(good["misses"], 0);
  EXPECT_EQ(good["frames"], 50);
  EXPECT_LE(good["latency_ms"]["p50"], good["latency_ms"]["max"]);
  const std::string text = bytes_of(folder / "l.svg");
  EXPECT_EQ(text.rfind("<svg", 0), 0u);
  EXPECT_NE(text.find("</svg>"), std::string::npos);
  EXPECT_NE(text.find("budget"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);

  // Ten thousand frames per second are more than the CPU can process at 640x480, so every frame
  // starts later than the one before.
  const json bad = json_of(
      {"latency", "--size", "640x480", "--fps", "10000", "--frames", "60", "--budget-ms", "1"}, 1);
  EXPECT_GT(bad["misses"], 30);
  EXPECT_GT(bad["longest_burst"], 30);
  EXPECT_EQ(bad["ok"], false);
  EXPECT_GT(bad["latency_ms"]["max"].get<double>(), 5.0 * bad["work_ms"]["p50"].get<double>());
  EXPECT_EQ(json_of({"latency", "--pipeline", "flow ! flow", "--size", "32x32", "--fps", "1000",
                     "--budget-ms", "10000", "--frames", "5"})["pipeline"]
                .size(),
            2u);
}

// Example failure: a written video cannot be read back, or the number of fields is not that of its
// frames.
TEST(Program, WritesAndReadsVideo) {
  if (!has_gstreamer()) GTEST_SKIP() << "built without GStreamer";
  const TemporaryFolder folder;
  const std::string video = folder / "o.webm";
  const ChildResult written = run_program({"flow", "test:65x49@15,frames=8", "-o", video});
  if (written.exit_code == 2 && written.err.find("is missing; it is in") != std::string::npos)
    GTEST_SKIP() << written.err;
  ASSERT_EQ(written.exit_code, 0) << written.err;
  const json report = json_of({"flow", video, "-o", folder / "v_%d.flo"});
  EXPECT_EQ(report["frames_read"], 7);
  EXPECT_EQ(report["size"], (json{65, 49}));
  // A video that is cut off: either the frames before are used, or the error names the file. The
  // program must not crash.
  const std::string bytes = bytes_of(video);
  std::ofstream(folder / "cut.webm", std::ios::binary) << bytes.substr(0, 60);
  expect_error({"flow", folder / "cut.webm"}, {"cut.webm"});
}

// Example failure: without an H.264 encoder, an empty .mp4 file is left and the exit code is 0.
TEST(Program, ReportsAMissingEncoder) {
  if (!has_gstreamer()) GTEST_SKIP() << "built without GStreamer";
  const TemporaryFolder folder;
  const ChildResult result = run_program({"flow", "test:64x48,frames=4", "-o", folder / "o.mp4"});
  if (result.exit_code == 0) {
    EXPECT_GT(std::filesystem::file_size(folder / "o.mp4"), 500u);
  } else {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("264"), std::string::npos) << result.err;
  }
}

// Example failure: an option that has no effect is accepted, and the user believes that it had.
TEST(Program, RefusesOptionsWithoutEffect) {
  const TemporaryFolder folder;
  const std::string out = folder / "o.flo";
  const std::vector<std::string> flow = {"flow", "test:32x32,frames=4"};
  const std::vector<std::string> pyramid = {"flow", "test:32x32,frames=4", "--preset", "fast"};
  struct Case {
    std::vector<std::string> command;
    std::vector<std::string> more;
    std::string option;
  };
  const std::vector<Case> cases = {
      {flow, {"--fps", "25", "-o", out}, "--fps"},
      {flow, {"--fps", "25"}, "--fps"},
      {flow, {"--arrow-step", "8", "-o", folder / "o.png"}, "--arrow-step"},
      {flow, {"--arrow-scale", "8", "-o", out}, "--arrow-scale"},
      {flow, {"--min-motion", "1", "-o", out}, "--min-motion"},
      {flow, {"--max-motion", "1", "-o", out}, "--max-motion"},
      {flow, {"--frame", "1", "--limit", "3", "-o", out}, "--limit"},
      {flow, {"--storage", "float"}, "--storage"},
      {flow, {"--method", "kernels", "--storage", "float"}, "--storage"},
      {flow, {"--method", "kernels", "--ridge", "3"}, "--ridge"},
      {flow, {"--window-sigma", "3"}, "--window-sigma"},
      {pyramid, {"--sigma-time", "3"}, "--sigma-time"},
      {flow, {"--preset", "quality", "--smoothing-size", "5"}, "--smoothing-size"},
      {flow, {"--preset", "quality", "--window", "5"}, "--window"},
      {pyramid, {"--sweeps", "5"}, "--sweeps"},
      {pyramid, {"--levels", "2", "--coarse-warps", "3"}, "--coarse-warps"},
      {pyramid, {"--method", "kernels"}, "--preset"},
      {{"latency"}, {"--input", "test:", "--size", "9x9"}, "--size"},
      {{"bench", "flow"}, {"--input", "test:", "--size", "9x9"}, "--size"},
      {{"bench", "flow"}, {"--frame", "3"}, "--frame"},
      {{"bench", "flow"}, {"--input", "f%d.pgm", "--frame", "3"}, "--frame"},
      {{"bench", "flow"}, {"--input", "f%d.pgm", "--border", "3"}, "--border"},
      {{"bench", "flow"}, {"--input", "f%d.pgm", "--mask", "m.png"}, "--mask"},
      {{"compare", "flow", "a.flo", "b.flo"}, {"--density", "50"}, "--density"},
      {{"compare", "flow", "a.flo", "b.flo"}, {"--confidence", "c.pfm"}, "--confidence"},
      {{"kernels", "make", "-o", out}, {"--fovea-radius", "50"}, "--fovea-radius"},
      {{"kernels", "make", "-o", out}, {"--size", "9x9"}, "--size"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = c.command;
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    expect_error(arguments, {c.option + " has no meaning here: "});
  }
  const std::vector<Case> empty = {
      {flow, {"-o", ""}, "--output"},
      {flow, {"--confidence", ""}, "--confidence"},
      {{"flow"}, {""}, "FRAMES"},
      {{"latency"}, {"--plot", ""}, "--plot"},
      {{"latency"}, {"--input", ""}, "--input"},
      {{"latency"}, {"--pipeline", ""}, "--pipeline"},
      {{"bench", "flow"}, {"--input", ""}, "--input"},
      {{"compare", "image", "a.png", "b.png"}, {"--mask", ""}, "--mask"},
      {{"kernels", "info"}, {""}, "FILE"},
      {{"kernels", "from-json", "k.json"}, {"-o", ""}, "--output"},
      {{"devices"}, {"--backend", ""}, "--backend"},
  };
  for (const Case& c : empty) {
    std::vector<std::string> arguments = c.command;
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    expect_error(arguments, {c.option + " is empty"});
  }
  // Errors of the library name the command-line option, not the member.
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"--window-sigma", "nan"},
                                                        {"--window-sigma", "-1"},
                                                        {"--confidence-threshold", "nan"},
                                                        {"--sigma-space", "nan"},
                                                        {"--window", "4"}}) {
    expect_error(plus(flow, {"--method", "kernels", option, value}), {option + " is " + value});
  }
  EXPECT_TRUE(files_in(folder / "").empty());
  // The same options where they have an effect.
  json_of({"flow", "test:32x32,frames=4", "--preset", "fast", "--smoothing-size", "5", "--levels",
           "3", "--coarse-warps", "3", "--max-motion", "2", "-o", folder / "p_%d.png"});
  json_of({"bench", "flow", "--size", "32x32", "--border", "3", "--frames", "1", "--no-peers",
           "--form", "uniform"});
}

// Example failure: the report shows the requested number of levels although the image is too small
// for them.
TEST(Program, ReportsTheLevelsThatAreLeftOut) {
  const ChildResult tiny = run_program({"flow", "test:1x1,frames=3", "--preset", "fast"});
  EXPECT_EQ(tiny.exit_code, 0) << tiny.err;
  EXPECT_NE(tiny.out.find("pyramid of 1 level ("), std::string::npos) << tiny.out;
  EXPECT_NE(tiny.out.find(": 1x1, "), std::string::npos) << tiny.out;
  const ChildResult small = run_program({"flow", "test:96x95,frames=3", "--levels", "6"});
  EXPECT_NE(small.out.find("pyramid of 3 levels (3 left out: too small)"), std::string::npos)
      << small.out;
}

// Example failure: a failed write replaces a good file by half a file, or leaves a temporary file.
// Promises: FILE-001.
TEST(Program, AFailedWriteKeepsTheOldFile) {
  const TemporaryFolder folder;
  const std::string scene = "test:128x128,frames=3";
  const std::string old = "what stood there";
  std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"o.flo", {"flow", scene, "--frame", "1", "-o"}},
      {"o.png", {"flow", scene, "--frame", "1", "-o"}},
      {"c.pfm", {"flow", scene, "--frame", "1", "--confidence"}},
      {"l.svg", {"latency", "--size", "32x32", "--fps", "1000", "--frames", "5", "--plot"}},
      {"k.ocellus", {"kernels", "make", "--kernels", "foveated", "--size", "64x64", "-o"}}};
  if (has_gstreamer()) cases.push_back({"v.webm", {"flow", scene, "-o"}});
  for (const auto& [name, command] : cases) {
    const std::string path = folder / name;
    std::ofstream(path) << old;
    std::filesystem::permissions(path, std::filesystem::perms(0640));
    std::vector<std::string> arguments = command;
    arguments.push_back(path);
    constexpr unsigned long kLimit = 1000;
    const ChildResult failed = RunningProgram(arguments, kLimit).wait();
    if (failed.err.find("is missing; it is in") != std::string::npos) continue;  // no encoder
    EXPECT_EQ(failed.exit_code, 2) << name << failed.err;
    EXPECT_NE(failed.err.find(name), std::string::npos) << failed.err;
    EXPECT_EQ(bytes_of(path), old) << name;
    EXPECT_EQ(files_in(folder / "", name), (std::vector<std::string>{name}));

    const ChildResult good = run_program(arguments);
    EXPECT_LT(good.exit_code, 2) << good.err;
    EXPECT_NE(bytes_of(path), old) << name;
    EXPECT_EQ(files_in(folder / "", name), (std::vector<std::string>{name}));
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0640)) << name;
  }
}

// Example failure: a device or a link is replaced by a regular file.
TEST(Program, WritesThroughLinksAndDevices) {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  const auto write = [&](const std::string& name) {
    return run_program({"flow", "test:32x32,frames=3", "-o", folder / name});
  };
  fs::create_symlink("/dev/null", folder / "null.flo");
  EXPECT_EQ(write("null.flo").exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "null.flo"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/full", folder / "full.png");
  const ChildResult full = write("full.png");
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_NE(full.err.find("full.png: cannot be written: No space left"), std::string::npos)
      << full.err;
  fs::create_symlink("real.flo", folder / "link.flo");  // the target does not exist yet
  EXPECT_EQ(write("link.flo").exit_code, 0);
  EXPECT_EQ(write("link.flo").exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "link.flo"));
  EXPECT_EQ(app::read_flo(folder / "real.flo").size, (ImageSize{32, 32}));
  ASSERT_EQ(mkfifo((folder / "fifo.flo").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = bytes_of(folder / "fifo.flo"); });
  const ChildResult piped = write("fifo.flo");
  reader.join();
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(got, bytes_of(folder / "real.flo"));
  // The header of a kernel bank is written last.
  expect_error({"kernels", "make", "-o", folder / "fifo.flo"}, {"fifo.flo", "name a regular file"});
  EXPECT_EQ(run_program({"kernels", "make", "-o", "/dev/null"}).exit_code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// Example failure: a video of usual length needs more pieces of memory than the engine can give
// out.
TEST(Program, LatencyAcceptsLongVideos) {
  const json report = json_of({"latency", "--input", "test:32x24,frames=400", "--fps", "2000",
                               "--budget-ms", "10000", "--frames", "400"});
  EXPECT_EQ(report["input_frames"], 400);
  EXPECT_EQ(report["frames"], 400);
  EXPECT_EQ(report["memory"], "host");
}

// Example failure: Ctrl-C loses the measurements, or the run looks complete.
// Promises: PRG-002.
TEST(Program, LatencyReportsItsMeasurementsWhenInterrupted) {
  const TemporaryFolder folder;
  for (const int signal : {SIGINT, SIGTERM}) {
    RunningProgram program({"latency", "--size", "32x32", "--fps", "20", "--budget-ms", "10000",
                            "--frames", "100000", "--plot", folder / "l.svg", "--json"});
    std::this_thread::sleep_for(std::chrono::seconds(2));
    program.send(signal);
    const ChildResult result = program.wait();
    EXPECT_EQ(result.exit_code, 128 + signal);
    const json report = json::parse(result.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << result.out << result.err;
    const int frames = report["frames"];
    EXPECT_GT(frames, 0);
    EXPECT_LT(frames, 100000);
    EXPECT_EQ(report["interrupted"], true);
    EXPECT_EQ(report["ok"], false);
    EXPECT_NE(result.err.find("interrupted after " + std::to_string(frames) + " of 100000 frames"),
              std::string::npos)
        << result.err;
    EXPECT_NE(bytes_of(folder / "l.svg").find("</svg>"), std::string::npos);
    std::filesystem::remove(folder / "l.svg");
  }
  // The text report. The program must not wait for the next frame, which is due much later.
  RunningProgram slow({"latency", "--size", "32x32", "--fps", "0.1", "--frames", "100"});
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto begin = std::chrono::steady_clock::now();
  slow.send(SIGINT);
  const ChildResult result = slow.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(result.exit_code, 128 + SIGINT);
  EXPECT_NE(result.out.find("latency  "), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("interrupted after 1 of 100 frames"), std::string::npos) << result.err;
  // No frame missed the budget, so the answer depends on the 99 frames that were not measured.
  EXPECT_NE(result.out.find("0 misses of 1 frame: not decided, because 99 of 100 frames were not"),
            std::string::npos)
      << result.out;
}

// Example failure: Ctrl-C leaves a video that no player opens, or half a field.
// Promises: PRG-002.
TEST(Program, FlowFinishesItsFilesWhenInterrupted) {
  const TemporaryFolder folder;
  {
    RunningProgram program({"flow", "test:320x240,frames=1000", "-o", folder / "o_%03d.flo"});
    ASSERT_TRUE(wait_until([&] { return files_in(folder / "", "o_").size() > 3; }));
    program.send(SIGINT);
    const ChildResult result = program.wait();
    EXPECT_EQ(result.exit_code, 128 + SIGINT) << result.err;
    EXPECT_NE(result.err.find("interrupted after"), std::string::npos) << result.err;
    EXPECT_NE(result.out.find("fields of frames 0 to"), std::string::npos) << result.out;
    const std::vector<std::string> files = files_in(folder / "", "o_");
    EXPECT_LT(files.size(), 999u);
    for (const std::string& file : files)
      EXPECT_EQ(app::read_flo(folder / file).size, (ImageSize{320, 240})) << file;
  }
  if (!has_gstreamer()) return;
  const std::string video = folder / "v.webm";
  RunningProgram program({"flow", "test:320x240,frames=1000", "-o", video});
  // The encoder holds back some frames before it writes the first.
  const bool began = wait_until([&] {
    const auto parts = files_in(folder / "", "v.webm.");
    std::error_code code;
    return std::filesystem::exists(video) ||
           (!parts.empty() && std::filesystem::file_size(folder / parts.front(), code) > 20000);
  });
  program.send(SIGINT);
  // Programs such as timeout send a second one to the process group.
  program.send(SIGINT);
  const ChildResult result = program.wait();
  if (result.err.find("is missing; it is in") != std::string::npos) GTEST_SKIP() << result.err;
  ASSERT_TRUE(began) << result.err;
  EXPECT_EQ(result.exit_code, 128 + SIGINT) << result.err;
  EXPECT_EQ(files_in(folder / "", "v.webm"), (std::vector<std::string>{"v.webm"}));
  const json report = json_of({"flow", video, "--preset", "fast", "-o", folder / "r_%03d.flo"});
  EXPECT_GT(report["frames_read"], 1);
  EXPECT_LT(report["frames_read"], 999);
}

// Example failure: the program starts to write a huge bank that does not fit on the disk, does not
// print its size, or leaves a part of it.
TEST(Program, KernelsMakePrintsTheSizeAndLeavesNoPartialFile) {
  const TemporaryFolder folder;
  const std::string bank = folder / "k.ocellus";
  RunningProgram program({"kernels", "make", "--kernels", "foveated", "--size", "1024x1024",
                          "--taps", "25x25x25", "-o", bank});
  EXPECT_TRUE(wait_until([&] { return !files_in(folder / "").empty(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  program.send(SIGTERM);
  const ChildResult result = program.wait();
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
  EXPECT_NE(result.out.find("900.0 MiB"), std::string::npos) << result.out;
  EXPECT_TRUE(files_in(folder / "").empty());

  constexpr std::uintmax_t kBytes = std::uintmax_t{225} << 30;  // 16384 x 16384 x 3 x 75 x 4
  if (std::filesystem::space(folder / "").available >= kBytes)
    GTEST_SKIP() << "the temporary folder has enough space for the largest bank";
  expect_error({"kernels", "make", "--kernels", "foveated", "--size", "16384x16384", "--taps",
                "25x25x25", "-o", bank},
               {"k.ocellus: needs 225.0 GiB, but its file system has ", " free"});
  EXPECT_TRUE(files_in(folder / "").empty());
}

// Example failure: if one method of another library refuses the size, the whole comparison ends. Or
// the number of timed frames is not the requested one.
TEST(Program, BenchReportsPeersThatRefuseTheSize) {
  const json bench = json_of(
      {"bench", "flow", "--backend", "cpu", "--size", "8x8", "--frames", "2", "--threads", "1"});
  EXPECT_EQ(bench["frames"], 2);
  int refused = 0;
  for (const json& row : bench["rows"]) {
    EXPECT_NE(row.contains("not_run"), row.contains("median_ms")) << row["name"];
    if (!row.contains("not_run")) continue;
    ++refused;
    EXPECT_EQ(row["group"], "peer");
    EXPECT_NE(row["not_run"].get<std::string>().find("8x8"), std::string::npos) << row["not_run"];
  }
  EXPECT_EQ(refused > 0, std::getenv("OCELLUS_HAS_OPENCV") != nullptr);
}

// Example failure: a row is missing, a figure is zero, or the floor exceeds the measured time by a
// factor that only a wrong unit explains.
TEST(SlowProgram, BenchFlowRowsAreCompleteAndConsistent) {
  const json bench =
      json_of({"bench", "flow", "--backend", "cpu", "--size", "160x120", "--frames", "20"});
  EXPECT_GT(bench["machine"]["read_gb_per_s"], 0.5);
  EXPECT_LT(bench["machine"]["read_gb_per_s"], 5000.0);
  EXPECT_GT(bench["machine"]["gflops"], 0.5);
  const std::size_t expected = std::getenv("OCELLUS_HAS_OPENCV") != nullptr ? 10 : 6;
  ASSERT_EQ(bench["rows"].size(), expected);
  for (const json& row : bench["rows"]) {
    EXPECT_GT(row["median_ms"], 0.0) << row["name"];
    EXPECT_GE(row["p99_ms"], row["median_ms"]) << row["name"];
    EXPECT_NEAR(row["frames_per_s"].get<double>() * row["median_ms"].get<double>(), 1000.0, 1e-6);
    if (row["group"] == "ours") {
      EXPECT_GT(row["ratio"], 0.2) << row["name"];
      EXPECT_LT(row["accuracy"]["epe"], 0.1) << row["name"];
    }
  }
}

// Example failure: the described frame, the border or the kernels differ from those of the
// published figures.
TEST(SlowProgram, ReachesThePublishedErrors) {
  if (data_folder().empty()) GTEST_SKIP() << "OCELLUS_TEST_DATA is not set: no ground truth";
  const std::string yosemite = data_folder() + "/flow/yosemite";
  const std::string whale = data_folder() + "/flow/RubberWhale";
  if (!std::filesystem::exists(yosemite + "/flow09.flo") ||
      !std::filesystem::exists(whale + "/flow10.flo"))
    GTEST_SKIP() << "no flow data in " << data_folder();
  const TemporaryFolder folder;
  json_of({"flow", yosemite + "/yos%02d.pgm", "--frame", "9", "-o", folder / "y.flo",
           "--confidence", folder / "y.pfm"});
  const std::vector<std::string> compare = {"compare",        "flow",
                                            folder / "y.flo", yosemite + "/flow09.flo",
                                            "--mask",         yosemite + "/mask_nosky.pgm",
                                            "--border",       "12"};
  const json all = json_of(compare);
  EXPECT_LE(all["epe"]["mean"], 0.17);
  EXPECT_LE(all["aae"]["mean"], 2.9);
  std::vector<std::string> half = compare;
  half.insert(half.end(), {"--confidence", folder / "y.pfm", "--density", "50"});
  EXPECT_LE(json_of(half)["epe"]["mean"], 0.07);
  // Only two frames.
  json_of({"flow", whale + "/frame10.pgm", whale + "/frame11.pgm", "--frame", "0", "--preset",
           "quality", "-o", folder / "w.flo"});
  EXPECT_LE(json_of({"compare", "flow", folder / "w.flo", whale + "/flow10.flo"})["epe"]["mean"],
            0.22);
}

}  // namespace
}  // namespace ocellus::test
