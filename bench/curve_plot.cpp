#include "bench/curve_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "apps/measure/svg_shapes.h"

namespace ocellus::app {
namespace {

using namespace svg;

/// Space at the right for the names of the curves.
constexpr double kNamesWidth = 250.0;
constexpr double kLineOfText = 15.0;

std::string curve_of(const Curve& curve, const char* color, const Axis& x, const Axis& y) {
  std::string path;
  std::string marks;
  for (const auto& [at, value] : curve.points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(at), y.at(value));
    marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x.at(at),
                         y.at(value), color);
  }
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path,
                     color) +
         marks;
}

}  // namespace

void write_curves_svg(const std::string& path, const CurvePlot& plot) {
  double least_x = 1e300;
  double most_x = -1e300;
  double least_y = 1e300;
  double most_y = 0.0;
  std::vector<double> x_ticks;
  std::vector<const Curve*> curves;
  for (const Curve& curve : plot.curves) {
    if (curve.points.empty()) continue;
    curves.push_back(&curve);
    for (const auto& [at, value] : curve.points) {
      least_x = std::min(least_x, at);
      most_x = std::max(most_x, at);
      least_y = std::min(least_y, value);
      most_y = std::max(most_y, value);
      x_ticks.push_back(at);
    }
  }
  std::string svg = header(plot.title, plot.subtitle, plot.machine);
  if (!curves.empty()) {
    std::sort(x_ticks.begin(), x_ticks.end());
    x_ticks.erase(std::unique(x_ticks.begin(), x_ticks.end()), x_ticks.end());
    Axis x{least_x, std::max(most_x, least_x + 1.0), false, 80.0, kWidth - kNamesWidth};
    if (plot.logarithmic_x) x = {least_x / 1.1, most_x * 1.1, true, x.from, x.to};
    // Without room for a number at each point, round numbers.
    const auto no_room = [&](double a, double b) { return x.at(b) - x.at(a) < 30.0; };
    if (plot.logarithmic_x ||
        std::adjacent_find(x_ticks.begin(), x_ticks.end(), no_room) != x_ticks.end())
      x_ticks = ticks_of(x, 8);
    const Axis y{least_y / 1.3, most_y * 1.3, true, kBottom, kTop};
    std::vector<std::pair<double, std::string>> y_ticks;
    for (const double tick : ticks_of(y, 6)) y_ticks.emplace_back(tick, fmt::format("{:g}", tick));
    svg += frame_of(x, y, x_ticks, y_ticks, plot.x_label, plot.y_label);
    // The names stand beside the last points, from top to bottom and not on each other.
    std::sort(curves.begin(), curves.end(), [](const Curve* a, const Curve* b) {
      return a->points.back().second > b->points.back().second;
    });
    double last = -1e9;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      const char* const color = kLines[i % std::size(kLines)];
      svg += curve_of(*curves[i], color, x, y);
      last = std::max(y.at(curves[i]->points.back().second) + 4.0, last + kLineOfText);
      svg +=
          text_at(x.to + 12.0, last, "start", color, 12, curves[i]->name, " font-weight=\"600\"");
    }
  }
  write(path, std::move(svg));
}

}  // namespace ocellus::app
