// Read-outs of a cortical classifier: counting, and the delta rule.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "core/philox.h"
#include "training/cortex_activity.h"

namespace ocellus::detail {
namespace {

/// Counters of the order of images, beside those of the features: a step is below 2^31.
constexpr std::uint32_t kOrder = 1u << 31;

template <typename T>
T in_units(double value) {
  const double limit = std::numeric_limits<T>::max();
  return static_cast<T>(std::lround(std::clamp(value * kCortexReadOutScale, -limit, limit)));
}

/// Number of the first padded minicolumn of each hypercolumn.
std::vector<std::size_t> places_of(const CortexShape& shape) {
  std::vector<std::size_t> places;
  for (int level = 0; level < shape.hierarchy.level_count; ++level)
    for (int h = 0; h < shape.hierarchy.level(level).hypercolumns; ++h)
      places.push_back(shape.hierarchy.minicolumns_of(level, h));
  return places;
}

std::optional<LearnedReadOut> learn_by_counting(const CortexShape& shape,
                                                const CortexActivities& activities,
                                                const std::vector<std::uint16_t>& labels,
                                                const std::vector<std::uint32_t>& which,
                                                double prior, const Progress& progress) {
  const auto classes = static_cast<std::size_t>(shape.classes);
  const std::vector<std::size_t> places = places_of(shape);
  const auto competitors = static_cast<std::size_t>(shape.parameters.competitors);
  std::vector<std::int64_t> all(shape.hierarchy.minicolumns);
  std::vector<std::int64_t> counts(shape.hierarchy.minicolumns * classes);
  std::vector<std::int64_t> images(classes);
  const auto count = [&](std::size_t image, const auto& add) {
    for (std::size_t h = 0; h < places.size(); ++h) {
      const std::uint16_t* const m = activities.minicolumns(image, static_cast<int>(h));
      const std::uint16_t* const a = activities.shares(image, static_cast<int>(h));
      for (std::size_t k = 0; k < competitors; ++k) add(places[h] + m[k], a[k]);
    }
  };
  const double steps = static_cast<double>(activities.count() + which.size());
  std::size_t step = 0;
  const auto goes_on = [&] {
    return step++ % kImagesBetweenProgress != 0 || progress(static_cast<double>(step) / steps);
  };
  for (std::size_t image = 0; image < activities.count(); ++image) {
    if (!goes_on()) return std::nullopt;
    count(image, [&](std::size_t m, std::int64_t a) { all[m] += a; });
  }
  for (const std::uint32_t image : which) {
    if (!goes_on()) return std::nullopt;
    const std::size_t label = labels[image % labels.size()];
    ++images[label];
    count(image, [&](std::size_t m, std::int64_t a) { counts[m * classes + label] += a; });
  }
  return read_out_of_counts(all, counts, images, activities.count(), prior);
}

std::optional<LearnedReadOut> learn_by_delta_rule(const CortexShape& shape,
                                                  const CortexActivities& activities,
                                                  const std::vector<std::uint16_t>& labels,
                                                  std::vector<std::uint32_t> which,
                                                  const CortexTraining& training,
                                                  const Progress& progress) {
  const auto classes = static_cast<std::size_t>(shape.classes);
  const std::vector<std::size_t> places = places_of(shape);
  const auto competitors = static_cast<std::size_t>(shape.parameters.competitors);
  std::vector<float> weights(shape.hierarchy.minicolumns * classes);
  std::vector<float> bias(classes);
  std::vector<float> y(classes);
  constexpr float kShare = 1.0f / kCortexActivityOne;
  for (int pass = 0; pass < training.passes; ++pass) {
    const float rate =
        training.rate * (1.0f - static_cast<float>(pass) / static_cast<float>(training.passes));
    for (std::size_t i = which.size() - 1; i > 0; --i) {
      const std::uint32_t word = philox(
          training.seed,
          {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(pass), kOrder, kOrder})[0];
      std::swap(which[i], which[std::uint64_t{word} * (i + 1) >> 32]);
    }
    for (std::size_t i = 0; i < which.size(); ++i) {
      const std::uint32_t image = which[i];
      const double share = static_cast<double>(i) / static_cast<double>(which.size());
      if (i % kImagesBetweenProgress == 0 && !progress((pass + share) / training.passes))
        return std::nullopt;
      std::copy(bias.begin(), bias.end(), y.begin());
      const auto each = [&](const auto& body) {
        for (std::size_t h = 0; h < places.size(); ++h) {
          const std::uint16_t* const m = activities.minicolumns(image, static_cast<int>(h));
          const std::uint16_t* const a = activities.shares(image, static_cast<int>(h));
          for (std::size_t k = 0; k < competitors; ++k)
            body(weights.data() + (places[h] + m[k]) * classes, static_cast<float>(a[k]) * kShare);
        }
      };
      each([&](const float* row, float a) {
        for (std::size_t c = 0; c < classes; ++c) y[c] += a * row[c];
      });
      const std::uint16_t label = labels[image % labels.size()];
      const float most = *std::max_element(y.begin(), y.end());
      float sum = 0.0f;
      for (float& value : y) sum += value = std::exp(value - most);
      for (std::size_t c = 0; c < classes; ++c) {
        const float error = (c == label ? 1.0f : 0.0f) - y[c] / sum;
        y[c] = rate * error;
        bias[c] += y[c];
      }
      each([&](float* row, float a) {
        for (std::size_t c = 0; c < classes; ++c) row[c] += a * y[c];
      });
    }
  }
  LearnedReadOut learned;
  for (const float weight : weights)
    learned.read_out.push_back(in_units<std::int16_t>(static_cast<double>(weight)));
  for (const float value : bias)
    learned.class_bias.push_back(in_units<std::int32_t>(static_cast<double>(value)));
  return learned;
}

}  // namespace

LearnedReadOut read_out_of_counts(const std::vector<std::int64_t>& all,
                                  const std::vector<std::int64_t>& counts,
                                  const std::vector<std::int64_t>& images, std::size_t shown,
                                  double prior) {
  const std::size_t classes = images.size();
  const auto labeled =
      static_cast<double>(std::accumulate(images.begin(), images.end(), std::int64_t{0}));
  LearnedReadOut learned;
  learned.read_out.assign(counts.size(), 0);
  for (std::size_t m = 0; m < all.size(); ++m) {
    if (all[m] == 0) continue;  // it never won, so it says nothing
    const double share =
        static_cast<double>(all[m]) / (kCortexActivityOne * static_cast<double>(shown));
    for (std::size_t c = 0; c < classes; ++c) {
      const double won = static_cast<double>(counts[m * classes + c]) / kCortexActivityOne;
      const double ratio = (won + prior * share) / (static_cast<double>(images[c]) + prior) / share;
      learned.read_out[m * classes + c] = in_units<std::int16_t>(std::log(ratio));
    }
  }
  for (const std::int64_t n : images) {
    // A class without labels is never the answer.
    const double share = std::max(static_cast<double>(n), 1e-9) / labeled;
    learned.class_bias.push_back(in_units<std::int32_t>(std::log(share)));
  }
  return learned;
}

float fit_sharpness(const std::vector<std::int64_t>& evidence, std::size_t classes,
                    const std::vector<std::uint16_t>& right) {
  const auto loss = [&](double logarithm) {
    const double unit = std::exp(logarithm) / (kCortexReadOutScale * kCortexActivityOne);
    double total = 0.0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      const std::int64_t* const e = evidence.data() + i * classes;
      const std::int64_t most = *std::max_element(e, e + classes);
      double sum = 0.0;
      for (std::size_t c = 0; c < classes; ++c)
        sum += std::exp(unit * static_cast<double>(e[c] - most));
      total += std::log(sum) - unit * static_cast<double>(e[right[i]] - most);
    }
    return total;
  };
  // The loss is convex in the sharpness, so it has one minimum: golden section search.
  double low = std::log(1e-4);
  double high = std::log(100.0);
  for (int i = 0; i < 40; ++i) {
    const double part = (high - low) / (1.0 + std::numbers::phi);
    if (loss(low + part) < loss(high - part))
      high -= part;
    else
      low += part;
  }
  return static_cast<float>(std::exp(0.5 * (low + high)));
}

std::optional<LearnedReadOut> learn_read_out(const CortexShape& shape,
                                             const CortexActivities& activities,
                                             const std::vector<std::uint16_t>& labels,
                                             const std::vector<std::uint32_t>& which,
                                             const CortexTraining& training,
                                             const Progress& progress) {
  if (training.read_out == CortexReadOut::kBayes) {
    return learn_by_counting(shape, activities, labels, which, static_cast<double>(training.prior),
                             progress);
  }
  return learn_by_delta_rule(shape, activities, labels, which, training, progress);
}

}  // namespace ocellus::detail
