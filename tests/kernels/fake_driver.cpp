#include "kernels/fake_driver.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/core/host_calls.h"

namespace ocellus::test {
namespace {

/// For calls from several threads. Recursive, because work may make calls.
std::recursive_mutex& mutex() {
  static std::recursive_mutex instance;
  return instance;
}
using Lock = std::lock_guard<std::recursive_mutex>;

thread_local std::vector<CUcontext> pushed_here;  // the last one is current
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

/// Blocks of at least this size are fresh pages of the system, which are zero: most of a model's
/// memory is never touched. The address sanitizer sees only accesses behind blocks of the heap.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kLeastMapped = SIZE_MAX;
#else
constexpr std::size_t kLeastMapped = std::size_t{1} << 20;
#endif

/// What a shared file maps: behind the memory a page with the number of times that it is open.
constexpr std::size_t kPage = 4096;
std::size_t mapped_bytes(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage + kPage;
}
std::atomic_ref<int> times_open(void* memory, std::size_t bytes) {
  return std::atomic_ref<int>(
      *reinterpret_cast<int*>(static_cast<char*>(memory) + mapped_bytes(bytes) - kPage));
}

/// Frees device or pinned memory.
void free_block(void* block) {
  FakeDriver& driver = fake_driver();
  const std::size_t bytes = driver.block_bytes[block];
  const auto shared = driver.shared_files.find(block);
  if (shared == driver.shared_files.end()) {
    if (bytes < kLeastMapped)
      std::free(block);
    else
      munmap(block, bytes);
    return;
  }
  if (times_open(block, bytes) > 0) ++driver.freed_while_open;
  munmap(block, mapped_bytes(bytes));
  close(shared->second);
  driver.shared_files.erase(shared);
}

}  // namespace

FakeDriver& fake_driver() {
  static FakeDriver driver;
  return driver;
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

void reset_fake_driver() {
  const Lock lock(mutex());
  FakeDriver& driver = fake_driver();
  for (const std::set<void*>* blocks : {&driver.device_blocks, &driver.host_blocks})
    for (void* one : *blocks) free_block(one);
  for (const std::set<void*>* left :
       {&driver.streams, &driver.events, &driver.graphs, &driver.execs})
    for (void* one : *left) std::free(one);
  for (const auto& [memory, bytes] : driver.opened) munmap(memory, mapped_bytes(bytes));
  driver = FakeDriver{};
  pushed_here.clear();
  last_error() = cudaSuccess;
}

bool only_releases(const std::string& call) {
  return call.find("Destroy") != std::string::npos || call.find("Free") != std::string::npos ||
         call.find("Release") != std::string::npos || call.find("Close") != std::string::npos ||
         call == "cuCtxPopCurrent" || call == "cuThreadExchangeStreamCaptureMode";
}

// ---- the device

namespace {

FakeStream& queue_of(void* stream) {
  return fake_driver().queues[stream];
}

bool ready(const FakeWork& work) {
  return work.awaits == nullptr || work.awaits->done >= work.version;
}

void do_first(FakeStream& stream) {
  const FakeWork work = std::move(stream.work.front());
  stream.work.pop_front();
  if (work.run) work.run();
  if (work.records != nullptr) work.records->done = std::max(work.records->done, work.version);
}

template <typename Visit>
void for_each_stream(const Visit& visit) {
  for (auto& entry : fake_driver().queues) visit(entry.second);
  for (FakeStream& stream : fake_driver().orphans) visit(stream);
}

/// Does one piece of work that the event's `version` needs. False when no such work can be done.
bool advance(const FakeEvent& event, long version);

bool advance(FakeStream& stream) {
  if (stream.held || stream.work.empty()) return false;
  const FakeWork& first = stream.work.front();
  if (!ready(first)) return advance(*first.awaits, first.version);
  do_first(stream);
  return true;
}

bool advance(const FakeEvent& event, long version) {
  FakeStream* holder = nullptr;
  for_each_stream([&](FakeStream& stream) {
    for (const FakeWork& work : stream.work)
      if (work.records.get() == &event && work.version == version) holder = &stream;
  });
  return holder != nullptr && advance(*holder);
}

void add(cudaStream_t stream, FakeWork work) {
  // A lost device drops all work.
  if (fake_driver().stays_failed && !fake_driver().failed_call.empty()) return;
  queue_of(stream).work.push_back(std::move(work));
  if (!fake_driver().lazy) run_all();
}

/// Waits until `done`. Each `step` does one piece of work.
template <typename Done, typename Step>
void wait_until(const Done& done, const Step& step) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    {
      const Lock lock(mutex());
      if (done()) return;
      if (step()) continue;
    }
    if (std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "the caller waits for work that cannot be done\n");
      std::abort();
    }
    std::this_thread::yield();
  }
}

}  // namespace

bool run_all() {
  const Lock lock(mutex());
  for (bool any = true; any;) {
    any = false;
    for_each_stream([&](FakeStream& stream) {
      while (!stream.held && !stream.work.empty() && ready(stream.work.front())) {
        do_first(stream);
        any = true;
      }
    });
  }
  bool left = false;
  for_each_stream([&](FakeStream& stream) { left = left || !stream.work.empty(); });
  return !left;
}

void run_stream(void* stream) {
  wait_until([&] { return queue_of(stream).work.empty(); },
             [&] { return advance(queue_of(stream)); });
}

void queue_work(void* stream, const std::string& what, std::function<void()> work) {
  const Lock lock(mutex());
  add(static_cast<cudaStream_t>(stream), {what, nullptr, nullptr, 0, std::move(work)});
}

void touch(const std::string& what, const void* begin, std::size_t bytes) {
  const auto* const from = static_cast<const char*>(begin);
  for (const FakeDriver::Range& range : fake_driver().callers)
    if (from < range.end && range.begin < from + bytes) fake_driver().touched.push_back(what);
}

namespace {

/// Counts a call. Returns the error that the call must return, or success.
cudaError_t enter(const char* name, bool frees = false) {
  FakeDriver& driver = fake_driver();
  std::function<void(const std::string&)> on_call;
  {
    const Lock lock(mutex());
    on_call = driver.on_call;
  }
  if (on_call) on_call(name);
  const Lock lock(mutex());
  const long number = driver.calls++;
  driver.names.emplace_back(name);
  if (number == driver.fail_at) {
    driver.failed_call = name;
    if (driver.stays_failed) for_each_stream([](FakeStream& stream) { stream.work.clear(); });
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

void remove_object(std::set<void*>& all, void* handle) {
  if (all.erase(handle) > 0) return;
  std::fprintf(stderr, "freed an object that does not exist\n");
  std::abort();
}

cudaError_t unmake(std::set<void*>& all, void* handle) {
  remove_object(all, handle);
  std::free(handle);
  return cudaSuccess;
}

constexpr int kMostDevices = 64;
char primary_contexts[kMostDevices];

CUcontext primary(int device) {
  return reinterpret_cast<CUcontext>(&primary_contexts[device % kMostDevices]);
}
/// The device of the current context; 0 without one.
int current_device() {
  if (pushed_here.empty()) return 0;
  return static_cast<int>(reinterpret_cast<char*>(pushed_here.back()) - primary_contexts);
}

/// Records a call for a device while another one is current.
void expect_current(const char* call, int device) {
  if (device != current_device()) fake_driver().misplaced.emplace_back(call);
}
/// The stream of the caller, and the default one, have no device.
void expect_current(const char* call, cudaStream_t stream) {
  if (fake_driver().streams.count(stream) > 0) expect_current(call, queue_of(stream).device);
}
/// Records that work in a stream of `device` uses memory of another device.
void expect_memory_of(const char* call, int device, const void* memory) {
  for (const auto& [block, of] : fake_driver().block_devices) {
    const auto* const begin = static_cast<const char*>(block);
    const auto* const at = static_cast<const char*>(memory);
    if (at >= begin && at < begin + fake_driver().block_bytes[block] && of != device)
      fake_driver().misplaced.emplace_back(call);
  }
}

/// The result of a call that a capture in the global mode forbids.
cudaError_t unsafe() {
  if (!fake_driver().neighbor_captures || capture_mode == cudaStreamCaptureModeRelaxed)
    return cudaSuccess;
  ++fake_driver().broken_captures;
  return cudaErrorStreamCaptureUnsupported;
}

/// Whether a stream takes work, and whether it captures the work.
cudaError_t admit(cudaStream_t stream, bool* captured) {
  if (stream != nullptr && stream == fake_driver().bad_stream)
    return cudaErrorInvalidResourceHandle;
  const FakeStream& queue = queue_of(stream);
  *captured = queue.capture != 0;
  return queue.invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

cudaError_t submit(cudaStream_t stream, FakeWork work) {
  bool captured = false;
  if (const cudaError_t error = admit(stream, &captured); error != cudaSuccess) return error;
  if (!captured) add(stream, std::move(work));
  return cudaSuccess;
}

// The registration of kernels calls the real runtime before main. Afterwards the library calls this
// table.

#define ENTER(name)                                                              \
  if (const cudaError_t error = enter(name); error != cudaSuccess) return error; \
  const Lock lock(mutex())
#define ENTER_FREEING(name)                                                            \
  if (const cudaError_t error = enter(name, true); error != cudaSuccess) return error; \
  const Lock lock(mutex())
#define ENTER_UNSAFE(name) \
  ENTER(name);             \
  if (const cudaError_t error = unsafe(); error != cudaSuccess) return error
#define ENTER_UNSAFE_FREEING(name) \
  ENTER_FREEING(name);             \
  if (const cudaError_t error = unsafe(); error != cudaSuccess) return error

cudaError_t get_device_count(int* count) {
  ENTER("cudaGetDeviceCount");
  *count = fake_driver().devices;
  return fake_driver().devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t get_device_properties(cudaDeviceProp* properties, int device) {
  ENTER("cudaGetDeviceProperties");
  std::memset(properties, 0, sizeof(*properties));
  std::snprintf(properties->name, sizeof(properties->name), "Fake");
  properties->major = 9;
  properties->totalGlobalMem = 123456;
  properties->pciDomainID = 1;
  properties->pciBusID = 0x3b;
  properties->pciDeviceID = 10 + device;
  properties->multiProcessorCount = fake_driver().multiprocessors;
  properties->sharedMemPerBlockOptin = 227 * 1024;
  properties->l2CacheSize = 1 << 20;
  properties->integrated = fake_driver().integrated ? 1 : 0;
  properties->canMapHostMemory = properties->unifiedAddressing =
      fake_driver().maps_host_memory ? 1 : 0;
  return cudaSuccess;
}
cudaError_t driver_version(int* version) {
  ENTER("cudaDriverGetVersion");
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t retain_primary_context(CUcontext* context, int device) {
  ENTER("cuDevicePrimaryCtxRetain");
  ++fake_driver().contexts;
  *context = primary(device);
  return cudaSuccess;
}
cudaError_t release_primary_context(int) {
  ENTER_FREEING("cuDevicePrimaryCtxRelease");
  --fake_driver().contexts;
  return cudaSuccess;
}
// Succeeds on a lost device, unless the test says otherwise.
cudaError_t current_context(CUcontext* context) {
  ENTER_FREEING("cuCtxGetCurrent");
  *context = pushed_here.empty() ? nullptr : pushed_here.back();
  return cudaSuccess;
}
cudaError_t push_context(CUcontext context) {
  ENTER_FREEING("cuCtxPushCurrent");
  if (fake_driver().context_goes && !fake_driver().failed_call.empty())
    return cudaErrorContextIsDestroyed;
  ++fake_driver().pushed;
  pushed_here.push_back(context);
  return cudaSuccess;
}
cudaError_t pop_context() {
  ENTER_FREEING("cuCtxPopCurrent");
  --fake_driver().pushed;
  pushed_here.pop_back();
  return cudaSuccess;
}
// These two return an error of another call, so they cannot fail themselves.
cudaError_t peek_last_error() {
  return last_error();
}
cudaError_t take_last_error() {
  return std::exchange(last_error(), cudaSuccess);
}
cudaError_t exchange_capture_mode(cudaStreamCaptureMode* mode) {
  ENTER_FREEING("cuThreadExchangeStreamCaptureMode");
  std::swap(*mode, capture_mode);
  return cudaSuccess;
}
cudaError_t memory_info(std::size_t* free, std::size_t* total) {
  ENTER("cudaMemGetInfo");
  *free = 1000;
  *total = 2000;
  return cudaSuccess;
}
cudaError_t take_block(std::set<void*>& blocks, std::size_t bytes, void** taken) {
  if (bytes > std::size_t{1} << 40) return cudaErrorMemoryAllocation;
  void* block;
  if (bytes >= kLeastMapped) {
    block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return cudaErrorMemoryAllocation;
  } else {
    block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(block, 0, bytes);
  }
  blocks.insert(block);
  fake_driver().block_bytes[block] = bytes;
  *taken = block;
  return cudaSuccess;
}
cudaError_t take_shared_block(std::size_t bytes, void** taken) {
  FakeDriver& driver = fake_driver();
  const int file = memfd_create("device memory", 0);
  const std::size_t mapped = mapped_bytes(bytes);
  if (file < 0 || ftruncate(file, static_cast<off_t>(mapped)) != 0)
    return cudaErrorMemoryAllocation;
  void* const block = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (block == MAP_FAILED) return cudaErrorMemoryAllocation;
  driver.device_blocks.insert(block);
  driver.block_bytes[block] = bytes;
  driver.shared_files[block] = file;
  *taken = block;
  return cudaSuccess;
}
cudaError_t malloc_device(void** pointer, std::size_t bytes) {
  ENTER_UNSAFE("cudaMalloc");
  const cudaError_t error = fake_driver().shares_memory
                                ? take_shared_block(bytes, pointer)
                                : take_block(fake_driver().device_blocks, bytes, pointer);
  if (error == cudaSuccess) fake_driver().block_devices[*pointer] = current_device();
  return error;
}
// Waits for all work, as cudaFree does.
cudaError_t free_device(void* pointer) {
  ENTER_UNSAFE_FREEING("cudaFree");
  run_all();
  fake_driver().block_devices.erase(pointer);
  remove_object(fake_driver().device_blocks, pointer);
  free_block(pointer);
  return cudaSuccess;
}
cudaError_t malloc_host(void** pointer, std::size_t bytes, unsigned) {
  ENTER_UNSAFE("cudaHostAlloc");
  return take_block(fake_driver().host_blocks, bytes, pointer);
}
cudaError_t free_host(void* pointer) {
  ENTER_UNSAFE_FREEING("cudaFreeHost");
  run_all();
  remove_object(fake_driver().host_blocks, pointer);
  free_block(pointer);
  return cudaSuccess;
}
void count_bytes(std::size_t bytes, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToDevice) fake_driver().bytes_to_device += bytes;
  if (kind == cudaMemcpyDeviceToHost) fake_driver().bytes_to_host += bytes;
}
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  ENTER("cudaMemcpyAsync");
  count_bytes(bytes, kind);
  expect_current("cudaMemcpyAsync", stream);
  expect_memory_of("cudaMemcpyAsync", queue_of(stream).device, to);
  expect_memory_of("cudaMemcpyAsync", queue_of(stream).device, from);
  return submit(stream, {"copy", nullptr, nullptr, 0, [=] {
                           touch("copy", to, bytes);
                           touch("copy", from, bytes);
                           std::memcpy(to, from, bytes);
                         }});
}
cudaError_t copy_2d(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                    std::size_t width, std::size_t height, cudaMemcpyKind kind,
                    cudaStream_t stream) {
  ENTER("cudaMemcpy2DAsync");
  if (kind == cudaMemcpyDeviceToDevice) ++fake_driver().copies_between_devices;
  count_bytes(width * height, kind);
  return submit(stream, {"copy of rows", nullptr, nullptr, 0, [=] {
                           for (std::size_t y = 0; y < height; ++y) {
                             char* const row = static_cast<char*>(to) + y * to_stride;
                             const char* const source =
                                 static_cast<const char*>(from) + y * from_stride;
                             touch("copy of rows to", row, width);
                             touch("copy of rows from", source, width);
                             std::memcpy(row, source, width);
                           }
                         }});
}
cudaError_t set(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  ENTER("cudaMemsetAsync");
  if (FakeStream& queue = queue_of(stream); queue.capture != 0 && fake_driver().kernel)
    queue.captured.push_back([=] { std::memset(to, value, bytes); });
  return submit(stream, {"clearing", nullptr, nullptr, 0, [=] {
                           touch("clearing", to, bytes);
                           std::memset(to, value, bytes);
                         }});
}
cudaError_t pointer_attributes(cudaPointerAttributes* attributes, const void* pointer) {
  ENTER("cudaPointerGetAttributes");
  *attributes = {};
  for (void* block : fake_driver().host_blocks) {
    const auto* const begin = static_cast<const char*>(block);
    if (pointer < begin || pointer >= begin + fake_driver().block_bytes[block]) continue;
    attributes->type = cudaMemoryTypeHost;
    attributes->devicePointer = attributes->hostPointer = const_cast<void*>(pointer);
  }
  return cudaSuccess;
}
cudaError_t can_access_peer(int* can, int device, int peer) {
  ENTER("cudaDeviceCanAccessPeer");
  *can = fake_driver().peers && device != peer ? 1 : 0;
  return cudaSuccess;
}
cudaError_t enable_peer_access(int peer) {
  ENTER("cudaDeviceEnablePeerAccess");
  if (!fake_driver().peers) return cudaErrorPeerAccessUnsupported;
  fake_driver().accesses.insert({current_device(), peer});
  return cudaSuccess;
}
cudaError_t copy_peer(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                      cudaStream_t stream) {
  ENTER("cudaMemcpyPeerAsync");
  FakeDriver& driver = fake_driver();
  expect_current("cudaMemcpyPeerAsync", stream);
  expect_memory_of("cudaMemcpyPeerAsync", to_device, to);
  expect_memory_of("cudaMemcpyPeerAsync", from_device, from);
  if (driver.accesses.count({queue_of(stream).device, to_device}) == 0)
    driver.misplaced.emplace_back("cudaMemcpyPeerAsync without access");
  ++driver.peer_copies;
  return submit(stream, {"copy to a peer", nullptr, nullptr, 0, [=] {
                           touch("copy to a peer", to, bytes);
                           std::memcpy(to, from, bytes);
                         }});
}
/// What a handle of shared memory holds.
struct FakeHandle {
  pid_t process;
  int file;
  std::size_t bytes;
};
cudaError_t share_memory(cudaIpcMemHandle_t* handle, void* block) {
  ENTER_UNSAFE("cudaIpcGetMemHandle");
  const auto shared = fake_driver().shared_files.find(block);
  if (shared == fake_driver().shared_files.end()) return cudaErrorNotSupported;
  const FakeHandle made = {getpid(), shared->second, fake_driver().block_bytes[block]};
  std::memcpy(handle, &made, sizeof(made));
  return cudaSuccess;
}
cudaError_t open_shared_memory(void** pointer, cudaIpcMemHandle_t handle, unsigned) {
  ENTER_UNSAFE("cudaIpcOpenMemHandle");
  if (!fake_driver().peers) return cudaErrorPeerAccessUnsupported;
  FakeHandle made{};
  std::memcpy(&made, &handle, sizeof(made));
  const std::string path =
      "/proc/" + std::to_string(made.process) + "/fd/" + std::to_string(made.file);
  const int file = open(path.c_str(), O_RDWR);
  if (file < 0) return cudaErrorInvalidResourceHandle;
  void* const memory =
      mmap(nullptr, mapped_bytes(made.bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return cudaErrorMapBufferObjectFailed;
  ++times_open(memory, made.bytes);
  fake_driver().opened[memory] = made.bytes;
  *pointer = memory;
  return cudaSuccess;
}
cudaError_t close_shared_memory(void* memory) {
  ENTER_UNSAFE_FREEING("cudaIpcCloseMemHandle");
  run_all();
  const auto opened = fake_driver().opened.find(memory);
  if (opened == fake_driver().opened.end()) return cudaErrorInvalidResourceHandle;
  --times_open(memory, opened->second);
  munmap(memory, mapped_bytes(opened->second));
  fake_driver().opened.erase(opened);
  return cudaSuccess;
}
cudaError_t stream_priorities(int* least, int* greatest) {
  ENTER("cudaDeviceGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t create_stream(cudaStream_t* stream, unsigned, int priority) {
  ENTER("cudaStreamCreateWithPriority");
  fake_driver().stream_priority = priority;
  make(fake_driver().streams, stream);
  fake_driver().queues[*stream] = {};
  fake_driver().queues[*stream].device = current_device();
  return cudaSuccess;
}
// The work of the stream is done all the same.
cudaError_t destroy_stream(cudaStream_t stream) {
  ENTER_FREEING("cudaStreamDestroy");
  auto queue = fake_driver().queues.extract(stream);
  if (!queue.empty() && !queue.mapped().work.empty())
    fake_driver().orphans.push_back(std::move(queue.mapped()));
  return unmake(fake_driver().streams, stream);
}
cudaError_t synchronize_stream(cudaStream_t stream) {
  {
    ENTER_UNSAFE("cudaStreamSynchronize");
    FakeStream& queue = queue_of(stream);
    if (queue.capture != 0) {
      queue.invalidated = true;
      return cudaErrorStreamCaptureUnsupported;
    }
  }
  run_stream(stream);
  return cudaSuccess;
}
cudaError_t wait_for_event(cudaStream_t stream, cudaEvent_t event, unsigned) {
  ENTER("cudaStreamWaitEvent");
  bool captured = false;
  if (const cudaError_t error = admit(stream, &captured); error != cudaSuccess) return error;
  const std::shared_ptr<FakeEvent>& mark = fake_driver().marks.at(event);
  FakeStream& queue = queue_of(stream);
  if (mark->capture != queue.capture) {
    queue.invalidated = captured;
    return cudaErrorStreamCaptureIsolation;
  }
  if (!captured) add(stream, {"wait for an event", mark, nullptr, mark->recorded, {}});
  return cudaSuccess;
}
cudaError_t create_event(cudaEvent_t* event, unsigned) {
  ENTER("cudaEventCreateWithFlags");
  make(fake_driver().events, event);
  fake_driver().marks[*event] = std::make_shared<FakeEvent>();
  fake_driver().marks[*event]->device = current_device();
  return cudaSuccess;
}
cudaError_t destroy_event(cudaEvent_t event) {
  ENTER_FREEING("cudaEventDestroy");
  fake_driver().marks.erase(event);
  return unmake(fake_driver().events, event);
}
cudaError_t record_event(cudaEvent_t event, cudaStream_t stream) {
  ENTER("cudaEventRecord");
  bool captured = false;
  if (const cudaError_t error = admit(stream, &captured); error != cudaSuccess) return error;
  const std::shared_ptr<FakeEvent>& mark = fake_driver().marks.at(event);
  expect_current("cudaEventRecord", stream);
  if (fake_driver().streams.count(stream) > 0 && queue_of(stream).device != mark->device)
    return cudaErrorInvalidResourceHandle;
  mark->capture = queue_of(stream).capture;
  if (captured) return cudaSuccess;
  const long version = ++mark->recorded;
  add(stream, {"record an event", nullptr, mark, version, {}});
  return cudaSuccess;
}
// Each query does one piece of the work that the event needs.
cudaError_t query_event(cudaEvent_t event) {
  ENTER_UNSAFE("cuEventQuery");
  const FakeEvent& mark = *fake_driver().marks.at(event);
  if (mark.capture != 0) return cudaErrorCapturedEvent;
  if (mark.done >= mark.recorded) return cudaSuccess;
  advance(mark, mark.recorded);
  return cudaErrorNotReady;
}
cudaError_t synchronize_event(cudaEvent_t event) {
  std::shared_ptr<FakeEvent> mark;
  {
    ENTER_UNSAFE("cudaEventSynchronize");
    mark = fake_driver().marks.at(event);
    if (mark->capture != 0) return cudaErrorCapturedEvent;
  }
  wait_until([&] { return mark->done >= mark->recorded; },
             [&] { return advance(*mark, mark->recorded); });
  return cudaSuccess;
}
cudaError_t elapsed(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  ENTER("cudaEventElapsedTime");
  for (const cudaEvent_t event : {begin, end}) {
    const FakeEvent& mark = *fake_driver().marks.at(event);
    if (mark.recorded == 0) return cudaErrorInvalidResourceHandle;
    if (mark.done < mark.recorded) return cudaErrorNotReady;
  }
  *milliseconds = 0.25f;
  return cudaSuccess;
}
int shared_limit(const void* function) {
  const auto found = fake_driver().shared_limits.find(function);
  return found == fake_driver().shared_limits.end() ? 48 * 1024 : found->second;
}
cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function) {
  ENTER("cudaFuncGetAttributes");
  std::memset(attributes, 0, sizeof(*attributes));
  attributes->maxDynamicSharedSizeBytes = shared_limit(function);
  return cudaSuccess;
}
cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  ENTER("cudaFuncSetAttribute");
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
    fake_driver().shared_limits[function] = value;
  return cudaSuccess;
}
cudaError_t blocks_per_multiprocessor(int* blocks, const void* function, int, std::size_t bytes) {
  ENTER("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = static_cast<int>(bytes) <= shared_limit(function) ? fake_driver().resident_blocks : 0;
  return cudaSuccess;
}
cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode) {
  ENTER("cudaStreamBeginCapture");
  FakeStream& queue = queue_of(stream);
  if (queue.capture != 0) return cudaErrorIllegalState;
  queue.capture = ++fake_driver().captures;
  return cudaSuccess;
}
/// The kernel asks for a call and waits, as on a device. Other kernels compute nothing.
void call_host(const cuda::HostCallArguments& a) {
  const std::uint32_t number = ++*a.count;
  std::atomic_ref<std::uint32_t>(a.words->asked).store(number);
  while (std::atomic_ref<std::uint32_t>(a.words->answered).load() != number) sched_yield();
}
cudaError_t launch_kernel(const cudaLaunchConfig_t* config, const void* function,
                          void** arguments) {
  ENTER("cudaLaunchKernelExC");
  if (static_cast<int>(config->dynamicSmemBytes) > shared_limit(function))
    return cudaErrorInvalidValue;
  expect_current("cudaLaunchKernelExC", config->stream);
  if (function != reinterpret_cast<const void*>(cuda::kHostCallKernel)) {
    std::function<void()> work;
    if (fake_driver().kernel) work = fake_driver().kernel(*config, function, arguments);
    FakeStream& queue = queue_of(config->stream);
    if (queue.capture != 0 && work) queue.captured.push_back(work);
    return submit(config->stream, {"kernel", nullptr, nullptr, 0, work});
  }
  const cuda::HostCallArguments call = *static_cast<const cuda::HostCallArguments*>(arguments[0]);
  FakeStream& queue = queue_of(config->stream);
  // Without kernels that compute something, a graph asks for nothing.
  if (queue.capture != 0 && fake_driver().kernel)
    queue.captured.push_back([=] { call_host(call); });
  return submit(config->stream, {"host call", nullptr, nullptr, 0, [=] { call_host(call); }});
}
// The capture ends, also when there is no graph.
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  bool invalidated = false;
  std::vector<std::function<void()>> captured;
  {
    const Lock lock(mutex());
    FakeStream& queue = queue_of(stream);
    queue.capture = 0;
    invalidated = std::exchange(queue.invalidated, false);
    captured.swap(queue.captured);
  }
  ENTER("cudaStreamEndCapture");
  if (invalidated) return cudaErrorStreamCaptureInvalidated;
  make(fake_driver().graphs, graph);
  fake_driver().kernels[*graph] = std::move(captured);
  return cudaSuccess;
}
cudaError_t instantiate_graph(cudaGraphExec_t* exec, cudaGraph_t graph) {
  ENTER_UNSAFE("cudaGraphInstantiate");
  make(fake_driver().execs, exec);
  fake_driver().kernels[*exec] = fake_driver().kernels[graph];
  fake_driver().exec_numbers[*exec] = fake_driver().made_execs++;
  return cudaSuccess;
}
cudaError_t destroy_graph(cudaGraph_t graph) {
  ENTER_FREEING("cudaGraphDestroy");
  fake_driver().kernels.erase(graph);
  return unmake(fake_driver().graphs, graph);
}
cudaError_t upload_graph(cudaGraphExec_t, cudaStream_t stream) {
  ENTER("cudaGraphUpload");
  return submit(stream, {"upload of a graph", nullptr, nullptr, 0, {}});
}
cudaError_t destroy_graph_exec(cudaGraphExec_t exec) {
  ENTER_FREEING("cudaGraphExecDestroy");
  fake_driver().exec_numbers.erase(exec);
  fake_driver().kernels.erase(exec);
  return unmake(fake_driver().execs, exec);
}
cudaError_t launch_graph(cudaGraphExec_t exec, cudaStream_t stream) {
  ENTER("cudaGraphLaunch");
  ++fake_driver().launched_graphs;
  const int number = fake_driver().exec_numbers.at(exec);
  expect_current("cudaGraphLaunch", stream);
  return submit(stream,
                {"graph", nullptr, nullptr, 0, [number, kernels = fake_driver().kernels[exec]] {
                   for (const std::function<void()>& kernel : kernels) kernel();
                   if (fake_driver().graph) fake_driver().graph(number);
                 }});
}

/// A function of the runtime. A failure sets the last error of this thread.
template <auto Function>
struct Runtime;
template <typename... Parameters, cudaError_t (*Function)(Parameters...)>
struct Runtime<Function> {
  static cudaError_t call(Parameters... parameters) {
    const cudaError_t error = Function(parameters...);
    if (error != cudaSuccess) last_error() = error;
    return error;
  }
};
/// A function that makes a context when none is current.
template <auto Function>
struct InContext;
template <typename... Parameters, cudaError_t (*Function)(Parameters...)>
struct InContext<Function> {
  static cudaError_t call(Parameters... parameters) {
    if (pushed_here.empty()) ++fake_driver().without_context;
    return Runtime<Function>::call(parameters...);
  }
};

}  // namespace
}  // namespace ocellus::test

namespace ocellus::cuda {

using namespace ocellus::test;

// The linker takes this definition instead of the library's own.
const CudaCalls kCudaCalls = {
    .get_device_count = {Runtime<get_device_count>::call},
    .get_device_properties = {Runtime<get_device_properties>::call},
    .driver_version = {Runtime<driver_version>::call},
    .retain_primary_context = {retain_primary_context},
    .release_primary_context = {release_primary_context},
    .current_context = {current_context},
    .push_context = {push_context},
    .pop_context = {pop_context},
    .peek_last_error = {peek_last_error},
    .take_last_error = {take_last_error},
    .exchange_capture_mode = {exchange_capture_mode},
    .memory_info = {InContext<memory_info>::call},
    .malloc_device = {InContext<malloc_device>::call},
    .free_device = {InContext<free_device>::call},
    .malloc_host = {InContext<malloc_host>::call},
    .free_host = {InContext<free_host>::call},
    .copy = {InContext<copy>::call},
    .copy_2d = {InContext<copy_2d>::call},
    .set = {InContext<set>::call},
    .pointer_attributes = {InContext<pointer_attributes>::call},
    .can_access_peer = {Runtime<can_access_peer>::call},
    .enable_peer_access = {InContext<enable_peer_access>::call},
    .copy_peer = {InContext<copy_peer>::call},
    .share_memory = {InContext<share_memory>::call},
    .open_shared_memory = {InContext<open_shared_memory>::call},
    .close_shared_memory = {InContext<close_shared_memory>::call},
    .stream_priorities = {InContext<stream_priorities>::call},
    .create_stream = {InContext<create_stream>::call},
    .destroy_stream = {InContext<destroy_stream>::call},
    .synchronize_stream = {InContext<synchronize_stream>::call},
    .wait_for_event = {InContext<wait_for_event>::call},
    .create_event = {InContext<create_event>::call},
    .destroy_event = {InContext<destroy_event>::call},
    .record_event = {InContext<record_event>::call},
    .query_event = {query_event},
    .synchronize_event = {InContext<synchronize_event>::call},
    .elapsed = {InContext<elapsed>::call},
    .function_attributes = {InContext<function_attributes>::call},
    .set_function_attribute = {InContext<set_function_attribute>::call},
    .blocks_per_multiprocessor = {InContext<blocks_per_multiprocessor>::call},
    .begin_capture = {InContext<begin_capture>::call},
    .launch_kernel = {InContext<launch_kernel>::call},
    .end_capture = {InContext<end_capture>::call},
    .instantiate_graph = {InContext<instantiate_graph>::call},
    .destroy_graph = {InContext<destroy_graph>::call},
    .upload_graph = {InContext<upload_graph>::call},
    .destroy_graph_exec = {InContext<destroy_graph_exec>::call},
    .launch_graph = {InContext<launch_graph>::call},
};

}  // namespace ocellus::cuda
