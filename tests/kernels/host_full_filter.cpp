#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/optical_flow/full_filter.cu"
