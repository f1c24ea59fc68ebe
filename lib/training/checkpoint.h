// The state of a training: whether it fits a call, and its file.
#pragma once

#include <cstdint>

#include "core/model_file.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::detail {

inline constexpr ModelKind kTrainingKind{"neotrain", "training checkpoint", 1, 960};

std::uint64_t images_hash(const LabeledImages& images) noexcept;
/// Of everything but the images on which the result depends. `from` may be null.
std::uint64_t settings_hash(const NeocognitronTraining& training,
                            const TrainedNeocognitron* from) noexcept;

/// Whether a training with the hashes of `expected` and so many passes can go on from `state`.
/// `extends`: it extends a
/// network. Errors: InvalidArgument.
Expected<void> check_resume(const TrainingCheckpoint& state, const TrainingCheckpoint& expected,
                            const NeocognitronParameters& parameters, int passes,
                            bool extends) noexcept;

}  // namespace ocellus::detail
