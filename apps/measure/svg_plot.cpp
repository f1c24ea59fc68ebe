#include "apps/measure/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "apps/common/common.h"
#include "apps/measure/svg_shapes.h"

namespace ocellus::app {
namespace {

using namespace svg;

constexpr const char* kFills[] = {"#a9cbe8", "#f3d9a4", "#cfdfb8"};
constexpr const char* kBudget = "#c7392f";

std::string shown(const std::optional<double>& ms, const char* unit) {
  return ms ? short_number(*ms) + unit : kBeyondHistogram;
}

std::string distribution_frame(const Axis& x, const Axis& y) {
  std::vector<std::pair<double, std::string>> y_ticks;
  for (double share = 1.0; share >= y.low * 0.9999; share /= 10.0)
    y_ticks.emplace_back(share, share >= 0.01 ? fmt::format("{:g} %", 100.0 * share)
                                              : fmt::format("{:.3g} %", 100.0 * share));
  return frame_of(x, y, ticks_of(x, 6), y_ticks, "latency, ms (logarithmic axis)",
                  "Share of frames that take longer than a latency");
}

std::string distribution(const LatencySeries& series, const char* color, bool labels, const Axis& x,
                         const Axis& y) {
  const LatencyHistogram& histogram = *series.histogram;
  const double count = static_cast<double>(histogram.count());
  std::string out;
  std::string path = fmt::format("M{:.1f} {:.1f}", x.at(x.low), y.at(1.0));
  double slower = count;
  double last_x = x.at(x.low);
  double last_y = y.at(1.0);
  for (int bucket = 0; bucket < LatencyHistogram::bucket_count(); ++bucket) {
    const auto here = static_cast<double>(histogram.bucket_value(bucket));
    if (here == 0.0) continue;
    slower -= here;
    const double px = x.at(static_cast<double>(LatencyHistogram::bucket_upper_ns(bucket)) * 1e-6);
    const double py = slower > 0.0 ? y.at(slower / count) : y.from;
    // Steps smaller than half a pixel would only make the file larger.
    if (px - last_x < 0.4 && py - last_y < 0.4 && slower > 0.0) continue;
    path += fmt::format("L{:.1f} {:.1f}L{:.1f} {:.1f}", px, last_y, px, py);
    last_x = px;
    last_y = py;
  }
  // The histogram does not tell where between its end and the longest one these frames lie.
  if (histogram.overflow() > 0) {
    const double px = x.at(static_cast<double>(histogram.max_ns()) * 1e-6);
    path += fmt::format("L{:.1f} {:.1f}L{:.1f} {:.1f}", px, last_y, px, y.from);
  }
  out += fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n",
      path, color);
  // Marks percentiles on the curve. A label that would overlap its neighbor is left out.
  double last_label = -1e9;
  for (const double percent : {50.0, 90.0, 99.0, 99.9, 99.99}) {
    const double share = 1.0 - percent / 100.0;
    if (!percentile_is_known(static_cast<std::int64_t>(histogram.count()), percent)) break;
    const std::optional<double> ms = percentile_ms(histogram, percent);
    const double px = x.at(ms.value_or(kHighestMs));
    const double py = y.at(share);
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"white\" stroke=\"{}\" "
        "stroke-width=\"2\"/>\n",
        px, py, color);
    if (!labels || py - last_label < 14.0) continue;
    last_label = py;
    const bool right = px < x.to - 110.0;
    // Right of a mark the curve is at its height or below. The bottom has the axis.
    const double label_y = right ? py - 5.0 : std::min(py + 4.0, y.from - 5.0);
    out += text_at(px + (right ? 9.0 : -9.0), label_y, right ? "start" : "end", kInk, 11,
                   fmt::format("p{:g}  {}", percent, shown(ms, " ms")),
                   " stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\"");
  }
  return out;
}

std::string over_time_frame(const Axis& x, const Axis& y) {
  std::vector<std::pair<double, std::string>> y_ticks;
  for (const double tick : ticks_of(y, 6)) y_ticks.emplace_back(tick, fmt::format("{:g}", tick));
  return frame_of(
      x, y, ticks_of(x, 6), y_ticks, "time since the start, s",
      y.logarithmic ? "Latency of each frame, ms (logarithmic axis)" : "Latency of each frame, ms");
}

std::string over_time(const LatencySeries& series, const char* line, const char* fill,
                      const Axis& x, const Axis& y) {
  std::string out;
  // Many frames share a column of pixels. A band shows their least and largest value, so that no
  // outlier is lost.
  const std::vector<float>& values = *series.latencies_ms;
  const std::size_t columns =
      std::min<std::size_t>(values.size(), static_cast<std::size_t>(x.to - x.from));
  std::string upper;
  std::string lower;
  std::string middle;
  std::vector<float> sorted;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * values.size() / columns;
    const std::size_t end = (column + 1) * values.size() / columns;
    sorted.assign(values.begin() + static_cast<std::ptrdiff_t>(begin),
                  values.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(sorted.begin(), sorted.end());
    const double px = x.at(0.5 * static_cast<double>(begin + end) / series.fps);
    upper += fmt::format("{}{:.1f} {:.1f}", column == 0 ? "M" : "L", px, y.at(sorted.back()));
    lower = fmt::format("L{:.1f} {:.1f}", px, y.at(sorted.front())) + lower;
    middle += fmt::format("{}{:.1f} {:.1f}", column == 0 ? "M" : "L", px,
                          y.at(sorted[sorted.size() / 2]));
  }
  out += fmt::format("<path d=\"{}{}Z\" fill=\"{}\" stroke=\"{}\" stroke-width=\"0.7\"/>\n", upper,
                     lower, fill, fill);
  out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.3\"/>\n", middle,
                     line);
  return out;
}

}  // namespace

void write_latency_svg(const std::string& path, const LatencyPlot& plot) {
  double least = 1e9;
  double largest = 0.0;
  double seconds = 1e-3;
  std::uint64_t count = 10;
  for (const LatencySeries& series : plot.series) {
    least = std::min(least, static_cast<double>(series.histogram->min_ns()) * 1e-6);
    largest = std::max(largest, static_cast<double>(series.histogram->max_ns()) * 1e-6);
    seconds = std::max(seconds, static_cast<double>(series.latencies_ms->size()) / series.fps);
    count = std::max(count, series.histogram->count());
  }
  least = std::max(1e-3, least);
  largest = std::max(largest, least * 1.01);
  const bool with_budget = plot.budget_ms > 0.0;
  // The budget is shown even if it is far above all latencies, because it shows the margin.
  const double top = std::max(largest, plot.budget_ms);

  const Axis ccdf_x{(with_budget ? std::min(least, plot.budget_ms) : least) / 1.15, top * 1.25,
                    true, 80.0, 450.0};
  const double smallest_share =
      std::pow(10.0, std::floor(std::log10(1.0 / static_cast<double>(count))));
  const Axis ccdf_y{smallest_share, 1.0, true, kBottom, kTop};
  const Axis time_x{0.0, seconds, false, 540.0, 925.0};
  // Where some frames take many times as long as others, equal steps would show the longest only.
  constexpr double kWide = 10.0;
  const Axis time_y = top > kWide * least ? Axis{ccdf_x.low, top * 1.25, true, kBottom, kTop}
                                          : Axis{0.0, top * 1.08, false, kBottom, kTop};

  std::string svg = header(plot.title, plot.subtitle, plot.machine);
  svg += distribution_frame(ccdf_x, ccdf_y);
  svg += over_time_frame(time_x, time_y);
  const bool several = plot.series.size() > 1;
  for (std::size_t i = plot.series.size(); i-- > 0;) {
    const LatencySeries& series = plot.series[i];
    const char* const line = kLines[i % std::size(kFills)];
    svg += distribution(series, line, !several, ccdf_x, ccdf_y);
    svg += over_time(series, line, kFills[i % std::size(kFills)], time_x, time_y);
    if (!several) continue;
    // Labels of several curves would overlap, so the percentiles are in the legend.
    std::string values;
    for (const double percent : {50.0, 99.0, 99.9}) {
      const auto frames = static_cast<std::int64_t>(series.histogram->count());
      if (!percentile_is_known(frames, percent)) continue;
      values += fmt::format("{}p{:g} {}", values.empty() ? ": " : ", ", percent,
                            shown(percentile_ms(*series.histogram, percent), " ms"));
    }
    svg += text_at(32.0 + 305.0 * static_cast<double>(i), kHeight - 12.0, "start", line, 11,
                   series.name + values, " font-weight=\"600\"");
  }
  if (with_budget) {
    const double budget_x = ccdf_x.at(plot.budget_ms);
    const double budget_y = time_y.at(plot.budget_ms);
    const std::string& label = plot.budget_name;
    constexpr const char* kDashed = " stroke-width=\"1.5\" stroke-dasharray=\"5 4\"";
    // The labels are above the panels, because inside they would hide curves.
    constexpr double kLabelY = kTop - 3.0;
    const double half = 0.5 * 5.6 * static_cast<double>(label.size());  // about, in this font
    const double middle = std::max(std::min(budget_x, ccdf_x.to - half), ccdf_x.from + half);
    svg += line_between(budget_x, kBottom, budget_x, kTop, kBudget, kDashed);
    svg += text_at(middle, kLabelY, "middle", kBudget, 11, label);
    svg += line_between(time_x.from, budget_y, time_x.to, budget_y, kBudget, kDashed);
    svg += text_at(time_x.to, kLabelY, "end", kBudget, 11, label);
  }
  write(path, std::move(svg));
}

}  // namespace ocellus::app
