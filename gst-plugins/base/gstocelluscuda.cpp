#include "base/gstocelluscuda.h"

#include <dlfcn.h>
#include <gst/gst.h>
// The API of GStreamer's CUDA library is unstable. The headers changed in 1.24.
#if GST_CHECK_VERSION(1, 24, 0)
#include <gst/cuda/gstcuda.h>
#else
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>
#endif

#include "core/failure.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using namespace ocellus;

namespace {

// Driver functions that GStreamer's CUDA library does not export.
struct Driver {
  decltype(&cuDevicePrimaryCtxRetain) retain_primary = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) release_primary = nullptr;
  decltype(&cuMemcpy3DPeerAsync) copy_between = nullptr;
  decltype(&cuMemsetD2D8Async) set_rows = nullptr;
};

// Loaded once and never unloaded, as in GStreamer's CUDA library.
const Driver* driver() {
  static const Driver* const kDriver = []() -> const Driver* {
    static Driver loaded;
    if (!gst_cuda_load_library()) return nullptr;
    void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (library == nullptr) return nullptr;
    const auto load = [library](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    const bool all = load(loaded.retain_primary, "cuDevicePrimaryCtxRetain") &&
                     load(loaded.release_primary, "cuDevicePrimaryCtxRelease_v2") &&
                     load(loaded.copy_between, "cuMemcpy3DPeerAsync") &&
                     load(loaded.set_rows, "cuMemsetD2D8Async");
    if (!all || CuInit(0) != CUDA_SUCCESS) return nullptr;
    gst_cuda_memory_init_once();
    return &loaded;
  }();
  return kDriver;
}

// Errors that leave the context unusable. The library has a longer list in
// kernels/core/cuda_device.cpp.
bool is_fatal(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_FAILED ||
         result == CUDA_ERROR_LAUNCH_TIMEOUT || result == CUDA_ERROR_HARDWARE_STACK_ERROR ||
         result == CUDA_ERROR_ILLEGAL_INSTRUCTION || result == CUDA_ERROR_MISALIGNED_ADDRESS ||
         result == CUDA_ERROR_INVALID_ADDRESS_SPACE || result == CUDA_ERROR_INVALID_PC ||
         result == CUDA_ERROR_ECC_UNCORRECTABLE || result == CUDA_ERROR_ASSERT ||
         result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

Error make_driver_error(const char* call, CUresult result) {
  const char* text = nullptr;
  CuGetErrorString(result, &text);
  return make_error(is_fatal(result) ? Status::kDeviceLost : Status::kSystem, "%s failed: %s (%d)",
                    call, text != nullptr ? text : "unknown", static_cast<int>(result));
}

// The GStreamer object only wraps the context. Its memory may outlive the element and the engine,
// so the object itself retains the primary context.
void release_primary_context(gpointer device_and_one) {
  driver()->release_primary(GPOINTER_TO_INT(device_and_one) - 1);
}

GstCudaMemory* cuda_memory_of(GstBuffer* picture) {
  if (gst_buffer_n_memory(picture) == 0) return nullptr;
  GstMemory* const memory = gst_buffer_peek_memory(picture, 0);
  return gst_is_cuda_memory(memory) ? GST_CUDA_MEMORY_CAST(memory) : nullptr;
}

class Cuda final : public GstOcellusCuda {
 public:
  explicit Cuda(int device) : device_(device) {}
  ~Cuda() override {
    for (const CUstream made : {stream_, results_}) {
      if (made == nullptr || !gst_cuda_context_push(context_)) continue;
      CuStreamDestroy(made);
      gst_cuda_context_pop(nullptr);
    }
    gst_clear_object(&context_);
  }
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  /// Retains the primary context and makes the streams.
  Expected<void> open() {
    const Driver* const loaded = driver();
    if (loaded == nullptr) {
      return tl::unexpected(
          make_error(Status::kBackendUnavailable, GST_OCELLUS_CUDA_FEATURE
                     " cannot be used: GStreamer could not load the CUDA driver"));
    }
    CUcontext primary = nullptr;
    if (const CUresult result = loaded->retain_primary(&primary, device_); result != CUDA_SUCCESS)
      return tl::unexpected(make_driver_error("cuDevicePrimaryCtxRetain", result));
    context_ = gst_cuda_context_new_wrapped(primary, device_);
    if (context_ == nullptr) {
      loaded->release_primary(device_);
      return tl::unexpected(make_error(Status::kBackendUnavailable,
                                       GST_OCELLUS_CUDA_FEATURE
                                       " cannot be used: GStreamer refused the context of cuda:%d",
                                       device_));
    }
    // GLib calls the destroy function only for pointers that are not null.
    g_object_set_data_full(G_OBJECT(context_), "ocellus-primary-context",
                           GINT_TO_POINTER(device_ + 1), release_primary_context);
    gst_cuda_context_push(context_);
    // The stream must not wait for the default stream, which holds work of other elements.
    CUresult made = CuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
    if (made == CUDA_SUCCESS) made = CuStreamCreate(&results_, CU_STREAM_NON_BLOCKING);
    gst_cuda_context_pop(nullptr);
    if (made != CUDA_SUCCESS) return tl::unexpected(make_driver_error("cuStreamCreate", made));
    return {};
  }

  int device() const override { return device_; }
  gpointer handle() const override { return gst_cuda_context_get_handle(context_); }
  GstContext* new_context() const override { return gst_context_new_cuda_context(context_); }

  GstBufferPool* new_pool(GstCaps* caps, guint min, guint max, guint* bytes) const override {
    GstVideoInfo video;
    if (!gst_video_info_from_caps(&video, caps)) return nullptr;
    GstBufferPool* pool = gst_cuda_buffer_pool_new(context_);
    GstStructure* config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&video)),
                                      min, max);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (!gst_buffer_pool_set_config(pool, config)) {
      gst_object_unref(pool);
      return nullptr;
    }
    // The pool adds the row padding to the size that it was given.
    config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_get_params(config, nullptr, bytes, nullptr, nullptr);
    gst_structure_free(config);
    return pool;
  }
  bool is_pool_ours(GstBufferPool* pool) const override {
    return GST_IS_CUDA_BUFFER_POOL(pool) && is_ours(GST_CUDA_BUFFER_POOL_CAST(pool)->context);
  }

  GstMapFlags map_flag() const override { return static_cast<GstMapFlags>(GST_MAP_CUDA); }
  Place place_of(GstBuffer* picture) const override {
    const GstCudaMemory* const memory = cuda_memory_of(picture);
    if (memory == nullptr) return {};
    return {true, is_ours(memory->context),
            GST_MEMORY_FLAG_IS_SET(memory, GST_CUDA_MEMORY_TRANSFER_NEED_UPLOAD)};
  }
  StreamHandle ready_after(GstBuffer* picture) const override {
    return stream_of(picture, stream_);
  }
  StreamHandle writable_after(GstBuffer* result) const override {
    return stream_of(result, results_);
  }

  Expected<StreamHandle> fetch(GstBuffer* picture, const void* from, gsize from_stride, void* to,
                               gsize to_stride, gsize row_bytes, gsize rows) const override {
    GstCudaMemory* const memory = cuda_memory_of(picture);
#if GST_CHECK_VERSION(1, 24, 0)
    gst_cuda_memory_sync(memory);
#endif
    CUDA_MEMCPY3D_PEER copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = reinterpret_cast<CUdeviceptr>(from);
    copy.srcContext = static_cast<CUcontext>(gst_cuda_context_get_handle(memory->context));
    copy.srcPitch = from_stride;
    copy.srcHeight = rows;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(to);
    copy.dstContext = static_cast<CUcontext>(handle());
    copy.dstPitch = to_stride;
    copy.dstHeight = rows;
    copy.WidthInBytes = row_bytes;
    copy.Height = rows;
    copy.Depth = 1;
    const Expected<void> begun =
        call("cuMemcpy3DPeerAsync", [&] { return driver()->copy_between(&copy, stream_); });
    if (!begun) return tl::unexpected(begun.error());
    return static_cast<StreamHandle>(stream_);
  }
  Expected<void> fill(void* to, gsize to_stride, gsize row_bytes, gsize rows,
                      guint8 value) const override {
    return call("cuMemsetD2D8Async", [&] {
      return driver()->set_rows(reinterpret_cast<CUdeviceptr>(to), to_stride, value, row_bytes,
                                rows, stream_);
    });
  }
  Expected<void> finish() const override {
    return call("cuStreamSynchronize", [&] { return CuStreamSynchronize(stream_); });
  }

 private:
  bool is_ours(GstCudaContext* context) const {
    return gst_cuda_context_get_handle(context) == handle();
  }

  /// Calls a driver function with the context current.
  template <typename Call>
  Expected<void> call(const char* name, Call&& function) const {
    if (!gst_cuda_context_push(context_)) {
      return tl::unexpected(
          make_error(Status::kDeviceLost, "cuCtxPushCurrent failed for cuda:%d", device_));
    }
    const CUresult result = function();
    gst_cuda_context_pop(nullptr);
    if (result != CUDA_SUCCESS) return tl::unexpected(make_driver_error(name, result));
    return {};
  }

  /// The stream after whose work a picture is ready; `idle` if it is ready. In GStreamer 1.22 a
  /// picture is ready when it arrives. Since 1.24 a stream may still be writing it.
  CUstream stream_of([[maybe_unused]] GstBuffer* picture, CUstream idle) const {
#if GST_CHECK_VERSION(1, 24, 0)
    GstCudaMemory* const memory = cuda_memory_of(picture);
    if (GST_MEMORY_FLAG_IS_SET(memory, GST_CUDA_MEMORY_TRANSFER_NEED_SYNC)) {
      GstCudaStream* const writer = gst_cuda_memory_get_stream(memory);
      if (writer != nullptr && is_ours(writer->context)) return gst_cuda_stream_get_handle(writer);
      gst_cuda_memory_sync(memory);
    }
#endif
    return idle;
  }

  int device_;
  GstCudaContext* context_ = nullptr;
  CUstream stream_ = nullptr;   // copies and fills
  CUstream results_ = nullptr;  // only waits for results
};

}  // namespace

gpointer GstOcellusCuda::handle_of(GstContext* context) {
  if (g_strcmp0(gst_context_get_context_type(context), GST_CUDA_CONTEXT_TYPE) != 0) return nullptr;
  GstCudaContext* carried = nullptr;
  if (!gst_structure_get(gst_context_get_structure(context), GST_CUDA_CONTEXT_TYPE,
                         GST_TYPE_CUDA_CONTEXT, &carried, nullptr) ||
      carried == nullptr)
    return nullptr;
  const gpointer handle = gst_cuda_context_get_handle(carried);
  gst_object_unref(carried);
  return handle;
}

Expected<std::shared_ptr<GstOcellusCuda>> GstOcellusCuda::open(int device) {
  auto cuda = std::make_shared<Cuda>(device);
  OCELLUS_TRY(cuda->open());
  return cuda;
}
