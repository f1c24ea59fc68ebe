// InkComponents: the connected components of the ink in a frame, as runs of pixels in rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/ink_levels.h"
#include "neocognitron/ink_run.h"
#include "neocognitron/ink_search.h"

namespace ocellus::detail {

/// Finds runs and connects them: `extract` for each half of the rows, `join_halves`, then `find`.
/// All memory is taken by the constructor. Runs and components beyond the capacity are left out,
/// and `truncated` says so.
class InkComponents {
 public:
  static constexpr int kHalves = 2;

  /// As InkArrays::layout.
  InkComponents(ImageSize size, int least_height, bool has_outline, LayoutBuilder& memory) noexcept;

  /// Work memory for a row of thresholds, and for a row of ink.
  static constexpr std::size_t threshold_bytes(int width) noexcept {
    return static_cast<std::size_t>(width) + InkLevels::kMaxBlockSide;
  }
  static constexpr std::size_t ink_words(int width) noexcept {
    return (static_cast<std::size_t>(width) + 63) / 64;
  }

  /// Extracts the runs of the rows [first, end) into `out`, which has room for `capacity` runs, and
  /// sets the number of runs of each row. Returns the number of runs; it is `capacity` + 1 if there
  /// were more. `thresholds` and `ink` are work memory. Ranges of rows may be extracted in parallel
  /// into different memory.
  int extract(const GrayPlane& plane, const InkLevels& levels, int first, int end,
              std::uint8_t* thresholds, std::uint64_t* ink, InkRun* out, int capacity) noexcept;

  /// Extracts the runs of a half of the rows. Both halves may be worked on at the same time.
  void extract(const GrayPlane& plane, const InkLevels& levels, int half) noexcept;
  /// Puts the runs of both halves together.
  void join_halves() noexcept;

  /// Connects the runs, and removes rules and the outline.
  void find() noexcept;

  const InkArrays& arrays() const noexcept { return arrays_; }
  const InkCounts& counts() const noexcept { return counts_; }
  std::span<const InkComponent> components() const noexcept {
    return {arrays_.components, static_cast<std::size_t>(counts_.components)};
  }
  /// All runs, by rows and from left to right. The label of a run whose component was left out is
  /// kNoComponent.
  std::span<const InkRun> runs() const noexcept {
    return {found_, static_cast<std::size_t>(counts_.runs)};
  }
  bool truncated() const noexcept { return counts_.truncated; }
  int run_capacity() const noexcept { return arrays_.run_capacity; }

 private:
  InkArrays arrays_;  // `row_begin`: before `join_halves`, the number of runs of each row
  InkCounts counts_;
  const InkRun* found_ = nullptr;
  struct Half {
    std::uint8_t* thresholds;
    std::uint64_t* ink;  // a bit for each pixel of a row
    int runs;
  };
  std::array<Half, kHalves> halves_{};
};

}  // namespace ocellus::detail
