#include "gstocelluskernels.h"

namespace gst_ocellus {

ocellus::ImageSize trial_size_of(const ocellus::KernelConfig& kernels, const ocellus::Rect& roi) {
  // Kernels for each pixel are for one size. Any error is found again with the configuration.
  if (kernels.origin == ocellus::KernelOrigin::kFile &&
      kernels.form == ocellus::KernelForm::kPerPixel) {
    if (const auto bank = ocellus::read_kernel_file_info(kernels.path.c_str())) return bank->size;
  }
  return enclose(kGstOcellusTrialSize, roi);
}

ocellus::Expected<void> check_kernels(const ocellus::KernelConfig& kernels,
                                      const ocellus::Rect& roi) {
  if (kernels.origin != ocellus::KernelOrigin::kFile) return {};
  constexpr auto kPass = [](void*, int, int, int, int, const float*, const float*, const float*) {
    return true;
  };
  return ocellus::visit_kernels(kernels, trial_size_of(kernels, roi), kPass, nullptr);
}

}  // namespace gst_ocellus
