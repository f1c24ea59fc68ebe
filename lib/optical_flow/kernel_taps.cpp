#include "ocellus/kernel_taps.h"

#include <cstring>
#include <memory>
#include <new>

#include "core/failure.h"
#include "optical_flow/kernel_bank_file.h"
#include "optical_flow/kernel_source.h"
#include "optical_flow/plan.h"

namespace ocellus {

Expected<KernelFileInfo> read_kernel_file_info(const char* path) noexcept {
  const std::unique_ptr<detail::KernelBankFile> file(new (std::nothrow) detail::KernelBankFile);
  if (!file)
    return tl::unexpected(
        make_error(Status::kOutOfMemory, "the system gave no memory to read the kernels"));
  OCELLUS_TRY(file->open(path));
  const detail::KernelBankHeader& header = file->header();
  KernelFileInfo info;
  info.kernels.form = header.form;
  info.kernels.origin = KernelOrigin::kFile;
  info.kernels.nx = header.nx;
  info.kernels.ny = header.ny;
  info.kernels.nt = header.nt;
  info.kernels.convolutions = header.convolutions;
  info.kernels.terms = header.terms;
  if (header.form == KernelForm::kPerPixel) info.size = header.size;
  info.tap_bytes = header.tap_bytes();
  std::memcpy(info.note, header.note, sizeof(info.note));
  return info;
}

Expected<void> visit_kernels(const KernelConfig& kernels, ImageSize size, KernelVisitor visitor,
                             void* user) noexcept {
  if (visitor == nullptr)
    return tl::unexpected(make_error(Status::kInvalidArgument, "visitor is null"));
  SpatioTemporalFilterConfig filter;
  filter.size = size;
  filter.kernels = kernels;
  OCELLUS_TRY(detail::make_plan(filter));
  OCELLUS_TRY_ASSIGN(source, detail::KernelSource::open(kernels, size));
  const ImageSize pixels = kernels.form == KernelForm::kPerPixel ? size : ImageSize{1, 1};
  float wx[kMaxKernelTaps];
  float wy[kMaxKernelTaps];
  float wt[kMaxKernelTaps];
  for (int y = 0; y < pixels.height; ++y) {
    for (int x = 0; x < pixels.width; ++x) {
      for (int pair = 0; pair < kernels.convolutions * kernels.terms; ++pair) {
        OCELLUS_TRY((*source)->next(wx, wy, wt));
        if (!visitor(user, x, y, pair / kernels.terms, pair % kernels.terms, wx, wy, wt)) return {};
      }
    }
  }
  return {};
}

}  // namespace ocellus
