// The benches of a CUDA device in a build without the kernels that measure one.
#include "bench/cortical_network/bench.h"
#include "bench/halftone/bench.h"
#include "bench/neocognitron/bench.h"
#include "bench/neocognitron/bench_layers.h"
#include "bench/optical_flow/bench.h"
#include "bench/restoration/bench.h"

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

std::vector<double> device_level_ms(const CortexBenchOptions&, const EngineConfig&,
                                    const CorticalNetworkConfig&) {
  refuse();
}

double device_read_rate(const EngineConfig&) {
  refuse();
}

}  // namespace ocellus::app
