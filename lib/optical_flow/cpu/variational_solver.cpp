#include "optical_flow/cpu/variational_solver.h"

#include <bit>
#include <cstring>

#include "image/median.h"
#include "optical_flow/cpu/flow_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cpu/variational_solver.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "optical_flow/cpu/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

// The estimates of AVX-512 have 14 bits, those of other x86 targets 12, and those of NEON 8. A step
// of Newton doubles them. The determinant of the system needs all bits of a float: where the image
// has little texture, a relative error of 1e-5 changes the flow by percents.
constexpr int kInverseSteps = HWY_ARCH_X86 ? 1 : 2;

HWY_INLINE V inverse(V value) {
  V estimate = hn::ApproximateReciprocal(value);
  for (int step = 0; step < kInverseSteps; ++step)
    estimate = hn::Mul(estimate, hn::NegMulAdd(value, estimate, constant(2.0f)));
  return estimate;
}
// For weights, for which the estimates of AVX-512 are enough.
constexpr bool kGoodEstimates = HWY_TARGET <= HWY_AVX3;

HWY_INLINE V weight_inverse(V value) {
  if constexpr (kGoodEstimates) return hn::ApproximateReciprocal(value);
  return inverse(value);
}
HWY_INLINE V inverse_root(V value) {
  const V estimate = hn::ApproximateReciprocalSqrt(value);
  const V half = hn::Mul(constant(0.5f), hn::Mul(value, estimate));
  return hn::Mul(estimate, hn::NegMulAdd(half, estimate, constant(1.5f)));
}
HWY_INLINE V weight_inverse_root(V value) {
  if constexpr (kGoodEstimates) return hn::ApproximateReciprocalSqrt(value);
  return inverse_root(value);
}

// ---- the smoothness term

/// The weight across one side of a pixel, from the differences of image and flow across it and of
/// the flow along it.
HWY_INLINE V smoothness(V image, const V* across, const V* along, V least, V edge) {
  const V color =
      hn::MulAdd(square(image), constant(1.0f / (kEdgeScale * kEdgeScale)), constant(1.0f));
  const V here = hn::MulAdd(across[0], across[0], square(across[1]));
  const V beside = hn::MulAdd(along[0], along[0], square(along[1]));
  const V s = hn::MulAdd(constant(kCrossShare), beside, hn::Add(here, constant(kSmoothnessWidth)));
  return hn::Mul(hn::MulAdd(edge, inverse(color), least), inverse_root(s));
}

// ---- the data term and the system

/// The normal equations of the data term.
struct DataTerm {
  V xx, xy, yy, xt, yt;

  /// Adds the constancy of one derivative, whose own derivatives are p and q and whose difference
  /// is t. The weight is the normalization and that of the penalty in one.
  HWY_INLINE void add(V p, V q, V t) {
    const V n = hn::MulAdd(p, p, hn::MulAdd(q, q, constant(kDataFloor)));
    const V weight = inverse_root(hn::Mul(n, hn::MulAdd(t, t, hn::Mul(constant(kDataWidth), n))));
    const V wp = hn::Mul(weight, p);
    const V wq = hn::Mul(weight, q);
    xx = hn::MulAdd(wp, p, xx);
    xy = hn::MulAdd(wp, q, xy);
    yy = hn::MulAdd(wq, q, yy);
    xt = hn::MulAdd(wp, t, xt);
    yt = hn::MulAdd(wq, t, yt);
  }
  HWY_INLINE void scale(V by) {
    for (V* const value : {&xx, &xy, &yy, &xt, &yt}) *value = hn::Mul(*value, by);
  }
};

// ---- red-black sweeps

// ---- candidates

// ---- the steps

constexpr int kDerivativeReach = 2;

void candidates(const VariationalLevel& level, const FlowPlanes& in, const FlowPlanes& out,
                int begin, int end, const VariationalScratch& scratch) {
  static constexpr int kOffsets[kCandidates][2] = {{0, 0},
                                                   {kCandidateDistance, 0},
                                                   {-kCandidateDistance, 0},
                                                   {0, kCandidateDistance},
                                                   {0, -kCandidateDistance}};
  const Rect& region = level.region;
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, region.height - 1); };
  const auto at = [&](const FloatPlane& plane, int y, int c) {
    return plane.row(clamp_row(y + kOffsets[c][1])) + kOffsets[c][0];
  };
  const int lanes = lane_count();
  const V cap = constant(kCandidateCap);
  int next = clamp_row(begin - 1);
  for (int y = begin; y < end; ++y) {
    for (; next <= clamp_row(y + 1); ++next) {
      for (int c = 0; c < kCandidates; ++c) {
        float* const warped = scratch.lines.row(0);
        float* const match = scratch.match[c].row(next);
        warp_row(level.next, region.x, region.y + next, at(in[0], next, c), at(in[1], next, c),
                 false, warped, region.width);
        map_row(
            region.width, match,
            [=](V p, V q) HWY_ATTR { return hn::Min(hn::Abs(hn::Sub(p, q)), cap); }, warped,
            level.reference.row(next));
        replicate_edges(match, region.width, 1, 1);
      }
    }
    // Takes the flow of a neighbor where it matches clearly better over 3x3 pixels.
    std::array<const float*, 3> match[kCandidates];
    const float* flow[kCandidates][2];
    for (int c = 0; c < kCandidates; ++c) {
      match[c] = rows_around<3>(scratch.match[c], y, region.height);
      for (int k = 0; k < 2; ++k) flow[c][k] = at(in[k], y, c);
    }
    float* const to[2] = {out[0].row(y), out[1].row(y)};
    for (int x = 0; x < region.width; x += lanes) {
      V best = hn::Zero(D());
      V u = load(flow[0][0] + x);
      V v = load(flow[0][1] + x);
      for (int c = 0; c < kCandidates; ++c) {
        V sum = hn::Zero(D());
        for (const float* const line : match[c])
          sum = hn::Add(sum,
                        hn::Add(hn::Add(load(line + x - 1), load(line + x)), load(line + x + 1)));
        if (c == 0) {
          best = hn::MulSub(constant(kCandidateFactor), sum, constant(kCandidateMargin));
          continue;
        }
        const auto better = hn::Lt(sum, best);
        best = hn::IfThenElse(better, sum, best);
        u = hn::IfThenElse(better, load(flow[c][0] + x), u);
        v = hn::IfThenElse(better, load(flow[c][1] + x), v);
      }
      store(u, to[0] + x);
      store(v, to[1] + x);
    }
    for (float* const row : to) extend_flow_row(row, region.width);
  }
}

/// One warp of rows [begin, end), and its solution.
struct Refinement {
  using ColorRing = VariationalScratch::ColorRing;

  const VariationalLevel& level;
  const FlowPlanes& in;
  const FlowPlanes& out;
  const bool last;
  const int begin;
  const int end;
  const VariationalScratch& scratch;
  const Rect& region = level.region;
  const int width = region.width;
  const int height = region.height;
  const int sweeps = level.half_sweeps;
  // The rows that each stage needs for the one after it. A half sweep reads one row more on both
  // sides than it leaves correct.
  const int out_begin = last ? begin : std::max(0, begin - 1);
  const int out_end = last ? end : std::min(height, end + 1);
  const int system_begin = std::max(0, out_begin - sweeps);
  const int system_end = std::min(height, out_end + sweeps);
  const int gradient_begin = std::max(0, system_begin - kDerivativeReach);
  const int gradient_end = std::min(height, system_end + kDerivativeReach);
  const int warp_begin = std::max(0, gradient_begin - kDerivativeReach);
  const int warp_end = std::min(height, gradient_end + kDerivativeReach);

  void extend(float* row) const { replicate_edges(row, width, kDerivativeReach, kDerivativeReach); }
  // The half sweeps compute kRowSlack pixels beyond the ends, too. With zeros there, what earlier
  // frames left cannot grow until it is infinite, which a weight of 0 does not remove.
  void split(const float* from, const ColorRing& to, int y) const {
    flow_rows().split_row(from, to[0].row(y), to[1].row(y), width);
    for (int color = 0; color < 2; ++color)
      std::memset(to[static_cast<std::size_t>(color)].row(y) + (width + 1 - color) / 2, 0,
                  kRowSlack * sizeof(float));
  }
  void split_flow(int y) const {
    for (std::size_t c = 0; c < 2; ++c) split(in[c].row(y), scratch.flow[c], y);
  }
  void warp(int y) const {
    float* const warped = scratch.lines.row(0);
    float* const residual = scratch.residual.row(y);
    float* const mean = scratch.mean.row(y);
    warp_row(level.next, region.x, region.y + y, in[0].row(y), in[1].row(y), true, warped, width);
    const float* const reference = level.reference.row(y);
    const int lanes = lane_count();
    const V half = constant(0.5f);
    for (int x = 0; x < width; x += lanes) {
      const V w = load(warped + x);
      const V a = load(reference + x);
      store(hn::Sub(w, a), residual + x);
      store(hn::Mul(half, hn::Add(w, a)), mean + x);
    }
    extend(residual);
    extend(mean);
    if (last && y >= begin && y < end)
      std::memcpy(level.residual.row(y), residual, static_cast<std::size_t>(width) * sizeof(float));
  }
  void derive(int y) const {
    flow_rows().gradient_row(rows_around<5>(scratch.mean, y, height).data(), scratch.ix.row(y),
                             scratch.iy.row(y), width);
    extend(scratch.ix.row(y));
    extend(scratch.iy.row(y));
  }
  /// The weights between the pixels of a row and their right and lower neighbors.
  void weigh(int y) const {
    const float* const guide[2] = {level.guide.row(y),
                                   level.guide.row(std::min(y + 1, height - 1))};
    const std::array<const float*, 3> flow[2] = {rows_around<3>(in[0], y, height),
                                                 rows_around<3>(in[1], y, height)};
    float* const right_row = scratch.right.row(y);
    float* const down_row = scratch.down.row(y);
    const int lanes = lane_count();
    const V quarter = constant(0.25f);
    const V least = constant(level.smoothness * kEdgeShare);
    const V edge = constant(level.smoothness * (1.0f - kEdgeShare));
    for (int x = 0; x < width; x += lanes) {
      // The weight between the pixels and their neighbors (i, j), which are the right or the lower
      // ones.
      const auto side = [&](int i, int j) HWY_ATTR {
        V across[2];
        V along[2];
        for (int c = 0; c < 2; ++c) {
          const auto w = [&](int column, int row) HWY_ATTR {
            return load(flow[c][static_cast<std::size_t>(1 + row)] + x + column);
          };
          across[c] = hn::Sub(w(i, j), w(0, 0));
          along[c] = hn::Mul(
              quarter, hn::Sub(hn::Add(w(j, i), w(1, 1)), hn::Add(w(-j, -i), w(i - j, j - i))));
        }
        const V image = hn::Sub(load(guide[j] + x + i), load(guide[0] + x));
        return smoothness(image, across, along, least, edge);
      };
      store(side(1, 0), right_row + x);
      store(side(0, 1), down_row + x);
    }
    // Nothing lies beyond the border.
    right_row[-1] = 0.0f;
    std::memset(right_row + width - 1, 0, (kRowSlack + 1) * sizeof(float));
    std::memset(down_row + width, 0, kRowSlack * sizeof(float));
    if (y == height - 1) std::memset(down_row, 0, static_cast<std::size_t>(width) * sizeof(float));
    split(right_row, scratch.right_color, y);
    split(down_row, scratch.down_color, y);
    scratch.right_color[1].row(y)[-1] = 0.0f;
  }
  /// The linear system of the pixels of a row.
  void assemble(int y) const {
    const auto ix = rows_around<5>(scratch.ix, y, height);
    const auto iy = rows_around<5>(scratch.iy, y, height);
    const auto residual = rows_around<5>(scratch.residual, y, height);
    const float* const flow_u = in[0].row(y);
    const float* const flow_v = in[1].row(y);
    const float* const right_row = scratch.right.row(y);
    const float* const down_row = scratch.down.row(y);
    const float* const up_row = y > 0 ? scratch.down.row(y - 1) : scratch.zeros.row(0);
    // xx, xy and yy of the inverse of the diagonal block, and the constant
    float* system_of[5];
    for (int k = 0; k < 5; ++k) system_of[k] = scratch.lines.row(k);
    // The smaller eigenvalue of the matrix of the data term.
    float* const confidence = last && level.confidence.origin != nullptr && y >= begin && y < end
                                  ? level.confidence.row(y)
                                  : nullptr;
    const D d;
    const int lanes = lane_count();
    const V one = constant(1.0f);
    const V half = constant(0.5f);
    const V least = constant(kLeastDiagonal);
    const V right_end = constant(static_cast<float>(level.next.width - 1));
    const V bottom_end = constant(static_cast<float>(level.next.height - 1));
    const V image_y = constant(static_cast<float>(region.y + y));
    for (int x = 0; x < width; x += lanes) {
      const V gxy = derivative_y(ix.data(), x);
      const V zero = hn::Zero(d);
      DataTerm data{zero, zero, zero, zero, zero};
      data.add(derivative_x(ix.data(), x), gxy, derivative_x(residual.data(), x));
      data.add(gxy, derivative_y(iy.data(), x), derivative_y(residual.data(), x));

      const V u = load(flow_u + x);
      const V v = load(flow_v + x);
      // Distance of the warped position from the nearest edge; negative outside the image.
      const V there_x = hn::Add(hn::Iota(d, static_cast<float>(region.x + x)), u);
      const V there_y = hn::Add(image_y, v);
      const V distance = hn::Min(hn::Min(there_x, hn::Sub(right_end, there_x)),
                                 hn::Min(there_y, hn::Sub(bottom_end, there_y)));
      data.scale(hn::Min(one, hn::Max(constant(kLeastDataRamp), hn::Add(distance, half))));

      const V sum = hn::Add(hn::Add(load(right_row + x), load(right_row + x - 1)),
                            hn::Add(hn::Add(load(down_row + x), load(up_row + x)), least));
      const V p = hn::Add(data.xx, sum);
      const V q = hn::Add(data.yy, sum);
      const V determinant = inverse(hn::NegMulAdd(data.xy, data.xy, hn::Mul(p, q)));
      store(hn::Mul(q, determinant), system_of[0] + x);
      store(hn::Neg(hn::Mul(data.xy, determinant)), system_of[1] + x);
      store(hn::Mul(p, determinant), system_of[2] + x);
      store(hn::MulAdd(hn::Add(data.xx, least), u, hn::MulSub(data.xy, v, data.xt)),
            system_of[3] + x);
      store(hn::MulAdd(hn::Add(data.yy, least), v, hn::MulSub(data.xy, u, data.yt)),
            system_of[4] + x);
      if (confidence != nullptr) {
        const V mean = hn::Mul(half, hn::Add(data.xx, data.yy));
        const V difference = hn::Mul(half, hn::Sub(data.xx, data.yy));
        const V spread = hn::Sqrt(hn::MulAdd(difference, difference, square(data.xy)));
        store(hn::Max(hn::Sub(mean, spread), zero), confidence + x);
      }
    }
    for (std::size_t k = 0; k < 5; ++k) {
      // The pixels after the row are neighbors with the weight 0. Their values must be finite.
      std::memset(system_of[k] + width, 0, kRowSlack * sizeof(float));
      split(system_of[k], k < 3 ? scratch.inverse[k] : scratch.constant[k - 3], y);
    }
  }
  /// A half sweep over the pixels of one color in a row.
  void sweep(int y, int s) const {
    const auto color = static_cast<std::size_t>((y + s) & 1);
    const std::size_t other = 1 - color;
    const int above = y > 0 ? y - 1 : y;
    const int below = y < height - 1 ? y + 1 : y;
    // The pixel before the first odd one is the first even one; that before the first even one does
    // not exist.
    const std::ptrdiff_t left = color == 0 ? -1 : 0;
    float* row_flow[2];
    const float* beside[2];  // the neighbor before the first pixel, and those that follow
    const float* up_flow[2];
    const float* down_flow[2];
    const float* row_constant[2];
    for (std::size_t c = 0; c < 2; ++c) {
      const ColorRing& flow = scratch.flow[c];
      row_flow[c] = flow[color].row(y);
      beside[c] = flow[other].row(y) + left;
      up_flow[c] = flow[color].row(above);
      down_flow[c] = flow[color].row(below);
      row_constant[c] = scratch.constant[c][color].row(y);
    }
    const float* const left_weight = scratch.right_color[other].row(y) + left;
    const float* const right_weight = scratch.right_color[color].row(y);
    const float* const up_weight =
        y > 0 ? scratch.down_color[color].row(y - 1) : scratch.zeros.row(0);
    const float* const down_weight = scratch.down_color[color].row(y);
    const float* inverse_row[3];
    for (int k = 0; k < 3; ++k) inverse_row[k] = scratch.inverse[k][color].row(y);
    const int count = color == 0 ? (width + 1) / 2 : width / 2;
    const int lanes = lane_count();
    const V relaxation = constant(kRelaxation);
    for (int k = 0; k < count; k += lanes) {
      const V to_left = load(left_weight + k);
      const V to_right = load(right_weight + k);
      const V to_up = load(up_weight + k);
      const V to_down = load(down_weight + k);
      V sum[2];
      for (int c = 0; c < 2; ++c) {
        sum[c] = hn::MulAdd(to_right, load(beside[c] + 1 + k), load(row_constant[c] + k));
        sum[c] = hn::MulAdd(to_left, load(beside[c] + k), sum[c]);
        sum[c] = hn::MulAdd(to_down, load(down_flow[c] + k), sum[c]);
        sum[c] = hn::MulAdd(to_up, load(up_flow[c] + k), sum[c]);
      }
      const V xy = load(inverse_row[1] + k);
      V flow[2];
      for (int c = 0; c < 2; ++c) {
        const V old = load(row_flow[c] + k);
        const V solved = hn::MulAdd(load(inverse_row[2 * c] + k), sum[c], hn::Mul(xy, sum[1 - c]));
        flow[c] = hn::MulAdd(relaxation, hn::Sub(solved, old), old);
      }
      for (int c = 0; c < 2; ++c) store(flow[c], row_flow[c] + k);
    }
  }
  /// Joins the pixels of both colors, at most kLargestStep from the flow before.
  void join(int y) const {
    const int lanes = lane_count();
    const V step = constant(kLargestStep);
    for (std::size_t c = 0; c < 2; ++c) {
      float* const to = last ? out[c].row(y) : scratch.joined[c].row(y);
      const float* const even = scratch.flow[c][0].row(y);
      const float* const odd = scratch.flow[c][1].row(y);
      for (int k = 0; 2 * k < width; k += lanes)
        hn::StoreInterleaved2(load(even + k), load(odd + k), D(), to + 2 * k);
      map_row(
          width, to,
          [=](V value, V before) HWY_ATTR {
            return hn::Min(hn::Max(value, hn::Sub(before, step)), hn::Add(before, step));
          },
          to, in[c].row(y));
      extend_flow_row(to, width);
    }
  }
  void median(int y) const {
    for (std::size_t c = 0; c < 2; ++c) {
      median_row(rows_around<3>(scratch.joined[c], y, height).data(), out[c].row(y), width);
      extend_flow_row(out[c].row(y), width);
    }
  }

  void run() const {
    constexpr int kBehind = 2 * kDerivativeReach;  // rows of the system behind those of the warp
    if (system_begin > 0) {
      weigh(system_begin - 1);
      split_flow(system_begin - 1);
    }
    split_flow(system_begin);
    for (int r = warp_begin; r < system_end + kBehind + sweeps + 1; ++r) {
      if (r < warp_end) warp(r);
      int y = r - kDerivativeReach;
      if (y >= gradient_begin && y < gradient_end) derive(y);
      y = r - kBehind;
      if (y >= system_begin && y < system_end) {
        if (y + 1 < std::min(height, system_end + 1)) split_flow(y + 1);
        weigh(y);
        assemble(y);
      }
      for (int s = 0; s < sweeps; ++s, --y) {
        const int reach = sweeps - 1 - s;
        if (y >= std::max(system_begin, out_begin - reach) &&
            y < std::min(system_end, out_end + reach))
          sweep(y, s);
      }
      ++y;  // the row of the last half sweep
      if (y >= out_begin && y < out_end) join(y);
      if (!last && y - 1 >= begin && y - 1 < end) median(y - 1);
    }
  }
};

void guided_median(const VariationalLevel& level, const FlowPlanes& in, const FlowPlanes& out,
                   int begin, int end, const VariationalScratch& scratch) {
  constexpr int kSide = 5;
  const int lanes = lane_count();
  const V one = constant(1.0f);
  const V contrast = constant(1.0f / (kGuidedContrast * kGuidedContrast));
  const V flow_width = constant(kGuidedWidth);
  const int width = level.region.width;
  const int height = level.region.height;
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, height - 1); };
  int next = clamp_row(begin - kGuidedReach);
  for (int y = begin; y < end; ++y) {
    for (; next <= clamp_row(y + kGuidedReach); ++next) {
      // The trust in the flow of each pixel, which the confidence is multiplied by.
      const float* const u = in[0].row(next);
      const float* const v[2] = {in[1].row(clamp_row(next - 1)), in[1].row(clamp_row(next + 1))};
      const float* const residual = level.residual.row(next);
      float* const trust = scratch.trust.row(next);
      float* const confidence = level.confidence.origin != nullptr && next >= begin && next < end
                                    ? level.confidence.row(next)
                                    : nullptr;
      for (int x = 0; x < width; x += lanes) {
        const V twice = hn::Add(hn::Sub(load(u + x + 1), load(u + x - 1)),
                                hn::Sub(load(v[1] + x), load(v[0] + x)));
        const V convergence =
            hn::Mul(hn::Min(twice, hn::Zero(D())), constant(0.5f / kOcclusionScale));
        const V difference = hn::Mul(load(residual + x), constant(1.0f / kResidualScale));
        const V q = inverse(hn::Mul(hn::MulAdd(convergence, convergence, one),
                                    hn::MulAdd(difference, difference, one)));
        // Fused, so that the compiler cannot fuse only one of the branches.
        store(hn::MulAdd(q, q, constant(kLeastTrust)), trust + x);
        if (confidence != nullptr) store(hn::Mul(load(confidence + x), square(q)), confidence + x);
      }
      extend_flow_row(trust, width);
    }
    // The median over 5x5 samples that have the color of the pixel, by iterated weights.
    const auto guide = rows_around<kSide>(level.guide, y, height, kGuidedStep);
    const auto trust = rows_around<kSide>(scratch.trust, y, height, kGuidedStep);
    const std::array<const float*, kSide> flow[2] = {
        rows_around<kSide>(in[0], y, height, kGuidedStep),
        rows_around<kSide>(in[1], y, height, kGuidedStep)};
    float* const to[2] = {out[0].row(y), out[1].row(y)};
    for (int x = 0; x < width; x += lanes) {
      V weight[kSide * kSide];
      V sum = constant(1e-20f);
      V u = hn::Zero(D());
      V v = hn::Zero(D());
      const V center = load(guide[2] + x);
      for (int j = 0; j < kSide; ++j) {
        for (int i = 0; i < kSide; ++i) {
          const int at = x + (i - 2) * kGuidedStep;
          const V color = hn::Sub(load(guide[j] + at), center);
          const V q = weight_inverse(hn::MulAdd(square(color), contrast, one));
          const float distance = guided_share(i - 2) * guided_share(j - 2);
          const V t = hn::Mul(square(q), hn::Mul(constant(distance), load(trust[j] + at)));
          weight[j * kSide + i] = t;
          sum = hn::Add(sum, t);
          u = hn::MulAdd(t, load(flow[0][j] + at), u);
          v = hn::MulAdd(t, load(flow[1][j] + at), v);
        }
      }
      V scale = inverse(sum);
      u = hn::Mul(u, scale);
      v = hn::Mul(v, scale);
      for (int k = 0; k < level.reweightings; ++k) {
        const V mean_u = u;
        const V mean_v = v;
        sum = constant(1e-20f);
        u = hn::Zero(D());
        v = hn::Zero(D());
        for (int j = 0; j < kSide; ++j) {
          for (int i = 0; i < kSide; ++i) {
            const int at = x + (i - 2) * kGuidedStep;
            const V there_u = load(flow[0][j] + at);
            const V there_v = load(flow[1][j] + at);
            const V far = hn::MulAdd(hn::Sub(there_u, mean_u), hn::Sub(there_u, mean_u),
                                     hn::Add(square(hn::Sub(there_v, mean_v)), flow_width));
            const V t = hn::Mul(weight[j * kSide + i], weight_inverse_root(far));
            sum = hn::Add(sum, t);
            u = hn::MulAdd(t, there_u, u);
            v = hn::MulAdd(t, there_v, v);
          }
        }
        scale = inverse(sum);
        u = hn::Mul(u, scale);
        v = hn::Mul(v, scale);
      }
      store(u, to[0] + x);
      store(v, to[1] + x);
    }
    for (float* const row : to) extend_flow_row(row, width);
  }
}

void variational_step(const PyramidStep& step, const VariationalLevel& level, const FlowPlanes& in,
                      const FlowPlanes& out, int begin, int end,
                      const VariationalScratch& scratch) {
  if (step.kind == PyramidStepKind::kCandidates)
    candidates(level, in, out, begin, end, scratch);
  else if (step.kind == PyramidStepKind::kRefine)
    Refinement{level, in, out, step.last, begin, end, scratch}.run();
  else
    guided_median(level, in, out, begin, end, scratch);
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(variational_step);

void variational_step(const PyramidStep& step, const VariationalLevel& level, const FlowPlanes& in,
                      const FlowPlanes& out, int begin, int end,
                      const VariationalScratch& scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(variational_step)(step, level, in, out, begin, end, scratch);
}

void VariationalScratch::layout(LayoutBuilder& builder, int width,
                                const PyramidConfig& config) noexcept {
  constexpr int kNeighborhood = 8;  // rows that the derivatives of derivatives need, and more
  for (RowRing* const ring : {&mean, &residual, &ix, &iy, &right, &down, &joined[0], &joined[1],
                              &lines, &match[0], &match[1], &match[2], &match[3], &match[4]})
    ring->layout(builder, kNeighborhood, width);
  trust.layout(builder, 2 * kNeighborhood, width);
  zeros.layout(builder, 1, width);
  // A row waits here from its system until all half sweeps have passed.
  const int sweeps = 2 * std::max(config.sweeps, config.coarse_sweeps);
  const int rows = static_cast<int>(std::bit_ceil(static_cast<unsigned>(sweeps + 6)));
  for (ColorRing* const rings : {&flow[0], &flow[1], &inverse[0], &inverse[1], &inverse[2],
                                 &constant[0], &constant[1], &right_color, &down_color})
    for (RowRing& ring : *rings) ring.layout(builder, rows, (width + 1) / 2);
}

}  // namespace ocellus::detail
#endif
