// Learning of stage 4, with labels, and its read-out.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "neocognitron/references.h"
#include "ocellus/neocognitron_training.h"
#include "training/layer_run.h"
#include "training/thread_team.h"
#include "training/weight_bank.h"

namespace ocellus::detail {

/// The references of a class while they learn: what ClassReferences refers to.
class ClassProducts {
 public:
  explicit ClassProducts(bool interpolate) noexcept : interpolate_(interpolate) {}

  /// Numbers of the planes, in the order of the matrices.
  const std::vector<int>& members() const noexcept { return members_; }
  ClassReferences view() const noexcept;

  /// A plane begins, or learns, with an input. `raw`: the sum of a(v, kappa, i) u for each member
  /// i, before. `factor`: of the input, see WeightBank. `bank`: all lengths, after it.
  void add(int plane, std::span<const double> raw, const WeightBank& bank);
  void learn(int plane, std::span<const double> raw, double factor, const WeightBank& bank);
  /// The weights of a plane were multiplied by `factor`.
  void scale(int plane, double factor, const WeightBank& bank);

  /// For checkpoints: the sum of a(v, kappa, i) a(v, kappa, j) / c(v) of two members, and the bound
  /// of the read-out of a member.
  double raw(std::size_t i, std::size_t j) const { return raw_[i * capacity_ + j]; }
  float smallest(std::size_t member) const { return smallest_[member]; }
  void set_smallest(std::size_t member, float value) { smallest_[member] = value; }

 private:
  template <typename Change>
  void change(int plane, const WeightBank& bank, const Change& change);
  void refresh(std::size_t member, const WeightBank& bank);

  bool interpolate_;
  std::vector<int> members_;
  std::size_t capacity_ = 0;
  std::vector<double> raw_;  // sum of a(v, kappa, i) a(v, kappa, j) / c(v)
  std::vector<float> products_;
  std::vector<float> scales_;
  std::vector<float> smallest_;
};

/// What stage 4 says of an image.
struct ClassScores {
  std::vector<float> similarity;  ///< of each class
  int best = -1;
  float margin = 0.0f;  ///< of the best class over the second best
};
void rank(ClassScores& scores);
/// By how much a class is more similar than every other class, -1 to 1.
float lead_of(const ClassScores& scores, std::uint16_t label);

struct ReferenceLearning {
  float margin = 0.0f;
  int references = 0;
  int passes = 0;
  std::uint64_t seed = 0;
};

/// What `tune` needs beside ReferenceTuning.
struct TuningRun {
  ReferenceTuning tuning;
  int passes_before = 0;  ///< complete ones of `learn`
  int first = 0;          ///< the first reference that may move
  std::uint64_t seed = 0;
  /// Computes the C-cells of stage 3 of an image in a pass, in any thread.
  std::function<void(std::size_t image, int pass, int thread, StoredCells& cells)> run;
};

class ReferenceTrainer {
 public:
  /// `window`: of US4. `interpolate`: see NeocognitronParameters. `window` and `team` must outlive
  /// the object.
  ReferenceTrainer(const CellWindow& window, int in_planes, int classes, bool interpolate,
                   ThreadTeam& team);

  /// When `save` is called: at the end, when `progress` stops, and after this number of images of a
  /// pass. 0: never. `save` returns false to stop.
  struct Checkpoints {
    std::uint64_t images = 0;
    std::function<bool()> save;
  };

  /// Learns from the C-cells of stage 3. False: stopped by `save` or by `progress`, which gets the
  /// pass and the share of the images.
  bool learn(const ReferenceLearning& learning, std::span<StoredCells> images,
             std::span<const std::uint16_t> labels,
             const std::function<bool(int, double)>& progress, const Checkpoints& checkpoints);

  /// After `learn`: moves the references, see ReferenceTuning. Reports and saves as `learn` does.
  bool tune(const TuningRun& run, std::span<const std::uint16_t> labels,
            const std::function<bool(int, double)>& progress, const Checkpoints& checkpoints);

  /// Before `learn`: the references of a network that has the same planes of stage 3, as the first
  /// ones. False: stopped by `progress`, which gets the share of the references.
  bool start_from(const TrainedNeocognitron& network, const std::function<bool(double)>& progress);
  /// Before `learn`: goes on from a state. Errors: InvalidArgument (its arrays do not fit).
  Expected<void> restore(const TrainingCheckpoint& state);
  /// Writes the members of stage 4.
  void save(TrainingCheckpoint& state) const;

  const WeightBank& bank() const noexcept { return bank_; }
  std::uint16_t label(int plane) const { return labels_[static_cast<std::size_t>(plane)]; }

 private:
  /// An image and its similarities to the references.
  struct Image {
    std::vector<std::vector<SimpleInput>> inputs;  // of each position
    std::vector<float> v;
    AlignedFloats similarities;  // [position * room + plane]
    int room = 0;
    ClassScores scores;

    float& at(int position, int plane) const noexcept {
      return similarities.get()[position * room + plane];
    }
  };
  /// The vector nearest to an image among the references of a class and those between two of them.
  struct Nearest {
    int position = -1;  ///< -1: no reference is similar
    struct Part {
      int plane = -1;
      float share = 0.0f;  ///< of the unit vector of the plane
    };
    std::array<Part, 2> parts;
  };
  struct Changed {
    int plane;
    float length;  ///< before
  };
  /// Passes over all images, in groups.
  struct Passes {
    int first = 0;  ///< number of the first one
    int count = 0;
    std::uint64_t seed = 0;  ///< of the orders
    std::function<StoredCells&(std::size_t image, int pass, int thread)> cells;
    /// Called for one image after the other. `done`: share of all passes.
    std::function<void(Image& image, std::uint16_t label, double done)> learn;
    std::function<void()> end_group;
    std::function<bool()> end_pass;  ///< true: there is nothing left to learn
  };

  bool run_passes(const Passes& passes, std::span<const std::uint16_t> labels,
                  const std::function<bool(int, double)>& progress, const Checkpoints& checkpoints);
  void read(Image& image, StoredCells& cells) const;
  void compare_block(Image& image, std::size_t block) const;
  float compare(const Image& image, int plane, int position) const;
  void compare(Image& image, int plane) const;
  void score(Image& image) const;
  /// Sees the planes that earlier images of the group have changed.
  void update(Image& image) const;
  void note_change(int plane);
  std::vector<double> raw_sums(const Image& image, int position, const ClassProducts& products);
  /// Adds `factor` times an input to a plane, whose similarity must be that of its weights.
  void learn_plane(const Image& image, int position, int plane, ClassProducts& products,
                   double factor);
  void learn_image(Image& image, std::uint16_t label, const ReferenceLearning& learning);
  Nearest nearest(const Image& image, const ClassProducts& products) const;
  void tune_image(Image& image, std::uint16_t label, const TuningRun& run, double rate);
  void restore_lengths();

  int positions() const noexcept { return window_->sides.out * window_->sides.out; }

  const CellWindow* window_;
  ThreadTeam* team_;
  int in_planes_;
  WeightBank bank_;
  std::vector<std::uint16_t> labels_;
  std::vector<ClassProducts> classes_;
  std::vector<Changed> changed_;  // since the images of the group were read
  int added_ = 0;
  int passes_ = 0;              // complete ones
  std::uint64_t position_ = 0;  // images that the next pass has learned
};

}  // namespace ocellus::detail
