// Tests with pictures in CUDA memory. Compiled twice: for the plugin and a device, and
// (OCELLUS_FAKE_CUDA) for the elements alone over drivers that are none, which need no GPU, compute
// nothing, and find out memory that is used in a wrong context.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "gst/cuda_support.h"

#ifdef OCELLUS_FAKE_CUDA
#include "gst/fake_libcuda.h"
#include "kernels/fake_driver.h"
#else
#include <cuda_runtime_api.h>
#endif

namespace ocellus::gst_test {

#ifdef OCELLUS_FAKE_CUDA
inline constexpr bool kComputes = false;

inline void expect_nothing_left() {
  const FakeLibcuda& driver = *fake_libcuda();
  EXPECT_EQ(driver.primary_retained, 0);
  EXPECT_EQ(driver.contexts, 0);
  EXPECT_EQ(driver.blocks, 0);
  EXPECT_EQ(driver.streams, 0);
  EXPECT_EQ(driver.pushed, 0);
  EXPECT_TRUE(test::fake_driver().empty());
}

/// How much of everything the two drivers hold, to be compared with a later count.
inline auto held() {
  const FakeLibcuda& driver = *fake_libcuda();
  const test::FakeDriver& runtime = test::fake_driver();
  return std::tuple(driver.blocks, driver.contexts, driver.streams, driver.primary_retained,
                    runtime.device_blocks.size(), runtime.host_blocks.size(),
                    runtime.streams.size(), runtime.events.size(), runtime.contexts);
}
#else
inline constexpr bool kComputes = true;

// What is left on a device is seen by its contexts, which the tests watch.
inline void expect_nothing_left() {}
#endif

inline constexpr Video kCudaVideo{GST_VIDEO_FORMAT_NV12, 96, 64};

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef OCELLUS_FAKE_CUDA
    test::reset_fake_driver();
    *fake_libcuda() = FakeLibcuda{};
#endif
    ASSERT_TRUE(gst_cuda_load_library());
    gst_cuda_memory_init_once();
  }
  void TearDown() override {
    if (!HasFailure()) expect_nothing_left();
  }
};

inline void start_cuda(Harness& harness, const Video& video) {
  gst_harness_set_src_caps(harness.get(), cuda_caps_of(video));
}

inline GstMemory* first_memory(GstBuffer* buffer) {
  return gst_buffer_peek_memory(buffer, 0);
}

inline GstBuffer* cuda_frame(Harness& harness, GstBufferPool* pool, const Video& video, int index,
                             bool settle = true) {
  GstBuffer* picture = harness.frame(index);
  GstBuffer* buffer = to_cuda(pool, video, picture, settle);
  gst_buffer_unref(picture);
  return buffer;
}

/// Pushes frames from a pool of kCudaVideo and shows `see` what comes out of it. Expects that the
/// drivers, where they can be asked, hold no more at the end than after the first frames.
inline void push_and_expect_nothing_new(Harness& harness, GstBufferPool* pool, int frames,
                                        const std::function<void(GstBuffer*)>& see) {
#ifdef OCELLUS_FAKE_CUDA
  auto before = held();
#endif
  for (int i = 0; i < frames; ++i) {
    ASSERT_EQ(harness.push(cuda_frame(harness, pool, kCudaVideo, i)), GST_FLOW_OK);
#ifdef OCELLUS_FAKE_CUDA
    // The host's side of a picture is made when it is written first.
    if (i == 20) before = held();
#endif
    while (GstBuffer* buffer = gst_harness_try_pull(harness.get())) {
      see(buffer);
      gst_buffer_unref(buffer);
    }
  }
#ifdef OCELLUS_FAKE_CUDA
  EXPECT_EQ(held(), before);
#endif
}

inline void drop_pool(GstBufferPool* pool) {
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

#ifdef OCELLUS_FAKE_CUDA

/// What came of one stream of six frames over a driver that fails.
struct Loss {
  int passed = 0;
  int failed = 0;
  std::string error, warning, debug, backend;
  bool results = true;  ///< all that went out have one
};

/// The texts of all errors and warnings on the bus.
inline void read_messages(Harness& harness, Loss* loss) {
  while (GstMessage* found = harness.message(
             static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))) {
    GError* error = nullptr;
    gchar* debug = nullptr;
    if (GST_MESSAGE_TYPE(found) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(found, &error, &debug);
      loss->error += error->message;
    } else {
      gst_message_parse_warning(found, &error, &debug);
      loss->warning += error->message;
    }
    if (debug != nullptr) loss->debug += debug;
    g_error_free(error);
    g_free(debug);
    gst_message_unref(found);
  }
}

/// A stream of `factory`'s element whose device is lost at some call of its fourth frame. Whether a
/// buffer that went out has its result `has_result` says.
inline Loss lose(const char* factory, bool (*has_result)(GstBuffer*), const std::string& policy,
                 long call, bool in_cuda, int depth) {
  test::FakeDriver& driver = test::fake_driver();
  Loss loss;
  Harness harness("backend=cuda on-device-loss=" + policy + " depth=" + std::to_string(depth),
                  kCudaVideo, factory);
  GstBufferPool* pool = nullptr;
  GstCudaContext* context = nullptr;
  if (in_cuda) {
    start_cuda(harness, kCudaVideo);
    context = offered_context(harness.get()->srcpad);
    pool = cuda_pool(context, kCudaVideo);
  } else {
    harness.start();
  }
  for (int i = 0; i < 6; ++i) {
    if (i == 3) {
      driver.fail_at = driver.calls + call;
      driver.failure = cudaErrorIllegalAddress;
      driver.stays_failed = true;
    }
    GstBuffer* buffer = in_cuda ? cuda_frame(harness, pool, kCudaVideo, i) : harness.frame(i);
    if (harness.push(buffer) == GST_FLOW_OK)
      ++loss.passed;
    else
      ++loss.failed;
    if (loss.failed > 0) break;
  }
  read_messages(harness, &loss);
  std::vector<GstBuffer*> out = harness.pull();
  for (GstBuffer* buffer : out) loss.results = loss.results && has_result(buffer);
  unref_all(out);
  gchar* backend = nullptr;
  g_object_get(harness.element(), "active-backend", &backend, nullptr);
  loss.backend = backend != nullptr ? backend : "";
  g_free(backend);
  if (pool != nullptr) drop_pool(pool);
  if (context != nullptr) gst_object_unref(context);
  return loss;
}

/// Expects that it ends the stream or goes on as on-device-loss says, and tells of the call, at
/// each call of a frame: `least` or more.
inline void lose_at_every_call(const char* factory, bool (*has_result)(GstBuffer*), int least) {
  for (const auto& [in_cuda, depth] :
       {std::pair(false, 1), std::pair(true, 1), std::pair(true, 3)}) {
    int lost = 0;
    for (long call = 0; call < 60; ++call) {
      for (const char* policy : {"error", "cpu"}) {
        test::reset_fake_driver();
        const Loss loss = lose(factory, has_result, policy, call, in_cuda, depth);
        const std::string failed = test::fake_driver().failed_call;
        SCOPED_TRACE(std::string(policy) + (in_cuda ? ", CUDA memory" : "") + ", depth " +
                     std::to_string(depth) + ", call " + std::to_string(call) + ", " + failed +
                     ": " + loss.error + " | " + loss.warning + " | " + loss.debug);
        if (failed.empty()) continue;  // the six frames make fewer calls
        // A context that cannot be put back is not heard of; the next call is, where there is one.
        if (failed == "cuCtxPopCurrent" && loss.failed == 0 && loss.warning.empty()) continue;
        ++lost;
        if (std::string(policy) == "error") {
          EXPECT_EQ(loss.failed, 1);
          // A context that cannot be put back is not heard of; the next call is then.
          if (failed != "cuCtxPopCurrent") {
            EXPECT_NE(loss.error.find(failed + " failed"), std::string::npos);
          }
          EXPECT_EQ(loss.backend, "cuda:0");
        } else {
          // The pictures of the driver that is none can be read by the host also after the loss.
          EXPECT_EQ(loss.passed, 6);
          EXPECT_EQ(loss.error, "");
          EXPECT_NE(loss.warning.find("CPU"), std::string::npos);
          if (failed != "cuCtxPopCurrent") {
            EXPECT_NE(loss.debug.find(failed + " failed"), std::string::npos);
          }
          EXPECT_EQ(loss.backend, "cpu");
          EXPECT_TRUE(loss.results);
        }
        if (testing::Test::HasFailure()) return;
      }
    }
    EXPECT_GE(lost, least);
  }
  test::reset_fake_driver();
}

/// Expects that a stream ends or goes on as on-device-loss says, and tells of the call, when `call`
/// of GStreamer's driver fails in the second frame. `foreign`: pictures come in another context
/// than the offered one.
inline void lose_in_second_frame(const char* factory, bool foreign, const std::string& call) {
  for (const char* policy : {"error", "cpu"}) {
    test::reset_fake_driver();
    fake_libcuda()->failure = 0;
    Harness harness(std::string("backend=cuda on-device-loss=") + policy, kCudaVideo, factory);
    start_cuda(harness, kCudaVideo);
    GstCudaContext* context =
        foreign ? gst_cuda_context_new(0) : offered_context(harness.get()->srcpad);
    GstBufferPool* pool = cuda_pool(context, kCudaVideo);
    ASSERT_EQ(harness.push(cuda_frame(harness, pool, kCudaVideo, 0)), GST_FLOW_OK);
    fake_libcuda()->failure = 700;
    const bool goes_on = std::string(policy) == "cpu";
    EXPECT_EQ(harness.push(cuda_frame(harness, pool, kCudaVideo, 1)),
              goes_on ? GST_FLOW_OK : GST_FLOW_ERROR);
    Loss loss;
    read_messages(harness, &loss);
    EXPECT_NE((goes_on ? loss.debug : loss.error).find(call + " failed"), std::string::npos)
        << loss.error << loss.debug;
    fake_libcuda()->failure = 0;
    harness.drop_output();
    drop_pool(pool);
    gst_object_unref(context);
  }
}

#endif

}  // namespace ocellus::gst_test
