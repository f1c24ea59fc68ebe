// Work that never changes, beside which frames are timed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ocellus::app {

/// Sums of rows of weights in binary16, as in the layers of the network, and sums and comparisons
/// of pixels, as where characters are found. With the same vectors as the library, so that the
/// relation of their times is the same for every instruction set.
class FixedWork {
 public:
  FixedWork();
  /// The result depends on all of the work.
  std::uint32_t run();

 private:
  static constexpr std::size_t kRows = 2048;
  static constexpr std::size_t kWidth = 64;
  static constexpr std::size_t kSide = 160;

  alignas(64) std::array<std::uint16_t, kRows * kWidth> weights_;
  alignas(64) std::array<float, kWidth> sums_;
  std::array<std::uint8_t, kSide * kSide> pixels_;
  std::array<std::uint32_t, kSide> columns_;
};

}  // namespace ocellus::app
