// The classes of a model of the neocognitron.
#pragma once

#include <string>

#include "apps/io/image_batches.h"
#include "ocellus/neocognitron.h"

namespace ocellus::app {

struct CharacterNames : ClassNames {
  /// Reads the model. Throws InputError.
  explicit CharacterNames(const std::string& model)
      : ClassNames(take(Neocognitron::read_model_info(model.c_str()), "--model")) {}
};

/// Sides of images of a character.
inline constexpr int kLeastCharacterSide = 8;
inline constexpr int kLargestCharacterSide = 1024;

}  // namespace ocellus::app
