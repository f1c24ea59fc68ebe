#include "halftone/cpu/cell_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/cpu/cell_rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D16 = hn::CappedTag<std::int16_t, 16>;
using D32 = hn::RepartitionToWide<D16>;
using D8 = hn::Rebind<std::uint8_t, D16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
using M16 = hn::Mask<D16>;

constexpr int kMostLanes = 16;
constexpr int kMostSpacing = 9;
constexpr int kMostTiles = 16384 / kCellTile;

HWY_INLINE int lanes16() {
  return static_cast<int>(hn::Lanes(D16()));
}

// ---- states

#if HWY_TARGET != HWY_SCALAR

/// Adds products of neighboring lanes to the sum.
HWY_INLINE V32 add_products(V16 a, V16 b, V32 sum) {
  const D32 d32;
#if HWY_ARCH_X86
  // One instruction, which leaves the second sum alone.
  V32 unused = hn::Zero(d32);
  return hn::ReorderWidenMulAccumulate(d32, a, b, sum, unused);
#else
  V32 high = hn::Zero(d32);
  const V32 low = hn::ReorderWidenMulAccumulate(d32, a, b, hn::Zero(d32), high);
  return hn::Add(sum, hn::Add(hn::ConcatEven(d32, high, low), hn::ConcatOdd(d32, high, low)));
#endif
}

HWY_INLINE void add_taps(const std::int16_t* HWY_RESTRICT row, const CellTaps& taps, V32& low,
                         V32& high) {
  const D16 d16;
  const D32 d32;
  for (int t = 0; t < taps.count; t += 2) {
    const CellTap& first = taps.taps[t];
    const CellTap& second = taps.taps[t + 1];
    const V16 a = hn::LoadU(d16, row + first.offset);
    const V16 b = hn::LoadU(d16, row + second.offset);
    const auto pair =
        static_cast<std::int32_t>((static_cast<std::uint32_t>(second.weight) << 16) |
                                  (static_cast<std::uint32_t>(first.weight) & 0xFFFFu));
    const V16 weights = hn::BitCast(d16, hn::Set(d32, pair));
    low = add_products(hn::InterleaveLower(d16, a, b), weights, low);
    high = add_products(hn::InterleaveUpper(d16, a, b), weights, high);
  }
}

#endif

HWY_INLINE std::int64_t sum_taps(const std::int16_t* row, const CellTaps& taps) {
  std::int64_t sum = 0;
  for (int t = 0; t < taps.count; ++t)
    sum += static_cast<std::int64_t>(taps.taps[t].weight) * row[taps.taps[t].offset];
  return sum;
}

void binary_states_row(const std::int16_t* control_row, const CellTaps& control,
                       const std::int16_t* feedback_row, const CellTaps& feedback,
                       std::int32_t threshold, const std::int32_t* threshold_row,
                       std::int32_t limit, std::int16_t* x_row, int width) {
  if (threshold_row != nullptr || HWY_TARGET == HWY_SCALAR) {
    for (int x = 0; x < width; ++x) {
      const std::int64_t own = threshold_row != nullptr ? threshold_row[x] : 0;
      const std::int64_t bias =
          bias_of(sum_taps(control_row + x, control), 2, threshold + own, limit);
      x_row[x] = static_cast<std::int16_t>(bias + sum_taps(feedback_row + x, feedback));
    }
    return;
  }
#if HWY_TARGET != HWY_SCALAR
  const D16 d16;
  const D32 d32;
  const V32 zero = hn::Zero(d32);
  const V32 half = hn::Set(d32, kInputOne / 2);
  const V32 added = hn::Set(d32, threshold);
  const V32 most = hn::Set(d32, limit);
  const V32 least = hn::Set(d32, -limit);
  const int lanes = lanes16();
  for (int x = 0; x < width; x += lanes) {
    V32 low = half;
    V32 high = half;
    add_taps(control_row + x, control, low, high);
    low = hn::Add(hn::ShiftRight<kInputBits>(low), added);
    high = hn::Add(hn::ShiftRight<kInputBits>(high), added);
    low = hn::Max(hn::Min(low, most), least);
    high = hn::Max(hn::Min(high, most), least);
    V32 low_fed = zero;
    V32 high_fed = zero;
    add_taps(feedback_row + x, feedback, low_fed, high_fed);
    // Interleaving and demoting work in blocks of 128 bits, so that the order is that of memory
    // again.
    hn::StoreU(hn::ReorderDemote2To(d16, hn::Add(low, low_fed), hn::Add(high, high_fed)), d16,
               x_row + x);
  }
#endif
}

HWY_INLINE void sum_row(const std::int16_t* HWY_RESTRICT row, const CellTaps& taps,
                        std::int32_t* HWY_RESTRICT sums, int width) {
  std::memset(sums, 0, static_cast<std::size_t>(width) * sizeof(*sums));
  for (int t = 0; t < taps.count; ++t) {
    const std::int16_t* HWY_RESTRICT from = row + taps.taps[t].offset;
    const std::int32_t weight = taps.taps[t].weight;
    for (int x = 0; x < width; ++x) sums[x] += weight * from[x];
  }
}

void many_states_row(const std::int16_t* control_row, const CellTaps& control,
                     const std::int16_t* feedback_row, const CellTaps& feedback, int levels,
                     std::int32_t threshold, const std::int32_t* threshold_row, std::int32_t* sums,
                     std::int32_t* x_row, int width) {
  sum_row(control_row, control, sums, width);
  sum_row(feedback_row, feedback, sums + width, width);
  for (int x = 0; x < width; ++x) {
    const std::int64_t own = threshold_row != nullptr ? threshold_row[x] : 0;
    x_row[x] = static_cast<std::int32_t>(
        bias_of(sums[x], levels, threshold + own, kManyLevelsLimit) + sums[width + x]);
  }
}

void outputs_row(const std::uint8_t* HWY_RESTRICT k, int levels,
                 const std::int16_t* HWY_RESTRICT input, std::int16_t* HWY_RESTRICT out,
                 int width) {
  const int most = levels - 1;
  if (input == nullptr) {
    for (int x = 0; x < width; ++x) out[x] = static_cast<std::int16_t>(2 * k[x] - most);
  } else {
    for (int x = 0; x < width; ++x)
      out[x] = static_cast<std::int16_t>(input[x] - (2 * k[x] - 1) * kInputOne);
  }
}

// ---- events

/// 16-bit X wraps nowhere: the sums fit whatever the outputs are.
template <int kLanes, typename T>
HWY_INLINE void add_lanes(T* HWY_RESTRICT x, const std::int16_t* HWY_RESTRICT weights,
                          std::int32_t change) {
  if constexpr (sizeof(T) == 2) {
    // The weights hold twice A, the change of Y is +-2.
    if (change > 0) {
      for (int i = 0; i < kLanes; ++i) x[i] = static_cast<T>(x[i] + weights[i]);
    } else {
      for (int i = 0; i < kLanes; ++i) x[i] = static_cast<T>(x[i] - weights[i]);
    }
  } else {
    for (int i = 0; i < kLanes; ++i) x[i] += change * weights[i];
  }
}

/// Adds rows of weights to those of X, the last of them `radius` below y and the first `rows` - 1
/// above that, from column x - radius on.
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

/// Marks the tiles of the cells that a change of those from (x, y) to (right, below) may turn. One
/// more above and to the left: a swap looks at the X of the neighbor, too.
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

/// A cell, or a cell beyond the border that repeats it, at (x, y) has changed.
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
    if (row == radius && y >= radius) row = y;  // nothing between repeats it
    if (row == y + 1 && row < size.height - radius) row = size.height - radius;
    if (beyond(row, size.height, boundary) != y) continue;
    for (int column = -radius; column < size.width + radius; ++column) {
      if (column == radius && x >= radius) column = x;
      if (column == x + 1 && column < size.width - radius) column = size.width - radius;
      if (beyond(column, size.width, boundary) == x) add_event_at<T>(band, column, row, change);
    }
  }
}

/// Keeps the change for other bands if one may see it.
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

/// A cell changes places with its right neighbor, dx = 1, or its lower one, dx = 0: both changes
/// at once.
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

/// The cells of a row that ask to be changed, a bit for each.
struct RowBits {
  static constexpr int kMostWords = 16384 / 64 + 1;
  std::uint64_t words[kMostWords];

  /// Sets or clears `count` bits from x on, up to 16 of them.
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

/// The binary cells at x and behind it that ask for another output.
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
  // What y_i (X_j - X_i) must be above: 2 A_ij - 2 A_ii.
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
    // Saturation keeps what lies beyond either threshold there.
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

/// Looks again at the cells of the row that a change at x may have turned.
template <class Visit>
HWY_INLINE void look_again(const Visit& visit, RowBits& row, int x) {
  const int reach = visit.band.stage->radius + 1;
  const int end = std::min(visit.band.size.width, x + reach + 1);
  const int lanes = lanes16();
  for (int at = std::max(0, x - reach); at < end; at += lanes)
    row.put(at, std::min(lanes, end - at), visit.look(at));
}

/// Two levels: all cells of the row are looked at once, those that a change may turn once more.
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

  std::uint64_t colors[kMostSpacing];  // every spacing-th bit, from one of the first on
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
    // Cells of a color do not turn each other, so that a word's bits hold while they are gone
    // through.
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
      // A tile wakes in the middle of the row when a cell of an earlier color changes.
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
      // The change may have turned the ones behind it.
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

// ---- error diffusion

using DT = hn::CappedTag<std::int32_t, 16>;

/// One lane for each of the tiles beside each other, so that no lane waits for another.
void diffuse_tiles(const std::int16_t* u, std::ptrdiff_t u_pitch, std::uint8_t* k,
                   std::ptrdiff_t k_pitch, int top, int bottom, int width, std::int32_t* scratch) {
  const DT d;
  using V = hn::Vec<DT>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  constexpr int kTile = kDiffusionTileWidth;
  std::int32_t* inputs = scratch;  // later the outputs
  // One element in front of and one behind the row.
  std::int32_t* above = inputs + static_cast<std::ptrdiff_t>(kTile) * lanes + lanes;
  std::int32_t* errors = above + static_cast<std::ptrdiff_t>(kTile + 2) * lanes;
  const V one = hn::Set(d, kInputOne);
  const V minus_one = hn::Set(d, -kInputOne);
  const V eight = hn::Set(d, 8);
  const V below_zero = hn::Set(d, -1);
  const std::size_t with_ends = static_cast<std::size_t>((kTile + 2) * lanes) * sizeof(*errors);
  for (int left = 0; left < width; left += kTile * lanes) {
    HWY_ALIGN std::int32_t widths[kMostLanes];
    for (int lane = 0; lane < lanes; ++lane)
      widths[lane] = std::clamp(width - left - lane * kTile, 0, kTile);
    const V tile_width = hn::Load(d, widths);
    std::memset(above - lanes, 0, with_ends);
    std::memset(errors - lanes, 0, with_ends);
    for (int y = top; y < bottom; ++y) {
      const std::int16_t* u_row = u + y * u_pitch + left;
      std::uint8_t* k_row = k + y * k_pitch + left;
      for (int lane = 0; lane < lanes; ++lane)
        for (int j = 0; j < widths[lane]; ++j) inputs[j * lanes + lane] = u_row[lane * kTile + j];
      V error = hn::Zero(d);
      const int most = widths[0];
      for (int j = 0; j < most; ++j) {
        const V a = hn::LoadU(d, above + (j - 1) * lanes);
        const V b = hn::LoadU(d, above + j * lanes);
        const V c = hn::LoadU(d, above + (j + 1) * lanes);
        V state = hn::Add(hn::LoadU(d, inputs + j * lanes), hn::ShiftRight<4>(hn::Add(a, eight)));
        state = hn::Add(state, hn::ShiftRight<4>(hn::Add(hn::Add(hn::ShiftLeft<2>(b), b), eight)));
        state = hn::Add(state, hn::ShiftRight<4>(hn::Add(hn::Add(hn::ShiftLeft<1>(c), c), eight)));
        const V seven = hn::Sub(hn::ShiftLeft<3>(error), error);
        state = hn::Add(state, hn::ShiftRight<4>(hn::Add(seven, eight)));
        const auto up = hn::Gt(state, below_zero);
        error = hn::Sub(state, hn::IfThenElse(up, one, minus_one));
        error = hn::IfThenElseZero(hn::Gt(tile_width, hn::Set(d, j)), error);
        hn::StoreU(error, d, errors + j * lanes);
        hn::StoreU(hn::IfThenElseZero(up, hn::Set(d, 1)), d, inputs + j * lanes);
      }
      for (int lane = 0; lane < lanes; ++lane)
        for (int j = 0; j < widths[lane]; ++j)
          k_row[lane * kTile + j] = static_cast<std::uint8_t>(inputs[j * lanes + lane]);
      std::swap(above, errors);
    }
  }
}

std::size_t diffusion_scratch() {
  return (3 * kDiffusionTileWidth + 4) * hn::Lanes(DT());
}

// ---- gray values

void table_row(const void* in, PixelFormat format, const std::int16_t* HWY_RESTRICT table,
               std::int16_t* HWY_RESTRICT out, int width) {
  if (format == PixelFormat::kGray8) {
    const auto* gray = static_cast<const std::uint8_t*>(in);
    for (int x = 0; x < width; ++x) out[x] = table[gray[x]];
  } else {
    const auto* gray = static_cast<const std::uint16_t*>(in);
    for (int x = 0; x < width; ++x) out[x] = table[gray[x]];
  }
}

bool gray_row(const float* HWY_RESTRICT in, std::uint16_t* HWY_RESTRICT out, int width) {
  bool finite = true;
  for (int x = 0; x < width; ++x) {
    finite &= std::isfinite(in[x]);
    const float held = in[x] > 0.0f ? (in[x] < 255.0f ? in[x] : 255.0f) : 0.0f;
    out[x] = static_cast<std::uint16_t>(std::nearbyint(held * 257.0f));
  }
  return finite;
}

template <typename T>
HWY_INLINE void write_levels(const std::uint8_t* HWY_RESTRICT k, int levels,
                             const T* HWY_RESTRICT table, T* HWY_RESTRICT out, int width) {
  if (levels == 2) {
    const T none = table[0];
    const T one = table[1];
    for (int x = 0; x < width; ++x) out[x] = k[x] != 0 ? one : none;
  } else {
    for (int x = 0; x < width; ++x) out[x] = table[k[x]];
  }
}

void write_row(const std::uint8_t* k, int levels, const void* table, PixelFormat format, void* out,
               int width) {
  switch (format) {
    case PixelFormat::kGray8:
      write_levels(k, levels, static_cast<const std::uint8_t*>(table),
                   static_cast<std::uint8_t*>(out), width);
      break;
    case PixelFormat::kGray16:
      write_levels(k, levels, static_cast<const std::uint16_t*>(table),
                   static_cast<std::uint16_t*>(out), width);
      break;
    case PixelFormat::kFloat32:
      write_levels(k, levels, static_cast<const float*>(table), static_cast<float*>(out), width);
      break;
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(binary_states_row);
HWY_EXPORT(many_states_row);
HWY_EXPORT(outputs_row);
HWY_EXPORT(colors_row);
HWY_EXPORT(raster_row);
HWY_EXPORT(wanted_row);
HWY_EXPORT(apply_event);
HWY_EXPORT(diffuse_tiles);
HWY_EXPORT(diffusion_scratch);
HWY_EXPORT(table_row);
HWY_EXPORT(gray_row);
HWY_EXPORT(write_row);

void table_row(const void* in, PixelFormat format, const std::int16_t* table, std::int16_t* out,
               int width) noexcept {
  HWY_DYNAMIC_DISPATCH(table_row)(in, format, table, out, width);
}
bool gray_row(const float* in, std::uint16_t* out, int width) noexcept {
  return HWY_DYNAMIC_DISPATCH(gray_row)(in, out, width);
}
void binary_states_row(const std::int16_t* control_row, const CellTaps& control,
                       const std::int16_t* feedback_row, const CellTaps& feedback,
                       std::int32_t threshold, const std::int32_t* threshold_row,
                       std::int32_t limit, std::int16_t* x_row, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(binary_states_row)
  (control_row, control, feedback_row, feedback, threshold, threshold_row, limit, x_row, width);
}
void many_states_row(const std::int16_t* control_row, const CellTaps& control,
                     const std::int16_t* feedback_row, const CellTaps& feedback, int levels,
                     std::int32_t threshold, const std::int32_t* threshold_row, std::int32_t* sums,
                     std::int32_t* x_row, int width) noexcept {
  HWY_DYNAMIC_DISPATCH(many_states_row)
  (control_row, control, feedback_row, feedback, levels, threshold, threshold_row, sums, x_row,
   width);
}
void outputs_row(const std::uint8_t* k, int levels, const std::int16_t* input, std::int16_t* out,
                 int width) noexcept {
  HWY_DYNAMIC_DISPATCH(outputs_row)(k, levels, input, out, width);
}
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
void diffuse_tiles(const std::int16_t* u, std::ptrdiff_t u_pitch, std::uint8_t* k,
                   std::ptrdiff_t k_pitch, int top, int bottom, int width,
                   std::int32_t* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(diffuse_tiles)(u, u_pitch, k, k_pitch, top, bottom, width, scratch);
}
std::size_t diffusion_scratch() noexcept {
  return HWY_DYNAMIC_DISPATCH(diffusion_scratch)();
}
void write_row(const std::uint8_t* k, int levels, const void* table, PixelFormat format, void* out,
               int width) noexcept {
  HWY_DYNAMIC_DISPATCH(write_row)(k, levels, table, format, out, width);
}

}  // namespace ocellus::detail
#endif
