// Frames with known motion, and a harness for one element with access to its messages.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "ocellus/gst/meta.h"

namespace ocellus::gst_test {

struct Video {
  GstVideoFormat format = GST_VIDEO_FORMAT_GRAY8;
  int width = 96;
  int height = 64;
  int fps_n = 25;
  int fps_d = 1;
  const char* colorimetry = nullptr;  ///< null: the format's default
};

inline GstVideoInfo video_info(const Video& video) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, video.format, static_cast<guint>(video.width),
                            static_cast<guint>(video.height));
  info.fps_n = video.fps_n;
  info.fps_d = video.fps_d;
  if (video.colorimetry != nullptr) {
    EXPECT_TRUE(gst_video_colorimetry_from_string(&info.colorimetry, video.colorimetry));
  }
  return info;
}

inline GstCaps* caps_of(const Video& video) {
  const GstVideoInfo info = video_info(video);
  return gst_video_info_to_caps(&info);
}

/// A smooth texture with gradients along both axes everywhere; 0 to 255.
inline double texture(double x, double y) {
  return 127.5 + 30.0 * std::sin(0.31 * x + 0.17 * y) +
         30.0 * std::sin(-0.23 * x + 0.37 * y + 1.0) + 25.0 * std::sin(0.11 * x - 0.29 * y + 2.0) +
         20.0 * std::cos(0.43 * x + 0.07 * y);
}

/// Formats whose pixels have color, in one plane.
inline constexpr GstVideoFormat kColorFormats[] = {
    GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_UYVY, GST_VIDEO_FORMAT_BGR,  GST_VIDEO_FORMAT_RGB,
    GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_RGBx, GST_VIDEO_FORMAT_RGBA};
/// Every format of the elements in system memory, in the order of their caps.
inline constexpr GstVideoFormat kAllFormats[] = {
    GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_I420,
    GST_VIDEO_FORMAT_NV12,  GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_YUY2,
    GST_VIDEO_FORMAT_UYVY,  GST_VIDEO_FORMAT_BGR,       GST_VIDEO_FORMAT_RGB,
    GST_VIDEO_FORMAT_BGRx,  GST_VIDEO_FORMAT_BGRA,      GST_VIDEO_FORMAT_RGBx,
    GST_VIDEO_FORMAT_RGBA};

inline bool is_color(GstVideoFormat format) {
  return std::find(std::begin(kColorFormats), std::end(kColorFormats), format) !=
         std::end(kColorFormats);
}

/// Whether the luma has 16 bits.
inline bool is_wide(GstVideoFormat format) {
  return format == GST_VIDEO_FORMAT_GRAY16_LE || format == GST_VIDEO_FORMAT_P010_10LE;
}

/// Bytes of a row of a plane without padding.
inline int row_bytes_of(const GstVideoInfo& info, guint plane) {
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT(&info);
  const int width = GST_VIDEO_INFO_COMP_WIDTH(&info, plane);
  const bool pairs = format == GST_VIDEO_FORMAT_YUY2 || format == GST_VIDEO_FORMAT_UYVY;
  return (pairs ? width + width % 2 : width) * GST_VIDEO_INFO_COMP_PSTRIDE(&info, plane);
}

/// Writes a gray pixel of a format with color; the chroma of YUV has a pattern of its own.
inline void set_color_pixel(const GstVideoInfo& info, guint8* line, int x, guint8 gray) {
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT(&info);
  guint8* pixel = line + GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0) * x;
  if (format == GST_VIDEO_FORMAT_YUY2 || format == GST_VIDEO_FORMAT_UYVY) {
    const int at = format == GST_VIDEO_FORMAT_YUY2 ? 0 : 1;
    pixel[at] = gray;
    pixel[1 - at] = static_cast<guint8>(100 + x * 7 % 50);
    return;
  }
  for (int c = 0; c < 3; ++c) pixel[c] = gray;
}

/// Layout of the planes in a buffer: as in the caps, or padded with extra bytes and described by a
/// GstVideoMeta.
struct Layout {
  int left = 0;          ///< bytes before each plane
  int stride_extra = 0;  ///< bytes after each row
  guint8 filler = 0xAB;
};

/// Makes a frame of the texture, shifted by (dx, dy). Chroma has its own pattern.
inline GstBuffer* make_frame(const Video& video, double dx, double dy, GstClockTime pts,
                             const Layout& layout = {}) {
  const GstVideoInfo info = video_info(video);
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  gsize size = 0;
  const bool padded = layout.left != 0 || layout.stride_extra != 0;
  for (guint i = 0; i < planes; ++i) {
    if (padded) {
      const int row = row_bytes_of(info, i);
      stride[i] = row + layout.stride_extra;
      offset[i] = size + static_cast<gsize>(layout.left);
      size = offset[i] + static_cast<gsize>(stride[i]) *
                             static_cast<gsize>(GST_VIDEO_INFO_COMP_HEIGHT(&info, i));
    } else {
      stride[i] = GST_VIDEO_INFO_PLANE_STRIDE(&info, i);
      offset[i] = GST_VIDEO_INFO_PLANE_OFFSET(&info, i);
      size = GST_VIDEO_INFO_SIZE(&info);
    }
  }
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
  GstMapInfo map;
  gst_buffer_map(buffer, &map, GST_MAP_WRITE);
  std::memset(map.data, layout.filler, map.size);
  for (guint i = 0; i < planes; ++i) {
    const int row = GST_VIDEO_INFO_COMP_WIDTH(&info, i) * GST_VIDEO_INFO_COMP_PSTRIDE(&info, i);
    for (int y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT(&info, i); ++y) {
      guint8* line = map.data + offset[i] + static_cast<gsize>(y) * static_cast<gsize>(stride[i]);
      if (i > 0) {
        for (int x = 0; x < row; ++x)
          line[x] = static_cast<guint8>(100 + (x * 3 + y * 5 + static_cast<int>(i)) % 50);
        continue;
      }
      for (int x = 0; x < video.width; ++x) {
        const double value = std::clamp(texture(x - dx, y - dy), 0.0, 255.0);
        if (is_wide(video.format)) {
          const auto wide = static_cast<guint16>(std::lround(value * 257.0));
          line[2 * x] = static_cast<guint8>(wide & 0xff);
          line[2 * x + 1] = static_cast<guint8>(wide >> 8);
        } else if (is_color(video.format)) {
          set_color_pixel(info, line, x, static_cast<guint8>(std::lround(value)));
        } else {
          line[x] = static_cast<guint8>(std::lround(value));
        }
      }
    }
  }
  gst_buffer_unmap(buffer, &map);
  if (padded) {
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, video.format,
                                   static_cast<guint>(video.width),
                                   static_cast<guint>(video.height), planes, offset, stride);
  }
  GST_BUFFER_PTS(buffer) = pts;
  if (video.fps_n > 0) {
    GST_BUFFER_DURATION(buffer) = gst_util_uint64_scale(
        GST_SECOND, static_cast<guint64>(video.fps_d), static_cast<guint64>(video.fps_n));
  }
  return buffer;
}

inline std::vector<guint8> bytes_of(GstBuffer* buffer) {
  std::vector<guint8> bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

/// The flow of a buffer, or null.
inline const GstOcellusMeta* flow_of(GstBuffer* buffer) {
  return gst_buffer_get_ocellus_meta(buffer, "flow");
}

/// The result of a cellular network, or null.
inline const GstOcellusMeta* cells_of(GstBuffer* buffer) {
  GstOcellusMeta* const halftone = gst_buffer_get_ocellus_meta(buffer, "halftone");
  return halftone != nullptr ? halftone : gst_buffer_get_ocellus_meta(buffer, "cnn");
}

/// The characters that ocellusdigits read, or null.
inline const GstOcellusMeta* digits_of(GstBuffer* buffer) {
  return gst_buffer_get_ocellus_meta(buffer, "digits");
}

/// The classes that ocelluscortex found, or null.
inline const GstOcellusMeta* cortex_of(GstBuffer* buffer) {
  return gst_buffer_get_ocellus_meta(buffer, "cortex");
}

/// A plane that the result must have.
inline const GstOcellusPlane& plane_of(const GstOcellusMeta* result, const char* name) {
  static constexpr GstOcellusPlane kNone{};
  const GstOcellusPlane* const plane =
      result != nullptr ? gst_ocellus_meta_get_plane(result, name) : nullptr;
  EXPECT_NE(plane, nullptr) << name;
  return plane != nullptr ? *plane : kNone;
}

/// The first value of a row of a plane of floats.
inline const gfloat* row_of(const GstOcellusPlane& plane, int y) {
  return reinterpret_cast<const gfloat*>(static_cast<const guint8*>(plane.data) +
                                         static_cast<gsize>(y) * plane.stride);
}

/// A value of the record, which must have it.
inline double value_of(const GstOcellusMeta* result, const char* name, std::size_t item = 0) {
  gdouble value = NAN;
  EXPECT_TRUE(gst_ocellus_meta_get_value(result, name, static_cast<guint>(item), &value)) << name;
  return value;
}

/// Left and upper edge, width and height of an item, which must have a box.
inline std::array<gint, 4> box_of(const GstOcellusMeta* result, std::size_t item) {
  std::array<gint, 4> box{};
  EXPECT_TRUE(gst_ocellus_meta_get_box(result, static_cast<guint>(item), &box[0], &box[1], &box[2],
                                       &box[3]));
  return box;
}

/// Returns the u and v planes without row padding. NaN becomes 1e30, so that fields can be
/// compared.
inline std::vector<float> field_of(const GstOcellusMeta* flow) {
  std::vector<float> field;
  for (const char* name : {"u", "v"}) {
    const GstOcellusPlane& plane = plane_of(flow, name);
    for (int y = 0; y < plane.height; ++y)
      for (int x = 0; x < plane.width; ++x)
        field.push_back(std::isnan(row_of(plane, y)[x]) ? 1e30f : row_of(plane, y)[x]);
  }
  return field;
}

inline float median(std::vector<float> values) {
  EXPECT_FALSE(values.empty());
  if (values.empty()) return NAN;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns the median of one plane without a border of `cut` pixels.
inline float median_of(const GstOcellusMeta* flow, const char* name, int cut) {
  const GstOcellusPlane& plane = plane_of(flow, name);
  std::vector<float> values;
  for (int y = cut; y < plane.height - cut; ++y)
    for (int x = cut; x < plane.width - cut; ++x)
      if (!std::isnan(row_of(plane, y)[x])) values.push_back(row_of(plane, y)[x]);
  return median(std::move(values));
}

/// Sets properties from the text "name=value name=value".
inline void set_properties(GstElement* element, const std::string& properties) {
  std::size_t at = 0;
  while (at < properties.size()) {
    const std::size_t end = std::min(properties.find(' ', at), properties.size());
    const std::string item = properties.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    gst_util_set_object_arg(G_OBJECT(element), item.substr(0, equals).c_str(),
                            item.substr(equals + 1).c_str());
  }
}

/// One element between two pads, with a bus.
class Harness {
 public:
  explicit Harness(const std::string& properties, const Video& video = {},
                   const char* factory = "ocellusflow")
      : Harness(gst_element_factory_make(factory, nullptr), properties, video) {}

  Harness(GstElement* element, const std::string& properties, const Video& video)
      : video_(video), element_(element) {
    EXPECT_NE(element_, nullptr) << "the element was not found: check GST_PLUGIN_PATH_1_0";
    gst_object_ref_sink(element_);
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
    if (const char* backend = std::getenv("OCELLUS_TEST_BACKEND"))
      gst_util_set_object_arg(G_OBJECT(element_), "backend", backend);
    set_properties(element_, properties);
    harness_ = gst_harness_new_with_element(element_, "sink", "src");
  }
  ~Harness() {
    gst_harness_teardown(harness_);
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(element_);
  }
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  GstElement* element() { return element_; }
  GstHarness* get() { return harness_; }
  const Video& video() const { return video_; }

  void start() { set_video(video_); }
  void set_video(const Video& video) {
    video_ = video;
    gst_harness_set_src_caps(harness_, caps_of(video));
  }

  GstClockTime pts(int index) const {
    return gst_util_uint64_scale(static_cast<guint64>(index) * GST_SECOND,
                                 static_cast<guint64>(video_.fps_d),
                                 static_cast<guint64>(std::max(1, video_.fps_n)));
  }
  /// Returns frame `index` of the texture, which moves by (u, v) pixels per frame.
  GstBuffer* frame(int index, double u = 1.0, double v = 0.0, const Layout& layout = {}) const {
    return make_frame(video_, u * index, v * index, pts(index), layout);
  }
  GstFlowReturn push(GstBuffer* buffer) { return gst_harness_push(harness_, buffer); }
  void push_frames(int from, int to, double u = 1.0, double v = 0.0) {
    for (int i = from; i < to; ++i)
      ASSERT_EQ(push(frame(i, u, v)), GST_FLOW_OK) << "frame " << i << last_error();
  }
  bool event(GstEvent* event) { return gst_harness_push_event(harness_, event); }
  /// Returns all buffers that were pushed so far.
  std::vector<GstBuffer*> pull() {
    std::vector<GstBuffer*> buffers;
    while (GstBuffer* buffer = gst_harness_try_pull(harness_)) buffers.push_back(buffer);
    return buffers;
  }
  int drop_output() {
    const auto buffers = pull();
    for (GstBuffer* buffer : buffers) gst_buffer_unref(buffer);
    return static_cast<int>(buffers.size());
  }

  /// Returns the next message of a type, or null.
  GstMessage* message(GstMessageType type) { return gst_bus_pop_filtered(bus_, type); }
  int count_messages(GstMessageType type) {
    int count = 0;
    while (GstMessage* found = message(type)) {
      gst_message_unref(found);
      ++count;
    }
    return count;
  }
  std::string text_of(GstMessageType type) {
    GstMessage* found = message(type);
    if (found == nullptr) return {};
    GError* error = nullptr;
    if (type == GST_MESSAGE_ERROR)
      gst_message_parse_error(found, &error, nullptr);
    else
      gst_message_parse_warning(found, &error, nullptr);
    const std::string text = error->message;
    g_error_free(error);
    gst_message_unref(found);
    return text;
  }
  std::string last_error() { return text_of(GST_MESSAGE_ERROR); }

  guint64 stat(const char* field) {
    GstStructure* stats = nullptr;
    g_object_get(element_, "stats", &stats, nullptr);
    guint64 value = G_MAXUINT64;
    EXPECT_TRUE(gst_structure_get_uint64(stats, field, &value)) << field;
    gst_structure_free(stats);
    return value;
  }

 private:
  Video video_;
  GstElement* element_;
  GstBus* bus_ = nullptr;
  GstHarness* harness_ = nullptr;
};

/// A pool that the harness offers to an element that sends an ALLOCATION query downstream.
struct PoolOffer {
  GstBufferPool* pool;
  guint size;
  guint least;
  guint most;
  bool video_meta;
};
/// `offer` must outlive the harness.
inline void offer_pool(Harness& harness, PoolOffer& offer) {
  gst_pad_set_query_function_full(
      harness.get()->sinkpad,
      [](GstPad* pad, GstObject* parent, GstQuery* query) -> gboolean {
        if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
          return gst_pad_query_default(pad, parent, query);
        const auto* given = static_cast<const PoolOffer*>(pad->querydata);
        gst_query_add_allocation_pool(query, given->pool, given->size, given->least, given->most);
        if (given->video_meta)
          gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
        return TRUE;
      },
      &offer, nullptr);
}

/// A pipeline from a launch line.
class Pipeline {
 public:
  explicit Pipeline(const std::string& line) {
    GError* error = nullptr;
    pipeline_ = gst_parse_launch(line.c_str(), &error);
    EXPECT_EQ(error, nullptr) << error->message;
    bus_ = gst_element_get_bus(pipeline_);
  }
  ~Pipeline() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(bus_);
    gst_object_unref(pipeline_);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  GstElement* get() { return pipeline_; }
  GstElement* by_name(const char* name) {
    GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline_), name);
    EXPECT_NE(element, nullptr) << name;
    gst_object_unref(element);  // the pipeline keeps a reference
    return element;
  }
  void set_state(GstState state) {
    ASSERT_NE(gst_element_set_state(pipeline_, state), GST_STATE_CHANGE_FAILURE);
  }
  bool reach(GstState state) {
    set_state(state);
    return gst_element_get_state(pipeline_, nullptr, nullptr, 20 * GST_SECOND) ==
           GST_STATE_CHANGE_SUCCESS;
  }
  /// Runs the pipeline. Returns "" at the end of the stream, otherwise the error.
  std::string run_to_end() {
    set_state(GST_STATE_PLAYING);
    return wait_for_end();
  }
  std::string wait_for_end() {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus_, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    if (message == nullptr) return "the stream did not end within a minute";
    std::string result;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      GError* error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      result = error->message;
      g_error_free(error);
    }
    gst_message_unref(message);
    return result;
  }

 private:
  GstElement* pipeline_ = nullptr;
  GstBus* bus_ = nullptr;
};

/// Calls `seen` for each buffer that the sink named `sink` receives.
struct Watch {
  std::function<void(GstBuffer*)> seen;
  static void handoff(GstElement*, GstBuffer* buffer, GstPad*, gpointer data) {
    static_cast<Watch*>(data)->seen(buffer);
  }
  void attach(Pipeline& pipeline) {
    g_signal_connect(pipeline.by_name("sink"), "handoff", G_CALLBACK(handoff), this);
  }
};
inline constexpr const char* kSink = "fakesink name=sink sync=false signal-handoffs=true";

inline void unref_all(std::vector<GstBuffer*>& buffers) {
  for (GstBuffer* buffer : buffers) gst_buffer_unref(buffer);
  buffers.clear();
}

/// Runs a command line and returns standard output and standard error together. `status` is that of
/// wait().
inline std::string run_command(const std::string& command, int* status) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    *status = -1;
    return output;
  }
  char chunk[4096];
  while (const std::size_t got = std::fread(chunk, 1, sizeof(chunk), pipe))
    output.append(chunk, got);
  *status = pclose(pipe);
  return output;
}

/// The value of a property as text.
inline std::string property_text(GstElement* element, const char* property) {
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), property) == nullptr)
    return std::string("there is no property ") + property;
  GValue value = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(element), property, &value);
  gchar* text =
      G_VALUE_HOLDS_STRING(&value) ? g_value_dup_string(&value) : gst_value_serialize(&value);
  const std::string copy = text;
  g_free(text);
  g_value_unset(&value);
  return copy;
}

}  // namespace ocellus::gst_test
