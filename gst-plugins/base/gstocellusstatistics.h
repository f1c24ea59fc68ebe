// The data of the property `stats`. Any thread.
#pragma once

#include <gst/gst.h>

#include <mutex>

#include "base/gstocellustime.h"
#include "ocellus/latency_histogram.h"

namespace gst_ocellus {

class Statistics {
 public:
  struct Counts {
    guint64 frames = 0;   ///< frames with a result or given up
    guint64 misses = 0;   ///< missed budgets
    guint64 dropped = 0;  ///< pictures that were not pushed
    guint64 copies = 0;   ///< copies of pictures
  };

  void reset();
  /// `arrival_to_result`: for a frame that is not waited for, the time until it was given up.
  void record_frame(Clock::duration arrival_to_result, bool missed);
  void count_dropped();
  void count_copy();

  Counts counts() const;
  /// Returns a new structure with the counts and the percentiles of the time from arrival to
  /// result, in nanoseconds.
  GstStructure* to_structure() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;
  ocellus::LatencyHistogram histogram_;
};

}  // namespace gst_ocellus
