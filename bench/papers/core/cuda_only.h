// The base of operators with the kernels of a paper.
#pragma once

#include "ocellus/engine.h"
#include "ocellus/operator.h"

namespace ocellus::paper {

/// `create` returns Unsupported on the CPU.
template <typename Self, typename Config>
class CudaOnly : public Operator<Self, Config> {
 public:
  static Expected<Self> create(Engine& engine, const Config& config) noexcept {
    if (engine.info().backend != BackendKind::kCuda)
      return tl::unexpected(
          make_error(Status::kUnsupported, "the paper's schedules run on CUDA devices only"));
    return Operator<Self, Config>::create(engine, config);
  }
};

}  // namespace ocellus::paper
