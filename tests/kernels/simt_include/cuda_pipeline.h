// For kernels that run on the host (kernels/simt.h): a copy is done at once.
#pragma once

#include <cstddef>
#include <cstring>

/// The last bytes are 0 in place of the source's.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes,
                                    std::size_t zeros = 0) {
  std::memcpy(to, from, bytes - zeros);
  std::memset(static_cast<char*>(to) + bytes - zeros, 0, zeros);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(std::size_t) {}
