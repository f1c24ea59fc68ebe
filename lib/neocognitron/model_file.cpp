#include "neocognitron/model_file.h"

#include <algorithm>
#include <cmath>

#include "core/failure.h"
#include "neocognitron/geometry.h"
#include "neocognitron/half.h"
#include "neocognitron_model_generated.h"

namespace ocellus::detail {
namespace {

Expected<void> parse_planes(const file::Neocognitron& from, NeocognitronTable& table) noexcept {
  const auto* const planes = from.feature_planes();
  if (planes == nullptr || planes->size() != 2)
    return corrupt_file("neocognitron model: there must be 2 numbers of feature planes");
  table.planes[0] = kEdgePlanes;
  for (flatbuffers::uoffset_t i = 0; i < 2; ++i) {
    const int count = planes->Get(i);
    if (count < 1 || count > kMaxFeaturePlanes) {
      return corrupt_file("neocognitron model: stage %d has %d planes; it must have 1 to %d",
                          static_cast<int>(i) + 2, count, kMaxFeaturePlanes);
    }
    table.planes[i + 1] = count;
  }
  return {};
}

Expected<void> parse_classes(const file::Neocognitron& from, NeocognitronTable& table) noexcept {
  const auto* const classes = from.classes();
  const unsigned count = classes == nullptr ? 0 : classes->size();
  if (count < 1 || count > kMaxCharacterClasses) {
    return corrupt_file("neocognitron model: it has %u classes; it must have 1 to %d", count,
                        kMaxCharacterClasses);
  }
  table.classes = static_cast<int>(count);
  for (unsigned i = 0; i < count; ++i) {
    const flatbuffers::String* const name = classes->Get(i);
    if (!is_class_name(name->string_view())) {
      return corrupt_file(
          "neocognitron model: the name of class %u must have 1 to %zu printable characters", i,
          kMaxClassName);
    }
    std::copy_n(name->c_str(), name->size(), table.names[i]);
  }
  const auto* const references = from.references();
  if (references == nullptr || references->size() != count) {
    return corrupt_file("neocognitron model: it has %u numbers of references for %u classes",
                        references == nullptr ? 0 : references->size(), count);
  }
  table.planes[3] = 0;
  for (unsigned i = 0; i < count; ++i) {
    table.references[i] = references->Get(i);
    table.planes[3] += references->Get(i);
  }
  if (table.planes[3] < 1 || table.planes[3] > kMaxReferences) {
    return corrupt_file("neocognitron model: it has %d references; it must have 1 to %d",
                        table.planes[3], kMaxReferences);
  }
  return {};
}

Expected<void> parse_parameters(const file::Neocognitron& from, NeocognitronTable& table) noexcept {
  NeocognitronParameters& parameters = table.parameters;
  parameters.center_sigma = from.center_sigma();
  parameters.surround_sigma = from.surround_sigma();
  parameters.contrast_radius = from.contrast_radius();
  parameters.contrast_threshold = from.contrast_threshold();
  parameters.interpolate = from.interpolate();
  parameters.reference_side = from.reference_side();
  parameters.gain = from.gain();
  const auto* const stages = from.stages();
  if (stages == nullptr || stages->size() != kNeocognitronStages)
    return corrupt_file("neocognitron model: it must have %d stages", kNeocognitronStages);
  for (flatbuffers::uoffset_t i = 0; i < kNeocognitronStages; ++i) {
    const file::NeocognitronStage* const stage = stages->Get(i);
    parameters.stages[i] = {stage->threshold(),      stage->s_radius(), stage->s_decay(),
                            stage->c_radius(),       stage->c_decay(),  stage->surround(),
                            stage->surround_radius()};
  }
  if (const Expected<void> checked = check_parameters(parameters); !checked)
    return corrupt_file("neocognitron model: %s", checked.error().text);
  table.normalization = {from.extent(), from.deslant()};
  // Comparisons with NaN are false.
  if (!(from.extent() >= 16.0f && from.extent() <= 64.0f)) {
    return corrupt_file("neocognitron model: extent is %g; it must be 16 to 64 pixels",
                        static_cast<double>(from.extent()));
  }
  return {};
}

Expected<void> parse_calibration(const file::Neocognitron& from,
                                 NeocognitronTable& table) noexcept {
  const file::NeocognitronConfidence* const confidence = from.confidence();
  if (confidence == nullptr) return {};
  table.calibration = {confidence->offset(), confidence->per_margin(),
                       confidence->per_similarity()};
  if (const Expected<void> checked = check_calibration(table.calibration); !checked)
    return corrupt_file("neocognitron model: %s", checked.error().text);
  return {};
}

Expected<void> parse_choice(const file::Neocognitron& from, NeocognitronTable& table) noexcept {
  table.has_other = from.other();
  if (table.has_other && table.classes < 2)
    return corrupt_file("neocognitron model: it has no class of characters");
  if (const file::NeocognitronOdds* const odds = from.odds(); odds != nullptr) {
    if (odds->weights() == nullptr || odds->weights()->size() != kOddsInputs)
      return corrupt_file("neocognitron model: there must be %d weights of the odds", kOddsInputs);
    std::copy(odds->weights()->begin(), odds->weights()->end(), table.odds.weights.begin());
    table.odds.dropped = odds->dropped();
    if (const Expected<void> checked = check_odds(table.odds); !checked)
      return corrupt_file("neocognitron model: %s", checked.error().text);
  }
  const auto* const sizes = from.sizes();
  table.has_sizes = sizes != nullptr;
  if (sizes == nullptr) return {};
  if (sizes->size() != static_cast<unsigned>(table.characters())) {
    return corrupt_file("neocognitron model: it has %u sizes for %d classes of characters",
                        sizes->size(), table.characters());
  }
  for (unsigned i = 0; i < sizes->size(); ++i) {
    const file::NeocognitronSize* const size = sizes->Get(i);
    table.sizes[i] = {size->width(), size->height(), size->width_deviation(),
                      size->height_deviation(), size->correlation()};
    if (const Expected<void> checked = check_size(table.sizes[i]); !checked)
      return corrupt_file("neocognitron model: class %u: %s", i, checked.error().text);
  }
  return {};
}

/// Comparisons with NaN are false.
bool within(float value, float low, float high) noexcept {
  return value >= low && value <= high;
}

}  // namespace

Expected<void> check_odds(const CharacterOdds& odds) noexcept {
  constexpr float kMost = 1e4f;
  for (std::size_t i = 0; i < odds.weights.size(); ++i) {
    if (within(odds.weights[i], -kMost, kMost)) continue;
    return invalid_argument("weight %zu of the odds is %g; it must be -10000 to 10000", i,
                            static_cast<double>(odds.weights[i]));
  }
  if (within(odds.dropped, 0.0f, kMost)) return {};
  return invalid_argument("what dropped ink costs is %g; it must be 0 to 10000",
                          static_cast<double>(odds.dropped));
}

Expected<void> check_size(const CharacterSize& size) noexcept {
  if (within(size.width, 0.0f, 100.0f) && within(size.height, 0.0f, 100.0f) &&
      within(size.width_deviation, 0.01f, 10.0f) && within(size.height_deviation, 0.01f, 10.0f) &&
      within(size.correlation, -0.99f, 0.99f))
    return {};
  return invalid_argument(
      "the size of its characters is %gx%g with deviations of %g and %g and a correlation of %g; "
      "they must be 0 to 100, 0.01 to 10 and -0.99 to 0.99",
      static_cast<double>(size.width), static_cast<double>(size.height),
      static_cast<double>(size.width_deviation), static_cast<double>(size.height_deviation),
      static_cast<double>(size.correlation));
}

Expected<void> check_calibration(const ConfidenceCalibration& calibration) noexcept {
  const auto valid = [](float value) { return within(value, -1e4f, 1e4f); };
  if (valid(calibration.offset) && valid(calibration.per_margin) &&
      valid(calibration.per_similarity))
    return {};
  return invalid_argument(
      "the numbers of the confidence are %g, %g and %g; they must be -10000 to 10000",
      static_cast<double>(calibration.offset), static_cast<double>(calibration.per_margin),
      static_cast<double>(calibration.per_similarity));
}

int planes_below(const NeocognitronTable& table, int stage) noexcept {
  return stage == 0 ? kContrastPlanes : table.planes[static_cast<std::size_t>(stage - 1)];
}

std::uint32_t active_capacity(const NeocognitronTable& table, int stage, float share) noexcept {
  const int side = kSimpleSides[static_cast<std::size_t>(stage)].in;
  const double all = static_cast<double>(side) * side * planes_below(table, stage);
  return static_cast<std::uint32_t>(std::ceil(all * static_cast<double>(share)));
}

std::uint64_t weight_count(const NeocognitronTable& table, int stage) noexcept {
  return static_cast<std::uint64_t>(simple_window(table.parameters, stage).taps) *
         static_cast<std::uint64_t>(planes_below(table, stage)) *
         static_cast<std::uint64_t>(table.planes[static_cast<std::size_t>(stage)]);
}

NeocognitronArrays arrays_of(const NeocognitronTable& table) noexcept {
  NeocognitronArrays arrays;
  const auto place = [&arrays](std::uint64_t bytes) {
    const ModelArray array{arrays.bytes, bytes};
    arrays.bytes = (arrays.bytes + bytes + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
    return array;
  };
  for (std::size_t i = 0; i < arrays.weights.size(); ++i)
    arrays.weights[i] = place(2 * weight_count(table, static_cast<int>(i)));
  const auto references = static_cast<std::uint64_t>(table.planes[3]);
  arrays.lengths = place(references * sizeof(float));
  arrays.bytes = arrays.lengths.at + arrays.lengths.bytes;
  return arrays;
}

Expected<void> check_arrays(const NeocognitronTable& table, const std::uint8_t* arrays) noexcept {
  const NeocognitronArrays places = arrays_of(table);
  for (std::size_t i = 0; i < places.weights.size(); ++i) {
    const auto* const weights =
        reinterpret_cast<const std::uint16_t*>(arrays + places.weights[i].at);
    // Halves from 0 on are in the order of their bits; the next one after the largest is infinity.
    // Tuning makes weights of references negative.
    const bool references = i + 1 == places.weights.size();
    const unsigned magnitude = references ? 0x7fff : 0xffff;
    const auto* const bad =
        std::find_if(weights, weights + weight_count(table, static_cast<int>(i)),
                     [magnitude](std::uint16_t half) { return (half & magnitude) >= 0x7c00; });
    if (bad != weights + weight_count(table, static_cast<int>(i))) {
      return corrupt_file("neocognitron model: a weight of stage %zu is %g; it must be %s", i + 1,
                          static_cast<double>(float_from_half(*bad)),
                          references ? "finite" : "0 or more");
    }
  }
  const auto* const lengths = reinterpret_cast<const float*>(arrays + places.lengths.at);
  for (int i = 0; i < table.planes[3]; ++i) {
    if (!(lengths[i] > 0.0f) || !std::isfinite(lengths[i])) {
      return corrupt_file(
          "neocognitron model: the length of reference %d is %g; it must be above 0", i,
          static_cast<double>(lengths[i]));
    }
  }
  return {};
}

Expected<void> parse_neocognitron_table(const void* bytes, const ModelHeader& header,
                                        NeocognitronTable& table) noexcept {
  OCELLUS_TRY_ASSIGN(verified, model_table<file::Neocognitron>(kNeocognitronKind, bytes, header));
  const file::Neocognitron& from = **verified;
  OCELLUS_TRY(parse_planes(from, table));
  OCELLUS_TRY(parse_classes(from, table));
  OCELLUS_TRY(parse_parameters(from, table));
  OCELLUS_TRY(parse_calibration(from, table));
  OCELLUS_TRY(parse_choice(from, table));
  const std::uint64_t expected = arrays_of(table).bytes;
  if (header.array_bytes != expected) {
    return corrupt_file(
        "neocognitron model: there are %llu bytes of arrays; %d, %d and %d planes "
        "need %llu",
        static_cast<unsigned long long>(header.array_bytes), table.planes[1], table.planes[2],
        table.planes[3], static_cast<unsigned long long>(expected));
  }
  if (const flatbuffers::String* note = from.note())
    copy_note(table.note, sizeof(table.note), note->c_str(), note->size());
  return {};
}

}  // namespace ocellus::detail
