#include "cortex/classifier.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/failure.h"
#include "cortex/patch.h"

namespace ocellus {
namespace detail {

Expected<CortexShape> make_cortex_shape(const CortexParameters& parameters, int classes) noexcept {
  const struct {
    const char* name;
    int value;
    int low;
    int high;
  } numbers[] = {
      {"width", parameters.width, kLeastCortexSide, kMaxCortexSide},
      {"height", parameters.height, kLeastCortexSide, kMaxCortexSide},
      {"lgn_threshold", parameters.lgn_threshold, 1, 255},
      {"level_count", parameters.level_count, 1, kMaxCortexLevels},
      {"fields", parameters.fields, 0, kMaxCortexFields},
      {"field_inputs", parameters.field_inputs, 1, kMaxCortexSide * kMaxCortexSide},
      {"competitors", parameters.competitors, 1, kMaxCompetitors},
      {"classes", classes, 1, kMaxCortexClasses},
  };
  for (const auto& number : numbers) {
    OCELLUS_TRY(check_number(number.name, number.value, number.low, number.high));
  }
  // Comparisons with NaN are false.
  if (!(parameters.softness >= kLeastSoftness && parameters.softness <= 10.0f)) {
    return invalid_argument("softness is %g; it must be %g to 10",
                            static_cast<double>(parameters.softness),
                            static_cast<double>(kLeastSoftness));
  }
  const Expected<Hierarchy> hierarchy =
      plan_hierarchy(parameters.width, parameters.height, 1,
                     {parameters.levels.data(), static_cast<std::size_t>(parameters.level_count)},
                     {parameters.fields, parameters.field_inputs});
  if (!hierarchy) return tl::unexpected(hierarchy.error());
  const double bytes =
      static_cast<double>(hierarchy->weights) +
      static_cast<double>(hierarchy->minicolumns) * (4.0 + 2.0 * static_cast<double>(classes));
  if (bytes > kMaxCortexBytes) {
    return invalid_argument(
        "the weights of %d hypercolumns and %d classes have %.0f bytes; a model must have at most "
        "%.0f",
        hierarchy->hypercolumns, classes, bytes, kMaxCortexBytes);
  }
  CortexShape shape;
  shape.parameters = parameters;
  shape.hierarchy = *hierarchy;
  shape.parameters.levels[0] = hierarchy->level(0);
  shape.classes = classes;
  for (int i = 0; i < parameters.level_count; ++i) {
    if (parameters.competitors > hierarchy->level(i).minicolumns) {
      return invalid_argument("competitors is %d; level %d has %d minicolumns",
                              parameters.competitors, i + 1, hierarchy->level(i).minicolumns);
    }
  }
  for (int i = 0; i < kShareTableSize; ++i) {
    const double difference = static_cast<double>(i) / kCortexWeightScale;
    shape.shares[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(
        std::lround(65535.0 * std::exp(-static_cast<double>(parameters.softness) * difference)));
  }
  return shape;
}

void CortexScratch::layout(const CortexShape& shape, LayoutBuilder& builder) noexcept {
  const auto pixels = static_cast<std::size_t>(shape.pixels());
  const auto hypercolumns = static_cast<std::size_t>(shape.hierarchy.hypercolumns);
  patch = builder.take<std::uint8_t>(pixels);
  cells = builder.take<std::uint8_t>(pixels);
  active = builder.take<std::uint16_t>(static_cast<std::size_t>(shape.hierarchy.most_inputs));
  scores = builder.take<std::int32_t>(static_cast<std::size_t>(shape.hierarchy.most_minicolumns));
  winners = builder.take<std::int32_t>(hypercolumns);
  activity = builder.take<CortexActivity>(hypercolumns);
}

void cortex_cells(const CortexShape& shape, const std::uint8_t* patch, std::ptrdiff_t stride,
                  const CortexScratch& scratch) noexcept {
  const CortexParameters& p = shape.parameters;
  if (p.deslant) {
    deslant(patch, stride, p.width, p.height, scratch.patch);
    patch = scratch.patch;
    stride = p.width;
  }
  for (int y = 0; y < p.height; ++y) {
    const std::uint8_t* const row = patch + y * stride;
    std::uint8_t* const to = scratch.cells + static_cast<std::ptrdiff_t>(y) * p.width;
    for (int x = 0; x < p.width; ++x) to[x] = row[x] >= p.lgn_threshold;
  }
}

void share_activity(const CortexShape& shape, int minicolumns, std::int32_t* scores,
                    CortexActivity& activity) noexcept {
  activity = {};
  const int competitors = shape.parameters.competitors;
  std::array<std::int64_t, kMaxCompetitors> parts{};
  std::int64_t sum = 0;
  std::int32_t most = 0;
  for (int k = 0; k < competitors; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const int m = best_score(scores, minicolumns);
    if (k == 0) most = scores[m];
    const std::int64_t difference = std::int64_t{most} - scores[m];
    parts[i] =
        difference < kShareTableSize ? shape.shares[static_cast<std::size_t>(difference)] : 0;
    sum += parts[i];
    activity.minicolumn[i] = static_cast<std::uint16_t>(m);
    scores[m] = std::numeric_limits<std::int32_t>::min();
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(competitors); ++i)
    activity.share[i] = static_cast<std::uint16_t>((parts[i] * kCortexActivityOne + sum / 2) / sum);
}

int active_inputs(const CortexShape& shape, const CortexArrays& arrays, int level, int hypercolumn,
                  const CortexScratch& scratch) noexcept {
  if (level > 0 || shape.parameters.fields == 0) {
    return active_inputs(shape.hierarchy, level, hypercolumn, scratch.cells, scratch.winners,
                         scratch.active);
  }
  const int inputs = shape.parameters.field_inputs;
  return active_inputs(arrays.fields + static_cast<std::ptrdiff_t>(hypercolumn) * inputs, inputs,
                       scratch.cells, scratch.active);
}

void run_hypercolumn(const CortexShape& shape, const CortexArrays& arrays, int level,
                     int hypercolumn, const CortexScratch& scratch) noexcept {
  const Hierarchy& hierarchy = shape.hierarchy;
  const LevelPlan& l = hierarchy.level(level);
  const int count = active_inputs(shape, arrays, level, hypercolumn, scratch);
  compete(arrays.weights + hierarchy.weights_of(level, hypercolumn),
          arrays.bias + hierarchy.minicolumns_of(level, hypercolumn), scratch.active, count,
          l.padded, scratch.scores);
  const int number = l.first + hypercolumn;
  CortexActivity& activity = scratch.activity[number];
  if (shape.parameters.competitors == 1) {
    activity = {};
    activity.minicolumn[0] = static_cast<std::uint16_t>(best_score(scratch.scores, l.minicolumns));
    activity.share[0] = kCortexActivityOne;
  } else {
    share_activity(shape, l.minicolumns, scratch.scores, activity);
  }
  scratch.winners[number] = activity.minicolumn[0];
}

void read_out(const CortexShape& shape, const CortexArrays& arrays, const CortexActivity* activity,
              std::int64_t* evidence) noexcept {
  const Hierarchy& hierarchy = shape.hierarchy;
  const auto classes = static_cast<std::size_t>(shape.classes);
  for (std::size_t c = 0; c < classes; ++c)
    evidence[c] = std::int64_t{arrays.class_bias[c]} * kCortexActivityOne;
  for (int level = 0; level < hierarchy.level_count; ++level) {
    const LevelPlan& l = hierarchy.level(level);
    for (int h = 0; h < l.hypercolumns; ++h) {
      const CortexActivity& a = activity[l.first + h];
      const std::size_t begin = hierarchy.minicolumns_of(level, h);
      for (std::size_t k = 0; k < static_cast<std::size_t>(shape.parameters.competitors); ++k) {
        const std::int16_t* const row = arrays.read_out + (begin + a.minicolumn[k]) * classes;
        const std::int32_t share = a.share[k];
        for (std::size_t c = 0; c < classes; ++c) evidence[c] += share * row[c];
      }
    }
  }
}

void classify_patch(const CortexShape& shape, const CortexArrays& arrays, const std::uint8_t* patch,
                    std::ptrdiff_t stride, const CortexScratch& scratch,
                    std::int64_t* evidence) noexcept {
  cortex_cells(shape, patch, stride, scratch);
  for (int level = 0; level < shape.hierarchy.level_count; ++level)
    for (int h = 0; h < shape.hierarchy.level(level).hypercolumns; ++h)
      run_hypercolumn(shape, arrays, level, h, scratch);
  read_out(shape, arrays, scratch.activity, evidence);
}

}  // namespace detail

Expected<void> check_parameters(const CortexParameters& parameters) noexcept {
  OCELLUS_TRY(detail::make_cortex_shape(parameters, 1));
  return {};
}

}  // namespace ocellus
