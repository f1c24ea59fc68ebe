#include "bench/papers/neocognitron/paper_operator_layers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "core/layout_builder.h"
#include "neocognitron/cpu/layers.h"
#include "neocognitron/half.h"

namespace ocellus::paper {
namespace {

using cuda::ActiveCell;
using cuda::blocks_for;
using cuda::DeviceWork;
using cuda::Phase;
using cuda::Scope;
using cuda::SimpleArguments;
using detail::LayoutBuilder;
using detail::padded_planes;

constexpr const char* kName = "the operator's layers";
constexpr int kOctet = 8;

}  // namespace

void DeviceOperatorLayers::layout(LayoutBuilder& device, LayoutBuilder& /*pinned*/) noexcept {
  for (std::size_t i = 0; i < kStages; ++i) {
    Arrays& a = arrays_[i];
    const std::size_t below = squared(geometry_.simple[i].sides.in);
    a.weights = device.take<std::uint16_t>(rows(i) * stride(i));
    a.taps = device.take<WindowTap>(static_cast<std::size_t>(geometry_.simple[i].taps));
    a.simple = device.take<float>(positions(i) * stride(i));
    a.any = device.take<std::uint8_t>(positions(i));
    if (i == 0) {
      a.contrast = device.take<float>(below);
      continue;
    }
    a.cells = device.take<ActiveCell>(geometry_.input_cells(i));
    a.counts = device.take<int>(below);
    a.energies = device.take<float>(below);
  }
  present_ = device.take<int>(1);
}

Expected<void> DeviceOperatorLayers::start(Engine& engine,
                                           const TrainedNeocognitron& network) noexcept {
  if (network.planes[0] != kEdgePlanes) {
    return tl::unexpected(make_error(Status::kUnsupported, "%s: stage 1 has %d planes, not %d",
                                     kName, network.planes[0], kEdgePlanes));
  }
  OCELLUS_TRY(
      work_.prepare_layout(engine, std::bind_front(&DeviceOperatorLayers::layout, this), kName));
  bias_ = 1.0f / network.parameters.gain;
  Scope cuda(work_.device(), Phase::kCreating, kName);
  OCELLUS_TRY(work_.start(cuda));
  const int present = 1;
  OCELLUS_TRY(work_.upload(cuda, present_, &present, sizeof(present)));
  for (std::size_t i = 0; i < kStages; ++i) {
    const CellWindow& window = geometry_.simple[i];
    thresholds_[i] = network.parameters.stages[i].threshold;
    OCELLUS_TRY(work_.upload(cuda, arrays_[i].taps, window.tap.data(),
                             static_cast<std::size_t>(window.taps) * sizeof(WindowTap)));
    OCELLUS_TRY(upload_weights(cuda, i, network.weights[i]));
  }
  return {};
}

Expected<void> DeviceOperatorLayers::upload_weights(Scope& cuda, std::size_t stage,
                                                    const std::vector<float>& weights) noexcept {
  const auto planes = static_cast<std::size_t>(geometry_.planes[stage]);
  std::vector<std::uint16_t> halves(rows(stage) * stride(stage));
  for (std::size_t row = 0; row < rows(stage); ++row)
    for (std::size_t k = 0; k < planes; ++k)
      halves[row * stride(stage) + k] = detail::half_from_float(weights[row * planes + k]);
  return work_.upload(cuda, arrays_[stage].weights, halves.data(),
                      halves.size() * sizeof(std::uint16_t));
}

Expected<void> DeviceOperatorLayers::upload_inputs(Scope& cuda, std::size_t stage,
                                                   std::span<const float> in) noexcept {
  const Arrays& a = arrays_[stage];
  const std::size_t below = squared(geometry_.simple[stage].sides.in);
  const auto planes = static_cast<std::size_t>(geometry_.in_planes[stage]);
  if (stage == 0) {
    // At most one of the two planes is not 0.
    std::vector<float> contrast(below);
    for (std::size_t p = 0; p < below; ++p)
      contrast[p] = in[kContrastPlanes * p + 1] - in[kContrastPlanes * p];
    return work_.upload(cuda, a.contrast, contrast.data(), below * sizeof(float));
  }
  std::vector<ActiveCell> cells(in.size());
  std::vector<int> counts(below);
  std::vector<float> energies(below);
  for (std::size_t p = 0; p < below; ++p) {
    for (std::size_t k = 0; k < planes; ++k) {
      const float value = in[p * planes + k];
      if (value == 0.0f) continue;
      cells[p * planes + static_cast<std::size_t>(counts[p]++)] = {value, static_cast<int>(k)};
      energies[p] += value * value;
    }
  }
  OCELLUS_TRY(work_.upload(cuda, a.cells, cells.data(), cells.size() * sizeof(ActiveCell)));
  OCELLUS_TRY(work_.upload(cuda, a.counts, counts.data(), below * sizeof(int)));
  return work_.upload(cuda, a.energies, energies.data(), below * sizeof(float));
}

SimpleArguments DeviceOperatorLayers::arguments(std::size_t stage) const noexcept {
  const CellWindow& window = geometry_.simple[stage];
  const Arrays& a = arrays_[stage];
  const int octets = static_cast<int>(stride(stage)) / kOctet;
  SimpleArguments out{};
  out.candidates.count = 1;
  out.candidates.present = present_;
  out.candidates.contrast = a.contrast;
  out.candidates.simple = a.simple;
  out.candidates.any = a.any;
  out.candidates.cells = a.cells;
  out.candidates.counts = a.counts;
  out.candidates.energies = a.energies;
  out.taps = a.taps;
  out.tap_count = window.taps;
  out.side_in = window.sides.in;
  out.side_out = window.sides.out;
  out.first = window.first;
  out.in_planes = geometry_.in_planes[stage];
  out.weights = a.weights;
  out.octets = octets;
  out.block_octets = std::min(octets, cuda::kReferenceOctets);
  out.threshold = thresholds_[stage];
  out.bias = bias_;
  return out;
}

/// As in the operator, for one candidate.
Expected<void> DeviceOperatorLayers::launch_layer(Scope& cuda, std::size_t stage) noexcept {
  const SimpleArguments a = arguments(stage);
  const auto blocks = static_cast<unsigned>(positions(stage));
  if (stage == 0) {
    return work_.launch(cuda, cuda::kEdgeKernel,
                        dim3(blocks_for(blocks, cuda::kEdgeBlockPositions)),
                        dim3(cuda::kEdgeThreads), 0, a);
  }
  if (stage + 1 < kStages && a.octets <= cuda::kNarrowOctets)
    return work_.launch(cuda, cuda::kNarrowKernel,
                        dim3(blocks_for(blocks, cuda::kNarrowBlockPositions)),
                        dim3(cuda::kNarrowThreads), 0, a);
  if (stage + 1 < kStages)
    return work_.launch(cuda, cuda::kSimpleKernel, dim3(blocks), dim3(cuda::kSimpleThreads), 0, a);
  return work_.launch(
      cuda, cuda::kReferenceKernel,
      dim3(blocks, 1, blocks_for(static_cast<std::size_t>(a.octets), a.block_octets)),
      dim3(cuda::kReferenceThreads), 0, a);
}

Expected<void> DeviceOperatorLayers::simple_layer(std::size_t stage, std::span<const float> in,
                                                  std::span<float> out) noexcept {
  if (in.size() != geometry_.input_cells(stage) || out.size() != geometry_.simple_cells(stage)) {
    return detail::invalid_argument("%s: S%zu has %zu inputs and %zu cells, not %zu and %zu", kName,
                                    stage + 1, geometry_.input_cells(stage),
                                    geometry_.simple_cells(stage), in.size(), out.size());
  }
  const std::size_t padded = positions(stage) * stride(stage);
  std::vector<float> cells(padded);
  Scope cuda(work_.device(), Phase::kCreating, kName);
  OCELLUS_TRY(upload_inputs(cuda, stage, in));
  // The kernels do not write positions without an active cell.
  OCELLUS_TRY(work_.clear(cuda, arrays_[stage].simple, padded * sizeof(float)));
  OCELLUS_TRY(work_.finished(cuda, launch_layer(cuda, stage)));
  OCELLUS_TRY(work_.download(cuda, cells.data(), arrays_[stage].simple, padded * sizeof(float)));
  const auto planes = static_cast<std::size_t>(geometry_.planes[stage]);
  for (std::size_t p = 0; p < positions(stage); ++p)
    std::copy_n(cells.begin() + static_cast<std::ptrdiff_t>(p * stride(stage)), planes,
                out.begin() + static_cast<std::ptrdiff_t>(p * planes));
  return {};
}

Expected<double> DeviceOperatorLayers::layer_ms(std::size_t stage, int repeats) noexcept {
  Scope cuda(work_.device(), Phase::kCreating, kName);
  return work_.time(cuda, repeats, [&] { return launch_layer(cuda, stage); });
}

// ---- creation

Expected<Footprint> DeviceOperatorLayers::footprint(const TrainedNeocognitron& network) noexcept {
  OCELLUS_TRY(check_paper_network(network, kName));
  const std::unique_ptr<DeviceOperatorLayers> made(
      new (std::nothrow) DeviceOperatorLayers(PaperGeometry(network)));
  if (!made) return detail::no_memory_for_operator();
  return DeviceWork::footprint_of(std::bind_front(&DeviceOperatorLayers::layout, made.get()));
}

Expected<std::unique_ptr<DeviceOperatorLayers>> DeviceOperatorLayers::create(
    Engine& engine, const TrainedNeocognitron& network) noexcept {
  OCELLUS_TRY(check_paper_network(network, kName));
  std::unique_ptr<DeviceOperatorLayers> made(new (std::nothrow)
                                                 DeviceOperatorLayers(PaperGeometry(network)));
  if (!made) return detail::no_memory_for_operator();
  OCELLUS_TRY(made->start(engine, network));
  return made;
}

}  // namespace ocellus::paper
