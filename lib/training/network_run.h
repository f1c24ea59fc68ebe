// The stages of a network over images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "neocognitron/normalization.h"
#include "ocellus/neocognitron_training.h"
#include "training/distortion.h"
#include "training/layer_run.h"
#include "training/thread_team.h"

namespace ocellus::detail {

/// The error of a call that `progress` or `checkpoint` stopped.
Error stopped_training() noexcept;

/// Whether the parts of a network fit each other. Errors: InvalidArgument.
Expected<void> check_network(const TrainedNeocognitron& network) noexcept;
Expected<void> check_images(const LabeledImages& images) noexcept;
InkImage image_at(const LabeledImages& images, std::size_t i) noexcept;

/// The stages that have been learned so far.
class Network {
 public:
  explicit Network(const NeocognitronParameters& parameters)
      : parameters_(parameters), contrast_(contrast_window(parameters)) {}

  const CellWindow& contrast() const noexcept { return contrast_; }

  void add(int in_planes, int planes, const std::vector<float>& weights) {
    stages_.push_back(std::make_unique<Stage>(parameters_, static_cast<int>(stages_.size()),
                                              in_planes, planes, weights));
  }

  /// Memory of a thread.
  struct Room {
    explicit Room(const Network& network) : contrast(kContrastSides.out, kContrastPlanes) {
      u0.resize(static_cast<std::size_t>(kNeocognitronSide) * kNeocognitronSide);
      for (const auto& stage : network.stages_) stages.emplace_back(*stage);
    }
    std::vector<float> u0;
    CellsRoom contrast;
    std::vector<Stage::Room> stages;
  };

  /// The C-cells of the last stage.
  void run(Room& room, StoredCells& out) const {
    contrast_cells(contrast_, parameters_.contrast_threshold, room.u0.data(), room.contrast.cells);
    ActiveCells in = room.contrast.cells;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      stages_[i]->run(in, room.stages[i]);
      in = room.stages[i].out.cells;
    }
    out.store(in);
  }

  std::vector<std::unique_ptr<Room>> rooms(int threads) const {
    std::vector<std::unique_ptr<Room>> all;
    all.reserve(static_cast<std::size_t>(threads));
    for (int t = 0; t < threads; ++t) all.push_back(std::make_unique<Room>(*this));
    return all;
  }

 private:
  NeocognitronParameters parameters_;
  CellWindow contrast_;
  std::vector<std::unique_ptr<Stage>> stages_;
};

/// An image of a set, and how it is distorted.
struct DistortedImage {
  std::size_t image = 0;
  Distortion distortion;
};

/// Recognizes images. Empty: stopped by `progress`, which may be empty.
std::vector<CharacterScores> recognize_all(
    const TrainedNeocognitron& trained, const LabeledImages& images,
    const std::vector<DistortedImage>& which, ThreadTeam& team,
    const std::function<bool(const char* what, double share)>& progress);

// ---- whether the state of a training fits a call

std::uint64_t images_hash(const LabeledImages& images) noexcept;
/// Of everything but the images on which the result depends. `from` may be null.
std::uint64_t settings_hash(const NeocognitronTraining& training,
                            const TrainedNeocognitron* from) noexcept;

/// Whether a training with the hashes of `expected` and so many passes can go on from `state`.
/// `extends`: it extends a network. Errors: InvalidArgument.
Expected<void> check_resume(const TrainingCheckpoint& state, const TrainingCheckpoint& expected,
                            const NeocognitronParameters& parameters, int passes,
                            bool extends) noexcept;

}  // namespace ocellus::detail
