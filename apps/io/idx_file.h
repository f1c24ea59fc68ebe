// IDX files: labeled images of one size, as in the MNIST database. Plain, or compressed with gzip.
// Text files with the names of their classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/input_error.h"

namespace ocellus::app {

/// The most pixels of all images of a file.
inline constexpr std::uint64_t kMostIdxPixels = std::uint64_t{1} << 31;

/// Gray images of 8 bits, one after another, row after row.
struct IdxImages {
  int width = 0;
  int height = 0;
  std::size_t count = 0;
  std::vector<std::uint8_t> pixels;
};

/// Reads an idx3 file of unsigned bytes. Throws InputError that names the file.
IdxImages read_idx_images(const std::string& path);

/// Reads an idx1 file of unsigned bytes. Throws InputError that names the file.
std::vector<std::uint8_t> read_idx_labels(const std::string& path);

/// Reads images and their labels. Throws InputError also if their numbers differ.
struct LabeledIdx {
  IdxImages images;
  std::vector<std::uint8_t> labels;
};
LabeledIdx read_labeled_idx(const std::string& images, const std::string& labels);

enum class InkColor { kAuto, kBright, kDark };

/// Of the option `ink` of an operator.
template <typename Ink>
InkColor ink_color(Ink ink) {
  return ink == Ink::kLight  ? InkColor::kBright
         : ink == Ink::kDark ? InkColor::kDark
                             : InkColor::kAuto;
}

/// Whether the border of the images is brighter than the middle between their darkest and their
/// brightest gray level. The darkest and the brightest percent of the pixels do not count.
bool has_dark_ink(const IdxImages& images);

/// Inverts images with dark ink, so that 0 is background. Returns whether it did.
bool make_ink_bright(IdxImages& images, InkColor ink);

/// Reads a name from each line, in the order of the labels. A line may begin with its label. Empty
/// lines do not count. Throws InputError that names the file and the line.
std::vector<std::string> read_class_names(const std::string& path);

}  // namespace ocellus::app
