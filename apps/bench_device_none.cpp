// A build that has nothing to measure a CUDA device with.
#include "bench.h"

namespace ocellus::app {

int bench_on_device(const BenchOptions&, const EngineConfig&, const EngineInfo&,
                    const std::vector<BenchInput>&) {
  throw InputError(
      "this build cannot measure a CUDA device: the kernels that find its limits are part of "
      "builds "
      "with CUDA and a static library only; use --backend cpu");
}

}  // namespace ocellus::app
