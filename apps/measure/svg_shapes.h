// What the plots share: text, lines, axes and the frame of a panel, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ocellus::app::svg {

inline constexpr double kWidth = 960.0;
inline constexpr double kHeight = 440.0;
/// The vertical range of a panel.
inline constexpr double kTop = 108.0;
inline constexpr double kBottom = 360.0;

inline constexpr const char* kInk = "#1f2933";
inline constexpr const char* kSoft = "#6b7785";
/// Colors of lines. They differ without color vision, too.
inline constexpr const char* kLines[] = {"#1769aa", "#d08700", "#5a7d2a", "#8a3fa0", "#c7392f"};

/// A text for markup.
std::string escape(const std::string& text);
std::string text_at(double x, double y, const char* anchor, const char* color, double size,
                    const std::string& text, const char* more = "");
std::string line_between(double x0, double y0, double x1, double y1, const char* color,
                         const char* more = "");

struct Axis {
  double low = 0.0;
  double high = 1.0;
  bool logarithmic = false;
  double from = 0.0;  ///< SVG coordinate of low
  double to = 1.0;    ///< SVG coordinate of `high`

  double at(double value) const;
};

std::vector<double> ticks_of(const Axis& axis, int wanted);

/// Heading, grid and labels of a panel.
std::string frame_of(const Axis& x, const Axis& y, const std::vector<double>& x_ticks,
                     const std::vector<std::pair<double, std::string>>& y_ticks,
                     const std::string& x_label, const std::string& heading);

/// The beginning of a file: title and up to two lines below it.
std::string header(const std::string& title, const std::string& subtitle,
                   const std::string& machine);
/// Ends the file and writes it. Throws InputError.
void write(const std::string& path, std::string svg);

}  // namespace ocellus::app::svg
