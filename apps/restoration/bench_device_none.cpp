// `ocellus bench restore` on a device, in a build without its kernels for measuring.
#include "apps/restoration/bench.h"

namespace ocellus::app {

int bench_restoration_on_device(const RestoreBenchOptions&, const EngineConfig&, const EngineInfo&,
                                const std::vector<Clip>&) {
  throw InputError("this build cannot measure restoration on a CUDA device; use --backend cpu");
}

}  // namespace ocellus::app
