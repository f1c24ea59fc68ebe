#include "base/gstocellusstate.h"

#include <utility>

GST_DEBUG_CATEGORY_EXTERN(gst_ocellus_base_debug);
#define GST_CAT_DEFAULT gst_ocellus_base_debug

using ocellus::BackendSpec;
using ocellus::EngineConfig;
using ocellus::Expected;

namespace gst_ocellus {

Expected<EngineConfig> State::engine_config() const {
  GST_OBJECT_LOCK(element_);
  EngineConfig config = engine;
  config.workers = properties.threads;
  const Expected<BackendSpec> spec = BackendSpec::parse(properties.backend.c_str());
  const bool fallen_back = fallen_back_;
  GST_OBJECT_UNLOCK(element_);
  if (!spec) return tl::unexpected(spec.error());
  config.backend = *spec;
  if (fallen_back) {
    config.backend = BackendSpec{};
    config.backend.choice = ocellus::BackendChoice::kCpu;
  }
  return config;
}

void State::set_active_backend(std::string name) {
  GST_OBJECT_LOCK(element_);
  const bool changed = active_backend_ != name;
  active_backend_ = std::move(name);
  GST_OBJECT_UNLOCK(element_);
  if (changed) g_object_notify(G_OBJECT(element_), "active-backend");
}

void State::set_latency(GstClockTime time) {
  time = MIN(time, kLongestTime);
  GST_OBJECT_LOCK(element_);
  const bool changed = latency != time;
  latency = time;
  GST_OBJECT_UNLOCK(element_);
  if (!changed) return;
  GST_DEBUG_OBJECT(element_, "latency is now %" GST_TIME_FORMAT, GST_TIME_ARGS(time));
  gst_element_post_message(GST_ELEMENT(element_), gst_message_new_latency(GST_OBJECT(element_)));
}

bool State::takes_cuda_memory() const {
  if (!GstOcellusCuda::built()) return false;
  GST_OBJECT_LOCK(element_);
  const bool started = started_;
  const bool on_cuda = on_cuda_;
  GST_OBJECT_UNLOCK(element_);
  if (started) return on_cuda;
  const Expected<EngineConfig> config = engine_config();
  return !config || config->backend.choice != ocellus::BackendChoice::kCpu;
}

void State::count(guint64 Counts::*which) {
  GST_OBJECT_LOCK(element_);
  ++(counts_.*which);
  GST_OBJECT_UNLOCK(element_);
}

void State::record_frame(Clock::duration arrival_to_result, bool missed) {
  GST_OBJECT_LOCK(element_);
  ++counts_.frames;
  if (missed) ++counts_.misses;
  histogram_.record(static_cast<gint64>(nanoseconds(arrival_to_result)));
  GST_OBJECT_UNLOCK(element_);
}

GstStructure* State::new_statistics() const {
  const auto percentile = [this](double percent) {
    return static_cast<guint64>(histogram_.percentile_ns(percent));
  };
  GST_OBJECT_LOCK(element_);
  GstStructure* made = gst_structure_new(
      "ocellus-stats", "frames", G_TYPE_UINT64, counts_.frames, "misses", G_TYPE_UINT64,
      counts_.misses, "dropped", G_TYPE_UINT64, counts_.dropped, "copies", G_TYPE_UINT64,
      counts_.copies, "p50", G_TYPE_UINT64, percentile(50.0), "p99", G_TYPE_UINT64,
      percentile(99.0), "max", G_TYPE_UINT64, static_cast<guint64>(histogram_.max_ns()), "overflow",
      G_TYPE_UINT64, static_cast<guint64>(histogram_.overflow()), nullptr);
  GST_OBJECT_UNLOCK(element_);
  return made;
}

void State::start(Options&& read, bool on_cuda) {
  GST_OBJECT_LOCK(element_);
  options = std::move(read);
  started_ = true;
  on_cuda_ = on_cuda;
  latency = 0;
  live = false;
  earliest_time = GST_CLOCK_TIME_NONE;
  counts_ = {};
  histogram_.reset();
  GST_OBJECT_UNLOCK(element_);
}

void State::stop() {
  GST_OBJECT_LOCK(element_);
  started_ = false;
  options.forget_file();
  GST_OBJECT_UNLOCK(element_);
  set_active_backend({});
}

bool State::begin_fallback() {
  GST_OBJECT_LOCK(element_);
  const bool allowed = properties.on_device_loss == GST_OCELLUS_ON_DEVICE_LOSS_CPU && !fallen_back_;
  if (allowed) {
    fallen_back_ = true;
    on_cuda_ = false;
  }
  GST_OBJECT_UNLOCK(element_);
  return allowed;
}

}  // namespace gst_ocellus
