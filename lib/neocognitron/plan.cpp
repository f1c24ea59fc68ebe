#include "neocognitron/plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <iterator>

#include "core/checks.h"
#include "core/failure.h"

namespace ocellus::detail {
namespace {

template <typename T>
constexpr RecordField list(const char* name, FieldType type, T offset, const char* help,
                           FieldRole role = FieldRole::kValue,
                           std::span<const RecordFlag> flags = {}) {
  return {name, type, kMaxCharacters, static_cast<std::uint32_t>(offset), help, role, flags};
}

/// In the order of CharacterFlag.
constexpr RecordFlag kFlags[] = {{"rejected", "?"}, {"capped"}, {"empty", " "}};
static_assert(kCharacterRejected == 1U << 0 && kCharacterCapped == 1U << 1 &&
              kCharacterEmpty == 1U << 2);

constexpr RecordField kFields[] = {
    {"count", FieldType::kInt32, 1, offsetof(NeocognitronRecord, count), "number of characters",
     FieldRole::kCount},
    {"truncated", FieldType::kBool, 1, offsetof(NeocognitronRecord, truncated),
     "the frame has more characters or more ink than is read", FieldRole::kFlag},
    list("label", FieldType::kInt32, offsetof(NeocognitronRecord, label),
         "class of the model; -1: empty tile", FieldRole::kLabel),
    list("confidence", FieldType::kFloat, offsetof(NeocognitronRecord, confidence), "0 to 1",
         FieldRole::kConfidence),
    list("similarity", FieldType::kFloat, offsetof(NeocognitronRecord, similarity),
         "to the class, 0 to 1"),
    list("margin", FieldType::kFloat, offsetof(NeocognitronRecord, margin),
         "of the similarity over that to the second class, or to what is no character"),
    list("x", FieldType::kInt32, offsetof(NeocognitronRecord, x), "left edge of the box, pixels",
         FieldRole::kBox),
    list("y", FieldType::kInt32, offsetof(NeocognitronRecord, y), "upper edge of the box, pixels",
         FieldRole::kBox),
    list("width", FieldType::kInt32, offsetof(NeocognitronRecord, width), "of the box, pixels",
         FieldRole::kBox),
    list("height", FieldType::kInt32, offsetof(NeocognitronRecord, height), "of the box, pixels",
         FieldRole::kBox),
    list("field", FieldType::kInt32, offsetof(NeocognitronRecord, field), "0 without fields",
         FieldRole::kText),
    list("line", FieldType::kInt32, offsetof(NeocognitronRecord, line),
         "line of the field, from the top", FieldRole::kText),
    list("flags", FieldType::kUint32, offsetof(NeocognitronRecord, flags),
         "1: rejected, 2: capped, 4: empty tile", FieldRole::kFlag, kFlags),
};
constexpr RecordInfo kRecord = {"neocognitron", sizeof(NeocognitronRecord),
                                kFields,        static_cast<int>(std::size(kFields)),
                                "digits",       "digit"};
static_assert(sizeof(NeocognitronRecord) <= kMaxRecordBytes);

/// Smallest side of a field and of a tile.
constexpr int kLeastSide = 8;

Check check_fields(const NeocognitronConfig& config) noexcept {
  const TextFields& fields = config.fields;
  if (fields.count < 0 || fields.count > kMaxTextFields) {
    return invalid_argument("fields: there are %d; there must be 0 to %d", fields.count,
                            kMaxTextFields);
  }
  if (config.layout == CharacterLayout::kBoxes && fields.count == 0)
    return invalid_argument("fields is empty; with layout boxes it must have 1 to %d boxes",
                            kMaxTextFields);
  for (int i = 0; i < fields.count; ++i) {
    const Rect& field = fields.fields[static_cast<std::size_t>(i)];
    if (field.x < 0 || field.y < 0 || field.width < kLeastSide || field.height < kLeastSide ||
        field.width > config.size.width - field.x || field.height > config.size.height - field.y) {
      return invalid_argument(
          "fields: number %d is %d,%d,%d,%d; it must lie in the frame of %dx%d and have at least "
          "%dx%d pixels",
          i + 1, field.x, field.y, field.width, field.height, config.size.width, config.size.height,
          kLeastSide, kLeastSide);
    }
  }
  return {};
}

Check check_tiles(const NeocognitronConfig& config) noexcept {
  if (config.tile_width > config.size.width || config.tile_height > config.size.height) {
    return invalid_argument("tiles have %dx%d pixels; the frame has %dx%d and must hold one",
                            config.tile_width, config.tile_height, config.size.width,
                            config.size.height);
  }
  if (config.max_characters > kMaxFieldCharacters) {
    return invalid_argument("max_characters is %d; with layout tiles it must be at most %d",
                            config.max_characters, kMaxFieldCharacters);
  }
  return {};
}

}  // namespace

Expected<void> make_plan(const NeocognitronConfig& config, NeocognitronPlan& plan) noexcept {
  // The fields that are options are checked by their rows.
  OCELLUS_TRY(check_options(NeocognitronConfig::options(), &config));
  OCELLUS_TRY(check_geometry(config.size, config.format, {}, config.depth));
  const bool tiles = config.layout == CharacterLayout::kTiles;
  OCELLUS_TRY(tiles ? check_tiles(config) : check_fields(config));
  if (config.max_height != 0 && config.max_height < config.min_height) {
    return invalid_argument("max_height is %d; it must be 0 or at least min_height, which is %d",
                            config.max_height, config.min_height);
  }
  static_cast<NeocognitronConfig&>(plan) = config;
  plan.input_format = config.format;
  plan.format = luma_format(config.format);
  if (tiles) plan.fields = {};
  plan.text_parts = plan.fields.count;
  if (plan.max_characters == 0) {
    const int fields = config.layout == CharacterLayout::kFind ? std::max(plan.fields.count, 1) : 1;
    plan.max_characters = std::min(kMaxFieldCharacters * fields, kMaxCharacters);
  }
  if (config.layout == CharacterLayout::kFind && plan.fields.count == 0) {
    plan.fields.count = 1;
    plan.fields.fields[0] = {0, 0, config.size.width, config.size.height};
  }
  plan.tile = {config.tile_width, config.tile_height};
  return read_model_plan(config.model.c_str(), plan.model);
}

OperatorInfo info_of(const NeocognitronPlan& plan) noexcept {
  const NeocognitronTable& table = plan.model.table;
  OperatorInfo info;
  info.name = "digits";
  info.size = plan.size;
  info.format = plan.input_format;
  info.planes[0] = {
      "scores", {table.characters(), plan.max_characters}, PixelFormat::kFloat32, false};
  info.record = &kRecord;
  info.classes = table.characters();
  info.text_parts = plan.text_parts;
  info.parts_are_items = plan.layout == CharacterLayout::kBoxes;
  info.depth = plan.depth;
  std::snprintf(info.summary, sizeof(info.summary),
                "%d, %d and %d planes, %d classes, at most %d characters", table.planes[1],
                table.planes[2], table.planes[3], table.characters(), plan.max_characters);
  // A frame without characters: each pixel is read and compared with a threshold.
  const double pixels = static_cast<double>(plan.size.width) * plan.size.height;
  info.least_bytes = pixels * bytes_per_pixel(plan.input_format);
  info.least_flops = pixels;
  return info;
}

}  // namespace ocellus::detail
