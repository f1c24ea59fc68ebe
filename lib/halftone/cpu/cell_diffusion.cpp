// Computes error diffusion in tiles.
#include "halftone/cpu/cell_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/cpu/cell_diffusion.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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

HWY_EXPORT(diffuse_tiles);
HWY_EXPORT(diffusion_scratch);

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
