// Kernels without an operator: what a kernel bank file holds, and the taps that a configuration
// stands for.
#pragma once

#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// What the header of a kernel bank file says.
struct KernelFileInfo {
  /// Form, taps, convolutions and terms as in the file, origin kFile: the configuration that an
  /// operator wants for this file, but for `path`, which the caller sets to memory that lives as
  /// long as needed.
  KernelConfig kernels;
  ImageSize size;               ///< kPerPixel: the image that the bank is for; kUniform: 0x0
  std::uint64_t tap_bytes = 0;  ///< all taps
  char note[256] = {};          ///< where the taps come from, as the file says; printable ASCII
};

/// Reads and checks the header; the taps are not read. Errors: InvalidArgument (no path), IoError,
/// CorruptFile.
Expected<KernelFileInfo> read_kernel_file_info(const char* path) noexcept;

/// Gets the taps of one term at one pixel; false ends the visit. Must not throw.
using KernelVisitor = bool (*)(void* user, int x, int y, int convolution, int term, const float* wx,
                               const float* wy, const float* wt);

/// Shows all taps that an operator with this configuration would use on images of `size`, whoever
/// makes them, in the order of KernelCallback. With kFile the file is checked to its end (unless
/// the visit is ended before). Allocates. Errors: as OpticalFlow::create.
Expected<void> visit_kernels(const KernelConfig& kernels, ImageSize size, KernelVisitor visitor,
                             void* user) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
