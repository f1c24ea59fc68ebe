// What operators that classify patches and learn from them share on CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/layout_builder.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/image/patch_stretch.h"

namespace ocellus::cuda {

/// The model, in device memory at `model_`, is what the operator learns.
template <typename Plan>
class PatchLearner : public CudaOperator {
 public:
  Learned learned() const noexcept final { return learned_of(plan_); }
  Expected<void> read_learned(void* to, std::uint64_t at, std::size_t bytes) noexcept final {
    return device().read(to, model_ + at, bytes);
  }
  Expected<void> write_learned(const void* from, std::uint64_t at,
                               std::size_t bytes) noexcept final {
    return device().write(model_ + at, from, bytes);
  }

 protected:
  explicit PatchLearner(const Plan& plan) noexcept : CudaOperator(info_of(plan)), plan_(plan) {}

  std::size_t patches() const noexcept { return static_cast<std::size_t>(plan_.patches); }
  /// From the tiles to what the model sees.
  detail::PatchStretch stretch_to(int width, int height) const noexcept {
    return {plan_.tile.width, plan_.tile.height, width, height};
  }

  struct Free {
    void operator()(std::uint8_t* memory) const noexcept { std::free(memory); }
  };
  using SystemMemory = std::unique_ptr<std::uint8_t, Free>;
  /// Memory of the system for a model, which only creation needs. Null: there is none.
  static SystemMemory system_memory(std::size_t bytes) noexcept {
    return SystemMemory(static_cast<std::uint8_t*>(
        std::aligned_alloc(kMemoryAlignment, detail::align_up(bytes, kMemoryAlignment))));
  }

  Plan plan_;
  std::uint8_t* model_ = nullptr;
  std::uint32_t* enabled_ = nullptr;  ///< with `learn`: not 0 behind creation

 private:
  /// The frames of creation teach nothing.
  Expected<void> begin(Scope& cuda) noexcept final {
    if (!plan_.learn) return {};
    constexpr std::uint32_t kEnabled = 1;
    return upload(cuda, enabled_, &kEnabled, sizeof(kEnabled));
  }
};

}  // namespace ocellus::cuda
