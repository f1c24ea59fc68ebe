// Row functions: gray values to u and outputs to gray values, states, and error diffusion.
#include "halftone/cpu/cell_rows.h"

#include <algorithm>
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
    default:  // kFloat32; no color comes here
      write_levels(k, levels, static_cast<const float*>(table), static_cast<float*>(out), width);
      break;
  }
}

// ---- states

using D16 = hn::CappedTag<std::int16_t, 16>;
using D32 = hn::RepartitionToWide<D16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

#if HWY_TARGET != HWY_SCALAR

HWY_INLINE int lanes16() {
  return static_cast<int>(hn::Lanes(D16()));
}

/// Adds the products of neighboring lanes to the sum.
HWY_INLINE V32 add_products(V16 a, V16 b, V32 sum) {
  const D32 d32;
#if HWY_ARCH_X86
  // One instruction on x86; it does not use the second sum.
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
    // Interleaving and demoting both work in blocks of 128 bits, so demoting restores the order.
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

// ---- error diffusion, in tiles

constexpr int kMostLanes = 16;

using DT = hn::CappedTag<std::int32_t, 16>;

/// Each SIMD lane computes one of several neighboring tiles, which do not depend on each other.
template <bool kTwoLevels>
void diffuse_levels(const std::int16_t* u, std::ptrdiff_t u_pitch, std::uint8_t* k,
                    std::ptrdiff_t k_pitch, int top, int bottom, int width, int levels,
                    std::int32_t* scratch) {
  const DT d;
  using V = hn::Vec<DT>;
  HWY_ALIGN std::int32_t outputs[256];  // of the levels, like u
  if (!kTwoLevels)
    for (int level = 0; level < levels; ++level) outputs[level] = input_of_level(level, levels);
  const V most_level = hn::Set(d, levels - 1);
  const int lanes = static_cast<int>(hn::Lanes(d));
  constexpr int kTile = kDiffusionTileWidth;
  std::int32_t* inputs = scratch;  // overwritten by the outputs
  // One element before and one after the row.
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
        V level;
        if constexpr (kTwoLevels) {
          const auto up = hn::Gt(state, below_zero);
          level = hn::IfThenElseZero(up, hn::Set(d, 1));
          error = hn::Sub(state, hn::IfThenElse(up, one, minus_one));
        } else {
          // first_output() with the division by 2^14 as a shift.
          const V scaled = hn::Add(hn::Mul(hn::Add(state, one), most_level), one);
          level = hn::Min(hn::Max(hn::ShiftRight<kInputBits + 1>(scaled), hn::Zero(d)), most_level);
          error = hn::Sub(state, hn::GatherIndex(d, outputs, level));
        }
        error = hn::IfThenElseZero(hn::Gt(tile_width, hn::Set(d, j)), error);
        hn::StoreU(error, d, errors + j * lanes);
        hn::StoreU(level, d, inputs + j * lanes);
      }
      for (int lane = 0; lane < lanes; ++lane)
        for (int j = 0; j < widths[lane]; ++j)
          k_row[lane * kTile + j] = static_cast<std::uint8_t>(inputs[j * lanes + lane]);
      std::swap(above, errors);
    }
  }
}

void diffuse_tiles(const std::int16_t* u, std::ptrdiff_t u_pitch, std::uint8_t* k,
                   std::ptrdiff_t k_pitch, int top, int bottom, int width, int levels,
                   std::int32_t* scratch) {
  if (levels == 2)
    diffuse_levels<true>(u, u_pitch, k, k_pitch, top, bottom, width, levels, scratch);
  else
    diffuse_levels<false>(u, u_pitch, k, k_pitch, top, bottom, width, levels, scratch);
}

std::size_t diffusion_scratch() {
  return (3 * kDiffusionTileWidth + 4) * hn::Lanes(DT());
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(table_row);
HWY_EXPORT(gray_row);
HWY_EXPORT(write_row);
HWY_EXPORT(binary_states_row);
HWY_EXPORT(many_states_row);
HWY_EXPORT(outputs_row);
HWY_EXPORT(diffuse_tiles);
HWY_EXPORT(diffusion_scratch);

void table_row(const void* in, PixelFormat format, const std::int16_t* table, std::int16_t* out,
               int width) noexcept {
  HWY_DYNAMIC_DISPATCH(table_row)(in, format, table, out, width);
}
bool gray_row(const float* in, std::uint16_t* out, int width) noexcept {
  return HWY_DYNAMIC_DISPATCH(gray_row)(in, out, width);
}
void write_row(const std::uint8_t* k, int levels, const void* table, PixelFormat format, void* out,
               int width) noexcept {
  HWY_DYNAMIC_DISPATCH(write_row)(k, levels, table, format, out, width);
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
void diffuse_tiles(const std::int16_t* u, std::ptrdiff_t u_pitch, std::uint8_t* k,
                   std::ptrdiff_t k_pitch, int top, int bottom, int width, int levels,
                   std::int32_t* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(diffuse_tiles)(u, u_pitch, k, k_pitch, top, bottom, width, levels, scratch);
}
std::size_t diffusion_scratch() noexcept {
  return HWY_DYNAMIC_DISPATCH(diffusion_scratch)();
}

}  // namespace ocellus::detail
#endif
