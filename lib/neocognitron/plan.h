// NeocognitronPlan: a checked configuration in the form that backends work from.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "neocognitron/character_finder.h"
#include "neocognitron/model_source.h"
#include "ocellus/neocognitron.h"

namespace ocellus::detail {

/// Plain data. `format` is that of the luma of the frames. `fields` are the boxes, or with kFind at
/// least one.
struct NeocognitronPlan : NeocognitronConfig {
  PixelFormat input_format = PixelFormat::kGray8;  ///< of the frames
  int text_parts = 0;                              ///< fields of the configuration
  ImageSize tile;
  ModelPlan model;  ///< that the configuration names

  /// Candidates of a frame that are recognized, at most.
  int max_candidates() const noexcept {
    return layout == CharacterLayout::kFind ? 2 * max_characters : max_characters;
  }
  int tile_columns() const noexcept { return size.width / tile.width; }
  /// Whole tiles of the frame, read or not.
  int tile_count() const noexcept { return tile_columns() * (size.height / tile.height); }
  static constexpr int kMostCandidates = 2 * kMaxCharacters;
};

/// Checks every field and reads the table of the model. Errors: those of Neocognitron::create.
Expected<void> make_plan(const NeocognitronConfig& config, NeocognitronPlan& plan) noexcept;
OperatorInfo info_of(const NeocognitronPlan& plan) noexcept;

/// An instance without memory; null when the system has none.
std::unique_ptr<OperatorInstance> make_on_cpu(const NeocognitronPlan& plan, int workers) noexcept;
std::unique_ptr<OperatorInstance> make_on_cuda(const NeocognitronPlan& plan) noexcept;

}  // namespace ocellus::detail
