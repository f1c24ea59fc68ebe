#include "ocellus/flow_draw.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "core/option_table.h"
#include "draw/labeled_boxes.h"
#include "draw/painter.h"
#include "ocellus/character_draw.h"
#include "optical_flow/plan.h"

namespace ocellus {
namespace {

using detail::Painter;
using detail::Rgb;
using detail::to_yuv;
using detail::Yuv;

// The wheel of Baker et al.: six ramps between the primary and secondary colors, with more entries
// where the eye tells hues apart better.
constexpr int kWheelColors = 55;

constexpr std::array<Rgb, kWheelColors> make_wheel() {
  struct Ramp {
    int entries;
    Rgb from;
    Rgb to;
  };
  constexpr Ramp kRamps[] = {
      {15, {255, 0, 0}, {255, 255, 0}},  // red to yellow
      {6, {255, 255, 0}, {0, 255, 0}},   // yellow to green
      {4, {0, 255, 0}, {0, 255, 255}},   // green to cyan
      {11, {0, 255, 255}, {0, 0, 255}},  // cyan to blue
      {13, {0, 0, 255}, {255, 0, 255}},  // blue to magenta
      {6, {255, 0, 255}, {255, 0, 0}},   // magenta to red
  };
  // A channel rises from 0 as floor(255 i/n) or falls from 255 by the same amount; the published
  // images are made so.
  constexpr auto kBlend = [](int from, int to, int i, int n) {
    return from == to ? from : from < to ? 255 * i / n : 255 - 255 * i / n;
  };
  std::array<Rgb, kWheelColors> wheel{};
  std::size_t k = 0;
  for (const Ramp& ramp : kRamps) {
    for (int i = 0; i < ramp.entries; ++i, ++k) {
      wheel[k] = {kBlend(ramp.from.r, ramp.to.r, i, ramp.entries),
                  kBlend(ramp.from.g, ramp.to.g, i, ramp.entries),
                  kBlend(ramp.from.b, ramp.to.b, i, ramp.entries)};
    }
  }
  return wheel;
}

constexpr std::array<Rgb, kWheelColors> kWheel = make_wheel();

bool valid(float u, float v) noexcept {
  return std::isfinite(u) && std::isfinite(v);
}

/// u and v in units of the motion that is fully saturated; not NaN.
Rgb wheel_color(float u, float v) noexcept {
  constexpr float kPi = 3.14159265358979f;
  const float length = std::hypot(u, v);
  const float position =
      (std::atan2(-v, -u) / kPi + 1.0f) * 0.5f * static_cast<float>(kWheelColors - 1);
  const int below = std::clamp(static_cast<int>(position), 0, kWheelColors - 1);
  const float fraction = std::clamp(position - static_cast<float>(below), 0.0f, 1.0f);
  const Rgb& a = kWheel[static_cast<std::size_t>(below)];
  const Rgb& b = kWheel[static_cast<std::size_t>((below + 1) % kWheelColors)];
  const auto shade = [&](int from, int to) {
    const float hue =
        (static_cast<float>(from) * (1.0f - fraction) + static_cast<float>(to) * fraction) / 255.0f;
    const float darkening = 1.0f - 0.25f * std::min(length - 1.0f, 1.0f);
    const float value = length <= 1.0f ? 1.0f - length * (1.0f - hue) : darkening * hue;
    return static_cast<int>(255.0f * value);
  };
  return {shade(a.r, b.r), shade(a.g, b.g), shade(a.b, b.b)};
}

struct Arrow {
  float x = 0.0f;
  float y = 0.0f;
  float dx = 0.0f;
  float dy = 0.0f;
};

void draw_arrow(const Painter& painter, const Arrow& arrow, int side, const Yuv& color) noexcept {
  const float tip_x = arrow.x + arrow.dx;
  const float tip_y = arrow.y + arrow.dy;
  painter.line(arrow.x, arrow.y, tip_x, tip_y, side, color);
  // The head: two strokes of a third of the shaft, 2 to 6 pixels, at 30 degrees to it.
  const float length = std::hypot(arrow.dx, arrow.dy);
  const float head = std::clamp(length / 3.0f, 2.0f, 6.0f) / std::max(length, 1e-6f);
  constexpr float kCos = 0.8660254f;
  constexpr float kSin = 0.5f;
  const float back_x = -arrow.dx * head;
  const float back_y = -arrow.dy * head;
  painter.line(tip_x, tip_y, tip_x + kCos * back_x - kSin * back_y,
               tip_y + kSin * back_x + kCos * back_y, side, color);
  painter.line(tip_x, tip_y, tip_x + kCos * back_x + kSin * back_y,
               tip_y - kSin * back_x + kCos * back_y, side, color);
}

/// Where the field lies in the image.
struct Place {
  int left = 0;
  int top = 0;
};

/// The field at (x, y) of the planes, if it is to be drawn.
class Moving {
 public:
  Moving(const FlowOutput& flow, const OverlayConfig& config, const Place& place,
         ImageSize image) noexcept
      : flow_(flow),
        objects_(config.objects),
        place_(place),
        threshold_{detail::scaled_motion(config.min_motion, config.min_motion_side, image),
                   config.min_deviations} {}

  /// Sets `motion` to the length of the vector and returns true, or returns false.
  bool at(int x, int y, float& u, float& v, float& motion) const noexcept {
    u = flow_.u.row<const float>(y)[x];
    v = flow_.v.row<const float>(y)[x];
    motion = std::hypot(u, v);
    const ImageView& deviation = flow_.deviation;
    return threshold_.passes(motion,
                             deviation.data == nullptr ? 0.0f : deviation.row<const float>(y)[x]) &&
           (objects_ == nullptr || is_in_box(place_.left + x, place_.top + y));
  }

 private:
  bool is_in_box(int x, int y) const noexcept {
    for (std::size_t i = 0; i < static_cast<std::size_t>(objects_->count); ++i) {
      const int right = x - objects_->x[i];
      const int down = y - objects_->y[i];
      if (right >= 0 && right < objects_->width[i] && down >= 0 && down < objects_->height[i])
        return true;
    }
    return false;
  }

  const FlowOutput& flow_;
  const MovingObjectsRecord* objects_;
  Place place_;
  detail::MotionThreshold threshold_;
};

constexpr OptionChoice kStyles[] = {
    {"arrows", static_cast<int>(FlowStyle::kArrows), "arrows along the motion"},
    {"wheel", static_cast<int>(FlowStyle::kWheel),
     "pixels that move, in the color of their motion"},
    {"none", static_cast<int>(FlowStyle::kNone), "not drawn"},
};

using Overlay = detail::Rows<OverlayConfig>;

constexpr Option kOverlayOptions[] = {
    Overlay::choice<[](auto& c) { return &c.style; }>("style", kStyles,
                                                      "How the flow is drawn over the picture"),
    Overlay::integer<[](auto& c) { return &c.step; }>(
        "arrow_step", 0, 256, "pixels",
        "Distance of the arrows, at least 4; 0 = about 40 arrows along the shorter side"),
    Overlay::real<[](auto& c) { return &c.scale; }>(
        "arrow_scale", 0.01, 1000.0, "pixels",
        "Length of an arrow for a motion of one pixel per frame"),
    Overlay::real<[](auto& c) { return &c.max_motion; }>(
        "max_motion", 0.0, 1e6, "pixels per frame",
        "Motion with a saturated color; 0 = the largest so far (99th percentile)"),
    Overlay::flag<[](auto& c) { return &c.legend; }>("legend",
                                                     "Draw the color wheel and its largest motion"),
};

void draw_arrows(const FlowOutput& flow, const OverlayConfig& config, const Place& place,
                 const OverlayImage& image) noexcept {
  const int step = config.step != 0
                       ? std::clamp(config.step, 4, 256)
                       : std::clamp(std::min(image.size.width, image.size.height) / 40, 12, 64);
  // An arrow of a wild vector ends here, so that the time of a frame is bounded by its number of
  // arrows.
  const float longest = 3.0f * static_cast<float>(step);
  const Painter painter(image);
  const Moving moving(flow, config, place, image.size);
  const Yuv outline;
  const int line = detail::line_width(image.size);
  const int first_x = std::min(step / 2, (flow.u.size.width - 1) / 2);
  const int first_y = std::min(step / 2, (flow.u.size.height - 1) / 2);
  for (int y = first_y; y < flow.u.size.height; y += step) {
    for (int x = first_x; x < flow.u.size.width; x += step) {
      float u = 0.0f, v = 0.0f, motion = 0.0f;
      if (!moving.at(x, y, u, v, motion)) continue;
      const float length = std::min(motion * config.scale, longest);
      const Arrow arrow{static_cast<float>(place.left + x), static_cast<float>(place.top + y),
                        u / motion * length, v / motion * length};
      // Beyond full saturation the wheel darkens, which reads badly over a picture; the color
      // stays saturated here.
      const float saturation = std::clamp(motion / config.max_motion, 0.35f, 1.0f);
      const Yuv color = to_yuv(wheel_color(u / motion * saturation, v / motion * saturation));
      draw_arrow(painter, arrow, 2 * line + 2, outline);
      draw_arrow(painter, arrow, 2 * line, color);
    }
  }
}

void draw_wheel_over(const FlowOutput& flow, const OverlayConfig& config, const Place& place,
                     const OverlayImage& image) noexcept {
  const Painter painter(image);
  const Moving moving(flow, config, place, image.size);
  const int height = std::min(flow.u.size.height, image.size.height - place.top);
  const int width = std::min(flow.u.size.width, image.size.width - place.left);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      float u = 0.0f, v = 0.0f, motion = 0.0f;
      if (!moving.at(x, y, u, v, motion)) continue;
      painter.square(place.left + x, place.top + y, 1,
                     to_yuv(wheel_color(u / config.max_motion, v / config.max_motion)));
    }
  }
}

/// A disc on a dark panel. The color at each point is that of the motion from the center to there.
/// A text names the motion at the rim.
void draw_legend(float max_motion, const OverlayImage& image) noexcept {
  constexpr int kMargin = 4;
  const int side = std::min(image.size.width, image.size.height);
  const int text_scale = detail::text_scale(image.size);
  const int radius = std::clamp(side / 14, 12, 160);
  char text[32];
  const int letters = std::snprintf(text, sizeof(text), "%.3g px/frame", double{max_motion});
  const int text_width = letters * kGlyphWidth * text_scale;
  const int text_height = kGlyphHeight * text_scale;
  const int width = std::max(2 * radius + 1, text_width) + 2 * kMargin;
  const int height = 2 * radius + 1 + text_height + 3 * kMargin;
  if (width > image.size.width || height > image.size.height) return;
  const int left = image.size.width - width;
  const int top = image.size.height - height;
  const Painter painter(image);
  painter.rectangle({left, top, width, height}, Yuv{});
  const int center_x = left + width / 2;
  const int center_y = top + kMargin + radius;
  for (int y = -radius; y <= radius; ++y) {
    for (int x = -radius; x <= radius; ++x) {
      const float u = static_cast<float>(x) / static_cast<float>(radius);
      const float v = static_cast<float>(y) / static_cast<float>(radius);
      if (std::hypot(u, v) <= 1.0f)
        painter.square(center_x + x, center_y + y, 1, to_yuv(wheel_color(u, v)));
    }
  }
  draw_text(text, left + (width - text_width) / 2, top + 2 * kMargin + 2 * radius + 1, text_scale,
            {255, 255, 255}, image);
}

}  // namespace

void draw_flow_wheel(const FlowOutput& flow, float max_motion, std::uint8_t* rgb,
                     std::ptrdiff_t rgb_stride) noexcept {
  const bool drawn = max_motion > 0.0f;  // false for NaN
  for (int y = 0; y < flow.u.size.height; ++y) {
    const float* const u = flow.u.row<const float>(y);
    const float* const v = flow.v.row<const float>(y);
    std::uint8_t* out = rgb + rgb_stride * y;
    for (int x = 0; x < flow.u.size.width; ++x, out += 3) {
      // The product with 1 / max_motion could be NaN: for the smallest numbers, that is infinity.
      const Rgb color =
          drawn && valid(u[x], v[x]) ? wheel_color(u[x] / max_motion, v[x] / max_motion) : Rgb{};
      out[0] = static_cast<std::uint8_t>(color.r);
      out[1] = static_cast<std::uint8_t>(color.g);
      out[2] = static_cast<std::uint8_t>(color.b);
    }
  }
}

float flow_magnitude_percentile(const FlowOutput& flow, float percent) noexcept {
  constexpr float kLeast = 1e-3f;
  // The bits of floats that are not negative have their order. Each pass over the field finds the
  // next digit of the bits of the wanted squared length, because sorting would need memory.
  constexpr int kDigits = 3;
  constexpr int kMostBits = 11;
  constexpr std::array<int, kDigits> kBits = {kMostBits, 10, 10};
  std::uint32_t found = 0;
  int below = 31;  // bits that are not yet known
  std::uint64_t wanted = 0;
  for (int digit = 0; digit < kDigits; ++digit) {
    const int bits = kBits[static_cast<std::size_t>(digit)];
    std::array<std::uint32_t, 1 << kMostBits> count{};
    for (int y = 0; y < flow.u.size.height; ++y) {
      const float* const u = flow.u.row<const float>(y);
      const float* const v = flow.v.row<const float>(y);
      for (int x = 0; x < flow.u.size.width; ++x) {
        const float squared = u[x] * u[x] + v[x] * v[x];
        const auto key = std::bit_cast<std::uint32_t>(squared);
        if (!(squared <= std::numeric_limits<float>::max()) || key >> below != found) continue;
        ++count[key >> (below - bits) & ((1u << bits) - 1)];
      }
    }
    if (digit == 0) {
      const std::uint64_t all = std::accumulate(count.begin(), count.end(), std::uint64_t{0});
      if (all == 0) return kLeast;
      // NaN counts as 0.
      const double share =
          percent > 0.0f ? std::min(static_cast<double>(percent), 100.0) / 100.0 : 0.0;
      wanted = std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all))));
    }
    std::uint32_t value = 0;
    while (wanted > count[value]) wanted -= count[value++];
    found = found << bits | value;
    below -= bits;
  }
  return std::max(kLeast, std::sqrt(std::bit_cast<float>(found)));
}

float grown_flow_scale(const FlowOutput& flow, float scale) noexcept {
  return std::max({scale, 0.5f, flow_magnitude_percentile(flow, 99.0f)});
}

OptionTable OverlayConfig::options() noexcept {
  return kOverlayOptions;
}

void draw_flow_overlay(const FlowOutput& flow, const OverlayConfig& given,
                       const OverlayImage& image) noexcept {
  if (flow.u.size.width <= 0 || flow.u.size.height <= 0 || image.size.width <= 0 ||
      image.size.height <= 0)
    return;
  if (!(given.scale > 0.0f) || !(given.max_motion >= 0.0f)) return;
  OverlayConfig config = given;
  if (config.max_motion == 0.0f) config.max_motion = grown_flow_scale(flow, 0.0f);
  const Rect& roi = config.roi;
  if (!roi.empty() &&
      (roi.x < 0 || roi.y < 0 || roi.x >= image.size.width || roi.y >= image.size.height))
    return;
  const Place place = roi.empty() ? Place{} : Place{roi.x, roi.y};
  switch (config.style) {
    case FlowStyle::kArrows:
      draw_arrows(flow, config, place, image);
      break;
    case FlowStyle::kWheel:
      draw_wheel_over(flow, config, place, image);
      break;
    case FlowStyle::kNone:
      break;
  }
  if (config.legend) draw_legend(config.max_motion, image);
}

void draw_moving_objects(const MovingObjectsRecord& objects, const OverlayImage& image) noexcept {
  constexpr OverlayColor kBox{255, 220, 0};
  char text[32];
  const auto describe = [&](int object) -> detail::LabeledBox {
    const auto i = static_cast<std::size_t>(object);
    const double speed = static_cast<double>(std::hypot(objects.u[i], objects.v[i]));
    const int letters = std::snprintf(text, sizeof(text), "%.1f px/frame", speed);
    return {{objects.x[i], objects.y[i], objects.width[i], objects.height[i]},
            {text, static_cast<std::size_t>(letters)},
            std::string_view(text).find(' '),
            detail::text_scale(image.size),
            kBox};
  };
  detail::draw_labeled_boxes(objects.count, describe, image);
}

}  // namespace ocellus
