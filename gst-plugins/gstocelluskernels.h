// Kernels from a file, as options of elements.
#pragma once

#include "base/gstocellusbase.h"

namespace gst_ocellus {

/// For class_init of an element whose operator has kernels: installs `align` and sets the functions
/// that read kernels and region. All taps of a kernel file are read before the caps are known.
/// Otherwise only the creation of the operator would.
void install_kernels(GstOcellusBaseClass* klass);

}  // namespace gst_ocellus
