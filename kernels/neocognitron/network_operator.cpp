#include "kernels/neocognitron/network_operator.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "core/failure.h"
#include "neocognitron/cpu/layers.h"

namespace ocellus::cuda {
namespace {

using detail::kMaxWindowTaps;
using detail::padded_planes;

/// Blocks of candidates that run side by side.
constexpr unsigned kCandidateBlocks = 16;

constexpr int kOctet = 8;  // planes

std::size_t squared(int side) noexcept {
  return static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

/// Memory for arrays that are laid out as on the device.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t bytes) noexcept
      : data_(static_cast<char*>(
            std::aligned_alloc(kDeviceAlignment, detail::align_up(bytes, kDeviceAlignment)))) {}
  ~AlignedBytes() { std::free(data_); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;

  char* data() const noexcept { return data_; }

 private:
  char* data_;
};

}  // namespace

NetworkOperator::NetworkOperator(const detail::NeocognitronPlan& plan, int candidates) noexcept
    : CudaOperator(detail::info_of(plan)), plan_(plan) {
  candidates_.count = candidates;
  const NeocognitronParameters& parameters = table().parameters;
  contrast_window_ = detail::contrast_window(parameters);
  for (std::size_t i = 0; i < kStages; ++i)
    simple_windows_[i] = detail::simple_window(parameters, static_cast<int>(i));
  for (std::size_t i = 0; i < complex_windows_.size(); ++i)
    complex_windows_[i] = detail::complex_window(parameters, static_cast<int>(i));
}

// ---- memory

int NetworkOperator::stride(std::size_t stage) const noexcept {
  return padded_planes(table().planes[stage]);
}

std::size_t NetworkOperator::rows(std::size_t stage) const noexcept {
  return static_cast<std::size_t>(simple_windows_[stage].taps) *
         static_cast<std::size_t>(detail::planes_below(table(), static_cast<int>(stage)));
}

void NetworkOperator::place_network(LayoutBuilder& device) noexcept {
  const std::size_t count = candidate_count();
  candidates_.simple_stride = 0;
  candidates_.cell_stride = 0;
  for (std::size_t i = 0; i < kStages; ++i) {
    const std::size_t positions = squared(simple_windows_[i].sides.out);
    candidates_.simple_stride =
        std::max(candidates_.simple_stride, positions * static_cast<std::size_t>(stride(i)));
    simple_taps_[i] = device.take<WindowTap>(kMaxWindowTaps);
    weights_[i] = device.take<std::uint16_t>(rows(i) * static_cast<std::size_t>(stride(i)));
    if (i == complex_windows_.size()) continue;
    complex_taps_[i] = device.take<WindowTap>(kMaxWindowTaps);
    candidates_.cell_stride =
        std::max(candidates_.cell_stride, squared(complex_windows_[i].sides.out) *
                                              static_cast<std::size_t>(table().planes[i]));
  }
  contrast_taps_ = device.take<WindowTap>(kMaxWindowTaps);
  LayoutBuilder references(nullptr, kDeviceAlignment);
  references_.layout(table(), references);
  reference_arrays_ = device.take<char>(references.bytes());
  classes_ = device.take<DeviceClass>(static_cast<std::size_t>(table().classes));

  candidates_.present = present_ = device.take<int>(1);
  candidates_.progress = device.take<unsigned long long>(count);
  candidates_.capped = device.take<int>(count);
  candidates_.contrast = device.take<float>(count * kContrastCells);
  candidates_.simple = device.take<float>(count * candidates_.simple_stride);
  candidates_.any = device.take<std::uint8_t>(count * kMostPositions);
  candidates_.cells = device.take<ActiveCell>(count * candidates_.cell_stride);
  candidates_.counts = device.take<int>(count * kMostPositions);
  candidates_.energies = device.take<float>(count * kMostPositions);
}

// ---- the model

Expected<void> NetworkOperator::load_kernels(Scope& cuda) noexcept {
  OCELLUS_TRY(load_kernel(cuda, edge_kernel(), 0));
  OCELLUS_TRY(load_kernel(cuda, narrow_kernel(), 0));
  OCELLUS_TRY(load_kernel(cuda, simple_kernel(), 0));
  OCELLUS_TRY(load_kernel(cuda, reference_kernel(), 0));
  for (std::size_t i = 0; i < complex_windows_.size(); ++i)
    OCELLUS_TRY(load_kernel(cuda, complex_kernel(table().planes[i]), 0));
  return load_kernel(cuda, readout_kernel(), 0);
}

Expected<void> NetworkOperator::load_network(Scope& cuda) noexcept {
  OCELLUS_TRY(load_kernels(cuda));
  const auto upload_taps = [&](WindowTap* to, const detail::CellWindow& window) {
    return upload(cuda, to, window.tap.data(),
                  static_cast<std::size_t>(window.taps) * sizeof(WindowTap));
  };
  OCELLUS_TRY(upload_taps(contrast_taps_, contrast_window_));
  for (std::size_t i = 0; i < complex_windows_.size(); ++i)
    OCELLUS_TRY(upload_taps(complex_taps_[i], complex_windows_[i]));
  detail::ModelArrays arrays;
  OCELLUS_TRY(arrays.read_arrays(plan_.model));
  for (std::size_t i = 0; i < kStages; ++i) {
    OCELLUS_TRY(upload_taps(simple_taps_[i], simple_windows_[i]));
    OCELLUS_TRY(load_weights(cuda, i, arrays.weights(static_cast<int>(i))));
  }
  return load_references(cuda, arrays.weights(3));
}

Expected<void> NetworkOperator::load_weights(Scope& cuda, std::size_t stage,
                                             const std::uint16_t* weights) noexcept {
  const auto planes = static_cast<std::size_t>(table().planes[stage]);
  const auto padded = static_cast<std::size_t>(stride(stage));
  const std::size_t count = rows(stage) * padded;
  const std::unique_ptr<std::uint16_t[]> values(new (std::nothrow) std::uint16_t[count]);
  if (!values) return detail::no_memory_for_operator();
  for (std::size_t row = 0; row < rows(stage); ++row) {
    std::uint16_t* const to = values.get() + row * padded;
    std::copy_n(weights + row * planes, planes, to);
    std::fill_n(to + planes, padded - planes, std::uint16_t{0});
  }
  return upload(cuda, weights_[stage], values.get(), count * sizeof(std::uint16_t));
}

Expected<void> NetworkOperator::load_references(Scope& cuda,
                                                const std::uint16_t* weights) noexcept {
  LayoutBuilder counting(nullptr, kDeviceAlignment);
  references_.layout(table(), counting);
  const AlignedBytes arrays(counting.bytes());
  const AlignedBytes work(detail::ReferenceClasses::work_floats(table()) * sizeof(float));
  const std::unique_ptr<DeviceClass[]> classes(
      new (std::nothrow) DeviceClass[static_cast<std::size_t>(table().classes)]);
  if (arrays.data() == nullptr || work.data() == nullptr || !classes)
    return detail::no_memory_for_operator();
  LayoutBuilder placing(arrays.data(), kDeviceAlignment);
  references_.layout(table(), placing);
  references_.prepare(table(), weights, reinterpret_cast<float*>(work.data()));
  const auto on_device = [&](const float* array) {
    return reinterpret_cast<const float*>(reference_arrays_ +
                                          (reinterpret_cast<const char*>(array) - arrays.data()));
  };
  for (int c = 0; c < references_.count(); ++c) {
    const detail::ClassReferences& own = references_.references(c);
    classes[static_cast<std::size_t>(c)] = {on_device(own.products),
                                            on_device(own.scales),
                                            on_device(own.smallest),
                                            own.count,
                                            own.stride,
                                            references_.first(c)};
  }
  OCELLUS_TRY(upload(cuda, reference_arrays_, arrays.data(), counting.bytes()));
  return upload(cuda, classes_, classes.get(),
                static_cast<std::size_t>(table().classes) * sizeof(DeviceClass));
}

// ---- kernels

dim3 NetworkOperator::grid(unsigned blocks) const noexcept {
  return dim3(blocks, std::min(static_cast<unsigned>(candidates_.count), kCandidateBlocks));
}

ContrastArguments NetworkOperator::contrast_arguments(int slot) const noexcept {
  ContrastArguments a{};
  a.frame = params(slot);
  a.state = state();
  a.candidates = candidates_;
  a.deslant = table().normalization.deslant;
  a.extent = table().normalization.extent;
  a.taps = contrast_taps_;
  a.tap_count = contrast_window_.taps;
  a.first = contrast_window_.first;
  a.threshold = table().parameters.contrast_threshold;
  a.capacity = detail::active_capacity(table(), 0, plan_.max_active);
  return a;
}

SimpleArguments NetworkOperator::simple_arguments(std::size_t stage) const noexcept {
  const detail::CellWindow& window = simple_windows_[stage];
  const int octets = stride(stage) / kOctet;
  return {.candidates = candidates_,
          .taps = simple_taps_[stage],
          .tap_count = window.taps,
          .side_in = window.sides.in,
          .side_out = window.sides.out,
          .first = window.first,
          .in_planes = detail::planes_below(table(), static_cast<int>(stage)),
          .weights = weights_[stage],
          .octets = octets,
          .block_octets = std::min(octets, kReferenceOctets),
          .threshold = table().parameters.stages[stage].threshold,
          .bias = 1.0f / table().parameters.gain};
}

ComplexArguments NetworkOperator::complex_arguments(std::size_t stage) const noexcept {
  const detail::CellWindow& window = complex_windows_[stage];
  const auto taps = window.all();
  const auto center =
      std::find_if(taps.begin(), taps.end(), [](const WindowTap& tap) { return tap.weight < 0; });
  return {
      .candidates = candidates_,
      .taps = complex_taps_[stage],
      .center_taps = static_cast<int>(center - taps.begin()),
      .tap_count = window.taps,
      .side_in = window.sides.in,
      .side_out = window.sides.out,
      .first = window.first,
      .planes = table().planes[stage],
      .stride = stride(stage),
      .capacity = detail::active_capacity(table(), static_cast<int>(stage) + 1, plan_.max_active)};
}

Expected<void> NetworkOperator::launch_simple(Scope& cuda, cudaStream_t stream, std::size_t stage,
                                              const SimpleArguments& simple) noexcept {
  const int positions = simple.side_out * simple.side_out;
  if (stage == 0) {
    return launch(cuda, stream, edge_kernel(), grid(block_count(positions, kEdgeBlockPositions)),
                  dim3(kEdgeThreads), 0, simple, true);
  }
  if (simple.octets <= kNarrowOctets) {
    return launch(cuda, stream, narrow_kernel(),
                  grid(block_count(positions, kNarrowBlockPositions)), dim3(kNarrowThreads), 0,
                  simple, true);
  }
  return launch(cuda, stream, simple_kernel(), grid(static_cast<unsigned>(positions)),
                dim3(kSimpleThreads), 0, simple, true);
}

Expected<void> NetworkOperator::launch_layers(Scope& cuda, cudaStream_t stream,
                                              std::uint8_t* complete) noexcept {
  for (std::size_t i = 0; i < kStages; ++i) {
    const SimpleArguments simple = simple_arguments(i);
    const auto positions = static_cast<unsigned>(squared(simple.side_out));
    if (i + 1 == kStages) {
      dim3 blocks = grid(positions);
      blocks.z = block_count(simple.octets, simple.block_octets);
      OCELLUS_TRY(launch(cuda, stream, reference_kernel(), blocks, dim3(kReferenceThreads), 0,
                         simple, true));
      break;
    }
    OCELLUS_TRY(launch_simple(cuda, stream, i, simple));
    const ComplexArguments complex = complex_arguments(i);
    const unsigned blocks =
        block_count(complex.side_out * complex.side_out, kComplexBlockPositions);
    OCELLUS_TRY(launch(cuda, stream, complex_kernel(complex.planes), grid(blocks),
                       dim3(kComplexThreads), 0, complex, true));
  }
  const ReadoutArguments readout{.candidates = candidates_,
                                 .classes = classes_,
                                 .class_count = table().classes,
                                 .stride = stride(3),
                                 .complete = complete};
  return launch(cuda, stream, readout_kernel(), grid(static_cast<unsigned>(table().classes)),
                dim3(kReadoutThreads), 0, readout, true);
}

}  // namespace ocellus::cuda
