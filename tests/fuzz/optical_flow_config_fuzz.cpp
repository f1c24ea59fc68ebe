// Fuzz target: any numbers as configurations of the engine and of both operators, and as a frame. A
// configuration is refused with a text, or the operator is created in exactly its footprint and
// gives a result. Sanitizers detect other faults.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fuzz/numbers.h"
#include "fuzz/operators.h"
#include "ocellus/ocellus.h"

namespace {

using namespace ocellus;
using fuzz::check;
using fuzz::Numbers;

void write_taps(void* user, int, int, int, int, float* wx, float* wy, float* wt) {
  const auto& kernels = *static_cast<const KernelConfig*>(user);
  const bool full = kernels.form == KernelForm::kFull;
  const int count = full ? kernels.nx * kernels.ny * kernels.nt : kernels.nx;
  for (int i = 0; i < count; ++i) wx[i] = kernels.sigma_space;
  if (full) return;
  for (int i = 0; i < kernels.ny; ++i) wy[i] = 0.25f;
  for (int i = 0; i < kernels.nt; ++i) wt[i] = kernels.sigma_time;
}

void take_kernels(Numbers& numbers, KernelConfig& kernels) {
  kernels.form = numbers.choice<KernelForm>();
  const int origin = numbers.byte();
  kernels.origin =
      origin < 240 ? static_cast<KernelOrigin>(origin % 3) : static_cast<KernelOrigin>(origin);
  kernels.nx = numbers.integer();
  kernels.ny = numbers.integer();
  kernels.nt = numbers.integer();
  kernels.convolutions = numbers.integer();
  kernels.terms = numbers.integer();
  kernels.sigma_space = numbers.real();
  kernels.sigma_time = numbers.real();
  kernels.fovea_x = numbers.real();
  kernels.fovea_y = numbers.real();
  kernels.fovea_radius = numbers.real();
  if (numbers.byte() < 250) kernels.callback = &write_taps;
  kernels.user = &kernels;
}

/// Planes of floats for the operator's results.
OperatorOutput output_of(std::vector<float>& memory, const OperatorInfo& info) {
  const ImageSize size = info.planes[0].size;
  const std::size_t area =
      static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  const auto planes = static_cast<std::size_t>(info.plane_count);
  memory.assign(planes * area, 0.0f);
  OperatorOutput out;
  for (std::size_t p = 0; p < planes; ++p) {
    out.planes[p] = {memory.data() + p * area,
                     size,
                     size.width * static_cast<std::ptrdiff_t>(sizeof(float)),
                     PixelFormat::kFloat32,
                     MemorySpace::kHost,
                     nullptr};
  }
  return out;
}

template <typename Operator, typename Config>
void run(Numbers& numbers, const Config& config) {
  auto made = fuzz::make<Operator>(config, 1 + numbers.byte() % 2, std::size_t{16} << 20);
  if (!made) return;

  std::vector<float> planes;
  const OperatorOutput out = output_of(planes, made->op.info());
  for (int f = 0; f < 3; ++f) {
    Frame frame;
    frame.size =
        numbers.byte() < 250 ? config.size : ImageSize{numbers.integer(), numbers.integer()};
    frame.format = numbers.byte() < 250 ? config.format : numbers.choice<PixelFormat>();
    frame.stride = numbers.byte() < 200 ? (config.size.width + 3) * 4 : numbers.integer();
    // The buffer has the claimed size, so that only a wrong check can lead to a read outside.
    const std::int64_t bytes = static_cast<std::int64_t>(frame.stride) * config.size.height;
    if (bytes > std::int64_t{1} << 24) continue;
    std::vector<float> pixels(static_cast<std::size_t>(bytes > 0 ? bytes : 0) / sizeof(float) + 4);
    for (float& pixel : pixels) pixel = static_cast<float>(numbers.byte());
    frame.data = pixels.data();
    const auto ticket = made->op.submit(frame, out);
    if (!ticket) {
      check(ticket.error());
      continue;
    }
    if (!made->op.wait(*ticket, Deadline::never())) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Numbers numbers(data, size);
  const int what = numbers.byte() % 3;
  if (what == 0) {
    EngineConfig config;
    config.workers = numbers.integer();
    config.realtime_priority = numbers.integer();
    for (int i = 0; i < 4; ++i)
      config.affinity[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(numbers.integer());
    config.backend.choice = static_cast<BackendChoice>(numbers.byte() % 3);
    config.backend.device = numbers.integer();
    const auto info = Engine::probe(config);
    if (!info) {
      check(info.error());
    } else if (info->workers < (info->backend == BackendKind::kCpu ? 1 : 0) ||
               info->workers > kMaxWorkers) {
      std::abort();
    }
    return 0;
  }
  OpticalFlowConfig flow;
  // Usually small enough to run. The checks see large numbers through integer().
  flow.size = {numbers.integer(), numbers.integer()};
  flow.format = numbers.choice<PixelFormat>();
  if (numbers.byte() % 2 == 1)
    flow.roi = {numbers.integer(), numbers.integer(), numbers.integer(), numbers.integer()};
  flow.depth = numbers.integer();
  take_kernels(numbers, flow.kernels);
  flow.storage = numbers.choice<CoefficientStorage>();
  if (what == 1) {
    SpatioTemporalFilterConfig filter;
    filter.size = flow.size;
    filter.format = flow.format;
    filter.roi = flow.roi;
    filter.depth = flow.depth;
    filter.kernels = flow.kernels;
    filter.kernels.user = &filter.kernels;
    filter.storage = flow.storage;
    run<SpatioTemporalFilter>(numbers, filter);
    return 0;
  }
  flow.method = numbers.choice<FlowMethod>();
  flow.window = numbers.integer();
  flow.window_sigma = numbers.real();
  flow.confidence_threshold = numbers.real();
  flow.invalid = numbers.choice<InvalidFlow>();
  flow.deviation = numbers.byte() % 2 == 1;
  flow.objects = numbers.byte() % (kMaxMovingObjects + 2);
  flow.min_motion = numbers.real();
  flow.min_motion_side = numbers.integer();
  flow.min_deviations = numbers.real();
  flow.min_area = numbers.integer();
  PyramidConfig& pyramid = flow.pyramid;
  pyramid.levels = numbers.integer();
  pyramid.warps = numbers.integer();
  pyramid.coarse_warps = numbers.integer();
  pyramid.ridge = numbers.real();
  pyramid.smoothing_size = numbers.integer();
  pyramid.solver = numbers.choice<FlowSolver>();
  pyramid.smoothness = numbers.real();
  pyramid.sweeps = numbers.integer();
  pyramid.coarse_sweeps = numbers.integer();
  pyramid.reweightings = numbers.integer();
  flow.window_weight = numbers.choice<WindowWeight>();
  run<OpticalFlow>(numbers, flow);
  return 0;
}
