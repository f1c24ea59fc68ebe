// Cortical network: hypercolumns of minicolumns that learn without labels.
//
// Source: Nere, Franey, Hashmi, Lipasti, "Simulating cortical networks on heterogeneous multi-GPU
// systems", Journal of Parallel and Distributed Computing, 2012; equations (1) to (7).
//
// Pixels become binary cells of the lateral geniculate nucleus (LGN): an on-off cell is active at a
// bright pixel, an off-on cell at a dark one. A hypercolumn sees a window of the grid below it. All
// of its minicolumns have the same inputs x, each x_i 0 or 1, and each has its own weights W, 0
// to 1. A minicolumn responds with
//
//   f = 1 / (1 + exp(-g))                                                                (1)
//   g = Omega (Theta - T)                                                                (2)
//   W~_i = W_i / Omega                                                                   (3)
//   Omega = sum C_i W_i,    C_i = 1 if W_i > 0.2, else 0                                 (4), (5)
//   Theta = sum gamma_i                                                                  (6)
//   gamma_i = -2 if x_i = 1 and W_i < 0.5, else x_i W~_i                                 (7)
//
// With S = sum of the weights of active inputs that are 0.5 or more, and N the number of the other
// active inputs, (2) is g = S - Omega (2 N + T). Weights and T are multiples of 2^-15, so g is an
// integer multiple of 2^-30. The sums are exact in any order, and the winner is the same on every
// backend and for any number of threads. A minicolumn with Omega = 0 has g = 0.
//
// The winner of a hypercolumn is the minicolumn with the largest g > 0. If there is none, it is the
// one with the largest g among those that fire at random. The lower index decides between equals.
// Without either the hypercolumn is silent, as it is without an active input. The input of a higher
// hypercolumn is 1 for the winner of each hypercolumn in its window.
//
// Only the winner learns (Hebb): W_i += ltp (1 - W_i) for active inputs (long-term potentiation),
// W_i -= ltd W_i for the others (long-term depression), rounded to multiples of 2^-15. A minicolumn
// fires at random with a probability that decreases with each step in which it has won by g > 0,
// and is 0 after `stable_wins` of them. The paper does not give the constants of learning; the
// defaults are ours. With a potentiation above 0.5, a minicolumn that has fired once responds to
// the same input. With a smaller one it needs several random firings for the same input, and for
// many inputs it learns a mixture that (7) rejects.
//
// Feedback (the paper names it as future work; the rule is ours) re-evaluates the hypercolumns in
// steps that do not learn. A round goes down and then up through the levels. On the way down, each
// hypercolumn chooses a hypothesis h, and expects the minicolumn m of a hypercolumn below with
//
//   E_m = the weight of h for m; the largest one of all hypercolumns above with a hypothesis   (a)
//
// and 0 without one. The response to active inputs and expectation is, with the tolerance F,
//
//   g' = S - Omega (2 N + T - 2 F E_m),                                                        (b)
//
// so that a minicolumn that is fully expected tolerates F active inputs with weights below 0.5. The
// hypothesis is the minicolumn with the largest g' of those with Omega > 0, N <= F E_m, and S > 0
// or E_m > 0. It needs no g' > 0: a part of the active inputs is enough. On the way up, the winner
// of a hypercolumn with an active input is the minicolumn with the largest g' > 0. The lower index
// decides between equals. g' is an integer multiple of 2^-30 as g is.
//
// A read-out tells classes from the winners. It adds over the hypercolumns h of all levels
//
//   e_c = r_c + sum of R_hc(winner of h)                                                       (c)
//
// where a hypercolumn without a winner has an R of its own. The answer is the class with the
// largest e, the lower one between equals, and its confidence is
//
//   exp(sharpness e_c) / sum over all classes j of exp(sharpness e_j).                         (d)
//
// If all classes have the same e, there is no answer. ocellus/network_training.h learns read-outs.
//
// Random numbers come from Philox4x32-10 (Salmon et al., SC 2011). Key: the seed. Counter of the
// random firing: (step, bits 32 to 63 of the step, hypercolumn, minicolumn / 4). Counter of the
// initial weights: (input, minicolumn / 4, hypercolumn, 2^30). Word: minicolumn mod 4.
// `hypercolumn` counts over all levels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/options.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

inline constexpr int kMaxCorticalLevels = 20;
inline constexpr int kLeastMinicolumns = 2;
inline constexpr int kMaxMinicolumns = 1024;            ///< of a hypercolumn
inline constexpr int kMaxHypercolumnInputs = 32768;     ///< of a hypercolumn
inline constexpr int kMaxHypercolumns = 1 << 20;        ///< of a network
inline constexpr int kMaxLgnSide = 1 << 27;             ///< pixels
inline constexpr std::int64_t kMaxLgnPixels = 1 << 27;  ///< of an image
inline constexpr int kCorticalWeightOne = 1 << 15;      ///< the weight 1
inline constexpr int kSilent = -1;                      ///< in place of a winner
inline constexpr int kMaxCortexClasses = 256;           ///< of a read-out
inline constexpr int kCortexActivityOne = 256;          ///< units of the activity of a winner
inline constexpr int kCortexReadOutScale = 1024;        ///< units of R and r in 1

/// When LGN cells are active. `p`: a pixel, 0 to 255; `mean`: of its eight neighbors, where the
/// nearest pixel stands for one outside of the image.
enum class LgnTransform : std::uint8_t {
  kLevel,     ///< on-off if p >= threshold, otherwise off-on
  kContrast,  ///< on-off if p - mean > threshold; off-on if mean - p > threshold
};

inline constexpr int kLgnCells = 2;  ///< of a pixel: on-off, off-on

/// A level: a grid of hypercolumns, each with a window of the grid below. The windows follow each
/// other in steps of the stride, from the upper left corner on, as long as they lie in the grid.
struct CorticalLevel {
  int window_width = 2;  ///< 1 or more
  int window_height = 1;
  int stride_x = 2;  ///< 1 or more
  int stride_y = 1;
  int minicolumns = 32;  ///< kLeastMinicolumns to kMaxMinicolumns

  friend bool operator==(const CorticalLevel&, const CorticalLevel&) = default;
};

/// How minicolumns learn.
struct HebbianLearning {
  float threshold = 0.95f;       ///< T in (2), 0 to 1
  float potentiation = 0.6f;     ///< ltp, 0 to 1
  float depression = 0.1f;       ///< ltd, 0 to 1
  float initial_weight = 0.01f;  ///< largest one; the weights are uniform from 0 on; 0 to 0.2
  float random_firing = 0.1f;    ///< probability in a step before the first win, 0 to 1
  float firing_decay = 0.5f;     ///< factor of the probability for each win, 0 to 1
  int stable_wins = 10;          ///< after which random firing ends, 1 to 64
};

struct CorticalNetworkConfig {
  int width = 0;  ///< of the images, 1 to kMaxLgnSide pixels
  int height = 0;
  LgnTransform lgn = LgnTransform::kLevel;
  int lgn_threshold = 128;  ///< gray levels, 1 to 255
  int level_count = 0;      ///< 1 to kMaxCorticalLevels
  std::array<CorticalLevel, kMaxCorticalLevels> levels{};
  HebbianLearning learning{};
  int feedback_rounds = 0;     ///< of a step that does not learn, 0 to 100
  int feedback_tolerance = 1;  ///< F in (b), 1 to 1000
  std::uint64_t seed = 1;
  /// Threads that compute a step, with the caller; 1 to kMaxWorkers. No effect on the results.
  int workers = 1;
};

/// The paper's network: a binary tree over a row of pixels. Each of the `leaves` hypercolumns of
/// the lowest level has `minicolumns` pixels, which is as many inputs as two hypercolumns give to
/// the one above. `leaves`: a power of 2, at most 2^19.
CorticalNetworkConfig binary_tree(int leaves, int minicolumns) noexcept;

/// A view of a read-out.
struct CorticalReadOut {
  std::span<const Text<32>> names{};           ///< of the classes; none: there is no read-out
  std::span<const std::int32_t> class_bias{};  ///< r, [class]
  /// R, level after level: [hypercolumn][1 + minicolumn][class]; first without a winner.
  std::span<const std::int16_t> weights{};
  float sharpness = 1.0f;  ///< in (d), above 0, at most 1000
};

/// The state of a network. Not for several threads at once.
class CorticalNetwork {
 public:
  /// With `load_file`, the only call that takes memory or starts threads. Errors: InvalidArgument
  /// (the text names the member, its value and its range; a level that does not fit into the one
  /// below or does not have fewer hypercolumns), OutOfMemory, System.
  static Expected<CorticalNetwork> create(const CorticalNetworkConfig& config) noexcept;

  /// Reads a network that `save_file` has written, and continues where it was: the same winners and
  /// weights follow. Takes memory and starts threads as `create`. `workers`: as in
  /// CorticalNetworkConfig. Errors: IoError, CorruptFile (the text says what is wrong),
  /// InvalidArgument, OutOfMemory, System.
  static Expected<CorticalNetwork> load_file(const char* path, int workers = 1) noexcept;

  /// Writes configuration, weights, wins and the number of steps to a file, at any moment between
  /// two steps, and a read-out for the operator Network. `path` has the old file or the whole new
  /// one at any time, as for OperatorHandle::save_model. Takes no memory. Errors: IoError,
  /// InvalidArgument (an empty or too long path, a read-out that does not fit).
  Expected<void> save_file(const char* path, const CorticalReadOut& read_out = {}) const noexcept;

  CorticalNetwork(CorticalNetwork&& other) noexcept;
  CorticalNetwork& operator=(CorticalNetwork&& other) noexcept;
  ~CorticalNetwork();

  /// One step of all levels, the lowest first: responses, winners, and learning where `learn` is
  /// true; feedback where it is not. Takes an image of 8-bit pixels; `stride`: bytes from a row to
  /// the next one. Without `learn` nothing changes but responses and winners, and nothing fires at
  /// random.
  void step(const std::uint8_t* image, std::ptrdiff_t stride, bool learn) noexcept;

  /// Changes the feedback of the following steps. Errors: InvalidArgument.
  Expected<void> set_feedback(int rounds, int tolerance) noexcept;

  const CorticalNetworkConfig& config() const noexcept;
  int levels() const noexcept;
  /// Size of the grid of a level, 0 to levels() - 1.
  ImageSize grid(int level) const noexcept;
  int inputs(int level) const noexcept;       ///< of a hypercolumn
  int minicolumns(int level) const noexcept;  ///< of a hypercolumn

  /// Winner of each hypercolumn of a level in the last step, or kSilent.
  std::span<const std::int32_t> winners(int level) const noexcept;
  /// Computes g of each minicolumn in the last step, in units of 2^-30; 0 without an active input.
  /// Without the expectation of the feedback, but for the active inputs after it.
  /// A step itself computes only those that can win. `g`: minicolumns(level) numbers.
  void responses(int level, int hypercolumn, std::span<std::int64_t> g) const noexcept;
  /// W in units of 2^-15. Input of a window's grid point (x, y): (y * window_width + x) * cells +
  /// k, where k is the LGN cell, or the minicolumn, and cells their number in a point.
  int weight(int level, int hypercolumn, int input, int minicolumn) const noexcept;
  std::uint64_t steps() const noexcept;  ///< in which the network has learned
  std::size_t memory() const noexcept;   ///< bytes that `create` took

 private:
  struct [[gnu::visibility("hidden")]] State;
  explicit CorticalNetwork(State* state) noexcept : state_(state) {}
  State* state_ = nullptr;
};

}  // namespace ocellus

#pragma GCC visibility pop
