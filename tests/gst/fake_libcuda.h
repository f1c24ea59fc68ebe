// State of the fake driver (fake_libcuda.cpp).
#pragma once

#include <cstddef>

struct FakeLibcuda {
  int primary_retained = 0;
  int contexts = 0;  ///< created by cuCtxCreate
  int blocks = 0;    ///< blocks of device memory and of pinned memory
  int streams = 0;
  long copies_between = 0;          ///< copies from one context to another
  std::size_t bytes_to_device = 0;  ///< of copies from the host
  std::size_t bytes_to_host = 0;
  int pushed = 0;  ///< contexts on the stack of this thread; 0 between calls
  /// The error that copies between contexts and memset return from now on; 0 = none.
  int failure = 0;
};

extern "C" FakeLibcuda* fake_libcuda();
