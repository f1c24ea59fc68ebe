// DeviceOperatorLayers: the S-layers of the operator on a CUDA device, launched one by one, so that
// each of them can be timed. In the operator they are parts of a graph. Not part of the library: it
// is linked into the program for `ocellus bench` and into tests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/papers/neocognitron/paper_geometry.h"
#include "core/layout_builder.h"
#include "kernels/core/device_work.h"
#include "kernels/neocognitron/kernels.h"
#include "neocognitron/cpu/layers.h"
#include "ocellus/engine.h"
#include "ocellus/neocognitron_training.h"
#include "ocellus/status.h"

namespace ocellus::paper {

class DeviceOperatorLayers {
 public:
  /// Errors: InvalidArgument (planes, weights and labels do not fit).
  static Expected<Footprint> footprint(const TrainedNeocognitron& network) noexcept;
  /// Takes all memory. Errors: those of `footprint`, Unsupported (on the CPU, or numbers of planes
  /// other than 16 in stage 1), OutOfMemory, those of CUDA.
  static Expected<std::unique_ptr<DeviceOperatorLayers>> create(
      Engine& engine, const TrainedNeocognitron& network) noexcept;

  /// Computes an S-layer for one character. `in`: UG (stage 0) or the C-layer below,
  /// [position][plane]; `out` in the same order. Errors: InvalidArgument (sizes), those of CUDA.
  Expected<void> simple_layer(std::size_t stage, std::span<const float> in,
                              std::span<float> out) noexcept;

  /// Milliseconds of one of `repeats` computations of an S-layer, one after another, with the
  /// inputs of the last call of `simple_layer`. Errors: InvalidArgument (repeats), those of CUDA.
  Expected<double> layer_ms(std::size_t stage, int repeats) noexcept;

 private:
  explicit DeviceOperatorLayers(const PaperGeometry& geometry) noexcept : geometry_(geometry) {}
  Expected<void> start(Engine& engine, const TrainedNeocognitron& network) noexcept;
  /// On the device.
  struct Arrays {
    std::uint16_t* weights = nullptr;
    WindowTap* taps = nullptr;
    float* simple = nullptr;
    std::uint8_t* any = nullptr;
    // The inputs: UG in stage 1, active cells in the others.
    float* contrast = nullptr;
    cuda::ActiveCell* cells = nullptr;
    int* counts = nullptr;
    float* energies = nullptr;
  };

  void layout(detail::LayoutBuilder& device, detail::LayoutBuilder& pinned) noexcept;
  Expected<void> upload_weights(cuda::Scope& cuda, std::size_t stage,
                                const std::vector<float>& weights) noexcept;
  Expected<void> upload_inputs(cuda::Scope& cuda, std::size_t stage,
                               std::span<const float> in) noexcept;
  Expected<void> launch_layer(cuda::Scope& cuda, std::size_t stage) noexcept;
  cuda::SimpleArguments arguments(std::size_t stage) const noexcept;

  std::size_t stride(std::size_t stage) const noexcept {
    return static_cast<std::size_t>(detail::padded_planes(geometry_.planes[stage]));
  }
  std::size_t rows(std::size_t stage) const noexcept {
    return static_cast<std::size_t>(geometry_.simple[stage].taps) *
           static_cast<std::size_t>(geometry_.in_planes[stage]);
  }
  std::size_t positions(std::size_t stage) const noexcept {
    return squared(geometry_.simple[stage].sides.out);
  }

  PaperGeometry geometry_;
  std::array<float, kStages> thresholds_{};
  float bias_ = 0.0f;
  cuda::DeviceWork work_;
  std::array<Arrays, kStages> arrays_;
  int* present_ = nullptr;
};

}  // namespace ocellus::paper
