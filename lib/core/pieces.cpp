#include "core/pieces.h"

#include <algorithm>

namespace ocellus::detail {

void PieceMap::begin(std::size_t capacity, std::size_t alignment) noexcept {
  capacity_ = align_up(capacity, alignment);
  alignment_ = alignment;
  used_ = peak_ = 0;
  count_ = 0;
}

std::optional<std::size_t> PieceMap::take(std::size_t bytes) noexcept {
  bytes = align_up(bytes, alignment_);
  if (bytes == 0 || count_ == kMaxPieces) return std::nullopt;
  std::size_t begin = 0;
  for (int i = 0; i <= count_; ++i) {
    const std::size_t end = i < count_ ? taken_[i].offset : capacity_;
    if (end - begin >= bytes) {
      std::copy_backward(taken_ + i, taken_ + count_, taken_ + count_ + 1);
      taken_[i] = {begin, bytes};
      ++count_;
      used_ += bytes;
      peak_ = std::max(peak_, used_);
      return begin;
    }
    if (i < count_) begin = taken_[i].offset + taken_[i].bytes;
  }
  return std::nullopt;
}

void PieceMap::give_back(std::size_t offset) noexcept {
  for (int i = 0; i < count_; ++i) {
    if (taken_[i].offset != offset) continue;
    used_ -= taken_[i].bytes;
    std::copy(taken_ + i + 1, taken_ + count_, taken_ + i);
    --count_;
    return;
  }
}

std::size_t PieceMap::largest_gap() const noexcept {
  std::size_t largest = 0;
  std::size_t begin = 0;
  for (int i = 0; i <= count_; ++i) {
    const std::size_t end = i < count_ ? taken_[i].offset : capacity_;
    largest = std::max(largest, end - begin);
    if (i < count_) begin = taken_[i].offset + taken_[i].bytes;
  }
  return largest;
}

}  // namespace ocellus::detail
