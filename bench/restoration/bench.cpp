// ocellus bench restore: the command and the filters that it measures.
#include "bench/restoration/bench.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

namespace ocellus::app {
namespace {

BenchDefaults restore_defaults() {
  BenchDefaults defaults;
  defaults.sizes = {"640x480"};
  defaults.scene_frames = 6;  // drawing a large scene takes long
  defaults.host_frames = 30;
  defaults.device_frames = 2000;
  defaults.papers = "fixed and flexible allocation of Nikonorov, Fursov and Yakimov";
  return defaults;
}

/// Random coefficients. The magnitudes of b sum up to `feedback` in each quadrant.
RestorationFilter random_filter(int support, double feedback) {
  std::uint32_t state = 12345u + static_cast<std::uint32_t>(support);
  const auto random = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / 8388608.0 - 1.0;
  };
  RestorationFilter filter;
  filter.support = support;
  const auto taps = static_cast<std::size_t>(support) * static_cast<std::size_t>(support);
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    std::vector<double> b(taps, 0.0);
    double sum = 0.0;
    for (std::size_t i = 0; i < taps; ++i) {
      const int row = static_cast<int>(i) / support;
      const int column = static_cast<int>(i) % support;
      const double weight = std::pow(0.8, row + column);
      const double a = random();
      filter.feedforward[q][i] = static_cast<float>(i == 0 ? 0.25 : 0.02 * weight * a);
      if (i > 0) b[i] = weight * random();
      sum += std::fabs(b[i]);
    }
    for (std::size_t i = 1; i < taps; ++i)
      filter.feedback[q][i] = static_cast<float>(b[i] * feedback / sum);
  }
  return filter;
}

constexpr PixelFormat kFormats[] = {PixelFormat::kGray8, PixelFormat::kGray16,
                                    PixelFormat::kFloat32};

GrayImage converted(const GrayImage& image, PixelFormat format) {
  GrayImage result(image.size, format);
  std::size_t at = 0;
  const auto put = [&](auto value) {
    std::memcpy(result.pixels.data() + at, &value, sizeof(value));
    at += sizeof(value);
  };
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x) {
      const float gray = image.brightness(x, y);
      if (format == PixelFormat::kFloat32)
        put(gray);
      else if (format == PixelFormat::kGray16)
        put(static_cast<std::uint16_t>(gray * 257.0f + 0.5f));
      else
        put(static_cast<std::uint8_t>(gray + 0.5f));
    }
  }
  return result;
}

int run_bench_restore(const RestoreBenchOptions& o) {
  const BenchEngine engine(o);
  std::vector<Clip> clips;
  for (const std::string& name : bench_inputs(o)) {
    clips.push_back(read_clip(name, o.source, {}));
    for (GrayImage& frame : clips.back().frames)
      for (const PixelFormat format : kFormats)
        if (o.format == format_name(format) && frame.format != format)
          frame = converted(frame, format);
  }
  return engine.on_cpu() ? bench_restoration_on_host(o, engine.config, engine.info, clips)
                         : bench_restoration_on_device(o, engine.config, engine.info, clips);
}

}  // namespace

RestoreBenchOptions::RestoreBenchOptions()
    : BenchOptions(restore_defaults()), supports{3, 5, 7, 9, 11, 15, 21, 31} {}

BenchFilter bench_filter(int support) {
  for (double feedback = 0.95;; feedback *= 0.93) {
    const RestorationFilter filter = random_filter(support, feedback);
    const auto properties = analyze_filter(filter);
    if (properties && properties->response <= kBenchResponse) return {filter, properties->response};
  }
}

Workload restoration_work(const OperatorInfo& info, const BenchFilter& filter,
                          RestorationSchedule schedule) {
  if (schedule == RestorationSchedule::kRecursion) return least_work(info);
  const double half = (info.size.height + 1) / 2;
  const double width = info.size.width + 2.0 * filter.response;
  const double height = half + 2.0 * filter.response;
  const double row = 5.0 * width * std::log2(width);
  const double column = 5.0 * height * std::log2(height);
  // Rows forward and, of the image itself, back; columns forward and back; the complex product.
  return {info.least_bytes, row * (height + half) + 2.0 * column * width + 6.0 * width * height};
}

const char* format_name(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGray8:
      return "gray8";
    case PixelFormat::kGray16:
      return "gray16";
    default:  // kFloat32; no color comes here
      break;
  }
  return "float";
}

CurvePlot time_plot(ImageSize size, PixelFormat format, const std::string& machine) {
  CurvePlot plot;
  plot.title = fmt::format("Restoration of {} {}", size_text(size), format_name(format));
  plot.subtitle =
      fmt::format("four quadrants; impulse responses of at most {} pixels", kBenchResponse);
  plot.machine = machine;
  plot.x_label = "support m";
  plot.y_label = "Time of a frame, ms";
  return plot;
}

const char* schedule_name(RestorationSchedule schedule) {
  return schedule == RestorationSchedule::kRecursion ? "recursion" : "frequency";
}

void add_bench_restore_command(CLI::App& bench, int& exit_code) {
  CLI::App* const command = bench.add_subcommand(
      "restore", "Measure restoration: supports of the filter, schedules, other libraries");
  command->footer(
      "The filters have random coefficients and impulse responses of at most 64 pixels. On the\n"
      "CPU, frames and results lie in ordinary memory, and the rows take turns. On a device they\n"
      "lie in its memory.");
  const auto o = std::make_shared<RestoreBenchOptions>();
  add_bench_options(*command, *o);
  command->add_option("--support", o->supports, "Supports m of the filters")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxFilterSupport))
      ->capture_default_str();
  command->add_option("--format", o->format, "Format of the frames: gray8, gray16 or float")
      ->check(CLI::IsMember({"gray8", "gray16", "float"}))
      ->capture_default_str();
  command->add_option("--plot", o->plot, "Write a plot of time against support (.svg)");
  command->add_flag("--no-peers", o->no_peers, "Leave out the methods of other libraries");
  command->callback([command, o, &exit_code] {
    check_bench_options(*command, *o);
    if (!o->plot.empty() && file_extension(o->plot) != ".svg")
      throw InputError(fmt::format("--plot is '{}'; it must end in .svg", o->plot));
    if (!o->plot.empty() && o->input.empty() && o->sizes.size() > 1)
      throw InputError("--plot draws one size; give one --size");
    exit_code = run_bench_restore(*o);
  });
}

}  // namespace ocellus::app
