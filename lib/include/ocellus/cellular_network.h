// CellularNetwork: a discrete-time cellular neural network over an image. It runs one template or a
// chain of templates.
//
// Source: Tanaka and Tanji's asynchronous discrete-time cellular neural network on a GPU, equation
// (1), the state, and equation (2), the output function. The update rules are one step of the
// nonlinear Gauss-Jacobi-Newton (synchronous) or Gauss-Seidel-Newton (asynchronous) method for the
// equilibrium of the continuous-time network of Chua and Yang.
//
// In (1), each cell may have templates of its own. Here all cells of a stage have the same A and B,
// and only the threshold T may vary: CellStage::threshold_plane. The input u is clamped to [-1, 1]
// for any xi; in the paper it is in [-xi, xi].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Largest radius of a template; a radius of r means (2 r + 1) x (2 r + 1) weights.
inline constexpr int kMaxTemplateRadius = 4;
/// Number of weights of the largest template.
inline constexpr int kMaxTemplateWeights =
    (2 * kMaxTemplateRadius + 1) * (2 * kMaxTemplateRadius + 1);
/// Largest number of stages of a network.
inline constexpr int kMaxCellStages = 16;
/// Largest number of sweeps of a frame.
inline constexpr int kMaxFrameSweeps = 1'000'000;

/// The weights of equation (1), x = sum A y + sum B u + T, which all cells share. Each array is
/// stored row by row from the top and uses its first (2 radius + 1)^2 elements. The element at
/// [(dy + radius) * (2 radius + 1) + dx + radius] is the weight of the cell dx to the right and dy
/// down.
///
/// Convert the weights of a continuous-time template first; see `from_continuous_time`.
struct CellTemplate {
  int radius = 1;                              ///< 1 to 4, for 3x3 to 9x9 weights
  std::array<float, kMaxTemplateWeights> a{};  ///< feedback weights A, of the outputs y
  std::array<float, kMaxTemplateWeights> b{};  ///< control weights B, of the inputs u
  float threshold = 0.0f;                      ///< threshold T, -16383 to 16383
};

/// Returns the discrete-time template whose fixed points are the equilibria of the continuous-time
/// network dx/dt = -x + A y + B u + z. It subtracts 1 from the self-feedback weight. Without this
/// conversion, a self-feedback weight above 1 keeps every cell in its initial state.
CellTemplate from_continuous_time(CellTemplate continuous) noexcept;

/// The order in which cells see each other's new outputs. Different orders may end in different
/// fixed points, so the order is part of the configuration. It is the same on every backend.
enum class CellUpdate : std::uint8_t {
  /// Asynchronous. Cell (x, y) has color (x mod s, y mod s), where s is `color_spacing`. All cells
  /// of one color are updated together; the colors follow in row-major order. Cells of one color do
  /// not see each other, so the result is that of a sequential sweep.
  kColors,
  kRaster,  ///< asynchronous: cell by cell, left to right and top to bottom
  /// All cells at once, from the outputs of the previous step; may oscillate without end.
  kSynchronous,
};

/// What a cell does when it is updated.
enum class CellMove : std::uint8_t {
  kUpdate,  ///< sets the output to the output function of the state, equations (1) and (2)
  /// Swaps its output with that of its right or its lower neighbor in the image, if this lowers the
  /// energy -1/2 y'A y - (B u + T)'y. If both swaps lower it, the cell makes the one that lowers it
  /// more. Swaps keep the mean, so they reach states that single updates cannot. Requires two
  /// levels, a symmetric A and kColors; the smallest spacing is radius + 2.
  kSwap,
};

/// The values of u and y outside the image.
enum class CellBoundary : std::uint8_t {
  kFixed,     ///< `boundary_value`
  kZeroFlux,  ///< those of the nearest cell of the image
  /// The image is repeated; if the spacing does not divide the size, the last columns and rows have
  /// colors of their own.
  kPeriodic,
};

/// The initial state of the cells. Their initial output is the output function of this state.
enum class CellStart : std::uint8_t {
  kConstant,  ///< `start_value`
  kInput,     ///< u
  kPlane,     ///< `start_plane`
  kNoise,     ///< uniform in [-1, 1), a function of `seed` and of the position
  /// u plus a blue-noise mask of +-1 (void and cluster, 64x64), which makes a dithered input.
  kBlueNoise,
  /// Floyd and Steinberg's error diffusion of u to the levels of the stage, which are spread evenly
  /// from -1 to 1 (xi has no effect), in independent tiles of 128x32 cells. Updates of the network
  /// remove the seams between tiles.
  kErrorDiffusion,
  kPrevious,  ///< the output of the previous stage; for the first stage: u
};

/// The input u of a stage.
enum class CellInput : std::uint8_t {
  kPrevious,  ///< the output of the previous stage; for the first stage: the frame
  kFrame,
};

/// The gray value that maps to +1 in u and y: black, as in the literature, or white.
enum class CellPolarity : std::uint8_t { kBlackIsOne, kWhiteIsOne };

/// A template and its parameters of execution.
struct CellStage {
  CellTemplate weights{};  ///< discrete-time weights, -16383 to 16383 each
  /// Values that are added to `weights.threshold`, one for each cell: floats, of the frame's size.
  /// Read at creation and not kept. Null for none.
  const float* threshold_plane = nullptr;
  std::ptrdiff_t threshold_stride = 0;  ///< bytes from row to row

  /// Number of levels m of the uniform quantizer g in (2), 2 to 256; with 2, g is a threshold at 0.
  int levels = 2;
  /// State at which the output saturates, above 0 and at most 100; has no effect with two levels.
  float xi = 1.0f;

  CellInput input = CellInput::kPrevious;
  CellStart start = CellStart::kInput;
  float start_value = 0.0f;  ///< kConstant; must be -1 to 1 for any `start`
  /// kPlane: initial states, of the frame's size; read at creation.
  const float* start_plane = nullptr;
  std::ptrdiff_t start_stride = 0;  ///< bytes from row to row
  std::uint32_t seed = 1;           ///< kNoise

  CellBoundary boundary = CellBoundary::kZeroFlux;
  float boundary_value = 0.0f;  ///< kFixed; must be -1 to 1 for any `boundary`

  CellUpdate update = CellUpdate::kColors;
  CellMove move = CellMove::kUpdate;
  /// Spacing s of kColors, up to 9; 0: the smallest valid one, radius + 1. 3 with a 3x3 template
  /// gives the paper's nine colors.
  int color_spacing = 0;
  int max_sweeps = 100;  ///< 1 to 100000; the stage ends earlier when it reaches a fixed point

  /// Number of stages, from this one on, that form a group; 0 if no group begins here. A group
  /// repeats its stages, pass after pass, until the output of a pass is that of the pass before.
  /// For its first stage, "the previous stage" is the last stage of the group from the second pass
  /// on, also if the group begins with the first stage of the network. Groups must not overlap, and
  /// their stages must not start with kErrorDiffusion.
  int group_stages = 0;
  int max_passes = 10'000;  ///< 1 to 100000; the group ends earlier when it reaches a fixed point
};

/// Configuration of CellularNetwork: the images and a chain of stages.
struct CellularNetworkConfig {
  ImageSize size{};  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  /// Format of the output, which holds gray values. kFloat32 has the range 0 to 255, as for input.
  PixelFormat output_format = PixelFormat::kGray8;
  /// Color of an output in the format of frames with color (PlaneInfo::follows_frame), which needs
  /// the output format kGray8.
  PictureColor chroma = PictureColor::kNeutral;
  int depth = 1;                                          ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine
  CellPolarity polarity = CellPolarity::kBlackIsOne;
  /// Range of input gray values. Values beyond black or white are clamped.
  GrayRange input_range{};
  /// Range of output gray values. The levels are spaced evenly from black to white and rounded to
  /// the format's integers, halves up (kFloat32: to the nearest float).
  GrayRange output_range{};

  int stage_count = 0;  ///< 1 to 16 stages, which run one after the other
  std::array<CellStage, kMaxCellStages> stages{};

  /// Largest number of sweeps of a frame, over all stages and passes, 1 to kMaxFrameSweeps. It
  /// bounds the time of a frame, because the limits of stages and groups multiply. The sweep that
  /// reaches it is the last one: stages behind it keep their initial outputs, the present pass is
  /// the last one of its group, and CellularNetworkRecord::finished is false.
  int max_sweeps = 4096;

  /// If true, the first stage of each frame after the first starts with an output of the previous
  /// frame. This is the output of the last stage that continues the first one, directly or through
  /// the stages between them. A stage continues the previous stage if it starts with kPrevious,
  /// both use the frame as input, and both have the same template, thresholds, levels, xi and
  /// boundary. With more than two levels, xi must also be 1. A stage of a group, and the one behind
  /// it, does not continue the previous stage.
  ///
  /// Meant for halftones and for other templates whose fixed point depends on the frame alone.
  /// Where the fixed point depends on the initial state, the result of the first frame persists.
  /// Creation refuses the clear cases: a first stage that starts with kConstant, has no weights in
  /// B, or begins a group.
  bool warm_start = false;
};

/// The operator's record: how the network converged.
struct CellularNetworkRecord {
  /// Number of sweeps, sum over all stages and passes; at most CellularNetworkConfig::max_sweeps.
  std::int32_t sweeps = 0;
  /// Cells that changed in the last sweep. If a group ends with the last stage: cells whose outputs
  /// differ between the last two passes; all cells if there was one pass.
  std::uint32_t changed = 0;
  bool converged = false;  ///< true if the last stage, or its group, reached a fixed point
  /// False if CellularNetworkConfig::max_sweeps ended the frame before its stages and groups had
  /// ended by themselves. The image is then the state at that sweep.
  bool finished = false;
  std::int32_t passes = 0;  ///< number of passes, sum over all groups of stages
};

/// The operator. Its output is one image of the frame's size and of `output_format`. It follows the
/// frame if that is the format of the frame's luma. Calls and lifetimes are those of
/// OperatorHandle. If a frame has pixels that are not finite (kBadPixels), the image and the record
/// are 0 everywhere. The planes of the configuration are read at creation only.
///
/// Arithmetic is exact, so every backend and any number of threads compute the same cells.
/// - Inputs, initial states and boundary values are rounded to multiples of 2^-13, halves up. The
///   input for gray g is (2 g - black - white) / (white - black), clamped to -1 to 1. It is negated
///   if black is +1. Float pixels are first clamped to 0 to 255 and rounded to 16-bit gray,
///   multiples of 1/257.
/// - A, B, T and xi are rounded to multiples of 2^-f (`fraction_bits`). f is the largest number up
///   to 13 for which the weights fit. Without a threshold plane, it may be larger: numbers that are
///   all below 1 have 13 bits behind the first digit of the largest one. In units of 2^-f, each
///   weight must be below 2^15, the sum of |A| below 2^14 (2^15 with more than two levels), and the
///   sum of |A| and |B| below 2^17.
/// - B u + T includes the contribution of fixed cells outside the image. It is rounded to a
///   multiple of 2^-f / (levels - 1), halves up. Its magnitude is clamped to 2^14 of these
///   multiples for two levels and to 2^29 for more.
class CellularNetwork
    : public Operator<CellularNetwork, CellularNetworkConfig, CellularNetworkRecord> {
 public:
  /// The number f of fraction bits of a stage's fixed-point numbers. 0 if there is no such stage,
  /// or if `create` would refuse the configuration.
  static int fraction_bits(const CellularNetworkConfig& config, int stage) noexcept;
};

}  // namespace ocellus

#pragma GCC visibility pop
