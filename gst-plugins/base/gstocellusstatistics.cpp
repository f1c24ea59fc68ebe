#include "base/gstocellusstatistics.h"

namespace gst_ocellus {

void Statistics::reset() {
  const std::lock_guard lock(mutex_);
  counts_ = {};
  histogram_.reset();
}

void Statistics::record_frame(Clock::duration arrival_to_result, bool missed) {
  const std::lock_guard lock(mutex_);
  ++counts_.frames;
  if (missed) ++counts_.misses;
  histogram_.record(static_cast<gint64>(nanoseconds(arrival_to_result)));
}

void Statistics::count_dropped() {
  const std::lock_guard lock(mutex_);
  ++counts_.dropped;
}

void Statistics::count_copy() {
  const std::lock_guard lock(mutex_);
  ++counts_.copies;
}

Statistics::Counts Statistics::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

GstStructure* Statistics::to_structure() const {
  const std::lock_guard lock(mutex_);
  const auto percentile = [this](double percent) {
    return static_cast<guint64>(histogram_.percentile_ns(percent));
  };
  return gst_structure_new("ocellus-stats", "frames", G_TYPE_UINT64, counts_.frames, "misses",
                           G_TYPE_UINT64, counts_.misses, "dropped", G_TYPE_UINT64, counts_.dropped,
                           "copies", G_TYPE_UINT64, counts_.copies, "p50", G_TYPE_UINT64,
                           percentile(50.0), "p99", G_TYPE_UINT64, percentile(99.0), "max",
                           G_TYPE_UINT64, static_cast<guint64>(histogram_.max_ns()), "overflow",
                           G_TYPE_UINT64, static_cast<guint64>(histogram_.overflow()), nullptr);
}

}  // namespace gst_ocellus
