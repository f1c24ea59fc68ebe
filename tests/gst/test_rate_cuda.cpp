// The rate of the elements on a device, with pictures in CUDA memory, against that of the library.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "gst/cuda_fixture.h"
#include "support/operator_cases.h"

namespace ocellus::gst_test {
namespace {

/// An element and its operator with the same options.
struct RateCase {
  const char* name;
  const char* element;
  const char* operator_name;
  std::vector<OptionSetting> settings;
  const char* properties;  ///< further properties of the element
  /// Where the element has the planes written: a meta is in pinned memory, video in CUDA memory.
  MemorySpace results;
};

void PrintTo(const RateCase& made, std::ostream* out) {
  *out << made.name;
}

constexpr Video kHd{GST_VIDEO_FORMAT_NV12, 1920, 1080, 30, 1};

// Returns the frames per second of the library with frames in CUDA memory.
double library_rate(const RateCase& made, int depth, int frames) {
  OperatorConfig config(*find_operator(made.operator_name));
  test::must(config.set_options(made.settings));
  test::must(config.set_option("depth", std::to_string(depth)));
  config.set_input({kHd.width, kHd.height}, PixelFormat::kGray8);
  EngineConfig engine_config;
  engine_config.backend.choice = BackendChoice::kCuda;
  const std::size_t image_bytes = std::size_t{kHd.width} * std::size_t{kHd.height};
  const std::size_t result_bytes = 4 * image_bytes * sizeof(float);
  for (int i = 0; i < depth; ++i) {
    engine_config.memory += Buffer::footprint(MemorySpace::kCuda, image_bytes);
    engine_config.memory += Buffer::footprint(made.results, result_bytes);
  }
  Engine engine = test::must(create_engine(engine_config, {config}));
  OperatorHandle handle = test::must(config.create(engine));
  EXPECT_LE(test::out_bytes(handle.info()), result_bytes);
  std::vector<Buffer> images;
  std::vector<Buffer> results;
  for (int i = 0; i < depth; ++i) {
    images.push_back(test::must(Buffer::create(engine, MemorySpace::kCuda, image_bytes)));
    results.push_back(test::must(Buffer::create(engine, made.results, result_bytes)));
    std::vector<std::uint8_t> pixels(image_bytes);
    for (std::size_t p = 0; p < pixels.size(); ++p)
      pixels[p] = static_cast<std::uint8_t>(
          127.5 + 100.0 * std::sin(0.3 * static_cast<double>(p % kHd.width) + 0.2 * i));
    EXPECT_TRUE(images.back().write(0, pixels.data(), pixels.size()));
  }
  std::vector<Ticket> tickets(static_cast<std::size_t>(depth));
  const auto run = [&](int count) {
    for (int i = 0; i < count + depth; ++i) {
      const auto slot = static_cast<std::size_t>(i % depth);
      if (i >= depth) {
        EXPECT_TRUE(handle.wait(tickets[slot], Deadline::never()));
      }
      if (i >= count) continue;
      Frame frame;
      frame.data = images[slot].data();
      frame.size = {kHd.width, kHd.height};
      frame.stride = kHd.width;
      frame.space = MemorySpace::kCuda;
      tickets[slot] = test::must(
          handle.submit(frame, test::output_at(results[slot].data(), handle.info(), made.results)));
    }
  };
  run(60);
  const auto begin = std::chrono::steady_clock::now();
  run(frames);
  return frames / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string properties_of(const RateCase& made, int depth) {
  std::string text = "backend=cuda depth=" + std::to_string(depth) + " " + made.properties;
  for (const OptionSetting& setting : made.settings) {
    std::string name(setting.name);
    std::replace(name.begin(), name.end(), '_', '-');
    text += " " + name + "=" + std::string(setting.value);
  }
  return text;
}

// Returns the frames per second of an element whose pictures are in CUDA memory of its own context.
double element_rate(const RateCase& made, int depth, int frames) {
  Harness harness(properties_of(made, depth), kHd, made.element);
  start_cuda(harness, kHd);
  GstCudaContext* context = offered_context(harness.get()->srcpad);
  GstBufferPool* pool = cuda_pool(context, kHd, 4);
  std::vector<GstBuffer*> pictures;
  for (int i = 0; i < 4; ++i) pictures.push_back(cuda_frame(harness, pool, kHd, i));
  int pushed = 0;
  const auto run = [&](int count) {
    for (const int end = pushed + count; pushed < end; ++pushed) {
      GstBuffer* buffer = gst_buffer_copy(pictures[static_cast<std::size_t>(pushed % 4)]);
      GST_BUFFER_PTS(buffer) = harness.pts(pushed);
      EXPECT_EQ(harness.push(buffer), GST_FLOW_OK);
      harness.drop_output();
    }
  };
  run(60);
  const auto begin = std::chrono::steady_clock::now();
  run(frames);
  const double rate =
      frames / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(harness.stat("copies"), 0u);
  unref_all(pictures);
  drop_pool(pool);
  gst_object_unref(context);
  return rate;
}

class CudaRate : public CudaTest, public testing::WithParamInterface<RateCase> {};

// Fails when a pipeline with several frames in flight does not reach the rate of the library at the
// same depth. Also fails when the reported latency is not that of the frames in flight.
TEST_P(CudaRate, DepthReachesTheRateOfTheLibrary) {
  const RateCase& made = GetParam();
  for (const int depth : {1, 2, 3, 4}) {
    double library = 0.0;
    double element = 0.0;
    for (int turn = 0; turn < 3; ++turn) {
      library = std::max(library, library_rate(made, depth, 400));
      element = std::max(element, element_rate(made, depth, 400));
    }
    g_print("1920x1080, %s, depth %d: library %.0f, element %.0f frames/s, %.3f\n", made.name,
            depth, library, element, element / library);
    if (depth == 3) {
      EXPECT_GE(element, 0.9 * library);
    }
    Harness harness(properties_of(made, depth), kHd, made.element);
    start_cuda(harness, kHd);
    EXPECT_EQ(gst_harness_query_latency(harness.get()),
              gst_util_uint64_scale(GST_SECOND, static_cast<guint64>(depth - 1), 30));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaRate,
    testing::Values(
        RateCase{"flow_per_pixel",
                 "ocellusflow",
                 "flow",
                 {{"method", "kernels"}, {"kernels", "per-pixel"}},
                 "align=false",
                 MemorySpace::kPinned},
        RateCase{"flow", "ocellusflow", "flow", {}, "align=false", MemorySpace::kPinned},
        RateCase{"halftone", "ocellushalftone", "halftone", {}, "", MemorySpace::kCuda},
        RateCase{"halftone_fast",
                 "ocellushalftone",
                 "halftone",
                 {{"preset", "fast"}},
                 "",
                 MemorySpace::kCuda},
        RateCase{"cnn", "ocelluscnn", "cnn", {{"template", "edge"}}, "", MemorySpace::kCuda},
        RateCase{"restore", "ocellusrestore", "restore", {}, "", MemorySpace::kCuda}),
    [](const auto& made) { return std::string(made.param.name); });

}  // namespace
}  // namespace ocellus::gst_test
