// Tuning of the references of stage 4 after they have been learned.
#include <algorithm>
#include <array>
#include <cmath>

#include "training/reference_learning.h"

namespace ocellus::detail {

ReferenceTrainer::Nearest ReferenceTrainer::nearest(const Image& image,
                                                    const ClassProducts& products) const {
  const ClassReferences references = products.view();
  const auto n = static_cast<std::size_t>(references.count);
  const auto stride = static_cast<std::size_t>(references.stride);
  const std::vector<int>& members = products.members();
  Nearest found;
  float squared = 0.0f;
  for (int q = 0; q < kReferencePositions; ++q) {
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

}  // namespace ocellus::detail
