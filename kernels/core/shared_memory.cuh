// Shared memory whose size is an argument of the launch.
#pragma once

/// Declares the array. Tests that run kernels on the host define the macro before
/// (tests/kernels/simt.h).
#if !defined(OCELLUS_DYNAMIC_SHARED)
#define OCELLUS_DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[]
#endif
