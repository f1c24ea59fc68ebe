// OpticalFlow: dense Lucas-Kanade on derivatives by spatio-temporal kernels, with confidence.
//
// Sources: Ohmura et al., "Multi-GPU Acceleration of Optical Flow Computation in Visual Functional
// Simulation", 2011: equation (2), the spatio-temporal convolution, and (3), the weighted 2x2
// solution. Coarse-to-fine warping after Lucas and Kanade 1981 and Bouguet 2000.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/memory.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Type of the stored kernel taps and of the ring of spatial sums. Arithmetic is float in both.
enum class CoefficientStorage : std::uint8_t {
  kFloat,  ///< results within 1e-4 of double precision, against the sum of absolute terms
  kHalf,   ///< half the memory traffic; within 2e-3
};

/// What is written where the confidence lies below the threshold.
enum class InvalidFlow : std::uint8_t { kNan, kZero };

/// How motion is estimated.
enum class FlowMethod : std::uint8_t {
  /// One Lucas-Kanade solution on the spatio-temporal derivatives of `kernels`: the operator of the
  /// paper. Good to about 2 pixels per frame.
  kKernels,
  /// Coarse-to-fine over a pyramid with warping between the levels, on a window of
  /// `pyramid.window_frames` frames. Its derivatives are its own; `kernels` and `storage` are not
  /// looked at.
  kPyramid,
};

/// Balance of speed and accuracy of kPyramid.
enum class FlowPreset : std::uint8_t {
  kFast,     ///< two frames, plain Lucas-Kanade: the cheapest that follows fast motion
  kQuality,  ///< two frames, with robust weights, a median and a small ridge
};

/// How kPyramid keeps the flow smooth where the window alone does not determine it.
enum class FlowSmoothing : std::uint8_t {
  kNone,
  kBeforeWarp,  ///< a box mean of the flow before each warp; leaves affine motion as it is
  kConfidence,  ///< a box mean weighted by the confidence after each solution
};

/// How kPyramid reads a frame between its pixels.
enum class Interpolation : std::uint8_t {
  kLinear,
  kCubic,  ///< Catmull-Rom
};

/// How the pixels of the Lucas-Kanade window are weighted.
enum class WindowWeight : std::uint8_t {
  kBox,       ///< all alike
  kGaussian,  ///< by their distance from the center: OpticalFlowConfig::window_sigma
};

/// Parameters of FlowMethod::kPyramid. The window of OpticalFlowConfig is the same size on every
/// level.
struct PyramidConfig {
  int levels = 4;  ///< 1 to 6; a level whose shorter side would be below 24 pixels is left out.
                   ///< About 5 pixels of motion for 1, doubled by each further one
  /// Frames looked at, 2 to 7. The result describes the frame max(1, (frames-1)/2) back. All warps
  /// go to the next newer frame; further frames take part in the last solution, each as far as it
  /// fits, so that changing motion does no harm.
  int window_frames = 2;
  int warps = 1;          ///< warps and solutions on the two finest levels, 1 to 10
  int coarse_warps = 2;   ///< the same on the coarser levels
  bool normalize = true;  ///< divide by the local contrast (7x7) first: independent of
                          ///< illumination; confidence is then without a unit
  Interpolation interpolation = Interpolation::kCubic;
  float gradient_floor = 0.0f;  ///< weigh by 1 / (|gradient|^2 + floor^2), so that strong edges do
                                ///< not drown the rest; 0 = off
  float robust = 0.0f;  ///< weigh by 1 / (1 + (residual / robust)^2) in the last solution of each
                        ///< level; 0 = off
  int median = 0;  ///< median of the flow at the end of each level: 0 = off, 3 or 5 pixels square
  float ridge = 1.0f;  ///< added to the diagonal of the structure tensor, >= 0
  FlowSmoothing smoothing = FlowSmoothing::kBeforeWarp;
  int smoothing_size = 15;  ///< odd, 3 to 31 pixels

  friend bool operator==(const PyramidConfig&, const PyramidConfig&) = default;
};

/// The defaults are those of the preset kFast.
struct OpticalFlowConfig {
  ImageSize size;  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  Rect roi;       ///< empty = whole image; flow is computed and written here only
  int depth = 1;  ///< frames in flight, 1 to 8

  FlowMethod method = FlowMethod::kPyramid;
  FlowPreset preset = FlowPreset::kFast;  ///< the one that was begun with; not looked at
  KernelConfig kernels;                   ///< kKernels
  CoefficientStorage storage = CoefficientStorage::kFloat;  ///< kKernels with per-pixel kernels
  PyramidConfig pyramid;                                    ///< kPyramid

  int window = 11;  ///< Lucas-Kanade window, odd, 3 to 31 pixels
  WindowWeight window_weight = WindowWeight::kBox;
  float window_sigma = 4.0f;  ///< kGaussian: pixels, 0.1 to 1000

  float confidence_threshold =
      0.0f;  ///< below it the flow is marked invalid; 0 marks only singular solutions (kKernels)
  InvalidFlow invalid = InvalidFlow::kNan;

  /// Pyramid, preset kFast.
  static OpticalFlowConfig fast(ImageSize size) noexcept;
  /// Pyramid, preset kQuality. `pyramid.window_frames = 5` makes it better for two frames of delay.
  static OpticalFlowConfig quality(ImageSize size) noexcept;
  /// Kernels: uniform, 15x15x20 taps, and a Gaussian window of 15 pixels.
  static OpticalFlowConfig with_kernels(ImageSize size = {}) noexcept;

  /// All but size and format; `preset`, `method` and `kernels` set the defaults of what follows.
  static OptionTable options() noexcept;
};

/// Where the result goes: planes of 32-bit floats (kFloat32) of the region of interest's size, with
/// one stride.
struct FlowOutput {
  ImageView u{};           ///< to the right, pixels per frame
  ImageView v{};           ///< down, pixels per frame
  ImageView confidence{};  ///< may be left out; smaller eigenvalue of the structure tensor, (gray
                           ///< levels per pixel)^2 unless normalized

  operator OperatorOutput() const noexcept {
    OperatorOutput out;
    out.planes[0] = u;
    out.planes[1] = v;
    out.planes[2] = confidence;
    return out;
  }
};

/// The operator. Calls and lifetimes as OperatorHandle has them.
///
/// Image borders: pixels outside repeat the nearest pixel inside, in the image, and in the planes
/// that the window sums. Time before the first frame: the first frame is repeated (kWarmingUp).
/// OperatorInfo::delay_frames is (nt-1)/2 for kernels of nt frames, max(1, (frames-1)/2 rounded
/// down) for the pyramid.
class OpticalFlow : public OperatorHandle {
 public:
  /// What an operator of this configuration takes and gives. Errors: InvalidArgument and
  /// Unsupported, as `create`.
  static Expected<OperatorInfo> info_for(const OpticalFlowConfig& config) noexcept;

  /// Memory needed on such an engine. Takes nothing.
  /// Errors: InvalidArgument and Unsupported, as `create`; a kernel file is not opened.
  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const OpticalFlowConfig& config) noexcept;

  /// The only call that takes memory. A kernel callback runs here; a kernel file is read here.
  /// Errors: InvalidArgument (the text names the field, its value and its range), Unsupported,
  /// OutOfMemory (the engine's block has no such piece left), CorruptFile, IoError.
  static Expected<OpticalFlow> create(Engine& engine, const OpticalFlowConfig& config) noexcept;

  const OpticalFlowConfig& config() const noexcept { return config_; }

 private:
  OpticalFlow(OperatorHandle handle, const OpticalFlowConfig& config) noexcept
      : OperatorHandle(std::move(handle)), config_(config) {}

  OpticalFlowConfig config_;
};

}  // namespace ocellus

#pragma GCC visibility pop
