#include "cluster/region_flow.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

namespace ocellus::cluster {
namespace {

constexpr int kDerivatives = 3;

SlotPlanes planes_of(const Rect& rect, int planes, PixelFormat format) {
  SlotPlanes result;
  result.rect = rect;
  result.planes = planes;
  result.pixel_bytes = bytes_per_pixel(format);
  result.stride = static_cast<std::size_t>(WindowFlow::row_floats(rect.width)) *
                  static_cast<std::size_t>(result.pixel_bytes);
  return result;
}

std::size_t bytes_of(const SlotPlanes& planes, int slots) {
  return planes.slot_bytes() * static_cast<std::size_t>(slots);
}

Expected<void> take_memory(Engine& engine, SlotPlanes& planes, int slots) noexcept {
  Expected<Buffer> memory = Buffer::create(engine, MemorySpace::kHost, bytes_of(planes, slots));
  if (!memory) return tl::unexpected(memory.error());
  planes.memory = std::move(*memory);
  std::memset(planes.memory->data(), 0, planes.memory->size());
  return {};
}

/// The part within a larger rectangle, relative to it.
Rect inside(const Rect& part, const Rect& whole) {
  return {part.x - whole.x, part.y - whole.y, part.width, part.height};
}

}  // namespace

RegionPlaces RegionPlaces::of(const FlowClusterConfig& config, std::span<const Rect> regions,
                              int rank, const TreeNode& node) {
  const Reach kernel = Reach::of_kernel(config.flow.kernels.nx, config.flow.kernels.ny);
  const ImageSize image = config.flow.size;
  std::vector<Rect> slabs;
  for (int r = rank; r < node.end; ++r)
    slabs.push_back(grow(regions[static_cast<std::size_t>(r)], kernel, image));
  const auto group = regions.subspan(static_cast<std::size_t>(rank),
                                     config.gather ? static_cast<std::size_t>(node.end - rank) : 1);
  RegionPlaces places;
  places.region = regions[static_cast<std::size_t>(rank)];
  places.slab = slabs.front();
  places.halo = grow(places.region, Reach::of_window(config.flow.window), image);
  places.frames = bounding(slabs);
  places.results = bounding(group);
  return places;
}

Expected<std::unique_ptr<RegionFlow>> RegionFlow::create(const EngineConfig& engine,
                                                         const FlowClusterConfig& config,
                                                         const RegionPlaces& places) noexcept {
  const int slots = config.frames_in_flight;
  SpatioTemporalFilterConfig filter;
  filter.size = {places.slab.width, places.slab.height};
  filter.format = config.flow.format;
  filter.roi = inside(places.region, places.slab);
  filter.depth = slots;
  filter.kernels = config.flow.kernels;
  filter.storage = config.flow.storage;
  if (filter.kernels.form == KernelForm::kPerPixel) {
    filter.kernels.image = config.flow.size;
    filter.kernels.image_x = places.slab.x;
    filter.kernels.image_y = places.slab.y;
  }
  WindowFlowConfig window = WindowFlowConfig::of(
      config.flow, {places.halo.width, places.halo.height}, inside(places.region, places.halo));
  window.depth = slots;

  SlotPlanes frames = planes_of(places.frames, 1, config.flow.format);
  SlotPlanes derivatives = planes_of(places.halo, kDerivatives, PixelFormat::kFloat32);
  SlotPlanes results = planes_of(places.results, config.confidence ? 3 : 2, PixelFormat::kFloat32);

  EngineConfig sized = engine;
  const Expected<EngineInfo> info = Engine::probe(engine);
  if (!info) return tl::unexpected(info.error());
  const Expected<Footprint> filter_bytes = SpatioTemporalFilter::footprint(*info, filter);
  if (!filter_bytes) return tl::unexpected(filter_bytes.error());
  const Expected<Footprint> window_bytes = WindowFlow::footprint(*info, window);
  if (!window_bytes) return tl::unexpected(window_bytes.error());
  sized.memory = *filter_bytes + *window_bytes;
  for (const SlotPlanes* planes : {&frames, &derivatives, &results})
    sized.memory += Buffer::footprint(MemorySpace::kHost, bytes_of(*planes, slots));
  Expected<Engine> made = Engine::create(sized);
  if (!made) return tl::unexpected(made.error());
  Expected<SpatioTemporalFilter> filter_made = SpatioTemporalFilter::create(*made, filter);
  if (!filter_made) return tl::unexpected(filter_made.error());
  Expected<WindowFlow> window_made = WindowFlow::create(*made, window);
  if (!window_made) return tl::unexpected(window_made.error());
  std::unique_ptr<RegionFlow> flow(new (std::nothrow) RegionFlow(
      std::move(*made), std::move(*filter_made), std::move(*window_made)));
  if (!flow) return tl::unexpected(make_error(Status::kOutOfMemory, "the system gave no memory"));
  for (SlotPlanes* planes : {&frames, &derivatives, &results}) {
    if (Expected<void> taken = take_memory(flow->engine_, *planes, slots); !taken)
      return tl::unexpected(taken.error());
  }
  flow->places_ = places;
  flow->format_ = config.flow.format;
  flow->confidence_ = config.confidence;
  flow->frames_ = std::move(frames);
  flow->derivatives_ = std::move(derivatives);
  flow->results_ = std::move(results);
  return flow;
}

Expected<void> RegionFlow::start_derivatives(int slot, std::uint64_t sequence,
                                             std::int64_t timestamp_ns) {
  const ImageView pixels = frames_.view(slot, 0, places_.slab, format_);
  Frame frame;
  frame.data = pixels.data;
  frame.size = pixels.size;
  frame.stride = pixels.stride;
  frame.format = format_;
  frame.sequence = sequence;
  frame.timestamp_ns = timestamp_ns;
  OperatorOutput out;
  for (int p = 0; p < kDerivatives; ++p)
    out.planes[static_cast<std::size_t>(p)] =
        derivatives_.view(slot, p, places_.region, PixelFormat::kFloat32);
  Expected<Ticket> ticket = filter_.submit(frame, out);
  if (!ticket) return tl::unexpected(ticket.error());
  derivative_tickets_[slot] = *ticket;
  return {};
}

Expected<void> RegionFlow::start_solution(int slot) {
  const ImageView planes = derivatives_.view(slot, 0, places_.halo, PixelFormat::kFloat32);
  Frame frame;
  frame.data = planes.data;
  frame.size = {planes.size.width, kDerivatives * planes.size.height};
  frame.stride = planes.stride;
  frame.format = PixelFormat::kFloat32;
  Expected<Ticket> ticket = window_.submit(frame, field(slot, places_.region));
  if (!ticket) return tl::unexpected(ticket.error());
  solution_tickets_[slot] = *ticket;
  return {};
}

Expected<FrameInfo> RegionFlow::wait_derivatives(int slot, Deadline deadline) {
  return filter_.wait(derivative_tickets_[slot], deadline);
}

Expected<FrameInfo> RegionFlow::wait_solution(int slot, Deadline deadline) {
  return window_.wait(solution_tickets_[slot], deadline);
}

FlowOutput RegionFlow::field(int slot, const Rect& part) const noexcept {
  FlowOutput out;
  out.u = results_.view(slot, 0, part, PixelFormat::kFloat32);
  out.v = results_.view(slot, 1, part, PixelFormat::kFloat32);
  if (confidence_) out.confidence = results_.view(slot, 2, part, PixelFormat::kFloat32);
  return out;
}

Expected<double> RegionFlow::measure_speed(const EngineConfig& engine,
                                           const FlowClusterConfig& config,
                                           const Rect& region) noexcept {
  // A sample is small enough to be quick, and larger than the caches with per-pixel kernels.
  FlowClusterConfig sample = config;
  sample.frames_in_flight = 1;
  sample.gather = false;
  const Rect part = {region.x, region.y, std::min(region.width, 256), std::min(region.height, 128)};
  const RegionPlaces places = RegionPlaces::of(sample, std::span(&part, 1), 0, TreeNode{-1, 1, {}});
  auto flow = create(engine, sample, places);
  if (!flow) return tl::unexpected(flow.error());
  // The first frames fill the history and the caches.
  constexpr int kFrames = 9;
  constexpr int kWarmUp = 2;
  double best = 0.0;
  for (int i = 0; i < kFrames; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (Expected<void> done = (*flow)->start_derivatives(0, 0, 0); !done)
      return tl::unexpected(done.error());
    if (auto done = (*flow)->wait_derivatives(0, Deadline::never()); !done)
      return tl::unexpected(done.error());
    if (Expected<void> done = (*flow)->start_solution(0); !done)
      return tl::unexpected(done.error());
    if (auto done = (*flow)->wait_solution(0, Deadline::never()); !done)
      return tl::unexpected(done.error());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (i >= kWarmUp) best = std::max(best, 1.0 / std::max(time.count(), 1e-9));
  }
  return best * part.width * part.height;
}

}  // namespace ocellus::cluster
