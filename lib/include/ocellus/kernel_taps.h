// Kernels without an operator: the content of a kernel bank file, and the taps of a configuration.
#pragma once

#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// The content of a kernel bank file's header.
struct KernelFileInfo {
  /// The configuration that an operator needs for this file: form, taps, convolutions and terms as
  /// in the file, and origin kFile. `path` is empty; the caller sets it.
  KernelConfig kernels{};
  ImageSize size{};  ///< kPerPixel, kFull: size of the image that the bank is for; kUniform: 0x0
  std::uint64_t tap_bytes = 0;  ///< size of all taps in bytes
  char note[256] = {};          ///< origin of the taps, as stated in the file; printable ASCII
};

/// Reads and checks the header, not the taps. Errors: InvalidArgument (no path), IoError,
/// CorruptFile.
Expected<KernelFileInfo> read_kernel_file_info(const char* path) noexcept;

/// Receives the taps of one term at one pixel. Returns false to stop. Must not throw.
using KernelVisitor = bool (*)(void* user, int x, int y, int convolution, int term, const float* wx,
                               const float* wy, const float* wt);

/// Passes to `visitor` all taps that an operator of this configuration would use on images of
/// `size`, for every origin, in the order of KernelCallback. With kFile, the file is checked to its
/// end unless the visitor stops earlier. Allocates. Errors: those of OpticalFlow::create.
Expected<void> visit_kernels(const KernelConfig& kernels, ImageSize size, KernelVisitor visitor,
                             void* user) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
