#include "ocellus/labeled_images.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace ocellus {

LabeledImages split_validation(LabeledImages& images, double share, std::uint64_t seed) noexcept {
  std::vector<std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < images.count(); ++i) {
    const std::size_t label = images.labels[i];
    if (members.size() <= label) members.resize(label + 1);
    members[label].push_back(i);
  }
  std::vector<char> moves(images.count());
  std::mt19937_64 random(seed);
  for (std::vector<std::size_t>& own : members) {
    if (own.empty()) continue;
    for (std::size_t i = own.size(); i > 1; --i) std::swap(own[i - 1], own[random() % i]);
    // NaN moves none.
    const double limited = share > 0.0 ? std::min(share, 1.0) : 0.0;
    const double wanted = limited * static_cast<double>(own.size());
    const auto count = std::min(static_cast<std::size_t>(std::lround(wanted)), own.size() - 1);
    for (std::size_t i = 0; i < count; ++i) moves[own[i]] = 1;
  }
  LabeledImages stays{images.width, images.height, {}, {}, images.names};
  LabeledImages moved = stays;
  for (std::size_t i = 0; i < images.count(); ++i) {
    LabeledImages& to = moves[i] != 0 ? moved : stays;
    to.ink.insert(to.ink.end(), images.image(i), images.image(i + 1));
    to.labels.push_back(images.labels[i]);
  }
  images = std::move(stays);
  return moved;
}

}  // namespace ocellus
