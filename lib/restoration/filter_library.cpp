#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include "ocellus/restoration_filter.h"

namespace ocellus {
namespace {

constexpr int kSupport = 5;

/// A filter of the library. All four quadrants are the same.
struct LibraryFilter {
  const char* name;
  std::array<float, kSupport * kSupport> feedforward;
  std::array<float, kSupport * kSupport> feedback;
};

// The Wiener filter of a Gaussian blur for images with a power spectrum of 1/f^2, a variance of
// 0.05 and white noise of standard deviation 0.03, white being 1. Each quadrant is fitted to a
// quarter of its impulse response by Shanks' method.
constexpr LibraryFilter kLibrary[] = {
    {"gaussian-1",
     {0.211167f,     0.2081218f,   0.009570858f,   0.003373258f,  -0.002970198f,
      0.2081218f,    0.2568644f,   0.04006234f,    -0.01270664f,  0.001665694f,
      0.009570858f,  0.04006234f,  -0.008893443f,  -0.03984381f,  -0.0005553081f,
      0.003373258f,  -0.01270664f, -0.03984381f,   -0.02912165f,  -0.005420635f,
      -0.002970198f, 0.001665694f, -0.0005553081f, -0.005420635f, -0.0008372667f},
     {0.0f,         -0.1879527f,  -0.2055188f,  0.01448336f,   0.002227938f,
      -0.1879527f,  -0.6300075f,  -0.1712437f,  -0.1297228f,   0.007445011f,
      -0.2055188f,  -0.1712437f,  -0.1596748f,  -0.05810194f,  -0.01410309f,
      0.01448336f,  -0.1297228f,  -0.05810194f, -0.03996269f,  -0.004720345f,
      0.002227938f, 0.007445011f, -0.01410309f, -0.004720345f, -0.003036306f}},
    {"gaussian-1.5",
     {0.1370647f,    0.1371065f,    0.01225931f,   0.01233417f,  0.0001377258f,
      0.1371065f,    0.09479979f,   -0.03103524f,  0.003497692f, -0.007776448f,
      0.01225931f,   -0.03103524f,  -0.04977729f,  -0.01644563f, -0.009972123f,
      0.01233417f,   0.003497692f,  -0.01644563f,  -0.01101401f, -0.0034065f,
      0.0001377258f, -0.007776448f, -0.009972123f, -0.0034065f,  -0.001320635f},
     {0.0f,          0.2831021f,   -0.3854479f,   0.006522698f, -0.009018314f,
      0.2831021f,    0.07371365f,  -0.07206353f,  0.07486003f,  -0.04357249f,
      -0.3854479f,   -0.07206353f, -0.1053958f,   -0.06473376f, -0.002316237f,
      0.006522698f,  0.07486003f,  -0.06473376f,  0.03802487f,  -0.01519134f,
      -0.009018314f, -0.04357249f, -0.002316237f, -0.01519134f, -0.003231024f}},
};

RestorationFilter expand(const LibraryFilter& from) noexcept {
  RestorationFilter filter;
  filter.support = kSupport;
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    std::copy(from.feedforward.begin(), from.feedforward.end(), filter.feedforward[q].begin());
    std::copy(from.feedback.begin(), from.feedback.end(), filter.feedback[q].begin());
  }
  std::snprintf(filter.note, sizeof(filter.note), "%s of the library", from.name);
  return filter;
}

}  // namespace

std::optional<RestorationFilter> find_restoration_filter(std::string_view name) noexcept {
  for (const LibraryFilter& filter : kLibrary)
    if (filter.name == name) return expand(filter);
  return std::nullopt;
}

}  // namespace ocellus
