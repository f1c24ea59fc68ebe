// The smallest operator that uses everything operators share: integers as results, an optional
// plane, a past frame, bad pixels, a record. Plane 0 is the negative of the frame, plane 1 the
// previous frame.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/operator_instance.h"
#include "support/run.h"

namespace ocellus::test {

inline constexpr ImageSize kInverseSize = {37, 21};
inline constexpr float kInverseBright = 100.0f;  ///< the record counts pixels above this value

template <typename T>
T inverse_of(float pixel) {
  return static_cast<T>(std::numeric_limits<T>::max() - static_cast<T>(pixel));
}
template <typename T>
inline constexpr T kInverseBad = std::numeric_limits<T>::max() / 3;

/// There are bytes between the members. The operator writes `odd` only if it is 1, and all bytes
/// for a bad frame.
struct InverseRecord {
  std::uint8_t odd = 0;      ///< whether `bright` is odd
  std::uint32_t bright = 0;  ///< pixels above kInverseBright

  void set(std::uint32_t count) {
    bright = count;
    if (count % 2 != 0) odd = 1;
  }
};

/// The bytes of a record whose members have been set and whose other bytes are 0.
inline std::array<std::uint8_t, sizeof(InverseRecord)> inverse_record_bytes(std::uint32_t bright) {
  std::array<std::uint8_t, sizeof(InverseRecord)> bytes{};
  bytes[offsetof(InverseRecord, odd)] = bright % 2;
  std::memcpy(&bytes[offsetof(InverseRecord, bright)], &bright, sizeof(bright));
  return bytes;
}

template <typename T>
OperatorInfo inverse_info(int depth = 2) {
  static const RecordInfo record = {"inverse", sizeof(InverseRecord), nullptr, 0};
  constexpr PixelFormat kFormat =
      std::is_same_v<T, std::uint8_t> ? PixelFormat::kGray8 : PixelFormat::kGray16;
  OperatorInfo info;
  info.name = "inverse";
  info.size = kInverseSize;
  info.format = PixelFormat::kFloat32;
  info.plane_count = 2;
  info.planes[0] = {"now", kInverseSize, kFormat, false};
  info.planes[1] = {"before", kInverseSize, kFormat, true};
  info.record = &record;
  info.depth = depth;
  info.support_frames = 2;
  info.keeps_state = true;
  return info;
}

/// Whole numbers up to 250.
inline std::vector<float> inverse_frame(std::uint64_t number) {
  std::vector<float> pixels(static_cast<std::size_t>(kInverseSize.width * kInverseSize.height));
  std::uint64_t state = number * 7919 + 1;
  for (float& pixel : pixels) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    pixel = static_cast<float>((state >> 33) % 251);
  }
  return pixels;
}
inline std::uint32_t inverse_bright(const std::vector<float>& pixels) {
  return static_cast<std::uint32_t>(
      std::count_if(pixels.begin(), pixels.end(), [](float p) { return p > kInverseBright; }));
}
inline Frame inverse_view(const std::vector<float>& pixels, std::uint64_t sequence) {
  Frame frame;
  frame.data = pixels.data();
  frame.size = kInverseSize;
  frame.stride = kInverseSize.width * static_cast<std::ptrdiff_t>(sizeof(float));
  frame.format = PixelFormat::kFloat32;
  frame.sequence = sequence;
  return frame;
}

/// Two planes with padding that must stay untouched.
template <typename T>
struct InverseOutput {
  static constexpr int kStride = kInverseSize.width + 3;
  static constexpr T kUntouched = 85;

  std::vector<T> planes[2] = {
      std::vector<T>(static_cast<std::size_t>(kStride * kInverseSize.height), kUntouched),
      std::vector<T>(static_cast<std::size_t>(kStride* kInverseSize.height), kUntouched)};

  OperatorOutput view(bool both) {
    const PixelFormat format = inverse_info<T>().planes[0].format;
    OperatorOutput out;
    for (std::size_t p = 0; p < (both ? 2u : 1u); ++p) {
      out.planes[p] = {
          planes[p].data(), kInverseSize,       kStride * static_cast<std::ptrdiff_t>(sizeof(T)),
          format,           MemorySpace::kHost, nullptr};
    }
    out.record = &record;
    return out;
  }
  InverseRecord record;

  /// `wanted(i)` is the expected value of pixel i of the plane.
  template <typename Wanted>
  void expect(int plane, Wanted&& wanted) const {
    for (int y = 0; y < kInverseSize.height; ++y) {
      for (int x = 0; x < kStride; ++x) {
        const T is = planes[plane][static_cast<std::size_t>(y * kStride + x)];
        const T want = x < kInverseSize.width ? wanted(y * kInverseSize.width + x) : T{kUntouched};
        ASSERT_EQ(is, want) << "plane " << plane << ", " << x << ", " << y;
      }
    }
  }
  void expect_untouched(int plane) const {
    for (const T value : planes[plane]) ASSERT_EQ(value, T{kUntouched}) << "plane " << plane;
  }
};

/// Sends frames, of which one is bad and every second one leaves out plane 1, with as many in
/// flight as the depth. Checks all results.
template <typename T>
void expect_inverses(OperatorHandle& op) {
  constexpr std::uint64_t kFrames = 7;
  constexpr std::uint64_t kBad = 3;
  const auto in_flight = static_cast<std::uint64_t>(op.info().depth);
  std::vector<std::vector<float>> frames;
  std::vector<InverseOutput<T>> results(kFrames);
  for (std::uint64_t f = 0; f < kFrames; ++f) frames.push_back(inverse_frame(f));
  frames[kBad][400] = std::numeric_limits<float>::infinity();
  const auto both = [](std::uint64_t f) { return f % 2 == 1; };
  std::vector<Ticket> tickets;
  const auto look = [&](std::uint64_t f) {
    SCOPED_TRACE("frame " + std::to_string(f));
    const auto info = op.wait(tickets[f], Deadline::never());
    ASSERT_TRUE(info) << info.error().text;
    EXPECT_EQ(info->sequence, f);
    EXPECT_EQ(info->warming_up(), f == 0);
    EXPECT_EQ(info->bad_pixels(), f == kBad);
    std::array<std::uint8_t, sizeof(InverseRecord)> record;
    std::memcpy(record.data(), &results[f].record, sizeof(record));
    EXPECT_EQ(record, inverse_record_bytes(f == kBad ? 0 : inverse_bright(frames[f])));
    if (f == kBad) {
      for (int p = 0; p < 2; ++p) results[f].expect(p, [](int) { return kInverseBad<T>; });
      return;
    }
    results[f].expect(0,
                      [&](int i) { return inverse_of<T>(frames[f][static_cast<std::size_t>(i)]); });
    if (!both(f)) return results[f].expect_untouched(1);
    const std::uint64_t before = f - 1 == kBad ? kBad - 1 : f - 1;
    results[f].expect(
        1, [&](int i) { return static_cast<T>(frames[before][static_cast<std::size_t>(i)]); });
  };
  for (std::uint64_t f = 0; f < kFrames; ++f) {
    if (f >= in_flight) look(f - in_flight);
    tickets.push_back(must(op.submit(inverse_view(frames[f], f), results[f].view(both(f)))));
  }
  for (std::uint64_t f = kFrames - in_flight; f < kFrames; ++f) look(f);
}

}  // namespace ocellus::test
