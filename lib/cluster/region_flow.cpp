#include "cluster/region_flow.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "cluster/mpi_support.h"
#include "core/engine_state.h"
#include "core/failure.h"

namespace ocellus::cluster {
namespace {

constexpr int kDerivatives = 3;

/// Planes without their memory.
SlotPlanes planes_of(const Rect& rect, int planes, PixelFormat format, MemorySpace space) {
  SlotPlanes result;
  result.space = space;
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
  if (planes.rect.empty()) return {};
  OCELLUS_TRY_ASSIGN(memory, Buffer::create(engine, planes.space, bytes_of(planes, slots)));
  planes.memory = std::move(*memory);
  planes.data = static_cast<char*>(planes.memory->data());
  static constexpr char kZeros[1 << 16] = {};
  const std::size_t size = planes.memory->size();
  for (std::size_t at = 0; at < size; at += sizeof(kZeros)) {
    const std::size_t bytes = std::min(sizeof(kZeros), size - at);
    OCELLUS_TRY(planes.memory->write(at, kZeros, bytes));
  }
  return {};
}

/// Whether MPI reads and writes device memory of the engine. A shared library does not export the
/// functions of a device; they are virtual.
Expected<bool> sends_directly(const Engine& engine, HaloTransfer transfer) noexcept {
  if (transfer == HaloTransfer::kStaged) return false;
  const bool takes = mpi_takes_device_memory();
  const bool current = takes && detail::EngineAccess::state(engine).device()->is_current();
  if (current || transfer != HaloTransfer::kDirect) return current;
  if (!takes) {
    return tl::unexpected(make_error(Status::kUnsupported,
                                     "halo_transfer is kDirect, but this MPI is not CUDA-aware "
                                     "(MPIX_Query_cuda_support); use kAuto or kStaged"));
  }
  return tl::unexpected(
      make_error(Status::kUnsupported,
                 "halo_transfer is kDirect, but CUDA device %d is not the current one of this "
                 "thread; call cudaSetDevice(%d) before, or use kAuto or kStaged",
                 engine.info().device, engine.info().device));
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
  if (config.scatter) places.frames = bounding(slabs);
  if (config.scatter && config.transfer == ClusterTransfer::kCollective) {
    places.frames.height = 0;
    for (const Rect& slab : slabs) places.frames.height += slab.height;
  }
  places.results = bounding(group);
  for (int r = 0; r < static_cast<int>(regions.size()); ++r) {
    if (r == rank) continue;
    const Rect& other = regions[static_cast<std::size_t>(r)];
    const Rect halo = grow(other, Reach::of_window(config.flow.window), image);
    const Neighbor neighbor = {r, halo, intersection(places.halo, other),
                               intersection(places.region, halo)};
    // A window has the same reach on all sides, so that two regions read each other or neither.
    if (!neighbor.from.empty()) places.neighbors.push_back(neighbor);
  }
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
  if (filter.kernels.form != KernelForm::kUniform) {
    filter.kernels.image = config.flow.size;
    filter.kernels.image_x = places.slab.x;
    filter.kernels.image_y = places.slab.y;
  }
  WindowFlowConfig window = WindowFlowConfig::of(
      config.flow, {places.halo.width, places.halo.height}, inside(places.region, places.halo));
  window.depth = slots;

  EngineConfig sized = engine;
  OCELLUS_TRY_ASSIGN(info, Engine::probe(engine));
  const bool on_device = info->backend == BackendKind::kCuda;
  const MemorySpace host = on_device ? MemorySpace::kPinned : MemorySpace::kHost;
  SlotPlanes frames = planes_of(places.frames, 1, config.flow.format, host);
  SlotPlanes derivatives = planes_of(places.halo, kDerivatives, PixelFormat::kFloat32,
                                     on_device ? MemorySpace::kCuda : MemorySpace::kHost);
  std::vector<SlotPlanes> exchange;
  for (const RegionPlaces::Neighbor& neighbor : places.neighbors) {
    for (const Rect& part : {neighbor.from, neighbor.border}) {
      if (on_device && config.halo_transfer != HaloTransfer::kDirect)
        exchange.push_back(
            planes_of(part, kDerivatives, PixelFormat::kFloat32, MemorySpace::kPinned));
    }
  }
  SlotPlanes results = planes_of(
      places.results, config.confidence ? 3 : 2, PixelFormat::kFloat32,
      on_device && config.results_on_device && !config.gather ? MemorySpace::kCuda : host);
  OCELLUS_TRY_ASSIGN(filter_bytes, SpatioTemporalFilter::footprint(*info, filter));
  OCELLUS_TRY_ASSIGN(window_bytes, WindowFlow::footprint(*info, window));
  sized.memory = *filter_bytes + *window_bytes;
  for (const SlotPlanes* planes : {&frames, &derivatives, &results}) {
    if (!planes->rect.empty())
      sized.memory += Buffer::footprint(planes->space, bytes_of(*planes, slots));
  }
  // Whether the halo is staged is known when there is an engine. Without staging this memory
  // remains without use.
  for (const SlotPlanes& planes : exchange)
    sized.memory += Buffer::footprint(planes.space, bytes_of(planes, slots));
  OCELLUS_TRY_ASSIGN(made, Engine::create(sized));
  OCELLUS_TRY_ASSIGN(filter_made, SpatioTemporalFilter::create(*made, filter));
  OCELLUS_TRY_ASSIGN(window_made, WindowFlow::create(*made, window));
  std::unique_ptr<RegionFlow> flow(new (std::nothrow) RegionFlow(
      std::move(*made), std::move(*filter_made), std::move(*window_made)));
  if (!flow) return tl::unexpected(make_error(Status::kOutOfMemory, "the system gave no memory"));
  for (SlotPlanes* planes : {&frames, &derivatives, &results}) {
    OCELLUS_TRY(take_memory(flow->engine_, *planes, slots));
  }
  if (on_device) {
    OCELLUS_TRY_ASSIGN(direct, sends_directly(flow->engine_, config.halo_transfer));
    for (std::unique_ptr<CopyStream>* stream : {&flow->outward_, &flow->inward_}) {
      OCELLUS_TRY_ASSIGN(
          copies, detail::EngineAccess::state(flow->engine_).device()->make_copy_stream(slots));
      *stream = std::move(*copies);
    }
    flow->staged_ = !*direct;
    for (SlotPlanes& planes : exchange) {
      if (!flow->staged_) break;
      OCELLUS_TRY(take_memory(flow->engine_, planes, slots));
      flow->exchange_.push_back(std::move(planes));
    }
  }
  flow->places_ = places;
  flow->format_ = config.flow.format;
  flow->confidence_ = config.confidence;
  flow->frames_ = std::move(frames);
  flow->derivatives_ = std::move(derivatives);
  flow->results_ = std::move(results);
  return flow;
}

Expected<void> RegionFlow::copy(CopyStream& stream, int slot, const SlotPlanes& to,
                                const SlotPlanes& from, const Rect& part,
                                detail::CopyDirection direction) noexcept {
  for (int p = 0; p < kDerivatives; ++p) {
    detail::RowCopy rows;
    rows.to = to.at(slot, p, part.x, part.y);
    rows.to_stride = to.stride;
    rows.from = from.at(slot, p, part.x, part.y);
    rows.from_stride = from.stride;
    rows.row_bytes = static_cast<std::size_t>(part.width) * sizeof(float);
    rows.rows = static_cast<std::size_t>(part.height);
    rows.direction = direction;
    OCELLUS_TRY(stream.copy(rows));
  }
  return {};
}

Expected<detail::SharedPiece> RegionFlow::share_derivatives() noexcept {
  return detail::EngineAccess::state(engine_).device()->share(derivatives_.data);
}

Expected<void> RegionFlow::add_peer(const RegionPlaces::Neighbor& neighbor,
                                    const detail::SharedPiece& derivatives) noexcept {
  OCELLUS_TRY_ASSIGN(memory,
                     detail::EngineAccess::state(engine_).device()->make_peer_memory(derivatives));
  Peer peer;
  peer.rank = neighbor.rank;
  peer.planes = planes_of(neighbor.halo, kDerivatives, PixelFormat::kFloat32, MemorySpace::kCuda);
  peer.planes.data = static_cast<char*>((*memory)->data());
  peer.memory = std::move(*memory);
  peer.part = neighbor.from;
  peers_.push_back(std::move(peer));
  return {};
}

void RegionFlow::remove_peer(int rank) noexcept {
  std::erase_if(peers_, [rank](const Peer& p) { return p.rank == rank; });
}

bool RegionFlow::is_peer(int rank) const noexcept {
  return std::any_of(peers_.begin(), peers_.end(),
                     [rank](const Peer& p) { return p.rank == rank; });
}

const SlotPlanes& RegionFlow::exchanged(const Rect& part) const noexcept {
  const auto found =
      std::find_if(exchange_.begin(), exchange_.end(),
                   [&part](const SlotPlanes& planes) { return planes.rect == part; });
  return found == exchange_.end() ? derivatives_ : *found;
}

Expected<void> RegionFlow::start_derivatives(int slot, const ImageView& slab,
                                             std::uint64_t sequence, std::int64_t timestamp_ns) {
  Frame frame;
  frame.data = slab.data;
  frame.size = slab.size;
  frame.stride = slab.stride;
  frame.format = slab.format;
  frame.space = slab.space;
  frame.stream = slab.stream;
  frame.sequence = sequence;
  frame.timestamp_ns = timestamp_ns;
  OperatorOutput out;
  for (int p = 0; p < kDerivatives; ++p) {
    ImageView& plane = out.planes[static_cast<std::size_t>(p)];
    plane = derivatives_.view(slot, p, places_.region, PixelFormat::kFloat32);
    if (outward_) plane.stream = outward_->handle();
  }
  OCELLUS_TRY_ASSIGN(ticket, filter_.submit(frame, out));
  derivative_tickets_[slot] = *ticket;
  derivative_infos_[slot].reset();
  if (!staged_) return {};
  // The stream waits for the derivatives.
  for (const RegionPlaces::Neighbor& neighbor : places_.neighbors) {
    if (is_peer(neighbor.rank)) continue;
    OCELLUS_TRY(copy(*outward_, slot, exchanged(neighbor.border), derivatives_, neighbor.border,
                     detail::CopyDirection::kToHost));
  }
  return outward_->set_mark(slot);
}

Expected<void> RegionFlow::start_solution(int slot) {
  const ImageView planes = derivatives_.view(slot, 0, places_.halo, PixelFormat::kFloat32);
  Frame frame;
  frame.data = planes.data;
  frame.size = {planes.size.width, kDerivatives * planes.size.height};
  frame.stride = planes.stride;
  frame.format = PixelFormat::kFloat32;
  frame.space = planes.space;
  if (inward_) frame.stream = inward_->handle();
  // The solution waits for the stream.
  for (const RegionPlaces::Neighbor& neighbor : places_.neighbors) {
    if (!staged_ || is_peer(neighbor.rank)) continue;
    OCELLUS_TRY(copy(*inward_, slot, derivatives_, exchanged(neighbor.from), neighbor.from,
                     detail::CopyDirection::kToDevice));
  }
  for (const Peer& peer : peers_) {
    OCELLUS_TRY(copy(*inward_, slot, derivatives_, peer.planes, peer.part,
                     detail::CopyDirection::kBetweenDevices));
  }
  OCELLUS_TRY_ASSIGN(ticket, window_.submit(frame, field(slot, places_.region)));
  solution_tickets_[slot] = *ticket;
  return {};
}

Expected<FrameInfo> RegionFlow::wait_derivatives(int slot, Deadline deadline) {
  std::optional<FrameInfo>& info = derivative_infos_[slot];
  if (!info) {
    OCELLUS_TRY_ASSIGN(done, filter_.wait(derivative_tickets_[slot], deadline));
    info = *done;
  }
  while (staged_) {
    OCELLUS_TRY_ASSIGN(copied, outward_->reached(slot));
    if (*copied) break;
    if (deadline.passed()) {
      return tl::unexpected(make_error(Status::kDeadlineMissed,
                                       "the border of the derivatives is still being copied"));
    }
    sched_yield();
  }
  return *info;
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
  // A sample is small enough to be quick, and larger than the caches with per-pixel kernels. A
  // device needs a larger one, because launches and copies take a time of their own.
  OCELLUS_TRY_ASSIGN(info, Engine::probe(engine));
  const ImageSize most =
      info->backend == BackendKind::kCuda ? ImageSize{1024, 512} : ImageSize{256, 128};
  FlowClusterConfig sample = config;
  sample.frames_in_flight = 1;
  sample.gather = false;
  sample.scatter = true;
  const Rect part = {region.x, region.y, std::min(region.width, most.width),
                     std::min(region.height, most.height)};
  const RegionPlaces places = RegionPlaces::of(sample, std::span(&part, 1), 0, TreeNode{-1, 1, {}});
  OCELLUS_TRY_ASSIGN(flow, create(engine, sample, places));
  // The first frames fill the history and the caches.
  constexpr int kFrames = 9;
  constexpr int kWarmUp = 2;
  double best = 0.0;
  for (int i = 0; i < kFrames; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    OCELLUS_TRY((*flow)->start_derivatives(0, (*flow)->slab(0), 0, 0));
    OCELLUS_TRY((*flow)->wait_derivatives(0, Deadline::never()));
    OCELLUS_TRY((*flow)->start_solution(0));
    OCELLUS_TRY((*flow)->wait_solution(0, Deadline::never()));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (i >= kWarmUp) best = std::max(best, 1.0 / std::max(time.count(), 1e-9));
  }
  return best * part.width * part.height;
}

}  // namespace ocellus::cluster
