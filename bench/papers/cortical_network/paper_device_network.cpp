#include "bench/papers/cortical_network/paper_device_network.h"

#include <algorithm>

namespace ocellus::paper {
namespace {

using cuda::kCudaCalls;
using cuda::Phase;
using cuda::Scope;

constexpr const char* kName = "the paper's cortical network";
constexpr int kEmptyRepeats = 50;

}  // namespace

void PaperArguments::layout(const detail::NetworkPlan& plan,
                            detail::LayoutBuilder& device) noexcept {
  NetworkBase::layout(plan, device);
  omega = device.take<std::int32_t>(plan.hierarchy.minicolumns);
  other_winners = device.take<std::int32_t>(static_cast<std::size_t>(plan.hierarchy.hypercolumns));
  hypotheses = device.take<std::int32_t>(static_cast<std::size_t>(plan.hierarchy.hypercolumns));
  feedback_rounds = plan.feedback_rounds;
  feedback_tolerance = plan.feedback_tolerance;
  queue = device.take<QueueCounts>(1);
  done = device.take<unsigned>(static_cast<std::size_t>(plan.hierarchy.hypercolumns));
  std::int64_t striped = 0;
  for (int i = 0; i < plan.hierarchy.level_count; ++i) {
    const detail::LevelPlan& l = plan.hierarchy.level(i);
    striped_at[static_cast<std::size_t>(i)] = striped;
    striped += std::int64_t{l.hypercolumns} * l.inputs * l.padded;
  }
  weights = device.take<std::uint16_t>(static_cast<std::size_t>(striped));
}

Expected<PaperDeviceNetwork> PaperDeviceNetwork::create(Engine& engine,
                                                        const CorticalNetworkConfig& config,
                                                        NetworkSchedule schedule, int most_blocks,
                                                        const PaperVariant& variant) noexcept {
  if (schedule != NetworkSchedule::kQueue || variant.sync != QueueSync::kFeedback)
    OCELLUS_TRY(cuda::check_no_feedback(config, kName));
  OCELLUS_TRY_ASSIGN(memory, Memory::create(engine, config, kPaperStartKernel, kName));
  PaperDeviceNetwork network(std::move(*memory), schedule, variant);
  network.threads_ = network.memory().plan().hierarchy.most_minicolumns;
  OCELLUS_TRY(network.choose_blocks(most_blocks));
  return network;
}

const void* PaperDeviceNetwork::kernel() const noexcept {
  if (schedule_ == NetworkSchedule::kLevels)
    return reinterpret_cast<const void*>(kPaperLevelKernel);
  if (schedule_ == NetworkSchedule::kQueue)
    return reinterpret_cast<const void*>(paper_queue_kernel(variant_.sync, variant_.memory));
  return reinterpret_cast<const void*>(paper_pipeline_kernel(variant_.memory));
}

std::size_t PaperDeviceNetwork::shared_bytes() const noexcept {
  const bool shared =
      schedule_ != NetworkSchedule::kLevels && variant_.memory == ColumnMemory::kShared;
  return shared ? kSharedBytes * static_cast<std::size_t>(threads_) : 0;
}

Expected<KernelUse> PaperDeviceNetwork::kernel_use() noexcept {
  Scope cuda(memory_->work().device(), Phase::kCreating, kName);
  cudaFuncAttributes code{};
  OCELLUS_TRY(cuda(kCudaCalls.function_attributes, &code, kernel()));
  KernelUse use{code.numRegs, code.sharedSizeBytes + shared_bytes(), threads_, 0};
  OCELLUS_TRY(
      cuda(kCudaCalls.blocks_per_multiprocessor, &use.blocks, kernel(), threads_, shared_bytes()));
  return use;
}

Expected<void> PaperDeviceNetwork::choose_blocks(int most_blocks) noexcept {
  blocks_ = memory_->arguments().hypercolumns;
  cuda::DeviceWork& work = memory_->work();
  {
    // Kernels keep the attribute: the next network may want another one.
    Scope cuda(work.device(), Phase::kCreating, kName);
    OCELLUS_TRY(cuda(kCudaCalls.set_function_attribute, kernel(),
                     cudaFuncAttributePreferredSharedMemoryCarveout, variant_.carveout));
  }
  if (schedule_ == NetworkSchedule::kLevels || schedule_ == NetworkSchedule::kPipelined) return {};
  OCELLUS_TRY_ASSIGN(use, kernel_use());
  const int resident = std::max(use->blocks * work.device().traits().multiprocessors, 1);
  blocks_ = std::min(blocks_, most_blocks > 0 ? most_blocks : resident);
  return {};
}

Expected<void> PaperDeviceNetwork::read_winners(int level,
                                                std::span<std::int32_t> winners) noexcept {
  const PaperArguments& a = memory_->arguments();
  // The last launch of a pipeline has the number `launches_` - 1.
  const bool other = pipelined() && launches_ % 2 == 0;
  return memory_->read_level(level, other ? a.other_winners : a.winners, winners);
}

Expected<void> PaperDeviceNetwork::launch_step(Scope& cuda, bool feeds) noexcept {
  cuda::DeviceWork& work = memory_->work();
  const PaperArguments& network = memory_->arguments();
  const dim3 threads(static_cast<unsigned>(threads_));
  const dim3 blocks(static_cast<unsigned>(blocks_));
  if (pipelined()) {
    if (feeds) ++fed_;
    const PipelineArguments a{network, launches_, fed_};
    ++launches_;
    return work.launch(cuda, paper_pipeline_kernel(variant_.memory), blocks, threads,
                       shared_bytes(), a);
  }
  if (schedule_ == NetworkSchedule::kQueue) {
    OCELLUS_TRY(work.launch(cuda, paper_queue_kernel(variant_.sync, variant_.memory), blocks,
                            threads, shared_bytes(), network));
    return work.launch(cuda, kPaperEndKernel, dim3(1), dim3(32), 0, network);
  }
  for (int level = 0; level < network.level_count; ++level) OCELLUS_TRY(launch_level(cuda, level));
  return {};
}

Expected<void> PaperDeviceNetwork::launch_level(Scope& cuda, int level, bool empty) noexcept {
  const OfLevel<PaperArguments> a{memory_->arguments(), level};
  const detail::LevelPlan& l = a.network.levels[static_cast<std::size_t>(level)];
  return memory_->work().launch(cuda, empty ? kPaperEmptyKernel : kPaperLevelKernel,
                                dim3(static_cast<unsigned>(l.hypercolumns)),
                                dim3(static_cast<unsigned>(l.padded)), 0, a);
}

Expected<void> PaperDeviceNetwork::step_levels(const std::uint8_t* image, std::ptrdiff_t stride,
                                               std::span<double> ms) noexcept {
  OCELLUS_TRY(memory_->write_image(image, stride, true));
  cuda::DeviceWork& work = memory_->work();
  Scope cuda(work.device(), Phase::kCreating, kName);
  for (std::size_t level = 0; level < ms.size(); ++level) {
    const auto queue = [&]() -> Expected<void> {
      OCELLUS_TRY(work.record(cuda, 0));
      OCELLUS_TRY(launch_level(cuda, static_cast<int>(level)));
      OCELLUS_TRY(work.record(cuda, 1));
      return work.wait_for(cuda, 1);
    };
    OCELLUS_TRY(work.finished(cuda, queue()));
    OCELLUS_TRY_ASSIGN(elapsed, work.elapsed(cuda, 0, 1));
    ms[level] = *elapsed;
  }
  return {};
}

Expected<double> PaperDeviceNetwork::launches_ms() noexcept {
  cuda::DeviceWork& work = memory_->work();
  Scope cuda(work.device(), Phase::kCreating, kName);
  return work.time(cuda, kEmptyRepeats, [&]() -> Expected<void> {
    for (int level = 1; level < memory_->arguments().level_count; ++level)
      OCELLUS_TRY(launch_level(cuda, level, true));
    return {};
  });
}

Expected<void> PaperDeviceNetwork::launch_and_wait(bool feeds) noexcept {
  cuda::DeviceWork& work = memory_->work();
  // Launches outside of a graph are permitted during creation only.
  Scope cuda(work.device(), Phase::kCreating, kName);
  const auto queue = [&]() -> Expected<void> {
    OCELLUS_TRY(work.record(cuda, 0));
    OCELLUS_TRY(launch_step(cuda, feeds));
    OCELLUS_TRY(work.record(cuda, 1));
    return work.wait_for(cuda, 1);
  };
  return work.finished(cuda, queue());
}

Expected<void> PaperDeviceNetwork::step(const std::uint8_t* image, std::ptrdiff_t stride,
                                        bool learn) noexcept {
  OCELLUS_TRY(memory_->write_image(image, stride, learn));
  return launch_and_wait(true);
}

Expected<void> PaperDeviceNetwork::finish() noexcept {
  if (!pipelined()) return {};
  for (int level = 1; level < memory_->arguments().level_count; ++level)
    OCELLUS_TRY(launch_and_wait(false));
  return {};
}

Expected<double> PaperDeviceNetwork::last_ms() noexcept {
  Scope cuda(memory_->work().device(), Phase::kRunning, kName);
  return memory_->work().elapsed(cuda, 0, 1);
}

}  // namespace ocellus::paper
