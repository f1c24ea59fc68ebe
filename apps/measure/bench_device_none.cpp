// The benches of a CUDA device in a build without the kernels that measure one.
#include "apps/cortex/bench.h"
#include "apps/halftone/bench.h"
#include "apps/neocognitron/bench.h"
#include "apps/neocognitron/bench_layers.h"
#include "apps/optical_flow/bench.h"
#include "apps/restoration/bench.h"

namespace ocellus::app {

namespace {

[[noreturn]] void refuse() {
  throw InputError(
      "this build cannot measure a CUDA device, because it lacks the kernels that measure the "
      "device's limits; build with CUDA and a static library, or use --backend cpu");
}

}  // namespace

int bench_on_device(const FlowBenchOptions&, const EngineConfig&, const EngineInfo&,
                    const std::vector<BenchInput>&) {
  refuse();
}

int bench_cells_on_device(const HalftoneBenchOptions&, const EngineConfig&, const EngineInfo&,
                          const std::vector<Clip>&) {
  refuse();
}

int bench_restoration_on_device(const RestoreBenchOptions&, const EngineConfig&, const EngineInfo&,
                                const std::vector<Clip>&) {
  refuse();
}

int bench_digits_on_device(const DigitsBenchOptions&, const EngineConfig&, const EngineInfo&) {
  refuse();
}

std::vector<LayerColumn> device_layer_columns(const DigitsBenchOptions&, const EngineConfig&,
                                              const LayerBenchCase&, const std::function<void()>&) {
  refuse();
}

std::vector<ExampleRun> run_examples(const EngineConfig&) {
  refuse();
}

std::vector<DeviceSteps> device_steps(const CortexBenchOptions&, const EngineConfig&,
                                      const CorticalNetworkConfig&,
                                      const std::vector<std::int32_t>&) {
  refuse();
}

double device_read_rate(const EngineConfig&) {
  refuse();
}

}  // namespace ocellus::app
