#include "kernels/fake_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ocellus::test {

FakeDriver& fake_driver() {
  static FakeDriver driver;
  return driver;
}

void reset_fake_driver() {
  FakeDriver& driver = fake_driver();
  for (const std::set<void*>* left : {&driver.device_blocks, &driver.host_blocks, &driver.streams,
                                      &driver.events, &driver.graphs, &driver.execs})
    for (void* one : *left) std::free(one);
  driver = FakeDriver{};
}

namespace {

/// Counts a call; the error that it must return instead of working, or success.
cudaError_t enter(const char* name, bool frees = false) {
  FakeDriver& driver = fake_driver();
  const long number = driver.calls++;
  driver.names.emplace_back(name);
  if (number == driver.fail_at) {
    driver.failed_call = name;
    return driver.failure;
  }
  if (driver.fail_at >= 0 && number > driver.fail_at) {
    if (!frees) ++driver.after_failure;
    if (driver.stays_failed && !frees) return driver.failure;
  }
  return cudaSuccess;
}

template <typename Handle>
cudaError_t make(std::set<void*>& all, Handle* handle) {
  void* made = std::malloc(1);
  all.insert(made);
  *handle = static_cast<Handle>(made);
  return cudaSuccess;
}

cudaError_t unmake(std::set<void*>& all, void* handle) {
  if (all.erase(handle) == 0) {
    std::fprintf(stderr, "freed what does not exist\n");
    std::abort();
  }
  std::free(handle);
  return cudaSuccess;
}

CUcontext primary() {
  static int context;
  return reinterpret_cast<CUcontext>(&context);
}

// The kernels' own registration calls the real runtime before main; this table is what the library
// calls afterwards.

#define ENTER(name) \
  if (const cudaError_t error = enter(name); error != cudaSuccess) return error
#define ENTER_FREEING(name) \
  if (const cudaError_t error = enter(name, true); error != cudaSuccess) return error

cudaError_t get_device_count(int* count) {
  ENTER("cudaGetDeviceCount");
  *count = fake_driver().devices;
  return fake_driver().devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t get_device_properties(cudaDeviceProp* properties, int) {
  ENTER("cudaGetDeviceProperties");
  std::memset(properties, 0, sizeof(*properties));
  std::snprintf(properties->name, sizeof(properties->name), "Fake");
  properties->major = 9;
  properties->totalGlobalMem = 123456;
  properties->pciDomainID = 1;
  properties->pciBusID = 0x3b;
  properties->pciDeviceID = 10;
  properties->multiProcessorCount = 4;
  properties->sharedMemPerBlockOptin = 227 * 1024;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t driver_version(int* version) {
  ENTER("cudaDriverGetVersion");
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t retain_primary_context(CUcontext* context, int) {
  ENTER("cuDevicePrimaryCtxRetain");
  ++fake_driver().contexts;
  *context = primary();
  return cudaSuccess;
}
cudaError_t release_primary_context(int) {
  ENTER_FREEING("cuDevicePrimaryCtxRelease");
  --fake_driver().contexts;
  return cudaSuccess;
}
cudaError_t current_context(CUcontext* context) {
  ENTER("cuCtxGetCurrent");
  *context = fake_driver().pushed > 0 ? primary() : nullptr;
  return cudaSuccess;
}
cudaError_t push_context(CUcontext) {
  ENTER("cuCtxPushCurrent");
  ++fake_driver().pushed;
  return cudaSuccess;
}
cudaError_t pop_context() {
  ENTER_FREEING("cuCtxPopCurrent");
  --fake_driver().pushed;
  return cudaSuccess;
}
cudaError_t memory_info(std::size_t* free, std::size_t* total) {
  ENTER("cudaMemGetInfo");
  *free = 1000;
  *total = 2000;
  return cudaSuccess;
}
cudaError_t malloc_device(void** pointer, std::size_t bytes) {
  ENTER("cudaMalloc");
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  fake_driver().device_blocks.insert(*pointer);
  return cudaSuccess;
}
cudaError_t free_device(void* pointer) {
  ENTER_FREEING("cudaFree");
  return unmake(fake_driver().device_blocks, pointer);
}
cudaError_t malloc_host(void** pointer, std::size_t bytes, unsigned) {
  ENTER("cudaHostAlloc");
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*pointer, 0, bytes);
  fake_driver().host_blocks.insert(*pointer);
  return cudaSuccess;
}
cudaError_t free_host(void* pointer) {
  ENTER_FREEING("cudaFreeHost");
  return unmake(fake_driver().host_blocks, pointer);
}
/// Bytes go to memory through a stream.
void copied_to(const void* to, std::size_t bytes, cudaStream_t stream) {
  const auto* const begin = static_cast<const char*>(to);
  for (const auto& clearing : fake_driver().clearings) {
    if (clearing.stream != stream && begin < clearing.end && clearing.begin < begin + bytes)
      ++fake_driver().lost_copies;
  }
}
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                 cudaStream_t stream) {
  ENTER("cudaMemcpyAsync");
  copied_to(to, bytes, stream);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t copy_2d(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                    std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  ENTER("cudaMemcpy2DAsync");
  copied_to(to, (height - 1) * to_stride + width, stream);
  for (std::size_t y = 0; y < height; ++y)
    std::memcpy(static_cast<char*>(to) + y * to_stride,
                static_cast<const char*>(from) + y * from_stride, width);
  return cudaSuccess;
}
cudaError_t set(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  ENTER("cudaMemsetAsync");
  const char* const begin = static_cast<const char*>(to);
  fake_driver().clearings.push_back({begin, begin + bytes, stream});
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t stream_priorities(int* least, int* greatest) {
  ENTER("cudaDeviceGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t create_stream(cudaStream_t* stream, unsigned, int) {
  ENTER("cudaStreamCreateWithPriority");
  return make(fake_driver().streams, stream);
}
cudaError_t destroy_stream(cudaStream_t stream) {
  ENTER_FREEING("cudaStreamDestroy");
  return unmake(fake_driver().streams, stream);
}
cudaError_t synchronize_stream(cudaStream_t stream) {
  ENTER("cudaStreamSynchronize");
  std::erase_if(fake_driver().clearings, [&](const auto& c) { return c.stream == stream; });
  return cudaSuccess;
}
cudaError_t wait_for_event(cudaStream_t, cudaEvent_t, unsigned) {
  ENTER("cudaStreamWaitEvent");
  return cudaSuccess;
}
cudaError_t create_event(cudaEvent_t* event, unsigned) {
  ENTER("cudaEventCreateWithFlags");
  return make(fake_driver().events, event);
}
cudaError_t destroy_event(cudaEvent_t event) {
  ENTER_FREEING("cudaEventDestroy");
  return unmake(fake_driver().events, event);
}
cudaError_t record_event(cudaEvent_t, cudaStream_t) {
  ENTER("cudaEventRecord");
  return cudaSuccess;
}
cudaError_t query_event(cudaEvent_t) {
  ENTER("cudaEventQuery");
  return cudaSuccess;
}
cudaError_t synchronize_event(cudaEvent_t) {
  ENTER("cudaEventSynchronize");
  return cudaSuccess;
}
cudaError_t elapsed(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  ENTER("cudaEventElapsedTime");
  *milliseconds = 0.25f;
  return cudaSuccess;
}
cudaError_t function_attributes(cudaFuncAttributes* attributes, const void*) {
  ENTER("cudaFuncGetAttributes");
  std::memset(attributes, 0, sizeof(*attributes));
  attributes->maxDynamicSharedSizeBytes = 48 * 1024;
  return cudaSuccess;
}
cudaError_t set_function_attribute(const void*, cudaFuncAttribute, int) {
  ENTER("cudaFuncSetAttribute");
  return cudaSuccess;
}
cudaError_t blocks_per_multiprocessor(int* blocks, const void*, int, std::size_t) {
  ENTER("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = 1;
  return cudaSuccess;
}
cudaError_t begin_capture(cudaStream_t, cudaStreamCaptureMode) {
  ENTER("cudaStreamBeginCapture");
  return cudaSuccess;
}
cudaError_t launch_kernel(const cudaLaunchConfig_t*, const void*, void**) {
  ENTER("cudaLaunchKernelExC");
  return cudaSuccess;
}
cudaError_t end_capture(cudaStream_t, cudaGraph_t* graph) {
  ENTER("cudaStreamEndCapture");
  return make(fake_driver().graphs, graph);
}
cudaError_t instantiate_graph(cudaGraphExec_t* exec, cudaGraph_t) {
  ENTER("cudaGraphInstantiate");
  return make(fake_driver().execs, exec);
}
cudaError_t destroy_graph(cudaGraph_t graph) {
  ENTER_FREEING("cudaGraphDestroy");
  return unmake(fake_driver().graphs, graph);
}
cudaError_t upload_graph(cudaGraphExec_t, cudaStream_t) {
  ENTER("cudaGraphUpload");
  return cudaSuccess;
}
cudaError_t destroy_graph_exec(cudaGraphExec_t exec) {
  ENTER_FREEING("cudaGraphExecDestroy");
  return unmake(fake_driver().execs, exec);
}
cudaError_t launch_graph(cudaGraphExec_t, cudaStream_t) {
  ENTER("cudaGraphLaunch");
  ++fake_driver().launched_graphs;
  if (fake_driver().graph) fake_driver().graph();
  return cudaSuccess;
}

}  // namespace
}  // namespace ocellus::test

namespace ocellus::cuda {

using namespace ocellus::test;

// The linker takes this definition and leaves the library's own in its archive.
const CudaCalls kCudaCalls = with_names({
    .get_device_count = {get_device_count},
    .get_device_properties = {get_device_properties},
    .driver_version = {driver_version},
    .retain_primary_context = {retain_primary_context},
    .release_primary_context = {release_primary_context},
    .current_context = {current_context},
    .push_context = {push_context},
    .pop_context = {pop_context},
    .memory_info = {memory_info},
    .malloc_device = {malloc_device},
    .free_device = {free_device},
    .malloc_host = {malloc_host},
    .free_host = {free_host},
    .copy = {copy},
    .copy_2d = {copy_2d},
    .set = {set},
    .stream_priorities = {stream_priorities},
    .create_stream = {create_stream},
    .destroy_stream = {destroy_stream},
    .synchronize_stream = {synchronize_stream},
    .wait_for_event = {wait_for_event},
    .create_event = {create_event},
    .destroy_event = {destroy_event},
    .record_event = {record_event},
    .query_event = {query_event},
    .synchronize_event = {synchronize_event},
    .elapsed = {elapsed},
    .function_attributes = {function_attributes},
    .set_function_attribute = {set_function_attribute},
    .blocks_per_multiprocessor = {blocks_per_multiprocessor},
    .begin_capture = {begin_capture},
    .launch_kernel = {launch_kernel},
    .end_capture = {end_capture},
    .instantiate_graph = {instantiate_graph},
    .destroy_graph = {destroy_graph},
    .upload_graph = {upload_graph},
    .destroy_graph_exec = {destroy_graph_exec},
    .launch_graph = {launch_graph},
});

}  // namespace ocellus::cuda
