// Learning of a read-out for a cortical network.
#include "ocellus/network_training.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/failure.h"
#include "cortical_network/hypercolumn.h"
#include "training/cortex_activity.h"

namespace ocellus {
namespace {

using namespace detail;

Expected<Hierarchy> hierarchy_of_network(const CorticalNetwork& network) {
  return hierarchy_of(network.config());
}

std::vector<std::int32_t> all_winners(const CorticalNetwork& network) {
  std::vector<std::int32_t> all;
  for (int level = 0; level < network.levels(); ++level) {
    const auto of = network.winners(level);
    all.insert(all.end(), of.begin(), of.end());
  }
  return all;
}

/// Counts of the winners by class; a row for each one and for silence, as CorticalReadOut::weights.
class WinnerCounts {
 public:
  WinnerCounts(const Hierarchy& hierarchy, std::size_t classes)
      : hierarchy_(hierarchy),
        all_(read_out_rows(hierarchy)),
        counts_(all_.size() * classes),
        images_(classes) {}

  void add(const std::vector<std::int32_t>& winners, std::size_t label) {
    std::size_t row = 0;
    for (int level = 0; level < hierarchy_.level_count; ++level) {
      const LevelPlan& l = hierarchy_.level(level);
      for (int h = 0; h < l.hypercolumns; ++h) {
        const std::size_t at =
            row + static_cast<std::size_t>(winners[static_cast<std::size_t>(l.first + h)] + 1);
        all_[at] += kCortexActivityOne;
        counts_[at * images_.size() + label] += kCortexActivityOne;
        row += static_cast<std::size_t>(l.minicolumns + 1);
      }
    }
    ++images_[label];
    ++shown_;
  }

  LearnedReadOut learned(const NetworkReadOutTraining& training) const {
    if (training.read_out == NetworkReadOut::kBayes)
      return read_out_of_counts(all_, counts_, images_, shown_,
                                static_cast<double>(training.prior));
    return votes();
  }

 private:
  LearnedReadOut votes() const {
    const std::size_t classes = images_.size();
    LearnedReadOut learned;
    learned.class_bias.assign(classes, 0);
    learned.read_out.assign(counts_.size(), 0);
    const LevelPlan& top = hierarchy_.level(hierarchy_.level_count - 1);
    const auto rows = static_cast<std::size_t>(top.minicolumns + 1);
    const std::size_t begin = all_.size() - static_cast<std::size_t>(top.hypercolumns) * rows;
    for (std::size_t row = begin; row < all_.size(); ++row) {
      if ((row - begin) % rows == 0 || all_[row] == 0) continue;
      const auto* const counts = counts_.data() + row * classes;
      const auto most = std::max_element(counts, counts + classes) - counts;
      learned.read_out[row * classes + static_cast<std::size_t>(most)] = kCortexReadOutScale;
    }
    return learned;
  }

  const Hierarchy& hierarchy_;
  std::vector<std::int64_t> all_;
  std::vector<std::int64_t> counts_;  // [row][class]
  std::vector<std::int64_t> images_;  // of each class
  std::size_t shown_ = 0;
};

}  // namespace

Expected<TrainedReadOut> train_read_out(CorticalNetwork& network, const LabeledImages& images,
                                        const NetworkReadOutTraining& training) noexcept {
  const CorticalNetworkConfig& config = network.config();
  const std::size_t count =
      training.first == 0 ? images.count() : std::min(images.count(), training.first);
  if (images.width != config.width || images.height != config.height || count == 0) {
    return invalid_argument("%zu images of %dx%d pixels; the network takes images of %dx%d", count,
                            images.width, images.height, config.width, config.height);
  }
  // Comparisons with NaN are false.
  if (!(training.prior >= 1e-3f && training.prior <= 1e3f)) {
    return invalid_argument("prior is %g; it must be 0.001 to 1000",
                            static_cast<double>(training.prior));
  }
  OCELLUS_TRY_ASSIGN(hierarchy, hierarchy_of_network(network));
  OCELLUS_TRY_ASSIGN(names, names_of(images));
  TrainedReadOut trained;
  for (const std::string& name : *names) {
    if (!trained.names.emplace_back().assign(name)) {
      return invalid_argument("the name of a class has %zu characters; it may have %zu",
                              name.size(), kMaxClassName);
    }
  }
  const std::size_t classes = trained.names.size();
  WinnerCounts counts(*hierarchy, classes);
  const bool fits = count >= kLeastToFit;
  std::vector<std::int64_t> evidence;
  std::vector<std::uint16_t> right;
  LearnedReadOut learned;
  std::size_t shown = 0;
  // Those that are held out come last.
  for (const bool held : {false, true}) {
    if (held && fits) learned = counts.learned(training);
    for (std::size_t i = 0; i < count; ++i) {
      if ((fits && i % kHoldOut == kHoldOut - 1) != held) continue;
      if (training.progress &&
          !training.progress("read-out", static_cast<double>(shown++) / static_cast<double>(count)))
        return tl::unexpected(stopped_training());
      network.step(images.image(i), images.width, false);
      const std::vector<std::int32_t> winners = all_winners(network);
      if (held) {
        evidence.resize(evidence.size() + classes);
        read_out_winners(*hierarchy, learned.class_bias.data(), learned.read_out.data(),
                         static_cast<int>(classes), winners.data(),
                         evidence.data() + evidence.size() - classes);
        right.push_back(images.labels[i]);
      }
      counts.add(winners, images.labels[i]);
    }
  }
  if (fits) trained.sharpness = fit_sharpness(evidence, classes, right);
  learned = counts.learned(training);
  trained.class_bias = std::move(learned.class_bias);
  trained.weights = std::move(learned.read_out);
  return trained;
}

int answer_of(const CorticalNetwork& network, const CorticalReadOut& read_out) noexcept {
  const Expected<Hierarchy> hierarchy = hierarchy_of_network(network);
  if (!hierarchy) return -1;
  const auto classes = static_cast<int>(read_out.names.size());
  std::array<std::int64_t, kMaxCortexClasses> evidence;
  read_out_winners(*hierarchy, read_out.class_bias.data(), read_out.weights.data(), classes,
                   all_winners(network).data(), evidence.data());
  return decide_or_none(evidence.data(), classes, read_out.sharpness).label;
}

}  // namespace ocellus
