// Recognizes images of one character each, in batches: a batch is a frame of tiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/io/idx_file.h"
#include "apps/io/operator_run.h"
#include "apps/neocognitron/recognition_report.h"

namespace ocellus::app {

/// Images of characters with bright ink, and their labels.
struct CharacterImages {
  std::string images_file;
  std::string labels_file;  ///< empty: without labels
  IdxImages images;
  std::vector<std::uint8_t> labels;
};

/// Reads IDX files. `labels_file` may be empty. Throws InputError.
CharacterImages read_character_images(const std::string& images_file,
                                      const std::string& labels_file, CharacterInk ink);

/// The class of each label. Throws InputError if the model has none for one.
std::vector<int> classes_of(const CharacterImages& characters, const CharacterNames& names,
                            const std::string& model);

/// Makes a configuration one of batches of such images. Returns the number of images of a batch.
int set_batches(OperatorConfig& config, const IdxImages& images);

struct BatchTimes {
  std::vector<double> batch_ms;
  double total_ms = 0.0;
};

/// Recognizes all images, or those before an interruption. `run` has a configuration of batches of
/// `batch` images.
RecognitionResult recognize_batches(OperatorRun& run, const IdxImages& images, int batch,
                                    BatchTimes& times);

}  // namespace ocellus::app
