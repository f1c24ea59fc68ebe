#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/restoration/recursion.cu"
