// CudaCalls: a table of all CUDA functions that the library calls.
//
// No other code calls CUDA. The table gives each call its name for error texts. Calls that allocate
// are refused while frames run. A test can substitute its own driver: the table is a symbol in a
// source file of its own, and a test program defines it instead.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace ocellus::cuda {

/// Tells when a call may be made.
enum class Phase : unsigned char {
  /// Allocates, frees, synchronizes or loads code: only during creation and destruction, and after
  /// a failure.
  kCreating,
  kRunning,  ///< bounded: also while frames run
};

template <typename... Parameters>
struct Call {
  cudaError_t (*function)(Parameters...) = nullptr;
  const char* name = nullptr;
  Phase phase = Phase::kCreating;
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
  // State of the calling thread
  Call<> peek_last_error;
  Call<> take_last_error;
  Call<cudaStreamCaptureMode*> exchange_capture_mode;
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
  Call<cudaPointerAttributes*, const void*> pointer_attributes;
  // From device to device
  Call<int*, int, int> can_access_peer;
  Call<int> enable_peer_access;  ///< of the device of the context; success if it is enabled already
  Call<void*, int, const void*, int, std::size_t, cudaStream_t> copy_peer;
  // Between processes
  Call<cudaIpcMemHandle_t*, void*> share_memory;
  Call<void**, cudaIpcMemHandle_t, unsigned> open_shared_memory;
  Call<void*> close_shared_memory;
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

/// Adds names and phases to a table of functions. They are the same for every driver.
constexpr CudaCalls with_names(CudaCalls calls) {
  const auto name = [](auto& call, const char* text, Phase phase) {
    call.name = text;
    call.phase = phase;
  };
  name(calls.get_device_count, "cudaGetDeviceCount", Phase::kCreating);
  name(calls.get_device_properties, "cudaGetDeviceProperties", Phase::kCreating);
  name(calls.driver_version, "cudaDriverGetVersion", Phase::kCreating);
  name(calls.retain_primary_context, "cuDevicePrimaryCtxRetain", Phase::kCreating);
  name(calls.release_primary_context, "cuDevicePrimaryCtxRelease", Phase::kCreating);
  name(calls.current_context, "cuCtxGetCurrent", Phase::kRunning);
  name(calls.push_context, "cuCtxPushCurrent", Phase::kRunning);
  name(calls.pop_context, "cuCtxPopCurrent", Phase::kRunning);
  name(calls.peek_last_error, "cudaPeekAtLastError", Phase::kRunning);
  name(calls.take_last_error, "cudaGetLastError", Phase::kRunning);
  name(calls.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", Phase::kCreating);
  name(calls.memory_info, "cudaMemGetInfo", Phase::kCreating);
  name(calls.malloc_device, "cudaMalloc", Phase::kCreating);
  name(calls.free_device, "cudaFree", Phase::kCreating);
  name(calls.malloc_host, "cudaHostAlloc", Phase::kCreating);
  name(calls.free_host, "cudaFreeHost", Phase::kCreating);
  name(calls.copy, "cudaMemcpyAsync", Phase::kRunning);
  name(calls.copy_2d, "cudaMemcpy2DAsync", Phase::kRunning);
  name(calls.set, "cudaMemsetAsync", Phase::kRunning);
  name(calls.pointer_attributes, "cudaPointerGetAttributes", Phase::kRunning);
  name(calls.can_access_peer, "cudaDeviceCanAccessPeer", Phase::kCreating);
  name(calls.enable_peer_access, "cudaDeviceEnablePeerAccess", Phase::kCreating);
  name(calls.copy_peer, "cudaMemcpyPeerAsync", Phase::kRunning);
  name(calls.share_memory, "cudaIpcGetMemHandle", Phase::kCreating);
  name(calls.open_shared_memory, "cudaIpcOpenMemHandle", Phase::kCreating);
  name(calls.close_shared_memory, "cudaIpcCloseMemHandle", Phase::kCreating);
  name(calls.stream_priorities, "cudaDeviceGetStreamPriorityRange", Phase::kCreating);
  name(calls.create_stream, "cudaStreamCreateWithPriority", Phase::kCreating);
  name(calls.destroy_stream, "cudaStreamDestroy", Phase::kCreating);
  name(calls.synchronize_stream, "cudaStreamSynchronize", Phase::kCreating);
  name(calls.wait_for_event, "cudaStreamWaitEvent", Phase::kRunning);
  name(calls.create_event, "cudaEventCreateWithFlags", Phase::kCreating);
  name(calls.destroy_event, "cudaEventDestroy", Phase::kCreating);
  name(calls.record_event, "cudaEventRecord", Phase::kRunning);
  name(calls.query_event, "cuEventQuery", Phase::kRunning);
  name(calls.synchronize_event, "cudaEventSynchronize", Phase::kRunning);
  name(calls.elapsed, "cudaEventElapsedTime", Phase::kRunning);
  name(calls.function_attributes, "cudaFuncGetAttributes", Phase::kCreating);
  name(calls.set_function_attribute, "cudaFuncSetAttribute", Phase::kCreating);
  name(calls.blocks_per_multiprocessor, "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
       Phase::kCreating);
  name(calls.begin_capture, "cudaStreamBeginCapture", Phase::kCreating);
  name(calls.launch_kernel, "cudaLaunchKernelExC", Phase::kCreating);
  name(calls.end_capture, "cudaStreamEndCapture", Phase::kCreating);
  name(calls.instantiate_graph, "cudaGraphInstantiate", Phase::kCreating);
  name(calls.destroy_graph, "cudaGraphDestroy", Phase::kCreating);
  name(calls.upload_graph, "cudaGraphUpload", Phase::kCreating);
  name(calls.destroy_graph_exec, "cudaGraphExecDestroy", Phase::kCreating);
  name(calls.launch_graph, "cudaGraphLaunch", Phase::kRunning);
  return calls;
}

extern const CudaCalls kCudaCalls;

}  // namespace ocellus::cuda
