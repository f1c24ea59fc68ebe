// OpticalFlow: dense optical flow with confidence, by Lucas-Kanade on derivatives by
// spatio-temporal kernels, or coarse to fine over an image pyramid, by Lucas-Kanade or a
// variational solver.
//
// Sources: Ohmura et al., "Multi-GPU Acceleration of Optical Flow Computation in Visual Functional
// Simulation", 2011: equation (2), the spatio-temporal convolution, and (3), the weighted 2x2
// solution. Coarse-to-fine warping follows Lucas and Kanade 1981 and Bouguet 2000.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Type of the stored kernel taps and of the ring of spatial sums. Arithmetic uses float in both
/// cases.
enum class CoefficientStorage : std::uint8_t {
  kFloat,  ///< results within 1e-4 of double precision, relative to the sum of absolute terms
  kHalf,   ///< half of the memory traffic; results within 2e-3
};

/// The value written where the confidence is below the threshold.
enum class InvalidFlow : std::uint8_t { kNan, kZero };

/// How motion is estimated.
enum class FlowMethod : std::uint8_t {
  /// One Lucas-Kanade solution on the spatio-temporal derivatives of `kernels`, as in the paper.
  /// Suitable for motion up to about 2 pixels per frame.
  kKernels,
  /// Coarse-to-fine over a pyramid with warping between the levels, from one frame to the next. It
  /// computes its own derivatives and ignores `kernels` and `storage`.
  kPyramid,
};

/// Balance of speed and accuracy of kPyramid.
enum class FlowPreset : std::uint8_t {
  kFast,     ///< kLucasKanade: the shortest time
  kQuality,  ///< kVariational with few warps: a smaller error in about twice the time
  kBest,     ///< kVariational: the smallest error
};

/// How kPyramid determines the flow on a level.
enum class FlowSolver : std::uint8_t {
  kLucasKanade,  ///< constant motion in a window around each pixel
  /// Smooth motion that may change at image edges: a robust energy over the whole image, solved by
  /// successive over-relaxation.
  kVariational,
};

/// Weights of the pixels in the Lucas-Kanade window.
enum class WindowWeight : std::uint8_t {
  kBox,       ///< equal weights
  kGaussian,  ///< Gaussian of the distance from the center; see OpticalFlowConfig::window_sigma
};

/// Parameters of FlowMethod::kPyramid. The window of OpticalFlowConfig has the same size on every
/// level.
struct PyramidConfig {
  FlowSolver solver = FlowSolver::kLucasKanade;
  /// 1 to 6; levels whose shorter side would be below 24 pixels are left out. One level follows
  /// about 5 pixels of motion; each further level doubles this.
  int levels = 4;
  /// Warps and solutions on each of the two finest levels, 1 to 10. With kVariational, on the
  /// finest level only; the second one has the mean of this and `coarse_warps`, rounded up.
  int warps = 1;
  int coarse_warps = 2;  ///< the same on each coarser level, 1 to 10

  // kLucasKanade
  float ridge = 1.0f;  ///< added to the diagonal of the structure tensor, >= 0
  /// Side of the box over which the flow is averaged before each warp, odd, 3 to 31 pixels. It does
  /// not change affine motion.
  int smoothing_size = 15;

  // kVariational
  float smoothness = 1.2f;  ///< weight of the smoothness term, 0.01 to 100
  int sweeps = 8;           ///< of the relaxation of a warp on the finest level, 1 to 28
  int coarse_sweeps = 12;   ///< the same on each coarser level, 1 to 28
  int reweightings = 2;     ///< iterations of the median that the image guides, 0 to 10

  friend bool operator==(const PyramidConfig&, const PyramidConfig&) = default;
};

/// Largest value of OpticalFlowConfig::objects.
inline constexpr int kMaxMovingObjects = 64;

/// The defaults are those of the preset kFast.
struct OpticalFlowConfig {
  ImageSize size{};  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  Rect roi{};     ///< empty: whole image; flow is computed and written only here
  int depth = 1;  ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine

  FlowMethod method = FlowMethod::kPyramid;
  /// The preset that the configuration started from; has no effect itself.
  FlowPreset preset = FlowPreset::kFast;
  KernelConfig kernels{};                                   ///< kKernels
  CoefficientStorage storage = CoefficientStorage::kFloat;  ///< kKernels with per-pixel kernels
  PyramidConfig pyramid{};                                  ///< kPyramid

  int window = 11;  ///< Lucas-Kanade window, odd, 3 to 31 pixels
  WindowWeight window_weight = WindowWeight::kBox;
  float window_sigma = 4.0f;  ///< kGaussian: pixels, 0.1 to 1000

  /// >= 0. Flow with lower confidence is marked invalid; 0 marks only singular solutions
  /// (kKernels).
  float confidence_threshold = 0.0f;
  InvalidFlow invalid = InvalidFlow::kNan;
  /// Adds the plane `deviation`, the standard deviation of the flow, for a frame that asks for it.
  bool deviation = false;

  /// Moving objects that are found in each frame and written to the record, the largest first: 0
  /// (off) to kMaxMovingObjects.
  ///
  /// The field is sampled in the centers of square cells. The shorter side of the region has about
  /// 120, but none is smaller than 4 pixels. A cell moves if its vector is valid, at least
  /// `min_motion` long, and at least `min_deviations` times its standard deviation. Two cells that
  /// move belong to one object if they are at most two cells apart along each axis and their
  /// vectors differ by at most half a pixel or half the longer one. The objects are the connected
  /// components of this relation. A body without texture inside is found by its edge.
  int objects = 0;
  float min_motion = 1.0f;  ///< pixels per frame, 0 to 1000: less is not motion
  /// Pixels, 0 to kMaxImageSide. On a frame whose shorter side is longer than this, `min_motion` is
  /// larger in proportion: by default 2.25 pixels at 1920x1080. 0: it is the same on every frame.
  int min_motion_side = 480;
  /// 0 to 1000: motion below this multiple of its standard deviation is noise. The search for
  /// objects knows the deviation with and without its plane. 0: it does not compute it.
  float min_deviations = 2.0f;
  /// Pixels, 0 to 2^28: smaller objects are left out. 0: those of 16 cells. Videos that a codec
  /// compressed have blocks that move on still ground; two or three of them have this area.
  int min_area = 0;

  /// Pyramid, preset kFast.
  static OpticalFlowConfig fast(ImageSize size) noexcept;
  /// Pyramid, preset kQuality.
  static OpticalFlowConfig quality(ImageSize size) noexcept;
  /// Pyramid, preset kBest.
  static OpticalFlowConfig best(ImageSize size) noexcept;
  /// Kernels: uniform, 15x15x20 taps, and a Gaussian window of 15 pixels.
  static OpticalFlowConfig with_kernels(ImageSize size = {}) noexcept;

  /// The table of options: all members except size and format. `preset`, `method` and `kernels` set
  /// the defaults of the options after them.
  static OptionTable options() noexcept;
};

/// The moving objects of a frame, the largest first.
struct MovingObjectsRecord {
  std::int32_t found = 0;  ///< number of objects, with those beyond OpticalFlowConfig::objects
  std::int32_t count = 0;  ///< of those below
  std::array<std::int32_t, kMaxMovingObjects> x{};       ///< left edge of the box in the frame
  std::array<std::int32_t, kMaxMovingObjects> y{};       ///< upper edge
  std::array<std::int32_t, kMaxMovingObjects> width{};   ///< pixels
  std::array<std::int32_t, kMaxMovingObjects> height{};  ///< pixels
  std::array<float, kMaxMovingObjects> u{};  ///< mean motion to the right, pixels per frame
  std::array<float, kMaxMovingObjects> v{};  ///< mean motion down, pixels per frame
  /// Pixels of the object's cells and of those between two of them in a row, a multiple of those of
  /// a cell.
  std::array<std::int32_t, kMaxMovingObjects> area{};
};

/// Destination of the result: planes of 32-bit floats (kFloat32) of the size of the region of
/// interest, all with the same stride, and the record.
struct FlowOutput {
  ImageView u{};  ///< motion to the right, pixels per frame
  ImageView v{};  ///< motion down, pixels per frame
  /// May be left out; smaller eigenvalue of the structure tensor, (gray levels per pixel)^2 with
  /// kKernels and without a unit with kPyramid. With kVariational, that of the matrix of the data
  /// term, without a unit.
  ImageView confidence{};
  /// Only with OpticalFlowConfig::deviation, and may be left out; standard deviation of the flow in
  /// pixels per frame. At least 68 % of the end-point errors are below it, and 95 % below its
  /// double, on the sequences of docs/optical_flow_measurements.md. Infinity where the flow is
  /// invalid, and where the frames have no texture that tells it.
  ImageView deviation{};
  /// Only with OpticalFlowConfig::objects, and may be left out.
  MovingObjectsRecord* objects = nullptr;

  operator OperatorOutput() const noexcept {
    OperatorOutput out;
    out.planes[0] = u;
    out.planes[1] = v;
    out.planes[2] = confidence;
    out.planes[3] = deviation;
    out.record = objects;
    return out;
  }
};

/// The operator. Calls and lifetimes are those of OperatorHandle.
///
/// Image borders: pixels outside the image, and outside the planes that the window sums, repeat the
/// nearest pixel inside. Before the first frame, the first frame is repeated (kWarmingUp).
/// OperatorInfo::delay_frames is (nt-1)/2 for kernels of nt frames, and 1 for the pyramid.
/// `footprint` does not open a kernel file.
class OpticalFlow : public Operator<OpticalFlow, OpticalFlowConfig> {};

}  // namespace ocellus

#pragma GCC visibility pop
