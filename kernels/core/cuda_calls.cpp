#include "kernels/core/cuda_calls.h"

namespace ocellus::cuda {
namespace {

// The driver is looked up at run time, so that the library loads where there is none.

/// The driver's function of that name, as of CUDA 12.0; null without a driver.
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

/// The runtime's name for a driver's error: both use the same numbers.
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

// Called for each frame, so their addresses are looked up once, when the first engine is made.
cudaError_t current_context(CUcontext* context) {
  static auto* const function = driver_function<CUresult(CUcontext*)>("cuCtxGetCurrent");
  return function == nullptr ? cudaErrorInsufficientDriver : runtime_error(function(context));
}
cudaError_t push_context(CUcontext context) {
  static auto* const function = driver_function<CUresult(CUcontext)>("cuCtxPushCurrent");
  return function == nullptr ? cudaErrorInsufficientDriver : runtime_error(function(context));
}
cudaError_t pop_context() {
  static auto* const function = driver_function<CUresult(CUcontext*)>("cuCtxPopCurrent");
  CUcontext popped = nullptr;
  return function == nullptr ? cudaErrorInsufficientDriver : runtime_error(function(&popped));
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

const CudaCalls kCudaCalls = {
    .get_device_count = {cudaGetDeviceCount, "cudaGetDeviceCount", Phase::kCreating},
    .get_device_properties = {get_device_properties, "cudaGetDeviceProperties", Phase::kCreating},
    .driver_version = {cudaDriverGetVersion, "cudaDriverGetVersion", Phase::kCreating},
    .retain_primary_context = {retain_primary_context, "cuDevicePrimaryCtxRetain",
                               Phase::kCreating},
    .release_primary_context = {release_primary_context, "cuDevicePrimaryCtxRelease",
                                Phase::kCreating},
    .current_context = {current_context, "cuCtxGetCurrent", Phase::kRunning},
    .push_context = {push_context, "cuCtxPushCurrent", Phase::kRunning},
    .pop_context = {pop_context, "cuCtxPopCurrent", Phase::kRunning},
    .memory_info = {cudaMemGetInfo, "cudaMemGetInfo", Phase::kCreating},
    .malloc_device = {malloc_device, "cudaMalloc", Phase::kCreating},
    .free_device = {cudaFree, "cudaFree", Phase::kCreating},
    .malloc_host = {malloc_host, "cudaHostAlloc", Phase::kCreating},
    .free_host = {cudaFreeHost, "cudaFreeHost", Phase::kCreating},
    .copy = {cudaMemcpyAsync, "cudaMemcpyAsync", Phase::kRunning},
    .copy_2d = {cudaMemcpy2DAsync, "cudaMemcpy2DAsync", Phase::kRunning},
    .set = {cudaMemsetAsync, "cudaMemsetAsync", Phase::kRunning},
    .stream_priorities = {cudaDeviceGetStreamPriorityRange, "cudaDeviceGetStreamPriorityRange",
                          Phase::kCreating},
    .create_stream = {cudaStreamCreateWithPriority, "cudaStreamCreateWithPriority",
                      Phase::kCreating},
    .destroy_stream = {cudaStreamDestroy, "cudaStreamDestroy", Phase::kCreating},
    .synchronize_stream = {cudaStreamSynchronize, "cudaStreamSynchronize", Phase::kCreating},
    .wait_for_event = {cudaStreamWaitEvent, "cudaStreamWaitEvent", Phase::kRunning},
    .create_event = {create_event, "cudaEventCreateWithFlags", Phase::kCreating},
    .destroy_event = {cudaEventDestroy, "cudaEventDestroy", Phase::kCreating},
    .record_event = {cudaEventRecord, "cudaEventRecord", Phase::kRunning},
    .query_event = {cudaEventQuery, "cudaEventQuery", Phase::kRunning},
    .synchronize_event = {cudaEventSynchronize, "cudaEventSynchronize", Phase::kRunning},
    .elapsed = {cudaEventElapsedTime, "cudaEventElapsedTime", Phase::kRunning},
    .function_attributes = {function_attributes, "cudaFuncGetAttributes", Phase::kCreating},
    .set_function_attribute = {set_function_attribute, "cudaFuncSetAttribute", Phase::kCreating},
    .blocks_per_multiprocessor = {blocks_per_multiprocessor,
                                  "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                                  Phase::kCreating},
    .begin_capture = {cudaStreamBeginCapture, "cudaStreamBeginCapture", Phase::kCreating},
    .launch_kernel = {launch_kernel, "cudaLaunchKernelExC", Phase::kCreating},
    .end_capture = {cudaStreamEndCapture, "cudaStreamEndCapture", Phase::kCreating},
    .instantiate_graph = {instantiate_graph, "cudaGraphInstantiate", Phase::kCreating},
    .destroy_graph = {cudaGraphDestroy, "cudaGraphDestroy", Phase::kCreating},
    .upload_graph = {cudaGraphUpload, "cudaGraphUpload", Phase::kCreating},
    .destroy_graph_exec = {cudaGraphExecDestroy, "cudaGraphExecDestroy", Phase::kCreating},
    .launch_graph = {cudaGraphLaunch, "cudaGraphLaunch", Phase::kRunning},
};

}  // namespace ocellus::cuda
