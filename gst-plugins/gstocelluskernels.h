// Kernels from a file, as options of elements.
#pragma once

#include "base/gstocellusbase.h"
#include "ocellus/kernel_taps.h"

namespace gst_ocellus {

/// The size of frames with which a configuration is checked before the caps are known.
ocellus::ImageSize trial_size_of(const ocellus::KernelConfig& kernels, const ocellus::Rect& roi);

/// Reads all taps of a kernel file. Otherwise only the creation of the operator would.
ocellus::Expected<void> check_kernels(const ocellus::KernelConfig& kernels,
                                      const ocellus::Rect& roi);

}  // namespace gst_ocellus
