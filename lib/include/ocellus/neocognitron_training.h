// Learning of a neocognitron from labeled images. Not for the real-time path: these calls take
// seconds to an hour and allocate memory. A lack of memory ends the program. Link
// ocellus::training.
//
// Sources: Fukushima, Neurocomputing 51, 2003 (seed cells, dual thresholds, supervised
// competition); Fukushima, Shouno, IJCNN 2016 (margin of the winner); Seo, Obermayer, Neural
// Computation 15, 2003 (soft learning vector quantization). ocellus/neocognitron_model.h has the
// equations.
//
// Stage 1 is fixed: edges of 16 orientations. Stages 2 and 3 learn without labels. For each image,
// the cells with the largest output of their surroundings become seeds, at most one for each plane,
// and their inputs are added to the weights of their planes. Where there is input but all cells are
// silent, a new plane begins. Stage 4 learns with labels: an image that is recognized by too small
// a margin, or wrongly, becomes a new reference of its class; otherwise it is added to the most
// similar reference of its class. At the end, the references are tuned: those that make an image
// similar to its class move towards it, those that make it similar to other classes move away. The
// result does not depend on the number of threads.
//
// A network that has learned can learn more images and more classes (`extend_neocognitron`).
// Training can be stopped and go on later (`TrainingCheckpoint`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ocellus/frame.h"
#include "ocellus/labeled_images.h"
#include "ocellus/neocognitron_model.h"
#include "ocellus/status.h"

namespace ocellus {

/// How stages 2 and 3 learn.
struct FeatureLearning {
  float threshold = 0.66f;  ///< theta while it learns; above the one at recognition
  float radius = 2.5f;      ///< of the surroundings in which one seed is chosen, in cells
  /// Cells with less input than this share of the image's largest v learn nothing.
  float least_input = 0.5f;
  int planes = 64;    ///< at most
  int images = 4000;  ///< from which it learns, the first ones; 0: all
  /// A winner deletes the planes that also answer where it has learned (winner-kill-loser,
  /// Fukushima, Neural Networks 23, 2010).
  bool kill_losers = false;
};

/// How the references of stage 4 are tuned. Class c has the probability
///
///   p(c) = exp(sharpness s(c)) / sum over all classes i of exp(sharpness s(i))
///
/// where s(c) is its similarity to the image. The one or two references that determine s(c) move by
/// rate (1 - p(c)) along the gradient of s(c) for the class of the image, and by -rate p(c) for
/// other classes. The rate decreases to 0 over all passes. Weights of stage 4 may become negative.
struct ReferenceTuning {
  static constexpr int kEnoughPasses = -1;

  /// Over all images, each time with another distortion. 0: no tuning; kEnoughPasses: so many that
  /// 60,000 images are shown, 6 to 60. At most 1000
  int passes = kEnoughPasses;
  float rate = 0.3f;        ///< of unit vectors, 0 to 1
  float sharpness = 40.0f;  ///< 1 to 1000
};

/// The state of a training, from which it goes on to the same result. Both hashes must fit the
/// images and the settings of the call that resumes.
struct TrainingCheckpoint {
  std::uint64_t images_hash = 0;
  std::uint64_t settings_hash = 0;
  int stage = 1;                                ///< the last complete one, 1 to 3
  std::array<int, 2> planes{};                  ///< K2 and K3; 0: not learned
  std::array<std::vector<float>, 2> weights{};  ///< of stages 2 and 3, as in TrainedNeocognitron
  // Stage 4.
  int passes = 0;                       ///< complete ones; those of the tuning follow the others
  std::uint64_t position = 0;           ///< images that the next pass has learned
  int added = 0;                        ///< references that the next pass has added
  std::vector<std::uint16_t> labels{};  ///< class of each reference, the oldest first
  std::vector<float> references{};      ///< a(v, kappa, k) of each reference, one after another
  std::vector<double> squares{};        ///< b(k)^2
  /// Sums of a(v, kappa, i) a(v, kappa, j) / c(v) for references j < i of one class, in the order
  /// of i, then of j.
  std::vector<double> products{};
  std::vector<float> smallest_products{};  ///< bounds of the read-out, one for each reference
};

struct NeocognitronTraining {
  NeocognitronParameters parameters{};
  PatchNormalization normalization{};
  std::array<FeatureLearning, 2> features{
      {{0.66f, 2.5f, 0.5f, 32, 4000}, {0.67f, 2.5f, 0.5f, 96, 4000}}};
  /// An image whose class wins by less over every other class becomes a reference. Below 0, it
  /// becomes one only if another class wins by more than this. -0.5 to 0.5
  float margin = 0.02f;
  /// At most, 0 to kMaxReferences; 0: 25 for each class of the images, beside those of a network
  /// that learns more.
  int references = 0;
  int passes = 1;  ///< over all images, at most; it ends when all are recognized
  /// Distorted copies of each image, from which stage 4 learns, too: 0 to 100.
  int copies = 0;
  ReferenceTuning tuning{};
  float rotation = 8.0f;  ///< of the copies and while tuning: at most, degrees
  float scale = 0.1f;     ///< logarithm of the factors along x and y, at most
  float shear = 0.15f;    ///< at most
  float bend = 0.0f;      ///< displacement of each point of a grid over the image, pixels of 65
  float stroke = 0.0f;  ///< by how much strokes become wider or narrower at each side, pixels of 65
  std::uint64_t seed = 1;
  int threads = 0;  ///< 1 to 1024; 0: one for each CPU that the process may use
  /// Distorted copies that stage 4 does not learn: `train_neocognitron` fits the confidence to
  /// them. It makes at most four of each image on average. 0: the confidence keeps its default. 0
  /// to 1e6
  int calibration_copies = 2000;
  /// Name of the class of images that are no characters: parts of characters, two characters,
  /// marks, texture. Empty: there is none. A network that learns more keeps the class that it has.
  std::string other{};
  /// Called from time to time by the thread that trains. False: stop.
  std::function<bool(const char* what, double share)> progress{};
  /// Called at the end of each stage, in stage 4 after each `checkpoint_images` images, and when
  /// `progress` stops stage 4. False: stop.
  std::function<bool(const TrainingCheckpoint& state)> checkpoint{};
  std::uint64_t checkpoint_images = 16384;     ///< 1 or more; rounded up to a multiple of 16
  const TrainingCheckpoint* resume = nullptr;  ///< where to go on; null: at the begin
};

/// A network that has learned.
struct TrainedNeocognitron {
  NeocognitronParameters parameters{};
  PatchNormalization normalization{};
  std::vector<std::string> names{};               ///< of the classes
  bool has_other = false;                         ///< the last class is what is no character
  std::array<int, kNeocognitronStages> planes{};  ///< 16, K2, K3, K4
  /// a(v, kappa, k) / b(k) of each S-layer at [(v * planes below + kappa) * planes + k], rounded to
  /// binary16
  std::array<std::vector<float>, kNeocognitronStages> weights{};
  std::vector<std::uint16_t> labels{};  ///< class of each reference, in ascending order
  std::vector<float> lengths{};         ///< b(k) of each reference before the division
  ConfidenceCalibration calibration{};
  CharacterOdds odds{};
  std::vector<CharacterSize> sizes{};  ///< of each class of characters; empty: unknown

  /// Classes of characters.
  std::size_t characters() const noexcept { return names.size() - (has_other ? 1 : 0); }
};

/// Errors: InvalidArgument (a parameter, or images, labels and the state to resume that do not
/// fit), Unsupported (stopped by `progress` or `checkpoint`), System (a thread that does not
/// start).
Expected<TrainedNeocognitron> train_neocognitron(const LabeledImages& images,
                                                 const NeocognitronTraining& training) noexcept;

/// Stage 4 of a trained network learns more images. Stages 1 to 3, parameters, normalization and
/// calibration stay. Classes are the same if their names are: an image of a name that the network
/// does not have begins a new class. The network does not see its earlier images again: with a
/// margin of 0 and no copies, new classes win few images of the old ones. Tuning moves new
/// references only. `features`, `parameters`,
/// `normalization` and `calibration_copies` of `training` are not used. Errors: those of
/// `train_neocognitron`.
Expected<TrainedNeocognitron> extend_neocognitron(const TrainedNeocognitron& network,
                                                  const LabeledImages& images,
                                                  const NeocognitronTraining& training) noexcept;

/// Adds digits in styles that the images may lack: ones with an upstroke or a foot, sevens with a
/// bar through the stem or with a serif. They are images of the classes "1" and "7" with more
/// strokes, which have the width of the image's own stroke. Images that are not plain enough add
/// none. `share`: how many each image of these classes adds on average, 0 to 4. Returns how many
/// were added, behind the others. Errors: InvalidArgument (images, share).
Expected<std::size_t> add_digit_styles(LabeledImages& images, double share,
                                       std::uint64_t seed) noexcept;

inline constexpr int kNoClass = -1;

/// A character in a frame.
struct LabeledBox {
  Rect box{};
  std::uint16_t label = 0;
};

/// Cuts characters out of a frame and appends them to `images`, whose size is set, so that a
/// network learns the hands of its user. Each one is added as the layout `boxes` of the operator
/// cuts it. Where the layout `find` has a candidate in nearly the same place, that is added, too.
/// Characters larger than the images are reduced. A box without ink adds nothing. Returns how many
/// images were added. With `other`, the candidates that share less than half of their area with
/// every box are added with this label: they are no characters. Errors: InvalidArgument (a frame
/// that is not gray of 8 bits in host memory, the size of the images, boxes).
Expected<std::size_t> add_characters(const Frame& frame, std::span<const LabeledBox> boxes,
                                     LabeledImages& images, int other = kNoClass) noexcept;

/// What a network says of an image.
struct CharacterScores {
  int best = -1;            ///< class of characters; -1: no ink
  float similarity = 0.0f;  ///< of the best class, 0 to 1
  float margin = 0.0f;      ///< over the second best class of characters
  float other = 0.0f;       ///< similarity to what is no character

  /// Over everything else: below 0 if the image is no character.
  float lead() const noexcept { return margin < similarity - other ? margin : similarity - other; }
};

/// Recognizes all images. Errors: InvalidArgument (images), Unsupported (stopped by `progress`),
/// System (a thread that does not start).
Expected<std::vector<CharacterScores>> recognize(
    const TrainedNeocognitron& network, const LabeledImages& images, int threads = 0,
    const std::function<bool(const char* what, double share)>& progress = {}) noexcept;

/// The class of each image in the network, by the names; kNoClass if the network does not have it.
std::vector<int> classes_of(const TrainedNeocognitron& network,
                            const LabeledImages& images) noexcept;

/// Fits the confidence to answers of images that were not learned, whose classes are known. The
/// fewer the mistakes, the nearer the result to `prior`. Errors: InvalidArgument (numbers of scores
/// and classes).
Expected<ConfidenceCalibration> fit_confidence(const std::vector<CharacterScores>& scores,
                                               const std::vector<int>& classes,
                                               const ConfidenceCalibration& prior = {}) noexcept;

/// A frame whose characters are known, from left to right. `label`: class of the network.
struct LabeledFrame {
  Frame frame{};
  std::vector<LabeledBox> boxes{};
};

/// How well characters are chosen.
struct ChoiceFit {
  std::size_t characters = 0;  ///< candidates that are characters
  std::size_t others = 0;      ///< candidates that are not
  std::size_t frames = 0;
  int strings = 0;  ///< frames all of whose characters are read
  /// What the network says of these candidates, and their classes, for `fit_confidence`.
  std::vector<CharacterScores> scores{};
  std::vector<int> classes{};  ///< kNoClass: no character
};

/// Fits the choice among candidates (`odds` and `sizes` of the network) to frames that the network
/// did not learn. Errors: InvalidArgument (frames or boxes as in `add_characters`, labels, no
/// candidates of both kinds), Unsupported (stopped by `progress`), System (a thread that does not
/// start).
Expected<ChoiceFit> fit_choice(
    TrainedNeocognitron& network, std::span<const LabeledFrame> frames, int threads = 0,
    const std::function<bool(const char* what, double share)>& progress = {}) noexcept;

/// The bytes of a model file, for the operator and for `read_neocognitron`. `note` tells readers
/// where the model comes from. Errors: InvalidArgument (arrays or names that do not fit).
Expected<std::vector<std::uint8_t>> encode_neocognitron(const TrainedNeocognitron& network,
                                                        const std::string& note) noexcept;

/// Reads a model file, or a model of the library by its name. Errors: InvalidArgument (empty path),
/// IoError, CorruptFile, OutOfMemory.
Expected<TrainedNeocognitron> read_neocognitron(const char* path) noexcept;

/// The bytes of a file with the state of a training.
std::vector<std::uint8_t> encode_checkpoint(const TrainingCheckpoint& state) noexcept;

/// Reads such a file. Errors: InvalidArgument (empty path), IoError, CorruptFile, OutOfMemory.
Expected<TrainingCheckpoint> read_checkpoint(const char* path) noexcept;

}  // namespace ocellus
