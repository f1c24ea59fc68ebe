// LayeredProgram: layers of tasks on a CUDA device with the schedules of Nere, Franey, Hashmi and
// Lipasti (2012). Not part of the library: it is linked into the program for `ocellus bench` and
// into tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "bench/papers/core/paper_layers.h"
#include "core/failure.h"
#include "kernels/core/device_work.h"

namespace ocellus::paper {

/// `Arguments` is derived from LayerArguments. It has a constructor without arguments, and
///
///   using Config                                          // plain data
///   static constexpr const char* kName                    // for error texts
///   Expected<void> describe(const Config&) noexcept       // checks it; adds the layers
///   void layout(detail::LayoutBuilder& device) noexcept
///
/// and a function layer_kernels(const Arguments&) returns its kernels.
template <typename Arguments>
class LayeredProgram {
 public:
  using Config = typename Arguments::Config;

  /// Errors: those of Arguments::describe.
  static Expected<Footprint> footprint(const Config& config) noexcept {
    Arguments arguments{};
    OCELLUS_TRY(arguments.describe(config));
    return cuda::DeviceWork::footprint_of([&](auto& device, auto&) { arguments.layout(device); });
  }

  /// `most_blocks`: of kQueue, instead of as many as can be resident, which is 0. A larger number
  /// than that is permitted. Errors: those of Arguments::describe, OutOfMemory, Unsupported (the
  /// engine has no CUDA device), those of CUDA.
  static Expected<LayeredProgram> create(Engine& engine, const Config& config,
                                         LayerSchedule schedule, int most_blocks = 0) noexcept {
    LayeredProgram program(schedule);
    OCELLUS_TRY(program.arguments_.describe(config));
    program.work_.reset(new (std::nothrow) cuda::DeviceWork);
    if (program.work_ == nullptr) return detail::no_memory_for_operator();
    const auto layout = [&](auto& device, auto&) { program.arguments_.layout(device); };
    OCELLUS_TRY(program.work_->prepare_layout(engine, layout, Arguments::kName));
    cuda::Scope cuda(program.work_->device(), cuda::Phase::kCreating, Arguments::kName);
    OCELLUS_TRY(program.work_->start(cuda));
    OCELLUS_TRY(program.choose_blocks(cuda, most_blocks));
    return program;
  }

  const Arguments& arguments() const noexcept { return arguments_; }
  int blocks() const noexcept { return blocks_; }

  /// Copies to an array on the device and waits. Errors: those of CUDA.
  Expected<void> upload(const float* to, std::span<const float> values) noexcept {
    cuda::Scope cuda(work_->device(), cuda::Phase::kCreating, Arguments::kName);
    return work_->upload(cuda, const_cast<float*>(to), values.data(), values.size_bytes());
  }

  /// One run of all layers; with kPipelined, layer l of the run that began l calls before. Errors:
  /// those of CUDA.
  Expected<void> run() noexcept {
    cuda::Scope cuda(work_->device(), cuda::Phase::kCreating, Arguments::kName);
    const auto queue = [&]() -> Expected<void> {
      OCELLUS_TRY(launch(cuda));
      OCELLUS_TRY(work_->record(cuda, 1));
      return work_->wait_for(cuda, 1);
    };
    return work_->finished(cuda, queue());
  }

  /// Milliseconds of one of `repeats` runs, which are queued without waiting. Errors: those of
  /// CUDA.
  Expected<double> time(int repeats) noexcept {
    cuda::Scope cuda(work_->device(), cuda::Phase::kCreating, Arguments::kName);
    return work_->time(cuda, repeats, [&] { return launch(cuda); });
  }

  /// The same of one layer alone, with kLevels.
  Expected<double> time_layer(int layer, int repeats) noexcept {
    cuda::Scope cuda(work_->device(), cuda::Phase::kCreating, Arguments::kName);
    arguments_.layer = layer;
    return work_->time(cuda, repeats, [&] { return launch_layer(cuda); });
  }

  /// Reads what the last layer has computed: with kPipelined, that of the run which began
  /// `layer_count` - 1 calls before the last one. Errors: those of CUDA.
  Expected<void> read(std::span<float> results) noexcept {
    cuda::Scope cuda(work_->device(), cuda::Phase::kCreating, Arguments::kName);
    const bool other = schedule_ == LayerSchedule::kPipelined && launches_ % 2 == 0;
    return work_->download(cuda, results.data(),
                           arguments_.results[other ? 1 : 0] + arguments_.last().results_at,
                           results.size_bytes());
  }

 private:
  explicit LayeredProgram(LayerSchedule schedule) noexcept : schedule_(schedule) {}

  Expected<void> choose_blocks(cuda::Scope& cuda, int most_blocks) noexcept {
    blocks_ = arguments_.tasks;
    if (schedule_ != LayerSchedule::kQueue) return {};
    if (most_blocks > 0) {
      blocks_ = most_blocks;
      return {};
    }
    int each = 0;
    OCELLUS_TRY(cuda(cuda::kCudaCalls.blocks_per_multiprocessor, &each,
                     reinterpret_cast<const void*>(layer_kernels(arguments_).queue), kLayerThreads,
                     std::size_t{0}));
    blocks_ = std::min(blocks_, std::max(each * work_->device().traits().multiprocessors, 1));
    return {};
  }

  Expected<void> launch(cuda::Scope& cuda) noexcept {
    const LayerKernels<Arguments> kernels = layer_kernels(arguments_);
    if (schedule_ == LayerSchedule::kPipelined) {
      arguments_.launch = launches_++;
      return queue(cuda, kernels.pipeline, blocks_);
    }
    if (schedule_ == LayerSchedule::kQueue) {
      const Expected<void> done = queue(cuda, kernels.queue, blocks_);
      ++arguments_.run;
      return done;
    }
    for (arguments_.layer = 0; arguments_.layer < arguments_.layer_count; ++arguments_.layer)
      OCELLUS_TRY(launch_layer(cuda));
    return {};
  }
  Expected<void> launch_layer(cuda::Scope& cuda) noexcept {
    return queue(cuda, layer_kernels(arguments_).layer,
                 arguments_.layers[static_cast<std::size_t>(arguments_.layer)].tasks);
  }
  Expected<void> queue(cuda::Scope& cuda, Kernel<Arguments> kernel, int blocks) noexcept {
    return work_->launch(cuda, kernel, dim3(static_cast<unsigned>(blocks)), dim3(kLayerThreads), 0,
                         arguments_);
  }

  std::unique_ptr<cuda::DeviceWork> work_;
  LayerSchedule schedule_;
  Arguments arguments_{};
  int blocks_ = 0;
  std::uint64_t launches_ = 0;
};

}  // namespace ocellus::paper
