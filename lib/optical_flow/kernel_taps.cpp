#include "ocellus/kernel_taps.h"

#include <cstring>
#include <memory>
#include <new>

#include "optical_flow/kernel_bank_file.h"

namespace ocellus {

Expected<KernelFileInfo> read_kernel_file_info(const char* path) noexcept {
  const std::unique_ptr<detail::KernelBankFile> file(new (std::nothrow) detail::KernelBankFile);
  if (!file)
    return tl::unexpected(
        make_error(Status::kOutOfMemory, "the system gave no memory to read the kernels"));
  if (const Expected<void> opened = file->open(path); !opened)
    return tl::unexpected(opened.error());
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
  info.tap_bytes = header.tap_bytes;
  std::memcpy(info.note, header.note, sizeof(info.note));
  return info;
}

}  // namespace ocellus
