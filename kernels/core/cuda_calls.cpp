#include "kernels/core/cuda_calls.h"

namespace ocellus::cuda {
namespace {

// The driver is looked up at run time, so that the library also loads on machines without one.

/// Returns the driver's function of this name, as of CUDA 12.0; null if there is no driver.
template <typename Function>
Function* driver_function(const char* name) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<Function*>(function);
}

/// Converts a driver error to a runtime error; both use the same numbers.
cudaError_t runtime_error(CUresult result) noexcept {
  return static_cast<cudaError_t>(result);
}

template <typename Function, typename... Arguments>
cudaError_t call_driver(const char* name, Arguments... arguments) noexcept {
  Function* const function = driver_function<Function>(name);
  if (function == nullptr) return cudaErrorInsufficientDriver;
  return runtime_error(function(arguments...));
}

cudaError_t retain_primary_context(CUcontext* context, int device) {
  return call_driver<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain", context, device);
}
cudaError_t release_primary_context(int device) {
  return call_driver<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease", device);
}

// These functions are called for each frame, so their addresses are looked up only once, when the
// first engine is created.
cudaError_t current_context(CUcontext* context) {
  static auto* const kFunction = driver_function<CUresult(CUcontext*)>("cuCtxGetCurrent");
  return kFunction == nullptr ? cudaErrorInsufficientDriver : runtime_error(kFunction(context));
}
cudaError_t push_context(CUcontext context) {
  static auto* const kFunction = driver_function<CUresult(CUcontext)>("cuCtxPushCurrent");
  return kFunction == nullptr ? cudaErrorInsufficientDriver : runtime_error(kFunction(context));
}
cudaError_t pop_context() {
  static auto* const kFunction = driver_function<CUresult(CUcontext*)>("cuCtxPopCurrent");
  CUcontext popped = nullptr;
  return kFunction == nullptr ? cudaErrorInsufficientDriver : runtime_error(kFunction(&popped));
}

// The driver's function is used for events, too. The runtime's function may leave "not ready" as
// the last error. Events are the same objects in both.
cudaError_t query_event(cudaEvent_t event) {
  static auto* const kFunction = driver_function<CUresult(CUevent)>("cuEventQuery");
  return kFunction == nullptr ? cudaErrorInsufficientDriver : runtime_error(kFunction(event));
}
cudaError_t exchange_capture_mode(cudaStreamCaptureMode* mode) {
  auto driver_mode = static_cast<CUstreamCaptureMode>(*mode);
  const cudaError_t error = call_driver<CUresult(CUstreamCaptureMode*)>(
      "cuThreadExchangeStreamCaptureMode", &driver_mode);
  *mode = static_cast<cudaStreamCaptureMode>(driver_mode);
  return error;
}

cudaError_t get_device_properties(cudaDeviceProp* properties, int device) {
  return cudaGetDeviceProperties(properties, device);
}
cudaError_t malloc_device(void** pointer, std::size_t bytes) {
  return cudaMalloc(pointer, bytes);
}
cudaError_t malloc_host(void** pointer, std::size_t bytes, unsigned flags) {
  return cudaHostAlloc(pointer, bytes, flags);
}
// Access remains enabled: other engines of the process may have enabled it, too.
cudaError_t enable_peer_access(int peer) {
  const cudaError_t before = cudaPeekAtLastError();
  const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (error != cudaErrorPeerAccessAlreadyEnabled) return error;
  if (before == cudaSuccess) static_cast<void>(cudaGetLastError());
  return cudaSuccess;
}
cudaError_t pointer_attributes(cudaPointerAttributes* attributes, const void* pointer) {
  return cudaPointerGetAttributes(attributes, pointer);
}
cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function) {
  return cudaFuncGetAttributes(attributes, function);
}
cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(function, attribute, value);
}
cudaError_t blocks_per_multiprocessor(int* blocks, const void* function, int threads,
                                      std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes);
}
cudaError_t create_event(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
cudaError_t launch_kernel(const cudaLaunchConfig_t* config, const void* function,
                          void** arguments) {
  return cudaLaunchKernelExC(config, function, arguments);
}
cudaError_t instantiate_graph(cudaGraphExec_t* exec, cudaGraph_t graph) {
  return cudaGraphInstantiate(exec, graph, 0);
}

}  // namespace

const CudaCalls kCudaCalls = with_names({
    .get_device_count = {cudaGetDeviceCount},
    .get_device_properties = {get_device_properties},
    .driver_version = {cudaDriverGetVersion},
    .retain_primary_context = {retain_primary_context},
    .release_primary_context = {release_primary_context},
    .current_context = {current_context},
    .push_context = {push_context},
    .pop_context = {pop_context},
    .peek_last_error = {cudaPeekAtLastError},
    .take_last_error = {cudaGetLastError},
    .exchange_capture_mode = {exchange_capture_mode},
    .memory_info = {cudaMemGetInfo},
    .malloc_device = {malloc_device},
    .free_device = {cudaFree},
    .malloc_host = {malloc_host},
    .free_host = {cudaFreeHost},
    .copy = {cudaMemcpyAsync},
    .copy_2d = {cudaMemcpy2DAsync},
    .set = {cudaMemsetAsync},
    .pointer_attributes = {pointer_attributes},
    .can_access_peer = {cudaDeviceCanAccessPeer},
    .enable_peer_access = {enable_peer_access},
    .copy_peer = {cudaMemcpyPeerAsync},
    .share_memory = {cudaIpcGetMemHandle},
    .open_shared_memory = {cudaIpcOpenMemHandle},
    .close_shared_memory = {cudaIpcCloseMemHandle},
    .stream_priorities = {cudaDeviceGetStreamPriorityRange},
    .create_stream = {cudaStreamCreateWithPriority},
    .destroy_stream = {cudaStreamDestroy},
    .synchronize_stream = {cudaStreamSynchronize},
    .wait_for_event = {cudaStreamWaitEvent},
    .create_event = {create_event},
    .destroy_event = {cudaEventDestroy},
    .record_event = {cudaEventRecord},
    .query_event = {query_event},
    .synchronize_event = {cudaEventSynchronize},
    .elapsed = {cudaEventElapsedTime},
    .function_attributes = {function_attributes},
    .set_function_attribute = {set_function_attribute},
    .blocks_per_multiprocessor = {blocks_per_multiprocessor},
    .begin_capture = {cudaStreamBeginCapture},
    .launch_kernel = {launch_kernel},
    .end_capture = {cudaStreamEndCapture},
    .instantiate_graph = {instantiate_graph},
    .destroy_graph = {cudaGraphDestroy},
    .upload_graph = {cudaGraphUpload},
    .destroy_graph_exec = {cudaGraphExecDestroy},
    .launch_graph = {cudaGraphLaunch},
});

}  // namespace ocellus::cuda
