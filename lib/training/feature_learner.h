// What the rules of learning of a hypercolumn share: the images that it sees, its field and its
// rows of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "training/cortex_activity.h"

namespace ocellus::detail {

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

// ---- learning

/// A minicolumn begins with these probabilities of the active and the other inputs.
inline constexpr double kFirstActive = 0.9;
inline constexpr double kFirstInactive = 0.03;

class FeatureLearner {
 public:
  FeatureLearner(const LearningHypercolumn& learning, const FeatureArrays& arrays);

 protected:
  // Purposes of random images: counters of random numbers, beside those of CorticalNetwork.
  static constexpr std::uint32_t kFirstImage = 2u << 30;
  static constexpr std::uint32_t kNextImage = 3u << 30;
  int minicolumns() const noexcept { return plan_.shape.minicolumns; }
  /// With which a minicolumn begins. The winner of a hypercolumn below is one of its minicolumns.
  double first_inactive() const noexcept {
    return learning_.level == 0 ? kFirstInactive : 0.5 / plan_.below_cells;
  }

  /// Loads a random image. Returns the number of active inputs, those outside of the field
  /// included: `seen()[0]`, ...
  int show(std::uint32_t a, std::uint32_t b, std::uint32_t purpose);
  /// The same for a minicolumn that begins; with some tries to find an image with an active input.
  int show_first(int minicolumn);
  const std::uint16_t* seen() const noexcept {
    return has_field() ? all_.data() : learning_.scratch.active;
  }

  /// s of all minicolumns for the image that was shown, from the weights of the model.
  void compete();

  /// Whether learning may go on after this number of images.
  bool goes_on(int images) const;

  /// Whether the field is rewired after this number of images.
  bool rewires_after(int images) const noexcept;
  /// (g), from P_m and P_im.
  void rewire_field(std::span<const double> active, std::span<const double> joint);

  /// The rows of the model: row i has the weights of input connected(i) of those that are seen.
  int rows() const noexcept { return plan_.inputs; }
  std::size_t connected(int row) const noexcept {
    return has_field() ? field_[static_cast<std::size_t>(row)] : static_cast<std::size_t>(row);
  }
  std::int8_t& weight(int row, int minicolumn) const noexcept {
    return weights_[static_cast<std::ptrdiff_t>(row) * plan_.stride + minicolumn];
  }

  LearningHypercolumn learning_;
  const LevelPlan& plan_;
  std::size_t inputs_;  // that are seen: those of the window, or all pixels
  std::int8_t* weights_;
  std::int32_t* bias_;

 private:
  bool has_field() const noexcept { return !field_.empty(); }

  std::span<std::uint16_t> field_;
  std::vector<std::uint16_t> all_;  // active pixels
  int active_ = 0;                  // of the field, in scratch.active
};

}  // namespace ocellus::detail
