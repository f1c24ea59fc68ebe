#include "kernels/simt.h"
// Must come after simt.h.
#include "bench/papers/core/paper_examples.cu"
