// ocellus bench cortex: its rows and its mistakes.
#include <gtest/gtest.h>

#include <filesystem>

#include "apps/program_checks.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

// Fails if a row is missing, has no time, or counts other active inputs than those of the tree: 16
// leaves with 32 of 64 inputs active, 15 hypercolumns above with at most 2.
TEST(BenchCortexCommand, RowsOfBothPrograms) {
  const auto report =
      json_of({"bench", "cortex", "--hypercolumns", "40,7", "--minicolumns", "32", "--steps", "3",
               "--schedule", "all", "--threads", "1", "--backend", "cpu", "--json"});
  ASSERT_EQ(report["rows"].size(), 2u);
  const auto& row = report["rows"][0];
  EXPECT_EQ(row["hypercolumns"], 31);
  EXPECT_EQ(row["minicolumns"], 32);
  EXPECT_GT(row["step_ms"].get<double>(), 0.0);
  // The times themselves depend on the load of the machine.
  EXPECT_GT(row["dense_step_ms"].get<double>(), 0.0);
  EXPECT_GT(row["active_inputs"].get<double>(), 16.0 * 32 / 31);
  EXPECT_LE(row["active_inputs"].get<double>(), (16.0 * 32 + 30) / 31);
  EXPECT_GT(row["bandwidth_share"].get<double>(), 0.0);
  EXPECT_EQ(report["rows"][1]["hypercolumns"], 7);
  const auto alone = json_of({"bench", "cortex", "--hypercolumns", "7", "--minicolumns", "32",
                              "--steps", "1", "--warm-up", "0", "--json"});
  EXPECT_TRUE(alone["rows"][0]["dense_step_ms"].is_null());
}

// Fails if a plot is missing or lies elsewhere.
TEST(BenchCortexCommand, PlotsSpeedUps) {
  const TemporaryFolder folder;
  json_of({"bench", "cortex", "--hypercolumns", "3,7", "--minicolumns", "16,32", "--steps", "1",
           "--warm-up", "0", "--schedule", "all", "--threads", "1", "--backend", "cpu", "--plot",
           folder / "s.svg", "--json"});
  EXPECT_TRUE(std::filesystem::exists(folder / "s-16.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder / "s-32.svg"));
}

}  // namespace
}  // namespace ocellus::test
