#include "gst/illegal_address.h"

#include <cstdint>

namespace {

__global__ void write_to(std::uintptr_t address) {
  *reinterpret_cast<volatile int*>(address) = 1;
}

}  // namespace

void write_where_nothing_is() {
  cudaSetDevice(0);
  write_to<<<1, 1>>>(0x10);
}
