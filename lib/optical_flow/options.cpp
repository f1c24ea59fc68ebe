// The options of optical flow and of the spatio-temporal filter.
#include <algorithm>
#include <array>
#include <cstdio>

#include "core/checks.h"
#include "core/option_table.h"
#include "ocellus/kernel_taps.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"
#include "optical_flow/plan.h"

namespace ocellus {
namespace {

constexpr OptionChoice kPresets[] = {
    {"fast", static_cast<int>(FlowPreset::kFast),
     "Lucas-Kanade: the shortest time, for live video on few cores"},
    {"quality", static_cast<int>(FlowPreset::kQuality),
     "the variational solver with few warps; takes about twice the time of fast"},
    {"best", static_cast<int>(FlowPreset::kBest),
     "the variational solver: the smallest error, in about four times the time of fast"},
};
constexpr OptionChoice kSolvers[] = {
    {"lucas-kanade", static_cast<int>(FlowSolver::kLucasKanade),
     "constant motion in a window around each pixel"},
    {"variational", static_cast<int>(FlowSolver::kVariational),
     "smooth motion that may change at image edges"},
};
constexpr OptionChoice kMethods[] = {
    {"pyramid", static_cast<int>(FlowMethod::kPyramid),
     "coarse to fine over an image pyramid, for fast motion"},
    {"kernels", static_cast<int>(FlowMethod::kKernels),
     "spatio-temporal kernels, for motion up to about 2 pixels per frame"},
};
constexpr OptionChoice kStorages[] = {
    {"float", static_cast<int>(CoefficientStorage::kFloat), "32-bit floats"},
    {"half", static_cast<int>(CoefficientStorage::kHalf),
     "16-bit floats: half the memory traffic, slightly less accurate"},
};
constexpr OptionChoice kWeights[] = {
    {"box", static_cast<int>(WindowWeight::kBox), "all pixels have the same weight"},
    {"gaussian", static_cast<int>(WindowWeight::kGaussian),
     "weights decrease with the distance from the center"},
};
constexpr OptionChoice kInvalids[] = {
    {"nan", static_cast<int>(InvalidFlow::kNan), "not a number"},
    {"zero", static_cast<int>(InvalidFlow::kZero), "zero, as if there were no motion"},
};

struct KernelWord {
  const char* word;
  KernelForm form;
  KernelOrigin origin;
};
constexpr KernelWord kKernelWords[] = {
    {"uniform", KernelForm::kUniform, KernelOrigin::kGaussian},
    {"per-pixel", KernelForm::kPerPixel, KernelOrigin::kGaussian},
    {"foveated", KernelForm::kPerPixel, KernelOrigin::kFoveated},
    {"full", KernelForm::kFull, KernelOrigin::kGaussian},
};

void print_kernels(const KernelConfig& kernels, char* text, std::size_t capacity) {
  const char* word = kernels.origin == KernelOrigin::kFile ? kernels.path.c_str() : "callback";
  for (const KernelWord& known : kKernelWords)
    if (kernels.form == known.form && kernels.origin == known.origin) word = known.word;
  std::snprintf(text, capacity, "%s", word);
}

/// Parses a word or the path of a kernel bank file. The file's header gives form, taps,
/// convolutions and terms.
Expected<void> parse_kernels(std::string_view text, KernelConfig& kernels) {
  for (const KernelWord& known : kKernelWords) {
    if (text != known.word) continue;
    // The taps and convolutions of a file or a callback do not apply to the library's own kernels.
    if (kernels.origin == KernelOrigin::kFile || kernels.origin == KernelOrigin::kCallback)
      kernels = {};
    kernels.form = known.form;
    kernels.origin = known.origin;
    return {};
  }
  Text<kMaxOptionText> path;
  if (text.empty() || !path.assign(text)) {
    return detail::invalid_argument(
        "it must be uniform, per-pixel, foveated, full or the name of a kernel file");
  }
  const Expected<KernelFileInfo> file = read_kernel_file_info(path.c_str());
  if (!file && file.error().status == Status::kIoError) {
    return tl::unexpected(make_error(
        Status::kIoError, "%.170s; it must be uniform, per-pixel, foveated, full or a kernel file",
        file.error().text));
  }
  if (!file) {
    return tl::unexpected(
        make_error(file.error().status, "\"%.100s\": %.120s", path.c_str(), file.error().text));
  }
  kernels = file->kernels;
  kernels.path = path;
  return {};
}

void print_taps(const KernelConfig& kernels, char* text, std::size_t capacity) {
  std::snprintf(text, capacity, "%dx%dx%d", kernels.nx, kernels.ny, kernels.nt);
}

Expected<void> parse_taps(std::string_view text, KernelConfig& kernels) {
  int taps[3] = {};
  const bool good =
      detail::parse_integers(text, 'x', taps) &&
      std::all_of(taps, taps + 3, [](int count) { return count >= 2 && count <= kMaxKernelTaps; });
  if (!good) {
    return detail::invalid_argument(
        "it is \"%.*s\"; it must be NXxNYxNT, such as 15x15x20, each 2 to %d", detail::shown(text),
        text.data(), kMaxKernelTaps);
  }
  kernels.nx = taps[0];
  kernels.ny = taps[1];
  kernels.nt = taps[2];
  return {};
}

bool is_made(const KernelConfig& kernels) {
  return kernels.origin == KernelOrigin::kGaussian || kernels.origin == KernelOrigin::kFoveated;
}

/// The rows of a configuration with the members `kernels` and `storage`. `kUsed` tells whether the
/// configuration uses them.
template <typename Config, auto kUsed>
struct KernelRows {
  using R = detail::Rows<Config>;

  static constexpr std::array<Option, 8> all() {
    return {
        used(R::template composite<[](const Config& c, char* text, std::size_t capacity) {
          print_kernels(c.kernels, text, capacity);
        },
                                   [](Config& c, std::string_view text) {
                                     return parse_kernels(text, c.kernels);
                                   }>("kernels",
                                      "Convolution kernels: uniform, per-pixel, foveated, full or "
                                      "a kernel file (*.ocellus)")),
        made(R::template composite<[](const Config& c, char* text, std::size_t capacity) {
          print_taps(c.kernels, text, capacity);
        },
                                   [](Config& c, std::string_view text) {
                                     return parse_taps(text, c.kernels);
                                   }>(
            "taps", "Number of taps of the kernels in x, y and time, as NXxNYxNT, each 2 to 25")),
        made(R::template real<[](auto& c) {
          return &c.kernels.sigma_space;
        }>("sigma_space", 0.1, 1000.0, "pixels",
           "Sigma of the Gaussian derivatives in space; with kernels=foveated, sigma at the center "
           "of the fovea")),
        made(R::template real<[](auto& c) { return &c.kernels.sigma_time; }>(
            "sigma_time", 0.1, 1000.0, "frames", "Sigma of the Gaussian derivatives in time")),
        foveated(R::template real<[](auto& c) { return &c.kernels.fovea_x; }>(
            "fovea_x", -1.0, kMaxImageSide, "pixels",
            "Column of the fovea's center; -1 = center of the image")),
        foveated(R::template real<[](auto& c) { return &c.kernels.fovea_y; }>(
            "fovea_y", -1.0, kMaxImageSide, "pixels",
            "Row of the fovea's center; -1 = center of the image")),
        foveated(R::template real<[](auto& c) { return &c.kernels.fovea_radius; }>(
            "fovea_radius", 0.001, 1e6, "pixels",
            "Distance from the fovea's center at which sigma is twice as large")),
        R::template when<[](const Config& c) {
          return detail::call<kUsed>(c) && c.kernels.form != KernelForm::kUniform;
        }>(kHasMethod ? "method=kernels and kernels that differ by pixel"
                      : "kernels that differ by pixel",
           R::template choice<[](auto& c) { return &c.storage; }>(
               "storage", kStorages, "Number format in which the kernels are stored"))};
  }

 private:
  static constexpr bool kHasMethod = requires(const Config& c) { c.method; };

  static constexpr Option used(Option row) {
    return kHasMethod ? R::template when<kUsed>("method=kernels", row) : row;
  }
  static constexpr Option made(Option row) {
    return R::template when<[](const Config& c) {
      return detail::call<kUsed>(c) && is_made(c.kernels);
    }>(kHasMethod ? "method=kernels and kernels that are not read from a file"
                  : "kernels that are not read from a file",
       row);
  }
  static constexpr Option foveated(Option row) {
    return R::template when<[](const Config& c) {
      return detail::call<kUsed>(c) && c.kernels.origin == KernelOrigin::kFoveated;
    }>(kHasMethod ? "method=kernels and kernels=foveated" : "kernels=foveated", row);
  }
};

/// The rows of several arrays in one.
template <std::size_t... kSizes>
constexpr std::array<Option, (kSizes + ...)> joined(const std::array<Option, kSizes>&... parts) {
  std::array<Option, (kSizes + ...)> rows;
  auto at = rows.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return rows;
}

// ---- optical flow

using Flow = detail::Rows<OpticalFlowConfig>;
using FlowKernels = KernelRows<OpticalFlowConfig, [](const OpticalFlowConfig& c) {
  return c.method == FlowMethod::kKernels;
}>;

/// Copies the members that neither a preset nor a method sets.
void keep_stream(const OpticalFlowConfig& from, OpticalFlowConfig& to) {
  to.size = from.size;
  to.format = from.format;
  to.roi = from.roi;
  to.depth = from.depth;
  to.priority = from.priority;
  to.invalid = from.invalid;
  to.deviation = from.deviation;
  to.objects = from.objects;
  to.min_motion = from.min_motion;
  to.min_motion_side = from.min_motion_side;
  to.min_deviations = from.min_deviations;
  to.min_area = from.min_area;
}

void begin_with_preset(OpticalFlowConfig& config, int preset) {
  const OpticalFlowConfig before = config;
  config = preset == static_cast<int>(FlowPreset::kBest)      ? OpticalFlowConfig::best({})
           : preset == static_cast<int>(FlowPreset::kQuality) ? OpticalFlowConfig::quality({})
                                                              : OpticalFlowConfig::fast({});
  keep_stream(before, config);
  // No preset has a threshold of its own.
  config.confidence_threshold = before.confidence_threshold;
}

void begin_with_method(OpticalFlowConfig& config, int method) {
  if (method == static_cast<int>(config.method)) return;
  const OpticalFlowConfig before = config;
  config = method == static_cast<int>(FlowMethod::kKernels) ? OpticalFlowConfig::with_kernels()
                                                            : OpticalFlowConfig::fast({});
  keep_stream(before, config);
}

template <auto kAlso = [](const OpticalFlowConfig&) { return true; }>
constexpr Option pyramid(Option row, const char* needs = "method=pyramid") {
  return Flow::when<[](const OpticalFlowConfig& c) {
    return c.method == FlowMethod::kPyramid && detail::call<kAlso>(c);
  }>(needs, row);
}

constexpr Option lucas_kanade(Option row) {
  return pyramid<[](const OpticalFlowConfig& c) {
    return c.pyramid.solver == FlowSolver::kLucasKanade;
  }>(row, "method=pyramid and solver=lucas-kanade");
}
constexpr Option variational(Option row) {
  return pyramid<[](const OpticalFlowConfig& c) {
    return c.pyramid.solver == FlowSolver::kVariational;
  }>(row, "method=pyramid and solver=variational");
}
constexpr bool uses_window(const OpticalFlowConfig& c) {
  return c.method == FlowMethod::kKernels || c.pyramid.solver == FlowSolver::kLucasKanade;
}
constexpr Option windowed(Option row) {
  return Flow::when<[](const OpticalFlowConfig& c) { return uses_window(c); }>(
      "method=kernels or solver=lucas-kanade", row);
}

constexpr std::array kMethodOptions = {
    Flow::preset<[](auto& c) { return &c.method; }, begin_with_method>(
        "method", kMethods, "Method that estimates the motion"),
    pyramid(Flow::preset<[](auto& c) { return &c.preset; }, begin_with_preset>(
        "preset", kPresets, "Balance of speed and accuracy")),
};
constexpr std::array kOtherFlowOptions = {
    pyramid(Flow::choice<[](auto& c) { return &c.pyramid.solver; }>(
        "solver", kSolvers, "How the flow of a level is determined")),
    pyramid(Flow::integer<[](auto& c) { return &c.pyramid.levels; }>(
        "levels", 1, detail::kMaxPyramidLevels, "", "Number of levels of the pyramid")),
    pyramid(Flow::integer<[](auto& c) { return &c.pyramid.warps; }>(
        "warps", 1, 10, "",
        "Number of warps, each with a solution, on the two finest levels; with "
        "solver=variational, on the finest one")),
    pyramid<[](const OpticalFlowConfig& c) { return (c.pyramid.levels > 2); }>(
        Flow::integer<[](auto& c) { return &c.pyramid.coarse_warps; }>(
            "coarse_warps", 1, 10, "",
            "Number of warps, each with a solution, on the coarser levels"),
        "method=pyramid and 3 levels or more"),
    lucas_kanade(Flow::real<[](auto& c) { return &c.pyramid.ridge; }>(
        "ridge", 0.0, 1e9, "", "Number that is added to the diagonal of the structure tensor")),
    lucas_kanade(Flow::odd(Flow::integer<[](auto& c) { return &c.pyramid.smoothing_size; }>(
        "smoothing_size", 3, detail::kMaxWindow, "pixels",
        "Side of the box over which the flow is averaged before each warp"))),
    variational(Flow::real<[](auto& c) { return &c.pyramid.smoothness; }>(
        "smoothness", 0.01, 100.0, "", "Weight of the smoothness term")),
    variational(Flow::integer<[](auto& c) { return &c.pyramid.sweeps; }>(
        "sweeps", 1, 28, "", "Sweeps of the relaxation of a warp on the finest level")),
    variational(Flow::integer<[](auto& c) { return &c.pyramid.coarse_sweeps; }>(
        "coarse_sweeps", 1, 28, "", "Sweeps of the relaxation of a warp on the coarser levels")),
    variational(Flow::integer<[](auto& c) { return &c.pyramid.reweightings; }>(
        "reweightings", 0, 10, "", "Iterations of the median that the image guides")),
    windowed(Flow::odd(Flow::integer<[](auto& c) { return &c.window; }>(
        "window", 3, detail::kMaxWindow, "pixels",
        "Side of the window in which the motion is assumed to be constant"))),
    windowed(Flow::choice<[](auto& c) { return &c.window_weight; }>(
        "window_weight", kWeights, "Weights of the pixels in the window")),
    Flow::when<[](const OpticalFlowConfig& c) {
      return uses_window(c) && c.window_weight == WindowWeight::kGaussian;
    }>("window_weight=gaussian",
       Flow::real<[](auto& c) { return &c.window_sigma; }>(
           "window_sigma", 0.1, 1000.0, "pixels", "Sigma of the Gaussian weights of the window")),
    Flow::roi<[](auto& c) { return &c.roi; }>(
        "Region in which flow is computed, as x,y,width,height; empty = the whole image"),
    Flow::real<[](auto& c) { return &c.confidence_threshold; }>(
        "confidence_threshold", 0.0, 1e30, "", "Flow with a lower confidence is marked invalid"),
    Flow::choice<[](auto& c) { return &c.invalid; }>("invalid", kInvalids,
                                                     "Value that is written where flow is invalid"),
    Flow::flag<[](auto& c) { return &c.deviation; }>(
        "deviation", "Add a plane with the standard deviation of the flow in pixels"),
    Flow::integer<[](auto& c) { return &c.objects; }>(
        "objects", 0, kMaxMovingObjects, "",
        "Moving objects that are found in each frame, the largest; 0 = off"),
    Flow::real<[](auto& c) { return &c.min_motion; }>(
        "min_motion", 0.0, 1000.0, "pixels per frame",
        "Least motion of an object, and least motion that is drawn; more on large frames"),
    Flow::integer<[](auto& c) { return &c.min_motion_side; }>(
        "min_motion_side", 0, kMaxImageSide, "pixels",
        "Shorter side of a frame from which on the least motion grows with the frame; 0 = it is "
        "the same on every frame"),
    Flow::real<[](auto& c) { return &c.min_deviations; }>(
        "min_deviations", 0.0, 1000.0, "standard deviations",
        "Least motion of an object and of what is drawn, as a multiple of its standard deviation; "
        "0 = any"),
    Flow::integer<[](auto& c) { return &c.min_area; }>(
        "min_area", 0, 1 << 28, "pixels", "Smaller objects are left out; 0 = 16 cells"),
    detail::depth_option<OpticalFlowConfig>(),
    detail::priority_option<OpticalFlowConfig>(),
};
constexpr auto kFlowOptions = joined(kMethodOptions, FlowKernels::all(), kOtherFlowOptions);

// ---- the filter

using Filter = detail::Rows<SpatioTemporalFilterConfig>;
using FilterKernels =
    KernelRows<SpatioTemporalFilterConfig, [](const SpatioTemporalFilterConfig&) { return true; }>;

constexpr std::array kOtherFilterOptions = {
    Filter::roi<[](auto& c) { return &c.roi; }>(
        "Region in which the filters are computed, as x,y,width,height; empty = the whole image"),
    detail::depth_option<SpatioTemporalFilterConfig>(),
    detail::priority_option<SpatioTemporalFilterConfig>(),
};
constexpr auto kFilterOptions = joined(FilterKernels::all(), kOtherFilterOptions);

}  // namespace

OptionTable OpticalFlowConfig::options() noexcept {
  return kFlowOptions;
}
OptionTable SpatioTemporalFilterConfig::options() noexcept {
  return kFilterOptions;
}

OpticalFlowConfig OpticalFlowConfig::fast(ImageSize size) noexcept {
  OpticalFlowConfig config;
  config.size = size;
  return config;
}

OpticalFlowConfig OpticalFlowConfig::quality(ImageSize size) noexcept {
  OpticalFlowConfig config = best(size);
  config.preset = FlowPreset::kQuality;
  config.pyramid.warps = 1;
  config.pyramid.coarse_warps = 3;
  config.pyramid.reweightings = 1;
  return config;
}

OpticalFlowConfig OpticalFlowConfig::best(ImageSize size) noexcept {
  OpticalFlowConfig config;
  config.size = size;
  config.preset = FlowPreset::kBest;
  config.pyramid.solver = FlowSolver::kVariational;
  config.pyramid.levels = 5;
  config.pyramid.warps = 3;
  config.pyramid.coarse_warps = 4;
  return config;
}

OpticalFlowConfig OpticalFlowConfig::with_kernels(ImageSize size) noexcept {
  OpticalFlowConfig config;
  config.size = size;
  config.method = FlowMethod::kKernels;
  config.window = 15;
  config.window_weight = WindowWeight::kGaussian;
  return config;
}

}  // namespace ocellus
