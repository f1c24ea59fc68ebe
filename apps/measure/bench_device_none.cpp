// A build that has nothing to measure a CUDA device with.
#include "apps/halftone/bench.h"
#include "apps/optical_flow/bench.h"

namespace ocellus::app {

namespace {

[[noreturn]] void refuse() {
  throw InputError(
      "this build cannot measure a CUDA device: the kernels that find its limits are part of "
      "builds with CUDA and a static library only; use --backend cpu");
}

}  // namespace

int bench_on_device(const BenchOptions&, const EngineConfig&, const EngineInfo&,
                    const std::vector<BenchInput>&) {
  refuse();
}

int bench_cells_on_device(const CellBenchOptions&, const EngineConfig&, const EngineInfo&,
                          const std::vector<Clip>&) {
  refuse();
}

}  // namespace ocellus::app
