// What the files of `ocellus bench restore` share: its options, its filters and its methods.
#pragma once

#include <string>
#include <vector>

#include "apps/io/operator_run.h"
#include "apps/measure/curve_plot.h"
#include "bench/bench_command.h"
#include "bench/bench_report.h"
#include "ocellus/restoration.h"

namespace ocellus::app {

struct RestoreBenchOptions : BenchOptions {
  RestoreBenchOptions();

  std::vector<int> supports;
  std::string format = "gray8";
  bool no_peers = false;
  std::string plot;  ///< file of the plot; empty: none
};

/// A filter to measure.
struct BenchFilter {
  RestorationFilter filter;
  int response = 0;  ///< FilterProperties::response: pixels by which the image is continued
};

/// Longest impulse response of a filter to measure, in pixels.
inline constexpr int kBenchResponse = 64;

/// A filter of m x m whose response is at most kBenchResponse. Equal supports give equal filters.
///
/// All coefficients come from one linear congruential generator and decay by 0.8 per pixel. The
/// magnitudes of b sum up to 0.95 * 0.93^n in each quadrant, with the first n whose response is
/// short enough. a(0, 0) is 0.25, so that the sum of the quadrants changes the picture little.
BenchFilter bench_filter(int support);

/// The least work of a frame by this schedule. For kFrequency, transforms of n values take
/// 5 n log2 n operations, and no length is rounded up.
Workload restoration_work(const OperatorInfo& info, const BenchFilter& filter,
                          RestorationSchedule schedule);

/// "gray8", "gray16" or "float".
const char* format_name(PixelFormat format);
/// "recursion" or "frequency".
const char* schedule_name(RestorationSchedule schedule);

/// The plot of --plot, without its curves.
CurvePlot time_plot(ImageSize size, PixelFormat format, const std::string& machine);

/// Measures on the CPU, with the methods of other libraries.
int bench_restoration_on_host(const RestoreBenchOptions& options, const EngineConfig& engine,
                              const EngineInfo& info, std::vector<Clip> clips);
/// Measures on a CUDA device, with frames and results in its memory, and compares with the paper's
/// schedules. Throws InputError in a build without the kernels that measure a device.
int bench_restoration_on_device(const RestoreBenchOptions& options, const EngineConfig& engine,
                                const EngineInfo& info, const std::vector<Clip>& clips);

}  // namespace ocellus::app
