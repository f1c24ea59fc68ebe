#include "training/reference_learning.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

namespace ocellus::detail {

// ---- the products within a class

ClassReferences ClassProducts::view() const noexcept {
  return {static_cast<int>(members_.size()), static_cast<int>(capacity_), products_.data(),
          scales_.data(), smallest_.data()};
}

void ClassProducts::add(int plane, std::span<const double> raw, double square,
                        const WeightBank& bank) {
  const std::size_t n = members_.size();
  if (n == capacity_) {
    const std::size_t before = capacity_;
    capacity_ = std::max<std::size_t>(kPlaneAlignment, 2 * capacity_);
    std::vector<double> larger(capacity_ * capacity_);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) larger[i * capacity_ + j] = raw_[i * before + j];
    raw_ = std::move(larger);
    products_.assign(capacity_ * capacity_, 0.0f);
    scales_.assign(capacity_ * capacity_, 0.0f);
    smallest_.assign(capacity_, 1.0f);
    for (std::size_t i = 0; i < n; ++i) refresh(i, bank);
  }
  members_.push_back(plane);
  for (std::size_t i = 0; i < n; ++i) raw_[i * capacity_ + n] = raw_[n * capacity_ + i] = raw[i];
  raw_[n * capacity_ + n] = square;
  refresh(n, bank);
}

void ClassProducts::learn(int plane, std::span<const double> raw, double square,
                          const WeightBank& bank) {
  const auto k = static_cast<std::size_t>(std::find(members_.begin(), members_.end(), plane) -
                                          members_.begin());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == k) continue;
    raw_[i * capacity_ + k] += raw[i];
    raw_[k * capacity_ + i] = raw_[i * capacity_ + k];
  }
  raw_[k * capacity_ + k] = square;
  refresh(k, bank);
}

void ClassProducts::refresh(std::size_t member, const WeightBank& bank) {
  const auto length = static_cast<double>(bank.length(members_[member]));
  smallest_[member] = 1.0f;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == member) continue;
    const auto product = static_cast<float>(
        raw_[i * capacity_ + member] / (length * static_cast<double>(bank.length(members_[i]))));
    products_[i * capacity_ + member] = products_[member * capacity_ + i] = product;
    scales_[i * capacity_ + member] = scales_[member * capacity_ + i] =
        interpolation_scale(product);
    // A bound from below is enough: it may remain from an earlier product.
    smallest_[i] = std::min(smallest_[i], product);
    smallest_[member] = std::min(smallest_[member], product);
  }
}

void rank(ClassScores& scores) {
  const auto& all = scores.similarity;
  const auto best = std::max_element(all.begin(), all.end());
  scores.best = *best > 0.0f ? static_cast<int>(best - all.begin()) : -1;
  float second = 0.0f;
  for (auto other = all.begin(); other != all.end(); ++other)
    if (other != best) second = std::max(second, *other);
  scores.margin = *best - second;
}

float lead_of(const ClassScores& scores, std::uint16_t label) {
  if (scores.best == static_cast<int>(label)) return scores.margin;
  if (scores.best < 0) return -1.0f;
  const float lead =
      scores.similarity[label] - scores.similarity[static_cast<std::size_t>(scores.best)];
  // Of two equal classes, one is the best.
  return std::min(lead, -1e-9f);
}

// ---- the trainer

/// The images of a group are read at once, by all threads. Then each one sees what those before it
/// have changed. So the size of the group does not depend on the number of threads.
constexpr std::size_t kGroup = 16;

/// An image and its similarities to the references.
struct ReferenceTrainer::Image {
  std::array<std::vector<SimpleInput>, kReferencePositions> inputs;
  std::array<float, kReferencePositions> v{};
  AlignedFloats similarities;  // [position * room + plane]
  int room = 0;
  ClassScores scores;

  float& at(int position, int plane) const noexcept {
    return similarities.get()[position * room + plane];
  }
};

ReferenceTrainer::ReferenceTrainer(const CellWindow& window, int in_planes, int classes)
    : window_(&window),
      in_planes_(in_planes),
      bank_(window, in_planes),
      classes_(static_cast<std::size_t>(classes)) {}

void ReferenceTrainer::read(Image& image, StoredCells& cells) const {
  std::vector<SimpleInput> room(static_cast<std::size_t>(window_->taps) *
                                static_cast<std::size_t>(in_planes_));
  // Room for the planes that the group may add.
  const int needed =
      static_cast<int>(bank_.blocks() * kWeightBlock) + padded_planes(static_cast<int>(kGroup));
  if (image.room < needed) {
    image.room = 2 * needed;
    image.similarities = AlignedFloats(static_cast<std::size_t>(image.room) *
                                       static_cast<std::size_t>(kReferencePositions));
  }
  const ActiveCells view = cells.view();
  input_strengths(*window_, view, image.v.data());
  for (int q = 0; q < kReferencePositions; ++q) {
    const auto index = static_cast<std::size_t>(q);
    const int count =
        simple_inputs(*window_, view, q % kReferenceSide, q / kReferenceSide, room.data());
    image.inputs[index].assign(room.begin(), room.begin() + count);
  }
  // All positions need the weights of a block before the next one comes into the cache.
  for (std::size_t block = 0; block < bank_.blocks(); ++block) {
    for (int q = 0; q < kReferencePositions; ++q) {
      const auto index = static_cast<std::size_t>(q);
      float* const e = &image.at(q, static_cast<int>(block * kWeightBlock));
      bank_.excite_block(block, image.inputs[index], e);
      const float factor = image.v[index] > 0.0f ? 1.0f / image.v[index] : 0.0f;
      for (std::size_t k = 0; k < kWeightBlock; ++k) e[k] *= factor;
    }
  }
}

void ReferenceTrainer::compare(Image& image, int plane) const {
  for (int q = 0; q < kReferencePositions; ++q) {
    const auto index = static_cast<std::size_t>(q);
    image.at(q, plane) =
        image.v[index] > 0.0f ? bank_.excite(image.inputs[index], plane) / image.v[index] : 0.0f;
  }
}

void ReferenceTrainer::score(Image& image) const {
  std::vector<float>& best = image.scores.similarity;
  best.assign(classes_.size(), 0.0f);
  std::vector<float> own;
  for (int q = 0; q < kReferencePositions; ++q) {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      own.clear();
      for (const int k : classes_[c].members()) own.push_back(image.at(q, k));
      own.resize(static_cast<std::size_t>(padded_planes(static_cast<int>(own.size()))));
      best[c] = class_similarity(classes_[c].view(), own.data(), best[c]);
    }
  }
  rank(image.scores);
}

std::vector<double> ReferenceTrainer::raw_sums(const Image& image, int position,
                                               const ClassProducts& products) {
  std::vector<double> raw;
  for (const int k : products.members()) {
    raw.push_back(static_cast<double>(image.at(position, k)) *
                  static_cast<double>(image.v[static_cast<std::size_t>(position)]) *
                  static_cast<double>(bank_.length(k)));
  }
  return raw;
}

void ReferenceTrainer::learn_image(Image& image, std::uint16_t label,
                                   const ReferenceLearning& learning) {
  // The planes that changed since the image was read.
  if (!changed_.empty()) {
    for (const int k : changed_) compare(image, k);
    score(image);
  }
  ClassProducts& products = classes_[label];
  const bool sure = lead_of(image.scores, label) >= learning.margin;
  int plane = 0;
  constexpr int kCenter = kReferencePositions / 2;
  if (!sure && bank_.planes() < learning.references && image.v[kCenter] > 0.0f) {
    plane = bank_.planes();
    const std::vector<double> raw = raw_sums(image, kCenter, products);
    bank_.add(image.inputs[kCenter]);
    labels_.push_back(label);
    const auto length = static_cast<double>(bank_.length(plane));
    products.add(plane, raw, length * length, bank_);
    ++added_;
  } else {
    int position = -1;
    float most = 0.0f;
    for (int q = 0; q < kReferencePositions; ++q) {
      for (const int k : products.members()) {
        if (image.at(q, k) <= most) continue;
        most = image.at(q, k);
        position = q;
        plane = k;
      }
    }
    if (position < 0) return;
    const std::vector<double> raw = raw_sums(image, position, products);
    bank_.learn(plane, image.inputs[static_cast<std::size_t>(position)]);
    const auto length = static_cast<double>(bank_.length(plane));
    products.learn(plane, raw, length * length, bank_);
  }
  if (std::find(changed_.begin(), changed_.end(), plane) == changed_.end())
    changed_.push_back(plane);
}

bool ReferenceTrainer::learn(const ReferenceLearning& learning, std::span<StoredCells> images,
                             std::span<const std::uint16_t> labels,
                             const std::function<bool(int, double)>& progress,
                             const Checkpoints& checkpoints) {
  std::vector<Image> group(kGroup);
  std::vector<std::size_t> order(images.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(learning.seed);
  const auto save = [&checkpoints] { return checkpoints.images == 0 || checkpoints.save(); };
  const std::uint64_t interval = (checkpoints.images + kGroup - 1) / kGroup * kGroup;
  for (int pass = 0; pass < learning.passes; ++pass) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    if (pass < passes_) continue;  // learned before the checkpoint; only the order is needed
    const std::size_t start = position_;
    for (std::size_t begin = start; begin < order.size(); begin += kGroup) {
      position_ = begin;
      if (begin % (4 * kGroup) == 0 &&
          !progress(pass, static_cast<double>(begin) / static_cast<double>(order.size()))) {
        save();
        return false;
      }
      if (interval > 0 && begin > start && begin % interval == 0 && !save()) return false;
      const std::size_t count = std::min(kGroup, order.size() - begin);
      changed_.clear();
      for_all(count, learning.threads, [&](std::size_t i, int) {
        read(group[i], images[order[begin + i]]);
        score(group[i]);
      });
      for (std::size_t i = 0; i < count; ++i)
        learn_image(group[i], labels[order[begin + i]], learning);
    }
    const bool last = added_ == 0 || pass + 1 == learning.passes;
    // The state of the end has no next pass.
    passes_ = last ? learning.passes : pass + 1;
    position_ = 0;
    added_ = 0;
    if (last) break;
  }
  return save();
}

}  // namespace ocellus::detail
