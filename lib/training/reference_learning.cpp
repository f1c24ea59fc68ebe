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

void ClassProducts::add(int plane, std::span<const double> raw, const WeightBank& bank) {
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
  refresh(n, bank);
}

template <typename Change>
void ClassProducts::change(int plane, const WeightBank& bank, const Change& change) {
  const auto k = static_cast<std::size_t>(std::find(members_.begin(), members_.end(), plane) -
                                          members_.begin());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == k) continue;
    change(raw_[i * capacity_ + k], i);
    raw_[k * capacity_ + i] = raw_[i * capacity_ + k];
  }
  refresh(k, bank);
}

void ClassProducts::learn(int plane, std::span<const double> raw, double factor,
                          const WeightBank& bank) {
  change(plane, bank, [&](double& sum, std::size_t i) { sum += factor * raw[i]; });
}

void ClassProducts::scale(int plane, double factor, const WeightBank& bank) {
  change(plane, bank, [&](double& sum, std::size_t) { sum *= factor; });
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
        interpolate_ ? interpolation_scale(product) : 0.0f;
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

ReferenceTrainer::ReferenceTrainer(const CellWindow& window, int in_planes, int classes,
                                   bool interpolate, ThreadTeam& team)
    : window_(&window),
      team_(&team),
      in_planes_(in_planes),
      bank_(window, in_planes),
      classes_(static_cast<std::size_t>(classes), ClassProducts(interpolate)) {}

void ReferenceTrainer::read(Image& image, StoredCells& cells) const {
  std::vector<SimpleInput> room(static_cast<std::size_t>(window_->taps) *
                                static_cast<std::size_t>(in_planes_));
  // Room for the planes that the group may add, up to whole blocks.
  static_assert(kGroup <= kWeightBlock);
  const int needed = static_cast<int>((bank_.blocks() + 1) * kWeightBlock);
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
  for (std::size_t block = 0; block < bank_.blocks(); ++block) compare_block(image, block);
}

void ReferenceTrainer::compare_block(Image& image, std::size_t block) const {
  // All positions need the weights of a block before the next one comes into the cache.
  for (int q = 0; q < kReferencePositions; ++q) {
    const auto index = static_cast<std::size_t>(q);
    float* const e = &image.at(q, static_cast<int>(block * kWeightBlock));
    bank_.excite_block(block, image.inputs[index], e);
    const float factor = image.v[index] > 0.0f ? 1.0f / image.v[index] : 0.0f;
    for (std::size_t k = 0; k < kWeightBlock; ++k) e[k] *= factor;
  }
}

float ReferenceTrainer::compare(const Image& image, int plane, int position) const {
  const auto q = static_cast<std::size_t>(position);
  return image.v[q] > 0.0f ? bank_.excite(image.inputs[q], plane) / image.v[q] : 0.0f;
}

void ReferenceTrainer::compare(Image& image, int plane) const {
  for (int q = 0; q < kReferencePositions; ++q) image.at(q, plane) = compare(image, plane, q);
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

void ReferenceTrainer::update(Image& image) const {
  if (changed_.empty()) return;
  // A block takes as long as a few single planes.
  constexpr int kFew = 2;
  const auto block_of = [](const Changed& changed) {
    return static_cast<std::size_t>(changed.plane) / kWeightBlock;
  };
  std::vector<int> changes(bank_.blocks());
  for (const Changed& changed : changed_) ++changes[block_of(changed)];
  for (std::size_t block = 0; block < changes.size(); ++block)
    if (changes[block] > kFew) compare_block(image, block);
  for (const Changed& changed : changed_)
    if (changes[block_of(changed)] <= kFew) compare(image, changed.plane);
  score(image);
}

void ReferenceTrainer::note_change(int plane) {
  const auto same = [plane](const Changed& changed) { return changed.plane == plane; };
  if (std::none_of(changed_.begin(), changed_.end(), same))
    changed_.push_back({plane, bank_.length(plane)});
}

void ReferenceTrainer::learn_image(Image& image, std::uint16_t label,
                                   const ReferenceLearning& learning) {
  update(image);
  ClassProducts& products = classes_[label];
  const bool sure = lead_of(image.scores, label) >= learning.margin;
  constexpr int kCenter = kReferencePositions / 2;
  if (!sure && bank_.planes() < learning.references && image.v[kCenter] > 0.0f) {
    const int plane = bank_.planes();
    const std::vector<double> raw = raw_sums(image, kCenter, products);
    bank_.add(image.inputs[kCenter]);
    labels_.push_back(label);
    products.add(plane, raw, bank_);
    note_change(plane);
    ++added_;
    return;
  }
  int plane = 0;
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
  if (position >= 0) learn_plane(image, position, plane, products, 1.0);
}

void ReferenceTrainer::learn_plane(const Image& image, int position, int plane,
                                   ClassProducts& products, double factor) {
  note_change(plane);
  const std::vector<double> raw = raw_sums(image, position, products);
  bank_.learn(plane, image.inputs[static_cast<std::size_t>(position)], factor);
  products.learn(plane, raw, factor, bank_);
}

bool ReferenceTrainer::run_passes(const Passes& passes, std::span<const std::uint16_t> labels,
                                  const std::function<bool(int, double)>& progress,
                                  const Checkpoints& checkpoints) {
  std::vector<Image> group(kGroup);
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(passes.seed);
  const auto save = [&checkpoints] { return checkpoints.images == 0 || checkpoints.save(); };
  const std::uint64_t interval = (checkpoints.images + kGroup - 1) / kGroup * kGroup;
  for (int pass = 0; pass < passes.count; ++pass) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    // Learned before the checkpoint; only the order is needed.
    if (passes.first + pass < passes_) continue;
    const std::size_t start = position_;
    for (std::size_t begin = start; begin < order.size(); begin += kGroup) {
      position_ = begin;
      const double share = static_cast<double>(begin) / static_cast<double>(order.size());
      if (begin % (4 * kGroup) == 0 && !progress(pass, share)) {
        save();
        return false;
      }
      if (interval > 0 && begin > start && begin % interval == 0 && !save()) return false;
      const std::size_t count = std::min(kGroup, order.size() - begin);
      changed_.clear();
      team_->for_all(count, [&](std::size_t i, int thread) {
        read(group[i], passes.cells(order[begin + i], pass, thread));
        score(group[i]);
      });
      for (std::size_t i = 0; i < count; ++i)
        passes.learn(group[i], labels[order[begin + i]], (pass + share) / passes.count);
      if (passes.end_group) passes.end_group();
    }
    position_ = 0;
    // The state of the end has no next pass.
    const bool last = passes.end_pass && passes.end_pass();
    passes_ = passes.first + (last ? passes.count : pass + 1);
    if (last) break;
  }
  return save();
}

bool ReferenceTrainer::learn(const ReferenceLearning& learning, std::span<StoredCells> images,
                             std::span<const std::uint16_t> labels,
                             const std::function<bool(int, double)>& progress,
                             const Checkpoints& checkpoints) {
  Passes passes{0, learning.passes, learning.seed, {}, {}, {}, {}};
  passes.cells = [&](std::size_t image, int, int) -> StoredCells& { return images[image]; };
  passes.learn = [&](Image& image, std::uint16_t label, double) {
    learn_image(image, label, learning);
  };
  passes.end_pass = [this] { return std::exchange(added_, 0) == 0; };
  return run_passes(passes, labels, progress, checkpoints);
}

}  // namespace ocellus::detail
