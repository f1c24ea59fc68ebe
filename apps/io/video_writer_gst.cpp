// Videos that the program writes, by GStreamer.
#include <fmt/format.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/io/output_file.h"
#include "apps/io/pipeline_gst.h"
#include "apps/io/video.h"
#include "ocellus/cpus.h"

namespace ocellus::app {
namespace {

using Clock = std::chrono::steady_clock;

class GstWriter : public VideoWriter {
 public:
  /// Writes a file.
  GstWriter(const std::string& path, const std::string& encoder, ImageSize size, double fps)
      : path_(path), size_(size), fps_(fps) {
    file_.emplace(path);
    pipeline_ =
        parse_pipeline(path, "appsrc name=source format=time max-bytes=0 ! videoconvert ! " +
                                 encoder + " ! filesink name=sink");
    g_object_set(element_of(pipeline_.get(), "sink"), "location", file_->part_path(), nullptr);
    start();
  }

  /// Writes to a pipeline.
  GstWriter(const std::string& text, ImageSize size, double fps)
      : path_(text), size_(size), fps_(fps) {
    pipeline_ = parse_pipeline(
        text,
        "appsrc name=source format=time max-bytes=0 is-live=true do-timestamp=true ! " + text);
    start();
  }

 private:
  void start() {
    source_ = GST_APP_SRC(element_of(pipeline_.get(), "source"));
    gint numerator = 0;
    gint denominator = 1;
    gst_util_double_to_fraction(fps_, &numerator, &denominator);
    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_I420, static_cast<guint>(size_.width),
                              static_cast<guint>(size_.height));
    GST_VIDEO_INFO_FPS_N(&info_) = numerator;
    GST_VIDEO_INFO_FPS_D(&info_) = denominator;
    const GstOwned<GstCaps> caps(gst_video_info_to_caps(&info_));
    gst_app_src_set_caps(source_, caps.get());
    if (gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
      fail();
  }

 public:
  void write(const std::uint8_t* i420, std::optional<std::int64_t> time_ns) override {
    GstBuffer* const buffer =
        gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info_), nullptr);
    if (file_) GST_BUFFER_PTS(buffer) = next_time(time_ns);
    GstVideoFrame video;
    if (!gst_video_frame_map(&video, &info_, buffer, GST_MAP_WRITE)) {
      gst_buffer_unref(buffer);
      throw InputError(fmt::format("{}: a frame cannot be mapped", path_));
    }
    for (unsigned plane = 0; plane < 3; ++plane) {
      const auto [width, height] = plane == 0 ? size_ : half_of(size_);
      auto* row = static_cast<std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&video, plane));
      for (int y = 0; y < height;
           ++y, row += GST_VIDEO_FRAME_PLANE_STRIDE(&video, plane), i420 += width) {
        std::memcpy(row, i420, static_cast<std::size_t>(width));
      }
    }
    gst_video_frame_unmap(&video);
    if (!file_) {
      // The pipeline takes each frame when it comes. It is the user's and may end at any time, such
      // as a window that is closed.
      held_.reset(buffer);
      push(GST_CLOCK_TIME_NONE);
      std::string missing;
      if (const std::string error = bus_error(pipeline_.get(), 0, missing); !error.empty())
        fail(error);
      return;
    }
    // The duration of a frame is known when the next one comes.
    if (held_) push(GST_BUFFER_PTS(buffer) - GST_BUFFER_PTS(held_.get()));
    held_.reset(buffer);
  }

  void finish() override {
    if (held_) push(period());
    gst_app_src_end_of_stream(source_);
    const GstOwned<GstBus> bus(gst_element_get_bus(pipeline_.get()));
    GstOwned<GstMessage> message;
    const Clock::time_point begin = Clock::now();
    while (!message) {
      message.reset(gst_bus_timed_pop_filtered(
          bus.get(), static_cast<GstClockTime>(std::chrono::nanoseconds(kPipelineStep).count()),
          static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
      const std::chrono::seconds most(stop_signal() != 0 ? 5 : 60);
      if (!message && Clock::now() - begin > most)
        throw InputError(
            fmt::format("{}: the encoder did not finish within {} s", path_, most.count()));
    }
    if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS) {
      pipeline_.reset();  // closes its file
      if (file_) file_->commit();
      return;
    }
    GError* error = nullptr;
    gst_message_parse_error(message.get(), &error, nullptr);
    const std::string text = error->message;
    g_clear_error(&error);
    fail(text);
  }

 private:
  GstClockTime period() const { return static_cast<GstClockTime>(std::llround(1e9 / fps_)); }

  /// The time of the next frame in the video.
  GstClockTime next_time(std::optional<std::int64_t> time_ns) {
    const auto regular = [&] {
      const std::uint64_t count = frame_ - regular_from_;
      return regular_start_ +
             static_cast<GstClockTime>(std::llround(static_cast<double>(count) * 1e9 / fps_));
    };
    if (time_ns && !first_time_) first_time_ = *time_ns - static_cast<std::int64_t>(regular());
    GstClockTime time = regular();
    if (time_ns) {
      const std::int64_t since = *time_ns - *first_time_;
      const bool increases =
          frame_ == 0 || since > static_cast<std::int64_t>(GST_BUFFER_PTS(held_.get()));
      time = increases ? static_cast<GstClockTime>(std::max<std::int64_t>(since, 0))
                       : GST_BUFFER_PTS(held_.get()) + period();
      // Frames without a time of their own follow this one regularly.
      regular_from_ = frame_;
      regular_start_ = time;
    }
    ++frame_;
    return time;
  }

  /// Hands the held frame to the encoder.
  void push(GstClockTime duration) {
    GST_BUFFER_DURATION(held_.get()) = duration;
    // takes ownership of the buffer
    if (gst_app_src_push_buffer(source_, held_.release()) != GST_FLOW_OK) fail();
    wait_for_room();
  }
  /// Waits for the encoder. A blocking source would wait forever if the disk is full, because the
  /// error stops the consumer without waking the source.
  void wait_for_room() {
    constexpr guint64 kMostBytes = 8'000'000;
    std::string missing;
    while (gst_app_src_get_current_level_bytes(source_) > kMostBytes && stop_signal() == 0) {
      if (const std::string error = bus_error(pipeline_.get(), 5 * GST_MSECOND, missing);
          !error.empty())
        fail(error);
    }
  }
  [[noreturn]] void fail() {
    std::string missing;
    fail(bus_error(pipeline_.get(), GST_SECOND, missing));
  }
  [[noreturn]] void fail(const std::string& error) {
    throw InputError(fmt::format("{}: cannot be written: {}", path_,
                                 error.empty() ? "GStreamer gives no reason" : error));
  }

  std::string path_;
  ImageSize size_;
  double fps_;
  std::optional<OutputFile> file_;
  GstOwned<GstElement> pipeline_;
  GstAppSrc* source_ = nullptr;
  GstVideoInfo info_{};
  GstOwned<GstBuffer> held_;                ///< the last frame
  std::uint64_t frame_ = 0;                 ///< the number of frames
  std::optional<std::int64_t> first_time_;  ///< the source's time at 0 in the video
  std::uint64_t regular_from_ = 0;          ///< from this frame on, times are regular
  GstClockTime regular_start_ = 0;          ///< the time of this frame
};

}  // namespace

std::unique_ptr<VideoWriter> make_pipeline_writer(const std::string& text, ImageSize size,
                                                  double fps) {
  start_gstreamer();
  return std::make_unique<GstWriter>(text, size, fps);
}

std::unique_ptr<VideoWriter> make_video_writer(const std::string& path, ImageSize size,
                                               double fps) {
  start_gstreamer();
  std::string encoder;
  if (file_extension(path) == ".webm") {
    // Of VP8.
    constexpr int kLeastSide = 16;
    constexpr int kMostSide = 16383;
    if (std::min(size.width, size.height) < kLeastSide ||
        std::max(size.width, size.height) > kMostSide)
      throw InputError(fmt::format(
          "{}: the frames are {}x{}; frames of a WebM video have {} to {} rows and columns", path,
          size.width, size.height, kLeastSide, kMostSide));
    need_elements(
        path, {{"vp8enc", "gstreamer1.0-plugins-good"}, {"webmmux", "gstreamer1.0-plugins-good"}});
    // The encoder's threads wait for each other without sleeping, so on few CPUs a second one is
    // slower and takes the time of the operator.
    const int threads = usable_cpus().count < 4 ? 1 : 2;
    // The time base of the frame rate could not hold times in between.
    encoder = fmt::format(
        "vp8enc timebase=1/90000 deadline=1 cpu-used=8 threads={} end-usage=cq cq-level=20 "
        "target-bitrate=8000000 ! webmmux",
        threads);
  } else {
    need_elements(path, {{"mp4mux", "gstreamer1.0-plugins-good"}});
    if (has_element("x264enc")) {
      encoder =
          "x264enc speed-preset=veryfast pass=quant quantizer=23 ! video/x-h264,profile=main ! "
          "mp4mux faststart=true";
    } else if (has_element("openh264enc")) {
      encoder = "openh264enc bitrate=6000000 ! h264parse ! mp4mux faststart=true";
    } else {
      throw InputError(fmt::format(
          "{}: no H.264 encoder: GStreamer's element x264enc (gstreamer1.0-plugins-ugly) or "
          "openh264enc (gstreamer1.0-plugins-bad) is missing; a .webm file needs neither of them",
          path));
    }
  }
  return std::make_unique<GstWriter>(path, encoder, size, fps);
}

}  // namespace ocellus::app
