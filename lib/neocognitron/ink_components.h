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

namespace ocellus::detail {

/// A set of ink that is connected over the eight neighbors of a pixel.
struct InkComponent {
  int left = kMaxImageSide;
  int top = kMaxImageSide;
  int right = 0;              ///< one past the last column
  int bottom = 0;             ///< one past the last row
  std::int64_t area = 0;      ///< pixels
  std::int64_t contrast = 0;  ///< sum over the pixels of the runs' contrasts
  int runs = 0;

  void add(const InkRun& run) noexcept {
    const int length = run.end - run.first;
    left = std::min<int>(left, run.first);
    top = std::min<int>(top, run.y);
    right = std::max<int>(right, run.end);
    bottom = std::max<int>(bottom, run.y + 1);
    area += length;
    contrast += static_cast<std::int64_t>(run.contrast) * length;
    ++runs;
  }

  int width() const noexcept { return right - left; }
  int height() const noexcept { return bottom - top; }
  float mean_run() const noexcept { return static_cast<float>(area) / static_cast<float>(runs); }
  /// Mean difference to the background in gray levels.
  float mean_contrast() const noexcept {
    return static_cast<float>(contrast) / (64.0f * static_cast<float>(area));
  }
};

/// Calls use(i, j) for each run i and each run j of the row above that touches it, also at a
/// corner. The runs are sorted by rows and from left to right.
template <typename Use>
void for_each_touching(std::span<const InkRun> runs, const Use& use) noexcept {
  std::size_t above = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const InkRun& run = runs[i];
    while (above < i && (runs[above].y + 1 < run.y ||
                         (runs[above].y + 1 == run.y && runs[above].end < run.first)))
      ++above;
    for (std::size_t j = above; j < i && runs[j].y + 1 == run.y && runs[j].first <= run.end; ++j)
      use(i, j);
  }
}

/// Sets of runs, by the parent of each run. The root of a set is its first run, so labels follow
/// the order of the rows.
struct RunSets {
  std::uint32_t* parents = nullptr;

  std::uint32_t root(std::uint32_t run) const noexcept {
    while (parents[run] != run) {
      parents[run] = parents[parents[run]];
      run = parents[run];
    }
    return run;
  }
  /// Makes the sets of the runs that are connected.
  void connect(std::span<const InkRun> runs) const noexcept {
    for (std::size_t i = 0; i < runs.size(); ++i) parents[i] = static_cast<std::uint32_t>(i);
    for_each_touching(runs, [this](std::size_t i, std::size_t j) {
      const std::uint32_t a = root(static_cast<std::uint32_t>(i));
      const std::uint32_t b = root(static_cast<std::uint32_t>(j));
      parents[std::max(a, b)] = std::min(a, b);
    });
  }
};

class InkOutline;

/// Finds runs and connects them: `extract` for each half of the rows, `join_halves`, then `find`.
/// All memory is taken by the constructor. Runs and components beyond the capacity are left out,
/// and `truncated` says so.
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
  /// Puts the runs of both halves together.
  void join_halves() noexcept;

  /// Where others write the runs of a frame, in place of `extract` and `join_halves`: at most
  /// run_capacity() runs, and the number of runs of each row that had a place.
  InkRun* run_memory() noexcept { return input_; }
  int* row_memory() noexcept { return row_runs_; }
  /// Takes these runs. `count`: their number, also of those that had no place.
  void take_runs(int count) noexcept;

  /// Connects the runs, and removes rules. `outline`: what finds the outline of a
  /// field, which is removed too; may be null.
  void find(InkOutline* outline) noexcept;

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
  void remove_outline(InkOutline& outline) noexcept;
  /// Sets `row_begin_`.
  void index_rows() noexcept;
  void set_count(int count) noexcept;
  /// Leaves out the runs of the last rows that had no place.
  void limit_rows() noexcept;
  /// Connects the runs and numbers their components.
  void connect() noexcept;

  ImageSize size_;
  int least_height_;
  int run_capacity_;
  int component_capacity_;
  int run_count_ = 0;
  int component_count_ = 0;
  bool truncated_ = false;
  InkRun* input_;  // runs_ or kept_, always the same memory
  InkRun* runs_;
  RunSets sets_;    // a component is a set
  InkRun* kept_;    // the runs without rules
  int* row_runs_;   // the number of runs of each row
  int* row_begin_;  // the first run of each row
  struct Half {
    std::uint8_t* thresholds;
    std::uint64_t* ink;  // a bit for each pixel of a row
    int runs;
  };
  std::array<Half, kHalves> halves_{};
  InkComponent* components_;
};

}  // namespace ocellus::detail
