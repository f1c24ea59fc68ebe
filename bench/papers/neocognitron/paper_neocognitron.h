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

#include "bench/papers/neocognitron/paper_geometry.h"
#include "bench/papers/neocognitron/paper_programs.h"
#include "bench/papers/neocognitron/paper_schedules.h"
#include "core/layout_builder.h"
#include "kernels/core/device_work.h"
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
  kWarps,      ///< B (section 5.7): T5 with a multiple of 32 threads for a position, and rows of
               ///< weights of as many floats; threads without a plane only copy inputs
};

/// Neighboring positions of a block, at most.
inline constexpr int kMostNeighbors = 16;

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
  /// Takes all memory. T4, T5 and B try the numbers of threads of a block that are possible and
  /// take the fastest one for each layer. Errors: those of `footprint`, Unsupported (on the CPU),
  /// OutOfMemory, those of CUDA.
  static Expected<std::unique_ptr<PaperNeocognitron>> create(Engine& engine,
                                                             const TrainedNeocognitron& network,
                                                             SimpleSchedule schedule) noexcept;

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
  Expected<void> simple_layer(std::size_t stage, std::span<const float> in,
                              std::span<float> out) noexcept;
  /// Computes the C-layer behind stage 0 to 2 in the same way.
  Expected<void> complex_layer(std::size_t stage, std::span<const float> in,
                               std::span<float> out) noexcept;

  /// Milliseconds of one of `repeats` computations of an S-layer, one after another, with the
  /// inputs of the last character. Errors: those of CUDA.
  Expected<double> layer_ms(std::size_t stage, int repeats) noexcept;

  /// Threads of a block.
  int threads(std::size_t stage) const noexcept;
  /// T4, T5 and B: the times that creation has measured, in milliseconds. Element i is that of i +
  /// 1 times trial_threads(stage) threads.
  std::span<const double> trials(std::size_t stage) const noexcept {
    return {simple_[stage].trial_ms.data(), simple_[stage].trials};
  }
  int trial_threads(std::size_t stage) const noexcept {
    return static_cast<int>(column_block(stage).x);
  }
  /// What an S-layer does, by the sizes of its arrays: accesses to global memory and operations.
  LayerCounts counts(std::size_t stage) const noexcept;

 private:
  PaperNeocognitron(const PaperGeometry& geometry, SimpleSchedule schedule) noexcept
      : geometry_(geometry), schedule_(schedule) {}
  Expected<void> start(Engine& engine, const TrainedNeocognitron& network) noexcept;
  /// An S-layer with its arrays on the device.
  struct SimpleLayer {
    SharedInputsArguments arguments{};
    InputTable table{};
    float* in = nullptr;
    float* weights = nullptr;
    WindowTap* taps = nullptr;
    int neighbors = 1;  ///< positions of a block: T4, T5 and B
    std::array<double, kMostNeighbors> trial_ms{};
    std::size_t trials = 0;
  };

  void layout(detail::LayoutBuilder& device, detail::LayoutBuilder& pinned) noexcept;
  void set_arguments(const TrainedNeocognitron& network) noexcept;
  Expected<void> upload_window(cuda::Scope& cuda, WindowTap* to, const CellWindow& window) noexcept;
  Expected<void> upload_network(cuda::Scope& cuda, const TrainedNeocognitron& network) noexcept;
  /// Sets `neighbors` of the layer to the fastest number.
  Expected<void> try_threads(cuda::Scope& cuda, std::size_t stage) noexcept;

  Expected<void> launch_simple(cuda::Scope& cuda, std::size_t stage) noexcept;
  /// T4, T5 and B: planes of the inputs of a block that its shared memory holds.
  int chunk(std::size_t stage) const noexcept;
  Expected<void> launch_columns(cuda::Scope& cuda, std::size_t stage) noexcept;
  Expected<void> launch_neighbors(cuda::Scope& cuda, std::size_t stage) noexcept;
  Expected<void> launch_complex(cuda::Scope& cuda, std::size_t stage) noexcept;
  Expected<void> launch_character(cuda::Scope& cuda) noexcept;
  Expected<void> queue_character(cuda::Scope& cuda) noexcept;
  Expected<void> compute_once(
      std::span<const float> in, float* device_in, std::span<float> out, const float* device_out,
      Expected<void> (PaperNeocognitron::*launch_layer)(cuda::Scope&, std::size_t) noexcept,
      std::size_t stage) noexcept;
  Expected<double> time_layer(cuda::Scope& cuda, std::size_t stage, int repeats) noexcept;
  bool shares_inputs() const noexcept { return schedule_ >= SimpleSchedule::kShared; }
  /// Floats of a row of weights.
  int stride(std::size_t stage) const noexcept {
    return schedule_ == SimpleSchedule::kWarps ? geometry_.padded_planes(stage)
                                               : geometry_.planes[stage];
  }
  dim3 column_block(std::size_t stage) const noexcept {
    return dim3(static_cast<unsigned>(std::min(stride(stage), kMaxThreads)));
  }

  PaperGeometry geometry_;
  SimpleSchedule schedule_;
  cuda::DeviceWork work_;
  // On the device.
  float* u0_ = nullptr;
  float* v_ = nullptr;
  float* scores_ = nullptr;
  int* first_ = nullptr;  ///< ScoreArguments::first
  WindowTap* contrast_taps_ = nullptr;
  std::array<SimpleLayer, kStages> simple_;
  std::array<float*, kStages> simple_cells_{};
  std::array<WindowTap*, kComplexStages> complex_taps_{};
  // In pinned memory.
  float* pinned_u0_ = nullptr;
  float* pinned_scores_ = nullptr;
  ContrastLayerArguments contrast_{};
};

}  // namespace ocellus::paper
