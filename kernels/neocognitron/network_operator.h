// NetworkOperator: the layers of a neocognitron from UG to UC4 on the device, for all candidates of
// a frame together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/core/cuda_operator.h"
#include "kernels/neocognitron/kernels.h"
#include "neocognitron/plan.h"
#include "neocognitron/references.h"

namespace ocellus::cuda {

class NetworkOperator : public CudaOperator {
 protected:
  NetworkOperator(const detail::NeocognitronPlan& plan, int candidates) noexcept;

  void place_network(LayoutBuilder& device) noexcept;
  /// Loads the kernels and reads the model. Errors: those of ModelArrays::read_arrays, OutOfMemory,
  /// those of CUDA.
  Expected<void> load_network(Scope& cuda) noexcept;

  /// What the first kernel of a frame needs, apart from the images.
  ContrastArguments contrast_arguments(int slot) const noexcept;
  dim3 contrast_grid() const noexcept { return grid(kContrastBlocks); }
  /// Launches the layers behind UG. `complete`: 1 for each candidate that kept to the capacities;
  /// may be null.
  Expected<void> launch_layers(Scope& cuda, cudaStream_t stream, std::uint8_t* complete) noexcept;

  const detail::NeocognitronTable& table() const noexcept { return plan_.model.table; }
  std::size_t candidate_count() const noexcept {
    return static_cast<std::size_t>(candidates_.count);
  }

  detail::NeocognitronPlan plan_;
  CandidateArrays candidates_{};
  int* present_ = nullptr;  ///< CandidateArrays::present

 private:
  static constexpr std::size_t kStages = kNeocognitronStages;

  dim3 grid(unsigned blocks) const noexcept;
  int stride(std::size_t stage) const noexcept;
  std::size_t rows(std::size_t stage) const noexcept;
  Expected<void> load_kernels(Scope& cuda) noexcept;
  Expected<void> load_weights(Scope& cuda, std::size_t stage,
                              const std::uint16_t* weights) noexcept;
  Expected<void> load_references(Scope& cuda, const std::uint16_t* weights) noexcept;
  SimpleArguments simple_arguments(std::size_t stage) const noexcept;
  Expected<void> launch_simple(Scope& cuda, cudaStream_t stream, std::size_t stage,
                               const SimpleArguments& simple) noexcept;
  ComplexArguments complex_arguments(std::size_t stage) const noexcept;

  detail::CellWindow contrast_window_;
  std::array<detail::CellWindow, kStages> simple_windows_;
  std::array<detail::CellWindow, kStages - 1> complex_windows_;
  detail::ReferenceClasses references_;
  // On the device.
  WindowTap* contrast_taps_ = nullptr;
  std::array<WindowTap*, kStages> simple_taps_{};
  std::array<WindowTap*, kStages - 1> complex_taps_{};
  std::array<std::uint16_t*, kStages> weights_{};
  char* reference_arrays_ = nullptr;
  DeviceClass* classes_ = nullptr;
};

}  // namespace ocellus::cuda
