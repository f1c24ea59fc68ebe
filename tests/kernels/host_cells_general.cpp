#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/halftone/general.cu"
