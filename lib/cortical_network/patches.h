// The patches of a frame: what the operators that classify them share.
#pragma once

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <span>

#include "core/checks.h"
#include "core/failure.h"
#include "core/option_table.h"
#include "cortical_network/hierarchy.h"
#include "ocellus/cortical_network.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"
#include "ocellus/patch_record.h"
#include "ocellus/record.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// Where the patches lie.
struct PatchGrid {
  ImageSize tile;
  int columns = 1;  ///< whole tiles of a row
  int patches = 1;  ///< that are classified
  bool truncated = false;
};

/// Errors: InvalidArgument (the frame does not hold a tile).
Expected<PatchGrid> patch_grid(ImageSize frame, PatchLayout layout, ImageSize tile) noexcept;

/// Checks the options and the geometry of a frame, and copies them to the plan. Plan is a Config
/// and a PatchGrid.
template <typename Config, typename Plan>
Expected<void> plan_patches(const Config& config, Plan& plan) noexcept {
  OCELLUS_TRY(check_options(Config::options(), &config));
  if (Check c = check_geometry(config.size, config.format, {}, config.depth); !c) return c;
  static_cast<Config&>(plan) = config;
  plan.input_format = config.format;
  plan.format = luma_format(config.format);
  OCELLUS_TRY_ASSIGN(
      grid, patch_grid(config.size, config.layout, {config.tile_width, config.tile_height}));
  static_cast<PatchGrid&>(plan) = *grid;
  return {};
}

inline constexpr RecordField kPatchFields[] = {
    {"count", FieldType::kInt32, 1, offsetof(PatchRecord, count), "number of patches",
     FieldRole::kCount},
    {"truncated", FieldType::kBool, 1, offsetof(PatchRecord, truncated),
     "the frame has more whole tiles than are classified", FieldRole::kFlag},
    {"label", FieldType::kInt32, kMaxPatches, offsetof(PatchRecord, label), "class of the model",
     FieldRole::kLabel},
    {"confidence", FieldType::kFloat, kMaxPatches, offsetof(PatchRecord, confidence), "0 to 1",
     FieldRole::kConfidence},
};
static_assert(sizeof(PatchRecord) <= kMaxRecordBytes);

constexpr RecordInfo patch_record_info(const char* name) noexcept {
  return {name,         sizeof(PatchRecord),
          kPatchFields, static_cast<int>(std::size(kPatchFields)),
          "patches",    "patch"};
}

/// What the operator of a plan says of itself, without its planes. The record has its name.
template <typename Plan>
OperatorInfo patch_info(const Plan& plan, const RecordInfo& record, const Hierarchy& hierarchy,
                        int classes) noexcept {
  OperatorInfo info;
  info.name = record.name;
  info.size = plan.size;
  info.format = plan.input_format;
  info.record = &record;
  info.classes = classes;
  info.tile = plan.tile;
  info.tile_columns = plan.columns;
  info.depth = plan.depth;
  info.keeps_state = info.learns = plan.learn;
  std::snprintf(info.summary, sizeof(info.summary),
                "%d hypercolumns in %d level%s, %d classes, %d patch%s%s", hierarchy.hypercolumns,
                hierarchy.level_count, hierarchy.level_count == 1 ? "" : "s", classes, plan.patches,
                plan.patches == 1 ? "" : "es", plan.learn ? ", learning" : "");
  // Each pixel is read and compared with a threshold. Without ink, nothing is active.
  info.least_flops = static_cast<double>(plan.size.width) * plan.size.height;
  info.least_bytes = info.least_flops * bytes_per_pixel(plan.input_format);
  return info;
}

/// The options of the layout.
template <typename Config>
struct PatchRows : Rows<Config> {
  static constexpr OptionChoice kLayouts[] = {
      {"frame", static_cast<int>(PatchLayout::kFrame), "the whole frame is one patch"},
      {"tiles", static_cast<int>(PatchLayout::kTiles), "the frame is a grid of patches"},
  };
  static constexpr auto kHasTiles = [](const Config& c) { return c.layout == PatchLayout::kTiles; };

  static constexpr Option layout() noexcept {
    return Rows<Config>::template choice<[](auto& c) { return &c.layout; }>("layout", kLayouts,
                                                                            "What is classified");
  }
  static constexpr Option tile_width() noexcept {
    return Rows<Config>::template when<kHasTiles>(
        "layout=tiles", Rows<Config>::template integer<[](auto& c) { return &c.tile_width; }>(
                            "tile_width", 1, kMaxImageSide, "pixels", "Width of a tile"));
  }
  static constexpr Option tile_height() noexcept {
    return Rows<Config>::template when<kHasTiles>(
        "layout=tiles", Rows<Config>::template integer<[](auto& c) { return &c.tile_height; }>(
                            "tile_height", 1, kMaxImageSide, "pixels", "Height of a tile"));
  }
};

/// A hash of what decides where the arrays of a model lie.
std::uint64_t arrangement_of(std::initializer_list<int> numbers,
                             std::span<const CorticalLevel> levels) noexcept;

/// The class with the most evidence, the lower one between equals, and its confidence: (d) of
/// ocellus/cortical_network.h.
struct PatchAnswer {
  int label = 0;
  float confidence = 0.0f;
};
PatchAnswer decide(const std::int64_t* evidence, int classes, float sharpness) noexcept;

/// (c) from the winners of all hypercolumns, in units of 1 / (kCortexReadOutScale
/// kCortexActivityOne). `rows`: CorticalReadOut::weights.
void read_out_winners(const Hierarchy& hierarchy, const std::int32_t* class_bias,
                      const std::int16_t* rows, int classes, const std::int32_t* winners,
                      std::int64_t* evidence) noexcept;
/// The number of rows of CorticalReadOut::weights.
std::size_t read_out_rows(const Hierarchy& hierarchy) noexcept;
/// As `decide`, but -1 if all classes have the same evidence.
PatchAnswer decide_or_none(const std::int64_t* evidence, int classes, float sharpness) noexcept;

/// A sharpness in its range: above 0, at most 1000.
bool is_sharpness(float sharpness) noexcept;

}  // namespace ocellus::detail
