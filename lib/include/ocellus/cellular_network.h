// CellularNetwork: a discrete-time cellular neural network over an image, from one template to a
// chain of them.
//
// Source: Tanaka and Tanji's asynchronous discrete-time cellular neural network on a GPU: equation
// (1), the state, and (2), the output function; the update rules are one step of the nonlinear
// Gauss-Jacobi-Newton (synchronous) and Gauss-Seidel-Newton (asynchronous) methods for the
// equilibrium of the continuous network of Chua and Yang.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/memory.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

inline constexpr int kMaxTemplateRadius = 4;
inline constexpr int kMaxTemplateWeights =
    (2 * kMaxTemplateRadius + 1) * (2 * kMaxTemplateRadius + 1);
inline constexpr int kMaxCellStages = 16;

/// The weights of equation (1), x = sum A y + sum B u + T. Row by row from the top, (2 radius +
/// 1)^2 numbers of each array count: the one at [(dy + radius) * (2 radius + 1) + dx + radius]
/// weighs the cell dx to the right and dy down.
///
/// Weights of a continuous-time template are converted first, see `from_continuous_time`.
struct CellTemplate {
  int radius = 1;                              ///< 1 to 4: 3x3 to 9x9
  std::array<float, kMaxTemplateWeights> a{};  ///< feedback, of the outputs y
  std::array<float, kMaxTemplateWeights> b{};  ///< control, of the inputs u
  float threshold = 0.0f;                      ///< T
};

/// The discrete-time template whose fixed points are the equilibria of the continuous-time network
/// dx/dt = -x + A y + B u + z: its self weight less one. Left as it is, a self weight above 1 keeps
/// every cell where it starts.
CellTemplate from_continuous_time(CellTemplate continuous) noexcept;

/// In which order cells see each other's new outputs. Different orders may end in different fixed
/// points, so the order is part of the configuration; it is the same on every backend.
enum class CellUpdate : std::uint8_t {
  /// Asynchronous. Cell (x, y) has color (x mod s, y mod s), s = `color_spacing`. All cells of a
  /// color are updated together, colors row by row. None of them sees another one, so that this
  /// is
  /// a sequential sweep.
  kColors,
  kRaster,       ///< asynchronous, cell by cell, left to right and top to bottom
  kSynchronous,  ///< all cells at once from the outputs of the last step; may swing for ever
};

/// What a cell does when its turn comes.
enum class CellMove : std::uint8_t {
  kUpdate,  ///< takes the output that its state asks for, equations (1) and (2)
  /// Changes places with its right or its lower neighbor in the image, whichever lowers the energy
  /// -1/2 y'A y - (B u + T)'y more, if one does: what single updates cannot reach because it keeps
  /// the mean. Two levels, a symmetric A and kColors only; the least spacing is radius + 2.
  kSwap,
};

/// What lies beyond the image, both of u and of y.
enum class CellBoundary : std::uint8_t {
  kFixed,     ///< `boundary_value`
  kZeroFlux,  ///< the nearest cell of the image
  kPeriodic,  ///< the image again; the last columns and rows get colors of their own where the
              ///< spacing does not divide the size
};

/// The state that cells begin with; their first output is the output function of it.
enum class CellStart : std::uint8_t {
  kConstant,   ///< `start_value`
  kInput,      ///< u
  kPlane,      ///< `start_plane`
  kNoise,      ///< uniform in [-1, 1), a function of `seed` and of the position
  kBlueNoise,  ///< u plus a blue-noise mask of +-1 (void and cluster, 64x64): a dithered input
  /// Floyd and Steinberg's error diffusion of u in tiles of 128x32 cells that do not see each
  /// other. Two levels only. A network on top of it mends the seams.
  kErrorDiffusion,
  kPrevious,  ///< the output of the stage before; of the first stage: u
};

/// What stands for u.
enum class CellInput : std::uint8_t {
  kPrevious,  ///< the output of the stage before; of the first stage: the frame
  kFrame,
};

/// How gray values become u and y: the literature's +1 = black, or +1 = white.
enum class CellPolarity : std::uint8_t { kBlackIsOne, kWhiteIsOne };

/// One template and how it runs.
struct CellStage {
  CellTemplate weights;
  /// T of each cell in addition to `weights.threshold`; size of the frame, floats, read at creation
  /// and not kept. Null without.
  const float* threshold_plane = nullptr;
  std::ptrdiff_t threshold_stride = 0;  ///< bytes

  int levels = 2;   ///< m of the uniform quantizer g in (2), 2 to 256; 2 is a threshold at 0
  float xi = 1.0f;  ///< where the output saturates, > 0; without effect for two levels

  CellInput input = CellInput::kPrevious;
  CellStart start = CellStart::kInput;
  float start_value = 0.0f;            ///< kConstant; -1 to 1 with any start
  const float* start_plane = nullptr;  ///< kPlane: states, size of the frame, read at creation
  std::ptrdiff_t start_stride = 0;     ///< bytes
  std::uint32_t seed = 1;              ///< kNoise

  CellBoundary boundary = CellBoundary::kZeroFlux;
  float boundary_value = 0.0f;  ///< kFixed; -1 to 1 with any boundary

  CellUpdate update = CellUpdate::kColors;
  CellMove move = CellMove::kUpdate;
  int color_spacing = 0;  ///< s of kColors: 0 = the least, radius + 1; else up to 9. 3 with 3x3
                          ///< templates are the paper's nine colors
  int max_sweeps = 100;   ///< 1 to 100000; ends earlier at the fixed point
};

struct CellularNetworkConfig {
  ImageSize size;  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  /// Output cells are gray values of this format. kFloat32 is 0 to 255, as on the way in.
  PixelFormat output_format = PixelFormat::kGray8;
  int depth = 1;  ///< frames in flight, 1 to 8
  CellPolarity polarity = CellPolarity::kBlackIsOne;
  /// Of frames: what is darker than black counts as black, what is lighter than white as white.
  GrayRange input_range;
  /// Of results: levels are spread evenly from black to white, rounded to the format's whole
  /// numbers, halves up (kFloat32: to the nearest float).
  GrayRange output_range;

  int stage_count = 0;  ///< 1 to 16, one after the other
  std::array<CellStage, kMaxCellStages> stages{};

  /// The first stage of each frame but the first begins with where the frame before has left it:
  /// the output of the last stage that holds on to its states, which are the stages that follow
  /// with the same template, thresholds, levels, boundary and input and start with kPrevious (of
  /// more than two levels only with an xi of 1).
  ///
  /// For halftones, and other templates whose cells follow the frame from wherever they begin.
  /// Where the start decides on the fixed point, what the first frame has left stays. Refused where
  /// that is plain: a first stage that starts with kConstant, or has no weights in B.
  bool warm_start = false;
};

/// How a frame went: the record of the operator.
struct CellularNetworkRecord {
  std::int32_t sweeps = 0;    ///< of all stages
  std::uint32_t changed = 0;  ///< cells that changed in the last sweep of the last stage
  bool converged = false;     ///< the last stage came to its fixed point
};

/// The operator. Its output is one image of the frame's size and of `output_format`. Calls and
/// lifetimes as OperatorHandle has them. The result of a frame with pixels that are not finite is 0
/// everywhere, its record too (kBadPixels).
///
/// Arithmetic is exact, so that every backend and any number of threads give the same cells.
/// Inputs, states to start from and boundary values are rounded to multiples of 2^-13, halves up;
/// the input of gray g is (2 g - black - white) / (white - black), held within -1 and 1, or its
/// negative, as the polarity says. Float pixels are held within 0 and 255 and rounded to 16-bit
/// gray, multiples of 1/257, before.
/// A, B, T and xi are rounded to multiples of 2^-f (`fraction_bits`), f up to 13 and so small that
/// the sum of |A| stays below 2^14 such steps for two levels, and times (levels - 1) below 2^29 for
/// more. B u + T, with what fixed cells beyond the border add to it, is rounded to a multiple of
/// 2^-f / (levels - 1), halves up, and held within those limits.
class CellularNetwork : public OperatorHandle {
 public:
  /// What an operator of this configuration takes and gives. Errors: InvalidArgument and
  /// Unsupported, as `create`.
  static Expected<OperatorInfo> info_for(const CellularNetworkConfig& config) noexcept;

  /// Errors: InvalidArgument and Unsupported, as `create`.
  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const CellularNetworkConfig& config) noexcept;

  /// The only call that takes memory.
  /// Errors: InvalidArgument (the text names the field, its value and its range), Unsupported,
  /// OutOfMemory (the engine's block has no such piece left).
  static Expected<CellularNetwork> create(Engine& engine,
                                          const CellularNetworkConfig& config) noexcept;

  /// Its planes are null: they were read at creation.
  const CellularNetworkConfig& config() const noexcept { return *config_; }

  /// f of the fixed-point numbers of a stage.
  int fraction_bits(int stage) const noexcept {
    return stage < 0 || stage >= config_->stage_count
               ? 0
               : fraction_bits_[static_cast<std::size_t>(stage)];
  }

  using OperatorHandle::submit;
  /// `record`, if not null, is filled in when `wait` says done.
  Expected<Ticket> submit(const Frame& in, const ImageView& image,
                          CellularNetworkRecord* record = nullptr) noexcept {
    OperatorOutput out;
    out.planes[0] = image;
    out.record = record;
    return OperatorHandle::submit(in, out);
  }

 private:
  CellularNetwork(OperatorHandle handle, std::unique_ptr<CellularNetworkConfig> config) noexcept
      : OperatorHandle(std::move(handle)), config_(std::move(config)) {}

  std::unique_ptr<CellularNetworkConfig> config_;
  std::array<int, kMaxCellStages> fraction_bits_{};
};

}  // namespace ocellus

#pragma GCC visibility pop
