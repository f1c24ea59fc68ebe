// CharacterReader: what recognition needs before and after the network: the candidates of a frame
// as images of ink, and the characters among them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/best_class.h"
#include "neocognitron/box_ink.h"
#include "neocognitron/character_choice.h"
#include "neocognitron/character_finder.h"
#include "neocognitron/ink_image.h"
#include "neocognitron/normalization.h"
#include "neocognitron/plan.h"

namespace ocellus::detail {

/// The steps of a frame, in this order: `measure`, `set_levels`, `extract` and `find`, `collect`,
/// `draw` for each candidate, and `finish`. `measure` and `extract` are called for each half, and
/// `set_levels` and `find` for each field. The calls of a step may be made at the same time by
/// different workers.
class CharacterReader {
 public:
  /// Takes the memory. `plan` must outlive the object.
  void layout(const NeocognitronPlan& plan, int workers, LayoutBuilder& memory) noexcept;

  /// Number of fields of a frame in which characters are found.
  int fields() const noexcept { return finder_count_; }
  /// Number of the halves of all fields.
  int halves() const noexcept { return CharacterFinder::kHalves * finder_count_; }
  void measure(int half, const GrayPlane& plane) noexcept;
  void set_levels(int field) noexcept { finders_[field].set_levels(); }
  void extract(int half, const GrayPlane& plane) noexcept;
  void find(int field) noexcept { finders_[field].find(); }

  /// Of the finder of a field.
  static CharacterFinderConfig finder_config(const NeocognitronPlan& plan,
                                             std::size_t field) noexcept;

  /// Numbers the candidates of all parts. Returns how many there are, at most
  /// NeocognitronPlan::max_candidates.
  int collect() noexcept;

  /// The image of a candidate's ink. It is valid until the worker draws the next one.
  InkImage draw(int candidate, const GrayPlane& plane, int worker) noexcept;

  /// Writes the characters of the frame. `record` is zero before. `scores`: similarity to each
  /// class, for each candidate, all 0 if it has no ink. `complete`: false for a candidate with too
  /// many active cells. `rows`: where the scores of the characters go, `max_characters` rows.
  void finish(const float* scores, const std::uint8_t* complete, NeocognitronRecord& record,
              const ImageView& rows) noexcept;
  /// The rows of a frame without characters.
  void clear_rows(const ImageView& rows) const noexcept;

 private:
  struct Source {
    int part = 0;   // finder
    int index = 0;  // of the candidate in it, or of the box or tile
  };
  int candidates_of(int part) const noexcept {
    return static_cast<int>(finders_[part].candidates().size());
  }
  /// Sets `reserved_`, of `most` items of the frame. Each field may have an equal share of them,
  /// and what other fields leave.
  void reserve(int most) noexcept;
  void add(int candidate, const Rect& box, int line, int field, const float* scores, bool complete,
           NeocognitronRecord& record, const ImageView& rows) const noexcept;
  Rect tile(int index) const noexcept;
  /// What a finder sees of a frame.
  GrayPlane view_of(int finder, const GrayPlane& plane) const noexcept;

  const NeocognitronPlan* plan_ = nullptr;
  int finder_count_ = 0;
  CharacterFinder* finders_ = nullptr;
  BoxInk* boxes_ = nullptr;  // of each worker
  std::array<InkImager*, kMaxWorkers> imagers_{};
  std::array<std::uint8_t*, kMaxWorkers> images_{};
  // For each candidate of the frame.
  Source* sources_ = nullptr;
  CandidateScore* candidate_scores_ = nullptr;
  BestClass* bests_ = nullptr;
  int* reserved_ = nullptr;  // for each field: candidates that the fields behind it may have
  CharacterChoice choice_;
  int count_ = 0;
  bool truncated_ = false;
};

}  // namespace ocellus::detail
