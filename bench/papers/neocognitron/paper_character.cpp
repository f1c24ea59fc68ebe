#include "bench/papers/neocognitron/paper_character.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "core/failure.h"
#include "core/layout_builder.h"
#include "neocognitron/cpu/layers.h"
#include "neocognitron/half.h"
#include "neocognitron/model_file.h"
#include "neocognitron/normalization.h"
#include "neocognitron/references.h"
#include "training/weight_bank.h"

namespace ocellus::paper {
namespace {

using detail::ActiveCells;
using detail::CellWindow;
using detail::LayoutBuilder;

std::size_t squared(int side) {
  return static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<void, Free>;

AlignedMemory aligned_memory(std::size_t bytes) {
  AlignedMemory memory(
      std::aligned_alloc(kMemoryAlignment, detail::align_up(bytes, kMemoryAlignment)));
  if (memory == nullptr) std::abort();  // as operator new does in code without exceptions
  return memory;
}

/// What the layers need to know of a network.
detail::NeocognitronTable table_of(const TrainedNeocognitron& network) {
  detail::NeocognitronTable table;
  table.parameters = network.parameters;
  table.planes = network.planes;
  table.classes = static_cast<int>(network.names.size());
  for (const std::uint16_t label : network.labels) ++table.references[label];
  return table;
}

std::vector<std::uint16_t> halves_of(const std::vector<float>& weights) {
  std::vector<std::uint16_t> halves(weights.size());
  std::transform(weights.begin(), weights.end(), halves.begin(), detail::half_from_float);
  return halves;
}

}  // namespace

Expected<TrainedNeocognitron> with_planes(const TrainedNeocognitron& network,
                                          const std::array<int, 3>& planes) noexcept {
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const bool references = i + 1 == planes.size();
    const int least = references ? static_cast<int>(network.names.size()) : 1;
    const int most = references ? kMaxReferences : kMaxFeaturePlanes;
    if (planes[i] < least || planes[i] > most) {
      return detail::invalid_argument("planes: stage %zu has %d; it must have %d to %d", i + 2,
                                      planes[i], least, most);
    }
  }
  TrainedNeocognitron out = network;
  out.planes = {network.planes[0], planes[0], planes[1], planes[2]};
  // Plane k of a stage is plane origin(stage, k) of the network.
  const auto origin = [&](std::size_t stage, std::size_t k) {
    return k * static_cast<std::size_t>(network.planes[stage]) /
           static_cast<std::size_t>(out.planes[stage]);
  };
  for (std::size_t stage = 1; stage < out.weights.size(); ++stage) {
    const CellWindow window = detail::simple_window(network.parameters, static_cast<int>(stage));
    const auto taps = static_cast<std::size_t>(window.taps);
    const auto below = static_cast<std::size_t>(out.planes[stage - 1]);
    const auto own = static_cast<std::size_t>(out.planes[stage]);
    const auto from_below = static_cast<std::size_t>(network.planes[stage - 1]);
    const auto from_own = static_cast<std::size_t>(network.planes[stage]);
    const std::vector<float>& from = network.weights[stage];
    std::vector<float>& to = out.weights[stage];
    to.resize(taps * below * own);
    for (std::size_t k = 0; k < own; ++k) {
      double square = 0.0;  // b^2 of (4)
      for (std::size_t tap = 0; tap < taps; ++tap) {
        for (std::size_t kappa = 0; kappa < below; ++kappa) {
          const float a =
              from[(tap * from_below + origin(stage - 1, kappa)) * from_own + origin(stage, k)];
          to[(tap * below + kappa) * own + k] = a;
          square += static_cast<double>(a) * static_cast<double>(a) /
                    static_cast<double>(window.tap[tap].weight);
        }
      }
      // A plane whose inputs were all left out stays silent.
      const auto scale = static_cast<float>(square > 0.0 ? 1.0 / std::sqrt(square) : 0.0);
      for (std::size_t at = k; at < to.size(); at += own)
        to[at] = detail::float_from_half(detail::half_from_float(to[at] * scale));
    }
  }
  out.labels.resize(static_cast<std::size_t>(planes[2]));
  for (std::size_t k = 0; k < out.labels.size(); ++k) out.labels[k] = network.labels[origin(3, k)];
  out.lengths.assign(out.labels.size(), 1.0f);
  return out;
}

TrainedNeocognitron with_paper_windows(const TrainedNeocognitron& network) {
  TrainedNeocognitron out = network;
  // Windows are round: a square of 8x8 without its corners is the nearest to all of it.
  out.parameters.stages[0].s_radius = 3.1f;
  out.parameters.stages[2].c_radius = 4.4f;
  out.weights[0] = detail::edge_weights(out.parameters, detail::contrast_window(out.parameters));
  for (float& weight : out.weights[0])
    weight = detail::float_from_half(detail::half_from_float(weight));
  return out;
}

std::vector<float> normalized_character(const PatchNormalization& normalization,
                                        const std::uint8_t* ink, int width, int height) {
  std::vector<float> u0(squared(kNeocognitronSide));
  const detail::InkImage image{ink, width, height, width};
  detail::PatchTransform transform;
  if (detail::find_transform(image, normalization, transform))
    detail::resample(image, transform, u0.data());
  return u0;
}

// ---- the operator's layers

struct OperatorLayers::Layers {
  detail::NeocognitronTable table;
  CellWindow contrast;
  std::array<CellWindow, kNeocognitronStages> simple_windows;
  std::array<CellWindow, kNeocognitronStages - 1> complex_windows;
  std::array<detail::SimpleLayer, kNeocognitronStages> layers;
  detail::ReferenceClasses classes;
  std::array<std::uint16_t*, kNeocognitronStages> weights{};
  std::array<ActiveCells, kNeocognitronStages> inputs;  ///< UG, UC1 to UC3
  std::array<float*, kNeocognitronStages> simple{};
  std::array<detail::ComplexScratch, kNeocognitronStages - 1> scratch;
  float* v = nullptr;
  std::uint8_t* any = nullptr;
  std::vector<float> scores;
  AlignedMemory memory;

  void layout(LayoutBuilder& builder) {
    std::size_t positions = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const int side = detail::kSimpleSides[i].in;
      const std::size_t cells = squared(side) * static_cast<std::size_t>(layers[i].in_planes);
      inputs[i] = {side,
                   layers[i].in_planes,
                   builder.take<std::uint32_t>(squared(side) + 1),
                   builder.take<std::uint16_t>(cells),
                   builder.take<float>(cells),
                   builder.take<float>(squared(side)),
                   static_cast<std::uint32_t>(cells)};
      weights[i] = builder.take<std::uint16_t>(layers[i].weight_count());
      const std::size_t own = squared(simple_windows[i].sides.out);
      positions = std::max(positions, own);
      // The read-out reads whole vectors from the first reference of a class on.
      simple[i] = builder.take<float>(own * static_cast<std::size_t>(layers[i].stride()) +
                                      detail::kPlaneAlignment);
      if (i == scratch.size()) continue;
      scratch[i] = {
          builder.take<float>(detail::complex_row_sums(complex_windows[i], layers[i].planes)),
          builder.take<std::uint8_t>(squared(detail::kSimpleSides[i].out + 1))};
    }
    v = builder.take<float>(positions);
    any = builder.take<std::uint8_t>(positions);
    classes.layout(table, builder);
  }
};

OperatorLayers::OperatorLayers(const TrainedNeocognitron& network)
    : layers_(std::make_unique<Layers>()) {
  Layers& l = *layers_;
  l.table = table_of(network);
  l.contrast = detail::contrast_window(network.parameters);
  for (std::size_t i = 0; i < l.layers.size(); ++i) {
    const int stage = static_cast<int>(i);
    l.simple_windows[i] = detail::simple_window(network.parameters, stage);
    if (i < l.complex_windows.size())
      l.complex_windows[i] = detail::complex_window(network.parameters, stage);
    l.layers[i] = {&l.simple_windows[i],    detail::planes_below(l.table, stage),
                   network.planes[i],       network.parameters.stages[i].threshold,
                   network.parameters.gain, nullptr};
  }
  LayoutBuilder counting;
  l.layout(counting);
  l.memory = aligned_memory(counting.bytes());
  LayoutBuilder placing(l.memory.get());
  l.layout(placing);
  for (std::size_t i = 0; i < l.layers.size(); ++i) {
    const std::vector<std::uint16_t> halves = halves_of(network.weights[i]);
    detail::place_weights(l.layers[i], halves.data(), l.weights[i]);
    l.layers[i].weights = l.weights[i];
    if (i + 1 < l.layers.size()) continue;
    if (!l.classes.prepare(l.table, halves.data())) std::abort();
  }
  l.scores.resize(network.names.size());
}

OperatorLayers::~OperatorLayers() = default;

LayerTimes OperatorLayers::recognize(const float* u0) {
  Layers& l = *layers_;
  LayerTimes times;
  const Clock::time_point begin = Clock::now();
  detail::contrast_cells(l.contrast, l.table.parameters.contrast_threshold, u0, l.inputs[0]);
  for (std::size_t i = 0; i < l.layers.size(); ++i) {
    const Clock::time_point layer_begin = Clock::now();
    if (i == l.complex_windows.size())
      detail::reference_similarities(l.layers[i], l.inputs[i], l.v, l.simple[i]);
    else
      detail::simple_cells(l.layers[i], l.inputs[i], l.v, l.simple[i], l.any);
    times.simple_ms[i] = ms_since(layer_begin);
    if (i < l.complex_windows.size())
      detail::complex_cells(l.complex_windows[i], l.simple[i], l.any, l.scratch[i],
                            l.inputs[i + 1]);
  }
  l.classes.score(l.simple[3], l.layers[3].stride(), l.scores.data());
  times.character_ms = ms_since(begin);
  return times;
}

PlaneCells OperatorLayers::inputs(int stage) const {
  const ActiveCells& cells = layers_->inputs[static_cast<std::size_t>(stage)];
  PlaneCells out(cells.side, cells.planes);
  for (int p = 0; p < cells.side * cells.side; ++p) {
    const int x = p % cells.side;
    for (std::uint32_t i = cells.begin[p]; i < cells.begin[p + 1]; ++i)
      out.row(cells.key[i] - x * cells.planes, p / cells.side)[x] = cells.value[i];
  }
  return out;
}

PlaneCells OperatorLayers::simple(int stage) const {
  const auto i = static_cast<std::size_t>(stage);
  const detail::SimpleLayer& layer = layers_->layers[i];
  PlaneCells out(layer.window->sides.out, layer.planes);
  const float* from = layers_->simple[i];
  for (int y = 0; y < out.side; ++y)
    for (int x = 0; x < out.side; ++x, from += layer.stride())
      for (int k = 0; k < out.planes; ++k) out.row(k, y)[x] = from[k];
  return out;
}

std::span<const float> OperatorLayers::scores() const noexcept {
  return layers_->scores;
}

double OperatorLayers::active_share(int stage) const noexcept {
  const ActiveCells& cells = layers_->inputs[static_cast<std::size_t>(stage)];
  return static_cast<double>(cells.count()) / static_cast<double>(cells.capacity);
}

}  // namespace ocellus::paper
