#include "training/weight_bank.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ocellus::detail {

WeightBank::WeightBank(const CellWindow& window, int in_planes)
    : window_(&window),
      rows_(static_cast<std::size_t>(window.taps) * static_cast<std::size_t>(in_planes)),
      in_planes_(in_planes) {}

void WeightBank::make_room() {
  if (static_cast<std::size_t>(planes_) == blocks_.size() * kWeightBlock)
    blocks_.emplace_back(rows_ * kWeightBlock);
}

void WeightBank::add(std::span<const SimpleInput> inputs) {
  make_room();
  squares_.push_back(0.0);
  lengths_.push_back(0.0f);
  columns_.emplace_back(rows_);
  ++planes_;
  learn(planes_ - 1, inputs);
}

void WeightBank::learn(int plane, std::span<const SimpleInput> inputs, double factor) {
  const auto k = static_cast<std::size_t>(plane);
  double squares = squares_[k];
  for (const SimpleInput& input : inputs) {
    const std::size_t tap = input.row / static_cast<std::size_t>(in_planes_);
    const auto c = static_cast<double>(window_->tap[tap].weight);
    float& a = weight(input.row, k);
    const auto before = static_cast<double>(a);
    a = static_cast<float>(before + factor * c * static_cast<double>(input.value));
    const auto after = static_cast<double>(a);
    columns_[k][input.row] = a;
    squares += (after * after - before * before) / c;
  }
  squares_[k] = squares;
  lengths_[k] = static_cast<float>(std::sqrt(squares));
}

void WeightBank::set_length(int plane, float length) {
  const auto k = static_cast<std::size_t>(plane);
  const double factor = static_cast<double>(length) / std::sqrt(squares_[k]);
  double squares = 0.0;
  for (std::size_t row = 0; row < rows_; ++row) {
    float& a = columns_[k][row];
    if (a == 0.0f) continue;
    a = static_cast<float>(factor * static_cast<double>(a));
    weight(row, k) = a;
    const auto c =
        static_cast<double>(window_->tap[row / static_cast<std::size_t>(in_planes_)].weight);
    squares += static_cast<double>(a) * static_cast<double>(a) / c;
  }
  squares_[k] = squares;
  lengths_[k] = static_cast<float>(std::sqrt(squares));
}

void WeightBank::remove(int plane) {
  columns_.erase(columns_.begin() + plane);
  squares_.erase(squares_.begin() + plane);
  lengths_.erase(lengths_.begin() + plane);
  --planes_;
  for (auto k = static_cast<std::size_t>(plane); k < columns_.size(); ++k)
    for (std::size_t row = 0; row < rows_; ++row) weight(row, k) = columns_[k][row];
  for (std::size_t row = 0; row < rows_; ++row) weight(row, columns_.size()) = 0.0f;
  blocks_.resize((columns_.size() + kWeightBlock - 1) / kWeightBlock);
}

void WeightBank::restore(std::span<const float> column, double square) {
  make_room();
  const auto k = static_cast<std::size_t>(planes_);
  for (std::size_t row = 0; row < rows_; ++row) weight(row, k) = column[row];
  columns_.emplace_back(column.begin(), column.end());
  squares_.push_back(square);
  lengths_.push_back(static_cast<float>(std::sqrt(square)));
  ++planes_;
}

void WeightBank::excite(std::span<const SimpleInput> inputs, float* e) const {
  for (std::size_t block = 0; block < blocks_.size(); ++block)
    excite_block(block, inputs, e + block * kWeightBlock);
}

void WeightBank::excite_block(std::size_t block, std::span<const SimpleInput> inputs,
                              float* e) const {
  weighted_sums(inputs, blocks_[block].get(), kWeightBlock, kWeightBlock, e);
  const std::size_t first = block * kWeightBlock;
  const std::size_t count = std::min(kWeightBlock, lengths_.size() - first);
  for (std::size_t k = 0; k < count; ++k) e[k] /= lengths_[first + k];
}

float WeightBank::excite(std::span<const SimpleInput> inputs, int plane) const {
  const std::vector<float>& column = columns_[static_cast<std::size_t>(plane)];
  float sum = 0.0f;
  for (const SimpleInput& input : inputs) sum += input.value * column[input.row];
  return sum / length(plane);
}

std::vector<float> WeightBank::normalized(std::span<const int> order) const {
  std::vector<float> out(rows_ * order.size());
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto plane = static_cast<std::size_t>(order[k]);
      out[row * order.size() + k] = weight(row, plane) / lengths_[plane];
    }
  }
  return out;
}

}  // namespace ocellus::detail
