// PaperNeocognitron: the schedules of Ikeda, Miyamoto, Ino and Hagihara (2011) for the S-layers of
// a neocognitron (section 5), for comparing their speed and results with those of the library. Not
// part of the library: it is linked into the program for `ocellus bench` and into tests.
//
// One character at a time; several objects of an engine with as many stream sets overlap, which the
// paper left open: while one computes a layer of its character, others compute layers of theirs.
// All cells and weights are floats, and all inputs are used, also those
// that are 0. The other layers have a simple kernel each, which all schedules share. Stage 4
// computes the similarities of the operator, which need the same sums as S-cells.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "ocellus/engine.h"
#include "ocellus/neocognitron_training.h"
#include "ocellus/status.h"

namespace ocellus::paper {

/// A schedule has what those before it have, unless it says otherwise.
enum class SimpleSchedule : std::uint8_t {
  kGather,     ///< T1: a thread for each S-cell, 256 in a block; a kernel before it writes v
  kColumn,     ///< T2: a block for the cells of all planes at a position; a launch for each row
  kOneGrid,    ///< T3: one launch for a layer
  kShared,     ///< T4: neighboring positions in a block, inputs in shared memory
  kTabulated,  ///< T5: a table in constant memory has the inputs of the positions at the borders
};

/// Milliseconds by the device's clock.
struct PaperCharacterTimes {
  double upload_ms = 0.0;  ///< U0 from pinned memory
  double compute_ms = 0.0;
  double download_ms = 0.0;  ///< the scores to pinned memory
};

class PaperNeocognitron {
 public:
  /// Errors: InvalidArgument (planes, weights and labels do not fit).
  static Expected<Footprint> footprint(const TrainedNeocognitron& network) noexcept;
  /// Takes all memory. T4 and T5 try the numbers of threads of a block that are possible and take
  /// the fastest one for each layer. Errors: those of `footprint`, Unsupported (on the CPU),
  /// OutOfMemory, those of CUDA.
  static Expected<PaperNeocognitron> create(Engine& engine, const TrainedNeocognitron& network,
                                            SimpleSchedule schedule) noexcept;

  PaperNeocognitron(PaperNeocognitron&& other) noexcept;
  PaperNeocognitron& operator=(PaperNeocognitron&& other) noexcept;
  ~PaperNeocognitron();

  /// Recognizes a character. `u0` has 65x65 floats. `scores` is the largest similarity to a
  /// reference of each class. Errors: InvalidArgument (sizes), those of CUDA.
  Expected<PaperCharacterTimes> recognize(std::span<const float> u0,
                                          std::span<float> scores) noexcept;

  /// The two halves of `recognize`: queues a character and returns, and waits for its scores. There
  /// is one character between them at most. Errors: those of `recognize`.
  Expected<void> begin(std::span<const float> u0) noexcept;
  Expected<PaperCharacterTimes> end(std::span<float> scores) noexcept;

  /// Computes one S-layer. `in`: UG (stage 0) or the C-layer below, [position][plane]; `out` in the
  /// same order. Errors: those of `recognize`.
  Expected<void> simple_layer(int stage, std::span<const float> in, std::span<float> out) noexcept;
  /// Computes the C-layer behind stage 0 to 2 in the same way.
  Expected<void> complex_layer(int stage, std::span<const float> in, std::span<float> out) noexcept;

  /// Milliseconds of one of `repeats` computations of an S-layer, one after another, with the
  /// inputs of the last character. Errors: those of CUDA.
  Expected<double> layer_ms(int stage, int repeats) noexcept;

  /// Threads of a block.
  int threads(int stage) const noexcept;

 private:
  class Layers;
  explicit PaperNeocognitron(std::unique_ptr<Layers> layers) noexcept;
  std::unique_ptr<Layers> layers_;
};

}  // namespace ocellus::paper
