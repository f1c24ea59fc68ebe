#include "bench/limits/device_limits.h"

#include <algorithm>
#include <utility>

#include "bench/limits/device_limits_kernels.h"
#include "core/engine_state.h"
#include "core/failure.h"
#include "kernels/core/cuda_device.h"
#include "ocellus/buffer.h"

namespace ocellus::cuda {
namespace {

constexpr int kPasses = 10;

/// A stream and two events for measuring.
class Stopwatch {
 public:
  explicit Stopwatch(CudaDevice& device) noexcept
      : stream_set_(device.take_stream_set()), cuda_(device, Phase::kCreating, "limits") {}
  ~Stopwatch() {
    for (cudaEvent_t event : {begin_, end_})
      if (event != nullptr) cuda_.release(kCudaCalls.destroy_event, event);
    cuda_.device().give_back_stream_set(stream_set_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  Expected<void> start() noexcept {
    for (cudaEvent_t* event : {&begin_, &end_})
      OCELLUS_TRY(cuda_(kCudaCalls.create_event, event, 0U));
    return {};
  }

  Expected<void> launch(LimitKernel kernel, unsigned blocks, unsigned threads,
                        LimitArguments arguments) noexcept {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.stream = stream();
    void* list[] = {&arguments};
    return cuda_(kCudaCalls.launch_kernel, &config, reinterpret_cast<const void*>(kernel), list);
  }

  Expected<void> driver_version(int& version) noexcept {
    return cuda_(kCudaCalls.driver_version, &version);
  }

  /// Copies the second half to the first with the driver's copy function.
  Expected<void> copy(const LimitArguments& arguments) noexcept {
    const std::int64_t half = arguments.vectors / 2;
    return cuda_(kCudaCalls.copy, arguments.block, arguments.block + half,
                 static_cast<std::size_t>(half) * sizeof(float4), cudaMemcpyDeviceToDevice,
                 stream());
  }

  /// Returns the seconds of the fastest of several runs of `work`, after two warm-up runs.
  template <typename Work>
  Expected<double> best(const Work& work) noexcept {
    float best_ms = 0.0f;
    for (int pass = -2; pass < kPasses; ++pass) {
      OCELLUS_TRY(cuda_(kCudaCalls.record_event, begin_, stream()));
      OCELLUS_TRY(work());
      OCELLUS_TRY(cuda_(kCudaCalls.record_event, end_, stream()));
      OCELLUS_TRY(cuda_(kCudaCalls.synchronize_event, end_));
      float ms = 0.0f;
      OCELLUS_TRY(cuda_(kCudaCalls.elapsed, &ms, begin_, end_));
      if (pass == 0 || (pass > 0 && ms < best_ms)) best_ms = ms;
    }
    return 1e-3 * static_cast<double>(best_ms);
  }

 private:
  cudaStream_t stream() noexcept { return cuda_.device().stream_set(stream_set_).compute; }

  int stream_set_;
  Scope cuda_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// Creates an engine with a block that is large compared with the device's caches and small
/// compared with its memory.
Expected<Engine> engine_with_block(EngineConfig config, std::size_t& bytes) noexcept {
  constexpr std::size_t kLeast = std::size_t{256} << 20;
  if (const Expected<EngineInfo> info = Engine::probe(config);
      info && info->backend != BackendKind::kCuda)
    return tl::unexpected(
        make_error(Status::kUnsupported, "the limits of a device need the backend cuda"));
  for (bytes = std::size_t{4} << 30;; bytes /= 2) {
    config.memory = Buffer::footprint(MemorySpace::kCuda, bytes) +
                    Buffer::footprint(MemorySpace::kCuda, sizeof(std::int64_t));
    Expected<Engine> made = Engine::create(config);
    if (made || made.error().status != Status::kOutOfMemory || bytes <= kLeast) return made;
  }
}

}  // namespace

Expected<DeviceLimits> measure_device_limits(const EngineConfig& config) noexcept {
  DeviceLimits limits;
  OCELLUS_TRY_ASSIGN(engine, engine_with_block(config, limits.block_bytes));
  auto* const device = static_cast<CudaDevice*>(detail::EngineAccess::state(*engine).device());
  const DeviceTraits& traits = device->traits();
  limits.compute_capability = traits.compute_capability;
  limits.multiprocessors = traits.multiprocessors;
  limits.l2_bytes = static_cast<std::size_t>(traits.l2_bytes);
  OCELLUS_TRY_ASSIGN(block, Buffer::create(*engine, MemorySpace::kCuda, limits.block_bytes));
  OCELLUS_TRY_ASSIGN(outcome, Buffer::create(*engine, MemorySpace::kCuda, sizeof(std::int64_t)));

  const LimitArguments arguments{static_cast<float4*>(block->data()),
                                 static_cast<std::int64_t>(limits.block_bytes / sizeof(float4)),
                                 static_cast<std::int64_t*>(outcome->data()), 1 << 16};
  const auto multiprocessors = static_cast<unsigned>(traits.multiprocessors);
  Expected<double> fma = 0.0;
  {
    Stopwatch stopwatch(*device);
    OCELLUS_TRY(stopwatch.start());
    OCELLUS_TRY(stopwatch.driver_version(limits.driver_version));
    limits.runtime_version = CUDART_VERSION;
    // Each multiprocessor runs several blocks one after the other.
    const unsigned streaming = 8 * multiprocessors;
    OCELLUS_TRY(stopwatch.launch(kFillKernel, streaming, kStreamingThreads, arguments));
    OCELLUS_TRY_ASSIGN(read, stopwatch.best([&] {
      return stopwatch.launch(kReadKernel, streaming, kStreamingThreads, arguments);
    }));
    OCELLUS_TRY_ASSIGN(copy, stopwatch.best([&] {
      return stopwatch.launch(kCopyKernel, streaming, kStreamingThreads, arguments);
    }));
    OCELLUS_TRY_ASSIGN(own_copy, stopwatch.best([&] { return stopwatch.copy(arguments); }));
    fma = stopwatch.best([&] {
      return stopwatch.launch(kMultiplyAddKernel, multiprocessors, kMultiplyThreads, arguments);
    });
    if (!fma) return tl::unexpected(fma.error());
    limits.read_bytes_per_s = static_cast<double>(limits.block_bytes) / *read;
    limits.copy_bytes_per_s = static_cast<double>(limits.block_bytes) / std::min(*copy, *own_copy);
    limits.flops = 2.0 * kChains * arguments.rounds * kMultiplyThreads * multiprocessors / *fma;
  }
  std::int64_t clocks = 0;
  OCELLUS_TRY(outcome->read(0, &clocks, sizeof(clocks)));
  limits.clock_hz = static_cast<double>(clocks) / *fma;
  return limits;
}

}  // namespace ocellus::cuda
