#include "apps/measure/clip.h"

#include <algorithm>
#include <utility>

#include "apps/common/common.h"
#include "apps/common/threads.h"
#include "apps/io/digit_sequence.h"
#include "apps/io/test_scene.h"
#include "ocellus/cpus.h"

namespace ocellus::app {
namespace {

std::size_t bytes_of(const GrayImage& frame) {
  return frame.pixels.size();
}
std::size_t bytes_of(const DigitScene& frame) {
  return frame.image.pixels.size();
}

/// As many frames of a scene as the limits allow.
template <typename Scene>
auto draw_scene(const Scene& scene, const ClipLimits& limits) {
  std::vector<decltype(scene.frame(0))> frames = {scene.frame(0)};
  const std::size_t fitting = (limits.bytes - 1) / bytes_of(frames.front()) + 1;
  const int count = static_cast<int>(
      std::min({static_cast<std::size_t>(scene.frames()), limits.frames, fitting}));
  frames.resize(static_cast<std::size_t>(count));
  const int threads = std::min(usable_cpus().count, count);
  run_on_threads(threads, [&](int t) {
    for (int i = t + 1; i < count; i += threads)
      frames[static_cast<std::size_t>(i)] = scene.frame(i);
  });
  return frames;
}

}  // namespace

const GrayImage& Clip::cyclic(std::size_t i) const {
  return frames[back_and_forth(i, frames.size())];
}

bool is_scene(const std::string& input) {
  return input.rfind("test:", 0) == 0 && !is_digit_sequence(input);
}

Clip read_clip(const std::string& input, const SourceOptions& options, const ClipLimits& limits) {
  Clip clip;
  if (is_digit_sequence(input)) {
    clip.name = input;
    const DigitSequence digits(DigitSequenceConfig::parse(input));
    for (DigitScene& scene : draw_scene(digits, limits)) {
      clip.frames.push_back(std::move(scene.image));
      // What is in a form is known by its fields only.
      if (scene.fields.empty()) clip.texts.push_back(std::move(scene.string));
    }
    return clip;
  }
  if (is_scene(input)) {
    clip.name = input;
    clip.frames = draw_scene(TestScene::parse(input), limits);
    return clip;
  }
  const auto source = open_frames({input}, options);
  clip.name = source->name();
  if (limits.first) source->start_at(*limits.first);
  InputFrame frame;
  std::size_t bytes = 0;
  while (clip.frames.size() < limits.frames && bytes < limits.bytes && source->next(frame)) {
    if (limits.first && frame.number < *limits.first) continue;
    if (clip.frames.empty()) clip.first = frame.number;
    bytes += frame.image.pixels.size();
    clip.frames.push_back(frame.image);
  }
  return clip;
}

}  // namespace ocellus::app
