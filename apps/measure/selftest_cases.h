// What `ocellus selftest` computes: every operator on synthetic frames, its result in a few
// numbers, and its time beside that of fixed work.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/io/operator_run.h"
#include "apps/measure/clip.h"

namespace ocellus::app {

/// An operator with the frames that it gets. All frames but the last only fill its past.
struct SelfTestCase {
  std::string name;  ///< of the operator, or with a preset or learning: flow, flow-quality
  OperatorConfig config;
  Clip clip;

  bool is_default() const { return name == config.description().name; }
};

/// Every operator of the table by default, with at most two further presets, and learning.
std::vector<SelfTestCase> selftest_cases();

/// The result of the last frame.
struct SelfTestResult {
  /// A checksum of each plane with few levels; of other planes 25 values and their mean; the
  /// record. Numbers that may differ between machines stand beside the difference that is allowed.
  nlohmann::ordered_json values;
  std::uint64_t checksum = 0;  ///< of every byte of the planes and of the record
};

/// Computes a case on an engine of its own. Throws as OperatorRun.
SelfTestResult selftest_result(const SelfTestCase& tested, const EngineConfig& engine);

/// The checksum of the frames of all cases.
std::string selftest_frames(const std::vector<SelfTestCase>& cases);

/// The first difference between results, or "".
std::string selftest_difference(const nlohmann::ordered_json& stored,
                                const nlohmann::ordered_json& found, const std::string& name);

/// The time of a frame on one thread of the CPU by that of FixedWork. Both take turns. Of each, the
/// turns count that other programs hardly disturbed.
double selftest_ratio(const SelfTestCase& tested);

/// The results in the program, of selftest_results.json: "frames", "cases" by name, and "budgets",
/// the ratios by instruction set and operator.
nlohmann::ordered_json stored_selftest_results();

}  // namespace ocellus::app
