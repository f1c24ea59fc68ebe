// PlacedGpus on CUDA: the parts of a placed cortical network on devices, and what goes between
// them.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "core/failure.h"
#include "cortical_network/placed_plan.h"
#include "kernels/core/device_work.h"
#include "kernels/cortical_network/network_parts.h"

namespace ocellus::cuda {
namespace {

using detail::HypercolumnArrays;
using detail::NetworkPiece;
using detail::PieceRun;
using detail::PlacedPart;
using detail::PlacedPlan;
using detail::StepImage;

constexpr const char* kName = "the placed cortical network";

// ---- events of a device

/// The winners of its part are where the next device reads them.
constexpr std::size_t kSplitEnd = 0;
/// The winners that the host needs have arrived.
constexpr std::size_t kStepEnd = 1;
// Of each buffer: loaded, computed, and written back.
constexpr std::size_t kLoaded = 2;
constexpr std::size_t kComputed = 4;
constexpr std::size_t kSaved = 6;
/// The image has arrived.
constexpr std::size_t kImage = 8;
static_assert(kImage < DeviceWork::kEvents);

/// The last step and the one before may both have work that is queued.
constexpr std::size_t kSteps = 2;

/// How winners go to the device where the parts meet.
enum class Gathering : unsigned char { kNone, kSameDevice, kPeer, kPinned };

/// Arrays of a device.
struct GpuArrays {
  NetworkStep* step = nullptr;
  std::array<std::uint8_t*, kSteps> images{};
  std::int32_t* winners = nullptr;
  std::int64_t* responses = nullptr;
  unsigned* arrived = nullptr;
  HypercolumnArrays resident;  ///< the part of the split levels, or what does not move of it
  std::array<std::uint8_t*, 2> buffers{};
  HypercolumnArrays meeting;
  // Pinned.
  NetworkStep* pinned_steps = nullptr;  ///< kSteps
  std::array<std::uint8_t*, kSteps> pinned_images{};
  std::int32_t* pinned_winners = nullptr;
};

std::size_t area(const detail::PixelRange& pixels) noexcept {
  return static_cast<std::size_t>(pixels.x_end - pixels.x_begin) *
         static_cast<std::size_t>(pixels.y_end - pixels.y_begin);
}

/// `turns`: arrays of the pieces that the host keeps; null: only their size counts.
GpuArrays place(const PlacedPlan& plan, int device, detail::LayoutBuilder& on_device,
                detail::LayoutBuilder& pinned, HypercolumnArrays* turns) noexcept {
  const detail::Hierarchy& h = plan.hierarchy();
  const auto hypercolumns = static_cast<std::size_t>(h.hypercolumns);
  GpuArrays arrays;
  arrays.step = on_device.take<NetworkStep>(1);
  arrays.winners = on_device.take<std::int32_t>(hypercolumns);
  arrays.responses = on_device.take<std::int64_t>(hypercolumns);
  arrays.arrived = on_device.take<unsigned>(hypercolumns);
  arrays.pinned_steps = pinned.take<NetworkStep>(kSteps);
  arrays.pinned_winners = pinned.take<std::int32_t>(hypercolumns);
  if (const int split = plan.split_part(device); split != PlacedPlan::kNone) {
    const PlacedPart& part = plan.part(split);
    for (std::uint8_t*& image : arrays.images)
      image = on_device.take<std::uint8_t>(static_cast<std::size_t>(h.width) *
                                           static_cast<std::size_t>(h.height));
    for (std::uint8_t*& image : arrays.pinned_images)
      image = pinned.take<std::uint8_t>(
          area(pixels_of(plan.network, NetworkPiece(plan.network, part.trees))));
    arrays.resident = part.piece(0).place(on_device, PlacementKind::kGpu);
    if (part.streams())
      for (std::uint8_t*& buffer : arrays.buffers)
        buffer = on_device.take<std::uint8_t>(part.buffer_bytes());
    for (int i = 1; i < part.piece_count; ++i) {
      const HypercolumnArrays turn = part.piece(i).place(pinned, PlacementKind::kGpu);
      if (turns != nullptr) turns[i] = turn;
    }
  }
  if (plan.merge_part != PlacedPlan::kNone && plan.part(plan.merge_part).device == device)
    arrays.meeting = plan.part(plan.merge_part).piece(0).place(on_device, PlacementKind::kGpu);
  return arrays;
}

/// A device and what it computes.
struct Gpu {
  DeviceWork work;
  bool used = false;
  int device = 0;  ///< of the placement
  const PlacedPart* split = nullptr;
  const PlacedPart* meeting = nullptr;
  Gathering gathering = Gathering::kNone;
  GpuArrays arrays;
  NetworkArguments network;  ///< with the arrays that all pieces share
  detail::PixelRange pixels;
  std::unique_ptr<HypercolumnArrays[]> turns;  ///< in pinned memory, [piece]; the first is not used
  std::unique_ptr<std::array<WorkGraph, kSteps>[]> graphs;  ///< [piece][image]
  WorkGraph meeting_graph;

  /// Arrays that the device computes from.
  HypercolumnArrays arrays_on_device(int piece) const noexcept {
    if (piece == 0) return arrays.resident;
    detail::LayoutBuilder builder(
        arrays.buffers[static_cast<std::size_t>(PlacedPart::buffer_of(piece))],
        detail::kPieceAlignment);
    return split->piece(piece).place(builder, PlacementKind::kGpu);
  }
};

/// Roots of a part, in arrays of winners.
struct RootRange {
  std::size_t at = 0;
  std::size_t count = 0;

  std::size_t bytes() const noexcept { return count * sizeof(std::int32_t); }
};

RootRange roots_of(const PlacedPlan& plan, const detail::Subtrees& trees) noexcept {
  return {static_cast<std::size_t>(plan.hierarchy().level(trees.end - 1).first + trees.begin_root),
          static_cast<std::size_t>(trees.end_root - trees.begin_root)};
}

class PlacedOnGpus final : public detail::PlacedGpus {
 public:
  explicit PlacedOnGpus(const PlacedPlan& plan) noexcept : plan_(plan) {}
  ~PlacedOnGpus() override {
    for (Gpu& gpu : gpus_) {
      if (!gpu.used || gpu.graphs == nullptr) continue;
      Scope cuda(gpu.work.device(), Phase::kCreating, kName);
      static_cast<void>(gpu.work.settle(cuda));
      if (gpu.split != nullptr)
        for (int i = 0; i < gpu.split->piece_count; ++i)
          for (WorkGraph& graph : gpu.graphs[static_cast<std::size_t>(i)])
            DeviceWork::release(cuda, graph);
      DeviceWork::release(cuda, gpu.meeting_graph);
    }
  }

  Expected<void> create(std::span<const PlacedDevice> devices,
                        std::span<Engine* const> engines) noexcept {
    for (int p = 0; p < plan_.part_count; ++p) {
      const PlacedPart& part = plan_.part(p);
      if (part.on_cpu) continue;
      Gpu& gpu = gpu_of(p);
      gpu.used = true;
      gpu.device = part.device;
      (p == plan_.merge_part ? gpu.meeting : gpu.split) = &part;
    }
    const auto named = [&](const Gpu& gpu, const Expected<void>& done) -> Expected<void> {
      if (done) return {};
      return tl::unexpected(
          detail::on_device(devices[static_cast<std::size_t>(gpu.device)], done.error()));
    };
    // All memory is taken before work begins.
    OCELLUS_TRY(for_each([&](Gpu& gpu) {
      return named(gpu, create_gpu(gpu, *engines[static_cast<std::size_t>(gpu.device)]));
    }));
    return for_each([&](Gpu& gpu) {
      Scope cuda(gpu.work.device(), Phase::kCreating, kName);
      Expected<void> done = gpu.work.finished(cuda, start_part(cuda, gpu));
      if (done) done = choose_gathering(gpu);
      if (done) done = gpu.work.settle(cuda);
      return named(gpu, done);
    });
  }

  Expected<void> begin(const StepImage& image, std::uint64_t step, bool learns) noexcept override {
    slot_ = 1 - slot_;
    return for_each([&](Gpu& gpu) -> Expected<void> {
      Scope cuda(gpu.work.device(), Phase::kRunning, kName);
      NetworkStep& pinned = gpu.arrays.pinned_steps[slot_];
      pinned = {step, learns ? 1 : 0};
      OCELLUS_TRY(gpu.work.copy(cuda, gpu.arrays.step, &pinned, sizeof(NetworkStep),
                                cudaMemcpyHostToDevice));
      if (gpu.split == nullptr) return {};
      OCELLUS_TRY(send_image(cuda, gpu, image));
      if (gpu.split->streams()) return queue_turns(cuda, gpu, learns);
      return gpu.work.run_graph(cuda, gpu.graphs[0][slot_]);
    });
  }

  Expected<void> end(const std::int32_t* winners) noexcept override {
    Gpu* const meeting = meeting_gpu();
    OCELLUS_TRY(for_each([&](Gpu& gpu) -> Expected<void> {
      if (gpu.split == nullptr || &gpu == meeting) return {};
      return send_roots(gpu, meeting);
    }));
    if (meeting == nullptr) return {};
    OCELLUS_TRY(send_roots_of_cpu(*meeting, winners));
    const RootRange roots = roots_of(plan_, meeting->meeting->trees);
    Scope cuda(meeting->work.device(), Phase::kRunning, kName);
    OCELLUS_TRY(meeting->work.run_graph(cuda, meeting->meeting_graph));
    OCELLUS_TRY(meeting->work.copy(cuda, meeting->arrays.pinned_winners + roots.at,
                                   meeting->arrays.winners + roots.at, roots.bytes(),
                                   cudaMemcpyDeviceToHost));
    return meeting->work.record(cuda, kStepEnd);
  }

  Expected<void> wait(std::int32_t* winners) noexcept override {
    const auto fetch = [&](Gpu& gpu, const detail::Subtrees& trees) -> Expected<void> {
      const RootRange roots = roots_of(plan_, trees);
      Scope cuda(gpu.work.device(), Phase::kRunning, kName);
      OCELLUS_TRY(gpu.work.wait_for(cuda, kStepEnd));
      std::copy_n(gpu.arrays.pinned_winners + roots.at, roots.count, winners + roots.at);
      return {};
    };
    Gpu* const meeting = meeting_gpu();
    if (meeting != nullptr) return fetch(*meeting, meeting->meeting->trees);
    return for_each([&](Gpu& gpu) { return fetch(gpu, gpu.split->trees); });
  }

  Expected<void> settle() noexcept override {
    Expected<void> all;
    static_cast<void>(for_each([&](Gpu& gpu) -> Expected<void> {
      Scope cuda(gpu.work.device(), Phase::kCreating, kName);
      if (Expected<void> done = gpu.work.settle(cuda); !done && all) all = done;
      return {};
    }));
    return all;
  }

  Expected<void> read_winners(int level, std::int32_t* winners) noexcept override {
    const detail::LevelPlan& l = plan_.hierarchy().level(level);
    for (int p = 0; p < plan_.part_count; ++p) {
      const PlacedPart& part = plan_.part(p);
      if (part.on_cpu || level < part.trees.first || level >= part.trees.end) continue;
      Gpu& gpu = gpu_of(p);
      Scope cuda(gpu.work.device(), Phase::kCreating, kName);
      OCELLUS_TRY(
          gpu.work.download(cuda, gpu.arrays.pinned_winners + l.first, gpu.arrays.winners + l.first,
                            static_cast<std::size_t>(l.hypercolumns) * sizeof(std::int32_t)));
      NetworkPiece(plan_.network, part.trees)
          .for_each_run(plan_.hierarchy(), level, [&](const PieceRun& run) {
            std::copy_n(gpu.arrays.pinned_winners + l.first + run.begin, run.count(),
                        winners + l.first + run.begin);
            return true;
          });
    }
    return {};
  }

  HypercolumnArrays arrays(int part, int piece) const noexcept override {
    const Gpu& gpu = gpu_of(part);
    if (part == plan_.merge_part) return gpu.arrays.meeting;
    return piece == 0 ? gpu.arrays.resident : gpu.turns[static_cast<std::size_t>(piece)];
  }

  Expected<void> copy(int part, int piece, void* to, const void* from, std::size_t bytes,
                      bool writes) noexcept override {
    if (piece > 0) {
      std::memcpy(to, from, bytes);
      return {};
    }
    Gpu& gpu = gpu_of(part);
    Scope cuda(gpu.work.device(), Phase::kCreating, kName);
    return writes ? gpu.work.upload(cuda, to, from, bytes)
                  : gpu.work.download(cuda, to, from, bytes);
  }

 private:
  Gpu& gpu_of(int part) noexcept {
    return gpus_[static_cast<std::size_t>(plan_.part(part).device)];
  }
  const Gpu& gpu_of(int part) const noexcept {
    return gpus_[static_cast<std::size_t>(plan_.part(part).device)];
  }
  Gpu* meeting_gpu() noexcept {
    return plan_.merge_part == PlacedPlan::kNone ? nullptr : &gpu_of(plan_.merge_part);
  }
  /// Calls body(gpu) for the devices that compute, until one fails.
  template <typename Body>
  Expected<void> for_each(const Body& body) noexcept {
    for (Gpu& gpu : gpus_) {
      if (!gpu.used) continue;
      OCELLUS_TRY(body(gpu));
    }
    return {};
  }

  Expected<void> create_gpu(Gpu& gpu, Engine& engine) noexcept {
    const auto pieces = static_cast<std::size_t>(gpu.split == nullptr ? 1 : gpu.split->piece_count);
    gpu.turns.reset(new (std::nothrow) HypercolumnArrays[pieces]);
    gpu.graphs.reset(new (std::nothrow) std::array<WorkGraph, kSteps>[pieces]);
    if (gpu.turns == nullptr || gpu.graphs == nullptr) {
      gpu.used = false;
      return detail::no_memory_for_operator();
    }
    const Expected<void> taken =
        gpu.work.prepare(engine, detail::placed_gpu_footprint(plan_, gpu.device), kName);
    gpu.used = taken.has_value();
    if (!taken) return taken;
    detail::LayoutBuilder on_device(gpu.work.device_memory(), detail::kPieceAlignment);
    detail::LayoutBuilder pinned(gpu.work.pinned_memory(), detail::kPieceAlignment);
    gpu.arrays = place(plan_, gpu.device, on_device, pinned, gpu.turns.get());
    gpu.network.describe(plan_.network);
    gpu.network.step = gpu.arrays.step;
    gpu.network.winners = gpu.arrays.winners;
    gpu.network.winner_responses = gpu.arrays.responses;
    gpu.network.arrived = gpu.arrays.arrived;
    if (gpu.split != nullptr)
      gpu.pixels = pixels_of(plan_.network, NetworkPiece(plan_.network, gpu.split->trees));
    return {};
  }

  Expected<void> start_part(Scope& cuda, Gpu& gpu) noexcept {
    OCELLUS_TRY(gpu.work.start(cuda));
    const auto start = [&](const NetworkPiece& piece, const HypercolumnArrays& arrays,
                           const HypercolumnArrays* turn) -> Expected<void> {
      const std::size_t bytes = piece.bytes(PlacementKind::kGpu);
      // Padded inputs must be 0.
      if (turn != nullptr) OCELLUS_TRY(gpu.work.clear(cuda, arrays.weights, bytes));
      OCELLUS_TRY(start_piece(cuda, gpu, piece, arrays));
      if (turn == nullptr) return {};
      return gpu.work.copy(cuda, turn->weights, arrays.weights, bytes, cudaMemcpyDeviceToHost);
    };
    const auto make_graph = [&](const NetworkPiece& piece, const HypercolumnArrays& arrays,
                                WorkGraph& graph) {
      return gpu.work.make_graph(cuda, graph,
                                 [&] { return launch_piece(cuda, gpu, piece, arrays); });
    };
    for (int i = 0; gpu.split != nullptr && i < gpu.split->piece_count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const NetworkPiece& piece = gpu.split->piece(i);
      if (piece.empty()) continue;
      const HypercolumnArrays arrays = gpu.arrays_on_device(i);
      OCELLUS_TRY(start(piece, arrays, i == 0 ? nullptr : &gpu.turns[at]));
      for (std::size_t slot = 0; slot < kSteps; ++slot) {
        gpu.network.image = gpu.arrays.images[slot];
        OCELLUS_TRY(make_graph(piece, arrays, gpu.graphs[at][slot]));
      }
    }
    if (gpu.meeting == nullptr) return {};
    OCELLUS_TRY(start(gpu.meeting->piece(0), gpu.arrays.meeting, nullptr));
    return make_graph(gpu.meeting->piece(0), gpu.arrays.meeting, gpu.meeting_graph);
  }

  Expected<void> start_piece(Scope& cuda, Gpu& gpu, const NetworkPiece& piece,
                             const HypercolumnArrays& arrays) noexcept {
    return for_each_range(gpu, piece, arrays, [&](const LevelRange& range) {
      return gpu.work.launch(cuda, kNetworkStartRangeKernel,
                             dim3(static_cast<unsigned>(range.end - range.begin)),
                             dim3(kNetworkThreads), 0, range);
    });
  }

  /// Calls body(range) for the hypercolumns of a piece that lie together, level after level, until
  /// one fails.
  template <typename Body>
  Expected<void> for_each_range(const Gpu& gpu, const NetworkPiece& piece,
                                const HypercolumnArrays& arrays, const Body& body) noexcept {
    LevelRange range{arguments_of(gpu, piece, arrays), 0, 0, 0};
    Expected<void> done;
    for (range.level = piece.trees().first; done && range.level < piece.trees().end;
         ++range.level) {
      piece.for_each_run(plan_.hierarchy(), range.level, [&](const PieceRun& run) {
        set_places(range.network, piece, range.level, run);
        range.begin = run.begin;
        range.end = run.end;
        done = body(range);
        return done.has_value();
      });
    }
    return done;
  }

  Expected<void> launch_piece(Scope& cuda, Gpu& gpu, const NetworkPiece& piece,
                              const HypercolumnArrays& arrays) noexcept {
    const NetworkArguments network = arguments_of(gpu, piece, arrays);
    if (is_range(network, piece)) {
      NetworkPart part{piece.trees().first, piece.trees().end, 0, 0};
      piece.for_each_run(plan_.hierarchy(), part.level, [&](const PieceRun& run) {
        part.begin = run.begin;
        part.end = run.end;
        return false;
      });
      return launch_part(gpu.work, cuda, network, part);
    }
    LaunchOrder order = LaunchOrder::kAfter;
    return for_each_range(gpu, piece, arrays, [&](const LevelRange& range) {
      return gpu.work.launch(
          cuda, kNetworkLevelKernel, dim3(blocks_of(range.end - range.begin, kBlockHypercolumns)),
          dim3(kNetworkThreads), 0, range, std::exchange(order, LaunchOrder::kOverlapping));
    });
  }

  Expected<void> choose_gathering(Gpu& gpu) noexcept {
    Gpu* const to = meeting_gpu();
    if (to == nullptr || to == &gpu) return {};
    const int own = gpu.work.device().number();
    const int other = to->work.device().number();
    if (own == other) {
      gpu.gathering = Gathering::kSameDevice;
      return {};
    }
    gpu.gathering = Gathering::kPinned;
    Scope cuda(gpu.work.device(), Phase::kCreating, kName);
    int can = 0;
    OCELLUS_TRY(cuda(kCudaCalls.can_access_peer, &can, own, other));
    if (can == 0) return {};
    gpu.gathering = Gathering::kPeer;
    return cuda(kCudaCalls.enable_peer_access, other);
  }

  NetworkArguments arguments_of(const Gpu& gpu, const NetworkPiece& piece,
                                const HypercolumnArrays& arrays) const noexcept {
    NetworkArguments network = gpu.network;
    network.weights = arrays.weights;
    network.strong = arrays.strong;
    network.minicolumns = arrays.minicolumns;
    network.wins = arrays.wins;
    network.patterns = arrays.patterns;
    network.level_count = piece.trees().end;
    for (int l = piece.trees().first; l < piece.trees().end; ++l) {
      piece.for_each_run(plan_.hierarchy(), l, [&](const PieceRun& run) {
        set_places(network, piece, l, run);
        return false;
      });
    }
    return network;
  }

  // The kernels compute places from the number of a hypercolumn in its level.
  void set_places(NetworkArguments& network, const NetworkPiece& piece, int level,
                  const PieceRun& run) const noexcept {
    detail::LevelPlan& l = network.levels[static_cast<std::size_t>(level)];
    const detail::PieceLevel& of = piece.level(level);
    // Below 0, it wraps around, and the places of the hypercolumns are right again.
    const auto shift = static_cast<std::size_t>(std::int64_t{run.slot} - run.begin);
    l.weights_at = of.weights_at + shift * l.weights;
    l.strong_at = of.strong_at + shift * l.strong_words();
    l.minicolumns_at = of.minicolumns_at + shift * static_cast<std::size_t>(l.padded);
  }

  /// Is the piece a part in the sense of launch_part()?
  bool is_range(const NetworkArguments& network, const NetworkPiece& piece) const noexcept {
    const detail::Subtrees& trees = piece.trees();
    for (int l = trees.first; l < trees.end; ++l) {
      const bool whole = piece.level(l).hypercolumns == plan_.hierarchy().level(l).hypercolumns;
      const bool row = l == trees.first
                           ? piece.level(l).rects.count == 1 && plan_.hierarchy().level(l).rows == 1
                           : is_tree(network.levels[static_cast<std::size_t>(l)]);
      if (!whole && !row) return false;
    }
    return true;
  }

  // While the device computes the step before. No step before that one has work left, so that its
  // memory is free.
  Expected<void> send_image(Scope& cuda, Gpu& gpu, const StepImage& image) noexcept {
    const detail::PixelRange& box = gpu.pixels;
    const auto width = static_cast<std::size_t>(box.x_end - box.x_begin);
    const auto height = static_cast<std::size_t>(box.y_end - box.y_begin);
    const auto pitch = static_cast<std::size_t>(plan_.hierarchy().width);
    const std::uint8_t* from = image.pixels + box.y_begin * image.stride + box.x_begin;
    std::ptrdiff_t stride = image.stride;
    if (!image.pinned) {
      std::uint8_t* const pinned = gpu.arrays.pinned_images[slot_];
      for (std::size_t y = 0; y < height; ++y)
        std::copy_n(from + static_cast<std::ptrdiff_t>(y) * stride, width, pinned + y * width);
      from = pinned;
      stride = static_cast<std::ptrdiff_t>(width);
    }
    std::uint8_t* const to = gpu.arrays.images[slot_] +
                             static_cast<std::size_t>(box.y_begin) * pitch +
                             static_cast<std::size_t>(box.x_begin);
    const bool joined = width == pitch && stride == static_cast<std::ptrdiff_t>(width);
    if (height == 1 || joined) {
      OCELLUS_TRY(gpu.work.copy(cuda, to, from, width * height, cudaMemcpyHostToDevice,
                                WorkStream::kUpload));
    } else {
      OCELLUS_TRY(gpu.work.copy_rows(cuda, to, pitch, from, static_cast<std::size_t>(stride), width,
                                     height, cudaMemcpyHostToDevice, WorkStream::kUpload));
    }
    OCELLUS_TRY(gpu.work.record(cuda, kImage, WorkStream::kUpload));
    return gpu.work.let_wait(cuda, WorkStream::kCompute, gpu.work, kImage);
  }

  // The pinned copy of a turn is whole again before it is loaded: `kSaved` of its buffer is
  // recorded after it, in a stream.
  Expected<void> queue_turns(Scope& cuda, Gpu& gpu, bool learns) noexcept {
    DeviceWork& work = gpu.work;
    for (int i = 1; i < gpu.split->piece_count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto buffer = static_cast<std::size_t>(PlacedPart::buffer_of(i));
      std::uint8_t* const memory = gpu.arrays.buffers[buffer];
      const std::size_t bytes = gpu.split->piece(i).bytes(PlacementKind::kGpu);
      OCELLUS_TRY(work.let_wait(cuda, WorkStream::kUpload, work, kSaved + buffer));
      OCELLUS_TRY(work.copy(cuda, memory, gpu.turns[at].weights, bytes, cudaMemcpyHostToDevice,
                            WorkStream::kUpload));
      OCELLUS_TRY(work.record(cuda, kLoaded + buffer, WorkStream::kUpload));
      // What stays on the device is computed while the first turn is loaded.
      if (i == 1 && !gpu.split->piece(0).empty())
        OCELLUS_TRY(work.run_graph(cuda, gpu.graphs[0][slot_]));
      OCELLUS_TRY(work.let_wait(cuda, WorkStream::kCompute, work, kLoaded + buffer));
      OCELLUS_TRY(work.run_graph(cuda, gpu.graphs[at][slot_]));
      OCELLUS_TRY(work.record(cuda, kComputed + buffer));
      OCELLUS_TRY(work.let_wait(cuda, WorkStream::kDownload, work, kComputed + buffer));
      if (learns) {
        OCELLUS_TRY(work.copy(cuda, gpu.turns[at].weights, memory, bytes, cudaMemcpyDeviceToHost,
                              WorkStream::kDownload));
      }
      OCELLUS_TRY(work.record(cuda, kSaved + buffer, WorkStream::kDownload));
    }
    return {};
  }

  /// Queues the transfer of the roots' winners to the device where the parts meet, or to the host.
  Expected<void> send_roots(Gpu& from, Gpu* to) noexcept {
    const RootRange roots = roots_of(plan_, from.split->trees);
    std::int32_t* const winners = from.arrays.winners + roots.at;
    std::int32_t* const pinned = from.arrays.pinned_winners + roots.at;
    Scope cuda(from.work.device(), Phase::kRunning, kName);
    if (to == nullptr) {
      OCELLUS_TRY(from.work.copy(cuda, pinned, winners, roots.bytes(), cudaMemcpyDeviceToHost));
      return from.work.record(cuda, kStepEnd);
    }
    std::int32_t* const there = to->arrays.winners + roots.at;
    Expected<void> done;
    if (from.gathering == Gathering::kSameDevice)
      done = from.work.copy(cuda, there, winners, roots.bytes(), cudaMemcpyDeviceToDevice);
    else if (from.gathering == Gathering::kPeer)
      done = from.work.copy_to_peer(cuda, to->work, there, winners, roots.bytes());
    else
      done = from.work.copy(cuda, pinned, winners, roots.bytes(), cudaMemcpyDeviceToHost);
    if (!done) return done;
    OCELLUS_TRY(from.work.record(cuda, kSplitEnd));
    Scope there_cuda(to->work.device(), Phase::kRunning, kName);
    OCELLUS_TRY(to->work.let_wait(there_cuda, WorkStream::kCompute, from.work, kSplitEnd));
    if (from.gathering != Gathering::kPinned) return {};
    return to->work.copy(there_cuda, there, pinned, roots.bytes(), cudaMemcpyHostToDevice);
  }

  Expected<void> send_roots_of_cpu(Gpu& to, const std::int32_t* winners) noexcept {
    for (int p = 0; p < plan_.part_count; ++p) {
      if (!plan_.is_split(p) || !plan_.part(p).on_cpu) continue;
      const RootRange roots = roots_of(plan_, plan_.part(p).trees);
      std::int32_t* const pinned = to.arrays.pinned_winners + roots.at;
      std::copy_n(winners + roots.at, roots.count, pinned);
      Scope cuda(to.work.device(), Phase::kRunning, kName);
      return to.work.copy(cuda, to.arrays.winners + roots.at, pinned, roots.bytes(),
                          cudaMemcpyHostToDevice);
    }
    return {};
  }

  const PlacedPlan& plan_;
  std::size_t slot_ = 0;  ///< of the images that the last step uses
  std::array<Gpu, kMaxPlacementDevices> gpus_;
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

Footprint placed_gpu_footprint(const PlacedPlan& plan, int device) noexcept {
  LayoutBuilder on_device(nullptr, kPieceAlignment);
  LayoutBuilder pinned(nullptr, kPieceAlignment);
  cuda::place(plan, device, on_device, pinned, nullptr);
  Footprint bytes;
  bytes.device = on_device.bytes();
  bytes.pinned = pinned.bytes();
  return bytes;
}

Expected<std::unique_ptr<PlacedGpus>> make_placed_gpus(const PlacedPlan& plan,
                                                       std::span<const PlacedDevice> devices,
                                                       std::span<Engine* const> engines) noexcept {
  std::unique_ptr<cuda::PlacedOnGpus> gpus(new (std::nothrow) cuda::PlacedOnGpus(plan));
  if (gpus == nullptr) return no_memory_for_operator();
  OCELLUS_TRY(gpus->create(devices, engines));
  return std::unique_ptr<PlacedGpus>(std::move(gpus));
}

}  // namespace ocellus::detail
