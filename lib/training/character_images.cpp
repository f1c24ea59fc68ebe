// Cuts characters out of frames, as images to learn.
#include <algorithm>

#include "core/failure.h"
#include "training/frame_candidates.h"

namespace ocellus {

Expected<std::size_t> add_characters(const Frame& frame, std::span<const LabeledBox> boxes,
                                     LabeledImages& images, int other) noexcept {
  using namespace detail;
  OCELLUS_TRY(check_frame(frame, boxes));
  constexpr int kLeast = 8;
  constexpr int kMost = 1024;
  if (std::min(images.width, images.height) < kLeast ||
      std::max(images.width, images.height) > kMost) {
    return invalid_argument("characters: the images are %dx%d; they must be %dx%d to %dx%d",
                            images.width, images.height, kLeast, kLeast, kMost, kMost);
  }
  FrameCandidates found(frame, boxes);
  const std::size_t before = images.count();
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const std::span<const InkRun> inside = found.ink_of(boxes[b].box);
    if (inside.empty()) continue;
    found.append(inside, boxes[b].label, images);
    // What the finder cuts may lack a stroke, or have one of a neighbor.
    if (found.best()[b] >= 0) found.append(found.ink(found.best()[b]), boxes[b].label, images);
  }
  for (std::size_t c = 0; other != kNoClass && c < found.candidates().size(); ++c) {
    if (found.shares()[c] < FrameCandidates::kLeastShare)
      found.append(found.ink(static_cast<int>(c)), other, images);
  }
  return images.count() - before;
}

}  // namespace ocellus
