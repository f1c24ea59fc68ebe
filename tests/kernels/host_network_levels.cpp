#include "kernels/simt.h"
// Must come after simt.h.
#include "kernels/cortical_network/network.cu"
