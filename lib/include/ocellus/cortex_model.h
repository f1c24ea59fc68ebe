// Models of the cortical classifier: hypercolumns with features that were learned without labels,
// and a read-out of their winners.
//
// Sources: Nere, Franey, Hashmi, Lipasti, Journal of Parallel and Distributed Computing, 2012
// (hypercolumns, competition, Hebbian learning); Lansner, Holst, "A higher order Bayesian neural
// network with spiking units", International Journal of Neural Systems 7, 1996 (weights that are
// logarithms of probability ratios).
//
// The on-off cells x of the LGN are 1 where a pixel of the patch is at least `lgn_threshold`. The
// off-on cells are their complement: their weights are part of the bias. A hypercolumn sees a
// window of the grid below it (CorticalLevel): pixels, or the winners of hypercolumns. The score of
// a minicolumn m is the logarithm of the probability of its inputs, if they are independent:
//
//   s_m = b_m + sum of w_im over active inputs i,
//   w_im = log(P_im / (1 - P_im)),   b_m = sum of log(1 - P_im) over all inputs i         (a)
//
// P_im is the share of the inputs that m has won in which x_i was 1, here rounded to a multiple of
// 2^-12 and limited to 0.01 to 0.99. Another rule of learning may choose other w and b
// (ocellus/cortex_training.h). The largest score wins, the lower index between equals. With soft
// competition, the `competitors` best minicolumns m_1, m_2... of a hypercolumn share the activity
// 1:
//
//   a_k = exp(softness (s_k - s_1)) / sum over all competitors j of exp(softness (s_j - s_1))  (b)
//
// The read-out adds over the hypercolumns h of all levels
//
//   e_c = r_c + sum over h and k of a_k R_hc(m_k)                                          (c)
//
// and the answer is the class with the largest e. Its confidence is
//
//   exp(sharpness e_c) / sum over all classes j of exp(sharpness e_j)                      (d)
//
// An operator with `learn` moves P of the winners of a frame towards their inputs (Hebb):
//
//   P_im += rate (x_i - P_im)                                                              (e)
//
// Weights w are multiples of 1/24 from -127/24 to 127/24, activities a multiples of 1/256, R and r
// multiples of 1/1024, P multiples of 2^-31. All sums before (d) are sums of integers, so that
// winners and classes are the same on every backend and for any number of threads.
//
// In place of windows, the hypercolumns of the lowest level may have receptive fields of free
// inputs: each has its own list of pixels (`fields`).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ocellus/cortical_network.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

inline constexpr int kMaxCortexLevels = 4;
inline constexpr int kLeastCortexSide = 8;     ///< of a patch, pixels
inline constexpr int kMaxCortexSide = 64;      ///< of a patch, pixels
inline constexpr int kMaxCortexFields = 1024;  ///< hypercolumns with fields of free inputs
inline constexpr int kMaxCompetitors = 8;
inline constexpr int kCortexWeightScale = 24;  ///< units of w and b in 1

/// How features are learned; ocellus/cortex_training.h has the rules. An operator learns by kHebb.
enum class CortexRule : std::uint8_t { kHebb, kBcpnn };

struct CortexParameters {
  int width = 28;  ///< of a patch, kLeastCortexSide to kMaxCortexSide pixels
  int height = 28;
  int lgn_threshold = 100;  ///< gray levels of bright ink on dark ground, 1 to 255
  /// A patch is sheared along x so that the second moment of x and y is 0, by at most 45 degrees.
  bool deslant = true;
  int level_count = 1;  ///< 1 to kMaxCortexLevels
  std::array<CorticalLevel, kMaxCortexLevels> levels{{{12, 12, 2, 2, 256}, {}, {}, {}}};
  /// Above 0: the lowest level has no windows but this number of hypercolumns, each with
  /// `field_inputs` pixels of its own, at most kMaxCortexFields. Of levels[0], `minicolumns`
  /// counts.
  int fields = 0;
  int field_inputs = 78;  ///< 1 to the pixels of a patch
  int competitors = 1;    ///< 1 to kMaxCompetitors; 1: only the winner is active
  float softness = 0.3f;  ///< in (b), 0.05 to 10
};

/// Returns nothing if all parameters are in their ranges and the hierarchy converges. Errors:
/// InvalidArgument, with the name of the parameter, its value and its range.
Expected<void> check_parameters(const CortexParameters& parameters) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
