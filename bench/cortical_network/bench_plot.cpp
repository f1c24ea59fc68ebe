// The plots of `ocellus bench cortex`.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "apps/measure/machine.h"
#include "bench/cortical_network/bench.h"
#include "bench/curve_plot.h"

namespace ocellus::app {
namespace {

Curve& curve_named(std::vector<Curve>& curves, const std::string& name) {
  for (Curve& curve : curves)
    if (curve.name == name) return curve;
  return curves.emplace_back(Curve{name, {}});
}

}  // namespace

void plot_speedups(const std::string& path, const std::vector<CortexBenchRow>& rows,
                   const std::string& device) {
  std::map<int, std::vector<Curve>> plots;
  for (const CortexBenchRow& row : rows) {
    if (!row.dense_ms) continue;
    std::vector<Curve>& curves = plots[row.minicolumns];
    const double levels = std::log2(row.hypercolumns + 1.0);
    const auto add = [&](const std::string& name, const std::optional<double>& ms) {
      if (ms) curve_named(curves, name).points.emplace_back(levels, *row.dense_ms / *ms);
    };
    // There is room for five curves.
    if (row.device.empty()) add("ours, CPU", row.ours_ms);
    for (const DeviceSteps& steps : row.device) add(steps.schedule, steps.ms);
  }
  if (plots.empty())
    throw InputError("--plot needs times of the dense program: --schedule all or papers");
  const std::filesystem::path given(path);
  for (auto& [minicolumns, curves] : plots) {
    CurvePlot plot;
    plot.title = fmt::format("Cortical networks of {} minicolumns", minicolumns);
    plot.subtitle = "learning steps of binary trees; time of the paper's serial program / time";
    plot.machine = device.empty() ? machine_line() : device + "; CPU: " + machine_line();
    plot.x_label = "levels; 2^levels - 1 hypercolumns";
    plot.y_label = "speed-up";
    plot.curves = curves;
    const std::string name =
        fmt::format("{}-{}{}", given.stem().string(), minicolumns, given.extension().string());
    write_curves_svg((given.parent_path() / name).string(), plot);
  }
}

}  // namespace ocellus::app
