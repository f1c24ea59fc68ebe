// The instruction set that run-time dispatch selects.
#pragma once

namespace ocellus::detail {

/// Highway's name of the best target that this processor and this build support.
const char* simd_target_name() noexcept;

}  // namespace ocellus::detail
