#include "base/gstocellusstate.h"

#include <utility>

#include "core/failure.h"

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using namespace ocellus;

namespace gst_ocellus {

void post_error(GstOcellusBase* self, const Error& error) {
  const char* name = status_name(error.status);
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

void post_refused(GstOcellusBase* self, const Error& error) {
  GST_ELEMENT_WARNING(
      self, LIBRARY, SETTINGS, ("%s", error.text),
      ("The properties have the values before the change, and the stream goes on."));
}

void post_bad_buffer(GstOcellusBase* self, const Error& error) {
  GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("%s", error.text), (nullptr));
}

Expected<EngineConfig> State::engine_config() const {
  const GstOcellusLock lock(element_);
  EngineConfig config = engine;
  config.workers = properties.threads;
  OCELLUS_TRY_ASSIGN(spec, BackendSpec::parse(properties.backend.c_str()));
  config.backend = fallen_back_ ? BackendSpec{BackendChoice::kCpu, 0} : *spec;
  return config;
}

void State::set_active_backend(const std::string& name) {
  if (set(active_backend_, name) != name) g_object_notify(G_OBJECT(element_), "active-backend");
}

void State::set_latency(GstClockTime time) {
  time = MIN(time, kLongestTime);
  if (set(latency, time) == time) return;
  GST_DEBUG_OBJECT(element_, "latency is now %" GST_TIME_FORMAT, GST_TIME_ARGS(time));
  gst_element_post_message(GST_ELEMENT(element_), gst_message_new_latency(GST_OBJECT(element_)));
}

bool State::takes_cuda_memory() const {
  if (!GstOcellusCuda::built()) return false;
  if (get(started_)) return get(on_cuda_);
  const Expected<EngineConfig> config = engine_config();
  return !config || config->backend.choice != BackendChoice::kCpu;
}

void State::count(guint64 Counts::*which) {
  const GstOcellusLock lock(element_);
  ++(counts_.*which);
}

void State::record_frame(Clock::duration arrival_to_result, bool missed) {
  const GstOcellusLock lock(element_);
  ++counts_.frames;
  if (missed) ++counts_.misses;
  histogram_.record(static_cast<gint64>(nanoseconds(arrival_to_result)));
}

GstStructure* State::new_statistics() const {
  const auto percentile = [this](double percent) {
    return static_cast<guint64>(histogram_.percentile_ns(percent));
  };
  const GstOcellusLock lock(element_);
  return gst_structure_new("ocellus-stats", "frames", G_TYPE_UINT64, counts_.frames, "misses",
                           G_TYPE_UINT64, counts_.misses, "dropped", G_TYPE_UINT64, counts_.dropped,
                           "copies", G_TYPE_UINT64, counts_.copies, "p50", G_TYPE_UINT64,
                           percentile(50.0), "p99", G_TYPE_UINT64, percentile(99.0), "max",
                           G_TYPE_UINT64, static_cast<guint64>(histogram_.max_ns()), "overflow",
                           G_TYPE_UINT64, static_cast<guint64>(histogram_.overflow()), nullptr);
}

void State::start(Options&& read, bool on_cuda) {
  const GstOcellusLock lock(element_);
  options = given_ = std::move(read);
  changed_ = new_ = false;
  started_ = true;
  on_cuda_ = on_cuda;
  latency = 0;
  live = false;
  earliest_time = GST_CLOCK_TIME_NONE;
  counts_ = {};
  histogram_.reset();
}

void State::stop() {
  {
    const GstOcellusLock lock(element_);
    started_ = false;
    running_.reset();
    options.forget_file();
  }
  set_active_backend({});
}

void State::set_option(guint id, const GValue* value) {
  const GstOcellusLock lock(element_);
  options.set(id, value);
  changed_ = started_;
}

std::optional<Options> State::changed_options() const {
  const GstOcellusLock lock(element_);
  return changed_ ? std::optional<Options>(options) : std::nullopt;
}

void State::accept(const Options& checked) {
  const GstOcellusLock lock(element_);
  given_ = checked;
  changed_ = false;
  new_ = true;
}

void State::refuse(const Options& before) {
  const GstOcellusLock lock(element_);
  options = given_ = before;
  changed_ = false;
}

Options State::take_options() {
  const GstOcellusLock lock(element_);
  new_ = false;
  return given_;
}

bool State::begin_fallback() {
  const GstOcellusLock lock(element_);
  const bool allowed = properties.on_device_loss == GST_OCELLUS_ON_DEVICE_LOSS_CPU && !fallen_back_;
  if (allowed) {
    fallen_back_ = true;
    on_cuda_ = false;
  }
  return allowed;
}

}  // namespace gst_ocellus
