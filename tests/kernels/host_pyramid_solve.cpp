#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/optical_flow/pyramid_solve.cu"
