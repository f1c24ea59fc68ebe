// The comparison of snapshots finds every difference but the tolerated ones.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snapshots/snapshot.h"

namespace ocellus::test {
namespace {

std::vector<std::string> between(const char* expected, const char* actual) {
  return differences(neutral(Json::parse(expected), ""), neutral(Json::parse(actual), ""));
}

// Fails when a difference is not found, or its path or its values are not named.
TEST(Snapshot, DifferencesAreFound) {
  struct {
    const char* expected;
    const char* actual;
    const char* says;
  } const kRows[] = {
      {R"({"a": 1})", R"({"a": 2})", "/a: expected 1, actual 2"},
      {R"({"a": 1})", R"({"a": 1.0})", "/a: expected 1, actual 1.0"},
      {R"({"a": {"b": [1, 2]}})", R"({"a": {"b": [1, 3]}})", "/a/b/1: expected 2, actual 3"},
      {R"({"a": [1]})", R"({"a": [1, 2]})", "/a: expected 1 elements, actual 2"},
      {R"({"a": "x"})", R"({"a": "y"})", "/a: expected \"x\", actual \"y\""},
      {R"({"a": true})", R"({"a": false})", "/a: expected true, actual false"},
      {R"({"a": 1.0})", R"({"a": 1.01})", "/a: expected 1.0, actual 1.01"},
      {R"({"a": 1.0})", R"({"a": null})", "/a: expected 1.0, actual null"},
      {R"({"a": 1})", R"({"b": 1})", "/a: expected 1, is missing"},
      {R"({"a": 1})", R"({"a": 1, "new_ms": 2.5})", "/new_ms: not expected, actual 2.5"},
      {R"({"a": 1, "b": 2})", R"({"b": 2, "a": 1})", "keys in the order [\"a\",\"b\"]"},
      {R"({"ms": 1.5})", R"({"ms": "1.5"})", "/ms: expected \"<number>\", actual \"1.5\""},
      {R"({"latency_ms": {"p50": 1.5}})", R"({"latency_ms": {"p50": null}})",
       "/latency_ms/p50: expected \"<number>\", actual null"},
      {R"({"text": ["at 1.50 of 3"]})", R"({"text": ["at 1.53 of 3"]})", "/text/0: expected"},
      {R"({"text": ["at 1.50 of 3"]})", R"({"text": ["at 1.50 of 4"]})", "/text/0: expected"},
  };
  for (const auto& row : kRows) {
    const std::vector<std::string> found = between(row.expected, row.actual);
    ASSERT_FALSE(found.empty()) << row.expected << " and " << row.actual;
    EXPECT_NE(found[0].find(row.says), std::string::npos) << found[0];
  }
}

// Fails when values that differ between machines count as a difference.
TEST(Snapshot, TolerancesAreApplied) {
  for (const auto& [expected, actual] : std::vector<std::pair<const char*, const char*>>{
           {R"({"a": 1000.0})", R"({"a": 1000.9})"},
           {R"({"a": 0.00001})", R"({"a": -0.00002})"},
           {R"({"ms": 1.5, "simd": "AVX2"})", R"({"ms": 9, "simd": "NEON"})"},
           {R"({"cpu_quota": null})", R"({"cpu_quota": 1.5})"},
           {R"({"latency_ms": {"p50": 1.5}})", R"({"latency_ms": {"p50": 2.5}})"},
           {R"({"text": ["at 0.150 of 3"]})", R"({"text": ["at 0.151 of 3"]})"},
           {R"({"text": ["at 0.00 of 3"]})", R"({"text": ["at -0.00 of 3"]})"}})
    EXPECT_EQ(between(expected, actual), std::vector<std::string>{});
}

// Fails when times or descriptions of the machine remain in a text, or when other parts are lost.
TEST(Snapshot, TextIsNeutral) {
  EXPECT_EQ(neutral_lines("2 frames, median   2.32 ms per frame, 432 frames/s\n"
                          "a  b\n"
                          "window 11, cpu with 2 threads (AVX3)\n"),
            (Json{"2 frames, median <number> ms per frame, <number> frames/s", "a  b",
                  "window 11, cpu with 2 threads (<text>)"}));
}

}  // namespace
}  // namespace ocellus::test
