// Images of characters, drawn and cut out of frames, from which ocellus train digits learns beside
// the images that it is given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/io/image_io.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::app {

/// A frame whose characters are known.
struct TrainingFrame {
  GrayImage image;
  std::vector<LabeledBox> boxes;
};

/// Gives the classes that have no names yet the names that training gives them: their numbers.
void name_classes(LabeledImages& images);

/// The index of a name, which is added if it is not there.
std::uint16_t label_of(std::vector<std::string>& names, const std::string& name);

/// Adds `count` digits drawn from strokes, most of them in styles that are common in some countries
/// only. Throws InputError if the classes are not the digits.
void add_drawn_digits(LabeledImages& images, std::size_t count, std::uint64_t seed);

/// `lines` frames with a line of digits of `images`, whose neighbors may touch, and others with a
/// texture or strokes, but no digit. Throws InputError if the classes are not the digits.
std::vector<TrainingFrame> make_training_frames(const LabeledImages& images, int lines, int others,
                                                std::uint64_t seed);

/// Adds the characters of a frame, whose labels are classes of the images. With the name of a class
/// of what is no character, the pieces of ink that are none belong to it. Throws InputError.
void add_training_frame(LabeledImages& images, const TrainingFrame& frame,
                        const std::string& other);

}  // namespace ocellus::app
