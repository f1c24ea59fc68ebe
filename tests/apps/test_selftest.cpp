// `ocellus selftest`: it passes here, and it fails where a result, a frame or a time is wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/measure/selftest_cases.h"
#include "apps/program_checks.h"
#include "support/files.h"
#include "support/simd.h"

namespace ocellus::test {
namespace {

using Json = nlohmann::ordered_json;

/// The results of the tests by their names.
std::map<std::string, std::string> results_of(const nlohmann::json& report) {
  std::map<std::string, std::string> results;
  for (const nlohmann::json& test : report["tests"]) {
    EXPECT_NE(test["fails_when"], "");
    EXPECT_GE(test["ms"], 0.0);
    EXPECT_TRUE(results.emplace(test["name"], test["result"]).second) << test["name"];
  }
  return results;
}

// Fails when a test fails on this machine, or does not run although its operator is there.
TEST(SelfTest, PassesHere) {
  const nlohmann::json report = json_of({"selftest"});
  EXPECT_EQ(report["failed"], 0) << report.dump(2);
  const std::map<std::string, std::string> results = results_of(report);
  EXPECT_EQ(results.at("frames"), "passed");
  const char* const plugins = std::getenv("GST_PLUGIN_PATH_1_0");
  const bool elements =
      plugins != nullptr && std::filesystem::exists(std::string(plugins) + "/libgstocellus.so");
  for (const OperatorDescription& op : operators()) {
    const std::string name = op.name;
    EXPECT_EQ(results.at("conformance." + name + ".cpu"), "passed");
    EXPECT_EQ(results.at("determinism." + name + ".cpu"), "passed");
    EXPECT_EQ(results.at("budget." + name), "passed");
    EXPECT_EQ(results.at("element." + name), elements ? "passed" : "skipped");
  }
  for (const char* name :
       {"lifecycle.starts.cpu", "lifecycle.in_flight.cpu", "lifecycle.threads.cpu"})
    EXPECT_EQ(results.at(name), "passed");
}

struct Planted {
  const char* test;  ///< which must fail
  std::function<void(Json&)> change;
};

// Fails when a wrong checksum, sample, label or frame passes, or when another test fails with it.
TEST(SelfTest, APlantedWrongValueIsFound) {
  const TemporaryFolder folder;
  const auto add_twice_within = [](Json& numbers) {
    for (Json& value : numbers.at("values"))
      if (value.is_number()) {
        value = value.get<double>() + 2.0 * numbers.at("within").get<double>();
        return;
      }
    FAIL() << "no number is stored";
  };
  const std::vector<Planted> faults = {
      {"frames", [](Json& stored) { stored["frames"] = "0123456789abcdef"; }},
      {"conformance.halftone.cpu",
       [](Json& stored) { stored["cases"]["halftone"]["image"] = "0123456789abcdef"; }},
      {"conformance.flow.cpu",
       [&](Json& stored) { add_twice_within(stored["cases"]["flow"]["u"]); }},
      {"conformance.digits.cpu",
       [](Json& stored) { stored["cases"]["digits"]["record"]["label"][1] = 5; }},
      {"conformance.cnn.cpu",
       [](Json& stored) { stored["cases"]["cnn"]["record"].erase("sweeps"); }}};
  for (const Planted& fault : faults) {
    Json stored = app::stored_selftest_results();
    fault.change(stored);
    const std::string file = folder / "results.json";
    const std::string junit = folder / "junit.xml";
    std::ofstream(file) << stored.dump();
    const nlohmann::json report = json_of({"selftest", "--results", file, "--only", "frames",
                                           "--only", "conformance", "--junit", junit},
                                          1);
    for (const auto& [name, result] : results_of(report)) {
      if (name.ends_with(".cpu") || name == "frames") {
        EXPECT_EQ(result, name == fault.test ? "failed" : "passed") << fault.test << ": " << name;
      }
    }
    const std::string xml = bytes_of(junit);
    EXPECT_NE(xml.find("failures=\"" + report["failed"].dump() + "\""), std::string::npos) << xml;
    EXPECT_NE(xml.find(std::string("name=\"") + fault.test), std::string::npos) << xml;
    EXPECT_NE(xml.find("<failure message="), std::string::npos) << xml;
  }
}

// Fails when an operator without a stored result counts as passed.
TEST(SelfTest, WithoutAStoredResultATestIsSkipped) {
  const TemporaryFolder folder;
  const std::string file = folder / "results.json";
  std::ofstream(file) << "{}";
  const nlohmann::json report = json_of({"selftest", "--results", file, "--only", "conformance"});
  EXPECT_EQ(report["passed"], 0);
  EXPECT_GT(report["skipped"], 0);
}

// Fails when the stored results do not hold for an instruction set of this processor.
TEST(SelfTest, StoredResultsHoldForEachInstructionSet) {
  const Json stored = app::stored_selftest_results();
  EngineConfig engine;
  engine.backend.choice = BackendChoice::kCpu;
  for (const app::SelfTestCase& tested : app::selftest_cases()) {
    for (const SimdTarget& target : simd_targets()) {
      const OnlyTargets only(target.bit);
      EXPECT_EQ(app::selftest_difference(stored.at("cases").at(tested.name),
                                         app::selftest_result(tested, engine).values, tested.name),
                "")
          << target.name;
    }
  }
}

// Fails when a wrong command line is not refused, or --list runs tests.
TEST(SelfTest, CommandLine) {
  expect_error({"selftest", "--only", "conformance.flo"}, {"--only conformance.flo", "--list"});
  expect_error({"selftest", "--list", "--full"}, {"--full", "--list"});
  expect_error({"selftest", "--results", "/nonexistent"}, {"/nonexistent"});
  const nlohmann::json list = json_of({"selftest", "--list"});
  for (const nlohmann::json& test : list["tests"]) EXPECT_FALSE(test.contains("result"));
  const ChildResult text = run_program({"selftest", "--only", "conformance.halftone.cpu"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("1 passed, 0 failed, 0 skipped"), std::string::npos) << text.out;
}

}  // namespace
}  // namespace ocellus::test
