// Cuts characters out of frames, as images to learn.
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "core/failure.h"
#include "core/layout_builder.h"
#include "neocognitron/box_ink.h"
#include "neocognitron/character_finder.h"
#include "neocognitron/ink_image.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus {
namespace detail {
namespace {

/// What finds and draws the characters of frames of one size.
struct Cutter {
  Cutter(ImageSize size, LayoutBuilder& memory) noexcept
      : finder({size}, memory), ink(finder.components(), memory), imager(size, memory) {}

  CharacterFinder finder;
  BoxInk ink;
  InkImager imager;
};

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

/// Appends an image of `ink`, reduced by an integer factor if it is larger than the images.
void append(const GrayPlane& plane, Cutter& cutter, std::span<const InkRun> ink,
            std::uint16_t label, LabeledImages& images) {
  constexpr int kSide = InkImager::kSide;
  std::vector<std::uint8_t> drawn(static_cast<std::size_t>(kSide) * kSide);
  const ImageSize size =
      cutter.imager.draw(plane, cutter.finder.levels(), ink, box_of(ink), drawn.data());
  const int factor = std::max((size.width + images.width - 1) / images.width,
                              (size.height + images.height - 1) / images.height);
  const std::size_t at = images.ink.size();
  images.ink.resize(at + images.pixels());
  for (int y = 0; y * factor < size.height; ++y) {
    for (int x = 0; x * factor < size.width; ++x) {
      int sum = 0;
      for (int j = y * factor; j < std::min((y + 1) * factor, size.height); ++j)
        for (int i = x * factor; i < std::min((x + 1) * factor, size.width); ++i)
          sum += drawn[static_cast<std::size_t>(j * kSide + i)];
      images.ink[at + static_cast<std::size_t>(y * images.width + x)] =
          static_cast<std::uint8_t>(sum / (factor * factor));
    }
  }
  images.labels.push_back(label);
}

Expected<void> check_frame(const Frame& frame, std::span<const LabeledBox> boxes,
                           const LabeledImages& images) {
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
  constexpr int kLeast = 8;
  constexpr int kMost = 1024;
  if (std::min(images.width, images.height) < kLeast ||
      std::max(images.width, images.height) > kMost) {
    return invalid_argument("characters: the images are %dx%d; they must be %dx%d to %dx%d",
                            images.width, images.height, kLeast, kLeast, kMost, kMost);
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

}  // namespace
}  // namespace detail

Expected<std::size_t> add_characters(const Frame& frame, std::span<const LabeledBox> boxes,
                                     LabeledImages& images) noexcept {
  using namespace detail;
  OCELLUS_TRY(check_frame(frame, boxes, images));
  LayoutBuilder sizes;
  const Cutter counted(frame.size, sizes);
  constexpr std::align_val_t kAlignment{kMemoryAlignment};
  const auto release = [](void* block) { ::operator delete(block, kAlignment); };
  const std::unique_ptr<void, decltype(release)> memory(::operator new(sizes.bytes(), kAlignment),
                                                        release);
  LayoutBuilder layout(memory.get());
  const auto cutter = std::make_unique<Cutter>(frame.size, layout);
  const GrayPlane plane{static_cast<const std::uint8_t*>(frame.data), frame.stride, frame.size};
  CharacterFinder& finder = cutter->finder;
  for (int half = 0; half < CharacterFinder::kHalves; ++half) finder.measure(plane, half);
  finder.set_levels();
  for (int half = 0; half < CharacterFinder::kHalves; ++half) finder.extract(plane, half);
  finder.find();
  const std::size_t before = images.count();
  for (const LabeledBox& labeled : boxes) {
    const std::span<const InkRun> inside = cutter->ink.select(finder.components(), labeled.box);
    if (inside.empty()) continue;
    append(plane, *cutter, inside, labeled.label, images);
    // What the finder cuts may lack a stroke, or have one of a neighbor.
    constexpr double kLeastShared = 0.5;
    double most = kLeastShared;
    int best = -1;
    const std::span<const CharacterCandidate> candidates = finder.candidates();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double shared = intersection_over_union(candidates[i].box, labeled.box);
      if (shared <= most) continue;
      most = shared;
      best = static_cast<int>(i);
    }
    if (best >= 0) append(plane, *cutter, finder.ink(best), labeled.label, images);
  }
  return images.count() - before;
}

}  // namespace ocellus
