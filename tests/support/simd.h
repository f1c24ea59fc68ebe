// Restricts run-time dispatch to one instruction set.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/backend.h"

namespace ocellus::test {

/// While such an object exists, run-time dispatch uses only the given targets. No other thread may
/// run operators in this time.
class OnlyTargets {
 public:
  explicit OnlyTargets(std::int64_t targets) { hwy::SetSupportedTargetsForTest(targets); }
  ~OnlyTargets() { hwy::SetSupportedTargetsForTest(0); }
  OnlyTargets(const OnlyTargets&) = delete;
  OnlyTargets& operator=(const OnlyTargets&) = delete;
};

struct SimdTarget {
  std::int64_t bit;
  std::string name;
};

/// One entry for each target that dispatch selects when only that target is allowed.
inline std::vector<SimdTarget> simd_targets() {
  std::vector<SimdTarget> targets;
  std::set<std::string> seen;
  const std::int64_t all = hwy::SupportedTargets();
  for (int i = 0; i < 63; ++i) {
    const std::int64_t bit = std::int64_t{1} << i;
    if ((all & bit) == 0) continue;
    const OnlyTargets only(bit);
    const std::string name = detail::simd_target_name();
    if (name == hwy::TargetName(bit) && seen.insert(name).second) targets.push_back({bit, name});
  }
  return targets;
}

}  // namespace ocellus::test
