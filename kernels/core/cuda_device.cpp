#include "kernels/core/cuda_device.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "core/backend.h"
#include "core/failure.h"
#include "core/log.h"
#include "core/scheduler.h"

namespace ocellus::cuda {
namespace {

constexpr const char* kEngine = "the engine";

/// cudaGetErrorString needs no device and does not allocate.
const char* error_text(cudaError_t error) noexcept {
  return cudaGetErrorString(error);
}

/// Rounds the size of a block up to a multiple of kDeviceAlignment. If this would overflow, returns
/// the size unchanged, and the allocation fails.
std::size_t block_bytes(std::size_t bytes) noexcept {
  return std::max(bytes, detail::align_up(bytes, kDeviceAlignment));
}

/// Converts 13000 to "13.0".
void version_text(int version, char* text, std::size_t capacity) noexcept {
  std::snprintf(text, capacity, "%d.%d", version / 1000, version % 1000 / 10);
}

}  // namespace

void pause(DeviceWait wait) noexcept {
  if (wait == DeviceWait::kSpin) {
    detail::relax();
  } else if (wait == DeviceWait::kYield) {
    sched_yield();
  } else {
    const timespec step = {0, 50'000};
    nanosleep(&step, nullptr);
  }
}

bool is_sticky(cudaError_t error) noexcept {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorDevicesUnavailable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorCudartUnloading:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
    case cudaErrorMpsClientTerminated:
    case cudaErrorUnknown:
    // Errors without a name in toolkits before 13.0: a contained error, tensor memory not freed, a
    // device outside CUDA.
    case static_cast<cudaError_t>(226):
    case static_cast<cudaError_t>(721):
    case static_cast<cudaError_t>(911):
      return true;
    default:
      return false;
  }
}

Error make_cuda_error(const char* who, const char* call, cudaError_t error) noexcept {
  Status status = Status::kSystem;
  if (is_sticky(error)) {
    status = Status::kDeviceLost;
  } else if (error == cudaErrorMemoryAllocation) {
    status = Status::kOutOfMemory;
  } else if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
             error == cudaErrorInvalidDevice || error == cudaErrorNoKernelImageForDevice ||
             error == cudaErrorUnsupportedPtxVersion) {
    status = Status::kBackendUnavailable;
  }
  return make_error(status, "%s: %s failed: %s (%d)", who, call, error_text(error),
                    static_cast<int>(error));
}

// ---- Scope

Scope::Scope(CudaDevice& device, Phase phase, const char* who) noexcept
    : device_(device), phase_(phase), who_(who) {
  if (device.context_ == nullptr || device.abandoned()) return;
  // On a lost device, only release what it still holds.
  if (device.lost() && phase == Phase::kRunning) return;
  entered_ = enter();
  current_ = entered_.has_value();
  if (phase == Phase::kCreating && current_ && !device.lost())
    exempt_ = kCudaCalls.exchange_capture_mode.function(&capture_mode_) == cudaSuccess;
}

Expected<void> Scope::enter() noexcept {
  CUcontext current = nullptr;
  if (const cudaError_t error = kCudaCalls.current_context.function(&current); error != cudaSuccess)
    return tl::unexpected(failed(kCudaCalls.current_context.name, error));
  if (current == device_.context_) return {};
  if (const cudaError_t error = kCudaCalls.push_context.function(device_.context_);
      error != cudaSuccess)
    return tl::unexpected(failed(kCudaCalls.push_context.name, error));
  pushed_ = true;
  return {};
}

Scope::~Scope() {
  if (exempt_) static_cast<void>(kCudaCalls.exchange_capture_mode.function(&capture_mode_));
  if (pushed_) release(kCudaCalls.pop_context);
}

Expected<void> Scope::allow(const char* name, Phase phase) noexcept {
  if (device_.lost()) return tl::unexpected(device_.loss());
  if (!entered_) return entered_;
  if (phase == Phase::kCreating && phase_ == Phase::kRunning) {
    return detail::failure(Status::kSystem,
                           "%s: %s was called while frames run; it may only be called at creation",
                           who_, name);
  }
  return {};
}

Error Scope::failed(const char* name, cudaError_t error) noexcept {
  Error made = make_cuda_error(who_, name, error);
  last_error_.forget(error);
  if (made.status != Status::kDeviceLost) {
    // Frames do not allocate or choose a device, so this cannot be any other status.
    if (phase_ == Phase::kRunning) made.status = Status::kSystem;
  } else if (device_.context_ == nullptr) {
    made.status = Status::kBackendUnavailable;  // the device was never in use
  } else {
    device_.lose(made);
  }
  return made;
}

Expected<bool> Scope::query(cudaEvent_t event) noexcept {
  OCELLUS_TRY(allow(kCudaCalls.query_event.name, kCudaCalls.query_event.phase));
  const cudaError_t error = kCudaCalls.query_event.function(event);
  if (error == cudaSuccess) return true;
  if (error == cudaErrorNotReady) return false;
  return tl::unexpected(failed(kCudaCalls.query_event.name, error));
}

// ---- CudaDevice

void CudaDevice::lose(const Error& error) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (lost_.load(std::memory_order_relaxed)) return;
  loss_ = error;
  lost_.store(true, std::memory_order_release);
}

void CudaDevice::abandon() noexcept {
  if (abandoned_.exchange(true)) return;
  // The child has one thread. The mutex may still be locked by another thread of the parent, so do
  // not lock it.
  loss_ = make_error(Status::kUnsupported, "cuda:%d cannot be used in a child that fork() made",
                     number_);
  loss_logged_.store(true);
  lost_.store(true, std::memory_order_release);
  host_copy_pool_.abandon();
}

void CudaDevice::log_loss() noexcept {
  if (!lost() || loss_logged_.exchange(true)) return;
  detail::log_message(LogLevel::kError, "cuda:%d is lost: %s", number_, loss_.text);
}

Expected<std::unique_ptr<Device>> CudaDevice::open(const EngineConfig& config,
                                                   const EngineInfo& info) noexcept {
  if (config.device_stream_sets < 1 || config.device_stream_sets > kMaxStreamSets) {
    return detail::invalid_argument("device_stream_sets is %d; it must be 1 to %d",
                                    config.device_stream_sets, kMaxStreamSets);
  }
  if (config.device_copy_threads < 0 || config.device_copy_threads > HostCopyPool::kMaxThreads) {
    return detail::invalid_argument("device_copy_threads is %d; it must be 0 (none) to %d",
                                    config.device_copy_threads, HostCopyPool::kMaxThreads);
  }
  std::unique_ptr<CudaDevice> device(new (std::nothrow)
                                         CudaDevice(info.device, config.device_wait));
  if (!device)
    return detail::failure(Status::kOutOfMemory, "the system gave no memory for the device");
  device->zero_copy_ = info.zero_copy;
  OCELLUS_TRY(device->start(config));
  return std::unique_ptr<Device>(std::move(device));
}

Expected<void> CudaDevice::start(const EngineConfig& config) noexcept {
  OCELLUS_TRY(process_.create());
  {
    Scope cuda(*this, Phase::kCreating, kEngine);
    CUcontext context = nullptr;
    OCELLUS_TRY(cuda(kCudaCalls.retain_primary_context, &context, number_));
    context_ = context;
  }
  Scope cuda(*this, Phase::kCreating, kEngine);
  cudaDeviceProp properties{};
  OCELLUS_TRY(cuda(kCudaCalls.get_device_properties, &properties, number_));
  traits_.compute_capability = properties.major * 10 + properties.minor;
  traits_.multiprocessors = properties.multiProcessorCount;
  traits_.shared_bytes_per_block = static_cast<int>(properties.sharedMemPerBlockOptin);
  traits_.l2_bytes = properties.l2CacheSize;

  OCELLUS_TRY(take_block(cuda, config.memory.device));
  OCELLUS_TRY(take_pinned_block(cuda, config.memory.pinned));

  int least = 0;
  int greatest = 0;
  OCELLUS_TRY(cuda(kCudaCalls.stream_priorities, &least, &greatest));
  // Copies are short and computation waits for them, so they have the higher priority.
  const int copying = greatest;
  const int computing = std::min(least, greatest + 1);
  computing_priorities_ = {least, computing, greatest};
  for (; stream_set_count_ < config.device_stream_sets; ++stream_set_count_) {
    StreamSet& streams = stream_sets_[static_cast<std::size_t>(stream_set_count_)];
    for (const auto& [stream, priority] :
         {std::pair{&streams.upload, copying}, std::pair{&streams.compute, computing},
          std::pair{&streams.download, copying}}) {
      if (Expected<void> done = cuda(kCudaCalls.create_stream, stream,
                                     static_cast<unsigned>(cudaStreamNonBlocking), priority);
          !done) {
        ++stream_set_count_;  // counts this set, too, because it may already have streams
        return done;
      }
    }
  }
  realtime_priority_ = config.realtime_priority;
  workers_only_ = config.workers_only;
  return host_copy_pool_.start(config.device_copy_threads, config.realtime_priority);
}

Expected<void> CudaDevice::take_block(Scope& cuda, std::size_t bytes) noexcept {
  if (bytes == 0) return {};
  void* base = nullptr;
  if (Expected<void> done = cuda(kCudaCalls.malloc_device, &base, block_bytes(bytes)); !done) {
    if (done.error().status != Status::kOutOfMemory) return done;
    std::size_t free = 0;
    std::size_t total = 0;
    static_cast<void>(cuda(kCudaCalls.memory_info, &free, &total));
    return detail::failure(
        Status::kOutOfMemory,
        "cuda:%d gave no block of %zu bytes (memory.device); %zu of its %zu bytes are free",
        number_, bytes, free, total);
  }
  device_.base = static_cast<char*>(base);
  device_.pieces.begin(bytes, kDeviceAlignment);
  return {};
}

Expected<void> CudaDevice::take_pinned_block(Scope& cuda, std::size_t bytes) noexcept {
  if (bytes == 0) return {};
  void* base = nullptr;
  OCELLUS_TRY(cuda(kCudaCalls.malloc_host, &base, block_bytes(bytes),
                   static_cast<unsigned>(cudaHostAllocMapped)));
  pinned_.base = static_cast<char*>(base);
  pinned_.pieces.begin(bytes, kDeviceAlignment);
  return {};
}

Expected<cudaStream_t> CudaDevice::make_stream(Scope& cuda, OperatorPriority priority) noexcept {
  cudaStream_t stream = nullptr;
  OCELLUS_TRY(cuda(kCudaCalls.create_stream, &stream, static_cast<unsigned>(cudaStreamNonBlocking),
                   computing_priorities_[static_cast<std::size_t>(priority)]));
  return stream;
}

void CudaDevice::finish(Scope& cuda, cudaStream_t stream) noexcept {
  constexpr int kAttempts = 3;
  for (int i = 1; i <= kAttempts && !lost(); ++i) {
    const Expected<void> done = cuda(kCudaCalls.synchronize_stream, stream);
    if (done) return;
    if (i == kAttempts)
      lose(make_error(Status::kDeviceLost, "%s, so its work cannot be waited for",
                      done.error().text));
  }
}

CudaDevice::~CudaDevice() {
  log_loss();
  if (context_ == nullptr || abandoned()) return;
  {
    Scope cuda(*this, Phase::kCreating, kEngine);
    for (int i = 0; i < stream_set_count_; ++i) {
      const StreamSet& streams = stream_sets_[static_cast<std::size_t>(i)];
      for (cudaStream_t stream : {streams.upload, streams.compute, streams.download})
        if (stream != nullptr) cuda.release(kCudaCalls.destroy_stream, stream);
    }
    if (pinned_.base != nullptr) cuda.release(kCudaCalls.free_host, pinned_.base);
    if (device_.base != nullptr) cuda.release(kCudaCalls.free_device, device_.base);
  }
  // This is a driver function. It needs no context and leaves no last error.
  static_cast<void>(kCudaCalls.release_primary_context.function(number_));
}

Expected<void*> CudaDevice::take(MemorySpace space, std::size_t bytes) noexcept {
  Block& block = block_of(space);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto offset = block.pieces.take(bytes)) return static_cast<void*>(block.base + *offset);
  return tl::unexpected(
      block.pieces.no_room(space == MemorySpace::kCuda ? "device" : "pinned", bytes));
}

void CudaDevice::give_back(MemorySpace space, void* piece) noexcept {
  if (piece == nullptr || abandoned()) return;
  Block& block = block_of(space);
  const std::lock_guard<std::mutex> lock(mutex_);
  block.pieces.give_back(static_cast<std::size_t>(static_cast<char*>(piece) - block.base));
}

Expected<void> CudaDevice::copy(void* to, const void* from, std::size_t bytes,
                                cudaMemcpyKind kind) noexcept {
  Scope cuda(*this, Phase::kCreating, "a buffer");
  const cudaStream_t stream = stream_sets_[0].upload;
  OCELLUS_TRY(cuda(kCudaCalls.copy, to, from, bytes, kind, stream));
  Expected<void> done = cuda(kCudaCalls.synchronize_stream, stream);
  // Wait even after an error, because the caller may then reuse the memory.
  if (!done) finish(cuda, stream);
  return done;
}
Expected<void> CudaDevice::write(void* to, const void* from, std::size_t bytes) noexcept {
  return copy(to, from, bytes, cudaMemcpyHostToDevice);
}
Expected<void> CudaDevice::read(void* to, const void* from, std::size_t bytes) noexcept {
  return copy(to, from, bytes, cudaMemcpyDeviceToHost);
}

namespace {

constexpr const char* kSharing = "sharing device memory with another process";

class CudaPeerMemory final : public detail::PeerMemory {
 public:
  explicit CudaPeerMemory(CudaDevice& device) noexcept : device_(device) {}
  ~CudaPeerMemory() override {
    if (base_ == nullptr || device_.abandoned()) return;
    Scope cuda(device_, Phase::kCreating, kSharing);
    cuda.release(kCudaCalls.close_shared_memory, base_);
  }

  Expected<void> open(const detail::SharedPiece& piece) noexcept {
    cudaIpcMemHandle_t handle{};
    static_assert(sizeof(handle) == sizeof(piece.handle));
    std::memcpy(&handle, piece.handle, sizeof(handle));
    Scope cuda(device_, Phase::kCreating, kSharing);
    OCELLUS_TRY(cuda(kCudaCalls.open_shared_memory, &base_, handle,
                     unsigned{cudaIpcMemLazyEnablePeerAccess}));
    offset_ = piece.offset;
    return {};
  }
  void* data() const noexcept override { return static_cast<char*>(base_) + offset_; }

 private:
  CudaDevice& device_;
  void* base_ = nullptr;
  std::size_t offset_ = 0;
};

}  // namespace

Expected<detail::SharedPiece> CudaDevice::share(const void* piece) noexcept {
  Scope cuda(*this, Phase::kCreating, kSharing);
  cudaIpcMemHandle_t handle{};
  OCELLUS_TRY(cuda(kCudaCalls.share_memory, &handle, static_cast<void*>(device_.base)));
  detail::SharedPiece shared;
  std::memcpy(shared.handle, &handle, sizeof(handle));
  shared.offset = static_cast<std::size_t>(static_cast<const char*>(piece) - device_.base);
  return shared;
}

Expected<std::unique_ptr<detail::PeerMemory>> CudaDevice::make_peer_memory(
    const detail::SharedPiece& piece) noexcept {
  std::unique_ptr<CudaPeerMemory> memory(new (std::nothrow) CudaPeerMemory(*this));
  if (!memory)
    return detail::failure(Status::kOutOfMemory, "the system gave no memory for %s", kSharing);
  OCELLUS_TRY(memory->open(piece));
  return std::unique_ptr<detail::PeerMemory>(std::move(memory));
}

bool CudaDevice::is_current() const noexcept {
  CUcontext current = nullptr;
  return kCudaCalls.current_context.function(&current) == cudaSuccess && current == context_;
}

void CudaDevice::add_memory_use(MemoryUse& use) const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  use.capacity.device = device_.pieces.capacity();
  use.used.device = device_.pieces.used();
  use.peak.device = device_.pieces.peak();
  use.capacity.pinned = pinned_.pieces.capacity();
  use.used.pinned = pinned_.pieces.used();
  use.peak.pinned = pinned_.pieces.peak();
  use.pieces += device_.pieces.pieces();
}

int CudaDevice::take_stream_set() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto begin = stream_set_users_.begin();
  const auto least = std::min_element(begin, begin + stream_set_count_);
  ++*least;
  return static_cast<int>(least - begin);
}

void CudaDevice::give_back_stream_set(int set) noexcept {
  if (abandoned()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  --stream_set_users_[static_cast<std::size_t>(set)];
}

// ---- the backend's table

namespace {

Expected<void> probe(int number, EngineInfo& info) noexcept {
  const auto unavailable = [number](const char* why) {
    return detail::failure(Status::kBackendUnavailable,
                           "backend cuda:%d cannot be used: %s; use auto or cpu", number, why);
  };
  const LastError last_error;
  const auto ask = [&last_error](const auto& call, auto... arguments) {
    const cudaError_t error = call.function(arguments...);
    if (error != cudaSuccess) last_error.forget(error);
    return error;
  };
  int count = 0;
  const cudaError_t error = ask(kCudaCalls.get_device_count, &count);
  if (error == cudaErrorInsufficientDriver) {
    int driver = 0;
    char text[160];
    char have[16];
    char want[16];
    version_text(CUDART_VERSION, want, sizeof(want));
    if (ask(kCudaCalls.driver_version, &driver) != cudaSuccess || driver == 0) {
      std::snprintf(text, sizeof(text), "there is no NVIDIA driver");
    } else {
      version_text(driver, have, sizeof(have));
      std::snprintf(text, sizeof(text), "the NVIDIA driver is for CUDA %s, this build needs %s",
                    have, want);
    }
    return unavailable(text);
  }
  if (error != cudaSuccess)
    return unavailable(make_cuda_error("probing", kCudaCalls.get_device_count.name, error).text);
  if (number >= count) {
    char text[80];
    std::snprintf(text, sizeof(text), "there %s %d CUDA device%s", count == 1 ? "is" : "are", count,
                  count == 1 ? "" : "s");
    return unavailable(text);
  }
  cudaDeviceProp properties{};
  if (const cudaError_t asked = ask(kCudaCalls.get_device_properties, &properties, number);
      asked != cudaSuccess) {
    return unavailable(
        make_cuda_error("probing", kCudaCalls.get_device_properties.name, asked).text);
  }
  int driver = 0;
  if (const cudaError_t asked = ask(kCudaCalls.driver_version, &driver); asked != cudaSuccess) {
    return unavailable(make_cuda_error("probing", kCudaCalls.driver_version.name, asked).text);
  }
  info.backend = BackendKind::kCuda;
  info.device = number;
  std::snprintf(info.device_name, sizeof(info.device_name), "%.63s", properties.name);
  std::snprintf(info.device_bus, sizeof(info.device_bus), "%04x:%02x:%02x.0",
                static_cast<unsigned>(properties.pciDomainID) & 0xffffu,
                static_cast<unsigned>(properties.pciBusID) & 0xffu,
                static_cast<unsigned>(properties.pciDeviceID) & 0xffu);
  info.compute_capability = properties.major * 10 + properties.minor;
  info.device_bytes = properties.totalGlobalMem;
  info.integrated = properties.integrated != 0;
  // With unified addressing, memory of cudaHostAlloc has one address on both sides.
  info.reads_host_memory = properties.canMapHostMemory != 0 && properties.unifiedAddressing != 0;
  info.driver_cuda = driver;
  info.runtime_cuda = CUDART_VERSION;
  return {};
}

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

const Backend kCudaBackend = {
    .kind = BackendKind::kCuda,
    .probe = cuda::probe,
    .open = cuda::CudaDevice::open,
};

}  // namespace ocellus::detail
