// DeviceOperatorLayers: the S-layers of the operator on a CUDA device, launched one by one, so that
// each of them can be timed. In the operator they are parts of a graph. Not part of the library: it
// is linked into the program for `ocellus bench` and into tests.
#pragma once

#include <memory>
#include <span>

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
  static Expected<DeviceOperatorLayers> create(Engine& engine,
                                               const TrainedNeocognitron& network) noexcept;

  DeviceOperatorLayers(DeviceOperatorLayers&& other) noexcept;
  DeviceOperatorLayers& operator=(DeviceOperatorLayers&& other) noexcept;
  ~DeviceOperatorLayers();

  /// Computes an S-layer for one character. `in`: UG (stage 0) or the C-layer below,
  /// [position][plane]; `out` in the same order. Errors: InvalidArgument (sizes), those of CUDA.
  Expected<void> simple_layer(int stage, std::span<const float> in, std::span<float> out) noexcept;

  /// Milliseconds of one of `repeats` computations of an S-layer, one after another, with the
  /// inputs of the last call of `simple_layer`. Errors: InvalidArgument (repeats), those of CUDA.
  Expected<double> layer_ms(int stage, int repeats) noexcept;

 private:
  class Layers;
  explicit DeviceOperatorLayers(std::unique_ptr<Layers> layers) noexcept;
  std::unique_ptr<Layers> layers_;
};

}  // namespace ocellus::paper
