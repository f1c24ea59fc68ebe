// The choice among candidates: its weights are fitted to frames whose characters are known.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "neocognitron/character_choice.h"
#include "training/frame_candidates.h"
#include "training/logistic_fit.h"

namespace ocellus {
namespace detail {
namespace {

/// The candidates of a frame with what the network says of them.
struct ScoredFrame {
  std::vector<CharacterCandidate> candidates;
  std::vector<CandidateScore> scores;
  std::vector<int> labels;  // of the candidate with the largest share of a box, or one of below
  std::vector<std::uint16_t> string;

  static constexpr int kOther = -1;
  static constexpr int kDuplicate = -2;  // of a character, but not the best one: it tells nothing
};

Expected<void> check_frames(const TrainedNeocognitron& network,
                            std::span<const LabeledFrame> frames) {
  for (const LabeledFrame& one : frames) {
    OCELLUS_TRY(check_frame(one.frame, one.boxes));
    for (const LabeledBox& box : one.boxes) {
      if (box.label < network.characters()) continue;
      return invalid_argument("choice: a character has the label %d; the network has %zu classes",
                              box.label, network.characters());
    }
  }
  return {};
}

/// Mean and deviations of the widths and heights of each class. A class of few characters is like
/// all of them.
std::vector<CharacterSize> fit_sizes(std::size_t classes, const std::vector<ScoredFrame>& frames) {
  struct Sums {
    double count = 0.0, width = 0.0, height = 0.0, ww = 0.0, hh = 0.0, wh = 0.0;

    void add(const Sums& other, double factor) {
      count += factor * other.count;
      width += factor * other.width;
      height += factor * other.height;
      ww += factor * other.ww;
      hh += factor * other.hh;
      wh += factor * other.wh;
    }
  };
  std::vector<Sums> sums(classes);
  Sums all;
  for (const ScoredFrame& frame : frames) {
    for (std::size_t c = 0; c < frame.candidates.size(); ++c) {
      if (frame.labels[c] < 0) continue;
      const double w = static_cast<double>(frame.candidates[c].width);
      const double h = static_cast<double>(frame.candidates[c].height);
      const Sums one{1.0, w, h, w * w, h * h, w * h};
      sums[static_cast<std::size_t>(frame.labels[c])].add(one, 1.0);
      all.add(one, 1.0);
    }
  }
  constexpr double kPrior = 4.0;  // characters
  std::vector<CharacterSize> sizes;
  for (Sums& of : sums) {
    of.add(all, kPrior / std::max(all.count, 1.0));
    const double n = of.count;
    const double w = of.width / n;
    const double h = of.height / n;
    const double least = 0.02;
    const double dw = std::max(std::sqrt(std::max(of.ww / n - w * w, 0.0)), least);
    const double dh = std::max(std::sqrt(std::max(of.hh / n - h * h, 0.0)), least);
    const double correlation = std::clamp((of.wh / n - w * h) / (dw * dh), -0.95, 0.95);
    sizes.push_back({static_cast<float>(w), static_cast<float>(h), static_cast<float>(dw),
                     static_cast<float>(dh), static_cast<float>(correlation)});
  }
  return sizes;
}

/// Frames all of whose characters are chosen and read.
int count_strings(const std::vector<ScoredFrame>& frames, const CharacterOdds& odds,
                  std::span<const CharacterSize> sizes) {
  int right = 0;
  CharacterChoice choice;
  std::vector<std::uint16_t> read;
  for (const ScoredFrame& frame : frames) {
    choose_characters(frame.candidates, frame.scores, odds, sizes, choice);
    read.clear();
    for (const int c : choice.chosen())
      read.push_back(static_cast<std::uint16_t>(frame.scores[static_cast<std::size_t>(c)].label));
    right += read == frame.string ? 1 : 0;
  }
  return right;
}

}  // namespace
}  // namespace detail

Expected<ChoiceFit> fit_choice(
    TrainedNeocognitron& network, std::span<const LabeledFrame> frames, int threads,
    const std::function<bool(const char* what, double share)>& progress) noexcept {
  using namespace detail;
  OCELLUS_TRY(check_frames(network, frames));
  LabeledImages images{InkImager::kSide, InkImager::kSide, {}, {}, {}};
  std::vector<ScoredFrame> scored;
  for (const LabeledFrame& one : frames) {
    FrameCandidates found(one.frame, one.boxes);
    ScoredFrame& frame = scored.emplace_back();
    frame.candidates.assign(found.candidates().begin(), found.candidates().end());
    for (std::size_t c = 0; c < frame.candidates.size(); ++c) {
      found.append(found.ink(static_cast<int>(c)), 0, images);
      frame.labels.push_back(found.shares()[c] < FrameCandidates::kLeastShare
                                 ? ScoredFrame::kOther
                                 : ScoredFrame::kDuplicate);
    }
    for (std::size_t b = 0; b < one.boxes.size(); ++b) {
      frame.string.push_back(one.boxes[b].label);
      if (found.best()[b] >= 0)
        frame.labels[static_cast<std::size_t>(found.best()[b])] = one.boxes[b].label;
    }
  }
  OCELLUS_TRY_ASSIGN(answers, recognize(network, images, threads, progress));
  auto answer = answers->begin();
  for (ScoredFrame& frame : scored) {
    for (std::size_t c = 0; c < frame.candidates.size(); ++c, ++answer) {
      frame.scores.push_back({answer->best, answer->similarity, answer->margin, answer->other});
    }
  }

  ChoiceFit fit;
  fit.frames = frames.size();
  answer = answers->begin();
  for (const ScoredFrame& frame : scored) {
    for (const int label : frame.labels) {
      const CharacterScores& of = *answer++;
      if (label == ScoredFrame::kDuplicate) continue;
      (label >= 0 ? fit.characters : fit.others) += 1;
      fit.scores.push_back(of);
      fit.classes.push_back(label >= 0 ? label : kNoClass);
    }
  }
  if (fit.characters == 0 || fit.others == 0) {
    return invalid_argument(
        "choice: the frames have %zu candidates that are characters and %zu that are not; there "
        "must be both",
        fit.characters, fit.others);
  }
  network.sizes = fit_sizes(network.characters(), scored);
  const auto count = static_cast<Eigen::Index>(fit.characters + fit.others);
  Eigen::MatrixXd inputs(count, kOddsInputs);
  Eigen::VectorXd targets(count);
  Eigen::Index row = 0;
  for (const ScoredFrame& frame : scored) {
    for (std::size_t c = 0; c < frame.candidates.size(); ++c) {
      if (frame.labels[c] == ScoredFrame::kDuplicate) continue;
      const auto of = odds_inputs(frame.candidates[c], frame.scores[c], network.sizes);
      for (int i = 0; i < kOddsInputs; ++i)
        inputs(row, i) = static_cast<double>(of[static_cast<std::size_t>(i)]);
      targets[row++] = frame.labels[c] >= 0 ? 1.0 : 0.0;
    }
  }
  // An input that is always 0 keeps the weight 0.
  const Eigen::VectorXd center = Eigen::VectorXd::Zero(kOddsInputs);
  const Eigen::VectorXd deviation = Eigen::VectorXd::Constant(kOddsInputs, 30.0);
  const Eigen::VectorXd weights = fit_logistic(inputs, targets, center, deviation);
  for (int i = 0; i < kOddsInputs; ++i)
    network.odds.weights[static_cast<std::size_t>(i)] = static_cast<float>(weights[i]);
  // Of equal costs of dropped ink, the middle one.
  int first = 0;
  int last = 0;
  constexpr int kSteps = 17;
  constexpr float kStep = 0.5f;
  for (int i = 0; i < kSteps; ++i) {
    network.odds.dropped = kStep * static_cast<float>(i);
    const int right = count_strings(scored, network.odds, network.sizes);
    if (right < fit.strings) continue;
    if (right > fit.strings) first = i;
    fit.strings = right;
    last = i;
  }
  network.odds.dropped = 0.5f * kStep * static_cast<float>(first + last);
  fit.strings = count_strings(scored, network.odds, network.sizes);
  return fit;
}

}  // namespace ocellus
