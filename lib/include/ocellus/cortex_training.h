// Learning of a cortical classifier. Not for the real-time path: these calls take seconds to
// minutes and allocate memory. A lack of memory ends the program. Link ocellus::training.
//
// ocellus/cortex_model.h has the equations of the classifier. Learning has two parts:
//
// 1. Features, without labels. The hypercolumns of a level learn independently of each other, the
//    lowest level first. A minicolumn first fires once at random: it begins with the input of an
//    image. Then images are shown in random order. The winner of (a) moves its probabilities
//    towards its input (Hebb), P_i += max(1 / n, least_rate) (x_i - P_i), where n counts its wins.
//    P and the rate are fixed-point numbers, w and b come from a table, so all of it is exact in
//    integers. CortexRule::kBcpnn learns by another rule, below.
// 2. The read-out of the activities, with labels. By Hebb and Bayes, in one pass that only counts:
//
//      R_hc(m) = log(p_h(m | c) / p_h(m)),   p_h(m | c) = (n_h(m, c) + prior p_h(m)) / (n(c) +
//      prior)
//
//    where n_h(m, c) is the activity of m over images of class c, n(c) their number, and p_h(m) the
//    mean activity over all images, with and without labels. r_c = log(n(c) / n). By the delta
//    rule: R_hc(m) += rate a_m (t_c - y_c), r_c += rate (t_c - y_c), where t_c is 1 for the class
//    of the image and 0 for others, and y is (d) with the sharpness 1. It uses only what is at the
//    synapse: its input and the error of its output. The rate decreases linearly to 0.
//
// The sharpness of the confidence is fitted to images that a first read-out has not learned.
//
// CortexRule::kBcpnn is the Bayesian confidence propagation neural network: Lansner, Ekeberg,
// International Journal of Neural Systems 1, 1989; Sandberg et al., Network 13, 2002 (traces);
// Ravichandran, Lansner, Herman, IJCNN 2020 (hidden layers, rewired fields). Every active
// minicolumn of (b) learns. After each `batch` of images, the traces move towards the means over
// the batch of the activities a_m and of their products with the inputs,
//
//   P_m += rate (mean a_m - P_m),   P_im += rate (mean x_i a_m - P_im),                      (e)
//
// and with P_i = sum of P_im over m, the weights are logarithms of probability ratios:
//
//   w_im = log(P_im / (P_i P_m)),   b_m = bias_gain log P_m.                                 (f)
//
// The factor 1 / P_i is the same for all minicolumns and does not change (b). It is left out, so
// that w keeps its range. With `off_cells`, the off-on cells 1 - x_i have weights by (f), too, in
// the form of (a): w_im is the difference of both weights of a pixel, and b_m has the sum over the
// off-on cells.
//
// Free fields (CortexParameters::fields) begin at random. `rewirings` times, at most `exchanges`
// inputs of a hypercolumn are exchanged: those with the least mutual information with the
// activity for the pixels outside of the field that have the most,
//
//   I_i = sum over m of P_im log(P_im / (P_i P_m)) + (P_m - P_im) log((P_m - P_im) / ((1 - P_i)
//   P_m)).                                                                                  (g)
//
// P_im is learned for the pixels outside of the field, too. By Hebb's rule, P_im in (g) is the
// probability of a minicolumn times its share of the wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ocellus/cortex_model.h"
#include "ocellus/labeled_images.h"
#include "ocellus/status.h"

namespace ocellus {

enum class CortexReadOut : std::uint8_t { kBayes, kDelta };

struct CortexTraining {
  CortexParameters parameters{};  ///< width and height are those of the images
  int feature_images = 40000;     ///< shown to each hypercolumn, 1 to 1e8
  CortexRule rule = CortexRule::kHebb;
  float least_rate = 0.002f;  ///< kHebb: 1e-4 to 1
  int batch = 128;            ///< kBcpnn: images of an update, 1 to 1e6
  float trace_rate = 0.01f;   ///< kBcpnn: of an update, 1e-4 to 1
  float bias_gain = 1.0f;     ///< kBcpnn: in (f), -100 to 100
  bool off_cells = true;      ///< kBcpnn: whether dark pixels count
  int rewirings = 100;        ///< of free fields, 0 to 1e5
  int exchanges = 8;          ///< of inputs in a rewiring, at most, 1 to 4096
  CortexReadOut read_out = CortexReadOut::kDelta;
  /// Images of each class whose labels are used, the first ones; the others serve the features
  /// only. 0: all
  int labels_per_class = 0;
  float prior = 1.0f;  ///< kBayes: weight of p_h(m), in images, 0.001 to 1000
  int passes = 6;      ///< kDelta: over the images with labels, 1 to 1000
  float rate = 0.05f;  ///< kDelta: at the begin, 0 to 1
  /// Distorted copies of each image, from which features and read-out learn, too: 0 to 100.
  int copies = 0;
  float rotation = 8.0f;  ///< of a copy, at most, 0 to 45 degrees
  float scale = 0.1f;     ///< logarithm of the factors along x and y, at most, 0 to 1
  float shear = 0.1f;     ///< at most, 0 to 1
  float shift = 0.7f;     ///< along x and y, at most, 0 to 8 pixels
  std::uint64_t seed = 1;
  int threads = 0;  ///< 1 to 1024; 0: one for each CPU that the process may use
  /// Called from time to time by the thread that trains. False: stop.
  std::function<bool(const char* what, double share)> progress{};
};

/// A classifier that has learned.
struct TrainedCortex {
  CortexParameters parameters{};
  CortexRule rule = CortexRule::kHebb;     ///< by which the features were learned
  std::vector<std::string> names{};        ///< of the classes
  std::vector<std::int8_t> weights{};      ///< w of all levels, [hypercolumn][input][minicolumn]
  std::vector<std::int32_t> bias{};        ///< b, [hypercolumn][minicolumn]
  std::vector<std::int16_t> read_out{};    ///< R, [hypercolumn][minicolumn][class]
  std::vector<std::int32_t> class_bias{};  ///< r, [class]
  /// Pixels (y * width + x) of the free fields, ascending: [hypercolumn][input]
  std::vector<std::uint16_t> fields{};
  float sharpness = 0.0f;  ///< in (d), above 0, at most 1000
  /// P of an operator that learned, in units of 2^-31, [hypercolumn][minicolumn][input]; 0 for
  /// minicolumns that are only room. Empty: the model does not have it.
  std::vector<std::uint32_t> probabilities{};
};
// The arrays have room for a multiple of 32 minicolumns in each hypercolumn.

/// Errors: InvalidArgument (a parameter, or images and labels that do not fit), Unsupported
/// (stopped by `progress`), System (a thread that does not start). The result does not depend on
/// the number of threads.
Expected<TrainedCortex> train_cortex(const LabeledImages& images,
                                     const CortexTraining& training) noexcept;

/// The answer to an image.
struct CortexAnswer {
  int label = 0;            ///< class
  float confidence = 0.0f;  ///< 0 to 1
};

/// Classifies all images. Errors: InvalidArgument (images of another size, a model that does not
/// fit), Unsupported (stopped by `progress`), System (a thread that does not start).
Expected<std::vector<CortexAnswer>> classify(
    const TrainedCortex& cortex, const LabeledImages& images, int threads = 0,
    const std::function<bool(const char* what, double share)>& progress = {}) noexcept;

/// The bytes of a model file, for the operator and for `read_cortex`. `note` tells readers where
/// the model comes from. Errors: InvalidArgument (arrays or names that do not fit).
Expected<std::vector<std::uint8_t>> encode_cortex(const TrainedCortex& cortex,
                                                  const std::string& note) noexcept;

/// Reads a model file. Errors: InvalidArgument (empty path), IoError, CorruptFile, OutOfMemory.
Expected<TrainedCortex> read_cortex(const char* path) noexcept;

}  // namespace ocellus
