// CudaCalls: every function of CUDA that the library calls, in one table.
//
// Nothing else calls CUDA. So this is the place where a call gets its name in error texts, where a
// call that allocates is refused while frames run, and where a test puts a driver of its own: the
// table is a symbol of a file of its own, which a test program defines instead.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace ocellus::cuda {

/// When a call may be made.
enum class Phase : unsigned char {
  kCreating,  ///< allocates, frees, synchronises or loads code: only while something is made or
              ///< destroyed
  kRunning,   ///< bounded: while frames run, too
};

template <typename... Parameters>
struct Call {
  cudaError_t (*function)(Parameters...);
  const char* name;
  Phase phase;
};

struct CudaCalls {
  // Devices
  Call<int*> get_device_count;
  Call<cudaDeviceProp*, int> get_device_properties;
  Call<int*> driver_version;
  Call<CUcontext*, int> retain_primary_context;
  Call<int> release_primary_context;
  Call<CUcontext*> current_context;
  Call<CUcontext> push_context;
  Call<> pop_context;
  // Memory
  Call<std::size_t*, std::size_t*> memory_info;
  Call<void**, std::size_t> malloc_device;
  Call<void*> free_device;
  Call<void**, std::size_t, unsigned> malloc_host;
  Call<void*> free_host;
  Call<void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t> copy;
  Call<void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, cudaMemcpyKind,
       cudaStream_t>
      copy_2d;
  Call<void*, int, std::size_t, cudaStream_t> set;
  // Streams and events
  Call<int*, int*> stream_priorities;
  Call<cudaStream_t*, unsigned, int> create_stream;
  Call<cudaStream_t> destroy_stream;
  Call<cudaStream_t> synchronize_stream;
  Call<cudaStream_t, cudaEvent_t, unsigned> wait_for_event;
  Call<cudaEvent_t*, unsigned> create_event;
  Call<cudaEvent_t> destroy_event;
  Call<cudaEvent_t, cudaStream_t> record_event;
  Call<cudaEvent_t> query_event;
  Call<cudaEvent_t> synchronize_event;
  Call<float*, cudaEvent_t, cudaEvent_t> elapsed;
  // Kernels and graphs
  Call<cudaFuncAttributes*, const void*> function_attributes;
  Call<const void*, cudaFuncAttribute, int> set_function_attribute;
  Call<int*, const void*, int, std::size_t> blocks_per_multiprocessor;
  Call<cudaStream_t, cudaStreamCaptureMode> begin_capture;
  Call<const cudaLaunchConfig_t*, const void*, void**> launch_kernel;
  Call<cudaStream_t, cudaGraph_t*> end_capture;
  Call<cudaGraphExec_t*, cudaGraph_t> instantiate_graph;
  Call<cudaGraph_t> destroy_graph;
  Call<cudaGraphExec_t, cudaStream_t> upload_graph;
  Call<cudaGraphExec_t> destroy_graph_exec;
  Call<cudaGraphExec_t, cudaStream_t> launch_graph;
};

extern const CudaCalls kCudaCalls;

}  // namespace ocellus::cuda
