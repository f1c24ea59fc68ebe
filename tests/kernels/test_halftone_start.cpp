// The kernels that compute the initial outputs of the cellular network, run on the host and
// compared with the equations in double precision.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/halftone/kernels.h"
#include "reference/cellular_network.h"

namespace ocellus::test {
namespace {

constexpr int kPitchUnit = cuda::kCellAlignment;

// Fails when the error diffusion of a device takes another level than the nearest one, passes on
// another error, or leaves out or exceeds a tile that is cut.
TEST(HalftoneStart, DiffusionMatchesTheReference) {
  for (const int levels : {2, 3, 4, 16, 255, 256}) {
    for (const ImageSize size : {ImageSize{1, 1}, {5, 3}, {129, 33}, {300, 40}}) {
      SCOPED_TRACE(std::to_string(levels) + " levels, width " + std::to_string(size.width));
      std::vector<std::uint8_t> gray(static_cast<std::size_t>(size.width * size.height));
      PlaneD values(size.width, size.height);
      std::uint32_t random = 12345;
      for (std::size_t i = 0; i < gray.size(); ++i) {
        random = random * 1664525u + 1013904223u;
        gray[i] = static_cast<std::uint8_t>(random >> 24);
        values.data[i] = gray[i];
      }
      cuda::FrameParams frame{};
      frame.image = gray.data();
      frame.image_stride = size.width;
      cuda::TemporalState state{};
      const int pitch = (size.width + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
      std::vector<std::uint8_t> k(static_cast<std::size_t>(pitch * size.height), 77);
      cuda::StartArguments a{};
      a.u.frame = &frame;
      a.u.format = PixelFormat::kGray8;
      a.u.gray = detail::make_gray_input({}, detail::gray_unit(PixelFormat::kGray8), false);
      a.u.pitch = pitch;
      a.u.levels = 2;
      a.to = {k.data(), pitch, size.width, size.height};
      a.start = CellStart::kErrorDiffusion;
      a.levels = levels;
      a.state = &state;
      const int tiles =
          (size.width + detail::kDiffusionTileWidth - 1) / detail::kDiffusionTileWidth *
          ((size.height + detail::kDiffusionTileHeight - 1) / detail::kDiffusionTileHeight);
      simt::launch(
          cuda::kDiffusionKernel,
          static_cast<unsigned>((tiles + cuda::kDiffusionTiles - 1) / cuda::kDiffusionTiles), 1,
          cuda::kDiffusionThreads, a);
      const PlaneD u = reference::cell_input(values, CellPolarity::kBlackIsOne, {});
      const auto expected = reference::error_diffusion(u, levels);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          ASSERT_EQ(k[static_cast<std::size_t>(y * pitch + x)], expected.at(x, y))
              << x << ", " << y;
    }
  }
}

}  // namespace
}  // namespace ocellus::test
