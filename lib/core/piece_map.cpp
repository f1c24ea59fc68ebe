#include "core/piece_map.h"

#include <algorithm>

namespace ocellus::detail {

void PieceMap::begin(std::size_t capacity, std::size_t alignment) noexcept {
  capacity_ = align_up(capacity, alignment);
  alignment_ = alignment;
  used_ = peak_ = 0;
  pieces_ = count_ = 0;
}

std::size_t PieceMap::end_of_regions() const noexcept {
  return count_ == 0 ? 0 : regions_[count_ - 1].offset + regions_[count_ - 1].bytes;
}

PieceMap::Gap PieceMap::gap_at(int first) const noexcept {
  Gap gap = {first, 0, first < count_ ? regions_[first].offset : end_of_regions(), 0};
  while (first + gap.count < count_ && !regions_[first + gap.count].taken)
    gap.bytes += regions_[first + gap.count++].bytes;
  if (first + gap.count == count_) gap.bytes += capacity_ - end_of_regions();
  return gap;
}

void PieceMap::insert(int at, Region region) noexcept {
  std::copy_backward(regions_ + at, regions_ + count_, regions_ + count_ + 1);
  regions_[at] = region;
  ++count_;
}

void PieceMap::remove(int first, int count) noexcept {
  std::copy(regions_ + first + count, regions_ + count_, regions_ + first);
  count_ -= count;
}

void PieceMap::join_free_regions() noexcept {
  for (int i = 0; i < count_; ++i) {
    if (regions_[i].taken) continue;
    const Gap gap = gap_at(i);
    regions_[i].bytes = gap.bytes;
    remove(i + 1, gap.count - 1);
  }
}

std::optional<std::size_t> PieceMap::take(std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > capacity_ || pieces_ == kMaxPieces) return std::nullopt;
  bytes = align_up(bytes, alignment_);
  const auto given = [&](std::size_t offset) {
    ++pieces_;
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    return offset;
  };
  for (int i = 0; i < count_; ++i) {
    if (regions_[i].taken || regions_[i].bytes != bytes) continue;
    regions_[i].taken = true;
    return given(regions_[i].offset);
  }
  // Splitting a region needs room for one more.
  if (count_ == kMaxRegions) join_free_regions();
  const std::size_t end = end_of_regions();
  if (capacity_ - end >= bytes) {
    insert(count_, {end, bytes, true});
    return given(end);
  }
  std::optional<Gap> best;
  for (int i = 0; i <= count_; ++i) {
    const Gap gap = gap_at(i);
    if (gap.bytes >= bytes && (!best || gap.bytes < best->bytes)) best = gap;
    i += gap.count;  // skip the taken region after the gap
  }
  if (!best) return std::nullopt;
  remove(best->first, best->count);
  // The rest is a free region whose size was never requested.
  if (best->bytes > bytes) insert(best->first, {best->offset + bytes, best->bytes - bytes, false});
  insert(best->first, {best->offset, bytes, true});
  return given(best->offset);
}

void PieceMap::give_back(std::size_t offset) noexcept {
  for (int i = 0; i < count_; ++i) {
    Region& region = regions_[i];
    if (region.offset != offset || !region.taken) continue;
    region.taken = false;
    used_ -= region.bytes;
    --pieces_;
    // Free regions at the end become unused space again, which pieces of every size can take.
    while (count_ > 0 && !regions_[count_ - 1].taken) --count_;
    return;
  }
}

std::size_t PieceMap::largest_gap() const noexcept {
  std::size_t largest = 0;
  for (int i = 0; i <= count_; ++i) {
    const Gap gap = gap_at(i);
    largest = std::max(largest, gap.bytes);
    i += gap.count;
  }
  return largest;
}

Error PieceMap::no_room(const char* kind, std::size_t bytes) const noexcept {
  if (pieces_ == kMaxPieces) {
    return make_error(Status::kOutOfMemory,
                      "the engine's %s block has given out %d pieces, which is the maximum", kind,
                      kMaxPieces);
  }
  const std::size_t free = capacity_ - used_;
  if (free >= bytes) {
    return make_error(Status::kOutOfMemory,
                      "%zu bytes of %s memory are needed, but the engine's block is fragmented: of "
                      "%zu free bytes only %zu are contiguous, because pieces of other sizes were "
                      "taken and given back before",
                      bytes, kind, free, largest_gap());
  }
  return make_error(
      Status::kOutOfMemory,
      "%zu bytes of %s memory are needed, but of the engine's block of %zu bytes only %zu "
      "are free: add the footprint of this operator or buffer to EngineConfig::memory",
      bytes, kind, capacity_, free);
}

}  // namespace ocellus::detail
