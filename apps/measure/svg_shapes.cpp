#include "apps/measure/svg_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/common/printable.h"
#include "apps/io/output_file.h"

namespace ocellus::app::svg {
namespace {

constexpr const char* kGrid = "#e4e8ec";

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string text_at(double x, double y, const char* anchor, const char* color, double size,
                    const std::string& text, const char* more) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\" "
      "font-size=\"{:g}\"{}>{}</text>\n",
      x, y, anchor, color, size, more, escape(text));
}

std::string line_between(double x0, double y0, double x1, double y1, const char* color,
                         const char* more) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x0, y0,
      x1, y1, color, more);
}

double Axis::at(double value) const {
  value = std::clamp(value, low, high);
  const double share =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + share * (to - from);
}

namespace {

/// A step of 1, 2 or 5 times a power of ten, so that about `wanted` steps fill the range.
double tidy_step(double range, int wanted) {
  const double raw = range / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10.0 * power;
}

}  // namespace

std::vector<double> ticks_of(const Axis& axis, int wanted) {
  std::vector<double> ticks;
  // On a short part of a logarithmic axis, equal steps look almost equal.
  if (!axis.logarithmic || axis.high / axis.low < 4.0) {
    const double step = tidy_step(axis.high - axis.low, wanted);
    for (double tick = std::ceil(axis.low / step) * step; tick <= axis.high * 1.0001; tick += step)
      ticks.push_back(tick);
    return ticks;
  }
  const bool wide = axis.high / axis.low > 300.0;
  for (double power = std::pow(10.0, std::floor(std::log10(axis.low))); power <= axis.high * 1.0001;
       power *= 10.0) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (wide && factor != 1.0) continue;
      const double tick = factor * power;
      if (tick >= axis.low * 0.9999 && tick <= axis.high * 1.0001) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string frame_of(const Axis& x, const Axis& y, const std::vector<double>& x_ticks,
                     const std::vector<std::pair<double, std::string>>& y_ticks,
                     const std::string& x_label, const std::string& heading) {
  std::string out =
      text_at(x.from, kTop - 14.0, "start", kInk, 13, heading, " font-weight=\"600\"");
  for (const double tick : x_ticks) {
    out += line_between(x.at(tick), kBottom, x.at(tick), kTop, kGrid);
    out += text_at(x.at(tick), kBottom + 18.0, "middle", kSoft, 11, fmt::format("{:g}", tick));
  }
  for (const auto& [tick, label] : y_ticks) {
    out += line_between(x.from, y.at(tick), x.to, y.at(tick), kGrid);
    out += text_at(x.from - 8.0, y.at(tick) + 4.0, "end", kSoft, 11, label);
  }
  out += line_between(x.from, kBottom, x.to, kBottom, kSoft);
  out += text_at(0.5 * (x.from + x.to), kBottom + 40.0, "middle", kSoft, 12, x_label);
  return out;
}

std::string header(const std::string& title, const std::string& subtitle,
                   const std::string& machine) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" "
      "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', "
      "sans-serif\">\n<title>{2}</title>\n<rect width=\"{0:g}\" height=\"{1:g}\" "
      "fill=\"white\"/>\n",
      kWidth, kHeight, escape(title));
  svg += text_at(32.0, 34.0, "start", kInk, 17, title, " font-weight=\"600\"");
  // A long line, such as that of a pipeline, gets smaller letters, so that none of it is cut off.
  const auto size_of = [](const std::string& text) {
    constexpr double kSize = 12.0;
    constexpr double kFits = 125.0;  // characters of this size in DejaVu Sans, the widest font
    return std::min(kSize, kSize * kFits / std::max(1.0, static_cast<double>(text.size())));
  };
  svg += text_at(32.0, 54.0, "start", kSoft, size_of(subtitle), subtitle);
  svg += text_at(32.0, 71.0, "start", kSoft, size_of(machine), machine);
  return svg;
}

void write(const std::string& path, std::string svg) {
  svg += "</svg>\n";

  OutputFile file(path);
  file.write(svg.data(), svg.size());
  file.commit();
}

}  // namespace ocellus::app::svg
