#include "bench/cortical_network/network_memory.h"

namespace ocellus::cuda {

Expected<void> check_no_feedback(const CorticalNetworkConfig& config, const char* who) noexcept {
  if (config.feedback_rounds == 0) return {};
  return tl::unexpected(make_error(Status::kUnsupported,
                                   "%s: feedback_rounds is %d; with this schedule it must be 0",
                                   who, config.feedback_rounds));
}

void NetworkHost::layout_pinned(detail::LayoutBuilder& pinned) noexcept {
  const detail::Hierarchy& h = plan_.hierarchy;
  pinned_step_ = pinned.take<NetworkStep>(1);
  pinned_image_ = pinned.take<std::uint8_t>(static_cast<std::size_t>(h.width) *
                                            static_cast<std::size_t>(h.height));
}

Expected<void> NetworkHost::prepare(Engine& engine, const Footprint& bytes,
                                    const char* who) noexcept {
  who_ = who;
  if (engine.info().backend != BackendKind::kCuda)
    return tl::unexpected(
        make_error(Status::kUnsupported, "%s: the engine has no CUDA device", who));
  return work_.prepare(engine, bytes, who);
}

Expected<void> NetworkHost::write_image(const std::uint8_t* image, std::ptrdiff_t stride,
                                        bool learn) noexcept {
  const auto width = static_cast<std::size_t>(plan_.hierarchy.width);
  const auto height = static_cast<std::size_t>(plan_.hierarchy.height);
  for (std::size_t y = 0; y < height; ++y)
    std::copy_n(image + static_cast<std::ptrdiff_t>(y) * stride, width, pinned_image_ + y * width);
  *pinned_step_ = {steps_, learn ? 1 : 0};
  if (learn) ++steps_;
  Scope cuda(work_.device(), Phase::kRunning, who_);
  OCELLUS_TRY(work_.copy(cuda, base_.image, pinned_image_, width * height, cudaMemcpyHostToDevice));
  return work_.copy(cuda, base_.step, pinned_step_, sizeof(NetworkStep), cudaMemcpyHostToDevice);
}

Expected<void> NetworkHost::read(void* to, const void* from, std::size_t bytes) noexcept {
  Scope cuda(work_.device(), Phase::kCreating, who_);
  return work_.download(cuda, to, from, bytes);
}

Expected<void> NetworkHost::read_level(int level, const std::int32_t* winners,
                                       std::span<std::int32_t> to) noexcept {
  const detail::LevelPlan& l = plan_.hierarchy.level(level);
  return read(to.data(), winners + l.first,
              static_cast<std::size_t>(l.hypercolumns) * sizeof(std::int32_t));
}

}  // namespace ocellus::cuda
