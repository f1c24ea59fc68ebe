// The answers of the neocognitron on labeled images: accuracy, confusions, rejection and a picture
// of the mistakes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/io/image_batches.h"
#include "ocellus/neocognitron.h"

namespace ocellus::app {

/// The classes of a model of the neocognitron.
struct CharacterNames : ClassNames {
  /// Reads the model. Throws InputError.
  explicit CharacterNames(const std::string& model)
      : ClassNames(take(Neocognitron::read_model_info(model.c_str()), "--model")) {}
};

/// Sides of images of a character.
inline constexpr int kLeastCharacterSide = 8;
inline constexpr int kLargestCharacterSide = 1024;

/// What remains when answers of less confidence are rejected.
struct RejectionPoint {
  double min_confidence = 0.0;
  double answered = 0.0;  ///< share of the images
  double accuracy = 0.0;  ///< share of right answers among them; 1 if there are none
};
std::vector<RejectionPoint> rejection_curve(const RecognitionResult& result);

/// Adds "accuracy", "confusion" (a row for each right class, a column for each answer, the last one
/// for images without ink) and "rejection".
void add_accuracy_json(nlohmann::ordered_json& json, const RecognitionResult& result,
                       const CharacterNames& names);
/// Prints the same.
void print_accuracy(const RecognitionResult& result, const CharacterNames& names);

/// Writes a PNG file with the first 400 images that are read wrongly, dark on white, each above its
/// label and the answer. Throws InputError.
void write_mistakes(const std::string& path, const IdxImages& images,
                    const RecognitionResult& result, const CharacterNames& names);

}  // namespace ocellus::app
