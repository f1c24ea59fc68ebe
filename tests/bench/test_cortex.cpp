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

// Fails if a row of the paper's threads (figure 6) or of a placement is missing.
TEST(BenchCortexCommand, ExperimentsAndPlacements) {
  const auto report =
      json_of({"bench", "cortex", "--hypercolumns", "31", "--minicolumns", "32", "--steps", "3",
               "--schedule", "experiments", "--threads", "3", "--backend", "cpu", "--placed", "cpu",
               "--placement", "even,profiled", "--json"});
  const auto& row = report["rows"][0];
  ASSERT_EQ(row["dense_threads"].size(), 3u);
  EXPECT_EQ(row["dense_threads"][0]["speed_up"], 1.0);
  EXPECT_EQ(row["dense_threads"][1]["threads"], 2);
  EXPECT_EQ(row["dense_threads"][2]["threads"], 3);
  EXPECT_GT(row["dense_threads"][2]["step_ms"].get<double>(), 0.0);
  ASSERT_EQ(row["placed"].size(), 4u);
  for (const auto& placed : row["placed"]) EXPECT_EQ(placed["different_winners"], 0);
  EXPECT_EQ(row["placed"][1]["placement"], "even");
  EXPECT_EQ(row["placed"][1]["schedule"], "pipelined");
  expect_error({"bench", "cortex", "--placement", "even"}, {"--placement", "--placed"});
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
