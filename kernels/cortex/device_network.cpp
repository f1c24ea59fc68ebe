#include "kernels/cortex/device_network.h"

namespace ocellus::cuda {
namespace {

/// Levels with at most this number of hypercolumns are computed by one block.
constexpr int kTopHypercolumns = kTopThreads / 32;
/// Hypercolumns of a subtree's lowest level, at most.
constexpr int kSubtreeHypercolumns = kSubtreeThreads / 32;

/// Has each hypercolumn of the level a window of its own, the next ones of a row?
bool is_tree(const NetworkLevel& l) noexcept {
  return l.below_first >= 0 && l.hypercolumns == l.columns && l.window_height == 1 &&
         l.stride_x == l.window_width;
}

constexpr const char* kName = "the cortical network";

}  // namespace

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
  const auto order = [&] { return a.level == 0 ? LaunchOrder::kAfter : LaunchOrder::kOverlapping; };
  while (a.level < top) {
    const NetworkLevel& first = network.levels[static_cast<std::size_t>(a.level)];
    // Level 0 has the most work: a launch of its own keeps all warps of its blocks busy.
    SubtreeArguments subtrees{a.network, a.level, a.level + 1, 1};
    while (a.level > 0 && subtrees.end < top) {
      const NetworkLevel& next = network.levels[static_cast<std::size_t>(subtrees.end)];
      if (!is_tree(next) || subtrees.each * next.window_width > kSubtreeHypercolumns) break;
      subtrees.each *= next.window_width;
      ++subtrees.end;
    }
    const bool fused = subtrees.end > a.level + 1;
    const int each = fused ? subtrees.each : kBlockHypercolumns;
    const dim3 blocks(static_cast<unsigned>((first.hypercolumns + each - 1) / each));
    const Expected<void> done = fused ? work.launch(cuda, network_subtree_kernel(), blocks,
                                                    dim3(kSubtreeThreads), 0, subtrees, order())
                                      : work.launch(cuda, network_level_kernel(), blocks,
                                                    dim3(kNetworkThreads), 0, a, order());
    if (!done) return done;
    a.level = subtrees.end;
  }
  return work.launch(cuda, network_top_kernel(), dim3(1), dim3(kTopThreads), 0, a, order());
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
