// The classifier of ocellus/cortex_model.h over plain arrays: what backends and training share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout_builder.h"
#include "cortical_network/hierarchy.h"
#include "cortical_network/patches.h"
#include "ocellus/cortex_model.h"

namespace ocellus::detail {

/// Differences of scores, in units of 1 / kCortexWeightScale, for which (b) has a table. Behind its
/// end, an activity is below 1/512 for the least softness, so it is rounded to 0.
inline constexpr int kShareTableSize = 4096;
inline constexpr float kLeastSoftness = 0.05f;

/// Of the weights and the read-out of a model, at most.
inline constexpr double kMaxCortexBytes = 1 << 30;

/// Parameters in the form that computations use. Plain data.
struct CortexShape {
  CortexParameters parameters;
  Hierarchy hierarchy;
  int classes = 0;
  /// round(65535 exp(-softness difference)); 0 behind its end.
  std::array<std::int32_t, kShareTableSize> shares{};

  int pixels() const noexcept { return parameters.width * parameters.height; }
  /// Elements of CortexArrays::fields.
  std::size_t field_elements() const noexcept {
    return static_cast<std::size_t>(parameters.fields) *
           static_cast<std::size_t>(parameters.field_inputs);
  }
};

/// Checks the parameters. Errors: InvalidArgument.
Expected<CortexShape> make_cortex_shape(const CortexParameters& parameters, int classes) noexcept;

/// The arrays of a model. Padded minicolumns hold anything.
struct CortexArrays {
  const std::int8_t* weights = nullptr;      ///< w: [hypercolumn][input][padded minicolumn]
  const std::int32_t* bias = nullptr;        ///< b: [hypercolumn][padded minicolumn]
  const std::int16_t* read_out = nullptr;    ///< R: [hypercolumn][padded minicolumn][class]
  const std::int32_t* class_bias = nullptr;  ///< r: [class]
  /// Pixels of the free fields of the lowest level, ascending: [hypercolumn][input]. Without them:
  /// of no use.
  const std::uint16_t* fields = nullptr;
};

/// Active minicolumns of a hypercolumn, the best first.
struct CortexActivity {
  std::array<std::uint16_t, kMaxCompetitors> minicolumn{};
  std::array<std::uint16_t, kMaxCompetitors> share{};  ///< a; 0 for all behind the last
};

/// Memory for one patch at a time.
struct CortexScratch {
  std::uint8_t* patch = nullptr;
  std::uint8_t* cells = nullptr;  ///< [pixel]
  std::uint16_t* active = nullptr;
  std::int32_t* scores = nullptr;      ///< [padded minicolumn]
  std::int32_t* winners = nullptr;     ///< [hypercolumn], counted over all levels
  CortexActivity* activity = nullptr;  ///< [hypercolumn]

  void layout(const CortexShape& shape, LayoutBuilder& builder) noexcept;
};

/// LGN cells of a patch; `stride`: bytes from a row to the next one.
void cortex_cells(const CortexShape& shape, const std::uint8_t* patch, std::ptrdiff_t stride,
                  const CortexScratch& scratch) noexcept;

/// s of all minicolumns, in units of 1 / kCortexWeightScale. `weights` and `bias`: of the
/// hypercolumn; `minicolumns`: padded; `scores`: 64-byte aligned.
void compete(const std::int8_t* weights, const std::int32_t* bias, const std::uint16_t* active,
             int count, int minicolumns, std::int32_t* scores) noexcept;

/// The largest score, the lower index between equals.
int best_score(const std::int32_t* scores, int count) noexcept;

/// (b). Changes `scores`.
void share_activity(const CortexShape& shape, int minicolumns, std::int32_t* scores,
                    CortexActivity& activity) noexcept;

/// Numbers of the active inputs of a hypercolumn, to `scratch.active`. Returns how many there are.
int active_inputs(const CortexShape& shape, const CortexArrays& arrays, int level, int hypercolumn,
                  const CortexScratch& scratch) noexcept;

/// Winner and activity of one hypercolumn, whose inputs are complete.
void run_hypercolumn(const CortexShape& shape, const CortexArrays& arrays, int level,
                     int hypercolumn, const CortexScratch& scratch) noexcept;

/// (c), from the activity of all hypercolumns; `evidence`: for each class, in units of
/// 1 / (kCortexReadOutScale kCortexActivityOne).
void read_out(const CortexShape& shape, const CortexArrays& arrays, const CortexActivity* activity,
              std::int64_t* evidence) noexcept;

/// All of it.
void classify_patch(const CortexShape& shape, const CortexArrays& arrays, const std::uint8_t* patch,
                    std::ptrdiff_t stride, const CortexScratch& scratch,
                    std::int64_t* evidence) noexcept;

}  // namespace ocellus::detail
