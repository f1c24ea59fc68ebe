// Learning of stages 2 and 3.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "training/weight_bank.h"

namespace ocellus::detail {
namespace {

/// An S-layer while it sees an image.
class SeedSelection {
 public:
  SeedSelection(const FeatureLearning& learning, const CellWindow& window, float gain,
                WeightBank& bank)
      : learning_(learning),
        window_(window),
        bias_(1.0f / gain),
        bank_(bank),
        side_(window.sides.out),
        inputs_(positions()),
        v_(positions()),
        e_(positions()),
        taken_(positions()) {}

  void learn(const ActiveCells& image) {
    read(image);
    planes_ = bank_.planes();
    choose_seeds();
    add_planes();
  }

 private:
  struct Seed {
    float value;
    int position;
    int plane;
  };

  std::size_t positions() const {
    return static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_);
  }

  /// (2) without its factor.
  float respond(float e, float v) const {
    return (bias_ + e) / (bias_ + learning_.threshold * v) - 1.0f;
  }

  /// Reads the positions with enough input, and the excitation of the planes there.
  void read(const ActiveCells& image) {
    std::vector<SimpleInput>& room = room_;
    room.resize(static_cast<std::size_t>(window_.taps) * static_cast<std::size_t>(image.planes));
    active_.clear();
    float most = 0.0f;
    input_strengths(window_, image, v_.data());
    for (int p = 0; p < side_ * side_; ++p) {
      const auto index = static_cast<std::size_t>(p);
      const int count = simple_inputs(window_, image, p % side_, p / side_, room.data());
      inputs_[index].assign(room.begin(), room.begin() + count);
      most = std::max(most, v_[index]);
    }
    if (excitation_room_ < bank_.blocks() * kWeightBlock) {
      excitation_room_ = bank_.blocks() * kWeightBlock;
      excitation_ = AlignedFloats(excitation_room_);
    }
    for (int p = 0; p < side_ * side_; ++p) {
      const auto index = static_cast<std::size_t>(p);
      taken_[index] = 0;
      if (!(v_[index] > learning_.least_input * most)) continue;
      active_.push_back(p);
      bank_.excite(inputs_[index], excitation_.get());
      e_[index].assign(excitation_.get(), excitation_.get() + bank_.planes());
    }
  }

  /// The surroundings of a seed have no other one.
  void take(int position) {
    const int x = position % side_;
    const int y = position / side_;
    const int reach = static_cast<int>(learning_.radius);
    for (int dy = -reach; dy <= reach; ++dy) {
      for (int dx = -reach; dx <= reach; ++dx) {
        const bool inside = x + dx >= 0 && y + dy >= 0 && x + dx < side_ && y + dy < side_;
        if (inside && std::hypot(dx, dy) <= static_cast<double>(learning_.radius))
          taken_[static_cast<std::size_t>((y + dy) * side_ + x + dx)] = 1;
      }
    }
  }

  void choose_seeds() {
    seeds_.clear();
    for (const int p : active_) {
      const auto index = static_cast<std::size_t>(p);
      for (int k = 0; k < planes_; ++k) {
        const float value = respond(e_[index][static_cast<std::size_t>(k)], v_[index]);
        if (value > 0.0f) seeds_.push_back({value, p, k});
      }
    }
    std::sort(seeds_.begin(), seeds_.end(), [](const Seed& a, const Seed& b) {
      if (a.value != b.value) return a.value > b.value;
      return a.position != b.position ? a.position < b.position : a.plane < b.plane;
    });
    used_.assign(static_cast<std::size_t>(planes_), 0);
    losers_.clear();
    for (const Seed& seed : seeds_) {
      const auto position = static_cast<std::size_t>(seed.position);
      if (taken_[position] != 0) continue;
      take(seed.position);
      if (used_[static_cast<std::size_t>(seed.plane)] != 0 || losers_.contains(seed.plane))
        continue;
      used_[static_cast<std::size_t>(seed.plane)] = 1;
      bank_.learn(seed.plane, inputs_[position]);
      if (learning_.kill_losers) note_losers(position, seed.plane);
    }
    for (auto plane = losers_.rbegin(); plane != losers_.rend(); ++plane) remove(*plane);
  }

  /// Planes that answer at the position of a seed. A plane that has learned from this image stays.
  void note_losers(std::size_t position, int winner) {
    for (int k = 0; k < planes_; ++k) {
      if (k == winner || used_[static_cast<std::size_t>(k)] != 0) continue;
      if (respond(e_[position][static_cast<std::size_t>(k)], v_[position]) > 0.0f)
        losers_.insert(k);
    }
  }

  void remove(int plane) {
    bank_.remove(plane);
    for (const int p : active_) {
      std::vector<float>& e = e_[static_cast<std::size_t>(p)];
      e.erase(e.begin() + plane);
    }
  }

  /// Where all cells are silent, a new plane begins, the place with the most input first.
  void add_planes() {
    silent_.clear();
    for (const int p : active_) {
      const auto index = static_cast<std::size_t>(p);
      const bool answered = std::any_of(e_[index].begin(), e_[index].end(),
                                        [&](float e) { return respond(e, v_[index]) > 0.0f; });
      if (!answered && taken_[index] == 0) silent_.push_back(p);
    }
    while (bank_.planes() < learning_.planes && !silent_.empty()) {
      const int seed = *std::max_element(silent_.begin(), silent_.end(), [this](int a, int b) {
        return v_[static_cast<std::size_t>(a)] < v_[static_cast<std::size_t>(b)];
      });
      const int plane = bank_.planes();
      bank_.add(inputs_[static_cast<std::size_t>(seed)]);
      take(seed);
      std::erase_if(silent_, [&](int p) {
        const auto index = static_cast<std::size_t>(p);
        return taken_[index] != 0 || respond(bank_.excite(inputs_[index], plane), v_[index]) > 0.0f;
      });
    }
  }

  const FeatureLearning& learning_;
  const CellWindow& window_;
  float bias_;
  WeightBank& bank_;
  int side_;
  int planes_ = 0;  // at the begin of the image
  std::vector<std::vector<SimpleInput>> inputs_;
  std::vector<float> v_;
  std::vector<std::vector<float>> e_;
  std::vector<char> taken_;
  std::vector<int> active_;
  std::vector<int> silent_;
  std::vector<Seed> seeds_;
  std::vector<char> used_;
  std::set<int> losers_;
  std::vector<SimpleInput> room_;
  AlignedFloats excitation_;
  std::size_t excitation_room_ = 0;
};

}  // namespace

bool learn_features(const FeatureLearning& learning, const CellWindow& window, float gain,
                    std::span<StoredCells> images, WeightBank& bank,
                    const std::function<bool(double)>& progress) {
  std::size_t count = images.size();
  if (learning.images > 0) count = std::min(count, static_cast<std::size_t>(learning.images));
  SeedSelection selection(learning, window, gain, bank);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 64 == 0 && !progress(static_cast<double>(i) / static_cast<double>(count))) return false;
    selection.learn(images[i].view());
  }
  return true;
}

}  // namespace ocellus::detail
