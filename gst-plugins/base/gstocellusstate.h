// The properties of an element, and the state of its stream that other threads read.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/gstocellusbase.h"
#include "base/gstocelluscontext.h"
#include "base/gstocellusoptions.h"
#include "base/gstocellustime.h"
#include "ocellus/latency_histogram.h"

G_BEGIN_DECLS

typedef enum {
  GST_OCELLUS_MESSAGES_NONE,
  GST_OCELLUS_MESSAGES_CHANGES,  ///< for the first frame, and when the text has changed
  GST_OCELLUS_MESSAGES_ALL,
} GstOcellusMessages;

#define GST_TYPE_OCELLUS_MESSAGES (gst_ocellus_messages_get_type())
GType gst_ocellus_messages_get_type(void);

G_END_DECLS

namespace gst_ocellus {

/// Posts the error on the bus.
void post_error(GstOcellusBase* self, const ocellus::Error& error);
/// For options that a running stream does not take: posts a warning.
void post_refused(GstOcellusBase* self, const ocellus::Error& error);
/// For a buffer that does not match the caps.
void post_bad_buffer(GstOcellusBase* self, const ocellus::Error& error);

/// The properties that are read with each frame, under the object lock. So copying them takes no
/// memory.
struct FrameSettings {
  guint64 budget = 0;  ///< nanoseconds; 0 means no limit
  GstOcellusOnMiss on_miss = GST_OCELLUS_ON_MISS_POST;
  GstOcellusOnDeviceLoss on_device_loss = GST_OCELLUS_ON_DEVICE_LOSS_ERROR;
  bool post_messages = false;
  bool draw = false;
  GstOcellusMessages messages = GST_OCELLUS_MESSAGES_CHANGES;
};

/// The properties but those of the option tables and the file of options.
struct Properties : FrameSettings {
  std::string backend = "auto";
  int threads = 0;
  bool align = true;  ///< of elements with this property
  std::string save_location;
};

/// Counts since the last start.
struct Counts {
  guint64 frames = 0;   ///< frames with a result or given up
  guint64 misses = 0;   ///< missed budgets
  guint64 dropped = 0;  ///< pictures that were not pushed
  guint64 copies = 0;   ///< copies of pictures
};

/// Any thread, except where a function says otherwise.
class State {
 public:
  State(GstOcellusBase* element, const ocellus::OperatorDescription& description)
      : options(description),
        context(GST_ELEMENT(element)),
        element_(element),
        given_(description) {}

  // Guarded by the object lock.
  Options options;               // the values of the properties
  ocellus::EngineConfig engine;  // its options
  Properties properties;
  bool live = false;
  GstClockTime latency = 0;
  GstClockTime earliest_time = GST_CLOCK_TIME_NONE;

  CudaContext context;  // has its own lock

  GstOcellusBase* element() const { return element_; }

  /// Set and read a member under the object lock. `set` returns the value before.
  template <typename Value>
  Value set(Value& member, const Value& value) {
    const GstOcellusLock lock(element_);
    return std::exchange(member, value);
  }
  template <typename Value>
  Value get(const Value& member) const {
    const GstOcellusLock lock(element_);
    return member;
  }

  ocellus::Expected<ocellus::EngineConfig> engine_config() const;
  void set_active_backend(const std::string& name);
  std::string active_backend() const { return get(active_backend_); }
  void set_latency(GstClockTime latency);
  /// Whether the element accepts pictures in CUDA memory. Before the start it is derived from the
  /// settings.
  bool takes_cuda_memory() const;

  /// Adds one to a count, such as &Counts::copies.
  void count(guint64 Counts::*which);
  /// `arrival_to_result`: for a frame that is not waited for, the time until it was given up.
  void record_frame(Clock::duration arrival_to_result, bool missed);
  Counts counts() const { return get(counts_); }
  /// The value of the property `stats`: a new structure with the counts and the percentiles of the
  /// time from arrival to result, in nanoseconds.
  GstStructure* new_statistics() const;

  /// `options`: with their file read.
  void start(Options&& options, bool on_cuda);
  void stop();
  bool started() const { return get(started_); }

  // Options that change while the element is started. They are checked in the thread that sets
  // them, all that are set in one call together. The stream takes them before its next frame.

  /// What a running operator needs of new options.
  struct Running {
    GstVideoInfo video;
    bool learns = false;
  };
  /// Sets the value of a property.
  void set_option(guint id, const GValue* value);
  /// The options are to be taken again, because `adapt` has another result. Under the lock.
  void renew_options() { changed_ = started_; }
  /// The options, if one was set since the last call of `accept` or `refuse`.
  std::optional<Options> changed_options() const;
  /// Gives options that were found good to the stream.
  void accept(const Options& options);
  /// The properties get the values of `options` again, as which the stream goes on.
  void refuse(const Options& options);
  /// The options that the stream has.
  Options given_options() const { return get(given_); }
  /// Whether `accept` was called since the last call of `take_options`.
  bool has_new_options() const { return get(new_); }
  Options take_options();
  /// What is known of the operator; none before the caps are known.
  std::optional<Running> running() const { return get(running_); }
  void set_running(const Running& running) { set(running_, std::optional<Running>(running)); }

  /// Called when the device is lost. Returns true if the settings allow to continue on the CPU.
  /// `engine_config` then selects the CPU, until `forget_fallback`. Streaming thread.
  bool begin_fallback();
  void forget_fallback() { set(fallen_back_, false); }
  bool fallen_back() const { return get(fallen_back_); }

 private:
  GstOcellusBase* element_;
  // Guarded by the object lock.
  Options given_;         // the options of the stream
  bool changed_ = false;  // a property of `options` was set and not yet checked
  bool new_ = false;      // `given_` is to be taken
  std::optional<Running> running_;
  bool started_ = false;
  bool on_cuda_ = false;      // if started: the engine is on a CUDA device
  bool fallen_back_ = false;  // the device was lost: use the CPU until the next start
  std::string active_backend_;
  Counts counts_;
  ocellus::LatencyHistogram histogram_;
};

}  // namespace gst_ocellus
