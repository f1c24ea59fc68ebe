#include "neocognitron/normalization.h"

#include <algorithm>

namespace ocellus::detail {

bool find_transform(const InkImage& image, const PatchNormalization& normalization,
                    PatchTransform& transform) noexcept {
  InkSums sums;
  int darkest = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int ink = image.at(x, y);
      darkest = std::max(darkest, ink);
      sums.add(ink, x - image.width / 2, y - image.height / 2);
    }
  }
  if (darkest == 0) return false;
  const InkCenter center = ink_center(sums, image.width, image.height, normalization.deslant);
  InkExtent extent;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      if (counts_for_size(image.at(x, y), darkest)) extent.add(center.upright(x, y), y);
  transform = patch_transform(center, extent, normalization.extent);
  return true;
}

void resample(const InkImage& image, const PatchTransform& transform, float* u0) noexcept {
  const int samples = samples_per_axis(transform);
  const auto ink = [&image](int x, int y) { return image.at(x, y); };
  for (int y = 0; y < kNeocognitronSide; ++y)
    for (int x = 0; x < kNeocognitronSide; ++x)
      u0[y * kNeocognitronSide + x] =
          patch_pixel(ink, image.width, image.height, transform, samples, x, y);
}

}  // namespace ocellus::detail
