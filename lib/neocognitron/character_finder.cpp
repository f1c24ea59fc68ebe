#include "neocognitron/character_finder.h"

#include <algorithm>
#include <cmath>

namespace ocellus::detail {
namespace {

// All lengths are in units of the height of a character, unless stated otherwise.
constexpr float kSmallestPart = 0.3f;  // of the smallest height
constexpr float kLargestGap = 1.6f;    // between characters of a line
constexpr float kLeastHeightRatio = 0.22f;
constexpr float kRise = 0.3f;           // vertical distance of neighbors, beside the slope
constexpr float kLargestSlope = 0.36f;  // tan 20 degrees
constexpr float kLeastMember = 0.43f;   // lower members of a line are dots and dashes
constexpr float kHighestDot = 0.48f;
constexpr float kWidestDot = 0.36f;
constexpr float kReach = 1.2f;            // of a line beyond its ends
constexpr float kMarkLevel = 0.9f;        // of a mark from the middle of the line
constexpr float kLeastJoined = 0.39f;     // height of the taller part
constexpr float kLeastContrast = 0.44f;   // of the contrast of the line
constexpr float kSmallestJoined = 0.27f;  // smaller parts are specks
constexpr float kLeastOverlap = 0.39f;    // of the width of a part that is joined
constexpr float kJoinGap = 0.2f;          // between parts one above the other
constexpr float kTallestJoin = 1.3f;
constexpr float kWidestJoin = 1.5f;
constexpr float kHighestJoined = 0.7f;
constexpr float kBarLength = 1.4f;  // of a bar, in its own heights
constexpr float kHighestBar = 0.45f;
constexpr float kBarLevel =
    0.15f;                         // the middle of a bar, from the top of its character, in heights
constexpr float kSideGap = 0.13f;  // between parts side by side
constexpr float kSideOverlap = 0.41f;  // of the lower part
constexpr float kHighestSide = 0.52f;
constexpr float kWidestSide = 0.81f;
constexpr float kUprightRun = 1.7f;   // in mean runs of the component
constexpr int kFormHeights = 4;       // height of a form in heights of what is inside
constexpr float kFormMargin = 0.12f;  // of the sides of a form, in its width and height
constexpr float kFormSide = 0.6f;     // the least share of a side that is ink
constexpr float kAreaRun = 0.5f;      // mean horizontal run of an area, in its heights
constexpr float kRule = 12.0f;        // width of a rule in its own heights
constexpr float kDash = 1.8f;         // width of a dash in its own heights
constexpr float kDashRun = 0.29f;     // mean horizontal run of a dash
constexpr float kHighestDash = 0.5f;
constexpr float kWeakLine = 0.39f;  // of the contrast of the strongest line

int window_for(const CharacterFinderConfig& config) noexcept {
  const int side = std::min(config.size.width, config.size.height);
  if (config.max_height > 0) return std::clamp(config.max_height, 40, 512);
  // The height of a strip is near that of its characters.
  return std::clamp(std::max(side / 8, std::min(side * 3 / 4, 72)), 40, 512);
}

CharacterFinderConfig with_defaults(CharacterFinderConfig config) noexcept {
  const int side = std::min(config.size.width, config.size.height);
  if (config.min_height == 0) config.min_height = std::max(8, side / 48);
  if (config.max_height == 0) config.max_height = config.size.height;
  return config;
}

float overlap(int a, int a_end, int b, int b_end) noexcept {
  return static_cast<float>(std::min(a_end, b_end) - std::max(a, b));
}

void extend(InkComponent& a, const InkComponent& b) noexcept {
  a.left = std::min(a.left, b.left);
  a.top = std::min(a.top, b.top);
  a.right = std::max(a.right, b.right);
  a.bottom = std::max(a.bottom, b.bottom);
  a.area += b.area;
  a.contrast += b.contrast;
  a.runs += b.runs;
}

float center_x(const InkComponent& box) noexcept {
  return 0.5f * static_cast<float>(box.left + box.right);
}
float center_y(const InkComponent& box) noexcept {
  return 0.5f * static_cast<float>(box.top + box.bottom);
}

}  // namespace

CharacterFinder::CharacterFinder(const CharacterFinderConfig& config,
                                 LayoutBuilder& memory) noexcept
    : config_(with_defaults(config)),
      levels_(config.size, window_for(config), memory),
      components_(config.size, config_.min_height, config.drop_outline, memory),
      lattice_(components_.run_capacity(), memory) {
  parts_ = memory.take<Part>(kMaxParts);
  by_left_ = memory.take<int>(kMaxParts);
  lines_ = memory.take<Line>(kMaxParts);
  sides_ = memory.take<Sides>(kMaxParts);
  slants_ = memory.take<StrokeSlant>(kMaxParts);
  heights_ = memory.take<float>(kMaxParts);
  contrasts_ = memory.take<float>(kMaxParts);
  run_begin_ = memory.take<int>(kMaxParts + 1);
  part_of_ = memory.take<std::int16_t>(components_.component_capacity());
  runs_ = memory.take<InkRun>(components_.run_capacity());
  groups_ = memory.take<int>(kMaxParts);
  by_line_ = memory.take<int>(kMaxParts);
  line_begin_ = memory.take<int>(kMaxParts + 1);
}

InkGrid CharacterFinder::grid_of(const CharacterFinderConfig& config) noexcept {
  return InkLevels::grid_for(config.size, window_for(config));
}

InkArrays CharacterFinder::layout_ink(const CharacterFinderConfig& config,
                                      LayoutBuilder& memory) noexcept {
  InkArrays arrays;
  arrays.layout(config.size, with_defaults(config).min_height, config.drop_outline, memory);
  return arrays;
}

void CharacterFinder::measure(const GrayPlane& plane, int half) noexcept {
  levels_.measure(plane, half);
}

void CharacterFinder::set_levels() noexcept {
  const int rows = levels_.block_rows();
  levels_.collect(0, rows);
  light_ = config_.ink == CharacterInk::kAuto ? levels_.ink_is_light()
                                              : config_.ink == CharacterInk::kLight;
  levels_.set_light(light_);
  levels_.derive(0, rows);
  levels_.mark(0, rows);
}

void CharacterFinder::extract(const GrayPlane& plane, int half) noexcept {
  components_.extract(plane, levels_, half);
}

void CharacterFinder::find() noexcept {
  components_.join_halves();
  components_.find();
  find_in_components();
}

void CharacterFinder::find(const InkCounts& counts, bool light) noexcept {
  components_.take(counts);
  light_ = light;
  find_in_components();
}

void CharacterFinder::find_in_components() noexcept {
  truncated_ = components_.truncated();

  collect_parts();
  drop_frames_of_forms();
  link_lines();
  sort_by_line();
  measure_lines();
  drop_faint_members();
  measure_lines();
  join_parts();
  measure_lines();
  drop_marks();
  gather_runs();
  measure_slants();
  order();
  make_candidates();
}

void CharacterFinder::collect_parts() noexcept {
  part_count_ = 0;
  const auto least = kSmallestPart * static_cast<float>(config_.min_height);
  const auto components = components_.components();
  for (std::size_t c = 0; c < components.size(); ++c) {
    part_of_[c] = -1;
    const InkComponent& box = components[c];
    const int width = box.width();
    const int height = box.height();
    if (static_cast<float>(std::max(width, height)) < least) continue;
    const bool at_border = box.left == 0 || box.top == 0 || box.right == config_.size.width ||
                           box.bottom == config_.size.height;
    // A dark area at the border has long runs. Characters that touch it have not.
    const bool area = at_border && box.mean_run() > kAreaRun * static_cast<float>(height);
    if (height > config_.max_height || area) continue;
    const bool rule = static_cast<float>(width) > kRule * static_cast<float>(height);
    if (rule) continue;
    if (part_count_ == kMaxParts) {
      truncated_ = true;
      continue;
    }
    const int index = part_count_++;
    const bool member = height >= config_.min_height;
    parts_[index] = {box, box.left, index, index, member, false};
    part_of_[c] = static_cast<std::int16_t>(index);
    by_left_[index] = index;
  }
  std::sort(by_left_, by_left_ + part_count_, [this](int a, int b) {
    return parts_[a].box.left != parts_[b].box.left ? parts_[a].box.left < parts_[b].box.left
                                                    : a < b;
  });
}

bool CharacterFinder::contains_member(int position) const noexcept {
  const InkComponent& box = parts_[by_left_[position]].box;
  // What is inside begins further to the right.
  for (int j = position + 1; j < part_count_; ++j) {
    const Part& part = parts_[by_left_[j]];
    const InkComponent& inner = part.box;
    if (inner.left >= box.right) return false;
    if (part.member && kFormHeights * inner.height() >= box.height() && inner.left > box.left &&
        inner.right < box.right && inner.top > box.top && inner.bottom < box.bottom) {
      return true;
    }
  }
  return false;
}

void CharacterFinder::drop_frames_of_forms() noexcept {
  // A frame has a character inside, and ink along its four sides.
  bool any = false;
  for (int i = 0; i < part_count_; ++i) {
    Part& part = parts_[by_left_[i]];
    sides_[by_left_[i]] = {};
    part.form = part.member && contains_member(i);
    any = any || part.form;
  }
  if (!any) return;
  for (const InkRun& run : components_.runs()) {
    if (run.label == kNoComponent || part_of_[run.label] < 0) continue;
    const int part = part_of_[run.label];
    if (!parts_[part].form) continue;
    const InkComponent& box = parts_[part].box;
    const auto margin_x = static_cast<int>(kFormMargin * static_cast<float>(box.width()));
    const auto margin_y = static_cast<int>(kFormMargin * static_cast<float>(box.height()));
    Sides& sides = sides_[part];
    if (run.y <= box.top + margin_y) sides.top += run.end - run.first;
    if (run.y >= box.bottom - 1 - margin_y) sides.bottom += run.end - run.first;
    if (run.first <= box.left + margin_x) ++sides.left;
    if (run.end >= box.right - margin_x) ++sides.right;
  }
  for (int i = 0; i < part_count_; ++i) {
    Part& part = parts_[i];
    if (!part.form) continue;
    const float width = kFormSide * static_cast<float>(part.box.width());
    const float height = kFormSide * static_cast<float>(part.box.height());
    const Sides& sides = sides_[i];
    part.form =
        static_cast<float>(sides.top) >= width && static_cast<float>(sides.bottom) >= width &&
        static_cast<float>(sides.left) >= height && static_cast<float>(sides.right) >= height;
    part.member = part.member && !part.form;
  }
}

int CharacterFinder::line_of(int part) noexcept {
  while (parts_[part].line != part) {
    parts_[part].line = parts_[parts_[part].line].line;
    part = parts_[part].line;
  }
  return part;
}

void CharacterFinder::link_lines() noexcept {
  for (int i = 0; i < part_count_; ++i) {
    const Part& part = parts_[by_left_[i]];
    if (!part.member) continue;
    const auto height = static_cast<float>(part.box.height());
    int best = -1;
    float least = 0.0f;
    for (int j = i + 1; j < part_count_; ++j) {
      const Part& other = parts_[by_left_[j]];
      if (!other.member) continue;
      const auto other_height = static_cast<float>(other.box.height());
      const float taller = std::max(height, other_height);
      const auto gap = static_cast<float>(other.box.left - part.box.right);
      // Later parts are further to the right; `max_height` bounds how tall one may be.
      if (best >= 0 && gap >= least) break;
      if (gap > kLargestGap * static_cast<float>(std::max(config_.max_height, part.box.height()))) {
        break;
      }
      if (gap > kLargestGap * taller) continue;
      if (std::min(height, other_height) < kLeastHeightRatio * taller) continue;
      const float across = center_x(other.box) - center_x(part.box);
      const float rise = std::abs(center_y(other.box) - center_y(part.box));
      if (across <= 0.0f || rise > kRise * taller + kLargestSlope * across) continue;
      const float distance = std::max(gap, 0.0f) + 2.0f * rise;
      if (best < 0 || distance < least) {
        best = by_left_[j];
        least = distance;
      }
    }
    if (best >= 0) {
      const int a = line_of(by_left_[i]);
      const int b = line_of(best);
      parts_[std::max(a, b)].line = std::min(a, b);
    }
  }
}

void CharacterFinder::sort_by_line() noexcept {
  // From now on, each part names its line directly.
  std::fill(line_begin_, line_begin_ + part_count_ + 1, 0);
  for (int i = 0; i < part_count_; ++i) {
    parts_[i].line = line_of(i);
    ++line_begin_[parts_[i].line + 1];
  }
  for (int i = 0; i < part_count_; ++i) line_begin_[i + 1] += line_begin_[i];
  for (int i = 0; i < part_count_; ++i) by_line_[line_begin_[parts_[i].line]++] = i;
  // Each begin has moved to the end of its line, which is the begin of the next one.
  for (int i = part_count_; i > 0; --i) line_begin_[i] = line_begin_[i - 1];
  line_begin_[0] = 0;
}

void CharacterFinder::measure_lines() noexcept {
  for (int i = 0; i < part_count_; ++i) {
    if (parts_[i].line != i) continue;
    int count = 0;
    float x = 0.0f;
    float y = 0.0f;
    float xx = 0.0f;
    float xy = 0.0f;
    float left = 0.0f;
    float right = 0.0f;
    for (int k = line_begin_[i]; k < line_begin_[i + 1]; ++k) {
      const int j = by_line_[k];
      if (!parts_[j].member) continue;
      const InkComponent& box = parts_[j].box;
      left = count == 0 ? center_x(box) : std::min(left, center_x(box));
      right = count == 0 ? center_x(box) : std::max(right, center_x(box));
      contrasts_[count] = box.mean_contrast();
      heights_[count++] = static_cast<float>(box.height());
      const float cx = center_x(box) - center_x(parts_[i].box);
      const float cy = center_y(box) - center_y(parts_[i].box);
      x += cx;
      y += cy;
      xx += cx * cx;
      xy += cx * cy;
    }
    lines_[i] = {};
    if (count == 0) continue;
    const auto n = static_cast<float>(count);
    const float spread = xx - x * x / n;
    const float slope = spread > 1.0f ? (xy - x * y / n) / spread : 0.0f;
    // Parts of broken characters make the upper quartile better than the median.
    const int quartile = 3 * count / 4;
    std::nth_element(heights_, heights_ + quartile, heights_ + count);
    std::nth_element(contrasts_, contrasts_ + quartile, contrasts_ + count);
    lines_[i] = {heights_[quartile],
                 std::clamp(slope, -kLargestSlope, kLargestSlope),
                 contrasts_[quartile],
                 count,
                 left,
                 right,
                 x / n + center_x(parts_[i].box),
                 y / n + center_y(parts_[i].box)};
  }
}

bool CharacterFinder::is_mark(const InkComponent& box, float line_height) const noexcept {
  const auto width = static_cast<float>(box.width());
  const auto height = static_cast<float>(box.height());
  // A chain of low touching characters is not a dash: its runs are short.
  const bool dash = width > kDash * height && height < kHighestDash * line_height &&
                    box.mean_run() > kDashRun * line_height;
  const bool dot = height < kHighestDot * line_height && width < kWidestDot * line_height;
  return dash || dot || height < kLeastMember * line_height;
}

void CharacterFinder::drop_faint_members() noexcept {
  // Compared with the strongest line, so that the pattern of the background is dropped.
  float strongest = 0.0f;
  for (int i = 0; i < part_count_; ++i) {
    if (parts_[i].line == i) strongest = std::max(strongest, lines_[i].contrast);
  }
  for (int i = 0; i < part_count_; ++i) {
    Part& part = parts_[i];
    if (!part.member) continue;
    const float contrast = part.box.mean_contrast();
    const float least =
        std::max(kLeastContrast * lines_[part.line].contrast, kWeakLine * strongest);
    if (contrast < least) part.member = false;
  }
}

void CharacterFinder::drop_marks() noexcept {
  std::array<int, kMaxTextLines> lines{};
  const int count = longest_lines(lines);
  for (int i = 0; i < part_count_; ++i) {
    Part& part = parts_[i];
    if (!part.member || part.group != i) continue;
    const int own = part.line;
    float height = lines_[own].height;
    // A mark that is too low for a line is a line of its own beside or in a line of characters.
    for (int l = 0; l < count; ++l) {
      const Line& line = lines_[lines[l]];
      if (lines[l] == own || line.height <= height) continue;
      const float x = center_x(part.box);
      const float reach = kReach * line.height;
      const float level = line.y + line.slope * (x - line.x);
      if (x > line.left - reach && x < line.right + reach &&
          std::abs(center_y(part.box) - level) < kMarkLevel * line.height &&
          lines_[own].members < line.members + 1) {
        height = line.height;
      }
    }
    if (is_mark(part.box, height)) part.member = false;
  }
}

int CharacterFinder::longest_lines(std::array<int, kMaxTextLines>& lines) const noexcept {
  // Of lines with the same number of members, the first ones.
  int count = 0;
  for (int i = 0; i < part_count_; ++i) {
    if (parts_[i].line != i || lines_[i].members == 0) continue;
    if (count == kMaxTextLines && lines_[lines[count - 1]].members >= lines_[i].members) continue;
    int at = count < kMaxTextLines ? count++ : count - 1;
    for (; at > 0 && lines_[lines[at - 1]].members < lines_[i].members; --at) {
      lines[at] = lines[at - 1];
    }
    lines[at] = i;
  }
  return count;
}

int CharacterFinder::group_of(int part) const noexcept {
  while (parts_[part].group != part) part = parts_[part].group;
  return part;
}

bool CharacterFinder::belong_together(const InkComponent& a, const InkComponent& b,
                                      float line_height) const noexcept {
  InkComponent both = a;
  extend(both, b);
  const float across = overlap(a.left, a.right, b.left, b.right);
  const float along = overlap(a.top, a.bottom, b.top, b.bottom);
  const auto width = static_cast<float>(both.width());
  const auto height = static_cast<float>(both.height());
  const int narrower = std::min(a.width(), b.width());
  const int lower = std::min(a.height(), b.height());
  const int taller = std::max(a.height(), b.height());
  if (static_cast<float>(taller) < kLeastJoined * line_height) return false;
  // One above the other.
  if (across >= kLeastOverlap * static_cast<float>(narrower) && -along <= kJoinGap * line_height &&
      height <= kTallestJoin * std::max(line_height, static_cast<float>(taller)) &&
      width <=
          kWidestJoin * std::max(line_height, static_cast<float>(std::max(a.width(), b.width())))) {
    // A high character and another high one are two.
    return static_cast<float>(lower) < kHighestJoined * line_height;
  }
  // A bar beside the top of a five.
  const float bar_height = static_cast<float>(a.height());
  if (static_cast<float>(a.width()) > kBarLength * bar_height &&
      -across <= kSideGap * line_height && center_x(a) > center_x(b) &&
      height <= kTallestJoin * line_height && width <= kWidestJoin * line_height &&
      bar_height < kHighestBar * line_height &&
      center_y(a) <= static_cast<float>(b.top) + kBarLevel * static_cast<float>(b.height())) {
    return true;
  }
  // One beside the other: a part of a character that is broken.
  return -across <= kSideGap * line_height && along >= kSideOverlap * static_cast<float>(lower) &&
         static_cast<float>(lower) < kHighestSide * line_height &&
         width <= kWidestSide * line_height && height <= kTallestJoin * line_height;
}

void CharacterFinder::join_parts() noexcept {
  float tallest = 0.0f;
  for (int i = 0; i < part_count_; ++i) {
    if (parts_[i].line == i) tallest = std::max(tallest, lines_[i].height);
  }
  const auto farthest = static_cast<int>(kSideGap * tallest) + 1;
  for (int i = 0; i < part_count_; ++i) {
    Part& part = parts_[i];
    if (part.form) continue;
    int best = -1;
    float least = 0.0f;
    for (int k = 0; k < part_count_; ++k) {
      const int j = by_left_[k];
      const Part& other = parts_[j];
      const InkComponent& box = other.box;
      // Parts are sorted by the edges that they had before they were joined.
      if (other.left > part.box.right + farthest) break;
      if (j == i || !other.member || box.right + farthest < part.box.left) continue;
      const float height = lines_[other.line].height;
      // A character is joined to a larger one only, or to one of a longer line.
      const bool stray = lines_[part.line].members < lines_[other.line].members;
      if (part.member && !stray && (part.line != other.line || box.height() < part.box.height()))
        continue;
      const auto longest = static_cast<float>(std::max(part.box.width(), part.box.height()));
      if (longest < kSmallestJoined * height) continue;
      if (part.box.mean_contrast() < kLeastContrast * box.mean_contrast()) continue;
      if (!belong_together(part.box, box, height)) continue;
      const float distance = std::abs(center_x(part.box) - center_x(box));
      if (best < 0 || distance < least) {
        best = j;
        least = distance;
      }
    }
    if (best < 0) continue;
    extend(parts_[best].box, part.box);
    part.group = best;
    part.member = false;
  }
}

void CharacterFinder::gather_runs() noexcept {
  std::fill(run_begin_, run_begin_ + part_count_ + 1, 0);
  const auto owner = [this](const InkRun& run) {
    if (run.label == kNoComponent || part_of_[run.label] < 0) return -1;
    const int group = group_of(part_of_[run.label]);
    return parts_[group].member ? group : -1;
  };
  for (const InkRun& run : components_.runs()) {
    const int part = owner(run);
    if (part >= 0) ++run_begin_[part + 1];
  }
  for (int i = 0; i < part_count_; ++i) run_begin_[i + 1] += run_begin_[i];
  for (const InkRun& run : components_.runs()) {
    const int part = owner(run);
    if (part >= 0) runs_[run_begin_[part]++] = run;
  }
  // Each begin has moved to the end of its part, which is the begin of the next one.
  for (int i = part_count_; i > 0; --i) run_begin_[i] = run_begin_[i - 1];
  run_begin_[0] = 0;
}

void CharacterFinder::measure_slants() noexcept {
  std::fill(slants_, slants_ + part_count_, StrokeSlant{});
  for (int i = 0; i < part_count_; ++i) {
    if (!parts_[i].member || parts_[i].group != i) continue;
    const int first = run_begin_[i];
    add_slant({runs_ + first, static_cast<std::size_t>(run_begin_[i + 1] - first)},
              kUprightRun * parts_[i].box.mean_run(), slants_[parts_[i].line]);
  }
}

void CharacterFinder::order() noexcept {
  // Lines are compared by their heights at the same column, along the common slope.
  float slope = 0.0f;
  int members = 0;
  for (int i = 0; i < part_count_; ++i) {
    if (parts_[i].line != i || lines_[i].members < 3) continue;
    slope += lines_[i].slope * static_cast<float>(lines_[i].members);
    members += lines_[i].members;
  }
  if (members > 0) slope /= static_cast<float>(members);
  const auto level = [this, slope](int line) { return lines_[line].y - slope * lines_[line].x; };
  group_count_ = 0;
  for (int i = 0; i < part_count_; ++i) {
    if (parts_[i].member && parts_[i].group == i) groups_[group_count_++] = i;
  }
  std::sort(groups_, groups_ + group_count_, [&](int a, int b) {
    const int line_a = parts_[a].line;
    const int line_b = parts_[b].line;
    if (config_.group_lines && line_a != line_b) {
      const float level_a = level(line_a);
      const float level_b = level(line_b);
      return level_a != level_b ? level_a < level_b : line_a < line_b;
    }
    const float x_a = center_x(parts_[a].box);
    const float x_b = center_x(parts_[b].box);
    return x_a != x_b ? x_a < x_b : a < b;
  });
}

void CharacterFinder::make_candidates() noexcept {
  lattice_.clear(light_);
  int line = 0;
  for (int i = 0; i < group_count_; ++i) {
    const int part = groups_[i];
    const int own = parts_[part].line;
    if (config_.group_lines && i > 0 && own != parts_[groups_[i - 1]].line) ++line;
    const int first = run_begin_[part];
    const auto count = static_cast<std::size_t>(run_begin_[part + 1] - first);
    const Line& of = lines_[own];
    lattice_.add({{runs_ + first, count},
                  parts_[part].box,
                  line,
                  of.height,
                  of.x,
                  of.y,
                  of.slope,
                  slants_[own].value()},
                 config_.split_touching);
  }
  truncated_ = truncated_ || lattice_.truncated();
}

}  // namespace ocellus::detail
