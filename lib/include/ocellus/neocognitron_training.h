// Learning of a neocognitron from labeled images. Not for the real-time path: these calls take
// seconds to an hour and allocate memory. A lack of memory ends the program. Link
// ocellus::training.
//
// Sources: Fukushima, Neurocomputing 51, 2003 (seed cells, dual thresholds, supervised
// competition); Fukushima, Shouno, IJCNN 2016 (margin of the winner); ocellus/neocognitron_model.h
// has the equations.
//
// Stage 1 is fixed: edges of 16 orientations. Stages 2 and 3 learn without labels. For each image,
// the cells with the largest output of their surroundings become seeds, at most one for each plane,
// and their inputs are added to the weights of their planes. Where there is input but all cells are
// silent, a new plane begins. Stage 4 learns with labels: an image that is recognized by too small
// a margin, or wrongly, becomes a new reference of its class; otherwise it is added to the most
// similar reference of its class. The result does not depend on the number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ocellus/neocognitron_model.h"
#include "ocellus/status.h"

namespace ocellus {

/// Images of one size with their classes.
struct LabeledImages {
  int width = 0;                      ///< 8 to 1024 pixels
  int height = 0;                     ///< 8 to 1024 pixels
  std::vector<std::uint8_t> ink;      ///< 0: background, 255: ink; image after image, row after row
  std::vector<std::uint16_t> labels;  ///< class of each image, 0 to kMaxCharacterClasses - 1
  /// Names of the classes, 1 to 31 printable characters without spaces; empty: "0", "1" and so on.
  std::vector<std::string> names;

  std::size_t count() const noexcept { return labels.size(); }
};

/// How stages 2 and 3 learn.
struct FeatureLearning {
  float threshold = 0.66f;  ///< theta while it learns; above the one at recognition
  float radius = 2.5f;      ///< of the surroundings in which one seed is chosen, in cells
  /// Cells with less input than this share of the image's largest v learn nothing.
  float least_input = 0.5f;
  int planes = 64;    ///< at most
  int images = 4000;  ///< from which it learns, the first ones; 0: all
};

struct NeocognitronTraining {
  NeocognitronParameters parameters;
  PatchNormalization normalization;
  std::array<FeatureLearning, 2> features{
      {{0.66f, 2.5f, 0.5f, 32, 4000}, {0.67f, 2.5f, 0.5f, 96, 4000}}};
  /// An image whose class wins by less over every other class becomes a reference. 0 to 0.5
  float margin = 0.02f;
  int references = kMaxReferences;  ///< at most
  int passes = 4;                   ///< over all images, at most; it ends when all are recognized
  /// Distorted copies of each image, from which stage 4 learns, too: 0 to 100.
  int copies = 2;
  float rotation = 8.0f;  ///< of the copies: at most, degrees
  float scale = 0.1f;     ///< logarithm of the factors along x and y, at most
  float shear = 0.15f;    ///< at most
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: one for each CPU that the process may use
  /// Called from time to time by the thread that trains. False: stop.
  std::function<bool(const char* what, double share)> progress;
};

/// A network that has learned.
struct TrainedNeocognitron {
  NeocognitronParameters parameters;
  PatchNormalization normalization;
  std::vector<std::string> names;                 ///< of the classes
  std::array<int, kNeocognitronStages> planes{};  ///< 16, K2, K3, K4
  /// a(v, kappa, k) / b(k) of each S-layer at [(v * planes below + kappa) * planes + k], rounded to
  /// binary16
  std::array<std::vector<float>, kNeocognitronStages> weights;
  std::vector<std::uint16_t> labels;  ///< class of each reference, in ascending order
  std::vector<float> lengths;         ///< b(k) of each reference before the division
};

/// Errors: InvalidArgument (a parameter, or images and labels that do not fit), Unsupported
/// (stopped by `progress`).
Expected<TrainedNeocognitron> train_neocognitron(const LabeledImages& images,
                                                 const NeocognitronTraining& training) noexcept;

/// What a network says of an image.
struct CharacterScores {
  int best = -1;            ///< class; -1: no ink
  float similarity = 0.0f;  ///< of the best class, 0 to 1
  float margin = 0.0f;      ///< over the second best class
};

/// Recognizes all images. Errors: those of `train_neocognitron`.
Expected<std::vector<CharacterScores>> recognize(const TrainedNeocognitron& network,
                                                 const LabeledImages& images,
                                                 int threads = 0) noexcept;

/// The bytes of a model file, for the operator and for `read_neocognitron`. `note` tells readers
/// where the model comes from. Errors: InvalidArgument (arrays or names that do not fit).
Expected<std::vector<std::uint8_t>> encode_neocognitron(const TrainedNeocognitron& network,
                                                        const std::string& note) noexcept;

/// Reads a model file. Errors: InvalidArgument (empty path), IoError, CorruptFile.
Expected<TrainedNeocognitron> read_neocognitron(const char* path) noexcept;

}  // namespace ocellus
