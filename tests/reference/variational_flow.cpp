#include "reference/variational_flow.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "reference/image.h"
#include "reference/lucas_kanade.h"

namespace ocellus::reference {

using test::PlaneD;

namespace {

struct Vector {
  double u = 0.0;
  double v = 0.0;
};

struct Field {
  PlaneD u;
  PlaneD v;

  /// The vector at a pixel; outside, that of the nearest pixel inside.
  Vector clamped(int x, int y) const { return {u.clamped(x, y), v.clamped(x, y)}; }
};

double square(double value) {
  return value * value;
}
double square(const Vector& vector) {
  return square(vector.u) + square(vector.v);
}

/// One level of both frames.
struct Level {
  int number = 0;    ///< 0 is the finest
  PlaneD raw;        ///< the first frame, not smoothed
  PlaneD reference;  ///< the first frame
  PlaneD next;       ///< the second frame
};

std::vector<Level> levels_of_both(const PlaneD& first, const PlaneD& second, int count) {
  // No pyramid has more than 6 levels.
  const std::vector<PlaneD> raw_first = levels_of(first, std::min(count, 6));
  const std::vector<PlaneD> raw_second = levels_of(second, std::min(count, 6));
  std::vector<Level> levels;
  for (std::size_t l = 0; l < raw_first.size(); ++l)
    levels.push_back({static_cast<int>(l), raw_first[l], raw_first[l], raw_second[l]});
  // Only the finest level is smoothed: the others are smooth already. 5 taps, sigma 0.65 pixels.
  const std::vector<double> taps = window_weights(5, 0.65);
  levels[0].reference = filter(first, taps, 2, taps, 2);
  levels[0].next = filter(second, taps, 2, taps, 2);
  return levels;
}

/// At each pixel the flow of the pixel itself, or that of a pixel at a distance of 2 if it fits the
/// frames better.
Field best_candidate(const Level& level, const Field& flow) {
  const int width = level.raw.width;
  const int height = level.raw.height;
  constexpr int kOffsets[5][2] = {{0, 0}, {2, 0}, {-2, 0}, {0, 2}, {0, -2}};
  std::vector<PlaneD> errors;
  for (const auto& [dx, dy] : kOffsets) {
    const PlaneD error = make(width, height, [&](int x, int y) {
      const Vector w = flow.clamped(x + dx, y + dy);
      const double difference = bilinear(level.next, x + w.u, y + w.v) - level.reference.at(x, y);
      return std::min(std::abs(difference), 20.0);  // gray levels from which all errors are alike
    });
    const std::vector<double> ones(3, 1.0);
    errors.push_back(filter(error, ones, 1, ones, 1));  // the sum of 3x3 pixels
  }
  Field result = flow;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      // Another flow must be better by 10 % and by 2.7 gray levels in the sum of 9 pixels.
      double best = 0.9 * errors[0].at(x, y) - 2.7;
      for (std::size_t o = 0; o < errors.size(); ++o) {
        if (errors[o].at(x, y) >= best) continue;
        best = errors[o].at(x, y);
        const Vector w = flow.clamped(x + kOffsets[o][0], y + kOffsets[o][1]);
        result.u.at(x, y) = w.u;
        result.v.at(x, y) = w.v;
      }
    }
  }
  return result;
}

/// The derivatives of the data term with respect to a change (du, dv) of the flow:
/// (a11 du + a12 dv + b1, a12 du + a22 dv + b2).
struct DataTerm {
  PlaneD residual;  ///< the warped second frame minus the first one
  PlaneD a11;
  PlaneD a12;
  PlaneD a22;
  PlaneD b1;
  PlaneD b2;
};

DataTerm data_term(const Level& level, const Field& flow) {
  const int width = level.raw.width;
  const int height = level.raw.height;
  const PlaneD warped = make(width, height, [&](int x, int y) {
    return bicubic(level.next, x + flow.u.at(x, y), y + flow.v.at(x, y));
  });
  const PlaneD residual =
      make(width, height, [&](int x, int y) { return warped.at(x, y) - level.reference.at(x, y); });
  const PlaneD mean = make(width, height, [&](int x, int y) {
    return (level.reference.at(x, y) + warped.at(x, y)) / 2.0;
  });
  const PlaneD gx = derivative_x(mean);
  const PlaneD gy = derivative_y(mean);
  const PlaneD gxx = derivative_x(gx);
  const PlaneD gxy = derivative_y(gx);
  const PlaneD gyy = derivative_y(gy);
  const PlaneD rx = derivative_x(residual);
  const PlaneD ry = derivative_y(residual);

  const PlaneD zero(width, height);
  DataTerm term{residual, zero, zero, zero, zero, zero};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double to_x = x + flow.u.at(x, y);
      const double to_y = y + flow.v.at(x, y);
      const double inside =
          std::min({to_x, width - 1 - to_x, to_y, height - 1 - to_y});  // pixels from the border
      // Flow that points outside has no data; the weight stays positive.
      const double ramp = std::clamp(inside + 0.5, 0.001, 1.0);
      // Constancy of both components of the gradient: p du + q dv + t = 0.
      const double equations[2][3] = {{gxx.at(x, y), gxy.at(x, y), rx.at(x, y)},
                                      {gxy.at(x, y), gyy.at(x, y), ry.at(x, y)}};
      for (const auto& [p, q, t] : equations) {
        // The square of the slope; 0.48 gray levels per pixel^2 keep it positive in flat parts.
        const double n = p * p + q * q + square(0.48);
        // Distances t / sqrt(n) above 0.38 pixels count less than quadratically.
        const double theta = ramp / std::sqrt(n * (t * t + square(0.38) * n));
        term.a11.at(x, y) += theta * p * p;
        term.a12.at(x, y) += theta * p * q;
        term.a22.at(x, y) += theta * q * q;
        term.b1.at(x, y) += theta * p * t;
        term.b2.at(x, y) += theta * q * t;
      }
    }
  }
  return term;
}

/// The weights of the smoothness between each pixel and the next one in x and in y.
struct EdgeWeights {
  PlaneD right;
  PlaneD below;

  double to_left(int x, int y) const { return x > 0 ? right.at(x - 1, y) : 0.0; }
  double to_right(int x, int y) const { return right.at(x, y); }
  double above_of(int x, int y) const { return y > 0 ? below.at(x, y - 1) : 0.0; }
  double below_of(int x, int y) const { return below.at(x, y); }
};

/// The weight between two neighbors. `step` is the difference of the raw gray levels, `along` the
/// difference of the flow, `across` its mean slope in the other direction.
double edge_weight(double smoothness, int level, double step, const Vector& along,
                   const Vector& across) {
  // A step of 14 gray levels about halves the smoothness; 3.5 % of it stay at any step.
  const double image = 0.035 + 0.965 / (1.0 + square(step) / square(14.0));
  // The slope across counts 60 %; 0.003 pixels keep the root positive.
  const double slope = square(along) + 0.6 * square(across) + square(0.003);
  // Coarser levels are less smooth, by 0.83 for each.
  return smoothness * std::pow(0.83, level) * image / std::sqrt(slope);
}

EdgeWeights edge_weights(const Level& level, const Field& flow, double smoothness) {
  const int width = level.raw.width;
  const int height = level.raw.height;
  const auto difference = [&](int x1, int y1, int x0, int y0) -> Vector {
    const Vector to = flow.clamped(x1, y1);
    const Vector from = flow.clamped(x0, y0);
    return {to.u - from.u, to.v - from.v};
  };
  const auto quarter = [](const Vector& a, const Vector& b) -> Vector {
    return {(a.u + b.u) / 4.0, (a.v + b.v) / 4.0};
  };
  EdgeWeights weights;
  weights.right = make(width, height, [&](int x, int y) {
    if (x == width - 1) return 0.0;
    return edge_weight(
        smoothness, level.number, level.raw.at(x + 1, y) - level.raw.at(x, y),
        difference(x + 1, y, x, y),
        quarter(difference(x, y + 1, x, y - 1), difference(x + 1, y + 1, x + 1, y - 1)));
  });
  weights.below = make(width, height, [&](int x, int y) {
    if (y == height - 1) return 0.0;
    return edge_weight(
        smoothness, level.number, level.raw.at(x, y + 1) - level.raw.at(x, y),
        difference(x, y + 1, x, y),
        quarter(difference(x + 1, y, x - 1, y), difference(x + 1, y + 1, x - 1, y + 1)));
  });
  return weights;
}

/// The flow after `sweeps` sweeps of red-black successive over-relaxation from `flow`.
Field relaxed(const DataTerm& term, const EdgeWeights& weights, const Field& flow, int sweeps) {
  const int width = flow.u.width;
  const int height = flow.u.height;
  constexpr double kSmall = 1e-6;       // makes each pixel's system regular
  constexpr double kRelaxation = 1.94;  // 1 is Gauss-Seidel; 2 is the limit of convergence
  Field next = flow;
  for (int s = 0; s < 2 * sweeps; ++s) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        if ((x + y + s) % 2 != 0) continue;
        const double left = weights.to_left(x, y);
        const double right = weights.to_right(x, y);
        const double above = weights.above_of(x, y);
        const double below = weights.below_of(x, y);
        const double sum = left + right + above + below;
        const double p = term.a11.at(x, y) + sum + kSmall;
        const double q = term.a22.at(x, y) + sum + kSmall;
        const double a12 = term.a12.at(x, y);
        // The data term is linear around the flow before the sweeps.
        const double u = flow.u.at(x, y);
        const double v = flow.v.at(x, y);
        double c1 = term.a11.at(x, y) * u + a12 * v - term.b1.at(x, y) + kSmall * u;
        double c2 = a12 * u + term.a22.at(x, y) * v - term.b2.at(x, y) + kSmall * v;
        // The weight of a neighbor outside is 0.
        c1 += left * next.u.clamped(x - 1, y) + right * next.u.clamped(x + 1, y) +
              above * next.u.clamped(x, y - 1) + below * next.u.clamped(x, y + 1);
        c2 += left * next.v.clamped(x - 1, y) + right * next.v.clamped(x + 1, y) +
              above * next.v.clamped(x, y - 1) + below * next.v.clamped(x, y + 1);
        const double determinant = p * q - a12 * a12;
        next.u.at(x, y) += kRelaxation * ((q * c1 - a12 * c2) / determinant - next.u.at(x, y));
        next.v.at(x, y) += kRelaxation * ((p * c2 - a12 * c1) / determinant - next.v.at(x, y));
      }
    }
  }
  return next;
}

/// `flow` within 1 pixel of `before` in each component.
Field limited(const Field& flow, const Field& before) {
  const auto limit = [](const PlaneD& plane, const PlaneD& around) {
    return make(plane.width, plane.height, [&](int x, int y) {
      return std::clamp(plane.at(x, y), around.at(x, y) - 1.0, around.at(x, y) + 1.0);
    });
  };
  return {limit(flow.u, before.u), limit(flow.v, before.v)};
}

/// The 3x3 median of each component.
Field median_3x3(const Field& flow) {
  const auto filtered = [](const PlaneD& plane) {
    return make(plane.width, plane.height, [&](int x, int y) { return median(plane, 3, x, y); });
  };
  return {filtered(flow.u), filtered(flow.v)};
}

/// How much the flow of each pixel is trusted, 0 to 1: little where it converges, as before an
/// occlusion, and where the frames do not fit.
PlaneD trust(const Field& flow, const PlaneD& residual) {
  return make(flow.u.width, flow.u.height, [&](int x, int y) {
    const double divergence = (flow.u.clamped(x + 1, y) - flow.u.clamped(x - 1, y) +
                               flow.v.clamped(x, y + 1) - flow.v.clamped(x, y - 1)) /
                              2.0;
    // A convergence of 0.19 pixels per pixel halves q, and a residual of 5.5 gray levels as well.
    const double q = 1.0 / ((1.0 + square(std::min(divergence, 0.0) / 0.19)) *
                            (1.0 + square(residual.at(x, y) / 5.5)));
    return q * q;
  });
}

/// Each vector becomes the weighted median of 5x5 vectors at a spacing of 2 pixels, by iteratively
/// reweighted means.
Field guided_median(const PlaneD& raw, const Field& flow, const PlaneD& trust, int reweightings) {
  Field result = flow;
  for (int y = 0; y < raw.height; ++y) {
    for (int x = 0; x < raw.width; ++x) {
      struct Neighbor {
        Vector flow;
        double weight;
      };
      std::vector<Neighbor> neighbors;
      for (int dy = -4; dy <= 4; dy += 2) {
        for (int dx = -4; dx <= 4; dx += 2) {
          // A Gaussian of sigma 8 pixels: exp(-r^2 / (2 sigma^2)).
          const double near = std::exp(-(dx * dx + dy * dy) / 128.0);
          // A difference of 12.5 gray levels divides the weight by 4.
          const double alike =
              1.0 / square(1.0 + square(raw.clamped(x + dx, y + dy) - raw.at(x, y)) / square(12.5));
          // 1e-4 keeps the sum of the weights positive.
          const double trusted = 1e-4 + trust.clamped(x + dx, y + dy);
          neighbors.push_back({flow.clamped(x + dx, y + dy), near * trusted * alike});
        }
      }
      Vector middle;
      for (int iteration = 0; iteration <= reweightings; ++iteration) {
        double weight_sum = 0.0;
        Vector sum;
        for (const Neighbor& neighbor : neighbors) {
          double weight = neighbor.weight;
          if (iteration > 0) {
            // The inverse distance makes the mean a median; 0.15 pixels keep it finite.
            const Vector away = {neighbor.flow.u - middle.u, neighbor.flow.v - middle.v};
            weight /= std::sqrt(square(away) + square(0.15));
          }
          weight_sum += weight;
          sum.u += weight * neighbor.flow.u;
          sum.v += weight * neighbor.flow.v;
        }
        middle = {sum.u / weight_sum, sum.v / weight_sum};
      }
      result.u.at(x, y) = middle.u;
      result.v.at(x, y) = middle.v;
    }
  }
  return result;
}

int warps_on(int level, const VariationalParameters& parameters) {
  if (level == 0) return parameters.warps;
  if (level == 1) return (parameters.warps + parameters.coarse_warps + 1) / 2;
  return parameters.coarse_warps;
}

}  // namespace

VariationalResult variational_flow(const PlaneD& first, const PlaneD& second,
                                   const VariationalParameters& parameters) {
  const std::vector<Level> levels = levels_of_both(first, second, parameters.levels);
  VariationalResult result;
  Field flow;
  for (int l = static_cast<int>(levels.size()) - 1; l >= 0; --l) {
    const Level& level = levels[static_cast<std::size_t>(l)];
    const int width = level.raw.width;
    const int height = level.raw.height;
    if (flow.u.data.empty()) {
      flow = {PlaneD(width, height), PlaneD(width, height)};
    } else {
      flow = {expand_flow(flow.u, width, height), expand_flow(flow.v, width, height)};
      flow = best_candidate(level, flow);
    }
    const int warps = warps_on(l, parameters);
    const int sweeps = l == 0 ? parameters.sweeps : parameters.coarse_sweeps;
    DataTerm term;
    for (int warp = 0; warp < warps; ++warp) {
      term = data_term(level, flow);
      const EdgeWeights weights = edge_weights(level, flow, parameters.smoothness);
      flow = limited(relaxed(term, weights, flow, sweeps), flow);
      if (warp < warps - 1) flow = median_3x3(flow);
    }
    const PlaneD trusted = trust(flow, term.residual);
    flow = guided_median(level.raw, flow, trusted, parameters.reweightings);
    if (l == 0) {
      result.confidence = make(width, height, [&](int x, int y) {
        const double a11 = term.a11.at(x, y);
        const double a12 = term.a12.at(x, y);
        const double a22 = term.a22.at(x, y);
        const double smaller = 0.5 * (a11 + a22) - std::hypot(0.5 * (a11 - a22), a12);
        return std::max(0.0, smaller) * trusted.at(x, y);
      });
    }
  }
  result.u = flow.u;
  result.v = flow.v;
  return result;
}

}  // namespace ocellus::reference
