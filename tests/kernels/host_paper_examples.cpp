#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/core/paper_examples.cu"
