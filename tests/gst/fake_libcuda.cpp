// A fake libcuda.so.1 with the driver functions that GStreamer's CUDA library and the elements
// call. It works on host memory. Each block knows its context. Use in another context is an error
// on a real device, so it aborts the program. Needs no GPU.
#include "gst/fake_libcuda.h"

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace {

FakeLibcuda state;
std::recursive_mutex mutex;
int primary_context;
std::set<void*> made_contexts;
struct Block {
  std::size_t bytes;
  CUcontext context;
  bool on_host;
};
std::map<char*, Block> blocks;
std::map<void*, CUcontext> streams;
thread_local std::vector<CUcontext> stack;

CUcontext primary() {
  return reinterpret_cast<CUcontext>(&primary_context);
}

[[noreturn]] void misuse(const char* what) {
  std::fprintf(stderr, "CUDA is misused: %s\n", what);
  std::abort();
}

CUcontext current() {
  if (stack.empty()) misuse("no context is current");
  return stack.back();
}

bool is_alive(CUcontext context) {
  return context == primary() ? state.primary_retained > 0 : made_contexts.count(context) > 0;
}

/// The block that holds [address, address + bytes).
const Block& block_at(const void* address, std::size_t bytes) {
  auto* const at = static_cast<char*>(const_cast<void*>(address));
  auto after = blocks.upper_bound(at);
  if (after == blocks.begin()) misuse("the address is in no memory block");
  --after;
  if (at + bytes > after->first + after->second.bytes)
    misuse("the address range exceeds its memory block");
  if (!is_alive(after->second.context)) misuse("the memory belongs to a destroyed context");
  return after->second;
}

void* take(std::size_t bytes, bool on_host) {
  void* const made = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(made, 0xEE, bytes);
  blocks[static_cast<char*>(made)] = {bytes, current(), on_host};
  ++state.blocks;
  return made;
}

CUresult give_back(void* memory, bool on_host) {
  const auto found = blocks.find(static_cast<char*>(memory));
  if (found == blocks.end() || found->second.on_host != on_host)
    misuse("freed memory that is not allocated");
  if (found->second.context != current()) misuse("freed in another context");
  if (!is_alive(current())) misuse("freed in a destroyed context");
  blocks.erase(found);
  std::free(memory);
  --state.blocks;
  return CUDA_SUCCESS;
}

void copy_rows(char* to, std::size_t to_pitch, const char* from, std::size_t from_pitch,
               std::size_t row, std::size_t rows) {
  for (std::size_t y = 0; y < rows; ++y) std::memcpy(to + y * to_pitch, from + y * from_pitch, row);
}

CUresult copy_2d(const CUDA_MEMCPY2D& copy) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const bool up = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  const bool down = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  const void* from = up ? copy.srcHost : reinterpret_cast<const void*>(copy.srcDevice);
  void* to = down ? copy.dstHost : reinterpret_cast<void*>(copy.dstDevice);
  if (!up &&
      block_at(from, copy.srcPitch * (copy.Height - 1) + copy.WidthInBytes).context != current())
    misuse("read in another context");
  if (!down &&
      block_at(to, copy.dstPitch * (copy.Height - 1) + copy.WidthInBytes).context != current())
    misuse("written in another context");
  if (up) state.bytes_to_device += copy.WidthInBytes * copy.Height;
  if (down) state.bytes_to_host += copy.WidthInBytes * copy.Height;
  copy_rows(static_cast<char*>(to), copy.dstPitch, static_cast<const char*>(from), copy.srcPitch,
            copy.WidthInBytes, copy.Height);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

FakeLibcuda* fake_libcuda() {
  state.pushed = static_cast<int>(stack.size());
  return &state;
}

CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_AS_TOLD";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "failed as requested";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 8;
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
  *can = 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  ++state.primary_retained;
  *context = primary();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (--state.primary_retained < 0) misuse("the primary context was released too often");
  return CUDA_SUCCESS;
}
CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  void* const made = std::malloc(1);
  made_contexts.insert(made);
  ++state.contexts;
  *context = static_cast<CUcontext>(made);
  stack.push_back(*context);
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (made_contexts.erase(context) == 0) misuse("destroyed a context that does not exist");
  std::free(context);
  --state.contexts;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (!is_alive(context)) misuse("a destroyed context was made current");
  stack.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  const CUcontext popped = current();
  stack.pop_back();
  if (context != nullptr) *context = popped;
  return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuCtxDisablePeerAccess(CUcontext) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemAlloc_v2(CUdeviceptr* memory, std::size_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  *memory = reinterpret_cast<CUdeviceptr>(take(bytes, false));
  return CUDA_SUCCESS;
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* memory, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc_v2(memory, *pitch * height);
}
CUresult cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  *memory = take(bytes, true);
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr memory) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  return give_back(reinterpret_cast<void*>(memory), false);
}
CUresult cuMemFreeHost(void* memory) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  return give_back(memory, true);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  return copy_2d(*copy);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream) {
  return copy_2d(*copy);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (state.failure != 0) return static_cast<CUresult>(state.failure);
  if (streams.at(stream) != current()) misuse("the stream belongs to another context");
  const void* from = reinterpret_cast<const void*>(copy->srcDevice);
  void* to = reinterpret_cast<void*>(copy->dstDevice);
  if (block_at(from, copy->srcPitch * (copy->Height - 1) + copy->WidthInBytes).context !=
      copy->srcContext)
    misuse("copied from memory of another context");
  // The target is memory of the engine, which the runtime allocates and this driver does not know.
  if (copy->dstContext != primary()) misuse("copied into another context");
  copy_rows(static_cast<char*>(to), copy->dstPitch, static_cast<const char*>(from), copy->srcPitch,
            copy->WidthInBytes, copy->Height);
  ++state.copies_between;
  return CUDA_SUCCESS;
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value,
                           std::size_t width, std::size_t height, CUstream stream) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (state.failure != 0) return static_cast<CUresult>(state.failure);
  if (streams.at(stream) != current()) misuse("the stream belongs to another context");
  auto* const rows = reinterpret_cast<char*>(to);
  if (block_at(rows, pitch * (height - 1) + width).context != current())
    misuse("written in another context");
  for (std::size_t y = 0; y < height; ++y) std::memset(rows + y * pitch, value, width);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  void* const made = std::malloc(1);
  streams[made] = current();
  ++state.streams;
  *stream = static_cast<CUstream>(made);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (streams.erase(stream) == 0) misuse("destroyed a stream that does not exist");
  std::free(stream);
  --state.streams;
  return CUDA_SUCCESS;
}
// The name that GStreamer 1.22 loads.
#undef cuStreamDestroy
CUresult cuStreamDestroy(CUstream stream) {
  return cuStreamDestroy_v2(stream);
}
CUresult cuStreamSynchronize(CUstream) {
  return CUDA_SUCCESS;
}

}  // extern "C"
