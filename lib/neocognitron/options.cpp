// The options of Neocognitron: one row for each.
#include <cstdio>
#include <string_view>

#include "core/failure.h"
#include "core/option_table.h"
#include "neocognitron/fields_file.h"
#include "ocellus/neocognitron.h"

namespace ocellus {
namespace {

using Rows = detail::Rows<NeocognitronConfig>;

constexpr OptionChoice kLayouts[] = {
    {"find", static_cast<int>(CharacterLayout::kFind),
     "anywhere in the frame or in the fields: they are found"},
    {"boxes", static_cast<int>(CharacterLayout::kBoxes), "each field is the box of a character"},
    {"tiles", static_cast<int>(CharacterLayout::kTiles),
     "the frame is a grid of images of one character"},
};

constexpr OptionChoice kInks[] = {
    {"auto", static_cast<int>(CharacterInk::kAuto), "decided for each frame, field or tile"},
    {"dark", static_cast<int>(CharacterInk::kDark), "darker than the ground"},
    {"light", static_cast<int>(CharacterInk::kLight), "lighter than the ground"},
};

void print_fields(const NeocognitronConfig& config, char* text, std::size_t capacity) noexcept {
  std::size_t at = 0;
  text[0] = '\0';
  for (int i = 0; i < config.fields.count && at < capacity; ++i) {
    const Rect& field = config.fields.fields[static_cast<std::size_t>(i)];
    const int wrote = std::snprintf(text + at, capacity - at, "%s%d,%d,%d,%d", i == 0 ? "" : ";",
                                    field.x, field.y, field.width, field.height);
    at += wrote > 0 ? static_cast<std::size_t>(wrote) : 0;
  }
}

Expected<void> parse_fields(NeocognitronConfig& config, std::string_view text) noexcept {
  TextFields fields;
  if (text.starts_with('@')) {
    Text<kMaxOptionText> path;
    if (!path.assign(text.substr(1)))
      return detail::invalid_argument("the name of the file is too long, or has a NUL");
    OCELLUS_TRY(detail::read_fields_file(path.c_str(), fields));
    text = {};
  }
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    OCELLUS_TRY(detail::add_field(text.substr(0, end), fields));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  config.fields = fields;
  return {};
}

constexpr auto kHasFields = [](const NeocognitronConfig& c) {
  return c.layout != CharacterLayout::kTiles;
};
constexpr auto kHasTiles = [](const NeocognitronConfig& c) {
  return c.layout == CharacterLayout::kTiles;
};

constexpr Option kOptions[] = {
    Rows::text<[](auto& c) { return &c.model; }>(
        "model", "Model file (*.ocellus), or a model of the library: digits-small or digits"),
    Rows::choice<[](auto& c) { return &c.layout; }>("layout", kLayouts, "Where the characters are"),
    Rows::when<kHasFields>(
        "layout=find or boxes",
        Rows::composite<print_fields, parse_fields>(
            "fields",
            "Fields with text or boxes of characters, x,y,width,height in pixels with ; between "
            "them; @FILE: a file with one on each line, and comments after #; empty: the whole "
            "frame")),
    Rows::when<kHasTiles>("layout=tiles", Rows::integer<[](auto& c) { return &c.tile_width; }>(
                                              "tile_width", 8, 1024, "pixels", "Width of a tile")),
    Rows::when<kHasTiles>("layout=tiles",
                          Rows::integer<[](auto& c) { return &c.tile_height; }>(
                              "tile_height", 8, 1024, "pixels", "Height of a tile")),
    Rows::choice<[](auto& c) { return &c.ink; }>("ink", kInks, "Gray levels of the ink"),
    Rows::when<kHasFields>(
        "layout=find or boxes",
        Rows::integer<[](auto& c) { return &c.min_height; }>(
            "min_height", 0, kMaxImageSide, "pixels",
            "Smallest height of a character; 0: 1/48 of the shorter side of the field, at least "
            "8")),
    Rows::when<kHasFields>("layout=find or boxes",
                           Rows::integer<[](auto& c) { return &c.max_height; }>(
                               "max_height", 0, kMaxImageSide, "pixels",
                               "Largest height of a character; 0: the height of the field")),
    Rows::integer<[](auto& c) { return &c.max_characters; }>(
        "max_characters", 0, kMaxCharacters, "",
        "Characters of a frame that are read, with layout=tiles at most 64; 0: 64 for each field, "
        "in all at most 512"),
    Rows::real<[](auto& c) { return &c.min_confidence; }>(
        "min_confidence", 0.0, 1.0, "", "Characters of less confidence are rejected"),
    Rows::real<[](auto& c) { return &c.max_active; }>(
        "max_active", 0.01, 1.0, "",
        "Cells of a layer that may be active, as a share of all: bounds the time of a character"),
    detail::depth_option<NeocognitronConfig>(),
    detail::priority_option<NeocognitronConfig>(),
};

}  // namespace

OptionTable NeocognitronConfig::options() noexcept {
  return kOptions;
}

}  // namespace ocellus
