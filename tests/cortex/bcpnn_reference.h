// CortexRule::kBcpnn and the rewiring of free fields in double precision, written from equations
// (a), (b), (e), (f) and (g): traces P_m and P_im of all minicolumns and pixels, sums over all
// inputs. It shares only the random numbers with the library, and the rounding of w, b and a.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "core/philox.h"
#include "ocellus/cortex_training.h"

namespace ocellus::test {

/// (g) for one input, term by term. `joint`: P_im of each minicolumn.
inline double information_of(const std::vector<double>& active, const std::vector<double>& joint) {
  double share = 0.0;
  for (const double p : joint) share += p;
  double sum = 0.0;
  for (std::size_t m = 0; m < active.size(); ++m) {
    const double off = active[m] - joint[m];
    if (joint[m] > 0.0) sum += joint[m] * std::log(joint[m] / (share * active[m]));
    if (off > 0.0) sum += off * std::log(off / ((1.0 - share) * active[m]));
  }
  return sum;
}

/// A hypercolumn of the lowest level over a whole patch: one window, or a free field.
class ReferenceHypercolumn {
 public:
  /// `cells`: of each image, [pixel].
  ReferenceHypercolumn(const CortexTraining& training, int number,
                       const std::vector<std::vector<int>>& cells)
      : training_(training),
        number_(number),
        images_(cells),
        pixels_(cells[0].size()),
        minicolumns_(static_cast<std::size_t>(training.parameters.levels[0].minicolumns)) {
    choose_field();
    for (std::size_t m = 0; m < minicolumns_; ++m) {
      std::size_t image = 0;
      for (std::uint32_t i = 0; i < 20; ++i) {
        image = random_image(static_cast<std::uint32_t>(m), i, 2u << 30);
        if (std::count(images_[image].begin(), images_[image].end(), 1) > 0) break;
      }
      const double each = 1.0 / static_cast<double>(minicolumns_);
      active.push_back(each);
      joint.emplace_back();
      for (const int x : images_[image]) joint.back().push_back(each * (x == 1 ? 0.9 : 0.03));
    }
    refresh();
  }

  void learn() {
    const int images = training_.feature_images;
    std::vector<Shown> batch;
    for (int step = 0; step < images; ++step) {
      const std::size_t image = random_image(static_cast<std::uint32_t>(step), 0, 3u << 30);
      batch.push_back({image, activities(images_[image])});
      if (static_cast<int>(batch.size()) == training_.batch || step + 1 == images) {
        update(batch);
        batch.clear();
      }
      const auto part = [&](std::int64_t n) { return n * (training_.rewirings + 1) / images; };
      if (training_.parameters.fields > 0 && step + 1 < images && part(step + 1) > part(step))
        rewire();
      if (batch.empty() || training_.parameters.fields > 0) refresh();
    }
  }

  std::vector<std::size_t> field;          ///< pixels, ascending
  std::vector<double> active;              ///< P_m
  std::vector<std::vector<double>> joint;  ///< P_im, [minicolumn][pixel]
  std::vector<std::vector<int>> weights;   ///< [minicolumn][input of the field]
  std::vector<int> bias;
  double gained = 0.0;      ///< information of all inputs that rewirings added
  double least_gain = 0.0;  ///< of a rewiring

 private:
  static constexpr double kUnit = kCortexWeightScale;

  /// An image of a batch and the activities at the moment when it was shown.
  struct Shown {
    std::size_t image;
    std::vector<double> activities;
  };

  std::size_t random_image(std::uint32_t a, std::uint32_t b, std::uint32_t purpose) const {
    const std::uint64_t word =
        detail::philox(training_.seed, {a, b, static_cast<std::uint32_t>(number_), purpose})[0];
    return word * images_.size() >> 32;
  }

  void choose_field() {
    std::vector<std::size_t> all(pixels_);
    for (std::size_t i = 0; i < pixels_; ++i) all[i] = i;
    field = all;
    if (training_.parameters.fields == 0) return;
    field.clear();
    for (std::size_t i = 0; i < static_cast<std::size_t>(training_.parameters.field_inputs); ++i) {
      const std::uint64_t word = detail::philox(
          training_.seed,
          {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(number_), 0, 7u << 29})[0];
      std::swap(all[i], all[i + (word * (pixels_ - i) >> 32)]);
      field.push_back(all[i]);
    }
    std::sort(field.begin(), field.end());
  }

  void refresh() {
    weights.assign(minicolumns_, {});
    bias.assign(minicolumns_, 0);
    for (std::size_t m = 0; m < minicolumns_; ++m) {
      double b = static_cast<double>(training_.bias_gain) * std::log(std::max(active[m], 1e-6));
      for (const std::size_t i : field) {
        const double p = std::clamp(joint[m][i] / active[m], 0.01, 0.99);
        double w = std::log(p);
        if (training_.off_cells) {
          w -= std::log(1.0 - p);
          b += std::log(1.0 - p);
        }
        weights[m].push_back(static_cast<int>(std::lround(w * kUnit)));
      }
      bias[m] = static_cast<int>(std::lround(b * kUnit));
    }
  }

  /// (b), rounded to 1/256. Tables of the library have steps of 1/65535.
  std::vector<double> activities(const std::vector<int>& x) const {
    std::vector<int> scores;
    for (std::size_t m = 0; m < minicolumns_; ++m) {
      int s = bias[m];
      for (std::size_t i = 0; i < field.size(); ++i) s += x[field[i]] * weights[m][i];
      scores.push_back(s);
    }
    std::vector<std::size_t> order(minicolumns_);
    for (std::size_t m = 0; m < minicolumns_; ++m) order[m] = m;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    order.resize(static_cast<std::size_t>(training_.parameters.competitors));
    std::vector<double> parts;
    double sum = 0.0;
    for (const std::size_t m : order) {
      const double difference = (scores[m] - scores[order[0]]) / kUnit;
      parts.push_back(std::round(
          65535.0 * std::exp(static_cast<double>(training_.parameters.softness) * difference)));
      sum += parts.back();
    }
    std::vector<double> a(minicolumns_, 0.0);
    for (std::size_t k = 0; k < order.size(); ++k)
      a[order[k]] = std::floor(parts[k] / sum * 256.0 + 0.5) / 256.0;
    return a;
  }

  void update(const std::vector<Shown>& batch) {
    std::vector<double> mean(minicolumns_, 0.0);
    std::vector<std::vector<double>> products(minicolumns_, std::vector<double>(pixels_, 0.0));
    const auto count = static_cast<double>(batch.size());
    for (const auto& [image, a] : batch) {
      for (std::size_t m = 0; m < minicolumns_; ++m) {
        mean[m] += a[m] / count;
        for (std::size_t i = 0; i < pixels_; ++i)
          products[m][i] += a[m] * images_[image][i] / count;
      }
    }
    const auto rate = static_cast<double>(training_.trace_rate);
    for (std::size_t m = 0; m < minicolumns_; ++m) {
      active[m] += rate * (mean[m] - active[m]);
      for (std::size_t i = 0; i < pixels_; ++i)
        joint[m][i] += rate * (products[m][i] - joint[m][i]);
    }
  }

  void rewire() {
    std::vector<double> information;
    for (std::size_t i = 0; i < pixels_; ++i) {
      std::vector<double> of_input;
      for (std::size_t m = 0; m < minicolumns_; ++m) of_input.push_back(joint[m][i]);
      information.push_back(information_of(active, of_input));
    }
    std::set<std::size_t> inside(field.begin(), field.end());
    double gain = 0.0;
    for (int n = 0; n < training_.exchanges; ++n) {
      // One exchange at a time, without those that have just come.
      std::size_t worst = pixels_;
      std::size_t best = pixels_;
      for (std::size_t i = 0; i < pixels_; ++i) {
        if (inside.contains(i)) {
          if (worst == pixels_ || information[i] < information[worst]) worst = i;
        } else if (best == pixels_ || information[i] > information[best]) {
          best = i;
        }
      }
      if (best == pixels_ || information[best] <= information[worst]) break;
      inside.erase(worst);
      inside.insert(best);
      gain += information[best] - information[worst];
    }
    gained += gain;
    least_gain = std::min(least_gain, gain);
    field.assign(inside.begin(), inside.end());
  }

  CortexTraining training_;
  int number_;
  std::vector<std::vector<int>> images_;
  std::size_t pixels_;
  std::size_t minicolumns_;
};

}  // namespace ocellus::test
