// What the driver that is none (fake_libcuda.cpp) has seen and holds.
#pragma once

#include <cstddef>

struct FakeLibcuda {
  int primary_retained = 0;
  int contexts = 0;  ///< made by cuCtxCreate
  int blocks = 0;    ///< of device and of locked memory
  int streams = 0;
  long copies_between = 0;  ///< from one context to another
  int pushed = 0;           ///< of this thread: it should be 0 between calls
  /// What makes the next copy between contexts fail, for good; 0 = nothing.
  int failure = 0;
};

extern "C" FakeLibcuda* fake_libcuda();
