#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/image/patch_stretch.cu"
