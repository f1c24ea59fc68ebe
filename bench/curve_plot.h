// Curves over a number, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ocellus::app {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< in increasing order of the first number
};

struct CurvePlot {
  std::string title;
  std::string subtitle;
  std::string machine;
  std::string x_label;
  std::string y_label;
  bool logarithmic_x = false;
  std::vector<Curve> curves;  ///< up to five; those without points are left out
};

/// Draws curves over a logarithmic axis of positive values. Throws InputError if the file cannot be
/// written.
void write_curves_svg(const std::string& path, const CurvePlot& plot);

}  // namespace ocellus::app
