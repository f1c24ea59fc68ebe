// ocellusdigits at the rate of a camera.
#include <cmath>

#include "neocognitron/digit_video.h"

namespace ocellus::gst_test {
namespace {

constexpr Video kCamera{GST_VIDEO_FORMAT_NV12, 640, 480, 30, 1};
constexpr int kScenes = 30;

struct Outcome {
  guint64 frames = 0;
  guint64 dropped = 0;
  guint64 p50 = 0;
  guint64 p99 = 0;
  guint64 max = 0;
};

// Sends scenes of eight digits through a live pipeline whose sink keeps the time. The budget of a
// frame is one period.
Outcome run_camera(int frames) {
  Pipeline pipeline(
      "appsrc name=camera format=time is-live=true ! queue ! "
      "ocellusdigits name=reader budget=33333333 ! fakesink name=sink sync=true "
      "signal-handoffs=true");
  GstElement* camera = pipeline.by_name("camera");
  GstCaps* caps = caps_of(kCamera);
  g_object_set(camera, "caps", caps, nullptr);
  gst_caps_unref(caps);
  std::vector<app::DigitScene> scenes;
  std::vector<std::string> expected;
  Harness alone("threads=1", kCamera, kElement);
  alone.start();
  for (int i = 0; i < kScenes; ++i) {
    scenes.push_back(make_scene(app::DigitSceneConfig(), i));
    expected.push_back(string_of(alone, scenes.back().image, i));
  }
  int received = 0;
  int wrong = 0;
  Watch watch{[&](GstBuffer* buffer) {
    const GstOcellusMeta* meta = digits_of(buffer);
    const auto number = static_cast<std::size_t>(std::lround(
        static_cast<double>(GST_BUFFER_PTS(buffer)) * kCamera.fps_n / static_cast<double>(1e9)));
    ++received;
    wrong += meta == nullptr || meta->string != expected[number % kScenes] ? 1 : 0;
  }};
  watch.attach(pipeline);
  pipeline.set_state(GST_STATE_PLAYING);
  const gint64 begin = g_get_monotonic_time();
  for (int i = 0; i < frames; ++i) {
    const gint64 due = begin + static_cast<gint64>(i) * 1000000 / kCamera.fps_n;
    const gint64 now = g_get_monotonic_time();
    if (due > now) g_usleep(static_cast<gulong>(due - now));
    const GstClockTime pts =
        gst_util_uint64_scale(static_cast<guint64>(i), GST_SECOND, guint64{30});
    GstBuffer* buffer =
        buffer_of(scenes[static_cast<std::size_t>(i % kScenes)].image, kCamera, pts);
    GstFlowReturn flow = GST_FLOW_ERROR;
    g_signal_emit_by_name(camera, "push-buffer", buffer, &flow);
    gst_buffer_unref(buffer);
    EXPECT_EQ(flow, GST_FLOW_OK);
  }
  GstFlowReturn flow = GST_FLOW_ERROR;
  g_signal_emit_by_name(camera, "end-of-stream", &flow);
  EXPECT_EQ(pipeline.wait_for_end(), "");
  EXPECT_EQ(received, frames);
  EXPECT_EQ(wrong, 0) << "frames whose string is not the one of the picture alone";
  GstStructure* stats = nullptr;
  g_object_get(pipeline.by_name("reader"), "stats", &stats, nullptr);
  Outcome outcome;
  EXPECT_TRUE(gst_structure_get(stats, "frames", G_TYPE_UINT64, &outcome.frames, "dropped",
                                G_TYPE_UINT64, &outcome.dropped, "p50", G_TYPE_UINT64, &outcome.p50,
                                "p99", G_TYPE_UINT64, &outcome.p99, "max", G_TYPE_UINT64,
                                &outcome.max, nullptr));
  gst_structure_free(stats);
  g_print("%d frames of eight digits, 640x480, 30 per second: p50 %.2f, p99 %.2f, max %.2f ms\n",
          frames, static_cast<double>(outcome.p50) / 1e6, static_cast<double>(outcome.p99) / 1e6,
          static_cast<double>(outcome.max) / 1e6);
  return outcome;
}

// Fails when a frame is lost, or a string depends on the load. It has no bound on the time, because
// other programs may take the CPU.
TEST(DigitsCamera, ReadsEveryFrame) {
  const Outcome outcome = run_camera(60);
  EXPECT_EQ(outcome.frames, 60u);
}

// The same for ten seconds. realtime.digits_budget has the time of a frame.
TEST(SlowDigitsCamera, ReadsEveryFrame) {
  const Outcome outcome = run_camera(300);
  EXPECT_EQ(outcome.frames, 300u);
  EXPECT_EQ(outcome.dropped, 0u);
}

}  // namespace
}  // namespace ocellus::gst_test
