// Bands with states in shared memory, and host functions for all bands.
#include "kernels/halftone/bands.cuh"

#include <cstdlib>

namespace ocellus::cuda {

Kernel<BandArguments> band_kernel(int radius) noexcept {
  return band_kernel_for<StatePlace::kShared>(radius);
}

void make_swap_weights(int radius, BandArguments& arguments) noexcept {
  const int side = 2 * radius + 1;
  const auto weight = [&](int dx, int dy) {
    const bool inside = std::abs(dx) <= radius && std::abs(dy) <= radius;
    return inside ? arguments.a[(dy + radius) * side + dx + radius] : 0;
  };
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < 2 * radius + 2; ++i) {
      // The weight of the cell minus that of the neighbor, because their changes are opposite.
      const int d = i - radius;
      arguments.swap[0][row][i] = weight(-d, -row) - weight(1 - d, -row);
      arguments.swap[1][row][i] = weight(-d, -row) - weight(-d, 1 - row);
    }
  }
}

std::size_t band_message_words(int width, int height) noexcept {
  return std::size_t{8} * static_cast<std::size_t>(height) *
         static_cast<std::size_t>(message_pairs(width));
}

std::size_t band_shared_bytes(StatePlace place, int radius, int reach, int width, int rows,
                              int columns) noexcept {
  return static_cast<std::size_t>(BandLayout(place, radius, reach, width, rows, columns).bytes);
}

LargeBandWords large_band_words(int radius, int reach, int width, int rows) noexcept {
  const BandLayout at(StatePlace::kGlobal, radius, reach, width, rows, 0);
  return {static_cast<std::size_t>(rows + 1) * static_cast<std::size_t>(at.x_stride),
          static_cast<std::size_t>(at.many_words())};
}

}  // namespace ocellus::cuda
