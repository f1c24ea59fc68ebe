// Random tests: buffers of any size in any number of memories, and pipelines whose states,
// positions, caps and properties change at random. Each run uses the same seeds. The short tests
// run every day; the suites Slow* run longer.
#include <dirent.h>

#include <chrono>
#include <fstream>
#include <random>

#include "gst/gst_support.h"

namespace ocellus::gst_test {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  /// Returns 0 to `count` - 1.
  int below(int count) { return static_cast<int>(engine_() % static_cast<unsigned>(count)); }
  /// Returns true once in `count` calls on average.
  bool one_in(int count) { return below(count) == 0; }
  template <typename T, std::size_t kCount>
  const T& of(const T (&items)[kCount]) {
    return items[below(static_cast<int>(kCount))];
  }

 private:
  std::mt19937 engine_;
};

constexpr GstVideoFormat kFormats[] = {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE,
                                       GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_I420,
                                       GST_VIDEO_FORMAT_NV12};

struct Element {
  const char* factory;
  const char* properties;
  bool draws = false;
};
constexpr Element kElements[] = {
    {"ocellusflow", "threads=1"},
    {"ocellusflow", "threads=1 draw=true", true},
    {"ocellushalftone", "threads=1 preset=fast"},
    {"ocellushalftone", "threads=1 preset=fast chroma=keep warm-start=true"},
    {"ocelluscnn", "threads=1 template=edge"},
    {"ocellusfilter", "threads=1 taps=5x5x4"},
    {"ocellusrestore", "threads=1"},
    {"ocellusdigits", "threads=1"},
    {"ocellusdigits", "threads=1 draw=true", true},
    {"ocelluscortex", "threads=1"},
    {"ocelluscortex", "threads=1 draw=true", true},
    {"ocellusnetwork", "threads=1 learn=true"},
};

// Returns a buffer with its bytes in several memories, some of them read-only.
GstBuffer* buffer_in_pieces(Random& random, gsize bytes) {
  GstBuffer* buffer = gst_buffer_new();
  while (bytes > 0) {
    const gsize piece =
        random.one_in(2) ? bytes : 1 + static_cast<gsize>(random.below(static_cast<int>(bytes)));
    GstMemory* memory = gst_allocator_alloc(nullptr, piece, nullptr);
    GstMapInfo map;
    EXPECT_TRUE(gst_memory_map(memory, &map, GST_MAP_WRITE));
    std::memset(map.data, random.below(256), map.size);
    gst_memory_unmap(memory, &map);
    if (random.one_in(4)) GST_MINI_OBJECT_FLAG_SET(memory, GST_MEMORY_FLAG_READONLY);
    gst_buffer_append_memory(buffer, memory);
    bytes -= piece;
  }
  return buffer;
}

void add_meta(Random& random, GstBuffer* buffer, const GstVideoInfo& info, bool wrong) {
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  for (std::size_t i = 0; i < GST_VIDEO_INFO_N_PLANES(&info); ++i) {
    offset[i] = GST_VIDEO_INFO_PLANE_OFFSET(&info, i);
    stride[i] = GST_VIDEO_INFO_PLANE_STRIDE(&info, i);
  }
  auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info));
  auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info));
  if (wrong) {
    const int plane = random.below(2);
    offset[plane] =
        static_cast<gsize>(random.below(static_cast<int>(GST_VIDEO_INFO_SIZE(&info)) + 100));
    if (random.one_in(2)) stride[plane] = random.one_in(3) ? -random.below(100) : random.below(400);
    if (random.one_in(3)) width += static_cast<guint>(random.below(50));
    if (random.one_in(3)) height += static_cast<guint>(random.below(50));
  }
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 width, height, GST_VIDEO_INFO_N_PLANES(&info), offset, stride);
}

void push_buffers_of_any_kind(unsigned seed, int streams) {
  Random random(seed);
  int passed = 0;
  int refused = 0;
  for (int s = 0; s < streams; ++s) {
    const Element& element = random.of(kElements);
    Video video{random.of(kFormats), 1 + random.below(70), 1 + random.below(70)};
    if (random.one_in(3)) video.fps_n = 0;
    SCOPED_TRACE("stream " + std::to_string(s) + ": " + element.factory + " " + element.properties +
                 ", " + gst_video_format_to_string(video.format) + " " +
                 std::to_string(video.width) + "x" + std::to_string(video.height));
    const GstVideoInfo info = video_info(video);
    const auto whole = static_cast<int>(GST_VIDEO_INFO_SIZE(&info));
    const int luma = (video.height - 1) * GST_VIDEO_INFO_PLANE_STRIDE(&info, 0) +
                     video.width * GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0);
    Harness harness(element.properties, video, element.factory);
    harness.start();
    const int frames = 4 + random.below(6);
    for (int i = 0; i < frames; ++i) {
      int bytes = whole;
      if (random.one_in(3))
        bytes = random.one_in(2) ? random.below(whole + 1) : whole + random.below(500);
      GstBuffer* buffer = buffer_in_pieces(random, static_cast<gsize>(bytes));
      const bool wrong = random.one_in(6);
      const bool described = wrong || random.one_in(3);
      // GStreamer maps a plane of a GstVideoMeta only in the memory in which the plane begins.
      const bool in_reach = !described || gst_buffer_n_memory(buffer) == 1;
      if (described) add_meta(random, buffer, info, wrong);
      GST_BUFFER_PTS(buffer) = random.one_in(6)   ? GST_CLOCK_TIME_NONE
                               : random.one_in(9) ? GST_CLOCK_TIME_NONE - 1
                                                  : harness.pts(i);
      if (random.one_in(2)) GST_BUFFER_DURATION(buffer) = harness.pts(1);
      if (random.one_in(6)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
      if (random.one_in(8))
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_CORRUPTED | GST_BUFFER_FLAG_GAP);
      const GstFlowReturn flow = harness.push(buffer);
      const std::string error = harness.last_error();
      // With `draws`, all planes of a frame are checked only when it is pushed, with the next
      // frame.
      const bool good_before = i == 0 || !element.draws;
      if (!wrong && in_reach && bytes >= whole && good_before) {
        EXPECT_EQ(flow, GST_FLOW_OK) << i << ": " << error;
      }
      if (!wrong && bytes < luma) {
        EXPECT_EQ(flow, GST_FLOW_ERROR) << i << ": " << bytes << " of " << luma << " bytes of luma";
      }
      if (flow == GST_FLOW_OK) {
        ++passed;
        continue;
      }
      ++refused;
      EXPECT_EQ(flow, GST_FLOW_ERROR);
      EXPECT_NE(error, "") << "refused without a message";
      break;
    }
    harness.event(gst_event_new_eos());
    harness.drop_output();
  }
  EXPECT_GT(passed, streams);
  EXPECT_GT(refused, streams / 10);
}

// Fails when a buffer that is too small, in several memories, read-only, or with a wrong
// GstVideoMeta is read past its end, which sanitizers detect. Also fails when a buffer with
// incomplete luma passes or is refused without a message, or when a complete one is refused.
// Promises: GST-004.
TEST(Buffers, AnySizeInAnyNumberOfMemories) {
  push_buffers_of_any_kind(1, 200);
}

TEST(SlowBuffers, AnySizeInAnyNumberOfMemories) {
  for (unsigned seed = 2; seed < 6; ++seed) push_buffers_of_any_kind(seed, 1000);
}

// ---- pipelines

int open_files() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

int threads() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    int count = 0;
    if (word == "Threads:" && status >> count) return count;
  }
  return -1;
}

class Soak {
 public:
  explicit Soak(unsigned seed) : random_(seed) {}

  void run(std::chrono::seconds time) {
    const auto end = Clock::now() + time;
    const int files = open_files();
    while (Clock::now() < end && !testing::Test::HasFailure()) {
      run_pipeline(end);
      ++pipelines_;
    }
    EXPECT_GT(pipelines_, 0);
    EXPECT_GT(actions_, 20);
    EXPECT_GT(frames_, 50);
    // GStreamer keeps its threads in pools, with a few files. Neither number grows with the number
    // of pipelines.
    EXPECT_LE(open_files(), files + 8);
    EXPECT_LE(threads(), 64);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr const char* kNames[] = {"flow", "halftone", "cnn"};

  std::string any_caps() {
    constexpr int kSides[] = {16, 17, 32, 33, 64, 100, 160, 320};
    return std::string("video/x-raw,format=") + gst_video_format_to_string(random_.of(kFormats)) +
           ",width=" + std::to_string(random_.of(kSides)) +
           ",height=" + std::to_string(random_.of(kSides)) +
           ",framerate=" + (random_.one_in(4) ? "60/1" : "30/1");
  }

  void run_pipeline(Clock::time_point end) {
    Pipeline pipeline(
        std::string("videotestsrc name=source pattern=ball ") +
        (random_.one_in(2) ? "is-live=true" : "") + " ! capsfilter name=filter caps=" + any_caps() +
        " ! ocellusflow name=flow threads=2 ! " + (random_.one_in(2) ? "queue ! " : "") +
        "ocellushalftone name=halftone threads=1 preset=fast ! ocelluscnn name=cnn "
        "template=edge threads=1 ! fakesink name=sink signal-handoffs=true qos=true "
        "sync=" +
        (random_.one_in(2) ? "true" : "false"));
    Watch watch{[this](GstBuffer*) { ++frames_; }};
    watch.attach(pipeline);
    backwards_ = random_.one_in(2);
    pipeline.set_state(GST_STATE_PLAYING);
    for (int i = 0; i < 100 && Clock::now() < end && !testing::Test::HasFailure(); ++i) {
      const int action = random_.below(13);
      act(pipeline, action);
      ++actions_;
      if (random_.one_in(3)) g_usleep(static_cast<gulong>(random_.below(20000)));
      hear(pipeline);
      if (i % 25 == 24) expect_flow(pipeline, action);
    }
    expect_flow(pipeline, -1);
  }

  void act(Pipeline& pipeline, int action) {
    GstElement* element = pipeline.by_name(random_.of(kNames));
    GstElement* whole = pipeline.get();
    switch (action) {
      case 0:
      case 1:
        gst_element_set_state(whole, GST_STATE_PLAYING);
        break;
      case 2:
        gst_element_set_state(whole, GST_STATE_PAUSED);
        break;
      case 3:
        gst_element_set_state(whole, random_.one_in(2) ? GST_STATE_READY : GST_STATE_NULL);
        break;
      case 4:
        seek(whole, 1.0, random_.below(100) * 100, -1);
        break;
      case 5:
        seek(whole, 0.5 + random_.below(4) * 0.5, 0, (1 + random_.below(50)) * 100);
        break;
      case 6:
        if (backwards_) seek(whole, -1.0, 1000, 2000 + random_.below(50) * 100);
        break;
      case 7: {
        // Flushes within the pipeline, as a demultiplexer does: no frame passes between the flush
        // and the next segment. The seek afterwards starts a source again that the flush stopped.
        GstPad* pad = gst_element_get_static_pad(element, "sink");
        if (gst_pad_is_active(pad)) {
          GstEvent* segment = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
          gst_pad_send_event(pad, gst_event_new_flush_start());
          if (random_.one_in(2)) g_usleep(static_cast<gulong>(random_.below(3000)));
          GST_PAD_STREAM_LOCK(pad);
          gst_pad_send_event(pad, gst_event_new_flush_stop(TRUE));
          if (segment != nullptr) gst_pad_send_event(pad, segment);
          GST_PAD_STREAM_UNLOCK(pad);
        }
        gst_object_unref(pad);
        seek(whole, 1.0, 0, -1);
        break;
      }
      case 8: {
        // In reverse playback videotestsrc counts below zero when its caps change.
        if (backwards_) break;
        GstCaps* caps = gst_caps_from_string(any_caps().c_str());
        g_object_set(pipeline.by_name("filter"), "caps", caps, nullptr);
        gst_caps_unref(caps);
        break;
      }
      case 9: {
        const guint64 budgets[] = {0, 1, static_cast<guint64>(random_.below(5000000)), G_MAXINT64};
        g_object_set(element, "budget", random_.of(budgets), "post-messages", random_.below(2),
                     "on-miss", random_.below(4), nullptr);
        g_object_set(pipeline.by_name("flow"), "draw", random_.below(2), nullptr);
        break;
      }
      case 10:
        ask(whole, element);
        break;
      case 11: {
        GstPad* pad = gst_element_get_static_pad(element, "src");
        gst_pad_send_event(pad, gst_event_new_reconfigure());
        gst_object_unref(pad);
        break;
      }
      default:
        gst_element_set_state(whole, GST_STATE_READY);
        configure(pipeline);
        gst_element_set_state(whole, GST_STATE_PLAYING);
        break;
    }
  }

  static void seek(GstElement* pipeline, double rate, int from_ms, int to_ms) {
    // A pipeline that is not started refuses the seek.
    gst_element_seek(pipeline, rate, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET,
                     from_ms * static_cast<gint64>(GST_MSECOND), GST_SEEK_TYPE_SET,
                     to_ms < 0 ? -1 : to_ms * static_cast<gint64>(GST_MSECOND));
  }

  static void ask(GstElement* pipeline, GstElement* element) {
    GstQuery* query = gst_query_new_latency();
    gst_element_query(pipeline, query);
    gst_query_unref(query);
    GstPad* pad = gst_element_get_static_pad(element, "sink");
    if (GstPad* peer = gst_pad_get_peer(pad)) {
      gst_caps_unref(gst_pad_peer_query_caps(peer, nullptr));
      gst_object_unref(peer);
    }
    gst_object_unref(pad);
    gchar* backend = nullptr;
    GstStructure* stats = nullptr;
    g_object_get(element, "active-backend", &backend, "stats", &stats, nullptr);
    g_free(backend);
    gst_structure_free(stats);
  }

  void configure(Pipeline& pipeline) {
    const bool kernels = random_.one_in(2);
    const std::string taps = "5x5x" + std::to_string(3 + random_.below(3));
    const char* form = random_.one_in(2) ? "uniform" : "foveated";
    // NULL unsets options that have a meaning only with kernels.
    g_object_set(pipeline.by_name("flow"), "method", kernels ? 0 : 1, "taps",
                 kernels ? taps.c_str() : nullptr, "kernels", kernels ? form : nullptr, "align",
                 random_.below(2), nullptr);
    g_object_set(pipeline.by_name("halftone"), "start", random_.below(5), "chroma",
                 random_.below(2), "warm-start", random_.below(2), "preset", random_.below(2),
                 nullptr);
    g_object_set(pipeline.by_name("cnn"), "template",
                 random_.one_in(2) ? "erosion | dilation" : "edge", "chroma", random_.below(2),
                 nullptr);
  }

  void hear(Pipeline& pipeline) {
    GstBus* bus = gst_element_get_bus(pipeline.get());
    while (GstMessage* message = gst_bus_pop(bus)) {
      if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        GError* error = nullptr;
        gchar* debug = nullptr;
        gst_message_parse_error(message, &error, &debug);
        // The source, or a queue, posts an error if its caps, segment or data reach flushing pads.
        // An element that refuses something posts an error itself.
        const std::string from = GST_OBJECT_NAME(GST_MESSAGE_SRC(message));
        if (from != "source" && !from.starts_with("queue")) {
          ADD_FAILURE() << from << ": " << error->message << " | " << debug;
        }
        g_error_free(error);
        g_free(debug);
      }
      gst_message_unref(message);
    }
    gst_object_unref(bus);
  }

  // A restarted pipeline without a budget must run, whatever happened before.
  void expect_flow(Pipeline& pipeline, int action) {
    gst_element_set_state(pipeline.get(), GST_STATE_READY);
    for (const char* name : kNames)
      g_object_set(pipeline.by_name(name), "budget", guint64{0}, "on-miss", 0, nullptr);
    gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
    const int before = frames_;
    for (int i = 0; i < 10000 && frames_ < before + 3; ++i) g_usleep(2000);
    hear(pipeline);
    EXPECT_GE(frames_.load(), before + 3) << "no buffers after action " << action;
  }

  Random random_;
  bool backwards_ = false;  // the pipeline sometimes plays backwards
  std::atomic<int> frames_{0};
  int pipelines_ = 0;
  int actions_ = 0;
};

// Fails when a pipeline stops with an error, does not restart, crashes, or leaks threads or files.
// The causes may be state changes, seeks in both directions, flushes, new caps, new properties,
// queries and renegotiation at any time.
// Promises: GST-004.
TEST(Soak, RandomlyChangingPipelines) {
  Soak(1).run(std::chrono::seconds(4));
}

// Promises: GST-004.
TEST(SlowSoak, RandomlyChangingPipelines) {
  for (unsigned seed = 2; seed < 8 && !HasFailure(); ++seed)
    Soak(seed).run(std::chrono::seconds(30));
}

}  // namespace
}  // namespace ocellus::gst_test
