#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/halftone/bands.cu"
#include "kernels/halftone/bands_large.cu"
