// InkComponents: the connected components of the ink in a frame, as runs of pixels in rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/ink_levels.h"

namespace ocellus::detail {

/// Consecutive pixels of ink in a row.
struct InkRun {
  std::uint16_t y;
  std::uint16_t first;
  std::uint16_t end;       ///< one past the last pixel
  std::uint16_t contrast;  ///< mean difference to the background, in 1/64 of a gray level
  std::uint32_t label;     ///< the component, after `connect`
};

/// A set of ink that is connected over the eight neighbors of a pixel.
struct InkComponent {
  int left;
  int top;
  int right;              ///< one past the last column
  int bottom;             ///< one past the last row
  std::int64_t area;      ///< pixels
  std::int64_t contrast;  ///< sum over the pixels of the runs' contrasts
  int runs;

  int width() const noexcept { return right - left; }
  int height() const noexcept { return bottom - top; }
  float mean_run() const noexcept { return static_cast<float>(area) / static_cast<float>(runs); }
  /// Mean difference to the background in gray levels.
  float mean_contrast() const noexcept {
    return static_cast<float>(contrast) / (64.0f * static_cast<float>(area));
  }
};

/// Finds runs and connects them: `extract` for each half of the rows, then `find`. All memory is
/// taken by the constructor. Runs and components beyond the capacity are left out, and `truncated`
/// says so.
class InkComponents {
 public:
  static constexpr int kHalves = 2;

  /// Components below `least_height` do not count as characters when rules are looked for.
  InkComponents(ImageSize size, int least_height, LayoutBuilder& memory) noexcept;

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
  /// Connects the runs of both halves, and removes rules.
  void find() noexcept;

  std::span<const InkComponent> components() const noexcept {
    return {components_, static_cast<std::size_t>(component_count_)};
  }
  /// All runs, by rows and from left to right. The label of a run whose component was left out is
  /// kNoComponent.
  std::span<const InkRun> runs() const noexcept {
    return {runs_, static_cast<std::size_t>(run_count_)};
  }
  bool truncated() const noexcept { return truncated_; }
  int run_capacity() const noexcept { return run_capacity_; }
  int component_capacity() const noexcept { return component_capacity_; }

  static constexpr std::uint32_t kNoComponent = ~std::uint32_t{0};

 private:
  /// Removes ruled lines from components that are much wider than high. Ink of strokes that meet a
  /// rule is kept. Returns whether a run has changed.
  bool remove_rules() noexcept;
  float typical_height() const noexcept;
  bool remove_rule(const InkRun& run, int& count) noexcept;
  std::span<const InkRun> row(int y) const noexcept;
  /// Leaves out the runs of the last rows that had no place.
  void limit_rows() noexcept;
  void connect() noexcept;
  void number() noexcept;
  std::uint32_t root(std::uint32_t run) noexcept;
  void join(std::uint32_t a, std::uint32_t b) noexcept;

  ImageSize size_;
  int least_height_;
  int run_capacity_;
  int component_capacity_;
  int run_count_ = 0;
  int component_count_ = 0;
  bool truncated_ = false;
  InkRun* runs_;
  std::uint32_t* parents_;  // of runs; the root is the first run of a component
  InkRun* kept_;            // the runs without rules
  int* row_runs_;           // the number of runs of each row
  int* row_begin_;          // the first run of each row
  struct Half {
    std::uint8_t* thresholds;
    std::uint64_t* ink;  // a bit for each pixel of a row
    int runs;
  };
  std::array<Half, kHalves> halves_{};
  InkComponent* components_;
};

}  // namespace ocellus::detail
