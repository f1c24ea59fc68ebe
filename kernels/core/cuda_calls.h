// CudaCalls: a table of all CUDA functions that the library calls.
//
// No other code calls CUDA. The type of each call has its name for error texts. Calls that allocate
// are refused while frames run. A test can substitute its own driver: the table is a symbol in a
// source file of its own, and a test program defines it instead.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

namespace ocellus::cuda {

/// Tells when a call may be made.
enum class Phase : unsigned char {
  /// Allocates, frees, synchronizes or loads code: only during creation and destruction, and after
  /// a failure.
  kCreating,
  kRunning,  ///< bounded: also while frames run
};

/// A text that is an argument of a template.
template <std::size_t kBytes>
struct CallName {
  constexpr CallName(const char (&text)[kBytes]) { std::copy_n(text, kBytes, value); }
  char value[kBytes] = {};
};

template <CallName kName, Phase kPhase, typename... Parameters>
struct Call {
  cudaError_t (*function)(Parameters...) = nullptr;

  static constexpr const char* name = kName.value;
  static constexpr Phase phase = kPhase;
};

struct CudaCalls {
  // Devices
  Call<"cudaGetDeviceCount", Phase::kCreating, int*> get_device_count;
  Call<"cudaGetDeviceProperties", Phase::kCreating, cudaDeviceProp*, int> get_device_properties;
  Call<"cudaDriverGetVersion", Phase::kCreating, int*> driver_version;
  Call<"cuDevicePrimaryCtxRetain", Phase::kCreating, CUcontext*, int> retain_primary_context;
  Call<"cuDevicePrimaryCtxRelease", Phase::kCreating, int> release_primary_context;
  Call<"cuCtxGetCurrent", Phase::kRunning, CUcontext*> current_context;
  Call<"cuCtxPushCurrent", Phase::kRunning, CUcontext> push_context;
  Call<"cuCtxPopCurrent", Phase::kRunning> pop_context;
  // State of the calling thread
  Call<"cudaPeekAtLastError", Phase::kRunning> peek_last_error;
  Call<"cudaGetLastError", Phase::kRunning> take_last_error;
  Call<"cuThreadExchangeStreamCaptureMode", Phase::kCreating, cudaStreamCaptureMode*>
      exchange_capture_mode;
  // Memory
  Call<"cudaMemGetInfo", Phase::kCreating, std::size_t*, std::size_t*> memory_info;
  Call<"cudaMalloc", Phase::kCreating, void**, std::size_t> malloc_device;
  Call<"cudaFree", Phase::kCreating, void*> free_device;
  Call<"cudaHostAlloc", Phase::kCreating, void**, std::size_t, unsigned> malloc_host;
  Call<"cudaFreeHost", Phase::kCreating, void*> free_host;
  Call<"cudaMemcpyAsync", Phase::kRunning, void*, const void*, std::size_t, cudaMemcpyKind,
       cudaStream_t>
      copy;
  Call<"cudaMemcpy2DAsync", Phase::kRunning, void*, std::size_t, const void*, std::size_t,
       std::size_t, std::size_t, cudaMemcpyKind, cudaStream_t>
      copy_2d;
  Call<"cudaMemsetAsync", Phase::kRunning, void*, int, std::size_t, cudaStream_t> set;
  Call<"cudaPointerGetAttributes", Phase::kRunning, cudaPointerAttributes*, const void*>
      pointer_attributes;
  // From device to device
  Call<"cudaDeviceCanAccessPeer", Phase::kCreating, int*, int, int> can_access_peer;
  Call<"cudaDeviceEnablePeerAccess", Phase::kCreating, int>
      enable_peer_access;  ///< of the device of the context; success if it is enabled already
  Call<"cudaMemcpyPeerAsync", Phase::kRunning, void*, int, const void*, int, std::size_t,
       cudaStream_t>
      copy_peer;
  // Between processes
  Call<"cudaIpcGetMemHandle", Phase::kCreating, cudaIpcMemHandle_t*, void*> share_memory;
  Call<"cudaIpcOpenMemHandle", Phase::kCreating, void**, cudaIpcMemHandle_t, unsigned>
      open_shared_memory;
  Call<"cudaIpcCloseMemHandle", Phase::kCreating, void*> close_shared_memory;
  // Streams and events
  Call<"cudaDeviceGetStreamPriorityRange", Phase::kCreating, int*, int*> stream_priorities;
  Call<"cudaStreamCreateWithPriority", Phase::kCreating, cudaStream_t*, unsigned, int>
      create_stream;
  Call<"cudaStreamDestroy", Phase::kCreating, cudaStream_t> destroy_stream;
  Call<"cudaStreamSynchronize", Phase::kCreating, cudaStream_t> synchronize_stream;
  Call<"cudaStreamWaitEvent", Phase::kRunning, cudaStream_t, cudaEvent_t, unsigned> wait_for_event;
  Call<"cudaEventCreateWithFlags", Phase::kCreating, cudaEvent_t*, unsigned> create_event;
  Call<"cudaEventDestroy", Phase::kCreating, cudaEvent_t> destroy_event;
  Call<"cudaEventRecord", Phase::kRunning, cudaEvent_t, cudaStream_t> record_event;
  Call<"cuEventQuery", Phase::kRunning, cudaEvent_t> query_event;
  Call<"cudaEventSynchronize", Phase::kRunning, cudaEvent_t> synchronize_event;
  Call<"cudaEventElapsedTime", Phase::kRunning, float*, cudaEvent_t, cudaEvent_t> elapsed;
  // Kernels and graphs
  Call<"cudaFuncGetAttributes", Phase::kCreating, cudaFuncAttributes*, const void*>
      function_attributes;
  Call<"cudaFuncSetAttribute", Phase::kCreating, const void*, cudaFuncAttribute, int>
      set_function_attribute;
  Call<"cudaOccupancyMaxActiveBlocksPerMultiprocessor", Phase::kCreating, int*, const void*, int,
       std::size_t>
      blocks_per_multiprocessor;
  Call<"cudaStreamBeginCapture", Phase::kCreating, cudaStream_t, cudaStreamCaptureMode>
      begin_capture;
  Call<"cudaLaunchKernelExC", Phase::kCreating, const cudaLaunchConfig_t*, const void*, void**>
      launch_kernel;
  Call<"cudaStreamEndCapture", Phase::kCreating, cudaStream_t, cudaGraph_t*> end_capture;
  Call<"cudaGraphInstantiate", Phase::kCreating, cudaGraphExec_t*, cudaGraph_t> instantiate_graph;
  Call<"cudaGraphDestroy", Phase::kCreating, cudaGraph_t> destroy_graph;
  Call<"cudaGraphUpload", Phase::kCreating, cudaGraphExec_t, cudaStream_t> upload_graph;
  Call<"cudaGraphExecDestroy", Phase::kCreating, cudaGraphExec_t> destroy_graph_exec;
  Call<"cudaGraphLaunch", Phase::kRunning, cudaGraphExec_t, cudaStream_t> launch_graph;
};

extern const CudaCalls kCudaCalls;

}  // namespace ocellus::cuda
