#include "kernels/cortex/device_network.h"

#include <algorithm>
#include <new>

#include "core/failure.h"

namespace ocellus::cuda {
namespace {

/// Levels with at most this number of hypercolumns are computed by one block.
constexpr int kTopHypercolumns = 32;
/// From this number of hypercolumns for a multiprocessor on, a warp computes a hypercolumn.
constexpr int kWarpsEach = 8;

constexpr const char* kName = "the cortical network";

}  // namespace

// ---- memory

void NetworkMemory::layout(detail::LayoutBuilder& device, detail::LayoutBuilder& pinned,
                           const NetworkOptions& options) noexcept {
  const detail::Hierarchy& h = plan_.hierarchy;
  const auto hypercolumns = static_cast<std::size_t>(h.hypercolumns);
  const std::size_t pixels = static_cast<std::size_t>(h.width) * static_cast<std::size_t>(h.height);
  arguments_.step = device.take<NetworkStep>(1);
  image_ = device.take<std::uint8_t>(pixels);
  arguments_.weights = device.take<std::uint16_t>(h.weights);
  arguments_.omega = device.take<std::int32_t>(h.minicolumns);
  arguments_.wins = device.take<std::uint8_t>(h.minicolumns);
  arguments_.settled = device.take<std::uint8_t>(h.minicolumns);
  arguments_.responses = options.responses ? device.take<std::int64_t>(h.minicolumns) : nullptr;
  arguments_.winners = device.take<std::int32_t>(2 * hypercolumns);
  arguments_.done = device.take<unsigned>(hypercolumns);
  pinned_step_ = pinned.take<NetworkStep>(1);
  pinned_image_ = pinned.take<std::uint8_t>(pixels);
}

Expected<Footprint> NetworkMemory::footprint(const CorticalNetworkConfig& config,
                                             const NetworkOptions& options) noexcept {
  const std::unique_ptr<NetworkMemory> memory(new (std::nothrow) NetworkMemory);
  if (memory == nullptr) return detail::no_memory_for_operator();
  if (Expected<void> made = detail::make_network_plan(config, memory->plan_); !made)
    return tl::unexpected(made.error());
  detail::LayoutBuilder device(nullptr, kDeviceAlignment);
  detail::LayoutBuilder pinned(nullptr, kDeviceAlignment);
  memory->layout(device, pinned, options);
  Footprint footprint;
  footprint.device = device.bytes();
  footprint.pinned = pinned.bytes();
  return footprint;
}

void NetworkMemory::set_arguments() noexcept {
  const detail::Hierarchy& h = plan_.hierarchy;
  for (int i = 0; i < h.level_count; ++i) {
    const detail::LevelPlan& l = h.level(i);
    arguments_.levels[static_cast<std::size_t>(i)] = {
        .hypercolumns = l.hypercolumns(),
        .first = l.first,
        .columns = l.columns,
        .stride_x = l.shape.stride_x,
        .stride_y = l.shape.stride_y,
        .window_width = l.shape.window_width,
        .window_height = l.shape.window_height,
        .below_first = i == 0 ? -1 : h.level(i - 1).first,
        .below_columns = l.below_columns,
        .below_cells = l.below_cells,
        .inputs = l.inputs,
        .minicolumns = l.shape.minicolumns,
        .padded = l.stride,
        .weights_at = static_cast<std::int64_t>(l.weights_at),
        .minicolumns_at = static_cast<std::int64_t>(l.minicolumns_at)};
  }
  arguments_.level_count = h.level_count;
  arguments_.hypercolumns = h.hypercolumns;
  arguments_.image = image_;
  arguments_.width = h.width;
  arguments_.height = h.height;
  arguments_.lgn = plan_.lgn;
  arguments_.lgn_threshold = plan_.lgn_threshold;
  arguments_.threshold = plan_.threshold;
  arguments_.potentiation = plan_.potentiation;
  arguments_.depression = plan_.depression;
  arguments_.initial_weight = plan_.initial_weight;
  arguments_.stable_wins = plan_.stable_wins;
  arguments_.firing = plan_.firing;
  arguments_.seed = plan_.seed;
}

Expected<void> NetworkMemory::start(Engine& engine, const CorticalNetworkConfig& config,
                                    const NetworkOptions& options, const char* who) noexcept {
  who_ = who;
  if (engine.info().backend != BackendKind::kCuda) {
    return tl::unexpected(
        make_error(Status::kUnsupported, "%s: the engine has no CUDA device", who));
  }
  if (Expected<void> made = detail::make_network_plan(config, plan_); !made) return made;
  const Expected<Footprint> bytes = footprint(config, options);
  if (!bytes) return tl::unexpected(bytes.error());
  if (Expected<void> taken = work_.take(engine, *bytes, who); !taken) return taken;
  detail::LayoutBuilder device(work_.device_memory(), kDeviceAlignment);
  detail::LayoutBuilder pinned(work_.pinned_memory(), kDeviceAlignment);
  layout(device, pinned, options);
  set_arguments();
  *pinned_step_ = {};
  Scope cuda(work_.device(), Phase::kCreating, who_);
  if (Expected<void> done = work_.start(cuda); !done) return done;
  return work_.launch(cuda, network_start_kernel(),
                      dim3(static_cast<unsigned>(arguments_.hypercolumns)), dim3(kNetworkThreads),
                      0, arguments_);
}

Expected<void> NetworkMemory::write_image(const std::uint8_t* image, std::ptrdiff_t stride,
                                          bool learn) noexcept {
  const auto width = static_cast<std::size_t>(arguments_.width);
  const auto height = static_cast<std::size_t>(arguments_.height);
  for (std::size_t y = 0; y < height; ++y)
    std::copy_n(image + static_cast<std::ptrdiff_t>(y) * stride, width, pinned_image_ + y * width);
  pinned_step_->learn = learn ? 1 : 0;
  Scope cuda(work_.device(), Phase::kRunning, who_);
  if (Expected<void> done =
          work_.copy(cuda, image_, pinned_image_, width * height, cudaMemcpyHostToDevice);
      !done)
    return done;
  return work_.copy(cuda, &arguments_.step->learn, &pinned_step_->learn, sizeof(int),
                    cudaMemcpyHostToDevice);
}

Expected<void> NetworkMemory::read(void* to, const void* from, std::size_t bytes) noexcept {
  Scope cuda(work_.device(), Phase::kCreating, who_);
  return work_.download(cuda, to, from, bytes);
}

Expected<void> NetworkMemory::read_winners(int level, int half,
                                           std::span<std::int32_t> winners) noexcept {
  const detail::LevelPlan& l = hierarchy().level(level);
  return read(winners.data(), arguments_.winners + half * arguments_.hypercolumns + l.first,
              static_cast<std::size_t>(l.hypercolumns()) * sizeof(std::int32_t));
}

Expected<void> NetworkMemory::read_weights(int level, int hypercolumn,
                                           std::span<std::uint16_t> weights) noexcept {
  const detail::LevelPlan& l = hierarchy().level(level);
  return read(weights.data(), arguments_.weights + hierarchy().weights_of(level, hypercolumn),
              static_cast<std::size_t>(l.inputs) * static_cast<std::size_t>(l.stride) *
                  sizeof(std::uint16_t));
}

Expected<void> NetworkMemory::read_minicolumns(int level, int hypercolumn,
                                               std::span<std::int32_t> omega,
                                               std::span<std::uint8_t> wins) noexcept {
  const std::size_t at = hierarchy().minicolumns_of(level, hypercolumn);
  const auto count = static_cast<std::size_t>(hierarchy().level(level).stride);
  if (Expected<void> done = read(omega.data(), arguments_.omega + at, count * sizeof(std::int32_t));
      !done)
    return done;
  return read(wins.data(), arguments_.wins + at, count);
}

Expected<void> NetworkMemory::read_responses(int level, int hypercolumn,
                                             std::span<std::int64_t> responses) noexcept {
  if (arguments_.responses == nullptr)
    return tl::unexpected(make_error(Status::kUnsupported, "%s: responses are not kept", who_));
  return read(responses.data(),
              arguments_.responses + hierarchy().minicolumns_of(level, hypercolumn),
              static_cast<std::size_t>(hierarchy().level(level).stride) * sizeof(std::int64_t));
}

// ---- the network

Expected<DeviceNetwork> DeviceNetwork::create(Engine& engine, const CorticalNetworkConfig& config,
                                              const NetworkOptions& options) noexcept {
  std::unique_ptr<NetworkMemory> memory(new (std::nothrow) NetworkMemory);
  if (memory == nullptr) return detail::no_memory_for_operator();
  if (Expected<void> started = memory->start(engine, config, options, kName); !started)
    return tl::unexpected(started.error());
  DeviceNetwork network(std::move(memory));
  DeviceWork& work = network.memory().work();
  Scope cuda(work.device(), Phase::kCreating, kName);
  const Expected<void> made =
      work.finished(cuda, work.make_graph(cuda, [&] { return network.launch_step(cuda); }));
  if (!made) return tl::unexpected(made.error());
  return network;
}

Expected<void> DeviceNetwork::launch_step(Scope& cuda) noexcept {
  DeviceWork& work = memory_->work();
  LevelArguments a{memory_->arguments(), 0};
  const NetworkArguments& network = a.network;
  const auto level = [&](int i) -> const NetworkLevel& {
    return network.levels[static_cast<std::size_t>(i)];
  };
  // The levels that one block computes.
  int top = network.level_count;
  while (top > 0 && level(top - 1).hypercolumns <= kTopHypercolumns &&
         level(top - 1).padded <= kWarpMinicolumns)
    --top;
  const int many = kWarpsEach * work.device().traits().multiprocessors;
  for (a.level = 0; a.level < top; ++a.level) {
    const NetworkLevel& l = level(a.level);
    const bool warps = l.padded <= kWarpMinicolumns &&
                       (l.hypercolumns >= many || l.window_width * l.window_height < 32);
    const int each = warps ? kBlockWarps : 1;
    if (Expected<void> done = work.launch(
            cuda, warps ? network_warp_kernel() : network_block_kernel(),
            dim3(static_cast<unsigned>((l.hypercolumns + each - 1) / each)), dim3(kNetworkThreads),
            0, a, a.level == 0 ? LaunchOrder::kAfter : LaunchOrder::kOverlapping);
        !done)
      return done;
  }
  return work.launch(cuda, network_top_kernel(), dim3(1), dim3(kTopThreads), 0, a,
                     top == 0 ? LaunchOrder::kAfter : LaunchOrder::kOverlapping);
}

Expected<void> DeviceNetwork::step(const std::uint8_t* image, std::ptrdiff_t stride,
                                   bool learn) noexcept {
  if (Expected<void> done = memory_->write_image(image, stride, learn); !done) return done;
  DeviceWork& work = memory_->work();
  Scope cuda(work.device(), Phase::kRunning, kName);
  const auto queue = [&]() -> Expected<void> {
    if (Expected<void> done = work.run_graph(cuda); !done) return done;
    if (Expected<void> done = work.record(cuda, 0); !done) return done;
    return work.wait_for(cuda, 0);
  };
  const Expected<void> done = queue();
  if (done) return done;
  // The pinned image must not change while work reads it.
  Scope failing(work.device(), Phase::kCreating, kName);
  return work.finished(failing, done);
}

Expected<double> DeviceNetwork::step_ms(int repeats) noexcept {
  DeviceWork& work = memory_->work();
  Scope cuda(work.device(), Phase::kCreating, kName);
  return work.time(cuda, repeats, [&] { return work.run_graph(cuda); });
}

}  // namespace ocellus::cuda
