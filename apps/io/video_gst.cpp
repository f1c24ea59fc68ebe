#include <fmt/format.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "apps/common/common.h"
#include "apps/common/gst_video.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/common/threads.h"
#include "apps/io/color.h"
#include "apps/io/input_file.h"
#include "apps/io/pipeline_gst.h"
#include "apps/io/video.h"
#include "ocellus/luma.h"

namespace ocellus::app {
namespace {

/// Formats that are read without a conversion by GStreamer. It converts others to that which loses
/// least. Y444 is there for such videos: they would become RGB. Those with more than 8 bits are
/// read as 16 bits.
#define OCELLUS_READ_FORMATS                                                                     \
  "video/x-raw,format=(string){GRAY8,I420,YUY2,UYVY,Y444,BGR,RGB,BGRx,RGBx,I420_10LE,I422_10LE," \
  "Y444_10LE,P010_10LE,I420_12LE,I422_12LE,Y444_12LE,Y444_16LE,GRAY16_LE}"

using Clock = std::chrono::steady_clock;

std::atomic<bool> left_behind{false};

/// A running pipeline. A separate thread changes its state, so a device that does not open or a
/// decoder that does not close blocks only that thread.
class RunningPipeline {
 public:
  /// Throws InputError if the thread cannot be started. The state of the pipeline is not known yet.
  RunningPipeline(const std::string& path, GstOwned<GstElement> pipeline)
      : element_(pipeline.get()), state_(std::make_shared<State>()) {
    thread_ = start_thread(path + ": its thread",
                           [state = state_, element = element_] { run(state, element); });
    static_cast<void>(pipeline.release());  // the thread releases it
  }

  ~RunningPipeline() {
    const Clock::time_point begin = Clock::now();
    std::unique_lock<std::mutex> lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    while (!state_->stopped) {
      // A pipeline that has not started would not react to a longer wait.
      const auto most = !state_->started     ? std::chrono::milliseconds(0)
                        : stop_signal() != 0 ? std::chrono::milliseconds(300)
                                             : std::chrono::milliseconds(2000);
      if (Clock::now() - begin >= most) break;
      state_->changed.wait_for(lock, kPipelineStep);
    }
    const bool stopped = state_->stopped;
    lock.unlock();
    if (stopped) {
      thread_.join();
    } else {
      thread_.detach();
      left_behind = true;
    }
  }
  RunningPipeline(const RunningPipeline&) = delete;
  RunningPipeline& operator=(const RunningPipeline&) = delete;

  /// Waits until the pipeline has started, at most until `end` or a signal that asks to stop.
  /// Returns whether it has started. A pipeline that failed to start counts as started; its bus has
  /// the error.
  bool wait_for_start(Clock::time_point end) {
    std::unique_lock<std::mutex> lock(state_->mutex);
    while (!state_->started && stop_signal() == 0 && Clock::now() < end)
      state_->changed.wait_for(lock, kPipelineStep);
    return state_->started;
  }

  /// Whether the pipeline that has started is live.
  bool live() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->live;
  }

  GstElement* get() const { return element_; }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool started = false;
    bool live = false;
    bool stop = false;
    bool stopped = false;
  };

  static void run(const std::shared_ptr<State>& state, GstElement* element) {
    // A live source gives no frame before it plays.
    const bool live =
        gst_element_set_state(element, GST_STATE_PAUSED) == GST_STATE_CHANGE_NO_PREROLL;
    gst_element_set_state(element, GST_STATE_PLAYING);
    {
      std::unique_lock<std::mutex> lock(state->mutex);
      state->started = true;
      state->live = live;
      state->changed.notify_all();
      state->changed.wait(lock, [&] { return state->stop; });
    }
    GstDeleter()(element);
    const std::lock_guard<std::mutex> lock(state->mutex);
    state->stopped = true;
    state->changed.notify_all();
  }

  GstElement* element_;
  std::shared_ptr<State> state_;  ///< the thread may outlive this object
  std::thread thread_;
};

/// The number of frames in the header of an AVI file, or 0. GStreamer does not tell it of a file
/// without its index, which is at the end.
std::int64_t avi_frames(const std::string& path) {
  const std::string head = first_bytes(path, 52);
  if (head.size() < 52 || !head.starts_with("RIFF") || head.substr(8, 4) != "AVI " ||
      head.substr(24, 4) != "avih")
    return 0;
  std::int64_t frames = 0;
  for (std::size_t i = 52; i-- > 48;) frames = frames << 8 | static_cast<unsigned char>(head[i]);
  return frames;
}

class GstSource : public FrameSource {
  static constexpr const char* kDecoder = "decoder";         // its name in the pipeline
  static constexpr const char* kAllStreams = "all-streams";  // mark of the decoder

 public:
  GstSource(const std::string& path, const std::string& description, const char* property,
            bool camera, const SourceOptions& options)
      : FrameSource(path),
        camera_(camera),
        color_(options.color),
        timeout_s_(options.timeout_s),
        pipeline_(path, described(path, description, property)) {
    sink_ = GST_APP_SINK(element_of(pipeline_.get(), "sink"));
    const Clock::time_point end = this->end();
    if (!pipeline_.wait_for_start(end) && stop_signal() == 0) fail_silent();
    if (pipeline_.live()) {
      // A frame that waits would be old when its turn comes.
      gst_app_sink_set_max_buffers(sink_, 1);
      gst_app_sink_set_drop(sink_, TRUE);
    }
    pending_ = pull(end);
    if (!pending_) {
      if (stop_signal() != 0) return;
      throw InputError(
          fmt::format("{}: {}", path, missing_.empty() ? "contains no video frame" : missing_));
    }
    if (GstVideoInfo info; gst_video_info_from_caps(&info, gst_sample_get_caps(pending_.get())) &&
                           info.par_n != info.par_d) {
      tell_once(path, fmt::format("its pixels are {} to {}, which is ignored: they count as square",
                                  info.par_n, info.par_d));
    }
    // Only a file states how much it has: a pipeline may end before its source does.
    const bool file = !camera && property != nullptr;
    gint64 duration = 0;
    if (file && gst_element_query_duration(pipeline_.get(), GST_FORMAT_TIME, &duration))
      stated_ns_ = duration;
    if (file) stated_frames_ = avi_frames(path);
    const GstStructure* const caps = gst_caps_get_structure(gst_sample_get_caps(pending_.get()), 0);
    gint numerator = 0;
    gint denominator = 1;
    if (gst_structure_get_fraction(caps, "framerate", &numerator, &denominator) && numerator > 0) {
      fps_ = static_cast<double>(numerator) / static_cast<double>(denominator);
    }
  }

  double fps() const override { return fps_; }
  bool endless() const override { return camera_; }
  bool live() const override { return pipeline_.live(); }
  std::int64_t dropped() const override { return static_cast<std::int64_t>(dropped_); }

 protected:
  bool read(InputFrame& frame) override {
    const GstOwned<GstSample> sample = pending_ ? std::move(pending_) : pull(end());
    if (!sample) {
      if (stop_signal() == 0) tell_missing_frames();
      return false;
    }
    count_time(sample.get());
    const guint64 arrived = GST_BUFFER_OFFSET(gst_sample_get_buffer(sample.get()));
    dropped_ += arrived - next_arrival_;
    next_arrival_ = arrived + 1;
    GstVideoInfo info;
    GstVideoFrame video;
    GstBuffer* const buffer = gst_sample_get_buffer(sample.get());
    if (!gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())) ||
        !gst_video_frame_map(&video, &info, buffer, GST_MAP_READ)) {
      throw InputError(fmt::format("{}: frame {} cannot be mapped", name(), number_));
    }
    const ImageSize size{GST_VIDEO_FRAME_WIDTH(&video), GST_VIDEO_FRAME_HEIGHT(&video)};
    const PixelFormat format = is_wide(info) ? PixelFormat::kGray16 : PixelFormat::kGray8;
    if (frame.image.size != size || frame.image.format != format)
      frame.image = GrayImage(size, format);
    copy_luma(video, size, frame.image.pixels.data());
    copy_chroma(video, size, frame);
    gst_video_frame_unmap(&video);
    frame.interlaced = is_interlaced(info, buffer);
    frame.range = gray_range(info);
    frame.number = number_++;
    frame.timed = GST_BUFFER_PTS_IS_VALID(buffer);
    if (!frame.timed) return true;
    frame.timestamp_ns = static_cast<std::int64_t>(GST_BUFFER_PTS(buffer));
    const guint64 running = gst_segment_to_running_time(gst_sample_get_segment(sample.get()),
                                                        GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    if (running != GST_CLOCK_TIME_NONE) frame.running_ns = static_cast<std::int64_t>(running);
    return true;
  }

 private:
  static GstOwned<GstElement> described(const std::string& path, const std::string& description,
                                        const char* property) {
    GstOwned<GstElement> pipeline = parse_pipeline(path, description);
    if (property != nullptr)
      g_object_set(element_of(pipeline.get(), "source"), property, path.c_str(), nullptr);
    count_arrivals(element_of(pipeline.get(), "sink"));
    note_streams(pipeline.get());
    return pipeline;
  }

  /// Numbers the frames that come to the sink, in their offsets. So the reader sees how many it has
  /// dropped. The pipeline may outlive this object, and so the number is the pad's.
  static void count_arrivals(GstElement* sink) {
    GstPad* const pad = gst_element_get_static_pad(sink, "sink");
    gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo* info, gpointer number) {
          GstBuffer* const buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
          GST_BUFFER_OFFSET(buffer) = (*static_cast<guint64*>(number))++;
          info->data = buffer;
          return GST_PAD_PROBE_OK;
        },
        g_new0(guint64, 1), g_free);
    gst_object_unref(pad);
  }

  /// Marks the decoder when it has found all streams of its file.
  static void note_streams(GstElement* pipeline) {
    GstElement* const decoder = gst_bin_get_by_name(GST_BIN(pipeline), kDecoder);
    if (decoder == nullptr) return;
    const auto mark = [](GstElement* found, gpointer) {
      g_object_set_data(G_OBJECT(found), kAllStreams, found);
    };
    g_signal_connect(decoder, "no-more-pads", G_CALLBACK(+mark), nullptr);
    gst_object_unref(decoder);
  }

  /// The time limit of a frame that is requested now.
  Clock::time_point end() const {
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s_));
  }

  [[noreturn]] void fail_silent() const {
    throw InputError(fmt::format(
        "{}: gave no frame within {:g} s{}; {}, or set a longer time with {} SECONDS", name(),
        timeout_s_, number_ == 0 ? "" : fmt::format(" after frame {}", number_ - 1),
        camera_ ? "check that the camera is connected and that no other program uses it"
                : "its decoder may not support it: convert it to another format, such as "
                  ".webm or numbered images",
        kSourceTimeout));
  }

  /// Remembers when the last frame ends, and the longest time between two frames.
  void count_time(GstSample* sample) {
    const GstSegment* const segment = gst_sample_get_segment(sample);
    GstBuffer* const buffer = gst_sample_get_buffer(sample);
    if (!GST_BUFFER_PTS_IS_VALID(buffer)) return;
    const guint64 time =
        gst_segment_to_stream_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    if (time == GST_CLOCK_TIME_NONE) return;
    const auto now = static_cast<std::int64_t>(time);
    if (last_ns_ >= 0) longest_ns_ = std::max(longest_ns_, now - last_ns_);
    last_ns_ = now;
  }

  /// Tells that the container states a longer video than its frames make.
  void tell_missing_frames() const {
    if (number_ < stated_frames_) {
      tell_short(fmt::format("{} frames", stated_frames_), stated_frames_ - number_);
      return;
    }
    const std::int64_t period =
        std::max(longest_ns_, fps_ > 0.0 ? static_cast<std::int64_t>(std::llround(1e9 / fps_)) : 0);
    if (stated_ns_ <= 0 || last_ns_ < 0 || period <= 0) return;
    // Sound may last longer than the frames, and so may the last frame.
    const std::int64_t missing = stated_ns_ - (last_ns_ + period);
    const std::int64_t tolerated =
        has_stream("audio/") ? std::max<std::int64_t>(1'000'000'000, stated_ns_ / 20) : period / 2;
    if (missing <= tolerated) return;
    tell_short(
        fmt::format("{:.3f} s", static_cast<double>(stated_ns_) * 1e-9),
        std::max(1LL, std::llround(static_cast<double>(missing) / static_cast<double>(period))));
  }
  void tell_short(const std::string& stated, std::int64_t more) const {
    tell(fmt::format(
        "ocellus: {}: {} read, but the file states {}, which is about {} more; it may be truncated "
        "or damaged\n",
        printable(name()), counted(number_, "frame was", "frames were"), stated, more));
  }

  /// Whether the decoder has found all streams.
  bool knows_streams() const {
    GstElement* const found = decoder();
    return found != nullptr && g_object_get_data(G_OBJECT(found), kAllStreams) != nullptr;
  }

  /// Null: a pipeline of the user's need not have one of this name. The pipeline keeps a reference.
  GstElement* decoder() const {
    GstElement* const found = gst_bin_get_by_name(GST_BIN(pipeline_.get()), kDecoder);
    if (found != nullptr) gst_object_unref(found);
    return found;
  }

  /// Whether the decoder found a stream whose type begins so.
  bool has_stream(const char* type) const {
    GstElement* const from = decoder();
    if (from == nullptr) return false;
    GstIterator* const pads = gst_element_iterate_src_pads(from);
    GValue item = G_VALUE_INIT;
    bool found = false;
    while (!found && gst_iterator_next(pads, &item) == GST_ITERATOR_OK) {
      const GstOwned<GstCaps> caps(gst_pad_query_caps(GST_PAD(g_value_get_object(&item)), nullptr));
      found = caps && gst_caps_get_size(caps.get()) > 0 &&
              g_str_has_prefix(gst_structure_get_name(gst_caps_get_structure(caps.get(), 0)), type);
      g_value_reset(&item);
    }
    g_value_unset(&item);
    gst_iterator_free(pads);
    return found;
  }

  /// Returns the next sample, or null at the end and when a signal asks to stop. An error upstream
  /// need not end the stream at the sink, so the bus is checked during the wait. A source may also
  /// end without either, or give no data forever.
  GstOwned<GstSample> pull(Clock::time_point until) {
    constexpr auto kWait =
        static_cast<GstClockTime>(std::chrono::nanoseconds(kPipelineStep).count());
    while (stop_signal() == 0) {
      GstOwned<GstSample> sample(gst_app_sink_try_pull_sample(sink_, kWait));
      if (sample) return sample;
      const bool end = gst_app_sink_is_eos(sink_);
      const std::string error = bus_error(pipeline_.get(), 0, missing_);
      // Sound without a link ends with an error, but a short one may end without it.
      if (number_ == 0 && missing_.empty() && (!error.empty() || knows_streams()) &&
          has_stream("audio/") && !has_stream("video/"))
        throw InputError(fmt::format("{}: contains sound, but no video", name()));
      if (!error.empty()) {
        throw InputError(number_ == 0 ? fmt::format("{}: {}", name(), error)
                                      : fmt::format("{}: damaged after frame {}: {}", name(),
                                                    number_ - 1, error));
      }
      if (end) return nullptr;
      if (Clock::now() >= until) fail_silent();
    }
    return nullptr;
  }

  static const std::uint8_t* row_of(const GstVideoFrame& video, unsigned plane, int y) {
    return static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&video, plane)) +
           static_cast<std::ptrdiff_t>(y) * GST_VIDEO_FRAME_PLANE_STRIDE(&video, plane);
  }

  static void copy_luma(const GstVideoFrame& video, ImageSize size, std::uint8_t* out) {
    if (is_wide(video.info)) return copy_wide_luma(video, size, out);
    const PixelFormat format = pixel_format(video.info);
    if (!has_color(format)) return copy_plane(video, 0, size, out);
    for (int y = 0; y < size.height; ++y, out += size.width)
      luma_of_row(row_of(video, 0, y), format, out, size.width);
  }

  /// A component in 16 bits. Fewer bits become the upper ones.
  static std::uint16_t wide_at(const GstVideoFrame& video, unsigned c, const std::uint8_t* row,
                               int column) {
    const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&video, c);
    // Not the offset of the format: GStreamer 1.22 has 1 for the second sample of a pair.
    const std::size_t before = step == 4 && c == 2 ? sizeof(std::uint16_t) : 0;
    std::uint16_t word = 0;
    std::memcpy(&word, row + before + static_cast<std::ptrdiff_t>(column) * step, sizeof(word));
    const GstVideoFormatInfo* const format = video.info.finfo;
    return static_cast<std::uint16_t>(word >> GST_VIDEO_FORMAT_INFO_SHIFT(format, c)
                                                  << (16 - GST_VIDEO_FORMAT_INFO_DEPTH(format, c)));
  }

  static void copy_wide_luma(const GstVideoFrame& video, ImageSize size, std::uint8_t* out) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x, out += sizeof(std::uint16_t)) {
        const std::uint16_t luma = wide_at(video, 0, row_of(video, 0, y), x);
        std::memcpy(out, &luma, sizeof(luma));
      }
    }
  }

  /// Formats other than I420 take time, so their chroma is made only if it is needed.
  void copy_chroma(const GstVideoFrame& video, ImageSize size, InputFrame& frame) const {
    const GstVideoFormat format = GST_VIDEO_FRAME_FORMAT(&video);
    if (GST_VIDEO_INFO_IS_GRAY(&video.info)) return;
    if (format == GST_VIDEO_FORMAT_I420) {
      const ImageSize half = half_of(size);
      const std::size_t chroma = pixels_of(half);
      frame.chroma_u.resize(chroma);
      frame.chroma_v.resize(chroma);
      copy_plane(video, 1, half, frame.chroma_u.data());
      copy_plane(video, 2, half, frame.chroma_v.data());
      return;
    }
    if (!color_) return;
    if (GST_VIDEO_INFO_IS_RGB(&video.info)) {
      const int bytes = GST_VIDEO_FRAME_COMP_PSTRIDE(&video, 0);
      const auto rgb = [&video, bytes](int x, int y) {
        const std::uint8_t* const pixel = row_of(video, 0, y) + std::ptrdiff_t{bytes} * x;
        std::array<float, 3> value;
        for (unsigned c = 0; c < 3; ++c)
          value[c] = static_cast<float>(pixel[GST_VIDEO_FRAME_COMP_POFFSET(&video, c)]);
        return value;
      };
      return make_chroma(size, rgb, frame.chroma_u, frame.chroma_v);
    }
    const auto component = [&video, wide = is_wide(video.info)](unsigned c) {
      return [&video, wide, c](int x, int y) {
        const std::uint8_t* row = row_of(video, GST_VIDEO_FRAME_COMP_PLANE(&video, c),
                                         y >> GST_VIDEO_FORMAT_INFO_H_SUB(video.info.finfo, c));
        const int column = x >> GST_VIDEO_FORMAT_INFO_W_SUB(video.info.finfo, c);
        if (wide) return static_cast<float>(wide_at(video, c, row, column)) / 256.0f;
        row += GST_VIDEO_FRAME_COMP_POFFSET(&video, c);
        return static_cast<float>(
            row[static_cast<std::ptrdiff_t>(column) * GST_VIDEO_FRAME_COMP_PSTRIDE(&video, c)]);
      };
    };
    make_half(size, component(1), frame.chroma_u);
    make_half(size, component(2), frame.chroma_v);
  }

  static void copy_plane(const GstVideoFrame& video, unsigned plane, ImageSize size,
                         std::uint8_t* out) {
    for (int y = 0; y < size.height; ++y, out += size.width)
      std::memcpy(out, row_of(video, plane, y), static_cast<std::size_t>(size.width));
  }

  bool camera_;
  bool color_;
  double timeout_s_;
  RunningPipeline pipeline_;
  GstAppSink* sink_ = nullptr;
  GstOwned<GstSample> pending_;
  std::string missing_;  ///< the name of the missing decoder
  double fps_ = 0.0;
  long number_ = 0;
  std::uint64_t next_arrival_ = 0;  ///< number of the frame after the last one that was read
  std::uint64_t dropped_ = 0;
  std::int64_t stated_ns_ = 0;      ///< the duration that the container states; 0: none
  std::int64_t stated_frames_ = 0;  ///< the number of frames that it states; 0: none
  std::int64_t last_ns_ = -1;       ///< the time of the last frame in the stream
  std::int64_t longest_ns_ = 0;     ///< between two frames
};

// The GStreamer elements process the luma plane, too, so the program and the elements get the same
// numbers. videoflip turns the frames as the file says, and passes upright ones through.
constexpr const char* kToFrames =
    " ! decodebin name=decoder ! videoconvert ! videoflip video-direction=auto ! videoconvert "
    "! " OCELLUS_READ_FORMATS " ! appsink name=sink sync=false max-buffers=4";

}  // namespace

bool source_left_behind() {
  return left_behind;
}

std::unique_ptr<FrameSource> open_video(const std::string& path, const SourceOptions& options) {
  start_gstreamer();
  need_elements(path, {{"decodebin", "gstreamer1.0-plugins-base"},
                       {"videoconvert", "gstreamer1.0-plugins-base"},
                       {"videoflip", "gstreamer1.0-plugins-good"}});
  return std::make_unique<GstSource>(path, std::string("filesrc name=source") + kToFrames,
                                     "location", false, options);
}

std::unique_ptr<FrameSource> open_camera(const std::string& device, const SourceOptions& options) {
  start_gstreamer();
  need_elements(device, {{"v4l2src", "gstreamer1.0-plugins-good"},
                         {"videoconvert", "gstreamer1.0-plugins-base"},
                         {"videoflip", "gstreamer1.0-plugins-good"}});
  return std::make_unique<GstSource>(device, std::string("v4l2src name=source") + kToFrames,
                                     "device", true, options);
}

std::unique_ptr<FrameSource> open_pipeline(const std::string& text, const SourceOptions& options) {
  start_gstreamer();
  need_elements(text, {{"videoconvert", "gstreamer1.0-plugins-base"}});
  return std::make_unique<GstSource>(text,
                                     text + " ! videoconvert ! " OCELLUS_READ_FORMATS
                                            " ! appsink name=sink sync=false max-buffers=4",
                                     nullptr, false, options);
}

}  // namespace ocellus::app
