#include "neocognitron/cpu/layers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "neocognitron/cpu/tap_rows.h"
#include "neocognitron/half.h"

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

// ---- UG

bool filter_contrast(const CellWindow& window, float threshold, const float* u0,
                     const ActiveCells& out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const int side = window.sides.out;
  // Rows with zeros on both sides.
  constexpr int kEdge = 8;
  constexpr int kStride = 96;
  static_assert(kEdge + padded_planes(kContrastSides.out) <= kStride);
  HWY_ALIGN float padded[kContrastSides.in * kStride] = {};
  bool empty[kContrastSides.in];
  for (int y = 0; y < window.sides.in; ++y) {
    const float* const from = u0 + y * window.sides.in;
    std::copy_n(from, window.sides.in, padded + y * kStride + kEdge);
    empty[y] = std::all_of(from, from + window.sides.in, [](float u) { return u == 0.0f; });
  }
  const TapRows rows = rows_of(window, window.taps);
  HWY_ALIGN float sums[kStride] = {};
  bool complete = true;
  std::uint32_t n = 0;
  for (int y = 0; y < side; ++y) {
    const auto row_of = [&](const TapRow& taps) { return window.first + y + taps.dy; };
    const bool nothing = std::all_of(rows.all().begin(), rows.all().end(), [&](const TapRow& taps) {
      const int row = row_of(taps);
      return row < 0 || row >= window.sides.in || empty[row];
    });
    if (nothing) {
      std::fill_n(out.begin + y * side, side, n);
      continue;
    }
    for (std::size_t x = 0; x < static_cast<std::size_t>(side); x += lanes) {
      V sum = hn::Zero(d);
      for (const TapRow& taps : rows.all()) {
        const int row = row_of(taps);
        if (row < 0 || row >= window.sides.in || empty[row]) continue;
        const float* from = padded + row * kStride + kEdge + window.first + taps.dx + x;
        for (int i = 0; i < taps.count; ++i) {
          const float weight = window.tap[static_cast<std::size_t>(taps.tap + i)].weight;
          sum = hn::MulAdd(hn::Set(d, weight), hn::LoadU(d, from + i), sum);
        }
      }
      hn::Store(sum, d, sums + x);
    }
    for (int x = 0; x < side; ++x) {
      out.begin[y * side + x] = n;
      const float value = std::abs(sums[x]) - threshold;
      if (!(value > 0.0f)) continue;
      if (n == out.capacity) {
        complete = false;
        continue;
      }
      out.key[n] = static_cast<std::uint16_t>(x * kContrastPlanes + (sums[x] > 0.0f ? 1 : 0));
      out.value[n++] = value;
    }
  }
  out.begin[side * side] = n;
  write_energies(out);
  return complete;
}

// ---- S-cells and C-cells

void sum_energies(const CellWindow& window, const ActiveCells& in, float* HWY_RESTRICT v) {
  const int side = window.sides.out;
  std::fill_n(v, side * side, 0.0f);
  for (const WindowTap& tap : window.all()) {
    const int dx = window.first + tap.dx;
    const int dy = window.first + tap.dy;
    const int begin = std::max(0, -dx);
    const int end = std::min(side, window.sides.in - dx);
    for (int y = std::max(0, -dy); y < std::min(side, window.sides.in - dy); ++y) {
      const float* HWY_RESTRICT const energy = in.energy + (y + dy) * window.sides.in + dx;
      float* HWY_RESTRICT const to = v + y * side;
      for (int x = begin; x < end; ++x) to[x] += tap.weight * energy[x];
    }
  }
  for (int i = 0; i < side * side; ++i) v[i] = std::sqrt(v[i]);
}

/// Cells of a row that an S-cell reads: `begin` to `end` - 1. The row of weights of a cell is its
/// key plus `shift`.
struct CellRun {
  std::uint32_t begin;
  std::uint32_t end;
  std::int32_t shift;
};
struct CellRuns {
  std::array<CellRun, 24> runs;
  int count = 0;
};

HWY_INLINE void find_runs(const CellWindow& window, const TapRows& rows, const ActiveCells& in,
                          int x, int y, CellRuns& out) {
  out.count = 0;
  for (const TapRow& taps : rows.all()) {
    const InputRow row = input_row(window, taps, x, y);
    if (row.begin >= row.end) continue;
    const std::uint32_t* const begin = in.begin + row.row * window.sides.in;
    if (begin[row.begin] == begin[row.end]) continue;
    out.runs[static_cast<std::size_t>(out.count++)] = {begin[row.begin], begin[row.end],
                                                       (taps.tap - row.column) * in.planes};
  }
}

HWY_INLINE int collect(const CellWindow& window, const TapRows& rows, const ActiveCells& in, int x,
                       int y, SimpleInput* HWY_RESTRICT inputs) {
  CellRuns runs;
  find_runs(window, rows, in, x, y, runs);
  int n = 0;
  for (int r = 0; r < runs.count; ++r) {
    const CellRun& run = runs.runs[static_cast<std::size_t>(r)];
    for (std::uint32_t i = run.begin; i < run.end; ++i)
      inputs[n++] = {static_cast<std::uint32_t>(in.key[i] + run.shift), in.value[i]};
  }
  return n;
}

int collect_inputs(const CellWindow& window, const ActiveCells& in, int x, int y,
                   SimpleInput* HWY_RESTRICT inputs) {
  return collect(window, rows_of(window, window.taps), in, x, y, inputs);
}

HWY_INLINE V load_weights(const float* weights) {
  return hn::Load(D(), weights);
}
HWY_INLINE V load_weights(const std::uint16_t* weights) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(D(), float_from_half(*weights));
#else
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(D(), hn::Load(half, reinterpret_cast<const hwy::float16_t*>(weights)));
#endif
}

/// The sums of `count` vectors of planes. The inputs are divided among `parts` sums: one sum alone
/// would wait for each addition.
template <std::size_t count, std::size_t parts>
struct PlaneSums {
  V sum[parts][count];

  HWY_INLINE PlaneSums() {
    for (std::size_t p = 0; p < parts; ++p)
      for (std::size_t i = 0; i < count; ++i) sum[p][i] = hn::Zero(D());
  }
  template <typename Weight>
  HWY_INLINE void add(std::size_t p, float value, const Weight* HWY_RESTRICT row) {
    const V factor = hn::Set(D(), value);
    for (std::size_t i = 0; i < count; ++i)
      sum[p][i] = hn::MulAdd(factor, load_weights(row + i * hn::MaxLanes(D())), sum[p][i]);
  }
  HWY_INLINE void store(float* HWY_RESTRICT e) const {
    for (std::size_t i = 0; i < count; ++i) {
      V all = sum[0][i];
      for (std::size_t p = 1; p < parts; ++p) all = hn::Add(all, sum[p][i]);
      hn::Store(all, D(), e + i * hn::MaxLanes(D()));
    }
  }
};

template <std::size_t count, std::size_t parts>
HWY_INLINE void sum_inputs(std::span<const SimpleInput> inputs, const float* HWY_RESTRICT weights,
                           std::size_t stride, float* HWY_RESTRICT e) {
  PlaneSums<count, parts> sums;
  const std::size_t n = inputs.size();
  std::size_t i = 0;
  for (; i + parts <= n; i += parts)
    for (std::size_t p = 0; p < parts; ++p)
      sums.add(p, inputs[i + p].value, weights + inputs[i + p].row * stride);
  for (std::size_t p = 0; i + p < n; ++p)
    sums.add(p, inputs[i + p].value, weights + inputs[i + p].row * stride);
  sums.store(e);
}

template <std::size_t count, std::size_t parts>
HWY_INLINE void sum_runs(const CellRuns& runs, const ActiveCells& in,
                         const std::uint16_t* HWY_RESTRICT weights, float* HWY_RESTRICT e) {
  constexpr std::size_t kStride = count * hn::MaxLanes(D());
  PlaneSums<count, parts> sums;
  for (int r = 0; r < runs.count; ++r) {
    const CellRun& run = runs.runs[static_cast<std::size_t>(r)];
    const std::uint16_t* HWY_RESTRICT const rows =
        weights + run.shift * static_cast<std::ptrdiff_t>(kStride);
    const auto n = static_cast<std::size_t>(run.end - run.begin);
    const std::uint16_t* HWY_RESTRICT const key = in.key + run.begin;
    const float* HWY_RESTRICT const value = in.value + run.begin;
    std::size_t i = 0;
    for (; i + parts <= n; i += parts)
      for (std::size_t p = 0; p < parts; ++p)
        sums.add(p, value[i + p], rows + key[i + p] * kStride);
    for (std::size_t p = 0; i + p < n; ++p) sums.add(p, value[i + p], rows + key[i + p] * kStride);
  }
  sums.store(e);
}

/// Calls sum(count, parts), constants of a block of `planes` planes. How the sum is divided may
/// depend on `planes` only.
template <typename Sum>
HWY_INLINE void sum_block(std::size_t planes, const Sum& sum) {
  constexpr std::size_t kVectors = kPlaneAlignment / hn::MaxLanes(D());  // of 16 planes
  using std::integral_constant;
  switch (planes / kPlaneAlignment) {
    case 4:
      return sum(integral_constant<std::size_t, 4 * kVectors>(),
                 integral_constant<std::size_t, 1>());
    case 3:
      return sum(integral_constant<std::size_t, 3 * kVectors>(),
                 integral_constant<std::size_t, 1>());
    case 2:
      return sum(integral_constant<std::size_t, 2 * kVectors>(),
                 integral_constant<std::size_t, 2>());
    default:
      return sum(integral_constant<std::size_t, kVectors>(), integral_constant<std::size_t, 4>());
  }
}

void sum_weighted(std::span<const SimpleInput> inputs, const float* weights, int planes, int stride,
                  float* e) {
  const auto row = static_cast<std::size_t>(stride);
  const auto count = static_cast<std::size_t>(planes);
  for (std::size_t k = 0; k < count; k += kWeightBlock) {
    sum_block(std::min(kWeightBlock, count - k), [&](auto vectors, auto parts) HWY_ATTR {
      sum_inputs<vectors(), parts()>(inputs, weights + k, row, e + k);
    });
  }
}

/// e of a block of planes of an S-cell.
HWY_INLINE void excite(const SimpleLayer& layer, const CellRuns& runs, const ActiveCells& in,
                       std::size_t k, std::size_t width, float* e) {
  sum_block(width, [&](auto vectors, auto parts) HWY_ATTR {
    sum_runs<vectors(), parts()>(runs, in, layer.weights + layer.rows() * k, e);
  });
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

void respond_all(const SimpleLayer& layer, const ActiveCells& in, float* v, float* out,
                 std::uint8_t* any) {
  const CellWindow& window = *layer.window;
  const TapRows rows = rows_of(window, window.taps);
  const int side = window.sides.out;
  const auto stride = static_cast<std::size_t>(layer.stride());
  const float bias = 1.0f / layer.gain;
  const float scale = layer.threshold / (1.0f - layer.threshold);
  sum_energies(window, in, v);
  CellRuns runs;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const auto position = static_cast<std::size_t>(y * side + x);
      any[position] = 0;
      float* const u = out + position * stride;
      if (!(v[position] > 0.0f)) {
        std::fill_n(u, stride, 0.0f);
        continue;
      }
      find_runs(window, rows, in, x, y, runs);
      for (std::size_t k = 0; k < stride; k += kWeightBlock)
        excite(layer, runs, in, k, std::min(kWeightBlock, stride - k), u + k);
      const float factor = 1.0f / (bias + layer.threshold * v[position]);
      any[position] = respond(bias, factor, scale, stride, layer.planes, u) ? 1 : 0;
    }
  }
}

/// Appends the values of a vector that are above 0. False if there is no room.
HWY_INLINE bool append_positive(V values, std::uint32_t key, const ActiveCells& out,
                                std::uint32_t& n) {
  const D d;
  const auto positive = hn::Gt(values, hn::Zero(d));
  if (hn::AllFalse(d, positive)) return true;
  HWY_ALIGN float lanes[kPlaneAlignment];
  hn::Store(values, d, lanes);
  std::uint8_t bytes[8] = {};  // StoreMaskBits may write 8
  hn::StoreMaskBits(d, positive, bytes);
  std::uint32_t bits = bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8;
  for (; bits != 0; bits &= bits - 1) {
    if (n == out.capacity) return false;
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(bits));
    out.key[n] = static_cast<std::uint16_t>(key + lane);
    out.value[n++] = lanes[lane];
  }
  return true;
}

/// (5). The surround has the same weight everywhere: it is summed up as the whole disk, by rows,
/// from the sums of all cells of a row before a column, and the center gets the difference.
class Blur {
 public:
  Blur(const CellWindow& window, const float* in, const std::uint8_t* any,
       const ComplexScratch& scratch, int planes)
      : window_(window),
        in_(in),
        any_(any),
        scratch_(scratch),
        side_(window.sides.in),
        stride_(static_cast<std::size_t>(padded_planes(planes))) {
    int center = 0;
    for (const WindowTap& tap : window.all()) center += tap.weight > 0.0f ? 1 : 0;
    center_ = rows_of(window, center);
    if (center < window.taps) {
      surround_ = window.tap[static_cast<std::size_t>(center)].weight;
      find_disk();
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(center); ++i)
      weights_[i] = window.tap[i].weight - surround_;
    // active[y][x]: how many positions before x have a cell that is not 0.
    for (int y = 0; y < side_; ++y) {
      std::uint8_t* const to = scratch.active + y * (side_ + 1);
      to[0] = 0;
      for (int x = 0; x < side_; ++x)
        to[x + 1] = static_cast<std::uint8_t>(to[x] + (any[y * side_ + x] != 0 ? 1 : 0));
    }
  }

  bool run(const ActiveCells& out) {
    bool complete = true;
    const int side = window_.sides.out;
    std::uint32_t n = 0;
    for (int y = 0; y < side; ++y) {
      if (disk_.count > 0)
        add_rows(window_.first + window_.sides.pitch * y + disk_.all().back().dy);
      for (int x = 0; x < side; ++x) {
        out.begin[y * side + x] = n;
        find_center(x, y);
        if (center_rows_ == 0) continue;
        find_disk_rows(x, y);
        for (std::size_t k = 0; k < stride_; k += kWeightBlock) {
          const std::size_t width = std::min(kWeightBlock, stride_ - k);
          HWY_ALIGN float sums[kWeightBlock];
          sum_block(width, [&](auto vectors, auto parts)
                               HWY_ATTR { sum_cells<vectors(), parts()>(k, sums); });
          const auto key =
              static_cast<std::uint32_t>(x * out.planes) + static_cast<std::uint32_t>(k);
          complete = append(sums, width, key, out, n) && complete;
        }
      }
    }
    out.begin[side * side] = n;
    write_energies(out);
    return complete;
  }

 private:
  /// Neighboring cells and their weights.
  struct CellSpan {
    const float* cells;
    const float* weights;
    std::size_t count;
  };

  template <std::size_t count, std::size_t parts>
  HWY_INLINE void sum_cells(std::size_t k, float* HWY_RESTRICT to) const {
    PlaneSums<count, parts> sums;
    for (int r = 0; r < center_rows_; ++r) {
      const CellSpan& span = center_spans_[static_cast<std::size_t>(r)];
      const float* HWY_RESTRICT const cells = span.cells + k;
      std::size_t i = 0;
      for (; i + parts <= span.count; i += parts)
        for (std::size_t p = 0; p < parts; ++p)
          sums.add(p, span.weights[i + p], cells + (i + p) * stride_);
      for (std::size_t p = 0; i + p < span.count; ++p)
        sums.add(p, span.weights[i + p], cells + (i + p) * stride_);
    }
    for (int r = 0; r < disk_rows_; ++r) {
      const auto& ends = disk_ends_[static_cast<std::size_t>(r)];
      sums.add(0, surround_, ends[1] + k);
      sums.add(parts / 2, -surround_, ends[0] + k);
    }
    sums.store(to);
  }

  static HWY_INLINE bool append(const float* sums, std::size_t width, std::uint32_t key,
                                const ActiveCells& out, std::uint32_t& n) {
    // Sums of rows differ by rounding where the exact result is 0.
    constexpr float kRounding = 1e-6f;
    const D d;
    bool complete = true;
    for (std::size_t k = 0; k < width; k += hn::Lanes(d)) {
      const V sum = hn::Load(d, sums + k);
      const V value = hn::Div(sum, hn::Add(hn::Set(d, 1.0f), sum));
      complete = append_positive(hn::IfThenElseZero(hn::Gt(sum, hn::Set(d, kRounding)), value),
                                 key + static_cast<std::uint32_t>(k), out, n) &&
                 complete;
    }
    return complete;
  }

  void find_disk() {
    for (const WindowTap& tap : window_.all()) {
      auto row = std::find_if(disk_.rows.begin(), disk_.rows.begin() + disk_.count,
                              [&](const TapRow& r) { return r.dy == tap.dy; });
      if (row == disk_.rows.begin() + disk_.count) {
        *row = {tap.dx, tap.dy, 1, 0};
        ++disk_.count;
        continue;
      }
      const int end = std::max(row->dx + row->count, tap.dx + 1);
      row->dx = std::min<int>(row->dx, tap.dx);
      row->count = end - row->dx;
    }
    std::sort(disk_.rows.begin(), disk_.rows.begin() + disk_.count,
              [](const TapRow& a, const TapRow& b) { return a.dy < b.dy; });
  }

  float* row_sums(int y) const {
    return scratch_.row_sums + static_cast<std::size_t>(y % disk_.count) *
                                   static_cast<std::size_t>(side_ + 1) * stride_;
  }

  /// The rows up to `last`: sums of the cells before each column.
  void add_rows(int last) {
    const D d;
    for (; next_row_ <= std::min(last, side_ - 1); ++next_row_) {
      const std::uint8_t* const any = any_ + next_row_ * side_;
      for (std::size_t k = 0; k < stride_; k += hn::Lanes(d)) {
        float* to = row_sums(next_row_) + k;
        const float* from = in_ + static_cast<std::size_t>(next_row_ * side_) * stride_ + k;
        V sum = hn::Zero(d);
        hn::Store(sum, d, to);
        for (int x = 0; x < side_; ++x, from += stride_) {
          if (any[x] != 0) sum = hn::Add(sum, hn::Load(d, from));
          to += stride_;
          hn::Store(sum, d, to);
        }
      }
    }
  }

  /// The rows of the center with cells that are not 0.
  void find_center(int x, int y) {
    center_rows_ = 0;
    for (const TapRow& taps : center_.all()) {
      const InputRow row = input_row(window_, taps, x, y);
      if (row.begin >= row.end) continue;
      const std::uint8_t* const active = scratch_.active + row.row * (side_ + 1);
      if (active[row.begin] == active[row.end]) continue;
      const auto first = static_cast<std::size_t>(row.row * side_ + row.begin);
      center_spans_[static_cast<std::size_t>(center_rows_++)] = {
          in_ + first * stride_, weights_.data() + taps.tap + row.begin - row.column,
          static_cast<std::size_t>(row.end - row.begin)};
    }
  }

  /// The sums at the ends of the rows of the disk with cells that are not 0.
  void find_disk_rows(int x, int y) {
    disk_rows_ = 0;
    for (const TapRow& taps : disk_.all()) {
      const InputRow row = input_row(window_, taps, x, y);
      if (row.begin >= row.end) continue;
      const std::uint8_t* const active = scratch_.active + row.row * (side_ + 1);
      if (active[row.begin] == active[row.end]) continue;
      const float* const sums = row_sums(row.row);
      disk_ends_[static_cast<std::size_t>(disk_rows_++)] = {
          sums + static_cast<std::size_t>(row.begin) * stride_,
          sums + static_cast<std::size_t>(row.end) * stride_};
    }
  }

  const CellWindow& window_;
  const float* in_;
  const std::uint8_t* any_;
  const ComplexScratch& scratch_;
  int side_;
  std::size_t stride_;
  TapRows center_;
  TapRows disk_;
  float surround_ = 0.0f;
  int next_row_ = 0;
  std::array<float, kMaxWindowTaps> weights_{};  // of the center's taps, without the surround's
  std::array<CellSpan, 24> center_spans_{};
  int center_rows_ = 0;
  std::array<std::array<const float*, 2>, 24> disk_ends_{};
  int disk_rows_ = 0;
};

bool blur_all(const CellWindow& window, const float* in, const std::uint8_t* any,
              const ComplexScratch& scratch, const ActiveCells& out) {
  return Blur(window, in, any, scratch, out.planes).run(out);
}

void compare_all(const SimpleLayer& layer, const ActiveCells& in, float* v, float* similarity) {
  const CellWindow& window = *layer.window;
  const TapRows rows = rows_of(window, window.taps);
  const int side = window.sides.out;
  const auto stride = static_cast<std::size_t>(layer.stride());
  sum_energies(window, in, v);
  const std::size_t positions = squared(side);
  std::array<CellRuns, squared(kSimpleSides[3].out)> runs;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      find_runs(window, rows, in, x, y, runs[static_cast<std::size_t>(y * side + x)]);
  // All positions need the weights of a block before the next one comes into the cache.
  for (std::size_t k = 0; k < stride; k += kWeightBlock) {
    const std::size_t width = std::min(kWeightBlock, stride - k);
    for (std::size_t p = 0; p < positions; ++p) {
      float* const s = similarity + p * stride + k;
      excite(layer, runs[p], in, k, width, s);
      const float factor = v[p] > 0.0f ? 1.0f / v[p] : 0.0f;
      for (std::size_t i = 0; i < width; ++i) s[i] *= factor;
    }
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(filter_contrast);
HWY_EXPORT(sum_energies);
HWY_EXPORT(collect_inputs);
HWY_EXPORT(sum_weighted);
HWY_EXPORT(respond_all);
HWY_EXPORT(blur_all);
HWY_EXPORT(compare_all);

bool contrast_cells(const CellWindow& window, float threshold, const float* u0,
                    const ActiveCells& out) noexcept {
  return HWY_DYNAMIC_DISPATCH(filter_contrast)(window, threshold, u0, out);
}

void input_strengths(const CellWindow& window, const ActiveCells& in, float* v) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_energies)(window, in, v);
}

int simple_inputs(const CellWindow& window, const ActiveCells& in, int x, int y,
                  SimpleInput* inputs) noexcept {
  return HWY_DYNAMIC_DISPATCH(collect_inputs)(window, in, x, y, inputs);
}

void weighted_sums(std::span<const SimpleInput> inputs, const float* weights, int planes,
                   int stride, float* e) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_weighted)(inputs, weights, planes, stride, e);
}

void simple_cells(const SimpleLayer& layer, const ActiveCells& in, float* v, float* out,
                  std::uint8_t* any) noexcept {
  HWY_DYNAMIC_DISPATCH(respond_all)(layer, in, v, out, any);
}

void place_weights(const SimpleLayer& layer, const std::uint16_t* from,
                   std::uint16_t* to) noexcept {
  const auto planes = static_cast<std::size_t>(layer.planes);
  const auto padded = static_cast<std::size_t>(layer.stride());
  for (std::size_t k = 0; k < padded; k += kWeightBlock) {
    const std::size_t width = std::min(kWeightBlock, padded - k);
    const std::size_t filled = std::min(width, planes - k);
    for (std::size_t row = 0; row < layer.rows(); ++row, to += width) {
      std::copy_n(from + row * planes + k, filled, to);
      std::fill_n(to + filled, width - filled, std::uint16_t{0});
    }
  }
}

std::size_t complex_row_sums(const CellWindow& window, int planes) noexcept {
  int first = window.tap[0].dy;
  int last = first;
  for (const WindowTap& tap : window.all()) {
    first = std::min<int>(first, tap.dy);
    last = std::max<int>(last, tap.dy);
  }
  return static_cast<std::size_t>(last - first + 1) *
         static_cast<std::size_t>(window.sides.in + 1) *
         static_cast<std::size_t>(padded_planes(planes));
}

bool complex_cells(const CellWindow& window, const float* in, const std::uint8_t* any,
                   const ComplexScratch& scratch, const ActiveCells& out) noexcept {
  return HWY_DYNAMIC_DISPATCH(blur_all)(window, in, any, scratch, out);
}

void reference_similarities(const SimpleLayer& layer, const ActiveCells& in, float* v,
                            float* similarity) noexcept {
  HWY_DYNAMIC_DISPATCH(compare_all)(layer, in, v, similarity);
}

}  // namespace ocellus::detail
#endif
