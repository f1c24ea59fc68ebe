// What a frame costs at least.
#pragma once

#include "ocellus/operator.h"

namespace ocellus::app {

/// The least cost of one frame, independent of the implementation.
struct Workload {
  double bytes = 0.0;  ///< memory traffic that no cache can avoid
  double flops = 0.0;  ///< multiplications and additions
};

inline Workload least_work(const OperatorInfo& info) {
  return {info.least_bytes, info.least_flops};
}

}  // namespace ocellus::app
