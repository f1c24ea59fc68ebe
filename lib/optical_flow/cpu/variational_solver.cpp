#include "optical_flow/cpu/variational_solver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "image/median.h"
#include "optical_flow/cpu/flow_rows.h"
#include "optical_flow/cpu/variational_rows.h"

namespace ocellus::detail {
namespace {

constexpr int kDerivativeReach = 2;
constexpr int kLineMargin = FloatPlane::kMargin;
constexpr int kNeighborhood = 8;  // rows that the derivatives of derivatives need, and more
static_assert(std::has_single_bit(static_cast<unsigned>(kNeighborhood)));

}  // namespace

void VariationalSolver::layout(LayoutBuilder& builder, int width,
                               const PyramidConfig& config) noexcept {
  const auto ring = [&](Ring& to, int rows, int pixels) {
    to.stride = row_stride(pixels + 2 * kLineMargin);
    to.mask = rows - 1;
    to.rows = builder.take<float>(static_cast<std::size_t>(rows) * to.stride);
  };
  for (Ring* const one : {&mean_, &residual_, &ix_, &iy_, &right_, &down_, &joined_[0], &joined_[1],
                          &match_[0], &match_[1], &match_[2], &match_[3], &match_[4]})
    ring(*one, kNeighborhood, width);
  ring(trust_, 2 * kNeighborhood, width);
  // A row waits here from its system until all half sweeps have passed.
  const int sweeps = 2 * std::max(config.sweeps, config.coarse_sweeps);
  const int rows = static_cast<int>(std::bit_ceil(static_cast<unsigned>(sweeps + 6)));
  for (ColorRing* const one : {&u_, &v_, &inverse_[0], &inverse_[1], &inverse_[2], &constant_[0],
                               &constant_[1], &right_color_, &down_color_})
    for (Ring& color : one->color) ring(color, rows, (width + 1) / 2);
  const std::size_t line = row_stride(width + 2 * kLineMargin);
  for (float*& to : line_) to = builder.take<float>(line);
  zeros_ = builder.take<float>(line);
}

void VariationalSolver::candidates(const VariationalLevel& level, const FlowPlanes& in,
                                   const FlowPlanes& out, int begin, int end) const noexcept {
  static constexpr int kOffsets[kCandidates][2] = {{0, 0},
                                                   {kCandidateDistance, 0},
                                                   {-kCandidateDistance, 0},
                                                   {0, kCandidateDistance},
                                                   {0, -kCandidateDistance}};
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, level.height - 1); };
  const auto at = [&](const FloatPlane& plane, int y, int c) {
    return plane.row(clamp_row(y + kOffsets[c][1])) + kOffsets[c][0];
  };
  int next = clamp_row(begin - 1);
  for (int y = begin; y < end; ++y) {
    for (; next <= clamp_row(y + 1); ++next) {
      for (int c = 0; c < kCandidates; ++c) {
        float* const warped = line_[0] + kLineMargin;
        float* const match = match_[c].row(next);
        warp_row(level.next, level.x, level.y + next, at(in.u, next, c), at(in.v, next, c), false,
                 warped, level.width);
        match_row(warped, level.reference.row(next), match, level.width);
        replicate_edges(match, level.width, 1, 1);
      }
    }
    CandidateRow row;
    for (int c = 0; c < kCandidates; ++c) {
      for (int k = 0; k < 3; ++k) row.match[c][k] = match_[c].row(clamp_row(y + k - 1));
      row.u[c] = at(in.u, y, c);
      row.v[c] = at(in.v, y, c);
    }
    row.out_u = out.u.row(y);
    row.out_v = out.v.row(y);
    candidate_row(row, level.width);
    replicate_edges(row.out_u, level.width, kGuidedReach, kGuidedReach);
    replicate_edges(row.out_v, level.width, kGuidedReach, kGuidedReach);
  }
}

void VariationalSolver::refine(const VariationalLevel& level, const FlowPlanes& in,
                               const FlowPlanes& out, bool last, int begin,
                               int end) const noexcept {
  const int width = level.width;
  const int height = level.height;
  const int sweeps = level.half_sweeps;
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, height - 1); };
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

  // The half sweeps compute kRowSlack pixels beyond the ends, too. With zeros there, what earlier
  // frames left cannot grow until it is infinite, which a weight of 0 does not remove.
  const auto split = [&](const float* from, const ColorRing& to, int y) {
    split_colors_row(from, to.color[0].row(y), to.color[1].row(y), width);
    for (int color = 0; color < 2; ++color)
      std::memset(to.color[color].row(y) + (width + 1 - color) / 2, 0, kRowSlack * sizeof(float));
  };
  const auto split_flow = [&](int y) {
    split(in.u.row(y), u_, y);
    split(in.v.row(y), v_, y);
  };
  const auto warp = [&](int y) {
    float* const warped = line_[0] + kLineMargin;
    float* const residual = residual_.row(y);
    float* const mean = mean_.row(y);
    warp_row(level.next, level.x, level.y + y, in.u.row(y), in.v.row(y), true, warped, width);
    warp_difference_row(warped, level.reference.row(y), residual, mean, width);
    replicate_edges(residual, width, kDerivativeReach, kDerivativeReach);
    replicate_edges(mean, width, kDerivativeReach, kDerivativeReach);
    if (last && y >= begin && y < end)
      std::memcpy(level.residual.row(y), residual, static_cast<std::size_t>(width) * sizeof(float));
  };
  const auto derive = [&](int y) {
    const float* rows[5];
    for (int k = 0; k < 5; ++k) rows[k] = mean_.row(clamp_row(y + k - kDerivativeReach));
    gradient_row(rows, ix_.row(y), iy_.row(y), width);
    replicate_edges(ix_.row(y), width, kDerivativeReach, kDerivativeReach);
    replicate_edges(iy_.row(y), width, kDerivativeReach, kDerivativeReach);
  };
  const auto weigh = [&](int y) {
    SmoothnessRow row;
    for (int k = 0; k < 2; ++k) row.guide[k] = level.guide.row(clamp_row(y + k));
    for (int k = 0; k < 3; ++k) {
      row.u[k] = in.u.row(clamp_row(y + k - 1));
      row.v[k] = in.v.row(clamp_row(y + k - 1));
    }
    row.weight = level.smoothness;
    row.right = right_.row(y);
    row.down = down_.row(y);
    smoothness_row(row, width);
    // Nothing lies beyond the border.
    row.right[-1] = 0.0f;
    std::memset(row.right + width - 1, 0, (kRowSlack + 1) * sizeof(float));
    std::memset(row.down + width, 0, kRowSlack * sizeof(float));
    if (y == height - 1) std::memset(row.down, 0, static_cast<std::size_t>(width) * sizeof(float));
    split(row.right, right_color_, y);
    split(row.down, down_color_, y);
    right_color_.color[1].row(y)[-1] = 0.0f;
  };
  const auto assemble = [&](int y) {
    SystemRow row;
    for (int k = 0; k < 5; ++k) {
      const int there = clamp_row(y + k - kDerivativeReach);
      row.ix[k] = ix_.row(there);
      row.iy[k] = iy_.row(there);
      row.residual[k] = residual_.row(there);
    }
    row.u = in.u.row(y);
    row.v = in.v.row(y);
    row.right = right_.row(y);
    row.down = down_.row(y);
    row.up = y > 0 ? down_.row(y - 1) : zeros_ + kLineMargin;
    row.x = level.x;
    row.y = level.y + y;
    row.image_width = level.next.width;
    row.image_height = level.next.height;
    for (int k = 0; k < 3; ++k) row.inverse[k] = line_[k] + kLineMargin;
    for (int k = 0; k < 2; ++k) row.constant[k] = line_[3 + k] + kLineMargin;
    row.confidence = last && level.confidence.origin != nullptr && y >= begin && y < end
                         ? level.confidence.row(y)
                         : nullptr;
    system_row(row, width);
    for (int k = 0; k < 3; ++k) split(row.inverse[k], inverse_[k], y);
    for (int k = 0; k < 2; ++k) split(row.constant[k], constant_[k], y);
  };
  const auto sweep = [&](int y, int s) {
    const auto color = static_cast<std::size_t>((y + s) & 1);
    const std::size_t other = 1 - color;
    const int above = y > 0 ? y - 1 : y;
    const int below = y < height - 1 ? y + 1 : y;
    // The pixel before the first odd one is the first even one; that before the first even one does
    // not exist.
    const std::ptrdiff_t left = color == 0 ? -1 : 0;
    const std::ptrdiff_t right = left + 1;
    HalfSweepRow row;
    row.u = u_.color[color].row(y);
    row.v = v_.color[color].row(y);
    row.left_u = u_.color[other].row(y) + left;
    row.left_v = v_.color[other].row(y) + left;
    row.right_u = u_.color[other].row(y) + right;
    row.right_v = v_.color[other].row(y) + right;
    row.up_u = u_.color[color].row(above);
    row.up_v = v_.color[color].row(above);
    row.down_u = u_.color[color].row(below);
    row.down_v = v_.color[color].row(below);
    row.left = right_color_.color[other].row(y) + left;
    row.right = right_color_.color[color].row(y);
    row.up = y > 0 ? down_color_.color[color].row(y - 1) : zeros_ + kLineMargin;
    row.down = down_color_.color[color].row(y);
    for (int k = 0; k < 3; ++k) row.inverse[k] = inverse_[k].color[color].row(y);
    for (int k = 0; k < 2; ++k) row.constant[k] = constant_[k].color[color].row(y);
    half_sweep_row(row, color == 0 ? (width + 1) / 2 : width / 2);
  };
  const auto join = [&](int y) {
    const auto one = [&](const ColorRing& from, const FloatPlane& before, float* to) {
      join_colors_row(from.color[0].row(y), from.color[1].row(y), before.row(y), to, width);
      replicate_edges(to, width, kGuidedReach, kGuidedReach);
    };
    one(u_, in.u, last ? out.u.row(y) : joined_[0].row(y));
    one(v_, in.v, last ? out.v.row(y) : joined_[1].row(y));
  };
  const auto median = [&](int y) {
    const auto one = [&](const Ring& from, float* to) {
      const float* rows[3];
      for (int k = 0; k < 3; ++k) rows[k] = from.row(clamp_row(y + k - 1));
      median_row(rows, to, width);
      replicate_edges(to, width, kGuidedReach, kGuidedReach);
    };
    one(joined_[0], out.u.row(y));
    one(joined_[1], out.v.row(y));
  };

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

void VariationalSolver::guided_median(const VariationalLevel& level, const FlowPlanes& in,
                                      const FlowPlanes& out, int begin, int end) const noexcept {
  const auto clamp_row = [&](int y) { return std::clamp(y, 0, level.height - 1); };
  const auto trust = [&](int y) { return trust_.row(y); };
  int next = clamp_row(begin - kGuidedReach);
  for (int y = begin; y < end; ++y) {
    for (; next <= clamp_row(y + kGuidedReach); ++next) {
      const float* const v[2] = {in.v.row(clamp_row(next - 1)), in.v.row(clamp_row(next + 1))};
      const bool mine = level.confidence.origin != nullptr && next >= begin && next < end;
      trust_row(in.u.row(next), v, level.residual.row(next), trust(next),
                mine ? level.confidence.row(next) : nullptr, level.width);
      replicate_edges(trust(next), level.width, kGuidedReach, kGuidedReach);
    }
    GuidedMedianRow row;
    for (int k = 0; k < 5; ++k) {
      const int there = clamp_row(y + (k - 2) * kGuidedStep);
      row.guide[k] = level.guide.row(there);
      row.trust[k] = trust(there);
      row.u[k] = in.u.row(there);
      row.v[k] = in.v.row(there);
    }
    row.reweightings = level.reweightings;
    row.out_u = out.u.row(y);
    row.out_v = out.v.row(y);
    guided_median_row(row, level.width);
    replicate_edges(row.out_u, level.width, kGuidedReach, kGuidedReach);
    replicate_edges(row.out_v, level.width, kGuidedReach, kGuidedReach);
  }
}

}  // namespace ocellus::detail
