// Loads the outputs of a band at the start of a run, and writes them at its end.
#pragma once

#include "kernels/halftone/band.cuh"

namespace ocellus::cuda {
namespace {

/// Loads the outputs of all rows that the band reads, as bits.
template <int R, StatePlace kPlace>
__device__ void load_outputs(Band<R, kPlace>& band) {
  const int rows = band.end - band.begin + 2 * band.a.reach + 1;
  for (int i = band.tid; i < rows * band.words; i += kBandThreads) {
    const int row = band.top + i / band.words;
    const int word = i % band.words;
    if (row < 0 || row >= band.height) continue;
    const auto* from = reinterpret_cast<const uint4*>(band.a.cells.k + row * band.a.cells.pitch +
                                                      static_cast<std::int64_t>(word) * 32);
    std::uint32_t bits = 0;
    const uint4 low = from[0];
    const uint4 high = from[1];
    const std::uint32_t quads[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int q = 0; q < 8; ++q) bits |= ((quads[q] & 0x01010101u) * 0x10204080u >> 28) << (4 * q);
    // The bytes of the plane after the image are undefined.
    if (word == band.words - 1 && band.width % 32 != 0) bits &= (1u << band.width % 32) - 1;
    band.outputs(row)[word + 1] = bits;
  }
}

/// Writes the outputs of the band's own rows for the next run, for a warm start, and to the frame's
/// result.
template <int R, StatePlace kPlace>
__device__ void write_outputs(Band<R, kPlace>& band) {
  const BandArguments& a = band.a;
  const int rows = band.end - band.begin;
  const bool bad = *static_cast<volatile unsigned*>(&a.end.state->bad) != 0;
  const bool bytes = a.end.last && a.end.format == PixelFormat::kGray8;
  char* const out = a.end.last ? static_cast<char*>(a.end.frame->out[0]) : nullptr;
  const std::int64_t stride = a.end.last ? a.end.frame->out_stride[0] : 0;
  const bool aligned = (reinterpret_cast<std::uintptr_t>(out) | stride) % 16 == 0;
  const int pieces = (band.width + 15) / 16;
  const std::uint32_t darkest = detail::gray_of_level(0, 2, a.end.range, 257, true);
  const std::uint32_t span = detail::gray_of_level(1, 2, a.end.range, 257, true) - darkest;
  for (int i = band.tid; i < rows * pieces; i += kBandThreads) {
    const int row = band.begin + i / pieces;
    const int x = i % pieces * 16;
    const std::uint32_t bits = band.outputs(row)[x / 32 + 1] >> x % 32;
    const auto four = [&](int quad) {
      return ((bits >> 4 * quad & 15) * 0x00204081u) & 0x01010101u;
    };
    const uint4 k = make_uint4(four(0), four(1), four(2), four(3));
    if (!a.end.last) *reinterpret_cast<uint4*>(a.to + row * a.cells.pitch + x) = k;
    if (a.end.keep != nullptr && !bad)
      *reinterpret_cast<uint4*>(a.end.keep + row * a.cells.pitch + x) = k;
    if (!a.end.last) continue;
    if (bytes && aligned && x + 16 <= band.width) {
      const std::uint32_t black = a.end.white_is_one ? 0 : 0x01010101u;
      const auto gray = [&](std::uint32_t quad) {
        return bad ? 0u : darkest * 0x01010101u + (quad ^ black) * span;
      };
      *reinterpret_cast<uint4*>(out + row * stride + x) =
          make_uint4(gray(k.x), gray(k.y), gray(k.z), gray(k.w));
    } else {
      for (int c = 0; c < 16 && x + c < band.width; ++c)
        write_gray(a.end, x + c, row, static_cast<int>(bits >> c & 1), bad);
    }
  }
}

}  // namespace
}  // namespace ocellus::cuda
