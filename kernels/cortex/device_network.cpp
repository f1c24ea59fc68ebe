#include "kernels/cortex/device_network.h"

namespace ocellus::cuda {
namespace {

/// Levels with at most this number of hypercolumns are computed by one block.
constexpr int kTopHypercolumns = kTopThreads / 32;

constexpr const char* kName = "the cortical network";

}  // namespace

void NetworkArguments::layout(const detail::NetworkPlan& plan,
                              detail::LayoutBuilder& device) noexcept {
  weights = device.take<std::uint16_t>(plan.layout.weights);
  strong = device.take<std::uint32_t>(plan.layout.strong);
  minicolumns = device.take<detail::Minicolumn>(plan.hierarchy.minicolumns);
  winner_responses =
      device.take<std::int64_t>(static_cast<std::size_t>(plan.hierarchy.hypercolumns));
}

Expected<DeviceNetwork> DeviceNetwork::create(Engine& engine,
                                              const CorticalNetworkConfig& config) noexcept {
  Expected<std::unique_ptr<Memory>> memory =
      Memory::create(engine, config, network_start_kernel(), kName);
  if (!memory) return tl::unexpected(memory.error());
  DeviceNetwork network(std::move(*memory));
  DeviceWork& work = network.memory().work();
  Scope cuda(work.device(), Phase::kCreating, kName);
  const Expected<void> made =
      work.finished(cuda, work.make_graph(cuda, [&] { return network.launch_step(cuda); }));
  if (!made) return tl::unexpected(made.error());
  return network;
}

Expected<void> DeviceNetwork::launch_step(Scope& cuda) noexcept {
  DeviceWork& work = memory_->work();
  OfLevel<NetworkArguments> a{memory_->arguments(), 0};
  const NetworkBase& network = a.network;
  int top = network.level_count;
  while (top > 0 &&
         network.levels[static_cast<std::size_t>(top - 1)].hypercolumns <= kTopHypercolumns)
    --top;
  for (; a.level < top; ++a.level) {
    const int hypercolumns = network.levels[static_cast<std::size_t>(a.level)].hypercolumns;
    const int blocks = (hypercolumns + kBlockHypercolumns - 1) / kBlockHypercolumns;
    if (Expected<void> done =
            work.launch(cuda, network_level_kernel(), dim3(static_cast<unsigned>(blocks)),
                        dim3(kNetworkThreads), 0, a,
                        a.level == 0 ? LaunchOrder::kAfter : LaunchOrder::kOverlapping);
        !done)
      return done;
  }
  return work.launch(cuda, network_top_kernel(), dim3(1), dim3(kTopThreads), 0, a,
                     top == 0 ? LaunchOrder::kAfter : LaunchOrder::kOverlapping);
}

Expected<void> DeviceNetwork::step(const std::uint8_t* image, std::ptrdiff_t stride,
                                   bool learn) noexcept {
  DeviceWork& work = memory_->work();
  const auto queue = [&]() -> Expected<void> {
    if (Expected<void> done = memory_->write_image(image, stride, learn); !done) return done;
    Scope cuda(work.device(), Phase::kRunning, kName);
    if (Expected<void> done = work.record(cuda, 0); !done) return done;
    if (Expected<void> done = work.run_graph(cuda); !done) return done;
    if (Expected<void> done = work.record(cuda, 1); !done) return done;
    return work.wait_for(cuda, 1);
  };
  const Expected<void> done = queue();
  if (done) return done;
  // The pinned image must not change while work reads it.
  Scope failed(work.device(), Phase::kCreating, kName);
  return work.finished(failed, done);
}

Expected<double> DeviceNetwork::last_ms() noexcept {
  Scope cuda(memory_->work().device(), Phase::kRunning, kName);
  return memory_->work().elapsed(cuda, 0, 1);
}

}  // namespace ocellus::cuda
