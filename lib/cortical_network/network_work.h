// How the work of a step of a cortical network is divided among workers, and their private memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "cortical_network/hypercolumn.h"

namespace ocellus::detail {

/// Hypercolumns and pixels of a part of the work that one worker takes.
inline constexpr int kPartHypercolumns = 4 * kHypercolumnBatch;
inline constexpr int kPartPixels = 1 << 16;

constexpr int parts_of(int count, int size) noexcept {
  return (count + size - 1) / size;
}

/// Parts of a rectangle of pixels.
struct PixelParts {
  PixelRange all;

  int width() const noexcept { return all.x_end - all.x_begin; }
  int height() const noexcept { return all.y_end - all.y_begin; }
  int columns() const noexcept { return std::min(width(), kPartPixels); }
  int rows() const noexcept { return std::max(kPartPixels / width(), 1); }
  int count() const noexcept { return parts_of(width(), columns()) * parts_of(height(), rows()); }
  PixelRange part(int number) const noexcept {
    const int across = parts_of(width(), columns());
    const int x = all.x_begin + number % across * columns();
    const int y = all.y_begin + number / across * rows();
    return {y, std::min(y + rows(), all.y_end), x, std::min(x + columns(), all.x_end)};
  }
};

/// Private memory of the workers.
class WorkerScratch {
 public:
  void layout(LayoutBuilder& builder, const Hierarchy& hierarchy, int workers) noexcept {
    workers_ = static_cast<std::size_t>(workers);
    active_each_ = static_cast<std::size_t>(hierarchy.most_inputs) * kHypercolumnBatch;
    pattern_each_ =
        align_up(static_cast<std::size_t>(padded_inputs(hierarchy.most_inputs)), kMemoryAlignment);
    expected_each_ = static_cast<std::size_t>(hierarchy.most_minicolumns);
    active_ = builder.take<std::uint16_t>(workers_ * active_each_);
    patterns_ = builder.take<std::uint8_t>(workers_ * pattern_each_);
    expected_ = builder.take<std::uint16_t>(workers_ * expected_each_);
  }
  void clear() noexcept {
    std::fill_n(patterns_, workers_ * pattern_each_, std::uint8_t{0});
    std::fill_n(active_, workers_ * active_each_, std::uint16_t{0});
  }
  StepScratch of(int worker) const noexcept {
    const auto number = static_cast<std::size_t>(worker);
    return {active_ + number * active_each_, patterns_ + number * pattern_each_,
            expected_ + number * expected_each_};
  }

 private:
  std::uint16_t* active_ = nullptr;
  std::uint8_t* patterns_ = nullptr;
  std::uint16_t* expected_ = nullptr;
  std::size_t workers_ = 0;
  std::size_t active_each_ = 0;
  std::size_t pattern_each_ = 0;
  std::size_t expected_each_ = 0;
};

}  // namespace ocellus::detail
