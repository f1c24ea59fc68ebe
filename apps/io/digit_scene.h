// Synthetic camera frames of a line of digits on paper, with known digits and boxes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/io/image_io.h"

namespace ocellus::app {

/// Images of single digits, from which scenes are made.
struct DigitImages {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> ink;     ///< 0: background, 255: ink; image after image, row after row
  std::vector<std::uint8_t> labels;  ///< 0 to 9, one for each image

  std::size_t count() const { return labels.size(); }
};

/// Draws `count` digits from strokes. Class, width, slant, thickness and the positions of the
/// strokes' points vary with the seed. Equal seeds give equal images on every machine. `rare`: the
/// share, 0 to 1, of styles that are common in some countries only, such as ticked fives.
DigitImages draw_digits(std::size_t count, unsigned seed, double rare = 0);

/// What varies from frame to frame is drawn from the seed and the number of the frame.
struct DigitSceneConfig {
  ImageSize size{640, 480};
  int digits = 8;          ///< of a frame, 1 to 64, on one line
  double min_height = 24;  ///< of the digits' ink, in pixels: each frame has a height of its own,
  double max_height = 48;  ///< and its digits vary by 10 percent within the two limits
  double min_gap = 0.12;   ///< between neighbors, in units of the height of the frame's digits
  double max_gap = 0.5;
  double light_ratio = 2;      ///< brightest to darkest light in the frame, in a random direction
  double tilt = 20;            ///< of the paper against the image plane, at most, degrees
  double roll = 3;             ///< of the line in the image, at most, degrees
  double blur = 1;             ///< standard deviation, at most, pixels
  double noise = 5;            ///< standard deviation, gray levels
  double min_contrast = 0.45;  ///< of ink on paper: 1 is black on paper
  double max_contrast = 0.8;
  bool light_ink = false;  ///< the frame is inverted before the noise is added
  unsigned seed = 1;
};

struct DigitScene {
  GrayImage image;
  std::string string;  ///< the digits from left to right; of a form, with a line end between fields
  std::vector<Rect> fields;         ///< of a form
  std::vector<Rect> boxes;          ///< of the ink of the digits
  std::vector<std::size_t> images;  ///< the index of each digit in the DigitImages
};

/// Frame `number` of the sequence of scenes with this configuration. Digits are taken at random
/// from `digits`, which must not be empty. A line that is too wide for the frame is reduced to fit.
DigitScene make_digit_scene(const DigitSceneConfig& config, const DigitImages& digits, int number);

/// A field of a form.
struct FormField {
  Rect box;
  int digits = 0;  ///< 1 to 10
};
/// The 28 fields of a form of this size, at least 640x480, in reading order. They do not depend on
/// the frame.
std::vector<FormField> form_fields(ImageSize size);

/// Frame `number` of the sequence of forms: printed boxes near the fields, with outlines of one to
/// three pixels, and digits in them, some of which touch the outlines. The form is not exactly in
/// its place. Of the configuration, `digits`, the heights, gaps, tilt and roll have no meaning.
DigitScene make_form_scene(const DigitSceneConfig& config, const DigitImages& digits, int number);

}  // namespace ocellus::app
