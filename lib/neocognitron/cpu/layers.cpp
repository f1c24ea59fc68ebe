#include "neocognitron/cpu/layers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neocognitron/cpu/layers.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kPlaneAlignment>;
using V = hn::Vec<D>;

/// Vectors of planes that are summed up at once. They and the weights fit into the registers.
inline constexpr std::size_t kVectors = 8;

/// The position of the layer below that a tap reads, or -1 if it is outside.
HWY_INLINE int tap_position(const CellWindow& window, const WindowTap& tap, int x, int y) {
  const int column = window.first + window.sides.pitch * x + tap.dx;
  const int row = window.first + window.sides.pitch * y + tap.dy;
  const auto side = static_cast<unsigned>(window.sides.in);
  if (static_cast<unsigned>(column) >= side || static_cast<unsigned>(row) >= side) return -1;
  return row * window.sides.in + column;
}

float collect_inputs(const CellWindow& window, const ActiveCells& in, int x, int y,
                     SimpleInput* HWY_RESTRICT inputs, int& count) {
  int n = 0;
  float energy = 0.0f;
  const auto planes = static_cast<std::uint32_t>(in.planes);
  std::uint32_t row = 0;
  for (const WindowTap& tap : window.all()) {
    const int position = tap_position(window, tap, x, y);
    if (position >= 0) {
      float squares = 0.0f;
      const std::uint32_t end = in.begin[position + 1];
      for (std::uint32_t i = in.begin[position]; i < end; ++i) {
        const float value = in.value[i];
        inputs[n++] = {row + in.plane[i], value};
        squares += value * value;
      }
      energy += tap.weight * squares;
    }
    row += planes;
  }
  count = n;
  return std::sqrt(energy);
}

/// Sums up `count` vectors of planes.
template <std::size_t count>
HWY_INLINE void sum_planes(std::span<const SimpleInput> inputs, const float* HWY_RESTRICT weights,
                           std::size_t stride, float* HWY_RESTRICT e) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sum[count];
  for (std::size_t i = 0; i < count; ++i) sum[i] = hn::Zero(d);
  for (const SimpleInput& input : inputs) {
    const float* HWY_RESTRICT const row = weights + input.row * stride;
    const V value = hn::Set(d, input.value);
    for (std::size_t i = 0; i < count; ++i)
      sum[i] = hn::MulAdd(value, hn::Load(d, row + i * lanes), sum[i]);
  }
  for (std::size_t i = 0; i < count; ++i) hn::Store(sum[i], d, e + i * lanes);
}

void sum_weighted(std::span<const SimpleInput> inputs, const float* weights, int planes, int stride,
                  float* e) {
  const auto count = static_cast<std::size_t>(planes);
  const auto row = static_cast<std::size_t>(stride);
  const std::size_t lanes = hn::Lanes(D());
  std::size_t k = 0;
  for (; k + kVectors * lanes <= count; k += kVectors * lanes)
    sum_planes<kVectors>(inputs, weights + k, row, e + k);
  for (; k + 2 * lanes <= count; k += 2 * lanes) sum_planes<2>(inputs, weights + k, row, e + k);
  for (; k < count; k += lanes) sum_planes<1>(inputs, weights + k, row, e + k);
}

/// u[k] = scale * max(0, (bias + e[k]) * factor - 1), in place. Returns whether one is above 0.
HWY_INLINE bool respond(float bias, float factor, float scale, std::size_t stride, int planes,
                        float* HWY_RESTRICT u) {
  const D d;
  const V zero = hn::Zero(d);
  V largest = zero;
  for (auto k = static_cast<std::size_t>(planes); k < stride; ++k) u[k] = -bias;
  for (std::size_t k = 0; k < stride; k += hn::Lanes(d)) {
    const V sum = hn::Add(hn::Load(d, u + k), hn::Set(d, bias));
    const V value = hn::Max(zero, hn::MulSub(sum, hn::Set(d, factor), hn::Set(d, 1.0f)));
    largest = hn::Max(largest, value);
    hn::Store(hn::Mul(value, hn::Set(d, scale)), d, u + k);
  }
  return !hn::AllFalse(d, hn::Gt(largest, zero));
}

void respond_all(const SimpleLayer& layer, const ActiveCells& in, SimpleInput* inputs, float* out,
                 std::uint8_t* any) {
  const int side = layer.window->sides.out;
  const auto stride = static_cast<std::size_t>(layer.stride());
  const float bias = 1.0f / layer.gain;
  const float scale = layer.threshold / (1.0f - layer.threshold);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      int count = 0;
      const float v = collect_inputs(*layer.window, in, x, y, inputs, count);
      const auto position = static_cast<std::size_t>(y * side + x);
      float* const u = out + position * stride;
      any[position] = 0;
      if (count == 0) {
        std::memset(u, 0, stride * sizeof(float));
        continue;
      }
      sum_weighted({inputs, static_cast<std::size_t>(count)}, layer.weights, layer.stride(),
                   layer.stride(), u);
      const float factor = 1.0f / (bias + layer.threshold * v);
      any[position] = respond(bias, factor, scale, stride, layer.planes, u) ? 1 : 0;
    }
  }
}

/// Adds weight * row to sums.
HWY_INLINE void add_weighted(float weight, const float* HWY_RESTRICT row, std::size_t stride,
                             float* HWY_RESTRICT sums) {
  const D d;
  const V w = hn::Set(d, weight);
  for (std::size_t k = 0; k < stride; k += hn::Lanes(d))
    hn::Store(hn::MulAdd(w, hn::Load(d, row + k), hn::Load(d, sums + k)), d, sums + k);
}

void blur_all(const CellWindow& window, const float* in, const std::uint8_t* any, float* sums,
              const ActiveCells& out) {
  const int side = window.sides.out;
  const auto stride = static_cast<std::size_t>(padded_planes(out.planes));
  std::uint32_t n = 0;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      out.begin[y * side + x] = n;
      bool excited = false;
      for (const WindowTap& tap : window.all()) {
        if (tap.weight <= 0.0f && !excited) break;  // positive taps come first
        const int position = tap_position(window, tap, x, y);
        if (position < 0 || any[position] == 0) continue;
        if (!excited) {
          excited = true;
          std::memset(sums, 0, stride * sizeof(float));
        }
        add_weighted(tap.weight, in + static_cast<std::size_t>(position) * stride, stride, sums);
      }
      if (!excited) continue;
      for (int k = 0; k < out.planes; ++k) {
        if (sums[k] <= 0.0f) continue;
        out.plane[n] = static_cast<std::uint16_t>(k);
        out.value[n++] = sums[k] / (1.0f + sums[k]);
      }
    }
  }
  out.begin[side * side] = n;
}

void filter_contrast(const CellWindow& window, float threshold, const float* u0,
                     const ActiveCells& out) {
  const int side = window.sides.out;
  std::uint32_t n = 0;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      out.begin[y * side + x] = n;
      float sum = 0.0f;
      for (const WindowTap& tap : window.all()) {
        const int position = tap_position(window, tap, x, y);
        if (position >= 0) sum += tap.weight * u0[position];
      }
      const float value = std::abs(sum) - threshold;
      if (!(value > 0.0f)) continue;
      out.plane[n] = sum > 0.0f ? 1 : 0;
      out.value[n++] = value;
    }
  }
  out.begin[side * side] = n;
}

void compare_all(const SimpleLayer& layer, const ActiveCells& in, SimpleInput* inputs,
                 float* similarity) {
  const int side = layer.window->sides.out;
  const int stride = layer.stride();
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      int count = 0;
      const float v = collect_inputs(*layer.window, in, x, y, inputs, count);
      float* const s = similarity + static_cast<std::ptrdiff_t>(y * side + x) * stride;
      sum_weighted({inputs, static_cast<std::size_t>(count)}, layer.weights, stride, stride, s);
      const float factor = v > 0.0f ? 1.0f / v : 0.0f;
      for (int k = 0; k < stride; ++k) s[k] *= factor;
    }
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(collect_inputs);
HWY_EXPORT(sum_weighted);
HWY_EXPORT(filter_contrast);
HWY_EXPORT(respond_all);
HWY_EXPORT(blur_all);
HWY_EXPORT(compare_all);

float simple_inputs(const CellWindow& window, const ActiveCells& in, int x, int y,
                    SimpleInput* inputs, int& count) noexcept {
  return HWY_DYNAMIC_DISPATCH(collect_inputs)(window, in, x, y, inputs, count);
}

void weighted_sums(std::span<const SimpleInput> inputs, const float* weights, int planes,
                   int stride, float* e) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_weighted)(inputs, weights, planes, stride, e);
}

void contrast_cells(const CellWindow& window, float threshold, const float* u0,
                    const ActiveCells& out) noexcept {
  HWY_DYNAMIC_DISPATCH(filter_contrast)(window, threshold, u0, out);
}

void simple_cells(const SimpleLayer& layer, const ActiveCells& in, SimpleInput* inputs, float* out,
                  std::uint8_t* any) noexcept {
  HWY_DYNAMIC_DISPATCH(respond_all)(layer, in, inputs, out, any);
}

void complex_cells(const CellWindow& window, const float* in, const std::uint8_t* any, float* sums,
                   const ActiveCells& out) noexcept {
  HWY_DYNAMIC_DISPATCH(blur_all)(window, in, any, sums, out);
}

void reference_similarities(const SimpleLayer& layer, const ActiveCells& in, SimpleInput* inputs,
                            float* similarity) noexcept {
  HWY_DYNAMIC_DISPATCH(compare_all)(layer, in, inputs, similarity);
}

}  // namespace ocellus::detail
#endif
