// Row functions that update and swap cells.
//
// With two levels, vector code compares the states of a row with its outputs. The result has a bit
// for each cell that must change. A change can affect the cells around it, so the bits of these
// cells are computed again. Cells of one color do not affect each other.
#include "halftone/cpu/cell_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/cpu/cell_updates.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D16 = hn::CappedTag<std::int16_t, 16>;
using D8 = hn::Rebind<std::uint8_t, D16>;
using V16 = hn::Vec<D16>;
using M16 = hn::Mask<D16>;

constexpr int kMostSpacing = 9;
constexpr int kMostTiles = 16384 / kCellTile;

HWY_INLINE int lanes16() {
  return static_cast<int>(hn::Lanes(D16()));
}

// ---- events

/// A 16-bit X does not overflow: the plan limits the weights so that the sums fit for all outputs.
template <int kLanes, typename T>
HWY_INLINE void add_lanes(T* HWY_RESTRICT x, const std::int16_t* HWY_RESTRICT weights,
                          std::int32_t change) {
  if constexpr (sizeof(T) == 2) {
    // The weights are 2 A, because a change of Y is +-2.
    if (change > 0) {
      for (int i = 0; i < kLanes; ++i) x[i] = static_cast<T>(x[i] + weights[i]);
    } else {
      for (int i = 0; i < kLanes; ++i) x[i] = static_cast<T>(x[i] - weights[i]);
    }
  } else {
    for (int i = 0; i < kLanes; ++i) x[i] += change * weights[i];
  }
}

/// Adds `rows` rows of weights to X, starting at column x - radius. The last row is `radius` below
/// y.
template <typename T>
HWY_INLINE void add_rows(CellBand& band, int x, int y, const std::int16_t* weights, int rows,
                         int lanes, std::int32_t change) {
  const int radius = band.stage->radius;
  const int from = y + radius - rows + 1;
  const int first = std::max(band.top, from);
  const int last = std::min(band.bottom - 1, y + radius);
  T* to = static_cast<T*>(band.x) + first * band.x_pitch + x - radius;
  const std::int16_t* row_weights = weights + (rows - 1 - (first - from)) * kEventLanes;
  for (int row = first; row <= last; ++row) {
    if (lanes <= 8) {
      add_lanes<8>(to, row_weights, change);
    } else {
      add_lanes<kEventLanes>(to, row_weights, change);
    }
    to += band.x_pitch;
    row_weights -= kEventLanes;
  }
}

/// Marks the tiles that a change of the cells from (x, y) to (right, below) affects. These include
/// one more row above and one more column to the left, because a swap reads the X of the neighbor.
HWY_INLINE void mark(CellBand& band, int x, int y, int right, int below) {
  const int radius = band.stage->radius;
  const int left_tile = std::max(0, x - radius - 1) / kCellTile;
  const int right_tile = std::min(band.size.width - 1, right + radius) / kCellTile;
  const int last = std::min(band.bottom - 1, below + radius);
  for (int row = std::max(band.top, y - radius - 1); row <= last; ++row) {
    std::uint8_t* marks = band.marks + static_cast<std::ptrdiff_t>(row) * band.tiles;
    marks[left_tile] = kAllMarks;
    marks[right_tile] = kAllMarks;
  }
}

/// Applies a change of the cell at (x, y). The position may be outside the image, where a cell
/// repeats one inside.
template <typename T>
HWY_INLINE void add_event_at(CellBand& band, int x, int y, std::int32_t change) {
  const int side = 2 * band.stage->radius + 1;
  add_rows<T>(band, x, y, band.weights, side, side, change);
  mark(band, x, y, x, y);
}

template <typename T>
HWY_INLINE void add_event(CellBand& band, int x, int y, std::int32_t change) {
  const CellBoundary boundary = band.stage->boundary;
  const int radius = band.stage->radius;
  const ImageSize size = band.size;
  const bool inner =
      x >= radius && y >= radius && x < size.width - radius && y < size.height - radius;
  if (inner || boundary == CellBoundary::kFixed) {
    add_event_at<T>(band, x, y, change);
    return;
  }
  for (int row = -radius; row < size.height + radius; ++row) {
    if (row == radius && y >= radius) row = y;  // no row in between repeats row y
    if (row == y + 1 && row < size.height - radius) row = size.height - radius;
    if (beyond(row, size.height, boundary) != y) continue;
    for (int column = -radius; column < size.width + radius; ++column) {
      if (column == radius && x >= radius) column = x;
      if (column == x + 1 && column < size.width - radius) column = size.width - radius;
      if (beyond(column, size.width, boundary) == x) add_event_at<T>(band, column, row, change);
    }
  }
}

/// Records the change if another band depends on this cell.
HWY_INLINE void tell_others(CellBand& band, int x, int y, std::int32_t change) {
  const int reach = band.stage->radius + 1;
  const bool edge = y < band.top + reach || y >= band.bottom - reach;
  if (edge && band.events != nullptr) band.events[band.event_count++] = {x, y, change};
}

template <typename T>
HWY_INLINE void change_cell(CellBand& band, int x, int y, int to) {
  std::uint8_t& k = band.k[y * band.k_pitch + x];
  const std::int32_t change = 2 * (to - k);
  k = static_cast<std::uint8_t>(to);
  ++band.changed;
  add_event<T>(band, x, y, change);
  tell_others(band, x, y, change);
}

/// Swaps a cell with its right neighbor (dx = 1) or its lower neighbor (dx = 0). Applies both
/// changes together.
HWY_INLINE void swap_cells(CellBand& band, int x, int y, int dx) {
  std::uint8_t& k = band.k[y * band.k_pitch + x];
  std::uint8_t& other = band.k[(y + 1 - dx) * band.k_pitch + x + dx];
  std::swap(k, other);
  band.changed += 2;
  const std::int32_t change = k != 0 ? 2 : -2;
  const int radius = band.stage->radius;
  const ImageSize size = band.size;
  const bool inner =
      x >= radius && y >= radius && x + 1 < size.width - radius && y + 1 < size.height - radius;
  if (!inner && band.stage->boundary != CellBoundary::kFixed) {
    add_event<std::int16_t>(band, x, y, change);
    add_event<std::int16_t>(band, x + dx, y + 1 - dx, -change);
  } else {
    const int side = 2 * radius + 1;
    if (dx == 1) {
      add_rows<std::int16_t>(band, x, y, band.weights_beside, side, side + 1, change);
    } else {
      add_rows<std::int16_t>(band, x, y + 1, band.weights_below, side + 1, side, change);
    }
    mark(band, x, y, x + dx, y + 1 - dx);
  }
  tell_others(band, x, y, change);
  tell_others(band, x + dx, y + 1 - dx, -change);
}

// ---- visits

/// One bit for each cell of a row that must change.
struct RowBits {
  static constexpr int kMostWords = 16384 / 64 + 1;
  std::uint64_t words[kMostWords];

  /// Writes `count` bits, at most 16, starting at bit x.
  HWY_INLINE void put(int x, int count, std::uint64_t bits) {
    const std::uint64_t mask = (std::uint64_t{1} << count) - 1;
    const int shift = x % 64;
    std::uint64_t& word = words[x / 64];
    word = (word & ~(mask << shift)) | ((bits & mask) << shift);
    if (shift + count <= 64) return;
    std::uint64_t& next = words[x / 64 + 1];
    next = (next & ~(mask >> (64 - shift))) | ((bits & mask) >> (64 - shift));
  }
};

HWY_INLINE M16 is_one(const std::uint8_t* k) {
  const D16 d16;
  return hn::Gt(hn::PromoteTo(d16, hn::LoadU(D8(), k)), hn::Zero(d16));
}

HWY_INLINE std::uint64_t bits_of(M16 mask) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(D16(), mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
}

/// Tells which binary cells, starting at x, have an output that differs from the sign of their
/// state.
HWY_INLINE M16 unhappy(const std::int16_t* states, const std::uint8_t* k) {
  const D16 d16;
  return hn::Xor(hn::Gt(hn::LoadU(d16, states), hn::Set(d16, std::int16_t{-1})), is_one(k));
}

struct UpdateBinary {
  using State = std::int16_t;
  static constexpr CellMark kMark = kUpdateMark;
  CellBand& band;
  int y;
  const std::int16_t* states;
  const std::uint8_t* k;

  UpdateBinary(CellBand& of, int row)
      : band(of),
        y(row),
        states(static_cast<const std::int16_t*>(of.x) + row * of.x_pitch),
        k(of.k + row * of.k_pitch) {}

  HWY_INLINE void cell(int x) {
    const int to = states[x] >= 0 ? 1 : 0;
    if (to != k[x]) change_cell<State>(band, x, y, to);
  }
  HWY_INLINE std::uint64_t look(int x) const { return bits_of(unhappy(states + x, k + x)); }
};

struct SwapBinary {
  using State = std::int16_t;
  static constexpr CellMark kMark = kSwapMark;
  CellBand& band;
  int y;
  const std::int16_t* states;
  const std::int16_t* states_below;
  const std::uint8_t* k;
  const std::uint8_t* k_below;
  bool has_below;
  // A swap requires y_i (X_j - X_i) > 2 A_ij - 2 A_ii.
  int beside = 0;
  int below = 0;

  SwapBinary(CellBand& of, int row)
      : band(of),
        y(row),
        states(static_cast<const std::int16_t*>(of.x) + row * of.x_pitch),
        states_below(states + (row + 1 < of.size.height ? of.x_pitch : 0)),
        k(of.k + row * of.k_pitch),
        k_below(k + (row + 1 < of.size.height ? of.k_pitch : 0)),
        has_below(row + 1 < of.size.height) {
    const int side = 2 * of.stage->radius + 1;
    const auto center = static_cast<std::size_t>(side * side / 2);
    beside = 2 * (of.stage->a[center + 1] - of.stage->a[center]);
    below = 2 * (of.stage->a[center + static_cast<std::size_t>(side)] - of.stage->a[center]);
  }

  HWY_INLINE void cell(int x) {
    const int own = 2 * k[x] - 1;
    int best = 0;
    int dx = 0;
    if (x + 1 < band.size.width && k[x + 1] != k[x]) {
      best = own * (states[x + 1] - states[x]) - beside;
      dx = 1;
    }
    if (has_below && k_below[x] != k[x]) {
      const int gain = own * (states_below[x] - states[x]) - below;
      if (gain > std::max(best, 0)) {
        best = gain;
        dx = 0;
      }
    }
    if (best <= 0) return;
    swap_cells(band, x, y, dx);
  }
  HWY_INLINE std::uint64_t look(int x) const {
    const D16 d16;
    const V16 own = hn::LoadU(d16, states + x);
    const M16 one = is_one(k + x);
    // A saturated difference remains on the same side of `least`.
    const auto gains = [&](const std::int16_t* other, int least) HWY_ATTR {
      const V16 there = hn::LoadU(d16, other);
      const V16 up = hn::SaturatedSub(there, own);
      const V16 down = hn::SaturatedSub(own, there);
      return hn::Gt(hn::IfThenElse(one, up, down), hn::Set(d16, static_cast<std::int16_t>(least)));
    };
    const M16 differs_beside = hn::Xor(one, is_one(k + x + 1));
    const M16 differs_below = hn::Xor(one, is_one(k_below + x));
    return bits_of(hn::Or(hn::And(differs_beside, gains(states + x + 1, beside)),
                          hn::And(differs_below, gains(states_below + x, below))));
  }
};

struct UpdateMany {
  using State = std::int32_t;
  CellBand& band;
  int y;
  const std::int32_t* states;
  const std::uint8_t* k;

  UpdateMany(CellBand& of, int row)
      : band(of),
        y(row),
        states(static_cast<const std::int32_t*>(of.x) + row * of.x_pitch),
        k(of.k + row * of.k_pitch) {}

  HWY_INLINE void cell(int x) {
    const std::int32_t state = states[x];
    const int now = k[x];
    if (state < band.above[now] && state >= band.above[now - 1]) return;
    const int to = many_levels_output(state, band.stage->levels, band.stage->xi);
    change_cell<State>(band, x, y, to);
  }
  HWY_INLINE void cells(int x, int end, int spacing, int color) {
    for (x += (color - x % spacing + spacing) % spacing; x < end; x += spacing) cell(x);
  }
};

/// Recomputes the bits of the cells that a change at x may affect.
template <class Visit>
HWY_INLINE void look_again(const Visit& visit, RowBits& row, int x) {
  const int reach = visit.band.stage->radius + 1;
  const int end = std::min(visit.band.size.width, x + reach + 1);
  const int lanes = lanes16();
  for (int at = std::max(0, x - reach); at < end; at += lanes)
    row.put(at, std::min(lanes, end - at), visit.look(at));
}

/// For two levels: compares all cells of the row once, and again those around a change.
template <class Visit>
HWY_INLINE void visit_bits(CellBand& band, int y) {
  Visit visit(band, y);
  const int width = band.size.width;
  const int spacing = band.stage->spacing;
  const CellBoundary boundary = band.stage->boundary;
  const int lanes = lanes16();
  const int words = (width + 63) / 64;
  std::uint8_t* marks = band.marks + static_cast<std::ptrdiff_t>(y) * band.tiles;
  RowBits row;
  std::memset(row.words, 0, static_cast<std::size_t>(words + 1) * sizeof(row.words[0]));
  std::uint64_t any = 0;
  for (int t = 0; t < band.tiles; ++t) {
    if ((marks[t] & Visit::kMark) == 0) continue;
    marks[t] = static_cast<std::uint8_t>(marks[t] & ~Visit::kMark);
    const int end = std::min(width, (t + 1) * kCellTile);
    for (int x = t * kCellTile; x < end; x += lanes) {
      const std::uint64_t bits = visit.look(x);
      any |= bits;
      row.words[x / 64] |= bits << (x % 64);
    }
  }
  if (any == 0) return;
  if (width % 64 != 0) row.words[words - 1] &= (std::uint64_t{1} << (width % 64)) - 1;

  std::uint64_t colors[kMostSpacing];  // each has every spacing-th bit set, from bit `first`
  for (int first = 0; first < spacing; ++first) {
    colors[first] = 0;
    for (int bit = first; bit < 64; bit += spacing) colors[first] |= std::uint64_t{1} << bit;
  }
  const auto change = [&](int x) {
    visit.cell(x);
    look_again(visit, row, x);
    if (boundary == CellBoundary::kPeriodic) {
      look_again(visit, row, x - width);
      look_again(visit, row, x + width);
    }
  };
  const int count = color_class_count(width, spacing, boundary);
  for (int c = 0; c < count; ++c) {
    const ColorClass color = color_class(c, width, spacing, boundary);
    if (color.single) {
      if ((row.words[color.first / 64] >> (color.first % 64) & 1) != 0) change(color.first);
      continue;
    }
    // Cells of one color do not affect each other, so the bits of a word remain valid in this loop.
    int first = color.first;
    for (int w = 0; w * 64 < color.end; ++w) {
      std::uint64_t bits = row.words[w] & colors[first];
      if (color.end - w * 64 < 64) bits &= (std::uint64_t{1} << (color.end - w * 64)) - 1;
      for (; bits != 0; bits &= bits - 1) change(w * 64 + std::countr_zero(bits));
      first -= 64 % spacing;
      if (first < 0) first += spacing;
    }
  }
}

void visit_many(CellBand& band, int y) {
  UpdateMany visit(band, y);
  const int width = band.size.width;
  const int spacing = band.stage->spacing;
  const CellBoundary boundary = band.stage->boundary;
  std::uint8_t* marks = band.marks + static_cast<std::ptrdiff_t>(y) * band.tiles;
  std::uint8_t active[kMostTiles];
  for (int t = 0; t < band.tiles; ++t) {
    active[t] = marks[t] & kUpdateMark;
    marks[t] = static_cast<std::uint8_t>(marks[t] & ~kUpdateMark);
  }
  const int count = color_class_count(width, spacing, boundary);
  for (int c = 0; c < count; ++c) {
    const ColorClass color = color_class(c, width, spacing, boundary);
    if (color.single) {
      visit.cell(color.first);
      continue;
    }
    for (int t = 0; t < band.tiles; ++t) {
      // A change of a cell of an earlier color can mark a tile during this visit.
      if (((active[t] | marks[t]) & kUpdateMark) == 0) continue;
      visit.cells(t * kCellTile, std::min(color.end, (t + 1) * kCellTile), spacing, color.first);
    }
  }
}

void colors_row(CellBand& band, int y) {
  if (band.stage->move == CellMove::kSwap) {
    visit_bits<SwapBinary>(band, y);
  } else if (band.stage->levels == 2) {
    visit_bits<UpdateBinary>(band, y);
  } else {
    visit_many(band, y);
  }
}

void raster_row(CellBand& band, int y) {
  std::uint8_t* marks = band.marks + static_cast<std::ptrdiff_t>(y) * band.tiles;
  for (int t = 0; t < band.tiles; ++t) {
    if ((marks[t] & kUpdateMark) == 0) continue;
    marks[t] = static_cast<std::uint8_t>(marks[t] & ~kUpdateMark);
    const int end = std::min(band.size.width, (t + 1) * kCellTile);
    if (band.stage->levels > 2) {
      UpdateMany visit(band, y);
      for (int x = t * kCellTile; x < end; ++x) visit.cell(x);
      continue;
    }
    UpdateBinary visit(band, y);
    const int lanes = lanes16();
    for (int x = t * kCellTile; x < end;) {
      const std::uint64_t bits = visit.look(x);
      const int next = bits == 0 ? lanes : std::countr_zero(bits);
      if (x + next >= end || bits == 0) {
        x += next;
        continue;
      }
      // The change may affect the following cells, so they are compared again.
      x += next;
      visit.cell(x);
      ++x;
    }
  }
}

std::uint32_t wanted_row(const CellBand& band, int y, std::uint8_t* HWY_RESTRICT out) {
  const std::uint8_t* k = band.k + y * band.k_pitch;
  const int width = band.size.width;
  std::uint32_t differ = 0;
  if (band.stage->levels == 2) {
    const std::int16_t* states = static_cast<const std::int16_t*>(band.x) + y * band.x_pitch;
    for (int x = 0; x < width; ++x) {
      out[x] = states[x] >= 0 ? 1 : 0;
      differ += out[x] != k[x] ? 1u : 0u;
    }
    return differ;
  }
  const std::int32_t* states = static_cast<const std::int32_t*>(band.x) + y * band.x_pitch;
  for (int x = 0; x < width; ++x) {
    out[x] = static_cast<std::uint8_t>(
        many_levels_output(states[x], band.stage->levels, band.stage->xi));
    differ += out[x] != k[x] ? 1u : 0u;
  }
  return differ;
}

void apply_event(CellBand& band, const CellEvent& event) {
  if (band.stage->levels == 2) {
    add_event<std::int16_t>(band, event.x, event.y, event.change);
  } else {
    add_event<std::int32_t>(band, event.x, event.y, event.change);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(colors_row);
HWY_EXPORT(raster_row);
HWY_EXPORT(wanted_row);
HWY_EXPORT(apply_event);

void colors_row(CellBand& band, int y) noexcept {
  HWY_DYNAMIC_DISPATCH(colors_row)(band, y);
}
void raster_row(CellBand& band, int y) noexcept {
  HWY_DYNAMIC_DISPATCH(raster_row)(band, y);
}
std::uint32_t wanted_row(const CellBand& band, int y, std::uint8_t* out) noexcept {
  return HWY_DYNAMIC_DISPATCH(wanted_row)(band, y, out);
}
void apply_event(CellBand& band, const CellEvent& event) noexcept {
  HWY_DYNAMIC_DISPATCH(apply_event)(band, event);
}

}  // namespace ocellus::detail
#endif
