// Images with their classes, from which models learn. Link ocellus::training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ocellus {

inline constexpr int kMaxImageClasses = 256;

/// Images of one size with their classes.
struct LabeledImages {
  int width = 0;                    ///< 8 to 1024 pixels
  int height = 0;                   ///< 8 to 1024 pixels
  std::vector<std::uint8_t> ink{};  ///< 0: background, 255: ink; image after image, row after row
  std::vector<std::uint16_t> labels{};  ///< class of each image, 0 to kMaxImageClasses - 1
  /// Names of the classes, 1 to 31 printable characters without spaces; empty: "0", "1" and so on.
  std::vector<std::string> names{};

  std::size_t count() const noexcept { return labels.size(); }
  /// Of an image.
  std::size_t pixels() const noexcept {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  }
  const std::uint8_t* image(std::size_t i) const noexcept { return ink.data() + i * pixels(); }
};

/// Moves a share of the images of each class, chosen by `seed`, from `images` to the result. At
/// least one image of each class stays.
LabeledImages split_validation(LabeledImages& images, double share, std::uint64_t seed) noexcept;

}  // namespace ocellus
