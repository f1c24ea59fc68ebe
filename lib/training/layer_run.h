// Runs layers of a network over many images.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "neocognitron/cpu/layers.h"
#include "ocellus/neocognitron_model.h"

namespace ocellus::detail {

/// Memory aligned as the layers need it.
template <typename T>
class AlignedArray {
 public:
  AlignedArray() noexcept = default;
  explicit AlignedArray(std::size_t count)
      : memory_(static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64 + 64))) {
    if (memory_ == nullptr) std::abort();  // as operator new does in code without exceptions
    std::fill_n(memory_.get(), count, T{});
  }
  T* get() const noexcept { return memory_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};
using AlignedFloats = AlignedArray<float>;
using AlignedHalves = AlignedArray<std::uint16_t>;

/// The cells of a layer that are not 0, in as much memory as they need.
struct StoredCells {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint16_t> key;
  std::vector<float> value;
  std::vector<float> energy;
  int side = 0;
  int planes = 0;

  void store(const ActiveCells& cells);
  ActiveCells view() noexcept {
    return {side,
            planes,
            begin.data(),
            key.data(),
            value.data(),
            energy.data(),
            static_cast<std::uint32_t>(value.size())};
  }
};

/// Room for the cells of a layer, however many are not 0.
struct CellsRoom {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint16_t> key;
  std::vector<float> value;
  std::vector<float> energy;
  ActiveCells cells;

  CellsRoom(int side, int planes);
};

/// An S-layer and the C-layer behind it.
class Stage {
 public:
  /// `weights`: [(v * in_planes + kappa) * planes + k].
  Stage(const Stage&) = delete;  // the layer refers to the window
  Stage& operator=(const Stage&) = delete;
  Stage(const NeocognitronParameters& parameters, int stage, int in_planes, int planes,
        const std::vector<float>& weights);

  const CellWindow& window() const noexcept { return simple_window_; }
  const SimpleLayer& layer() const noexcept { return layer_; }

  /// Memory of a thread.
  struct Room {
    explicit Room(const Stage& stage);
    std::vector<float> v;
    AlignedFloats cells;
    std::vector<std::uint8_t> any;
    AlignedFloats row_sums;
    std::vector<std::uint8_t> active;
    CellsRoom out;
  };
  /// Computes room.out, the C-cells of the stage; not for stage 4.
  void run(const ActiveCells& in, Room& room) const;

 private:
  CellWindow simple_window_;
  CellWindow complex_window_;
  AlignedHalves weights_;
  SimpleLayer layer_;
};

}  // namespace ocellus::detail
