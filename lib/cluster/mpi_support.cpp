// The function has a source file of its own, because tests define it instead.
#include "cluster/mpi_support.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace ocellus::cluster {

bool mpi_takes_device_memory() noexcept {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace ocellus::cluster
