// What the profiles of the CPU and of GPUs share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cortical_network/hierarchy.h"
#include "ocellus/cortical_profile.h"

namespace ocellus::detail {

/// The time of a hypercolumn is at least this; a clock that does not tell two times apart must not
/// give 0.
inline constexpr double kLeastSeconds = 1e-9;

/// What the time of a hypercolumn depends on.
struct SampleShape {
  int pixels = 1;  ///< of the window, two inputs each
  int active = 1;
  int minicolumns = kLeastMinicolumns;
  bool lowest = false;

  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

SampleShape shape_of(const LevelPlan& level, bool lowest) noexcept;

double median(std::vector<double>& values) noexcept;

/// Errors: InvalidArgument.
Expected<void> check_profile(const CorticalProfile& profile) noexcept;

}  // namespace ocellus::detail
