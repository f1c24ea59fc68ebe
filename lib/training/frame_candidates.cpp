#include "training/frame_candidates.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

/// The box of runs that are ordered by rows.
Rect box_of(std::span<const InkRun> ink) noexcept {
  Rect box{ink[0].first, ink[0].y, 0, ink.back().y + 1 - ink[0].y};
  int right = 0;
  for (const InkRun& run : ink) {
    box.x = std::min<int>(box.x, run.first);
    right = std::max<int>(right, run.end);
  }
  box.width = right - box.x;
  return box;
}

double intersection_over_union(const Rect& a, const Rect& b) noexcept {
  const double width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (width <= 0.0 || height <= 0.0) return 0.0;
  const double both = width * height;
  return both /
         (static_cast<double>(a.width) * a.height + static_cast<double>(b.width) * b.height - both);
}

}  // namespace

Expected<void> check_frame(const Frame& frame, std::span<const LabeledBox> boxes) noexcept {
  if (frame.data == nullptr || frame.format != PixelFormat::kGray8 ||
      frame.space != MemorySpace::kHost)
    return invalid_argument("characters: the frame must be gray, of 8 bits, in host memory");
  const ImageSize size = frame.size;
  if (size.width < 1 || size.height < 1 || size.width > kMaxImageSide ||
      size.height > kMaxImageSide || frame.stride < size.width) {
    return invalid_argument(
        "characters: the frame is %dx%d with rows of %td bytes; its sides must be 1 to %d, its "
        "rows no shorter than its width",
        size.width, size.height, frame.stride, kMaxImageSide);
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Rect& box = boxes[i].box;
    if (box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 &&
        box.width <= size.width - box.x && box.height <= size.height - box.y)
      continue;
    return invalid_argument(
        "characters: box %zu is %d,%d,%d,%d; it must lie in the frame, which is %dx%d", i, box.x,
        box.y, box.width, box.height, size.width, size.height);
  }
  return {};
}

FrameCandidates::FrameCandidates(const Frame& frame, std::span<const LabeledBox> boxes)
    : plane_{static_cast<const std::uint8_t*>(frame.data), frame.stride, frame.size},
      best_(boxes.size(), -1) {
  LayoutBuilder sizes;
  const Cutter counted(frame.size, sizes);
  memory_.reset(::operator new (sizes.bytes(), std::align_val_t{kMemoryAlignment}));
  LayoutBuilder layout(memory_.get());
  cutter_ = std::make_unique<Cutter>(frame.size, layout);
  CharacterFinder& finder = cutter_->finder;
  for (int half = 0; half < CharacterFinder::kHalves; ++half) finder.measure(plane_, half);
  finder.set_levels();
  for (int half = 0; half < CharacterFinder::kHalves; ++half) finder.extract(plane_, half);
  finder.find();
  shares_.resize(candidates().size());
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    double most = kLeastShare;
    for (std::size_t c = 0; c < shares_.size(); ++c) {
      const double share = intersection_over_union(candidates()[c].box, boxes[b].box);
      shares_[c] = std::max(shares_[c], share);
      if (share <= most) continue;
      most = share;
      best_[b] = static_cast<int>(c);
    }
  }
}

void FrameCandidates::append(std::span<const InkRun> ink, int label, LabeledImages& images) {
  std::vector<std::uint8_t> drawn(static_cast<std::size_t>(kDrawnSide) * kDrawnSide);
  const ImageSize size =
      cutter_->imager.draw(plane_, cutter_->finder.levels(), ink, box_of(ink), drawn.data());
  const int factor = std::max((size.width + images.width - 1) / images.width,
                              (size.height + images.height - 1) / images.height);
  const std::size_t at = images.ink.size();
  images.ink.resize(at + images.pixels());
  for (int y = 0; y * factor < size.height; ++y) {
    for (int x = 0; x * factor < size.width; ++x) {
      int sum = 0;
      for (int j = y * factor; j < std::min((y + 1) * factor, size.height); ++j)
        for (int i = x * factor; i < std::min((x + 1) * factor, size.width); ++i)
          sum += drawn[static_cast<std::size_t>(j * kDrawnSide + i)];
      images.ink[at + static_cast<std::size_t>(y * images.width + x)] =
          static_cast<std::uint8_t>(sum / (factor * factor));
    }
  }
  images.labels.push_back(static_cast<std::uint16_t>(label));
}

}  // namespace ocellus::detail
