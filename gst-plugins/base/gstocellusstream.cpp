#include "base/gstocellusstream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/gstocelluspool.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::BackendChoice;
using ocellus::BackendKind;
using ocellus::BackendSpec;
using ocellus::Buffer;
using ocellus::Deadline;
using ocellus::Engine;
using ocellus::EngineConfig;
using ocellus::EngineInfo;
using ocellus::Error;
using ocellus::Expected;
using ocellus::Footprint;
using ocellus::Frame;
using ocellus::FrameInfo;
using ocellus::ImageView;
using ocellus::MemorySpace;
using ocellus::OperatorConfig;
using ocellus::OperatorHandle;
using ocellus::OperatorInfo;
using ocellus::OperatorOutput;
using ocellus::Status;
using ocellus::Ticket;

namespace gst_ocellus {

// Results in pinned memory spare the CPU a copy. More of them may be on their way downstream; what
// is locked into memory is bounded, though.
static constexpr gsize kPinnedResults = 8;
static constexpr gsize kPinnedBytes = gsize{256} << 20;

// ---- errors

void post_error(GstOcellusBase* self, const Error& error) {
  const char* name = ocellus::status_name(error.status);
  switch (error.status) {
    case Status::kInvalidArgument:
    case Status::kUnsupported:
      GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kOutOfMemory:
      GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kBackendUnavailable:
      GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kDeviceLost:
      GST_ELEMENT_ERROR(self, RESOURCE, FAILED, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kCorruptFile:
      GST_ELEMENT_ERROR(self, RESOURCE, READ, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kIoError:
      GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ, ("%s", error.text), ("ocellus: %s", name));
      break;
    default:
      GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s", error.text), ("ocellus: %s", name));
      break;
  }
}

static void post_bad_buffer(GstOcellusBase* self, const Error& error) {
  GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("%s", error.text), (nullptr));
}

// ---- operator and pools

Expected<EngineConfig> engine_config(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  EngineConfig config;
  GST_OBJECT_LOCK(self);
  const Expected<BackendSpec> spec = BackendSpec::parse(priv->backend.c_str());
  config.workers = priv->threads;
  const bool fallen_back = priv->fallen_back;
  GST_OBJECT_UNLOCK(self);
  if (!spec) return tl::unexpected(spec.error());
  config.backend = *spec;
  if (fallen_back) {
    config.backend = BackendSpec{};
    config.backend.choice = BackendChoice::kCpu;
  }
  return config;
}

void set_active_backend(GstOcellusBase* self, std::string name) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  const bool changed = priv->active_backend != name;
  priv->active_backend = std::move(name);
  GST_OBJECT_UNLOCK(self);
  if (changed) g_object_notify(G_OBJECT(self), "active-backend");
}

// ---- CUDA memory

bool takes_cuda_memory(GstOcellusBase* self) {
  if (!GstOcellusCuda::built()) return false;
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  const bool started = priv->started;
  const bool on_cuda = priv->on_cuda;
  GST_OBJECT_UNLOCK(self);
  if (started) return on_cuda;
  const Expected<EngineConfig> config = engine_config(self);
  return !config || config->backend.choice != BackendChoice::kCpu;
}

Expected<std::shared_ptr<GstOcellusCuda>> open_cuda(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  std::shared_ptr<GstOcellusCuda> cuda = priv->cuda;
  GST_OBJECT_UNLOCK(self);
  if (cuda) return cuda;
  const Expected<EngineConfig> config = engine_config(self);
  if (!config) return tl::unexpected(config.error());
  const Expected<EngineInfo> info = Engine::probe(*config);
  if (!info) return tl::unexpected(info.error());
  if (info->backend != BackendKind::kCuda) {
    return tl::unexpected(ocellus::make_error(
        Status::kUnsupported,
        "the frames come in " GST_OCELLUS_CUDA_FEATURE
        ", which the backend %s cannot read: set backend to cuda, or put the element cudadownload "
        "before this one",
        ocellus::backend_name(info->backend)));
  }
  Expected<std::shared_ptr<GstOcellusCuda>> made = GstOcellusCuda::open(info->device);
  if (!made) return made;
  GST_OBJECT_LOCK(self);
  const bool first = priv->cuda == nullptr;
  if (first) priv->cuda = *made;
  cuda = priv->cuda;
  const gpointer other = priv->neighbors_context;
  GST_OBJECT_UNLOCK(self);
  if (first && (other == nullptr || other == cuda->handle())) {
    GST_INFO_OBJECT(self, "offering the primary context of cuda:%d", cuda->device());
    // Bins keep it for elements that are not next to this one.
    gst_element_post_message(GST_ELEMENT(self),
                             gst_message_new_have_context(GST_OBJECT(self), cuda->new_context()));
  }
  return cuda;
}

void close_cuda(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  // Destroyed after the lock.
  const std::shared_ptr<GstOcellusCuda> cuda = std::move(priv->cuda);
  priv->cuda = nullptr;
  GST_OBJECT_UNLOCK(self);
}

// ---- operator and pools

// And lets go of the result.
static void unmap_pending(GstOcellusBase* self, GstOcellusPendingFrame* frame) {
  frame->luma.unmap();
  frame->target.unmap();
  if (!GST_OCELLUS_BASE_GET_CLASS(self)->produces_video)
    gst_buffer_unmap(frame->result, &frame->result_map);
  gst_clear_buffer(&frame->result);
}

// The operator has been reset, or finished the frame.
static void release_pending(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!priv->pending) return;
  // What the device still writes is not ours to give away, also when its result is not wanted.
  if (priv->pending->chroma_on_device) {
    // A device that fails here fails at the next frame, too, and says so there.
    if (const Expected<void> written = priv->cuda->finish(); !written)
      GST_DEBUG_OBJECT(self, "chroma is given up: %s", written.error().text);
  }
  unmap_pending(self, &*priv->pending);
  gst_buffer_unref(priv->pending->picture);
  priv->pending.reset();
}

static void drop_held(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  for (const GstOcellusHeldFrame& frame : priv->held) gst_buffer_unref(frame.picture);
  priv->held.clear();
}

void reset_state(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (priv->op) priv->op->reset();
  release_pending(self);
  drop_held(self);
  gst_clear_buffer(&priv->newest.data);
  gst_clear_buffer(&priv->ready);
  priv->sequence = 0;
  priv->last_pts = GST_CLOCK_TIME_NONE;
  priv->last_frame_time = 0;
}

void destroy_operator(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  reset_state(self);
  priv->op.reset();
  priv->fetched.reset();
  priv->engine.reset();
}

static void clear_pool(GstBufferPool** pool) {
  if (*pool == nullptr) return;
  gst_buffer_pool_set_active(*pool, FALSE);
  gst_clear_object(pool);
}

void clear_pools(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  clear_pool(&priv->wrap_pool);
  clear_pool(&priv->result_pool);
  clear_pool(&priv->copy_pool);
}

// Rows and planes begin at multiples of the library's alignment.
static gsize plane_stride(const GstOcellusBasePrivate* priv, int index) {
  const ocellus::PlaneInfo& plane = priv->info.planes[static_cast<gsize>(index)];
  return GST_ROUND_UP_N(static_cast<gsize>(plane.size.width) *
                            static_cast<gsize>(ocellus::bytes_per_pixel(plane.format)),
                        ocellus::kMemoryAlignment);
}

static gsize plane_bytes(const GstOcellusBasePrivate* priv, int index) {
  const ocellus::PlaneInfo& plane = priv->info.planes[static_cast<gsize>(index)];
  return plane_stride(priv, index) * static_cast<gsize>(plane.size.height);
}

Options get_options(GstOcellusBase* self) {
  GST_OBJECT_LOCK(self);
  Options options = gst_ocellus_base_get_private(self)->options;
  GST_OBJECT_UNLOCK(self);
  return options;
}

Expected<void> create_operator(GstOcellusBase* self, EngineConfig config) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);

  const Expected<EngineInfo> info = Engine::probe(config);
  if (!info) return tl::unexpected(info.error());
  const Options options = get_options(self);
  Expected<OperatorConfig> made = options.make();
  if (!made) return tl::unexpected(made.error());
  const GstVideoInfo& video = priv->video;
  made->set_input({GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video)},
                  gst_ocellus_pixel_format(video), gst_ocellus_gray_range(video));
  if (klass->adapt != nullptr) klass->adapt(self, *made, video);
  const Expected<OperatorInfo> operator_info = made->info();
  if (!operator_info) return options.named(operator_info.error());
  const Expected<Footprint> footprint = made->footprint(*info);
  if (!footprint) return options.named(footprint.error());
  priv->info = *operator_info;
  priv->result_bytes = 0;
  if (!klass->produces_video) {
    for (int p = 0; p < priv->info.plane_count; ++p) priv->result_bytes += plane_bytes(priv, p);
  }
  config.memory = *footprint;
  priv->pinned_results = 0;
  gsize fetched_bytes = 0;
  if (info->backend == BackendKind::kCuda) {
    if (!klass->produces_video) {
      priv->pinned_results = static_cast<guint>(
          std::clamp(kPinnedBytes / MAX(priv->result_bytes, gsize{1}), gsize{2}, kPinnedResults));
    }
    for (guint i = 0; i < priv->pinned_results; ++i)
      config.memory += Buffer::footprint(MemorySpace::kPinned, priv->result_bytes);
    if (priv->cuda_caps) {
      priv->fetched_stride =
          GST_ROUND_UP_N(GstOcellusPicture::row_bytes(priv->video, 0), ocellus::kMemoryAlignment);
      fetched_bytes =
          priv->fetched_stride * static_cast<gsize>(GstOcellusPicture::rows(priv->video, 0));
      config.memory += Buffer::footprint(MemorySpace::kCuda, fetched_bytes);
    }
  }
  Expected<Engine> engine = Engine::create(config);
  if (!engine) return tl::unexpected(engine.error());
  if (fetched_bytes > 0) {
    Expected<Buffer> fetched = Buffer::create(*engine, MemorySpace::kCuda, fetched_bytes);
    if (!fetched) return tl::unexpected(fetched.error());
    priv->fetched.emplace(std::move(*fetched));
  }
  Expected<OperatorHandle> op = made->create(*engine);
  if (!op) {
    priv->fetched.reset();
    return options.named(op.error());
  }
  priv->engine.emplace(std::move(*engine));
  priv->op.emplace(std::move(*op));

  const EngineInfo& got = priv->engine->info();
  std::string name = ocellus::backend_name(got.backend);
  if (got.device >= 0) name += ":" + std::to_string(got.device);
  GST_INFO_OBJECT(self,
                  "backend %s (%s, %s), %d workers, %" G_GSIZE_FORMAT
                  " bytes of host memory, delay %g frames",
                  name.c_str(), got.device_name, got.simd_target, got.workers, footprint->host,
                  static_cast<double>(priv->info.delay_frames));
  set_active_backend(self, std::move(name));
  return {};
}

static GstBufferPool* new_memory_pool(GstBufferPool* pool, GstCaps* caps, gsize bytes,
                                      guint min_buffers) {
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  params.align = ocellus::kMemoryAlignment - 1;
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(bytes), min_buffers, 0);
  gst_buffer_pool_config_set_allocator(config, nullptr, &params);
  if (!gst_buffer_pool_set_config(pool, config) || !gst_buffer_pool_set_active(pool, TRUE))
    gst_clear_object(&pool);
  return pool;
}

Expected<void> create_pools(GstOcellusBase* self, GstCaps* caps) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  clear_pool(&priv->wrap_pool);
  clear_pool(&priv->copy_pool);
  if (!klass->produces_video) clear_pool(&priv->result_pool);
  if (priv->result_bytes > G_MAXUINT) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "one result of this size has %zu bytes; GStreamer's pools hold buffers up to %u bytes: set "
        "a smaller roi",
        priv->result_bytes, G_MAXUINT));
  }
  priv->wrap_pool = gst_ocellus_pool_new(caps, 2, klass->attach_meta, klass->clear_meta);
  if (!klass->produces_video) {
    priv->result_pool =
        gst_ocellus_result_pool_new(*priv->engine, caps, priv->result_bytes, priv->pinned_results);
  }
  if (priv->wrap_pool == nullptr || (priv->result_pool == nullptr && !klass->produces_video)) {
    return tl::unexpected(ocellus::make_error(Status::kOutOfMemory,
                                              "the pools of %zu bytes a result could not be made",
                                              priv->result_bytes));
  }
  return {};
}

static GstBufferPool* new_cuda_pool(GstOcellusBasePrivate* priv, GstCaps* caps) {
  guint bytes = 0;
  GstBufferPool* pool = priv->cuda->new_pool(caps, 2, 0, &bytes);
  if (pool != nullptr && !gst_buffer_pool_set_active(pool, TRUE)) gst_clear_object(&pool);
  return pool;
}

static GstBufferPool* new_picture_pool(GstOcellusBasePrivate* priv, GstCaps* caps) {
  return priv->cuda_caps ? new_cuda_pool(priv, caps)
                         : new_memory_pool(gst_video_buffer_pool_new(), caps,
                                           GST_VIDEO_INFO_SIZE(&priv->video), 2);
}

// Downstream's pool, active; null where it will not do: its buffers are numbered, so that one that
// is kept for reuse could stop the stream, or they lie where the operator cannot write.
static GstBufferPool* downstreams_pool(GstOcellusBase* self, GstQuery* query, GstCaps* caps) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (gst_query_get_n_allocation_pools(query) == 0) return nullptr;
  GstBufferPool* pool = nullptr;
  guint bytes = 0;
  guint min = 0;
  guint max = 0;
  gst_query_parse_nth_allocation_pool(query, 0, &pool, &bytes, &min, &max);
  if (pool == nullptr) return nullptr;
  bool usable = max == 0 && (!priv->cuda_caps || priv->cuda->is_pool_ours(pool));
  if (usable) {
    GstStructure* config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(
        config, caps, MAX(bytes, static_cast<guint>(GST_VIDEO_INFO_SIZE(&priv->video))), min + 2,
        0);
    if (gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) &&
        gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
      gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    usable = gst_buffer_pool_set_config(pool, config) && gst_buffer_pool_set_active(pool, TRUE);
  }
  if (!usable) gst_clear_object(&pool);
  return pool;
}

void leave_picture_pool(GstOcellusBase* self) {
  if (GST_OCELLUS_BASE_GET_CLASS(self)->produces_video)
    clear_pool(&gst_ocellus_base_get_private(self)->result_pool);
}

// At the first picture: the parent, to which this element seems to pass pictures on, asks nobody.
static bool choose_picture_pool(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstPad* pad = GST_BASE_TRANSFORM_SRC_PAD(self);
  GstCaps* caps = gst_pad_get_current_caps(pad);
  if (caps == nullptr) return false;
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  gst_pad_peer_query(pad, query);
  priv->result_pool = downstreams_pool(self, query, caps);
  if (priv->result_pool == nullptr) priv->result_pool = new_picture_pool(priv, caps);
  GST_DEBUG_OBJECT(self, "pictures come from %" GST_PTR_FORMAT,
                   static_cast<gpointer>(priv->result_pool));
  gst_query_unref(query);
  gst_caps_unref(caps);
  return priv->result_pool != nullptr;
}

void set_latency(GstOcellusBase* self, GstClockTime latency) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  latency = MIN(latency, kLongestTime);
  GST_OBJECT_LOCK(self);
  const bool changed = priv->latency != latency;
  priv->latency = latency;
  GST_OBJECT_UNLOCK(self);
  if (!changed) return;
  GST_DEBUG_OBJECT(self, "latency is now %" GST_TIME_FORMAT, GST_TIME_ARGS(latency));
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

// The device answers no more. TRUE: the operator was made anew on the CPU, with an empty past.
static bool recover_from_device_loss(GstOcellusBase* self, const Error& error) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  const bool allowed = priv->on_device_loss == GST_OCELLUS_ON_DEVICE_LOSS_CPU && !priv->fallen_back;
  if (allowed) {
    priv->fallen_back = true;
    priv->on_cuda = false;
  }
  GST_OBJECT_UNLOCK(self);
  if (!allowed) return false;

  const std::string text = error.text;
  release_pending(self);
  gst_clear_buffer(&priv->newest.data);
  priv->op.reset();
  priv->fetched.reset();
  priv->engine.reset();

  const Expected<EngineConfig> config = engine_config(self);
  if (!config) return false;
  GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self));
  Expected<void> made = create_operator(self, *config);
  // The results' memory is the lost device's.
  if (made) made = create_pools(self, caps);
  gst_caps_unref(caps);
  if (!made) {
    post_error(self, made.error());
    return false;
  }
  GST_ELEMENT_WARNING(self, RESOURCE, FAILED, ("The device was lost; going on with the CPU."),
                      ("%s", text.c_str()));
  return true;
}

// ---- one frame

// Whether a result after so many repetitions of the last frame knows no other frame, and so nothing
// of motion.
static bool is_of_one_frame(const GstOcellusBasePrivate* priv, guint repetitions) {
  return repetitions > 0 && repetitions + 1 >= static_cast<guint>(priv->info.support_frames);
}

static void remember_newest(GstOcellusBase* self, const GstOcellusResult& result) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  gst_buffer_replace(&priv->newest.data, result.data);
  GstBuffer* data = priv->newest.data;
  priv->newest = result;
  priv->newest.data = data;
}

Outcome finish_pending(GstOcellusBase* self, Deadline deadline, GstOcellusResult* result) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  Expected<FrameInfo> info = priv->op->wait(priv->pending->ticket, deadline);
  if (info && priv->pending->chroma_on_device) {
    if (const Expected<void> written = priv->cuda->finish(); !written)
      info = tl::unexpected(written.error());
  }
  if (!info) {
    if (info.error().status == Status::kDeadlineMissed) return Outcome::kMissed;
    if (info.error().status == Status::kDeviceLost) {
      GstBuffer* picture = gst_buffer_ref(priv->pending->picture);
      const bool recovered = recover_from_device_loss(self, info.error());
      gst_buffer_unref(picture);
      if (recovered) return Outcome::kMissed;  // no longer pending: the caller submits again
    }
    post_error(self, info.error());
    return Outcome::kFailed;
  }
  result->data = gst_buffer_ref(priv->pending->result);
  result->info = *info;
  result->record = priv->record;
  release_pending(self);
  GST_OBJECT_LOCK(self);
  const bool keep = priv->on_miss == GST_OCELLUS_ON_MISS_REUSE;
  GST_OBJECT_UNLOCK(self);
  // What is held back may have to go out before the results that describe it.
  if (keep || priv->hold > 0) remember_newest(self, *result);
  return Outcome::kDone;
}

static Outcome fail_map(GstOcellusBase* self, const Error& error) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!priv->cuda_caps || !priv->fallen_back) {
    post_bad_buffer(self, error);
    return Outcome::kFailed;
  }
  GST_ELEMENT_ERROR(self, RESOURCE, FAILED,
                    ("The device was lost with the frames in its memory (" GST_OCELLUS_CUDA_FEATURE
                     "), where the CPU cannot read them: put the element cudadownload before this "
                     "one, so that on-device-loss=cpu can go on."),
                    ("%s", error.text));
  return Outcome::kFailed;
}

static void count_copy(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GST_OBJECT_LOCK(self);
  ++priv->copies;
  GST_OBJECT_UNLOCK(self);
}

// Maps the first planes of `picture` and says in `frame` where the operator finds luma. `copied` is
// set when its pixels are copied on the way, by whomever.
static Expected<void> map_luma(GstOcellusBase* self, GstBuffer* picture, int planes,
                               GstOcellusPicture* luma, Frame* frame, bool* copied) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  *copied = false;
  if (!priv->cuda_caps) {
    *copied = gst_buffer_get_video_meta(picture) == nullptr && gst_buffer_n_memory(picture) > 1;
    if (Expected<void> mapped = luma->map(picture, priv->video, planes, GST_MAP_READ); !mapped)
      return mapped;
    frame->data = luma->plane(0);
    frame->stride = luma->stride(0);
    return {};
  }

  // The rows are padded as the device likes it, which only the meta tells.
  const GstOcellusCuda::Place place = priv->cuda->place_of(picture);
  if (!place.in_cuda || gst_buffer_n_memory(picture) != 1 ||
      gst_buffer_get_video_meta(picture) == nullptr) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "the caps say " GST_OCELLUS_CUDA_FEATURE
        ", but the buffer has %u memories, the first %s CUDA memory, and %s GstVideoMeta; it must "
        "be one CUDA memory with a GstVideoMeta",
        gst_buffer_n_memory(picture), place.in_cuda ? "of" : "not of",
        gst_buffer_get_video_meta(picture) == nullptr ? "no" : "a"));
  }
  const bool on_device = priv->engine->info().backend == BackendKind::kCuda;
  const auto flags =
      static_cast<GstMapFlags>(GST_MAP_READ | (on_device ? GstOcellusCuda::map_flag() : 0));
  *copied = !on_device || place.stale;
  if (Expected<void> mapped = luma->map(picture, priv->video, planes, flags); !mapped)
    return mapped;
  frame->data = luma->plane(0);
  frame->stride = luma->stride(0);
  if (!on_device) return {};
  frame->space = MemorySpace::kCuda;
  if (place.ours) {
    frame->stream = priv->cuda->ready_after(picture);
    return {};
  }
  *copied = true;
  const Expected<ocellus::StreamHandle> fetched = priv->cuda->fetch(
      picture, luma->plane(0), static_cast<gsize>(luma->stride(0)), priv->fetched->data(),
      priv->fetched_stride, GstOcellusPicture::row_bytes(priv->video, 0),
      static_cast<gsize>(GstOcellusPicture::rows(priv->video, 0)));
  if (!fetched) {
    luma->unmap();
    return tl::unexpected(fetched.error());
  }
  frame->data = priv->fetched->data();
  frame->stride = static_cast<std::ptrdiff_t>(priv->fetched_stride);
  frame->stream = *fetched;
  return {};
}

static bool is_on_device(const GstOcellusBasePrivate* priv) {
  return priv->cuda_caps && priv->engine->info().backend == BackendKind::kCuda;
}

// Maps the result of `next` and says where the operator writes it.
static Expected<void> map_result(GstOcellusBase* self, GstOcellusPendingFrame* next,
                                 OperatorOutput* output) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!GST_OCELLUS_BASE_GET_CLASS(self)->produces_video) {
    if (!gst_buffer_map(next->result, &next->result_map, GST_MAP_READWRITE)) {
      return tl::unexpected(
          ocellus::make_error(Status::kSystem, "the memory of a result cannot be mapped"));
    }
    for (int p = 0; p < priv->info.plane_count; ++p) {
      ImageView& plane = output->planes[static_cast<gsize>(p)];
      plane = gst_ocellus_base_get_plane(self, next->result_map.data, p);
      plane.space = gst_ocellus_result_space(next->result);
    }
    return {};
  }
  const bool on_device = is_on_device(priv);
  const auto flags =
      static_cast<GstMapFlags>(GST_MAP_WRITE | (on_device ? GstOcellusCuda::map_flag() : 0));
  if (Expected<void> mapped =
          next->target.map(next->result, priv->video,
                           static_cast<int>(GST_VIDEO_INFO_N_PLANES(&priv->video)), flags);
      !mapped)
    return mapped;
  ImageView& luma = output->planes[0];
  luma.data = next->target.plane(0);
  luma.size = priv->info.planes[0].size;
  luma.stride = next->target.stride(0);
  luma.format = priv->info.planes[0].format;
  if (on_device) {
    luma.space = MemorySpace::kCuda;
    luma.stream = priv->cuda->ready_after(next->result);
  }
  return {};
}

// The planes of color, while the operator is at work on luma.
static Expected<void> write_chroma(GstOcellusBase* self, GstBuffer* picture, bool keep,
                                   GstOcellusPendingFrame* next) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  constexpr int kNeutral = 128;
  for (int i = 1; i < static_cast<int>(GST_VIDEO_INFO_N_PLANES(&priv->video)); ++i) {
    const gsize bytes = GstOcellusPicture::row_bytes(priv->video, i);
    const auto rows = static_cast<gsize>(GstOcellusPicture::rows(priv->video, i));
    guint8* to = next->target.plane(i);
    const auto stride = static_cast<gsize>(next->target.stride(i));
    if (is_on_device(priv)) {
      next->chroma_on_device = true;
      Expected<void> queued;
      if (keep) {
        const auto copied =
            priv->cuda->fetch(picture, next->luma.plane(i),
                              static_cast<gsize>(next->luma.stride(i)), to, stride, bytes, rows);
        if (!copied) queued = tl::unexpected(copied.error());
      } else {
        queued = priv->cuda->fill(to, stride, bytes, rows, kNeutral);
      }
      if (!queued) return queued;
      continue;
    }
    for (gsize row = 0; row < rows; ++row) {
      if (keep)
        std::memcpy(to + row * stride,
                    next->luma.plane(i) + row * static_cast<gsize>(next->luma.stride(i)), bytes);
      else
        std::memset(to + row * stride, kNeutral, bytes);
    }
  }
  return {};
}

// What began a frame and failed: whether it is to be tried again, on the CPU.
static Outcome fail_begin(GstOcellusBase* self, const Error& error) {
  if (error.status == Status::kDeviceLost && recover_from_device_loss(self, error))
    return Outcome::kMissed;
  post_error(self, error);
  return Outcome::kFailed;
}

// Gives `picture` to the operator as the next frame.
static Outcome begin_frame(GstOcellusBase* self, GstBuffer* picture, GstClockTime pts) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  GstOcellusPendingFrame next;
  Frame frame;
  bool copied = false;
  GST_OBJECT_LOCK(self);
  const bool keep_chroma = klass->produces_video && priv->keep_chroma;
  GST_OBJECT_UNLOCK(self);
  const int planes = keep_chroma ? static_cast<int>(GST_VIDEO_INFO_N_PLANES(&priv->video)) : 1;
  if (Expected<void> mapped = map_luma(self, picture, planes, &next.luma, &frame, &copied);
      !mapped) {
    if (mapped.error().status == Status::kInvalidArgument) return fail_map(self, mapped.error());
    return fail_begin(self, mapped.error());
  }
  const bool has_pool = priv->result_pool != nullptr || choose_picture_pool(self);
  if (!has_pool ||
      gst_buffer_pool_acquire_buffer(priv->result_pool, &next.result, nullptr) != GST_FLOW_OK) {
    GST_ELEMENT_ERROR(
        self, RESOURCE, NO_SPACE_LEFT,
        ("No memory for a result of %" G_GSIZE_FORMAT " bytes.",
         klass->produces_video ? GST_VIDEO_INFO_SIZE(&priv->video) : priv->result_bytes),
        (nullptr));
    return Outcome::kFailed;
  }
  OperatorOutput output;
  if (priv->info.record != nullptr) output.record = priv->record.data();
  if (const Expected<void> mapped = map_result(self, &next, &output); !mapped) {
    gst_clear_buffer(&next.result);
    return fail_begin(self, mapped.error());
  }

  frame.size = {GST_VIDEO_INFO_WIDTH(&priv->video), GST_VIDEO_INFO_HEIGHT(&priv->video)};
  frame.format = gst_ocellus_pixel_format(priv->video);
  frame.sequence = priv->sequence;
  // GST_CLOCK_TIME_NONE comes back as it went in.
  frame.timestamp_ns = static_cast<gint64>(pts);
  const Expected<Ticket> ticket = priv->op->submit(frame, output);
  if (!ticket) {
    unmap_pending(self, &next);
    return fail_begin(self, ticket.error());
  }
  next.ticket = *ticket;
  next.picture = gst_buffer_ref(picture);
  Expected<void> colored;
  if (klass->produces_video) colored = write_chroma(self, picture, keep_chroma, &next);
  priv->pending.emplace(std::move(next));
  // The frame is the operator's now, and is let go of with it.
  if (!colored) return fail_begin(self, colored.error());
  if (copied) count_copy(self);
  return Outcome::kDone;
}

// An earlier frame that missed its budget still has the operator. The temporal state needs every
// frame, in order, so the stream waits here; `finish_pending` keeps its result for on-miss=reuse.
static bool finish_earlier(GstOcellusBase* self) {
  if (!gst_ocellus_base_get_private(self)->pending) return true;
  GstOcellusResult earlier;
  if (finish_pending(self, Deadline::never(), &earlier) == Outcome::kFailed) return false;
  gst_clear_buffer(&earlier.data);
  return true;
}

Outcome run_frame(GstOcellusBase* self, GstBuffer* picture, GstClockTime pts, Deadline deadline,
                  GstOcellusResult* result) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!finish_earlier(self)) return Outcome::kFailed;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Outcome begun = begin_frame(self, picture, pts);
    if (begun == Outcome::kFailed) return begun;
    if (begun == Outcome::kMissed) continue;
    const Outcome outcome = finish_pending(self, deadline, result);
    if (outcome == Outcome::kMissed && !priv->pending) continue;
    ++priv->sequence;
    return outcome;
  }
  GST_ELEMENT_ERROR(self, RESOURCE, FAILED, ("The device was lost again."), (nullptr));
  return Outcome::kFailed;
}

void post_qos(GstOcellusBase* self, GstBuffer* buffer, GstClockTimeDiff jitter,
              gdouble proportion) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const GstSegment* segment = &GST_BASE_TRANSFORM(self)->segment;
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  GST_OBJECT_LOCK(self);
  const gboolean live = priv->live;
  const guint64 processed = priv->frames;
  const guint64 dropped = priv->dropped;
  GST_OBJECT_UNLOCK(self);
  GstMessage* message = gst_message_new_qos(
      GST_OBJECT(self), live, gst_segment_to_running_time(segment, GST_FORMAT_TIME, pts),
      gst_segment_to_stream_time(segment, GST_FORMAT_TIME, pts), pts, GST_BUFFER_DURATION(buffer));
  gst_message_set_qos_values(message, jitter, proportion, 1000000);
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, processed, dropped);
  gst_element_post_message(GST_ELEMENT(self), message);
}

void post_frame(GstOcellusBase* self, GstBuffer* buffer, GstClockTime arrival_to_result) {
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  const GstSegment* segment = &GST_BASE_TRANSFORM(self)->segment;
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  GstStructure* structure = gst_structure_new(
      klass->message_name, "timestamp", G_TYPE_UINT64, pts, "stream-time", G_TYPE_UINT64,
      gst_segment_to_stream_time(segment, GST_FORMAT_TIME, pts), "running-time", G_TYPE_UINT64,
      gst_segment_to_running_time(segment, GST_FORMAT_TIME, pts), "duration", G_TYPE_UINT64,
      GST_BUFFER_DURATION(buffer), "latency", G_TYPE_UINT64, arrival_to_result, nullptr);
  if (klass->describe != nullptr) klass->describe(self, buffer, structure);
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), structure));
}

// A picture that may be drawn on: this one when nobody else reads it, else a copy. Takes and gives
// a reference.
static GstBuffer* make_drawable(GstOcellusBase* self, GstBuffer* picture) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (gst_buffer_is_writable(picture) && gst_buffer_is_all_memory_writable(picture)) return picture;
  if (priv->copy_pool == nullptr) {
    GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self));
    priv->copy_pool = new_picture_pool(priv, caps);
    gst_caps_unref(caps);
  }
  GstBuffer* copy = nullptr;
  if (priv->copy_pool == nullptr ||
      gst_buffer_pool_acquire_buffer(priv->copy_pool, &copy, nullptr) != GST_FLOW_OK) {
    gst_buffer_unref(picture);
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT,
                      ("No memory for a copy of the picture to draw on."), (nullptr));
    return nullptr;
  }
  // Metas that speak of the memory's layout do not come along: the copy has the layout of the caps.
  gst_buffer_copy_into(copy, picture, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
  const Expected<void> copied = gst_ocellus_copy_picture(picture, copy, priv->video);
  gst_buffer_unref(picture);
  if (!copied) {
    gst_buffer_unref(copy);
    post_bad_buffer(self, copied.error());
    return nullptr;
  }
  // In CUDA memory the drawing itself is a copy, down and up again, and is counted there.
  if (!priv->cuda_caps) count_copy(self);
  return copy;
}

GstBuffer* wrap_output(GstOcellusBase* self, GstBuffer* picture, const GstOcellusResult* result) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  GstBuffer* buffer = nullptr;
  if (gst_buffer_pool_acquire_buffer(priv->wrap_pool, &buffer, nullptr) != GST_FLOW_OK) {
    gst_buffer_unref(picture);
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("No buffer for a frame."), (nullptr));
    return nullptr;
  }
  GST_OBJECT_LOCK(self);
  const bool draw = priv->draw && result != nullptr;
  GST_OBJECT_UNLOCK(self);
  if (result != nullptr) klass->set_result(self, buffer, *result);
  if (draw) {
    picture = make_drawable(self, picture);
    if (picture == nullptr) {
      gst_buffer_unref(buffer);
      return nullptr;
    }
    GstOcellusPicture planes;
    const auto readwrite = static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_WRITE);
    const Expected<void> mapped = planes.map(
        picture, priv->video, static_cast<int>(GST_VIDEO_INFO_N_PLANES(&priv->video)), readwrite);
    if (!mapped) {
      gst_buffer_unref(picture);
      gst_buffer_unref(buffer);
      post_bad_buffer(self, mapped.error());
      return nullptr;
    }
    klass->draw(self, buffer, planes.overlay(priv->video));
    if (priv->cuda_caps) count_copy(self);
  }
  if (result != nullptr && klass->produces_video) {
    gst_ocellus_pool_wrap(buffer, gst_buffer_ref(result->data));
    gst_ocellus_pool_describe(buffer, picture);
    gst_buffer_unref(picture);
    return buffer;
  }
  if (gst_ocellus_pool_wrap(buffer, picture)) count_copy(self);
  return buffer;
}

// Sends the oldest picture held back on its way; `result` may be null.
static GstFlowReturn push_oldest(GstOcellusBase* self, const GstOcellusResult* result,
                                 Clock::time_point begin) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstBuffer* picture = priv->held.front().picture;
  priv->held.erase(priv->held.begin());
  GstBuffer* buffer = wrap_output(self, picture, result);
  if (buffer == nullptr) return GST_FLOW_ERROR;
  GST_OBJECT_LOCK(self);
  const bool post_messages = priv->post_messages;
  GST_OBJECT_UNLOCK(self);
  if (post_messages && result != nullptr)
    post_frame(self, buffer, nanoseconds(Clock::now() - begin));
  return gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), buffer);
}

// The newest result for a frame that has none of its own, since no other came after it; its data is
// a reference of the caller's, or null.
static GstOcellusResult stand_in(const GstOcellusBasePrivate* priv) {
  GstOcellusResult result = priv->newest;
  if (result.data != nullptr) gst_buffer_ref(result.data);
  result.reused = true;
  result.repeated = true;
  return result;
}

GstFlowReturn drain(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstFlowReturn flow = GST_FLOW_OK;
  if (!priv->held.empty() && priv->engine && !finish_earlier(self)) flow = GST_FLOW_ERROR;
  if (!priv->held.empty() && priv->engine && flow == GST_FLOW_OK) {
    GST_DEBUG_OBJECT(self, "draining %" G_GSIZE_FORMAT " frames", priv->held.size());
    GstBuffer* last = gst_buffer_ref(priv->held.back().picture);
    // A stream shorter than the delay needs more repetitions than it has frames, but never more
    // than `hold`.
    for (guint i = 0; i < priv->hold && !priv->held.empty() && flow == GST_FLOW_OK; ++i) {
      const guint64 described =
          priv->sequence - priv->hold;  // wraps around below the first frame, and then equals none
      const Clock::time_point begin = Clock::now();
      GstOcellusResult result;
      if (is_of_one_frame(priv, i + 1) && priv->newest.data != nullptr) {
        // The motion up to the last frame is the best that is known of the motion at it.
        result = stand_in(priv);
        ++priv->sequence;
      } else if (run_frame(self, last, GST_BUFFER_PTS(last), Deadline::never(), &result) !=
                 Outcome::kDone) {
        flow = GST_FLOW_ERROR;
        break;
      }
      result.repeated = true;
      if (described == priv->held.front().sequence) {
        if (priv->held.size() == 1) gst_clear_buffer(&last);
        flow = push_oldest(self, &result, begin);
      }
      gst_clear_buffer(&result.data);
    }
    gst_clear_buffer(&last);
  }
  reset_state(self);
  return flow;
}

GstFlowReturn release_pictures(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (!priv->engine) return GST_FLOW_OK;
  if (!finish_earlier(self)) {
    reset_state(self);
    return GST_FLOW_ERROR;
  }
  GstFlowReturn flow = GST_FLOW_OK;
  while (!priv->held.empty() && flow == GST_FLOW_OK) {
    GstOcellusResult result = stand_in(priv);
    flow = push_oldest(self, result.data != nullptr ? &result : nullptr, Clock::now());
    gst_clear_buffer(&result.data);
  }
  drop_held(self);
  return flow;
}

bool too_late(GstOcellusBase* self, GstBuffer* picture, GstClockTimeDiff* jitter) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstBaseTransform* trans = GST_BASE_TRANSFORM(self);
  if (!gst_base_transform_is_qos_enabled(trans) || trans->segment.format != GST_FORMAT_TIME)
    return false;
  const GstClockTime running =
      gst_segment_to_running_time(&trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(picture));
  GST_OBJECT_LOCK(self);
  const GstClockTime earliest = priv->earliest_time;
  GST_OBJECT_UNLOCK(self);
  if (!GST_CLOCK_TIME_IS_VALID(running) || !GST_CLOCK_TIME_IS_VALID(earliest) || running > earliest)
    return false;
  *jitter = GST_CLOCK_DIFF(running, earliest);
  return true;
}

}  // namespace gst_ocellus

ImageView gst_ocellus_base_get_plane(GstOcellusBase* self, guint8* data, int index) {
  const GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  for (int p = 0; p < index; ++p) data += gst_ocellus::plane_bytes(priv, p);
  ImageView plane;
  plane.data = data;
  plane.size = priv->info.planes[static_cast<gsize>(index)].size;
  plane.stride = static_cast<std::ptrdiff_t>(gst_ocellus::plane_stride(priv, index));
  plane.format = priv->info.planes[static_cast<gsize>(index)].format;
  return plane;
}
