#include "apps/optical_flow/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/common/printable.h"

namespace ocellus::app {
namespace {

/// Integers separated by `separator`, exactly `count` of them.
std::vector<int> integers(const std::string& text, char separator, std::size_t count,
                          const char* option, const char* form) {
  std::vector<int> values;
  const char* position = text.data();
  const char* const end = text.data() + text.size();
  while (values.size() < count) {
    int value = 0;
    const auto [next, code] = std::from_chars(position, end, value);
    if (code != std::errc()) break;
    values.push_back(value);
    position = next;
    if (position == end || *position != separator) break;
    ++position;
  }
  if (values.size() != count || position != end)
    throw InputError(fmt::format("{} is '{}'; it must be {}", option, text, form));
  return values;
}

/// The finest levels take PyramidConfig::warps, the others coarse_warps.
constexpr int kFineLevels = 2;

const char* storage_name(CoefficientStorage storage) {
  return storage == CoefficientStorage::kHalf ? "half" : "float";
}

std::string kernels_name(const KernelConfig& kernels) {
  switch (kernels.origin) {
    case KernelOrigin::kGaussian:
      return kernels.form == KernelForm::kUniform ? "uniform" : "per-pixel";
    case KernelOrigin::kFoveated:
      return "foveated";
    case KernelOrigin::kFile:
      return kernels.path;
    case KernelOrigin::kCallback:
      return "callback";
  }
  return "";
}

}  // namespace

void add_flow_options(CLI::App& command, FlowOptions& o) {
  const std::string group = "Optical flow";
  command
      .add_option("--preset", o.preset,
                  "fast or quality: coarse-to-fine over a pyramid, plain or robust")
      ->check(CLI::IsMember({"fast", "quality"}))
      ->group(group);
  command.add_option("--method", o.method, "kernels (default without --preset) or pyramid")
      ->check(CLI::IsMember({"kernels", "pyramid"}))
      ->group(group);
  command.add_option("--window-size", o.window_size, "Lucas-Kanade window, odd, 3 to 31 pixels")
      ->group(group);
  command
      .add_option("--window-sigma", o.window_sigma,
                  "Gaussian weight of the window in pixels; inf = box")
      ->group(group);
  command.add_option("--roi", o.roi, "x,y,w,h: compute and write this region only")->group(group);
  command
      .add_option("--threshold", o.threshold, "Confidence below which the flow is marked invalid")
      ->group(group);
  command.add_option("--invalid", o.invalid, "What invalid flow becomes: nan or zero")
      ->check(CLI::IsMember({"nan", "zero"}))
      ->group(group);

  const std::string kernels = "Optical flow, method kernels";
  command
      .add_option("--kernels", o.kernels, "uniform, foveated, or a kernel bank file (*.ocellus)")
      ->group(kernels);
  command
      .add_option("--form", o.form,
                  "uniform or per-pixel: how the kernels are held (foveated: per-pixel)")
      ->check(CLI::IsMember({"uniform", "per-pixel"}))
      ->group(kernels);
  command
      .add_option("--taps", o.taps,
                  "Support NXxNYxNT: pixels, pixels, frames; each up to 25 (default 15x15x20)")
      ->group(kernels);
  command.add_option("--terms", o.terms, "Separable terms of each kernel")->group(kernels);
  command.add_option("--sigma-space", o.sigma_space, "Gaussian of the derivatives in pixels")
      ->group(kernels);
  command.add_option("--sigma-time", o.sigma_time, "Gaussian of the derivatives in frames")
      ->group(kernels);
  command.add_option("--storage", o.storage, "Per-pixel coefficients and ring: float or half")
      ->check(CLI::IsMember({"float", "half"}))
      ->group(kernels);

  const std::string pyramid = "Optical flow, method pyramid";
  command.add_option("--levels", o.levels, "Levels of the pyramid, 1 to 6")->group(pyramid);
  command.add_option("--window-frames", o.window_frames, "Frames that a result is made of, 2 to 7")
      ->group(pyramid);
  command.add_option("--warps", o.warps, "Warps on the two finest levels, 1 to 10")->group(pyramid);
  command.add_option("--coarse-warps", o.coarse_warps, "Warps on the coarser levels, 1 to 10")
      ->group(pyramid);
  command
      .add_option("--robust", o.robust,
                  "Residual at which a pixel counts half in the last solution; 0 = all alike")
      ->group(pyramid);
  command
      .add_option("--gradient-floor", o.gradient_floor,
                  "Gradient above which edges count less; 0 = by their strength")
      ->group(pyramid);
  command.add_option("--smoothing", o.smoothing, "Of the flow: none, before-warp or confidence")
      ->check(CLI::IsMember({"none", "before-warp", "confidence"}))
      ->group(pyramid);
  command.add_option("--smoothing-size", o.smoothing_size, "Side of its box, odd, 3 to 31")
      ->group(pyramid);
  command.add_option("--interpolation", o.interpolation, "Of the warp: cubic or linear")
      ->check(CLI::IsMember({"cubic", "linear"}))
      ->group(pyramid);
  command
      .add_option("--normalize", o.normalize, "Divide by the local contrast first: true or false")
      ->group(pyramid);
  command
      .add_option("--median", o.median, "Median of the flow at the end of each level: 0, 3 or 5")
      ->group(pyramid);
  command.add_option("--ridge", o.ridge, "Added to the structure tensor's diagonal")
      ->group(pyramid);
}

std::vector<int> parse_taps(const std::string& text) {
  return integers(text, 'x', 3, "--taps", "NXxNYxNT, such as 15x15x20");
}

std::vector<UnusedOptions> unused_flow_options(const FlowOptions& o) {
  const bool pyramid = o.preset.has_value() || o.method == "pyramid";
  const bool kernel_file = o.kernels && *o.kernels != "uniform" && *o.kernels != "foveated";
  PyramidConfig config;
  if (o.preset) {
    config = (*o.preset == "fast" ? OpticalFlowConfig::fast({}) : OpticalFlowConfig::quality({}))
                 .pyramid;
  }
  const bool smooth =
      o.smoothing ? *o.smoothing != "none" : config.smoothing != FlowSmoothing::kNone;
  return {
      {o.method == "kernels",
       {"--preset"},
       "it is a choice of --method pyramid, not of --method kernels"},
      {pyramid,
       {"--kernels", "--form", "--taps", "--terms", "--sigma-space", "--sigma-time", "--storage"},
       "it belongs to --method kernels; --preset and --method pyramid make their own derivatives"},
      {!pyramid,
       {"--levels", "--window-frames", "--warps", "--coarse-warps", "--robust", "--gradient-floor",
        "--smoothing", "--smoothing-size", "--interpolation", "--normalize", "--median", "--ridge"},
       "it belongs to --method pyramid (or --preset); --method kernels has no pyramid"},
      {o.kernels == "foveated" && o.form == "uniform",
       {"--form"},
       "--kernels foveated differ from pixel to pixel, which contradicts --form uniform"},
      {kernel_file,
       {"--form", "--taps", "--terms", "--sigma-space", "--sigma-time"},
       "it makes kernels, and a kernel file has its own"},
      {!smooth, {"--smoothing-size"}, "the flow is not smoothed; see --smoothing"},
      {o.levels.value_or(config.levels) <= kFineLevels,
       {"--coarse-warps"},
       "it is for the levels below the two finest, and there are none; see --levels"},
  };
}

std::string with_option_name(std::string text) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"kernels.nx", "--taps: NX"},
      {"kernels.ny", "--taps: NY"},
      {"kernels.nt", "--taps: NT"},
      {"kernels.terms", "--terms"},
      {"kernels.sigma_space", "--sigma-space"},
      {"kernels.sigma_time", "--sigma-time"},
      {"kernels.fovea_x and fovea_y", "--fovea"},
      {"kernels.fovea_radius", "--fovea-radius"},
      {"pyramid.levels", "--levels"},
      {"pyramid.frames", "--window-frames"},
      {"pyramid.warps", "--warps"},
      {"pyramid.coarse_warps", "--coarse-warps"},
      {"pyramid.robust", "--robust"},
      {"pyramid.gradient_floor", "--gradient-floor"},
      {"pyramid.smoothing_size", "--smoothing-size"},
      {"pyramid.median", "--median"},
      {"pyramid.ridge", "--ridge"},
      {"window", "--window-size"},
      {"window_sigma", "--window-sigma"},
      {"confidence_threshold", "--threshold"},
      {"roi", "--roi"},
  };
  for (const auto& [field, option] : kNames) {
    if (text.size() > field.size() && text.compare(0, field.size(), field) == 0 &&
        text[field.size()] == ' ')
      return text.replace(0, field.size(), option);
  }
  return text;
}

int pyramid_levels(const OpticalFlowConfig& config) {
  constexpr int kSmallestSide = 24;  // as PyramidConfig::levels says
  int levels = 1;
  int side = std::min(config.size.width, config.size.height);
  while (levels < config.pyramid.levels && (side = (side + 1) / 2) >= kSmallestSide) ++levels;
  return levels;
}

OpticalFlowConfig flow_config(const FlowOptions& o, ImageSize size, PixelFormat format) {
  OpticalFlowConfig config;
  if (o.preset) {
    config = *o.preset == "fast" ? OpticalFlowConfig::fast(size) : OpticalFlowConfig::quality(size);
  } else if (o.method == "pyramid") {
    config.method = FlowMethod::kPyramid;
  }
  config.size = size;
  config.format = format;
  config.depth = 1;
  if (config.method == FlowMethod::kPyramid) {
    PyramidConfig& pyramid = config.pyramid;
    pyramid.levels = o.levels.value_or(pyramid.levels);
    pyramid.frames = o.window_frames.value_or(pyramid.frames);
    pyramid.warps = o.warps.value_or(pyramid.warps);
    pyramid.coarse_warps = o.coarse_warps.value_or(pyramid.coarse_warps);
    pyramid.robust = o.robust.value_or(pyramid.robust);
    pyramid.gradient_floor = o.gradient_floor.value_or(pyramid.gradient_floor);
    if (o.smoothing) {
      pyramid.smoothing = *o.smoothing == "none"          ? FlowSmoothing::kNone
                          : *o.smoothing == "before-warp" ? FlowSmoothing::kBeforeWarp
                                                          : FlowSmoothing::kConfidence;
    }
    pyramid.smoothing_size = o.smoothing_size.value_or(pyramid.smoothing_size);
    if (o.interpolation) pyramid.cubic = *o.interpolation == "cubic";
    pyramid.normalize = o.normalize.value_or(pyramid.normalize);
    pyramid.median = o.median.value_or(pyramid.median);
    pyramid.ridge = o.ridge.value_or(pyramid.ridge);
  } else {
    KernelConfig& kernels = config.kernels;
    if (o.form) kernels.form = *o.form == "uniform" ? KernelForm::kUniform : KernelForm::kPerPixel;
    if (o.kernels == "foveated") {
      kernels.origin = KernelOrigin::kFoveated;
      kernels.form = KernelForm::kPerPixel;
    } else if (o.kernels && *o.kernels != "uniform") {
      if (!std::filesystem::exists(*o.kernels)) {
        throw InputError(fmt::format(
            "--kernels is '{}'; it must be uniform, foveated, or a kernel bank file that is there",
            *o.kernels));
      }
      const KernelFileInfo info = take(read_kernel_file_info(o.kernels->c_str()), *o.kernels);
      if (info.kernels.convolutions != 3) {
        throw InputError(fmt::format(
            "{}: the file has {} convolutions; optical flow needs the 3 derivatives Ix, Iy, It",
            *o.kernels, info.kernels.convolutions));
      }
      kernels = info.kernels;
      kernels.path = o.kernels->c_str();
    }
    if (o.taps) {
      const std::vector<int> taps = parse_taps(*o.taps);
      kernels.nx = taps[0];
      kernels.ny = taps[1];
      kernels.nt = taps[2];
    }
    kernels.terms = o.terms.value_or(kernels.terms);
    kernels.sigma_space = o.sigma_space.value_or(kernels.sigma_space);
    kernels.sigma_time = o.sigma_time.value_or(kernels.sigma_time);
    if (o.storage) {
      if (kernels.form == KernelForm::kUniform) {
        throw InputError(
            "--storage has no meaning here: it is for per-pixel kernels (--kernels foveated, "
            "--form "
            "per-pixel); uniform kernels store next to nothing");
      }
      config.storage =
          *o.storage == "half" ? CoefficientStorage::kHalf : CoefficientStorage::kFloat;
    }
  }
  config.window = o.window_size.value_or(config.window);
  config.window_sigma = o.window_sigma.value_or(config.window_sigma);
  config.confidence_threshold = o.threshold.value_or(config.confidence_threshold);
  if (o.invalid) config.invalid = *o.invalid == "zero" ? InvalidFlow::kZero : InvalidFlow::kNan;
  if (o.roi) {
    const std::vector<int> roi = integers(*o.roi, ',', 4, "--roi", "x,y,w,h");
    if (roi[2] < 1 || roi[3] < 1)
      throw InputError(fmt::format("--roi is {}; its width and height must be at least 1", *o.roi));
    config.roi = {roi[0], roi[1], roi[2], roi[3]};
  }
  return config;
}

int temporal_support(const OpticalFlowConfig& config) {
  return config.method == FlowMethod::kPyramid ? config.pyramid.frames : config.kernels.nt;
}

void set_temporal_support(OpticalFlowConfig& config, int frames) {
  (config.method == FlowMethod::kPyramid ? config.pyramid.frames : config.kernels.nt) = frames;
}

bool temporal_support_is_fixed(const OpticalFlowConfig& config) {
  return config.method == FlowMethod::kKernels && config.kernels.origin == KernelOrigin::kFile;
}

ImageSize output_size(const OpticalFlowConfig& config) {
  return config.roi.empty() ? config.size : ImageSize{config.roi.width, config.roi.height};
}

std::string describe(const OpticalFlowConfig& config) {
  if (config.method == FlowMethod::kPyramid) {
    const PyramidConfig& p = config.pyramid;
    const int levels = pyramid_levels(config);
    return fmt::format(
        "pyramid of {}{}, {} frames, {} a level{}{}{}, window {}", counted(levels, "level"),
        levels < p.levels ? fmt::format(" ({} left out: too small)", p.levels - levels) : "",
        p.frames,
        levels > kFineLevels && p.coarse_warps != p.warps
            ? fmt::format("{} or {} warps", p.warps, p.coarse_warps)
            : counted(p.warps, "warp"),
        p.robust > 0.0f ? ", robust" : "", p.median > 0 ? fmt::format(", median {}", p.median) : "",
        p.ridge > 0.0f ? fmt::format(", ridge {}", p.ridge) : "", config.window);
  }
  const KernelConfig& k = config.kernels;
  return fmt::format(
      "kernels {} {}x{}x{}{}{}, window {}", printable(kernels_name(k)), k.nx, k.ny, k.nt,
      k.terms > 1 ? fmt::format(", {} terms", k.terms) : "",
      k.form == KernelForm::kPerPixel ? fmt::format(", {}", storage_name(config.storage)) : "",
      config.window);
}

nlohmann::ordered_json config_json(const OpticalFlowConfig& config) {
  nlohmann::ordered_json json;
  if (config.method == FlowMethod::kPyramid) {
    const PyramidConfig& p = config.pyramid;
    json["method"] = "pyramid";
    json["levels"] = pyramid_levels(config);
    json["levels_asked_for"] = p.levels;
    json["window_frames"] = p.frames;
    json["warps"] = p.warps;
    json["coarse_warps"] = p.coarse_warps;
    json["robust"] = p.robust;
    json["median"] = p.median;
    json["ridge"] = p.ridge;
  } else {
    const KernelConfig& k = config.kernels;
    json["method"] = "kernels";
    json["kernels"] = kernels_name(k);
    json["form"] = k.form == KernelForm::kUniform ? "uniform" : "per-pixel";
    json["taps"] = {k.nx, k.ny, k.nt};
    json["terms"] = k.terms;
    if (k.origin != KernelOrigin::kFile) {
      json["sigma_space"] = k.sigma_space;
      json["sigma_time"] = k.sigma_time;
    }
    if (k.form == KernelForm::kPerPixel) json["storage"] = storage_name(config.storage);
  }
  json["window_size"] = config.window;
  json["window_sigma"] = config.window_sigma;
  json["threshold"] = config.confidence_threshold;
  return json;
}

double solution_flops(int window) {
  const double passes = 2.0 * window;  // two passes of a separable sum
  constexpr double kSolve = 20.0;      // products, determinant, division, eigenvalue
  return 2.0 * (5.0 + 5.0 * passes) + kSolve;
}

Workload least_work(const OpticalFlowConfig& config) {
  const ImageSize out = output_size(config);
  const double pixels = static_cast<double>(out.width) * out.height;
  constexpr double kOutput = 3.0 * 4.0;  // u, v, confidence
  const double input = bytes_per_pixel(config.format);
  Workload work;
  if (config.method == FlowMethod::kKernels) {
    const KernelConfig& k = config.kernels;
    const double solve = solution_flops(config.window);
    if (k.form == KernelForm::kPerPixel) {
      // The bank and the ring of spatial sums are far larger than a cache and are read once for
      // each frame.
      const double number = config.storage == CoefficientStorage::kHalf ? 2.0 : 4.0;
      const double sets = 3.0 * k.terms;
      work.bytes = pixels * (sets * (k.nx + k.ny + k.nt + k.nt) * number + input + kOutput);
      work.flops = pixels * (sets * 2.0 * (static_cast<double>(k.nx) * k.ny + k.ny + k.nt) + solve);
    } else {
      // Smoothing and derivative in time over the stored frames, then two separable passes for each
      // of the three.
      work.bytes = pixels * (k.nt * input + kOutput);
      work.flops = pixels * (2.0 * (2.0 * k.nt + 3.0 * k.nx + 3.0 * k.ny) + solve);
    }
  } else {
    const PyramidConfig& p = config.pyramid;
    double level_pixels = 0.0;
    double scale = 1.0;
    for (int level = 0; level < pyramid_levels(config); ++level, scale *= 0.25)
      level_pixels += pixels * scale;
    // A warp: four products a frame, derivatives of two taps along each axis, then sums and
    // solution.
    const double warp =
        2.0 * (4.0 * (p.frames - 1) + 2.0 + 2.0 + p.frames) + solution_flops(config.window);
    work.bytes = pixels * (p.frames * input + kOutput);
    work.flops = level_pixels * p.warps * warp +
                 pixels * 2.0 * 10.0;  // and reducing the new frame with five taps twice
  }
  return work;
}

}  // namespace ocellus::app
