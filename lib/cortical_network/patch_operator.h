// What the operators that classify patches share on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/cpu_operator.h"
#include "image/gray_rows.h"
#include "image/patch_stretch.h"

namespace ocellus::detail {

/// The model, at `model_`, is what the operator learns.
template <typename Plan>
class PatchOperator : public CpuOperator {
 public:
  Learned learned() const noexcept final { return learned_of(plan_); }
  Expected<void> read_learned(void* to, std::uint64_t at, std::size_t bytes) noexcept final {
    std::memcpy(to, model_ + at, bytes);
    return {};
  }
  Expected<void> write_learned(const void* from, std::uint64_t at,
                               std::size_t bytes) noexcept override {
    std::memcpy(model_ + at, from, bytes);
    return {};
  }

 protected:
  PatchOperator(const Plan& plan, int workers) noexcept
      : CpuOperator(info_of(plan), workers),
        plan_(plan),
        bands_(Bands::cut(plan.size.height, workers, 4, 16)) {}

  /// Places the gray values of frames that are not 8-bit gray.
  void layout_gray(LayoutBuilder& builder) noexcept {
    if (!converts()) return;
    gray_ = builder.take<std::uint8_t>(static_cast<std::size_t>(plan_.size.width) *
                                       static_cast<std::size_t>(plan_.size.height));
  }
  /// The first step, which writes them, has this number of parts.
  int convert_parts() const noexcept { return converts() ? bands_.count() : 0; }
  static void convert(void* context, int part, int) noexcept {
    FrameJob& frame = frame_of(context);
    const auto& self = *static_cast<PatchOperator*>(frame.owner);
    for (int y = self.bands_.begin(part); y < self.bands_.end(part); ++y) {
      std::uint8_t* const to = self.gray_ + static_cast<std::ptrdiff_t>(y) * self.plan_.size.width;
      if (!write_gray_row(frame.in, y, to)) mark_bad(frame);
    }
  }
  PatchView patch_of(const FrameJob& frame, int number) const noexcept {
    PatchView patch{static_cast<const std::uint8_t*>(frame.in.data), frame.in.stride,
                    plan_.tile.width, plan_.tile.height};
    if (converts()) {
      patch.data = gray_;
      patch.stride = plan_.size.width;
    }
    patch.data += number / plan_.columns * plan_.tile.height * patch.stride +
                  static_cast<std::ptrdiff_t>(number % plan_.columns) * plan_.tile.width;
    return patch;
  }

  static FrameJob& frame_of(void* context) noexcept {
    return *static_cast<StepContext*>(context)->frame;
  }
  static bool is_bad(void* context) noexcept {
    return frame_of(context).bad.load(std::memory_order_relaxed);
  }

  Plan plan_;
  std::uint8_t* model_ = nullptr;

 private:
  bool converts() const noexcept { return plan_.format != PixelFormat::kGray8; }

  Bands bands_;
  std::uint8_t* gray_ = nullptr;
};

}  // namespace ocellus::detail
