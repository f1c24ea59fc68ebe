// NeocognitronModel: the cells of a neocognitron, what they were trained for, and their files.
//
// Source: Fukushima, "Neocognitron for handwritten digit recognition", Neurocomputing 51, 2003;
// sides of the layers as in Ikeda, Miyamoto, Ino, Hagihara, IPSJ Transactions 4(3), 2011, table 2.
// Cells of layer l have a position n and a plane k; c(v) = gamma^|v| and phi[x] = max(x, 0).
//
//   uG(n, k)  = phi[(-1)^k sum over v of aG(v) u0(n + v)]                      k = 1 off, 2 on (1)
//   uSl(n, k) = theta / (1 - theta) phi[(1 + e) / (1 + theta b(k) vl(n)) - 1] (2)
//           e = sum over v and kappa of a(v, kappa, k) uCl-1(n + v, kappa)
//   vl(n)     = sqrt(sum over v and kappa of c(v) uCl-1(n + v, kappa)^2)    (3)
//   b(k)      = sqrt(sum over v and kappa of a(v, kappa, k)^2 / c(v))       (4)
//   uCl(n, k) = psi[sum over v of aC(v) uSl(n + v, k)]                      (5)
//               psi[x] = phi[x] / (1 + phi[x])
//
// Sums over v in (2) and (3) have |v| < A_S. aC(v) is delta^|v| for |v| < A_C; for A_C <= |v| < A_I
// it is the same negative number everywhere, and these numbers sum up to -surround times the sum of
// the positive ones. Distances are in pitches of the layer that is read.
//
//   layer   UG   US1  UC1  US2  UC2  US3  UC3  US4
//   side    71   68   37   38   21   22   13   1 or 5    cells along x and y; U0 has 65
//   planes  2    16   16   K2   K2   K3   K3   K4        K2 to K4 come from learning
//   window  7x7  4x4  6x6  6x6  6x6  6x6  6x6  9x9       columns and rows that a cell reads,
//   inputs  45   12   32   32   32   32   32   69        and its inputs in a plane (default radii)
//
// Windows are round, so their corners are no inputs. Two of them are smaller than in table 2, which
// has 6x6 for US1 and 8x8 for UC3. UC1 and UC2 have 140 and 56 inputs more, of the surround.
//
// The source has t = 0. With t > 0, faint noise leaves UG empty, and (2), which does not depend on
// the contrast, does not answer to it. A plane of US4 is a reference of its class. UC4 has a cell
// for each class.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

inline constexpr int kNeocognitronSide = 65;      ///< of U0, pixels
inline constexpr int kNeocognitronStages = 4;     ///< pairs of an S-layer and a C-layer
inline constexpr int kContrastPlanes = 2;         ///< of UG: off-center, on-center
inline constexpr int kEdgePlanes = 16;            ///< of US1: edges at 2 pi k / 16
inline constexpr int kMaxFeaturePlanes = 1024;    ///< of US2 and US3
inline constexpr int kMaxReferences = 8192;       ///< planes of US4
inline constexpr int kMaxCharacterClasses = 256;  ///< cells of UC4

/// Constants of a stage. Stage 4 has no C-cells: its read-out takes their place.
struct NeocognitronStage {
  float threshold = 0.5f;        ///< theta in (2), at recognition: 0.01 to 0.99
  float s_radius = 3.1f;         ///< A_S, 0.8 to 6
  float s_decay = 0.8f;          ///< gamma, 0.01 to 1
  float c_radius = 3.1f;         ///< A_C, 0.8 to 6
  float c_decay = 0.8f;          ///< delta, 0.01 to 1
  float surround = 0.0f;         ///< strength of the inhibitory surround, 0 (none) to 4
  float surround_radius = 5.4f;  ///< A_I, A_C to 10
};

struct NeocognitronParameters {
  /// Of aG, a difference of two Gaussians that sums up to 0; 0.1 to 4 pixels.
  float center_sigma = 0.8f;
  float surround_sigma = 1.8f;       ///< above center_sigma by at least 0.01, up to 8 pixels
  float contrast_radius = 3.7f;      ///< aG(v) is 0 for |v| >= this; 1.1 to 4 pixels
  float contrast_threshold = 0.01f;  ///< t in (1), 0 to 0.5, in units of u0, which is 0 to 1
  /// Factor of all a and b. Large: (2) becomes phi[s - theta] / (1 - theta), where s is the cosine
  /// of the angle between input and weights. 1 to 1e6.
  float gain = 1e4f;
  std::array<NeocognitronStage, kNeocognitronStages> stages{{
      {0.55f, 1.9f, 0.9f, 3.4f, 0.85f, 0.8f, 7.4f},
      {0.51f, 3.1f, 0.8f, 3.1f, 0.8f, 0.7f, 5.4f},
      {0.58f, 3.1f, 0.8f, 3.1f, 0.8f, 0.0f, 5.4f},
      {0.30f, 5.0f, 1.0f, 3.1f, 0.8f, 0.0f, 5.4f},
  }};
  /// UC4: the similarity to the nearest vector between two references of a class (Fukushima, Neural
  /// Networks 40, 2013). False: to the nearest reference, which is the largest cell of US4 (2003).
  bool interpolate = true;
  /// Cells of US4 along x and y. 1: the one at the center of the 5x5 of table 2. Characters are
  /// centered by their mass, so the others seldom win, and stage 4 takes a 25th of the time. 5:
  /// all, for characters that are not centered.
  int reference_side = 1;
};

/// How a character is brought to U0: its center of mass to the center, the larger one of its width
/// and height to `extent`.
struct PatchNormalization {
  float extent = 36.0f;  ///< pixels of U0, 16 to 64
  bool deslant = true;   ///< sheared so that the second moment of x and y is 0
};

/// The confidence of an answer, 0 to 1: the probability that the class is right, as a logistic
/// function of what stage 4 says. Training fits the three numbers to images that were not learned.
/// The defaults come from MNIST with 100 images of each class.
struct ConfidenceCalibration {
  float offset = -14.0f;         ///< c0, -1e4 to 1e4
  float per_margin = 75.0f;      ///< c1, -1e4 to 1e4
  float per_similarity = 15.0f;  ///< c2, -1e4 to 1e4

  /// 1 / (1 + exp(-(c0 + c1 * margin + c2 * similarity))). `similarity`: of the best class, 0 to 1;
  /// `margin`: over the second best class.
  float confidence(float margin, float similarity) const noexcept {
    return 1.0f / (1.0f + std::exp(-(offset + per_margin * margin + per_similarity * similarity)));
  }
};

/// What speaks for ink to be a character. Lengths are in heights of the characters of its line.
enum OddsInput {
  kOddsBias,        ///< 1
  kOddsSimilarity,  ///< to the best class of characters, 0 to 1
  kOddsMargin,      ///< over the second one, at most 0.2
  kOddsFit,         ///< of its shape: 0 is best, cuts through ink and odd widths are below
  kOddsLow,         ///< by how much its height is below 0.58
  kOddsHigh,        ///< by how much its height is above 1.15
  kOddsWide,        ///< by how much its width is above 0.9
  kOddsLevel,       ///< distance of its middle from the middle of the line
  kOddsSize,   ///< logarithm of the likelihood of its width and height; 0 without CharacterSize
  kOddsOther,  ///< similarity to what is no character minus kOddsSimilarity, -0.15 to 0.15
  kOddsAboveOther,  ///< by how much kOddsOther is below 0
};
inline constexpr int kOddsInputs = 11;

/// The logarithm of the odds that ink is a character: a weighted sum. It decides which pieces of
/// ink that may overlap are read. Training fits the weights to frames whose characters are known.
/// The defaults come from strips of handwritten amounts.
struct CharacterOdds {
  /// By OddsInput, -1e4 to 1e4 each.
  std::array<float, kOddsInputs> weights{-2.4f, 5.5f, 8.3f, 1.1f, -8.1f};
  /// What ink costs that belongs to no character, 0 to 1e4, in logarithms of probability.
  float dropped = 3.6f;
};

/// Width and height of the characters of a class, as a normal distribution, in heights of the
/// characters of a line.
struct CharacterSize {
  float width = 0.6f;
  float height = 1.0f;
  float width_deviation = 0.2f;   ///< 0.01 to 10
  float height_deviation = 0.1f;  ///< 0.01 to 10
  float correlation = 0.0f;       ///< -0.99 to 0.99
};

/// Returns nothing if all parameters are in their ranges. Errors: InvalidArgument, with the name of
/// the parameter, its value and its range.
Expected<void> check_parameters(const NeocognitronParameters& parameters) noexcept;

/// The model file that is part of the library, 64-byte aligned; empty if the library has no model
/// of this name. Its models are "digits-small" and "digits", ten handwritten digits.
std::span<const std::uint8_t> library_model(std::string_view name) noexcept;

/// For texts.
inline constexpr char kLibraryModels[] = "digits-small or digits";

}  // namespace ocellus

#pragma GCC visibility pop
