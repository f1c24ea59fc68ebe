#include "bench/cortical_network/device_network.h"

#include "core/failure.h"
#include "kernels/cortical_network/network_parts.h"

namespace ocellus::cuda {
namespace {

constexpr const char* kName = "the cortical network";

}  // namespace

Expected<DeviceNetwork> DeviceNetwork::create(Engine& engine,
                                              const CorticalNetworkConfig& config) noexcept {
  OCELLUS_TRY(check_no_feedback(config, kName));
  OCELLUS_TRY_ASSIGN(memory, Memory::create(engine, config, kNetworkStartKernel, kName));
  DeviceNetwork network(std::move(*memory));
  DeviceWork& work = network.memory().work();
  Scope cuda(work.device(), Phase::kCreating, kName);
  OCELLUS_TRY(work.finished(cuda, work.make_graph(cuda, [&] {
    return launch_part(work, cuda, network.memory().arguments(),
                       whole(network.memory().arguments()));
  })));
  return network;
}

Expected<void> DeviceNetwork::step(const std::uint8_t* image, std::ptrdiff_t stride,
                                   bool learn) noexcept {
  DeviceWork& work = memory_->work();
  const auto queue = [&]() -> Expected<void> {
    OCELLUS_TRY(memory_->write_image(image, stride, learn));
    Scope cuda(work.device(), Phase::kRunning, kName);
    OCELLUS_TRY(work.record(cuda, 0));
    OCELLUS_TRY(work.run_graph(cuda));
    OCELLUS_TRY(work.record(cuda, 1));
    return work.wait_for(cuda, 1);
  };
  const Expected<void> done = queue();
  if (done) return done;
  // The pinned image must not change while work reads it.
  Scope failed(work.device(), Phase::kCreating, kName);
  return work.finished(failed, done);
}

Expected<StepBytes> DeviceNetwork::count_step(const std::uint8_t* image,
                                              std::ptrdiff_t stride) noexcept {
  const NetworkArguments& a = memory_->arguments();
  for (int level = 0; level < a.level_count; ++level)
    if (const detail::LevelPlan& l = a.levels[static_cast<std::size_t>(level)]; !fits_subtrees(l))
      return tl::unexpected(make_error(
          Status::kUnsupported,
          "%s: level %d has %d inputs and rows of %d words; bytes are counted up to 256 inputs "
          "and 4 words",
          kName, level, l.inputs, l.words));
  OCELLUS_TRY(memory_->write_image(image, stride, true));
  DeviceWork& work = memory_->work();
  // Launches outside of a graph are permitted during creation only.
  Scope cuda(work.device(), Phase::kCreating, kName);
  const auto queue = [&]() -> Expected<void> {
    OCELLUS_TRY(work.clear(cuda, a.bytes, sizeof(StepBytes)));
    return launch_part(work, cuda, a, whole(a), true);
  };
  OCELLUS_TRY(work.finished(cuda, queue()));
  StepBytes bytes{};
  OCELLUS_TRY(work.download(cuda, &bytes, a.bytes, sizeof(bytes)));
  return bytes;
}

Expected<double> DeviceNetwork::last_ms() noexcept {
  Scope cuda(memory_->work().device(), Phase::kRunning, kName);
  return memory_->work().elapsed(cuda, 0, 1);
}

}  // namespace ocellus::cuda
