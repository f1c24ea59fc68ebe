// ocelluscortex with learn=true: what the saved file holds, and when; new caps, discontinuities,
// saving from another thread; a million frames.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cortex/stroke_frames.h"
#include "gst/gst_support.h"
#include "ocellus/ocellus.h"
#include "realtime/interpose.h"
#include "support/file_targets.h"
#include "support/files.h"

namespace ocellus::gst_test {
namespace {

constexpr int kSide = test::kStrokeSide;
constexpr int kPictures = 32;
constexpr Video kVideo{GST_VIDEO_FORMAT_GRAY8, kSide, kSide};
constexpr const char* kElement = "ocelluscortex";

class LearningElement : public testing::Test {
 protected:
  LearningElement() {
    CortexTraining training;
    training.parameters.deslant = false;
    training.parameters.levels[0] = {8, 8, 4, 4, 24};
    training.feature_images = 200;
    model_ = folder_ / "model.ocellus";
    test::write_model(model_, test::must(train_cortex(images_, training)));
  }

  std::string properties(const std::string& more = "") const {
    return "threads=1 learn=true learn-rate=0.01 ink=light model=" + model_ + " " + more;
  }
  CortexConfig config() const {
    CortexConfig made = test::stroke_config(model_, 1, 1);
    made.layout = CortexLayout::kFrame;
    made.learn = true;
    made.learn_rate = 0.01f;
    return made;
  }
  const guint8* picture(int number) const {
    return images_.ink.data() + std::ptrdiff_t{number % kPictures} * kSide * kSide;
  }
  /// The middle of a larger picture without other ink, or the whole.
  GstBuffer* buffer(const Harness& harness, int number) const {
    const GstVideoInfo info = video_info(harness.video());
    GstBuffer* made = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
    gst_buffer_memset(made, 0, 0, GST_VIDEO_INFO_SIZE(&info));
    for (gsize y = 0; y < kSide; ++y)
      gst_buffer_fill(made, y * static_cast<gsize>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0)),
                      picture(number) + y * kSide, kSide);
    GST_BUFFER_PTS(made) = harness.pts(number);
    return made;
  }
  void push(Harness& harness, int from, int to) const {
    for (int i = from; i < to; ++i)
      ASSERT_EQ(harness.push(buffer(harness, i)), GST_FLOW_OK) << harness.last_error();
    harness.drop_output();
  }
  static bool save(Harness& harness, const std::string& path) {
    gboolean saved = FALSE;
    g_signal_emit_by_name(harness.element(), "save-model", path.c_str(), &saved);
    return saved != FALSE;
  }
  /// The file of an operator that has seen the pictures 0 to `count` - 1 on the CPU.
  std::string expected(int count) const {
    auto rig = test::Rig<Cortex>::make(config(), 1);
    std::vector<float> evidence(std::size_t{4} * kMaxCortexPatches);
    const ImageView view{evidence.data(), rig.op.info().planes[0].size, 4 * sizeof(float),
                         PixelFormat::kFloat32};
    CortexRecord record;
    for (int i = 0; i < count; ++i) {
      Frame frame;
      frame.data = const_cast<guint8*>(picture(i));
      frame.size = config().size;
      frame.stride = kSide;
      test::must(rig.op.wait(test::must(rig.op.submit(frame, view, &record)), Deadline::never()));
    }
    const std::string path = folder_ / "expected.ocellus";
    test::must(rig.op.save_model(path.c_str()));
    return test::bytes_of(path);
  }

  const LabeledImages images_ = test::labeled_strokes(kPictures, 1);
  test::TemporaryFolder folder_;
  std::string model_;
};

// Fails if the signal leaves out a frame that is in flight, or takes a frame or its result from the
// stream.
TEST_F(LearningElement, SavesByASignal) {
  for (const char* more : {"", "depth=4"}) {
    Harness harness(properties(more), kVideo, kElement);
    harness.start();
    const std::string path = folder_ / "saved.ocellus";
    push(harness, 0, 10);
    ASSERT_TRUE(save(harness, path));
    EXPECT_TRUE(test::bytes_of(path) == expected(10));
    for (int i = 10; i < 20; ++i) ASSERT_EQ(harness.push(buffer(harness, i)), GST_FLOW_OK);
    ASSERT_TRUE(save(harness, path));
    EXPECT_TRUE(test::bytes_of(path) == expected(20));
    harness.event(gst_event_new_eos());
    // Those that were not pulled before are the frames in flight at the first save.
    EXPECT_GE(harness.drop_output(), 10);
    EXPECT_EQ(harness.stat("frames"), 20u);
    EXPECT_EQ(harness.message(GST_MESSAGE_WARNING), nullptr);
  }
}

// Fails if what cannot be saved is not said, with the reason.
TEST_F(LearningElement, FailedSaveIsAWarning) {
  {
    Harness harness(properties(), kVideo, kElement);
    EXPECT_FALSE(save(harness, folder_ / "early.ocellus"));
    EXPECT_NE(harness.text_of(GST_MESSAGE_WARNING).find("there is no operator to save"),
              std::string::npos);
    harness.start();
    push(harness, 0, 3);
    EXPECT_FALSE(save(harness, folder_ / "none/model.ocellus"));
    EXPECT_NE(harness.text_of(GST_MESSAGE_WARNING).find("none/model.ocellus"), std::string::npos);
    push(harness, 3, 6);
    EXPECT_TRUE(save(harness, folder_ / "model2.ocellus"));
    EXPECT_TRUE(test::bytes_of(folder_ / "model2.ocellus") == expected(6));
  }
  Harness plain("model=" + model_, kVideo, kElement);
  plain.start();
  push(plain, 0, 1);
  EXPECT_FALSE(save(plain, folder_ / "plain.ocellus"));
  EXPECT_NE(plain.text_of(GST_MESSAGE_WARNING).find("cortex does not learn"), std::string::npos);
}

TEST_F(LearningElement, ItsFilesMeetEveryTarget) {
  // An ordinary user reads the model, too.
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  Harness harness(properties(), kVideo, kElement);
  harness.start();
  push(harness, 0, 3);
  test::expect_file_targets({"save-model", ".ocellus", [&](const std::string& path) {
                               return save(harness, path) ? ""
                                                          : harness.text_of(GST_MESSAGE_WARNING);
                             }});
  test::expect_file_targets({"save-location", ".ocellus", [&](const std::string& path) {
                               Harness ending(properties("save-location=" + path), kVideo,
                                              kElement);
                               ending.start();
                               push(ending, 0, 3);
                               ending.event(gst_event_new_eos());
                               return ending.text_of(GST_MESSAGE_WARNING);
                             }});
}

// Fails if the file is not written at the end of the stream, or not when the element stops before
// it, or lacks frames in flight.
TEST_F(LearningElement, SavesAtTheEnd) {
  const std::string path = folder_ / "end.ocellus";
  for (const bool eos : {true, false}) {
    std::remove(path.c_str());
    Harness harness(properties("depth=3 save-location=" + path), kVideo, kElement);
    harness.start();
    push(harness, 0, 12);
    EXPECT_TRUE(test::bytes_of(path).empty());
    if (eos) {
      harness.event(gst_event_new_eos());
      EXPECT_TRUE(test::bytes_of(path) == expected(12));
      std::remove(path.c_str());
    }
    gst_element_set_state(harness.element(), GST_STATE_NULL);
    // After EOS, no frame has come.
    if (eos)
      EXPECT_TRUE(test::bytes_of(path).empty());
    else
      EXPECT_TRUE(test::bytes_of(path) == expected(12));
  }
}

// Fails if caps that the element must refuse take away what was learned, or the element cannot go
// on with the caps before.
TEST_F(LearningElement, RefusedCapsKeepWhatWasLearned) {
  const std::string path = folder_ / "saved.ocellus";
  Harness harness(properties("layout=tiles tile-width=16 tile-height=16 save-location=" + path),
                  kVideo, kElement);
  harness.start();
  push(harness, 0, 5);
  harness.set_video({GST_VIDEO_FORMAT_GRAY8, kSide, kSide - 1});
  EXPECT_EQ(harness.push(buffer(harness, 5)), GST_FLOW_NOT_NEGOTIATED);
  EXPECT_NE(harness.last_error().find("tiles have 16x16 pixels"), std::string::npos);
  ASSERT_TRUE(save(harness, path));
  EXPECT_TRUE(test::bytes_of(path) == expected(5));
  harness.set_video(kVideo);
  push(harness, 5, 9);
  harness.set_video({GST_VIDEO_FORMAT_GRAY8, kSide, kSide - 1});
  EXPECT_EQ(harness.push(buffer(harness, 9)), GST_FLOW_NOT_NEGOTIATED);
  gst_element_set_state(harness.element(), GST_STATE_NULL);
  EXPECT_TRUE(test::bytes_of(path) == expected(9));
}

// Fails if a save that failed at the end of the stream, or had no name yet, is not made up for when
// the element stops.
TEST_F(LearningElement, FailedSaveIsMadeUpFor) {
  const std::string path = folder_ / "later.ocellus";
  for (const std::string& first : {folder_ / "none/model.ocellus", std::string()}) {
    std::remove(path.c_str());
    Harness harness(properties(), kVideo, kElement);
    g_object_set(harness.element(), "save-location", first.c_str(), nullptr);
    harness.start();
    push(harness, 0, 7);
    harness.event(gst_event_new_eos());
    EXPECT_EQ(harness.count_messages(GST_MESSAGE_WARNING), first.empty() ? 0 : 1);
    g_object_set(harness.element(), "save-location", path.c_str(), nullptr);
    gst_element_set_state(harness.element(), GST_STATE_NULL);
    EXPECT_TRUE(test::bytes_of(path) == expected(7)) << first;
  }
}

// Fails if a stream that begins with a saved model is not the one that was interrupted.
TEST_F(LearningElement, ContinuesFromItsFile) {
  const std::string path = folder_ / "half.ocellus";
  {
    Harness harness(properties("save-location=" + path), kVideo, kElement);
    harness.start();
    push(harness, 0, 9);
    harness.event(gst_event_new_eos());
  }
  Harness harness(properties("model=" + path + " save-location=" + path), kVideo, kElement);
  harness.start();
  push(harness, 9, 25);
  harness.event(gst_event_new_eos());
  EXPECT_TRUE(test::bytes_of(path) == expected(25));
}

// Fails if a discontinuity, a flush, or new caps drop what was learned.
TEST_F(LearningElement, KeepsWhatWasLearned) {
  const std::string path = folder_ / "saved.ocellus";
  Harness harness(properties("layout=tiles tile-width=16 tile-height=16 depth=2"), kVideo,
                  kElement);
  harness.start();
  push(harness, 0, 5);
  GstBuffer* late = buffer(harness, 5);
  GST_BUFFER_PTS(late) = 20 * GST_SECOND;
  GST_BUFFER_FLAG_SET(late, GST_BUFFER_FLAG_DISCONT);
  ASSERT_EQ(harness.push(late), GST_FLOW_OK);
  harness.event(gst_event_new_gap(21 * GST_SECOND, GST_SECOND));
  ASSERT_TRUE(save(harness, path));
  EXPECT_TRUE(test::bytes_of(path) == expected(6));
  harness.event(gst_event_new_flush_start());
  harness.event(gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  harness.event(gst_event_new_segment(&segment));
  // Tiles that are not whole are not there, so that the picture is still one patch.
  harness.set_video({GST_VIDEO_FORMAT_GRAY8, kSide + 12, kSide + 4});
  push(harness, 6, 9);
  harness.set_video({GST_VIDEO_FORMAT_GRAY8, kSide + 8, kSide});
  push(harness, 9, 12);
  ASSERT_TRUE(save(harness, path));
  EXPECT_TRUE(test::bytes_of(path) == expected(12));
  EXPECT_EQ(harness.message(GST_MESSAGE_WARNING), nullptr);
}

// Fails if frames that are too late for their budget, or that downstream skips, teach nothing.
TEST_F(LearningElement, LateFramesTeach) {
  const std::string path = folder_ / "saved.ocellus";
  for (const char* miss : {"drop", "reuse", "passthrough", "post"}) {
    Harness harness(properties(std::string("budget=1 on-miss=") + miss), kVideo, kElement);
    harness.start();
    push(harness, 0, 8);
    gst_harness_push_upstream_event(
        harness.get(),
        gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.0, 100 * GST_SECOND, harness.pts(8)));
    push(harness, 8, 11);
    harness.event(gst_event_new_eos());
    ASSERT_TRUE(save(harness, path));
    EXPECT_TRUE(test::bytes_of(path) == expected(11)) << miss;
  }
}

// The process time of all threads.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Of blocks of frames, in microseconds per frame.
struct Times {
  double median = 0.0;
  double low = 0.0;  // of the fastest tenth, the slowest
};
Times times_of(std::vector<double> seconds, int frames) {
  std::sort(seconds.begin(), seconds.end());
  const double unit = 1e6 / frames;
  return {seconds[seconds.size() / 2] * unit, seconds[seconds.size() / 10] * unit};
}

// A stream whose buffers come from a pool, so that all allocations are those of the element and of
// GStreamer's base class.
class SlowLearningElement : public LearningElement {
 protected:
  void run(int frames, int saves) {
    // The bus keeps messages that nobody reads.
    Harness harness(properties("messages=none"), kVideo, kElement);
    gst_harness_set_drop_buffers(harness.get(), TRUE);
    harness.start();
    GstBufferPool* pool = gst_buffer_pool_new();
    GstStructure* settings = gst_buffer_pool_get_config(pool);
    GstCaps* caps = caps_of(kVideo);
    gst_buffer_pool_config_set_params(settings, caps, kSide * kSide, 4, 4);
    gst_caps_unref(caps);
    ASSERT_TRUE(gst_buffer_pool_set_config(pool, settings));
    ASSERT_TRUE(gst_buffer_pool_set_active(pool, TRUE));

    // Another thread saves now and then.
    std::atomic<int> done{0};
    int saved = 0;
    std::thread saver([&] {
      const std::string path = folder_ / "during.ocellus";
      for (int i = 1; i <= saves; ++i) {
        while (done.load() < frames / (saves + 1) * i)
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        saved += save(harness, path) ? 1 : 0;
      }
    });

    constexpr int kBlock = 1000;
    std::vector<double> seconds(static_cast<std::size_t>(frames / kBlock));
    int failed = 0;
    double begin = 0.0;
    // While no other thread saves.
    const bool counts_calls = test::interposer_present() && frames / (saves + 1) > 2 * kArmed;
    test::AllocationCounts counts{};
    for (int i = 0; i < frames; ++i) {
      if (i % kBlock == 0) begin = cpu_seconds();
      if (counts_calls && i == kArmed) test::arm_interposer();
      GstBuffer* next = nullptr;
      if (gst_buffer_pool_acquire_buffer(pool, &next, nullptr) != GST_FLOW_OK) ++failed;
      gst_buffer_fill(next, 0, picture(i), kSide * kSide);
      GST_BUFFER_PTS(next) = harness.pts(i);
      if (gst_harness_push(harness.get(), next) != GST_FLOW_OK) ++failed;
      if (counts_calls && i == 2 * kArmed) counts = test::disarm_interposer();
      if (i % kBlock == kBlock - 1)
        seconds[static_cast<std::size_t>(i / kBlock)] = cpu_seconds() - begin;
      done.store(i + 1);
    }
    saver.join();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(saved, saves);
    EXPECT_EQ(harness.stat("frames"), static_cast<guint64>(frames));
    if (counts_calls) {
      EXPECT_EQ(counts.allocations, 0u);
      EXPECT_EQ(counts.frees, 0u);
    }
    const std::string path = folder_ / "end.ocellus";
    ASSERT_TRUE(save(harness, path));
    EXPECT_TRUE(test::bytes_of(path) == expected(frames));
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);

    const auto tenth = static_cast<std::ptrdiff_t>(seconds.size() / 10);
    const Times first = times_of({seconds.begin(), seconds.begin() + tenth}, kBlock);
    const Times last = times_of({seconds.end() - tenth, seconds.end()}, kBlock);
    std::printf("CPU time per frame, us: first tenth median %.2f, low %.2f; last %.2f, %.2f\n",
                first.median, first.low, last.median, last.low);
    // What else runs on the machine makes blocks slower, but not all of them.
    EXPECT_LT(last.low, 1.3 * first.low);
  }

  static constexpr int kArmed = 5000;
};

/// Bytes of the heap that are in use, and pages of the process.
std::pair<std::size_t, long> memory_in_use() {
  long all = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return {mallinfo2().uordblks, resident};
}

// Fails if a frame that teaches allocates, if memory grows over a million frames, if a frame takes
// longer at the end than at the begin, or if a save beside the stream loses a frame or blocks it
// for ever.
TEST_F(SlowLearningElement, AMillionFrames) {
  const char* const backend = std::getenv("OCELLUS_TEST_BACKEND");
  if (backend != nullptr && std::string(backend) == "cuda")
    GTEST_SKIP() << "threads of the driver allocate, and its memory grows";
  run(20000, 2);
  const auto before = memory_in_use();
  run(1000000, 9);
  const auto after = memory_in_use();
  EXPECT_LT(after.first, before.first + 64 * 1024);
  EXPECT_LT(after.second, before.second + 256);
}

}  // namespace
}  // namespace ocellus::gst_test
