// Writes the table of a model file of the cortical classifier.
#include <array>

#include "cortex/model_file.h"
#include "cortex_model_generated.h"

namespace ocellus::detail {

void build_cortex_table(flatbuffers::FlatBufferBuilder& builder, const CortexParameters& parameters,
                        CortexRule rule, float sharpness, std::span<const std::string_view> names,
                        std::string_view note, bool probabilities) noexcept {
  std::array<flatbuffers::Offset<file::CortexLevel>, kMaxCortexLevels> levels;
  const auto level_count = static_cast<std::size_t>(parameters.level_count);
  for (std::size_t i = 0; i < level_count; ++i) {
    const CorticalLevel& level = parameters.levels[i];
    levels[i] = file::CreateCortexLevel(
        builder, static_cast<std::uint16_t>(level.window_width),
        static_cast<std::uint16_t>(level.window_height), static_cast<std::uint16_t>(level.stride_x),
        static_cast<std::uint16_t>(level.stride_y), static_cast<std::uint16_t>(level.minicolumns));
  }
  std::array<flatbuffers::Offset<flatbuffers::String>, kMaxCortexClasses> classes;
  for (std::size_t i = 0; i < names.size(); ++i)
    classes[i] = builder.CreateString(names[i].data(), names[i].size());
  // The order decides where they lie, and so the bytes of the file.
  const auto note_at = builder.CreateString(note.data(), note.size());
  const auto classes_at = builder.CreateVector(classes.data(), names.size());
  const auto levels_at = builder.CreateVector(levels.data(), level_count);
  builder.Finish(file::CreateCortex(
      builder, static_cast<std::uint16_t>(parameters.width),
      static_cast<std::uint16_t>(parameters.height),
      static_cast<std::uint8_t>(parameters.lgn_threshold), parameters.deslant, levels_at,
      static_cast<std::uint8_t>(parameters.competitors), parameters.softness, sharpness, classes_at,
      note_at, static_cast<std::uint16_t>(parameters.fields),
      static_cast<std::uint16_t>(parameters.fields > 0 ? parameters.field_inputs : 0),
      probabilities, static_cast<std::uint8_t>(rule)));
}

}  // namespace ocellus::detail
