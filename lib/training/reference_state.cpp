// What the trainer of stage 4 starts from: references of a network, or the state of a checkpoint.
#include <algorithm>
#include <cmath>

#include "core/failure.h"
#include "training/reference_learning.h"

namespace ocellus::detail {
namespace {

/// The references of each class, in the order of the references.
std::vector<std::vector<int>> members_of(std::span<const std::uint16_t> labels,
                                         std::size_t classes) {
  std::vector<std::vector<int>> members(classes);
  for (std::size_t k = 0; k < labels.size(); ++k) members[labels[k]].push_back(static_cast<int>(k));
  return members;
}

}  // namespace

bool ReferenceTrainer::start_from(const TrainedNeocognitron& network,
                                  const std::function<bool(double)>& progress) {
  const auto planes = static_cast<std::size_t>(network.planes[3]);
  const auto inputs = static_cast<std::size_t>(in_planes_);
  const std::size_t rows = network.weights[3].size() / planes;
  std::vector<float> column(rows);
  for (std::size_t k = 0; k < planes; ++k) {
    double squares = 0.0;
    for (std::size_t row = 0; row < rows; ++row) {
      column[row] = network.weights[3][row * planes + k] * network.lengths[k];
      const auto a = static_cast<double>(column[row]);
      squares += a * a / static_cast<double>(window_->tap[row / inputs].weight);
    }
    bank_.restore(column, squares);
  }
  labels_ = network.labels;
  const std::vector<std::vector<int>> members = members_of(labels_, classes_.size());
  std::vector<float> scaled(rows);
  std::size_t done = 0;
  for (std::size_t c = 0; c < members.size(); ++c) {
    for (std::size_t i = 0; i < members[c].size(); ++i) {
      if (!progress(static_cast<double>(done++) / static_cast<double>(planes))) return false;
      const std::span<const float> own = bank_.column(members[c][i]);
      for (std::size_t row = 0; row < rows; ++row)
        scaled[row] = own[row] / window_->tap[row / inputs].weight;
      std::vector<double> raw(i);
      team_->for_all(i, [&](std::size_t j, int) {
        const std::span<const float> other = bank_.column(members[c][j]);
        double sum = 0.0;
        for (std::size_t row = 0; row < rows; ++row)
          sum += static_cast<double>(scaled[row]) * static_cast<double>(other[row]);
        raw[j] = sum;
      });
      classes_[c].add(members[c][i], raw, bank_);
    }
  }
  return true;
}

void ReferenceTrainer::save(TrainingCheckpoint& state) const {
  state.passes = passes_;
  state.position = position_;
  state.added = added_;
  state.labels = labels_;
  state.references.clear();
  state.squares.clear();
  state.products.clear();
  state.smallest_products.assign(labels_.size(), 1.0f);
  for (int k = 0; k < bank_.planes(); ++k) {
    const std::span<const float> column = bank_.column(k);
    state.references.insert(state.references.end(), column.begin(), column.end());
    state.squares.push_back(bank_.square(k));
  }
  for (const ClassProducts& products : classes_) {
    const std::vector<int>& members = products.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) state.products.push_back(products.raw(i, j));
      state.smallest_products[static_cast<std::size_t>(members[i])] = products.smallest(i);
    }
  }
}

Expected<void> ReferenceTrainer::restore(const TrainingCheckpoint& state) {
  const std::size_t planes = state.labels.size();
  const std::size_t rows =
      static_cast<std::size_t>(window_->taps) * static_cast<std::size_t>(in_planes_);
  std::vector<std::vector<int>> members;
  std::size_t products = 0;
  if (std::all_of(state.labels.begin(), state.labels.end(),
                  [this](std::uint16_t label) { return label < classes_.size(); })) {
    members = members_of(state.labels, classes_.size());
    for (const std::vector<int>& own : members) products += own.size() * (own.size() - 1) / 2;
  }
  if (members.empty() || planes > kMaxReferences || state.references.size() != planes * rows ||
      state.squares.size() != planes || state.smallest_products.size() != planes ||
      state.products.size() != products)
    return invalid_argument("training: the state to resume does not fit the network");
  for (std::size_t k = 0; k < planes; ++k)
    bank_.restore({state.references.data() + k * rows, rows}, state.squares[k]);
  labels_ = state.labels;
  passes_ = state.passes;
  position_ = state.position;
  added_ = state.added;
  const double* raw = state.products.data();
  for (std::size_t c = 0; c < members.size(); ++c) {
    for (std::size_t i = 0; i < members[c].size(); ++i) {
      classes_[c].add(members[c][i], {raw, i}, bank_);
      raw += i;
    }
    for (std::size_t i = 0; i < members[c].size(); ++i) {
      classes_[c].set_smallest(i, state.smallest_products[static_cast<std::size_t>(members[c][i])]);
    }
  }
  return {};
}

}  // namespace ocellus::detail
