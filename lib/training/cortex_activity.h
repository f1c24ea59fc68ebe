// What the hypercolumns of a cortical classifier answer to the images of a training.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cortex/classifier.h"
#include "cortex/hebbian_features.h"
#include "ocellus/cortex_training.h"
#include "training/thread_team.h"

namespace ocellus::detail {

/// Gets the share of a piece of work that is done. Returns false if the work must stop.
using Progress = std::function<bool(double share)>;

/// Memory for one patch at a time.
class CortexScratchMemory {
 public:
  explicit CortexScratchMemory(const CortexShape& shape);
  CortexScratchMemory(const CortexScratchMemory&) = delete;
  CortexScratchMemory& operator=(const CortexScratchMemory&) = delete;

  CortexScratch scratch;

 private:
  std::vector<std::uint64_t> memory_;
};

/// Cells and activities of images.
class CortexActivities {
 public:
  /// Of the images and of their copies: copy k of image i of n has the number k n + i, the image
  /// itself is copy 0.
  CortexActivities(const CortexShape& shape, const LabeledImages& images,
                   const CortexTraining& training);

  /// Computes the cells. Returns false if `progress` stopped it.
  bool compute_cells(const LabeledImages& images, const CortexTraining& training, ThreadTeam& team,
                     const Progress& progress);

  std::size_t count() const noexcept { return count_; }
  /// What the hypercolumns of a level see: the cells, or the winners of the level below.
  void load(std::size_t image, int level, const CortexScratch& scratch) const noexcept;
  void store(std::size_t image, int hypercolumn, const CortexActivity& activity) noexcept;
  /// Active minicolumns of a hypercolumn, `competitors` of them, and their activities.
  const std::uint16_t* minicolumns(std::size_t image, int hypercolumn) const noexcept {
    return minicolumns_.data() + at(image, hypercolumn);
  }
  const std::uint16_t* shares(std::size_t image, int hypercolumn) const noexcept {
    return shares_.data() + at(image, hypercolumn);
  }

 private:
  std::size_t at(std::size_t image, int hypercolumn) const noexcept {
    return (image * static_cast<std::size_t>(shape_.hierarchy.hypercolumns) +
            static_cast<std::size_t>(hypercolumn)) *
           static_cast<std::size_t>(shape_.parameters.competitors);
  }

  const CortexShape& shape_;
  std::size_t count_;
  std::vector<std::uint8_t> cells_;         // [image][pixel]
  std::vector<std::uint16_t> minicolumns_;  // [image][hypercolumn][competitor]
  std::vector<std::uint16_t> shares_;
};

/// A distorted copy of an image: rotation, scale, shear and shift around the center, interpolated
/// between four pixels. Outside of the image is 0.
void draw_copy(const LabeledImages& images, std::size_t image, int copy,
               const CortexTraining& training, std::uint8_t* out);

/// Runs body(i, scratch, go_on) for i from 0 to count - 1 on the threads of the team, in any order.
/// A long part calls `go_on` often, with the share of the part that is done, and returns when it is
/// false. The calling thread asks `progress`, which may be empty, with the share of all parts.
/// Returns false if `progress` stopped it.
bool for_each_part(
    const CortexShape& shape, int count, ThreadTeam& team,
    const std::function<void(int part, const CortexScratch& scratch, const Progress& go_on)>& body,
    const Progress& progress);

/// After so many images, work asks whether it may go on.
inline constexpr int kImagesBetweenProgress = 64;

/// Names of the classes, or the numbers. Errors: InvalidArgument.
Expected<std::vector<std::string>> names_of(const LabeledImages& images);

/// A read-out in the units of the model.
struct LearnedReadOut {
  std::vector<std::int16_t> read_out;
  std::vector<std::int32_t> class_bias;
};

/// (c) of ocellus/cortex_training.h. `all`: activity of each minicolumn in the `shown` images, in
/// units of 1 / kCortexActivityOne; `counts`: in those of a class, [minicolumn][class]; `images`:
/// of each class.
LearnedReadOut read_out_of_counts(const std::vector<std::int64_t>& all,
                                  const std::vector<std::int64_t>& counts,
                                  const std::vector<std::int64_t>& images, std::size_t shown,
                                  double prior);

/// The sharpness that gives the right classes the largest likelihood. `evidence`: [image][class].
float fit_sharpness(const std::vector<std::int64_t>& evidence, std::size_t classes,
                    const std::vector<std::uint16_t>& right);
/// Images with labels that a first read-out does not learn: every tenth one.
inline constexpr std::size_t kHoldOut = 10;
/// From fewer images with labels the confidence is not fitted.
inline constexpr std::size_t kLeastToFit = 100;

/// Learns a read-out from the images of `which`, copies included. `labels`: of the images without
/// copies. None: `progress` stopped it.
std::optional<LearnedReadOut> learn_read_out(const CortexShape& shape,
                                             const CortexActivities& activities,
                                             const std::vector<std::uint16_t>& labels,
                                             const std::vector<std::uint32_t>& which,
                                             const CortexTraining& training,
                                             const Progress& progress);

/// A hypercolumn that learns, and what it learns from.
struct LearningHypercolumn {
  const CortexShape& shape;
  int level;
  int hypercolumn;
  const CortexActivities& activities;
  const CortexTraining& training;
  const CortexScratch& scratch;
  const ProbabilityTables& tables;
  const Progress& go_on;  ///< of this hypercolumn
};

/// The arrays of a model while it learns, as CortexArrays.
struct FeatureArrays {
  std::int8_t* weights;
  std::int32_t* bias;
  std::uint16_t* fields;
};

/// Learns the features of one hypercolumn: its rows of the arrays. Returns early when `go_on` says
/// so.
void learn_features(const LearningHypercolumn& learning, const FeatureArrays& arrays);

// ---- receptive fields of free inputs, chosen by mutual information

/// I of each input in (g) of ocellus/cortex_training.h, in nats. `active`: P_m, whose sum is 1;
/// `joint`: P_im, [minicolumn][input].
std::vector<double> mutual_information(std::span<const double> active,
                                       std::span<const double> joint);

/// Exchanges inputs of a field for others with more information: the least for the most, as long
/// as there is a gain, at most `exchanges` of them. `field`: numbers of inputs, ascending before
/// and after. The lower number decides between equals. Returns the number of exchanges.
int rewire(std::span<std::uint16_t> field, std::span<const double> information, int exchanges);

/// A random field: `field.size()` of `inputs` inputs, ascending. `hypercolumn` has its own one.
void draw_field(std::uint64_t seed, int hypercolumn, int inputs, std::span<std::uint16_t> field);

}  // namespace ocellus::detail
