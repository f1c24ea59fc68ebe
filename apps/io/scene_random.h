// Random numbers of synthetic scenes.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>

namespace ocellus::app {

/// Random numbers that are the same with every standard library.
class SceneRandom {
 public:
  SceneRandom(unsigned seed, int number)
      : engine_(seed * 1000003ull + static_cast<unsigned>(number)) {}

  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  std::size_t index(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  double normal() {
    // Box and Muller.
    const double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
    return radius * std::cos(2 * std::numbers::pi * uniform(0, 1));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace ocellus::app
