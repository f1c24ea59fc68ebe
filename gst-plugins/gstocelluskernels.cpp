#include "gstocelluskernels.h"

#include "ocellus/kernel_taps.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"

using namespace ocellus;

namespace gst_ocellus {
namespace {

struct Settings {
  const KernelConfig& kernels;
  const Rect& roi;
};

Settings settings_of(const OperatorConfig& config) {
  if (const auto* flow = config.get_if<OpticalFlowConfig>()) return {flow->kernels, flow->roi};
  const auto& filter = *config.get_if<SpatioTemporalFilterConfig>();
  return {filter.kernels, filter.roi};
}

ImageSize trial_size(const OperatorConfig& config) {
  const auto& [kernels, roi] = settings_of(config);
  // Kernels for each pixel are for one size. Any error is found again with the configuration.
  if (kernels.origin == KernelOrigin::kFile && kernels.form != KernelForm::kUniform)
    if (const auto bank = read_kernel_file_info(kernels.path.c_str())) return bank->size;
  return enclose(kGstOcellusTrialSize, roi);
}

Expected<void> check_kernels(const OperatorConfig& config) {
  const KernelConfig& kernels = settings_of(config).kernels;
  if (kernels.origin != KernelOrigin::kFile) return {};
  constexpr auto kPass = [](void*, int, int, int, int, const float*, const float*, const float*) {
    return true;
  };
  return visit_kernels(kernels, trial_size(config), kPass, nullptr);
}

}  // namespace

void install_kernels(GstOcellusBaseClass* klass) {
  gst_ocellus_base_class_install_align(klass);
  klass->trial_size = trial_size;
  klass->check_settings = check_kernels;
  klass->region = [](const OperatorConfig& config) { return settings_of(config).roi; };
}

}  // namespace gst_ocellus
