// LayoutBuilder: lays out arrays in a piece of memory.
#pragma once

#include <cstddef>

#include "core/piece_map.h"

namespace ocellus::detail {

/// Places arrays one after the other, also on a device. The first pass, without memory, finds the
/// size. The second pass places the arrays in the piece.
class LayoutBuilder {
 public:
  constexpr explicit LayoutBuilder(void* base = nullptr,
                                   std::size_t alignment = kMemoryAlignment) noexcept
      : base_(static_cast<char*>(base)), alignment_(alignment) {}

  /// Returns the next array, aligned; nullptr in the pass that finds the size.
  template <typename T>
  constexpr T* take(std::size_t count) noexcept {
    const std::size_t at = bytes_;
    bytes_ += align_up(count * sizeof(T), alignment_);
    return base_ ? reinterpret_cast<T*>(base_ + at) : nullptr;
  }
  constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  char* base_;
  std::size_t alignment_;
  std::size_t bytes_ = 0;
};

}  // namespace ocellus::detail
