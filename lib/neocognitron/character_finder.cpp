#include "neocognitron/character_finder.h"

#include <algorithm>

namespace ocellus::detail {
namespace {

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

}  // namespace

CharacterFinder::CharacterFinder(const CharacterFinderConfig& config,
                                 LayoutBuilder& memory) noexcept
    : config_(with_defaults(config)),
      levels_(config.size, window_for(config), memory),
      components_(config.size, config_.min_height, config.drop_outline, memory),
      parts_(layout_parts(config, components_.arrays(), memory)) {
  lattice_.layout(components_.run_capacity(), config_.split_touching, memory);
  split_.layout(memory);
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

PartArrays CharacterFinder::layout_parts(const CharacterFinderConfig& config, const InkArrays& ink,
                                         LayoutBuilder& memory) noexcept {
  const CharacterFinderConfig own = with_defaults(config);
  PartArrays arrays{};
  arrays.size = own.size;
  arrays.min_height = own.min_height;
  arrays.max_height = own.max_height;
  arrays.group_lines = own.group_lines;
  arrays.layout(ink, memory);
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
  PartSearch search(OneThread(), parts_, components_.arrays(), components_.runs().data(),
                    components_.counts());
  part_counts_ = search.find();
  CandidateSearch lattice(OneThread(), lattice_, parts_, part_counts_);
  const int cuts = lattice.select_wide();
  for (int i = 0; i < cuts; ++i) lattice.cut(i, split_);
  counts_ = lattice.find(light_);
}

void PartArrays::layout(const InkArrays& ink, LayoutBuilder& memory) noexcept {
  layout_parts(memory);
  sides = memory.take<Sides>(kMaxParts);
  part_of = memory.take<std::int16_t>(static_cast<std::size_t>(ink.component_capacity));
  runs = memory.take<InkRun>(static_cast<std::size_t>(ink.run_capacity));
  groups = memory.take<FoundGroup>(kMaxParts);
}

}  // namespace ocellus::detail
