// What Network does beside the steps of its network.
#include "kernels/cortical_network/answers.cuh"
#include "kernels/cortical_network/network_operator.h"
#include "kernels/image/pixels.cuh"

namespace ocellus::cuda {
namespace {

__global__ void __launch_bounds__(32) step_patch(const __grid_constant__ PatchStepArguments a) {
  wait_for_kernels_before();
  let_next_begin();
  if (threadIdx.x != 0) return;
  if (a.first)
    a.step->learn = a.enabled != nullptr && *a.enabled != 0 && a.state->bad == 0 ? 1 : 0;
  else if (a.step->learn != 0)
    ++a.step->number;
}

__global__ void __launch_bounds__(kReadOutThreads)
    answer_winners(const __grid_constant__ WinnerArguments a) {
  // (c) of ocellus/cortical_network.h.
  const auto value = [&](int patch, int hypercolumn, int c) {
    const int winner = a.winners[static_cast<std::int64_t>(patch) * a.hypercolumns + hypercolumn];
    const std::size_t row = std::size_t{a.begins[hypercolumn]} + static_cast<unsigned>(winner + 1);
    return std::int64_t{kCortexActivityOne} * a.read_out[row * a.answers.classes + c];
  };
  answer_patch(a.answers, a.hypercolumns, value, [&](int patch, bool present, std::int64_t) {
    auto* const plane = out_plane<float>(*a.answers.frame, 0);
    if (plane == nullptr) return;
    float* const row = row_at(plane, a.answers.frame->out_stride[0], patch);
    for (int h = static_cast<int>(threadIdx.x); h < a.hypercolumns; h += kReadOutThreads) {
      const int winner = a.winners[static_cast<std::int64_t>(patch) * a.hypercolumns + h];
      row[h] = static_cast<float>(present ? winner : kSilent);
    }
  });
}

}  // namespace

const Kernel<PatchStepArguments> kPatchStepKernel = step_patch;
const Kernel<WinnerArguments> kWinnerKernel = answer_winners;

}  // namespace ocellus::cuda
