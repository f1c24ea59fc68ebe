#include "kernels/core/cuda_calls.h"

#include <atomic>

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

/// Looks the function up until it is found: frames call some of them. Drivers and runtime have the
/// same numbers of errors.
template <CallName kName, typename... Arguments>
cudaError_t call_driver(Arguments... arguments) noexcept {
  using Function = CUresult(Arguments...);
  static std::atomic<Function*> found{nullptr};
  Function* function = found.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = driver_function<Function>(kName.value);
    if (function == nullptr) return cudaErrorInsufficientDriver;
    found.store(function, std::memory_order_relaxed);
  }
  return static_cast<cudaError_t>(function(arguments...));
}

cudaError_t retain_primary_context(CUcontext* context, int device) {
  return call_driver<"cuDevicePrimaryCtxRetain">(context, device);
}
cudaError_t release_primary_context(int device) {
  return call_driver<"cuDevicePrimaryCtxRelease">(device);
}
cudaError_t current_context(CUcontext* context) {
  return call_driver<"cuCtxGetCurrent">(context);
}
cudaError_t push_context(CUcontext context) {
  return call_driver<"cuCtxPushCurrent">(context);
}
cudaError_t pop_context() {
  CUcontext popped = nullptr;
  return call_driver<"cuCtxPopCurrent">(&popped);
}
// The driver's function is used for events, too. The runtime's function may leave "not ready" as
// the last error. Events are the same objects in both.
cudaError_t query_event(cudaEvent_t event) {
  return call_driver<"cuEventQuery">(event);
}
cudaError_t exchange_capture_mode(cudaStreamCaptureMode* mode) {
  auto driver_mode = static_cast<CUstreamCaptureMode>(*mode);
  const cudaError_t error = call_driver<"cuThreadExchangeStreamCaptureMode">(&driver_mode);
  *mode = static_cast<cudaStreamCaptureMode>(driver_mode);
  return error;
}

// Access remains enabled: other engines of the process may have enabled it, too.
cudaError_t enable_peer_access(int peer) {
  const cudaError_t before = cudaPeekAtLastError();
  const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (error != cudaErrorPeerAccessAlreadyEnabled) return error;
  if (before == cudaSuccess) static_cast<void>(cudaGetLastError());
  return cudaSuccess;
}
cudaError_t instantiate_graph(cudaGraphExec_t* exec, cudaGraph_t graph) {
  return cudaGraphInstantiate(exec, graph, 0);
}

}  // namespace

const CudaCalls kCudaCalls = {
    .get_device_count = {cudaGetDeviceCount},
    .get_device_properties = {cudaGetDeviceProperties},
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
    .malloc_device = {cudaMalloc},
    .free_device = {cudaFree},
    .malloc_host = {cudaHostAlloc},
    .free_host = {cudaFreeHost},
    .copy = {cudaMemcpyAsync},
    .copy_2d = {cudaMemcpy2DAsync},
    .set = {cudaMemsetAsync},
    .pointer_attributes = {cudaPointerGetAttributes},
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
    .create_event = {cudaEventCreateWithFlags},
    .destroy_event = {cudaEventDestroy},
    .record_event = {cudaEventRecord},
    .query_event = {query_event},
    .synchronize_event = {cudaEventSynchronize},
    .elapsed = {cudaEventElapsedTime},
    .function_attributes = {cudaFuncGetAttributes},
    .set_function_attribute = {cudaFuncSetAttribute},
    .blocks_per_multiprocessor = {cudaOccupancyMaxActiveBlocksPerMultiprocessor},
    .begin_capture = {cudaStreamBeginCapture},
    .launch_kernel = {cudaLaunchKernelExC},
    .end_capture = {cudaStreamEndCapture},
    .instantiate_graph = {instantiate_graph},
    .destroy_graph = {cudaGraphDestroy},
    .upload_graph = {cudaGraphUpload},
    .destroy_graph_exec = {cudaGraphExecDestroy},
    .launch_graph = {cudaGraphLaunch},
};

}  // namespace ocellus::cuda
