#include "cortex/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/failure.h"
#include "cortex_model_generated.h"

namespace ocellus::detail {
namespace {

/// The largest b: all weights of the most inputs.
constexpr std::int32_t kMostBias = 128 * kMaxHypercolumnInputs;
/// The largest r: with it and all R, the evidence is far from the end of 64 bits.
constexpr std::int32_t kMostClassBias = 1 << 30;

Expected<void> parse_classes(const file::Cortex& from, CortexTable& table, int& count) noexcept {
  const auto* const classes = from.classes();
  const unsigned number = classes == nullptr ? 0 : classes->size();
  if (number < 1 || number > kMaxCortexClasses) {
    return corrupt_file("cortex model: it has %u classes; it must have 1 to %d", number,
                        kMaxCortexClasses);
  }
  for (unsigned i = 0; i < number; ++i) {
    const flatbuffers::String* const name = classes->Get(i);
    if (!is_class_name(name->string_view())) {
      return corrupt_file(
          "cortex model: the name of class %u must have 1 to %zu printable characters", i,
          kMaxClassName);
    }
    std::copy_n(name->c_str(), name->size(), table.names[i]);
  }
  count = static_cast<int>(number);
  return {};
}

Expected<void> parse_parameters(const file::Cortex& from, CortexParameters& parameters) noexcept {
  parameters.width = from.width();
  parameters.height = from.height();
  parameters.lgn_threshold = from.lgn_threshold();
  parameters.deslant = from.deslant();
  parameters.fields = from.fields();
  // Absent, and 0, in a model with windows.
  if (parameters.fields > 0) parameters.field_inputs = from.field_inputs();
  parameters.competitors = from.competitors();
  parameters.softness = from.softness();
  const auto* const levels = from.levels();
  const unsigned count = levels == nullptr ? 0 : levels->size();
  if (count < 1 || count > kMaxCortexLevels) {
    return corrupt_file("cortex model: it has %u levels; it must have 1 to %d", count,
                        kMaxCortexLevels);
  }
  parameters.level_count = static_cast<int>(count);
  for (unsigned i = 0; i < count; ++i) {
    const file::CortexLevel* const level = levels->Get(i);
    parameters.levels[i] = {level->window_width(), level->window_height(), level->stride_x(),
                            level->stride_y(), level->minicolumns()};
  }
  return {};
}

/// The pixels of each field lie in the patch, and no two are equal.
Expected<void> check_fields(const CortexShape& shape, const std::uint16_t* fields) noexcept {
  for (int h = 0; h < shape.parameters.fields; ++h) {
    int least = 0;
    for (int i = 0; i < shape.parameters.field_inputs; ++i) {
      const int pixel = *fields++;
      if (pixel < least || pixel >= shape.pixels()) {
        return corrupt_file(
            "cortex model: input %d of field %d is pixel %d; the pixels of a field must be "
            "ascending, below %d",
            i, h, pixel, shape.pixels());
      }
      least = pixel + 1;
    }
  }
  return {};
}

}  // namespace

CortexPlaces places_of(const CortexShape& shape, bool probabilities) noexcept {
  CortexPlaces places;
  const auto place = [&places](std::uint64_t bytes) {
    const std::uint64_t at = places.bytes;
    places.bytes = (at + bytes + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
    return at;
  };
  const auto classes = static_cast<std::uint64_t>(shape.classes);
  places.weights = place(shape.hierarchy.weights);
  places.bias = place(shape.hierarchy.minicolumns * sizeof(std::int32_t));
  places.read_out = place(shape.hierarchy.minicolumns * classes * sizeof(std::int16_t));
  places.fields = place(shape.field_elements() * sizeof(std::uint16_t));
  places.class_bias = place(classes * sizeof(std::int32_t));
  places.probabilities = places.bytes;
  if (probabilities)
    places.bytes += shape.hierarchy.weights * sizeof(std::uint32_t);
  else
    places.bytes = places.class_bias + classes * sizeof(std::int32_t);
  return places;
}

CortexArrays arrays_at(const CortexShape& shape, const std::uint8_t* bytes) noexcept {
  const CortexPlaces places = places_of(shape, false);
  return {reinterpret_cast<const std::int8_t*>(bytes + places.weights),
          reinterpret_cast<const std::int32_t*>(bytes + places.bias),
          reinterpret_cast<const std::int16_t*>(bytes + places.read_out),
          reinterpret_cast<const std::int32_t*>(bytes + places.class_bias),
          reinterpret_cast<const std::uint16_t*>(bytes + places.fields)};
}

LearningArrays learning_arrays_at(const CortexShape& shape, std::uint8_t* bytes) noexcept {
  const CortexPlaces places = places_of(shape, true);
  return {reinterpret_cast<std::int8_t*>(bytes + places.weights),
          reinterpret_cast<std::int32_t*>(bytes + places.bias),
          reinterpret_cast<std::uint32_t*>(bytes + places.probabilities),
          shape.parameters.fields > 0
              ? reinterpret_cast<const std::uint16_t*>(bytes + places.fields)
              : nullptr};
}

Expected<void> check_arrays(const CortexShape& shape, const CortexArrays& arrays) noexcept {
  const auto check = [](const char* name, const std::int32_t* values, std::size_t count,
                        std::int32_t most) -> Expected<void> {
    const auto* const bad = std::find_if(values, values + count, [most](std::int32_t value) {
      return value > most || value < -most;
    });
    if (bad == values + count) return {};
    return corrupt_file("cortex model: a bias of %s is %d; it must be %d to %d", name, *bad, -most,
                        most);
  };
  OCELLUS_TRY(check("a minicolumn", arrays.bias, shape.hierarchy.minicolumns, kMostBias));
  OCELLUS_TRY(
      check("a class", arrays.class_bias, static_cast<std::size_t>(shape.classes), kMostClassBias));
  return check_fields(shape, arrays.fields);
}

Expected<void> check_probabilities(const std::uint32_t* values, std::size_t count) noexcept {
  const auto* const bad =
      std::find_if(values, values + count, [](std::uint32_t p) { return p > kProbabilityOne; });
  if (bad == values + count) return {};
  return corrupt_file("cortex model: a probability is %u / 2^31; it must be at most 2^31 / 2^31",
                      *bad);
}

Expected<void> parse_cortex_table(const void* bytes, const ModelHeader& header,
                                  CortexTable& table) noexcept {
  OCELLUS_TRY_ASSIGN(verified, model_table<file::Cortex>(kCortexKind, bytes, header));
  const file::Cortex& from = **verified;
  int classes = 0;
  OCELLUS_TRY(parse_classes(from, table, classes));
  CortexParameters parameters;
  OCELLUS_TRY(parse_parameters(from, parameters));
  const Expected<CortexShape> shape = make_cortex_shape(parameters, classes);
  if (!shape) return corrupt_file("cortex model: %s", shape.error().text);
  table.shape = *shape;
  if (from.rule() > static_cast<std::uint8_t>(CortexRule::kBcpnn)) {
    return corrupt_file("cortex model: rule is %d; it must be 0 or 1",
                        static_cast<int>(from.rule()));
  }
  table.rule = static_cast<CortexRule>(from.rule());
  table.sharpness = from.sharpness();
  if (!is_sharpness(table.sharpness)) {
    return corrupt_file("cortex model: sharpness is %g; it must be above 0, at most 1000",
                        static_cast<double>(table.sharpness));
  }
  table.probabilities = from.probabilities();
  const std::uint64_t expected = places_of(table.shape, table.probabilities).bytes;
  if (header.array_bytes != expected) {
    return corrupt_file(
        "cortex model: there are %llu bytes of arrays; %d hypercolumns and %d classes need %llu",
        static_cast<unsigned long long>(header.array_bytes), table.shape.hierarchy.hypercolumns,
        classes, static_cast<unsigned long long>(expected));
  }
  if (const flatbuffers::String* note = from.note())
    copy_note(table.note, sizeof(table.note), note->c_str(), note->size());
  return {};
}

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
