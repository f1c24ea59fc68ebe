// Learning of stages 2 and 3, without labels.
#pragma once

#include <functional>
#include <span>

#include "ocellus/neocognitron_training.h"
#include "training/layer_run.h"
#include "training/weight_bank.h"

namespace ocellus::detail {

/// Learns the planes of `bank` from C-cells of the stage before. False: stopped by `progress`.
bool learn_features(const FeatureLearning& learning, const CellWindow& window, float gain,
                    std::span<StoredCells> images, WeightBank& bank,
                    const std::function<bool(double)>& progress);

}  // namespace ocellus::detail
