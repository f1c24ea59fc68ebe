// PaperNetwork: the CPU programs of Ikeda, Miyamoto, Ino and Hagihara (2011), for comparing their
// speed and results with those of the library. Not part of the library: it is linked into the
// program for `ocellus bench` and into tests.
//
// The programs differ in the S-layers. They are plain scalar code for one thread, with floats and
// with the cells of a plane side by side. Stage 4 computes the similarities of the operator, which
// need the same sums as S-cells.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neocognitron/cpu/tap_rows.h"
#include "neocognitron/geometry.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::paper {

/// Cells of a layer, plane after plane, row after row.
struct PlaneCells {
  int side = 0;
  int planes = 0;
  std::vector<float> values;

  PlaneCells() = default;
  PlaneCells(int cells_along_axis, int plane_count)
      : side(cells_along_axis),
        planes(plane_count),
        values(plane_cells() * static_cast<std::size_t>(plane_count)) {}

  std::size_t plane_cells() const noexcept {
    return static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  }
  float* row(int plane, int y) noexcept { return values.data() + at(plane, y); }
  const float* row(int plane, int y) const noexcept { return values.data() + at(plane, y); }

 private:
  std::size_t at(int plane, int y) const noexcept {
    return static_cast<std::size_t>(plane) * plane_cells() +
           static_cast<std::size_t>(y) * static_cast<std::size_t>(side);
  }
};

/// The same cells with the planes of a position side by side: [position][plane].
std::vector<float> by_position(const PlaneCells& cells);
PlaneCells by_plane(std::span<const float> cells, int side, int planes);

enum class CpuProgram : std::uint8_t {
  kScatterActive,  ///< F: adds each input that is not 0 to the cells that read it
  kScatterAll,     ///< S: F without the test for 0
  kGather,         ///< G: adds up the inputs of each cell; the ranges of inputs come from a table
  // With cache blocking (section 6.2).
  kScatterBlocks,  ///< F for some planes after the others
  kGatherTiles,    ///< G for some positions after the others, plane by plane
};

/// What a layer does with arrays of floats, and its operations. A multiplication and an addition
/// are two of them.
struct LayerCounts {
  std::uint64_t cell_reads = 0;  ///< S-cells
  std::uint64_t cell_writes = 0;
  std::uint64_t v_reads = 0;
  std::uint64_t v_writes = 0;
  std::uint64_t input_reads = 0;   ///< cells of the layer below, for the numerator of (1), or for
                                   ///< both sums at once
  std::uint64_t energy_reads = 0;  ///< cells of the layer below, for (2) alone
  std::uint64_t weight_reads = 0;  ///< a and c
  std::uint64_t operations = 0;
  /// Schedules of a device: loads, multiplications, and additions with a multiplication, without
  /// those of loops and addresses.
  std::uint64_t instructions = 0;

  LayerCounts& operator+=(const LayerCounts& other) noexcept;
  double bytes() const noexcept {
    return sizeof(float) * static_cast<double>(cell_reads + cell_writes + v_reads + v_writes +
                                               input_reads + energy_reads + weight_reads);
  }
};

/// An S-layer.
class PlaneSimpleLayer {
 public:
  PlaneSimpleLayer(const TrainedNeocognitron& network, int stage);

  /// Computes all cells. `in` and `out` have the sides and planes of the layer. With `counts`, also
  /// adds what the program does, which takes longer.
  void run(CpuProgram program, const PlaneCells& in, PlaneCells& out,
           LayerCounts* counts = nullptr);

  int side_in() const noexcept { return window_.sides.in; }
  int side_out() const noexcept { return window_.sides.out; }
  int in_planes() const noexcept { return in_planes_; }
  int planes() const noexcept { return planes_; }

 private:
  /// First and last + 1.
  struct Range {
    int begin = 0;
    int end = 0;
  };

  template <typename Tally>
  void run_program(CpuProgram program, const PlaneCells& in, PlaneCells& out, Tally tally);
  /// `block`: planes that are computed together.
  template <bool test, typename Tally>
  void scatter(const PlaneCells& in, PlaneCells& out, int block, Tally tally);
  /// `side`: of the square of positions that are computed together.
  template <int side, typename Tally>
  void gather(const PlaneCells& in, PlaneCells& out, Tally tally);
  /// e of plane k at (x, y). With `with_energy`, also v^2.
  template <bool with_energy, typename Tally>
  float excite(const PlaneCells& in, int k, int x, int y, float& energy, Tally tally) const;
  float respond(float e, float v) const;
  /// Cells along an axis that read input `at` by the neighboring taps `first` to
  /// `first + count - 1`, as a range of these taps.
  Range readers(int at, int first, int count) const;
  const float* weights(int k, int kappa) const {
    return weights_.data() + (static_cast<std::size_t>(k) * static_cast<std::size_t>(in_planes_) +
                              static_cast<std::size_t>(kappa)) *
                                 static_cast<std::size_t>(window_.taps);
  }

  detail::CellWindow window_;
  detail::TapRows rows_;
  int in_planes_;
  int planes_;
  bool similarity_;
  float threshold_;
  float bias_;
  std::vector<float> weights_;  ///< [k][kappa][tap]
  std::vector<float> v_;
  // The table of G: the rows of taps that are inside for each y, and the columns of the layer below
  // for each row of taps and each x.
  std::vector<Range> inside_rows_;
  std::vector<Range> inside_columns_;
};

using Clock = std::chrono::steady_clock;

inline double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Milliseconds.
struct LayerTimes {
  std::array<double, kNeocognitronStages> simple_ms{};  ///< S1 to S4
  double character_ms = 0.0;                            ///< from U0 to UC4
};

/// All layers. UG, the C-layers and UC4 are the same code for all programs.
class PaperNetwork {
 public:
  /// `network` must be one that `encode_neocognitron` accepts.
  explicit PaperNetwork(const TrainedNeocognitron& network);

  using Counts = std::array<LayerCounts, kNeocognitronStages>;

  /// Recognizes a character. `u0` has 65x65 floats. With `counts`, also adds what S1 to S4 do,
  /// which takes longer.
  LayerTimes recognize(CpuProgram program, const float* u0, Counts* counts = nullptr);
  /// The largest similarity to a reference of each class.
  std::span<const float> scores() const noexcept { return scores_; }

  PlaneSimpleLayer& layer(int stage) { return layers_[static_cast<std::size_t>(stage)]; }

 private:
  void write_contrast(const float* u0);
  /// Adds each S-cell that is not 0 to the C-cells that read it.
  void write_complex(std::size_t stage);
  void write_scores();

  float contrast_threshold_;
  detail::CellWindow contrast_;
  std::array<detail::CellWindow, kNeocognitronStages - 1> complex_;
  std::vector<PlaneSimpleLayer> layers_;
  std::array<PlaneCells, kNeocognitronStages> inputs_;  ///< UG, UC1 to UC3
  std::array<PlaneCells, kNeocognitronStages> simple_;
  std::vector<std::uint16_t> labels_;
  std::vector<float> scores_;
};

}  // namespace ocellus::paper
