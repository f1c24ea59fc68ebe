// What the property `stats` shows. Any thread.
#pragma once

#include <gst/gst.h>

#include <mutex>

#include "base/gstocellustime.h"
#include "ocellus/latency_histogram.h"

namespace gst_ocellus {

class Statistics {
 public:
  struct Counts {
    guint64 frames = 0;   ///< with a result, or given up on
    guint64 misses = 0;   ///< of the budget
    guint64 dropped = 0;  ///< pictures that did not go out
    guint64 copies = 0;   ///< of pictures
  };

  void reset();
  /// `arrival_to_result`: of a frame that was given up on, until that moment.
  void record_frame(Clock::duration arrival_to_result, bool missed);
  void count_dropped();
  void count_copy();

  Counts counts() const;
  /// Counts and percentiles of the time from arrival to result, in nanoseconds. A new structure.
  GstStructure* to_structure() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;
  ocellus::LatencyHistogram histogram_;
};

}  // namespace gst_ocellus
