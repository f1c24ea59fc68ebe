#include "training/reference_learning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "core/failure.h"

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
  const int side = window_->sides.out;
  std::vector<SimpleInput> room(static_cast<std::size_t>(window_->taps) *
                                static_cast<std::size_t>(in_planes_));
  // Room for the planes that the group may add, up to whole blocks.
  static_assert(kGroup <= kWeightBlock);
  const int needed = static_cast<int>((bank_.blocks() + 1) * kWeightBlock);
  if (image.room < needed) {
    image.room = 2 * needed;
    image.similarities = AlignedFloats(static_cast<std::size_t>(image.room) * squared(side));
  }
  const ActiveCells view = cells.view();
  image.inputs.resize(squared(side));
  image.v.resize(squared(side));
  input_strengths(*window_, view, image.v.data());
  for (int q = 0; q < positions(); ++q) {
    const auto index = static_cast<std::size_t>(q);
    const int count = simple_inputs(*window_, view, q % side, q / side, room.data());
    image.inputs[index].assign(room.begin(), room.begin() + count);
  }
  for (std::size_t block = 0; block < bank_.blocks(); ++block) compare_block(image, block);
}

void ReferenceTrainer::compare_block(Image& image, std::size_t block) const {
  // All positions need the weights of a block before the next one comes into the cache.
  for (int q = 0; q < positions(); ++q) {
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
  for (int q = 0; q < positions(); ++q) image.at(q, plane) = compare(image, plane, q);
}

void ReferenceTrainer::score(Image& image) const {
  std::vector<float>& best = image.scores.similarity;
  best.assign(classes_.size(), 0.0f);
  std::vector<float> own;
  for (int q = 0; q < positions(); ++q) {
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
  const int center = positions() / 2;
  const auto at_center = static_cast<std::size_t>(center);
  if (!sure && bank_.planes() < learning.references && image.v[at_center] > 0.0f) {
    const int plane = bank_.planes();
    const std::vector<double> raw = raw_sums(image, center, products);
    bank_.add(image.inputs[at_center]);
    labels_.push_back(label);
    products.add(plane, raw, bank_);
    note_change(plane);
    ++added_;
    return;
  }
  int plane = 0;
  int position = -1;
  float most = 0.0f;
  for (int q = 0; q < positions(); ++q) {
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

// ---- tuning of the references after they have been learned

ReferenceTrainer::Nearest ReferenceTrainer::nearest(const Image& image,
                                                    const ClassProducts& products) const {
  const ClassReferences references = products.view();
  const auto n = static_cast<std::size_t>(references.count);
  const auto stride = static_cast<std::size_t>(references.stride);
  const std::vector<int>& members = products.members();
  Nearest found;
  float squared = 0.0f;
  for (int q = 0; q < positions(); ++q) {
    for (std::size_t i = 0; i < n; ++i) {
      const float si = image.at(q, members[i]);
      if (si <= 0.0f) continue;
      if (si * si > squared) {
        squared = si * si;
        found = {q, {{{members[i], 1.0f}, {}}}};
      }
      // As in class_similarity: (6) with si as the larger one cannot be larger than this.
      if (2.0f * si * si <= squared * (1.0f + references.smallest[i])) continue;
      for (std::size_t j = 0; j < n; ++j) {
        const float sj = image.at(q, members[j]);
        const float g = references.products[i * stride + j];
        const float scale = references.scales[i * stride + j];
        const float term = (sj - si * g) * scale;
        if (j == i || sj > si || term <= 0.0f || si * si + term * term <= squared) continue;
        squared = si * si + term * term;
        const float factor = scale * scale / std::sqrt(squared);
        found = {q, {{{members[i], (si - sj * g) * factor}, {members[j], (sj - si * g) * factor}}}};
      }
    }
  }
  return found;
}

void ReferenceTrainer::tune_image(Image& image, std::uint16_t label, const TuningRun& run,
                                  double rate) {
  update(image);
  const std::vector<float>& similarity = image.scores.similarity;
  const auto sharpness = static_cast<double>(run.tuning.sharpness);
  const auto most = static_cast<double>(*std::max_element(similarity.begin(), similarity.end()));
  std::vector<double> share;
  double sum = 0.0;
  for (const float s : similarity) {
    share.push_back(std::exp(sharpness * (static_cast<double>(s) - most)));
    sum += share.back();
  }
  // Smaller steps move references that neither win nor lose.
  constexpr double kLeastShare = 0.02;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const double error = (c == label ? 1.0 : 0.0) - share[c] / sum;
    if (std::abs(error) < kLeastShare) continue;
    const Nearest found = nearest(image, classes_[c]);
    if (found.position < 0) continue;
    const auto v = static_cast<double>(image.v[static_cast<std::size_t>(found.position)]);
    for (const Nearest::Part& part : found.parts) {
      if (part.plane < run.first) continue;  // -1, too
      const double step = rate * error * static_cast<double>(part.share);
      learn_plane(image, found.position, part.plane, classes_[c],
                  step * static_cast<double>(bank_.length(part.plane)) / v);
      // The other part needs the product with the plane as it is now.
      image.at(found.position, part.plane) = compare(image, part.plane, found.position);
    }
  }
}

void ReferenceTrainer::restore_lengths() {
  for (const Changed& changed : changed_) {
    ClassProducts& products = classes_[labels_[static_cast<std::size_t>(changed.plane)]];
    const double factor =
        static_cast<double>(changed.length) / std::sqrt(bank_.square(changed.plane));
    bank_.set_length(changed.plane, changed.length);
    products.scale(changed.plane, factor, bank_);
  }
}

bool ReferenceTrainer::tune(const TuningRun& run, std::span<const std::uint16_t> labels,
                            const std::function<bool(int, double)>& progress,
                            const Checkpoints& checkpoints) {
  std::vector<StoredCells> cells(static_cast<std::size_t>(team_->threads()));
  // Orders of their own: the passes of `learn` have used the first ones of the seed.
  Passes passes{run.passes_before, run.tuning.passes, ~run.seed, {}, {}, {}, {}};
  passes.cells = [&](std::size_t image, int pass, int thread) -> StoredCells& {
    StoredCells& own = cells[static_cast<std::size_t>(thread)];
    run.run(image, pass, thread, own);
    return own;
  };
  passes.learn = [&](Image& image, std::uint16_t label, double done) {
    tune_image(image, label, run, static_cast<double>(run.tuning.rate) * (1.0 - done));
  };
  passes.end_group = [this] { restore_lengths(); };
  return run_passes(passes, labels, progress, checkpoints);
}

// ---- what the trainer starts from: references of a network, or the state of a checkpoint

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
