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
  const char* command;  ///< that gives it
  std::array<float, kSupport * kSupport> feedforward;
  std::array<float, kSupport * kSupport> feedback;
};

// toolchains/restoration-filters writes this table.
constexpr LibraryFilter kLibrary[] = {
    {"gaussian-1",
     "identify --psf gaussian:1 --noise 4 --support 5",
     {0.2088218f,    0.1637316f,    -0.03031042f, 0.004130449f, -0.00149712f,
      0.1637316f,    0.07711691f,   -0.08318088f, -0.00576778f, 0.002037044f,
      -0.03031042f,  -0.08318088f,  -0.06542311f, -0.01083058f, 0.005260362f,
      0.004130448f,  -0.005767779f, -0.01083058f, 0.002594451f, 0.00483135f,
      -0.001497119f, 0.002037043f,  0.005260361f, 0.00483135f,  0.002529189f},
     {0.0f,          0.0385566f,   -0.1930889f,  0.05551682f,  -0.005520803f,
      0.0385566f,    -0.1047216f,  -0.02233399f, -0.01290653f, 0.008291983f,
      -0.1930889f,   -0.02233399f, -0.00799514f, 0.02313167f,  0.009865815f,
      0.05551682f,   -0.01290653f, 0.02313167f,  0.00208731f,  0.00746297f,
      -0.005520804f, 0.008291982f, 0.009865814f, 0.00746297f,  0.002922614f}},
    {"gaussian-1.5",
     "identify --psf gaussian:1.5 --noise 4 --support 5",
     {0.1472712f,     0.1521666f,    0.01908961f,  0.0143007f,    -0.0003230251f,
      0.1521666f,     0.1130453f,    -0.02601786f, 0.003537014f,  -0.009884209f,
      0.01908961f,    -0.02601786f,  -0.05336495f, -0.02105115f,  -0.01285259f,
      0.0143007f,     0.003537014f,  -0.02105115f, -0.01584784f,  -0.005732041f,
      -0.0003230251f, -0.009884209f, -0.01285259f, -0.005732041f, -0.002269624f},
     {0.0f,          0.2452142f,   -0.3949128f,   -0.003076588f, -0.007885617f,
      0.2452142f,    0.07669604f,  -0.08954872f,  0.07380672f,   -0.05009754f,
      -0.3949128f,   -0.08954872f, -0.1214675f,   -0.07465762f,  -0.005346112f,
      -0.003076588f, 0.07380672f,  -0.07465762f,  0.0387223f,    -0.01843611f,
      -0.007885617f, -0.05009754f, -0.005346112f, -0.01843611f,  -0.005308107f}},
    {"gaussian-2",
     "identify --psf gaussian:2 --noise 4 --support 5",
     {0.1147618f,     0.08757863f,  -0.005483647f, 0.02174078f,   -0.0007271193f,
      0.08757864f,    0.004840701f, -0.04575098f,  0.0212162f,    -0.0167566f,
      -0.005483664f,  -0.04575098f, -0.02826469f,  -0.002507689f, -0.014903f,
      0.02174078f,    0.02121621f,  -0.002507696f, -0.004192691f, -0.002806365f,
      -0.0007271206f, -0.0167566f,  -0.014903f,    -0.002806364f, -0.004038105f},
     {0.0f,         0.7513806f,   -0.6090357f,  0.08211889f,  -0.02727765f,
      0.7513806f,   -0.1065377f,  -0.04064259f, 0.2832511f,   -0.0781448f,
      -0.6090357f,  -0.04064259f, 0.03376727f,  -0.2496438f,  0.02609248f,
      0.08211889f,  0.2832511f,   -0.2496438f,  0.2092016f,   -0.03368775f,
      -0.02727764f, -0.0781448f,  0.02609248f,  -0.03368775f, -0.01051079f}},
};

RestorationFilter expand(const LibraryFilter& from) noexcept {
  RestorationFilter filter;
  filter.support = kSupport;
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    std::copy(from.feedforward.begin(), from.feedforward.end(), filter.feedforward[q].begin());
    std::copy(from.feedback.begin(), from.feedback.end(), filter.feedback[q].begin());
  }
  std::snprintf(filter.note, sizeof(filter.note), "%s of the library: ocellus %s", from.name,
                from.command);
  return filter;
}

}  // namespace

std::optional<RestorationFilter> find_restoration_filter(std::string_view name) noexcept {
  for (const LibraryFilter& filter : kLibrary)
    if (filter.name == name) return expand(filter);
  return std::nullopt;
}

}  // namespace ocellus
