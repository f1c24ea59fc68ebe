#include "kernels/cortex/network_memory.h"

namespace ocellus::cuda {

void NetworkHost::layout(detail::LayoutBuilder& device, detail::LayoutBuilder& pinned) noexcept {
  const detail::Hierarchy& h = plan_.hierarchy;
  const std::size_t pixels = static_cast<std::size_t>(h.width) * static_cast<std::size_t>(h.height);
  places_.step = device.take<NetworkStep>(1);
  image_ = device.take<std::uint8_t>(pixels);
  places_.image = image_;
  places_.wins = device.take<std::uint8_t>(h.minicolumns);
  places_.winners = device.take<std::int32_t>(2 * static_cast<std::size_t>(h.hypercolumns));
  pinned_step_ = pinned.take<NetworkStep>(1);
  pinned_image_ = pinned.take<std::uint8_t>(pixels);
}

Expected<void> NetworkHost::prepare(Engine& engine, const Footprint& bytes,
                                    const char* who) noexcept {
  who_ = who;
  if (engine.info().backend != BackendKind::kCuda)
    return tl::unexpected(
        make_error(Status::kUnsupported, "%s: the engine has no CUDA device", who));
  if (plan_.feedback_rounds > 0)
    return tl::unexpected(make_error(Status::kUnsupported,
                                     "%s: feedback_rounds is %d; on a CUDA device it must be 0",
                                     who, plan_.feedback_rounds));
  return work_.prepare(engine, bytes, who);
}

void NetworkHost::fill(NetworkBase& base) noexcept {
  const detail::Hierarchy& h = plan_.hierarchy;
  base.step = places_.step;
  base.image = places_.image;
  base.wins = places_.wins;
  base.winners = places_.winners;
  for (int i = 0; i < h.level_count; ++i) {
    const detail::LevelPlan& l = h.level(i);
    const detail::LevelLayout& layout = plan_.layout.level(i);
    base.levels[static_cast<std::size_t>(i)] = {
        .hypercolumns = l.hypercolumns(),
        .first = l.first,
        .columns = l.columns,
        .stride_x = l.shape.stride_x,
        .stride_y = l.shape.stride_y,
        .window_width = l.shape.window_width,
        .window_height = l.shape.window_height,
        .below_first = i == 0 ? -1 : h.level(i - 1).first,
        .below_columns = l.below_columns,
        .below_cells = l.below_cells,
        .inputs = l.inputs,
        .minicolumns = l.shape.minicolumns,
        .padded = l.stride,
        .pitch = layout.pitch,
        .words = layout.words,
        .minicolumns_at = static_cast<std::int64_t>(l.minicolumns_at),
        .weights_at = static_cast<std::int64_t>(layout.weights_at),
        .strong_at = static_cast<std::int64_t>(layout.strong_at)};
  }
  base.level_count = h.level_count;
  base.hypercolumns = h.hypercolumns;
  base.width = h.width;
  base.height = h.height;
  base.lgn = plan_.lgn;
  base.lgn_threshold = plan_.lgn_threshold;
  base.threshold = plan_.threshold;
  base.potentiation = plan_.potentiation;
  base.depression = plan_.depression;
  base.initial_weight = plan_.initial_weight;
  base.stable_wins = plan_.stable_wins;
  base.firing = plan_.firing;
  base.seed = plan_.seed;
}

Expected<void> NetworkHost::write_image(const std::uint8_t* image, std::ptrdiff_t stride,
                                        bool learn) noexcept {
  const auto width = static_cast<std::size_t>(plan_.hierarchy.width);
  const auto height = static_cast<std::size_t>(plan_.hierarchy.height);
  for (std::size_t y = 0; y < height; ++y)
    std::copy_n(image + static_cast<std::ptrdiff_t>(y) * stride, width, pinned_image_ + y * width);
  pinned_step_->learn = learn ? 1 : 0;
  Scope cuda(work_.device(), Phase::kRunning, who_);
  if (Expected<void> done =
          work_.copy(cuda, image_, pinned_image_, width * height, cudaMemcpyHostToDevice);
      !done)
    return done;
  return work_.copy(cuda, &places_.step->learn, &pinned_step_->learn, sizeof(int),
                    cudaMemcpyHostToDevice);
}

Expected<void> NetworkHost::read(void* to, const void* from, std::size_t bytes) noexcept {
  Scope cuda(work_.device(), Phase::kCreating, who_);
  return work_.download(cuda, to, from, bytes);
}

Expected<void> NetworkHost::read_winners(int level, int half,
                                         std::span<std::int32_t> winners) noexcept {
  const detail::Hierarchy& h = plan_.hierarchy;
  const detail::LevelPlan& l = h.level(level);
  return read(winners.data(), places_.winners + half * h.hypercolumns + l.first,
              static_cast<std::size_t>(l.hypercolumns()) * sizeof(std::int32_t));
}

}  // namespace ocellus::cuda
