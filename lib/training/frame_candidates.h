// The candidates of a frame whose characters are known.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <vector>

#include "core/layout_builder.h"
#include "neocognitron/box_ink.h"
#include "neocognitron/character_finder.h"
#include "neocognitron/ink_image.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::detail {

/// Errors: InvalidArgument (a frame that is not gray of 8 bits in host memory, boxes beyond it).
Expected<void> check_frame(const Frame& frame, std::span<const LabeledBox> boxes) noexcept;

/// What the finder finds in a frame, and where it lies among the known boxes. Neither the frame nor
/// the boxes are copied.
class FrameCandidates {
 public:
  /// They must have passed `check_frame`.
  FrameCandidates(const Frame& frame, std::span<const LabeledBox> boxes);

  std::span<const CharacterCandidate> candidates() const noexcept {
    return cutter_->finder.candidates();
  }
  std::span<const InkRun> ink(int candidate) const noexcept {
    return cutter_->finder.ink(candidate);
  }
  /// The ink inside a box, as the layout `boxes` takes it. It is valid until the next call.
  std::span<const InkRun> ink_of(const Rect& box) noexcept {
    return cutter_->ink.select(cutter_->finder.components(), box);
  }

  /// The candidate with the largest share of each box; -1: none has half of it.
  std::span<const int> best() const noexcept { return best_; }
  /// The largest share of each candidate with a box: the area of both over that of either.
  std::span<const double> shares() const noexcept { return shares_; }

  /// Appends an image of `ink`, reduced by an integer factor if it is larger than the images.
  void append(std::span<const InkRun> ink, int label, LabeledImages& images);

  static constexpr double kLeastShare = 0.5;

 private:
  /// What finds and draws the characters of frames of one size.
  struct Cutter {
    Cutter(ImageSize size, LayoutBuilder& memory) noexcept
        : finder({size}, memory), ink(finder.components(), memory), imager(size, memory) {}

    CharacterFinder finder;
    BoxInk ink;
    InkImager imager;
  };
  struct Free {
    void operator()(void* block) const noexcept {
      ::operator delete (block, std::align_val_t{kMemoryAlignment});
    }
  };

  GrayPlane plane_;
  std::unique_ptr<void, Free> memory_;
  std::unique_ptr<Cutter> cutter_;
  std::vector<int> best_;
  std::vector<double> shares_;
};

}  // namespace ocellus::detail
