// Evidence for the classes, and the result of a frame.
#include "kernels/cortex/kernels.h"
#include "kernels/cortical_network/answers.cuh"
#include "kernels/image/pixels.cuh"

namespace ocellus::cuda {
namespace {

__global__ void __launch_bounds__(kReadOutThreads)
    read_out(const __grid_constant__ ReadOutArguments a) {
  // (c) of ocellus/cortex_model.h.
  const auto value = [&](int patch, int pair, int c) {
    const int hypercolumn = pair / a.competitors;
    const auto k = static_cast<std::size_t>(pair % a.competitors);
    const detail::CortexActivity& activity = a.activity[patch * a.hypercolumns + hypercolumn];
    const std::size_t row = std::size_t{a.begins[hypercolumn]} + activity.minicolumn[k];
    return std::int64_t{activity.share[k]} * a.read_out[row * a.answers.classes + c];
  };
  answer_patch(a.answers, a.hypercolumns * a.competitors, value,
               [&](int patch, bool present, std::int64_t evidence) {
                 const int c = static_cast<int>(threadIdx.x);
                 auto* const plane = out_plane<float>(*a.answers.frame, 0);
                 if (plane == nullptr || c >= a.answers.classes) return;
                 row_at(plane, a.answers.frame->out_stride[0], patch)[c] =
                     present ? static_cast<float>(static_cast<double>(evidence) * kEvidenceUnit)
                             : 0.0f;
               });
}

}  // namespace

const Kernel<ReadOutArguments> kCortexReadOutKernel = read_out;

}  // namespace ocellus::cuda
