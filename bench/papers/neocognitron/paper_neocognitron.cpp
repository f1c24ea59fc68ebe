#include "bench/papers/neocognitron/paper_neocognitron.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <new>
#include <utility>

#include "core/failure.h"
#include "core/layout_builder.h"

namespace ocellus::paper {
namespace {

using cuda::blocks_for;
using cuda::DeviceWork;
using cuda::Phase;
using cuda::Scope;
using detail::LayoutBuilder;

constexpr const char* kName = "the paper's neocognitron";
constexpr std::size_t kU0Pixels =
    static_cast<std::size_t>(kNeocognitronSide) * static_cast<std::size_t>(kNeocognitronSide);

/// Of a block, without a higher limit for the kernel.
constexpr std::size_t kSharedBytes = 48 * 1024;
/// Computations of a layer for each number of threads that is tried, after one more.
constexpr int kTrialRepeats = 5;

static_assert(sizeof(TableArguments) <= 4096, "kernel arguments have 4 KB");

}  // namespace

// ---- memory

void PaperNeocognitron::layout(LayoutBuilder& device, LayoutBuilder& pinned) noexcept {
  std::size_t positions = 0;
  for (std::size_t i = 0; i < kStages; ++i) {
    SimpleLayer& layer = simple_[i];
    layer.in = device.take<float>(geometry_.input_cells(i));
    // Enough for every schedule.
    layer.weights = device.take<float>(geometry_.weight_rows(i) *
                                       static_cast<std::size_t>(geometry_.padded_planes(i)));
    layer.taps = device.take<WindowTap>(static_cast<std::size_t>(geometry_.simple[i].taps));
    simple_cells_[i] = device.take<float>(geometry_.simple_cells(i));
    positions = std::max(positions, squared(geometry_.simple[i].sides.out));
    if (i < kComplexStages)
      complex_taps_[i] =
          device.take<WindowTap>(static_cast<std::size_t>(geometry_.complex[i].taps));
  }
  const auto classes = static_cast<std::size_t>(geometry_.classes);
  u0_ = device.take<float>(kU0Pixels);
  v_ = device.take<float>(positions);
  scores_ = device.take<float>(classes);
  first_ = device.take<int>(classes + 1);
  contrast_taps_ = device.take<WindowTap>(static_cast<std::size_t>(geometry_.contrast.taps));
  pinned_u0_ = pinned.take<float>(kU0Pixels);
  pinned_scores_ = pinned.take<float>(classes);
}

Expected<void> PaperNeocognitron::start(Engine& engine,
                                        const TrainedNeocognitron& network) noexcept {
  OCELLUS_TRY(
      work_.prepare_layout(engine, std::bind_front(&PaperNeocognitron::layout, this), kName));
  set_arguments(network);

  Scope cuda(work_.device(), Phase::kCreating, kName);
  // The trials read all cells.
  OCELLUS_TRY(work_.start(cuda));
  OCELLUS_TRY(upload_network(cuda, network));
  if (!shares_inputs()) return {};
  for (std::size_t i = 0; i < kStages; ++i) OCELLUS_TRY(try_threads(cuda, i));
  return {};
}

void PaperNeocognitron::set_arguments(const TrainedNeocognitron& network) noexcept {
  const CellWindow& contrast = geometry_.contrast;
  contrast_ = {.u0 = u0_,
               .out = simple_[0].in,
               .taps = contrast_taps_,
               .tap_count = contrast.taps,
               .first = contrast.first,
               .side_in = contrast.sides.in,
               .side_out = contrast.sides.out,
               .threshold = network.parameters.contrast_threshold};
  for (std::size_t i = 0; i < kStages; ++i) {
    const CellWindow& window = geometry_.simple[i];
    SimpleLayer& layer = simple_[i];
    layer.arguments.layer = {.in = layer.in,
                             .out = simple_cells_[i],
                             .v = v_,
                             .weights = layer.weights,
                             .taps = layer.taps,
                             .tap_count = window.taps,
                             .first = window.first,
                             .side_in = window.sides.in,
                             .side_out = window.sides.out,
                             .in_planes = geometry_.in_planes[i],
                             .planes = geometry_.planes[i],
                             .stride = stride(i),
                             .first_row = 0,
                             .similarity = i + 1 == kStages,
                             .threshold = network.parameters.stages[i].threshold,
                             .bias = 1.0f / network.parameters.gain};
    set_rectangle(window, layer.arguments);
    layer.arguments.chunk = geometry_.in_planes[i];
    layer.table = make_table(window, layer.arguments);
  }
}

Expected<void> PaperNeocognitron::upload_window(Scope& cuda, WindowTap* to,
                                                const CellWindow& window) noexcept {
  return work_.upload(cuda, to, window.tap.data(),
                      static_cast<std::size_t>(window.taps) * sizeof(WindowTap));
}

Expected<void> PaperNeocognitron::upload_network(Scope& cuda,
                                                 const TrainedNeocognitron& network) noexcept {
  OCELLUS_TRY(upload_window(cuda, contrast_taps_, geometry_.contrast));
  for (std::size_t i = 0; i < kStages; ++i) {
    OCELLUS_TRY(upload_window(cuda, simple_[i].taps, geometry_.simple[i]));
    const std::size_t row = static_cast<std::size_t>(geometry_.planes[i]) * sizeof(float);
    OCELLUS_TRY(work_.copy_rows(
        cuda, simple_[i].weights, static_cast<std::size_t>(stride(i)) * sizeof(float),
        network.weights[i].data(), row, row, geometry_.weight_rows(i), cudaMemcpyHostToDevice));
    if (i == kComplexStages) break;
    OCELLUS_TRY(upload_window(cuda, complex_taps_[i], geometry_.complex[i]));
  }
  std::array<int, kMaxCharacterClasses + 1> first{};
  const auto begin = network.labels.begin();
  for (std::size_t c = 0; c < network.names.size(); ++c)
    first[c + 1] = static_cast<int>(std::upper_bound(begin, network.labels.end(), c) - begin);
  return work_.upload(cuda, first_, first.data(), (network.names.size() + 1) * sizeof(int));
}

// ---- kernels

Expected<void> PaperNeocognitron::launch_simple(Scope& cuda, std::size_t stage) noexcept {
  if (shares_inputs()) return launch_neighbors(cuda, stage);
  if (schedule_ != SimpleSchedule::kGather) return launch_columns(cuda, stage);
  const SimpleLayerArguments& a = simple_[stage].arguments.layer;
  OCELLUS_TRY(work_.launch(cuda, kStrengthKernel,
                           dim3(blocks_for(squared(a.side_out), kCellThreads)), dim3(kCellThreads),
                           0, a));
  return work_.launch(cuda, kGatherCellsKernel,
                      dim3(blocks_for(geometry_.simple_cells(stage), kCellThreads)),
                      dim3(kCellThreads), 0, a);
}

Expected<void> PaperNeocognitron::launch_columns(Scope& cuda, std::size_t stage) noexcept {
  SimpleLayerArguments a = simple_[stage].arguments.layer;
  if (schedule_ == SimpleSchedule::kOneGrid) {
    return work_.launch(cuda, kColumnKernel, dim3(static_cast<unsigned>(squared(a.side_out))),
                        column_block(stage), 0, a);
  }
  for (; a.first_row < a.side_out; ++a.first_row) {
    OCELLUS_TRY(work_.launch(cuda, kColumnKernel, dim3(static_cast<unsigned>(a.side_out)),
                             column_block(stage), 0, a));
  }
  return {};
}

int PaperNeocognitron::chunk(std::size_t stage) const noexcept {
  SharedInputsArguments one = simple_[stage].arguments;
  one.chunk = 1;
  const std::size_t plane_bytes = shared_input_bytes(one, simple_[stage].neighbors);
  return static_cast<int>(
      std::min(kSharedBytes / plane_bytes, static_cast<std::size_t>(one.layer.in_planes)));
}

Expected<void> PaperNeocognitron::launch_neighbors(Scope& cuda, std::size_t stage) noexcept {
  const SimpleLayer& layer = simple_[stage];
  TableArguments a{layer.arguments, layer.table};
  a.shared.chunk = chunk(stage);
  const int side = a.shared.layer.side_out;
  const dim3 grid(blocks_for(static_cast<std::size_t>(side), layer.neighbors),
                  static_cast<unsigned>(side));
  const dim3 block(column_block(stage).x, static_cast<unsigned>(layer.neighbors));
  const std::size_t bytes = shared_input_bytes(a.shared, layer.neighbors);
  if (schedule_ == SimpleSchedule::kShared)
    return work_.launch(cuda, kSharedInputsKernel, grid, block, bytes, a.shared);
  return work_.launch(cuda, kInputTableKernel, grid, block, bytes, a);
}

Expected<void> PaperNeocognitron::launch_complex(Scope& cuda, std::size_t stage) noexcept {
  const CellWindow& window = geometry_.complex[stage];
  const ComplexLayerArguments a{.in = simple_cells_[stage],
                                .out = simple_[stage + 1].in,
                                .taps = complex_taps_[stage],
                                .tap_count = window.taps,
                                .first = window.first,
                                .side_in = window.sides.in,
                                .side_out = window.sides.out,
                                .pitch = window.sides.pitch,
                                .planes = geometry_.planes[stage]};
  return work_.launch(cuda, kComplexLayerKernel,
                      dim3(blocks_for(geometry_.input_cells(stage + 1), kCellThreads)),
                      dim3(kCellThreads), 0, a);
}

Expected<void> PaperNeocognitron::launch_character(Scope& cuda) noexcept {
  OCELLUS_TRY(work_.launch(cuda, kContrastLayerKernel,
                           dim3(blocks_for(squared(contrast_.side_out), kCellThreads)),
                           dim3(kCellThreads), 0, contrast_));
  for (std::size_t i = 0; i < kStages; ++i) {
    OCELLUS_TRY(launch_simple(cuda, i));
    if (i == kComplexStages) break;
    OCELLUS_TRY(launch_complex(cuda, i));
  }
  const ScoreArguments a{.similarities = simple_cells_[kComplexStages],
                         .scores = scores_,
                         .first = first_,
                         .positions = static_cast<int>(squared(geometry_.simple[3].sides.out)),
                         .references = geometry_.planes[3]};
  return work_.launch(cuda, kScoreKernel, dim3(static_cast<unsigned>(geometry_.classes)),
                      dim3(kCellThreads), 0, a);
}

// ---- running

Expected<void> PaperNeocognitron::queue_character(Scope& cuda) noexcept {
  OCELLUS_TRY(work_.record(cuda, 0));
  OCELLUS_TRY(work_.copy(cuda, u0_, pinned_u0_, kU0Pixels * sizeof(float), cudaMemcpyHostToDevice));
  OCELLUS_TRY(work_.record(cuda, 1));
  OCELLUS_TRY(launch_character(cuda));
  OCELLUS_TRY(work_.record(cuda, 2));
  OCELLUS_TRY(work_.copy(cuda, pinned_scores_, scores_,
                         static_cast<std::size_t>(geometry_.classes) * sizeof(float),
                         cudaMemcpyDeviceToHost));
  return work_.record(cuda, 3);
}

Expected<void> PaperNeocognitron::begin(std::span<const float> u0) noexcept {
  if (u0.size() != kU0Pixels) {
    return detail::invalid_argument("%s: a character has %zu pixels; there must be %zu", kName,
                                    u0.size(), kU0Pixels);
  }
  Scope cuda(work_.device(), Phase::kCreating, kName);
  std::copy(u0.begin(), u0.end(), pinned_u0_);
  return work_.finished(cuda, queue_character(cuda));
}

Expected<PaperCharacterTimes> PaperNeocognitron::end(std::span<float> scores) noexcept {
  const auto classes = static_cast<std::size_t>(geometry_.classes);
  if (scores.size() != classes) {
    return detail::invalid_argument("%s: there is room for %zu scores; there must be %zu", kName,
                                    scores.size(), classes);
  }
  Scope cuda(work_.device(), Phase::kCreating, kName);
  OCELLUS_TRY(work_.finished(cuda, work_.wait_for(cuda, 3)));
  std::copy_n(pinned_scores_, classes, scores.begin());
  OCELLUS_TRY_ASSIGN(upload, work_.elapsed(cuda, 0, 1));
  OCELLUS_TRY_ASSIGN(compute, work_.elapsed(cuda, 1, 2));
  OCELLUS_TRY_ASSIGN(download, work_.elapsed(cuda, 2, 3));
  return PaperCharacterTimes{*upload, *compute, *download};
}

Expected<void> PaperNeocognitron::compute_once(
    std::span<const float> in, float* device_in, std::span<float> out, const float* device_out,
    Expected<void> (PaperNeocognitron::*launch_layer)(Scope&, std::size_t) noexcept,
    std::size_t stage) noexcept {
  Scope cuda(work_.device(), Phase::kCreating, kName);
  OCELLUS_TRY(work_.upload(cuda, device_in, in.data(), in.size_bytes()));
  OCELLUS_TRY(work_.finished(cuda, (this->*launch_layer)(cuda, stage)));
  return work_.download(cuda, out.data(), device_out, out.size_bytes());
}

Expected<void> PaperNeocognitron::simple_layer(std::size_t stage, std::span<const float> in,
                                               std::span<float> out) noexcept {
  if (in.size() != geometry_.input_cells(stage) || out.size() != geometry_.simple_cells(stage)) {
    return detail::invalid_argument("%s: S%zu has %zu inputs and %zu cells, not %zu and %zu", kName,
                                    stage + 1, geometry_.input_cells(stage),
                                    geometry_.simple_cells(stage), in.size(), out.size());
  }
  return compute_once(in, simple_[stage].in, out, simple_cells_[stage],
                      &PaperNeocognitron::launch_simple, stage);
}

Expected<void> PaperNeocognitron::complex_layer(std::size_t stage, std::span<const float> in,
                                                std::span<float> out) noexcept {
  if (in.size() != geometry_.simple_cells(stage) ||
      out.size() != geometry_.input_cells(stage + 1)) {
    return detail::invalid_argument("%s: C%zu has %zu inputs and %zu cells, not %zu and %zu", kName,
                                    stage + 1, geometry_.simple_cells(stage),
                                    geometry_.input_cells(stage + 1), in.size(), out.size());
  }
  return compute_once(in, simple_cells_[stage], out, simple_[stage + 1].in,
                      &PaperNeocognitron::launch_complex, stage);
}

Expected<double> PaperNeocognitron::time_layer(Scope& cuda, std::size_t stage,
                                               int repeats) noexcept {
  return work_.time(cuda, repeats, [&] { return launch_simple(cuda, stage); });
}

Expected<double> PaperNeocognitron::layer_ms(std::size_t stage, int repeats) noexcept {
  Scope cuda(work_.device(), Phase::kCreating, kName);
  return time_layer(cuda, stage, repeats);
}

Expected<void> PaperNeocognitron::try_threads(Scope& cuda, std::size_t stage) noexcept {
  SimpleLayer& layer = simple_[stage];
  const int most = std::min({kMaxThreads / static_cast<int>(column_block(stage).x),
                             geometry_.simple[stage].sides.out, kMostNeighbors});
  int best = 1;
  double best_ms = 0.0;
  for (layer.neighbors = 1; layer.neighbors <= most; ++layer.neighbors) {
    OCELLUS_TRY_ASSIGN(ms, time_layer(cuda, stage, kTrialRepeats));
    layer.trial_ms[layer.trials++] = *ms;
    if (layer.neighbors > 1 && *ms >= best_ms) continue;
    best = layer.neighbors;
    best_ms = *ms;
  }
  layer.neighbors = best;
  return {};
}

int PaperNeocognitron::threads(std::size_t stage) const noexcept {
  if (schedule_ == SimpleSchedule::kGather) return kCellThreads;
  return static_cast<int>(column_block(stage).x) * simple_[stage].neighbors;
}

LayerCounts PaperNeocognitron::counts(std::size_t stage) const noexcept {
  constexpr std::size_t kResponse = 6;  // operations of (1) behind its sums
  const SharedInputsArguments& a = simple_[stage].arguments;
  const CellWindow& window = geometry_.simple[stage];
  const auto planes = static_cast<std::size_t>(geometry_.planes[stage]);
  const std::size_t positions = squared(window.sides.out);
  // Inputs of the cells of a plane, and the same for all planes.
  const std::size_t inputs =
      geometry_.plane_inputs(stage) * static_cast<std::size_t>(geometry_.in_planes[stage]);
  const std::size_t all = inputs * planes;
  LayerCounts counts;
  counts.cell_writes = positions * planes;
  counts.weight_reads = all;
  if (schedule_ == SimpleSchedule::kGather) {
    counts.input_reads = all;
    counts.energy_reads = inputs;
    counts.v_writes = positions;
    counts.v_reads = counts.cell_writes;
    counts.operations = 2 * all + 3 * inputs + positions + kResponse * counts.cell_writes;
    counts.instructions = 3 * all + 3 * inputs;
    return counts;
  }
  // Each thread computes v of its position, too.
  counts.operations = 5 * all + (1 + kResponse) * counts.cell_writes;
  counts.instructions = 5 * all;
  counts.input_reads = all;
  if (!shares_inputs()) return counts;
  // Cells along an axis that blocks of `side` positions copy to shared memory.
  const auto copied = [&](int side, int before, int extent) {
    std::size_t cells = 0;
    for (int first = 0; first < window.sides.out; first += side) {
      const int begin = window.first + first + before;
      const int end = std::min(begin + extent + side - 1, window.sides.in);
      cells += static_cast<std::size_t>(std::max(0, end - std::max(0, begin)));
    }
    return cells;
  };
  const auto threads = static_cast<std::size_t>(column_block(stage).x);
  const std::size_t passes =
      chunk(stage) < geometry_.in_planes[stage] ? (planes + threads - 1) / threads : 1;
  counts.input_reads = copied(simple_[stage].neighbors, a.left, a.width) *
                       copied(1, a.top, a.height) *
                       static_cast<std::size_t>(geometry_.in_planes[stage]) * passes;
  return counts;
}

// ---- creation

Expected<Footprint> PaperNeocognitron::footprint(const TrainedNeocognitron& network) noexcept {
  OCELLUS_TRY(check_paper_network(network, kName));
  const std::unique_ptr<PaperNeocognitron> made(
      new (std::nothrow) PaperNeocognitron(PaperGeometry(network), SimpleSchedule::kGather));
  if (!made) return detail::no_memory_for_operator();
  return cuda::DeviceWork::footprint_of(std::bind_front(&PaperNeocognitron::layout, made.get()));
}

Expected<std::unique_ptr<PaperNeocognitron>> PaperNeocognitron::create(
    Engine& engine, const TrainedNeocognitron& network, SimpleSchedule schedule) noexcept {
  OCELLUS_TRY(check_paper_network(network, kName));
  std::unique_ptr<PaperNeocognitron> made(new (std::nothrow)
                                              PaperNeocognitron(PaperGeometry(network), schedule));
  if (!made) return detail::no_memory_for_operator();
  OCELLUS_TRY(made->start(engine, network));
  return made;
}

Expected<PaperCharacterTimes> PaperNeocognitron::recognize(std::span<const float> u0,
                                                           std::span<float> scores) noexcept {
  OCELLUS_TRY(begin(u0));
  return end(scores);
}

}  // namespace ocellus::paper
