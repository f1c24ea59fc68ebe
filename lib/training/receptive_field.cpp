#include "training/receptive_field.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/philox.h"

namespace ocellus::detail {
namespace {

/// Counters of random numbers, beside those of features, order and copies.
constexpr std::uint32_t kFields = 7u << 29;

double x_log_x(double x) noexcept {
  return x > 0.0 ? x * std::log(x) : 0.0;
}

}  // namespace

std::vector<double> mutual_information(std::span<const double> active,
                                       std::span<const double> joint) {
  const std::size_t inputs = joint.size() / active.size();
  std::vector<double> share(inputs, 0.0);  // P_i
  std::vector<double> information(inputs, 0.0);
  for (std::size_t m = 0; m < active.size(); ++m) {
    const double* const row = joint.data() + m * inputs;
    const double both = x_log_x(active[m]);
    for (std::size_t i = 0; i < inputs; ++i) {
      share[i] += row[i];
      // By rounding, P_im may be above P_m.
      const double off = std::max(active[m] - row[i], 0.0);
      information[i] += x_log_x(row[i]) + x_log_x(off) - both;
    }
  }
  for (std::size_t i = 0; i < inputs; ++i)
    information[i] -= x_log_x(share[i]) + x_log_x(std::max(1.0 - share[i], 0.0));
  return information;
}

int rewire(std::span<std::uint16_t> field, std::span<const double> information, int exchanges) {
  std::vector<bool> connected(information.size(), false);
  for (const std::uint16_t input : field) connected[input] = true;
  std::vector<std::uint16_t> least(field.begin(), field.end());
  std::vector<std::uint16_t> most;
  for (std::size_t i = 0; i < information.size(); ++i)
    if (!connected[i]) most.push_back(static_cast<std::uint16_t>(i));
  std::stable_sort(least.begin(), least.end(), [&](std::uint16_t a, std::uint16_t b) {
    return information[a] < information[b];
  });
  std::stable_sort(most.begin(), most.end(), [&](std::uint16_t a, std::uint16_t b) {
    return information[a] > information[b];
  });
  const std::size_t limit =
      std::min({static_cast<std::size_t>(exchanges), least.size(), most.size()});
  std::size_t done = 0;
  while (done < limit && information[most[done]] > information[least[done]]) {
    least[done] = most[done];
    ++done;
  }
  std::sort(least.begin(), least.end());
  std::copy(least.begin(), least.end(), field.begin());
  return static_cast<int>(done);
}

void draw_field(std::uint64_t seed, int hypercolumn, int inputs, std::span<std::uint16_t> field) {
  std::vector<std::uint16_t> all(static_cast<std::size_t>(inputs));
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (std::size_t i = 0; i < field.size(); ++i) {
    const std::uint32_t word = philox(
        seed,
        {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(hypercolumn), 0, kFields})[0];
    std::swap(all[i], all[i + (std::uint64_t{word} * (all.size() - i) >> 32)]);
    field[i] = all[i];
  }
  std::sort(field.begin(), field.end());
}

}  // namespace ocellus::detail
