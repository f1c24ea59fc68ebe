// The CUDA backend on a device: memory of every kind, many operators at once, steady state.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "conformance/conformance.h"

namespace ocellus::test {
namespace {

OpticalFlowConfig foveated_config(ImageSize size, int depth = 2) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
  config.depth = depth;
  config.kernels.form = KernelForm::kPerPixel;
  config.kernels.origin = KernelOrigin::kFoveated;
  config.kernels.nx = config.kernels.ny = 9;
  config.kernels.nt = 5;
  config.window = 7;
  return config;
}

/// Rows of floats in a buffer, `stride` bytes apart.
PlaneF read_plane(const Buffer& buffer, std::size_t offset, ImageSize size, std::size_t stride) {
  PlaneF plane(size.width, size.height);
  std::vector<float> row(static_cast<std::size_t>(size.width));
  for (int y = 0; y < size.height; ++y) {
    must(buffer.read(offset + static_cast<std::size_t>(y) * stride, row.data(),
                     row.size() * sizeof(float)));
    for (int x = 0; x < size.width; ++x) plane.at(x, y) = row[static_cast<std::size_t>(x)];
  }
  return plane;
}

// Fails when frames or results in pinned or device memory are read or written at another place, or
// give another result than those in ordinary memory.
TEST_F(OnDevice, EveryKindOfMemoryGivesTheSameResult) {
  const ImageSize size{101, 67};
  const OpticalFlowConfig config = foveated_config(size);
  const auto frames = noise_frames(size, PixelFormat::kGray8, 9, 5);
  const Results expected = run<OpticalFlow>(config, frames, 2, 1, BackendChoice::kCuda);

  constexpr std::size_t kInStride = 112;
  constexpr std::size_t kOutStride = 420;
  const std::size_t in_bytes = kInStride * static_cast<std::size_t>(size.height);
  const std::size_t plane_bytes = kOutStride * static_cast<std::size_t>(size.height);
  for (const MemorySpace in_space :
       {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
    for (const MemorySpace out_space :
         {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
      SCOPED_TRACE("in " + std::to_string(static_cast<int>(in_space)) + " out " +
                   std::to_string(static_cast<int>(out_space)));
      EngineConfig settings = engine_config(1, BackendChoice::kCuda);
      settings.memory = must(OpticalFlow::footprint(must(Engine::probe(settings)), config)) +
                        Buffer::footprint(in_space, in_bytes) +
                        Buffer::footprint(out_space, 3 * plane_bytes);
      Engine engine = must(Engine::create(settings));
      OpticalFlow flow = must(OpticalFlow::create(engine, config));
      Buffer in = must(Buffer::create(engine, in_space, in_bytes));
      Buffer out = must(Buffer::create(engine, out_space, 3 * plane_bytes));
      for (std::size_t f = 0; f < frames.size(); ++f) {
        const Frame host = frames[f].frame(f);
        for (int y = 0; y < size.height; ++y)
          must(in.write(static_cast<std::size_t>(y) * kInStride,
                        static_cast<const char*>(host.data) + y * host.stride,
                        static_cast<std::size_t>(size.width)));
        Frame frame = host;
        frame.data = in.data();
        frame.stride = kInStride;
        frame.space = in_space;
        const FlowOutput view = planes_at(out.data(), plane_bytes, size, kOutStride, out_space);
        const FrameInfo info = must(flow.wait(must(flow.submit(frame, view)), Deadline::never()));
        EXPECT_EQ(info.sequence, f);
        EXPECT_EQ(info.described_sequence, expected.infos[f].described_sequence);
        for (std::size_t p = 0; p < 3; ++p) {
          EXPECT_TRUE(
              same_bytes(read_plane(out, p * plane_bytes, size, kOutStride), expected.planes[f][p]))
              << "frame " << f << " plane " << p;
        }
      }
    }
  }
}

// Fails when a large result, which comes to ordinary memory in chunks, is not the one of pinned
// memory, which does not: with threads that help and without, several frames in flight, a region of
// interest of a few rows more than the chunks are even, a plane that is not asked for, and
// deadlines that pass between two chunks.
TEST_F(OnDevice, LargeResultsComeInChunks) {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels({1200, 811});
  config.roi = {3, 2, 1190, 805};
  config.depth = 3;
  config.kernels.nx = config.kernels.ny = 3;
  config.kernels.nt = 2;
  config.window = 5;
  const ImageSize out_size{config.roi.width, config.roi.height};
  const std::size_t stride = static_cast<std::size_t>(out_size.width) * sizeof(float);
  const std::size_t plane_bytes = stride * static_cast<std::size_t>(out_size.height);
  const auto frames = noise_frames(config.size, PixelFormat::kGray8, 6, 11);
  for (const int copy_threads : {0, 1, 3}) {
    for (const DeviceWait mode : {DeviceWait::kSpin, DeviceWait::kBlock}) {
      SCOPED_TRACE(std::to_string(copy_threads) + " copy threads, waiting " +
                   std::to_string(static_cast<int>(mode)));
      EngineConfig settings = engine_config(1, BackendChoice::kCuda);
      settings.device_copy_threads = copy_threads;
      settings.device_wait = mode;
      const Footprint one = must(OpticalFlow::footprint(must(Engine::probe(settings)), config));
      settings.memory = one + one + Buffer::footprint(MemorySpace::kPinned, 3 * plane_bytes);
      Engine engine = must(Engine::create(settings));
      OpticalFlow flow = must(OpticalFlow::create(engine, config));
      OpticalFlow other = must(OpticalFlow::create(engine, config));
      Buffer pinned = must(Buffer::create(engine, MemorySpace::kPinned, 3 * plane_bytes));
      auto* const wanted = static_cast<float*>(pinned.data());
      const std::size_t plane = plane_bytes / sizeof(float);

      std::vector<std::vector<float>> results;
      for (std::size_t f = 0; f < frames.size(); ++f) {
        const FlowOutput view =
            planes_at(wanted, plane_bytes, out_size, stride, MemorySpace::kPinned);
        must(other.wait(must(other.submit(frames[f].frame(f), view)), Deadline::never()));
        results.emplace_back(wanted, wanted + 3 * plane);
      }

      constexpr float kUntouched = -12345.0f;
      constexpr std::size_t kPadding = 7;
      const std::size_t columns = static_cast<std::size_t>(out_size.width) + kPadding;
      const std::size_t room = columns * static_cast<std::size_t>(out_size.height);
      std::vector<std::vector<float>> outs(3, std::vector<float>(3 * room, kUntouched));
      std::vector<Ticket> tickets(3);
      int missed = 0;
      for (std::size_t first = 0; first < frames.size(); first += 3) {
        for (std::size_t slot = 0; slot < 3; ++slot) {
          const std::size_t f = first + slot;
          std::fill(outs[slot].begin(), outs[slot].end(), kUntouched);
          FlowOutput view = planes_at(outs[slot].data(), room * sizeof(float), out_size,
                                      columns * sizeof(float), MemorySpace::kHost);
          if (f % 2 == 1) view.confidence = {};
          tickets[slot] = must(flow.submit(frames[f].frame(f), view));
        }
        // The last one first: while others were copied, it would come to its end.
        for (const Ticket& ticket : {tickets[2], tickets[0], tickets[1]}) {
          for (;;) {
            // Sleeping takes longer than what is slept for.
            const auto patience = std::chrono::microseconds(mode == DeviceWait::kBlock ? 0 : 10);
            const auto done = flow.wait(ticket, Deadline::after(patience));
            if (done) break;
            ASSERT_EQ(done.error().status, Status::kDeadlineMissed) << done.error().text;
            ++missed;
          }
        }
        for (std::size_t slot = 0; slot < 3; ++slot) {
          const std::size_t f = first + slot;
          for (std::size_t p = 0; p < 3; ++p) {
            for (std::size_t i = 0; i < room; ++i) {
              const std::size_t x = i % columns;
              const std::size_t y = i / columns;
              const bool inside = x + kPadding < columns && !(p == 2 && f % 2 == 1);
              const float expected =
                  inside ? results[f][p * plane + y * (columns - kPadding) + x] : kUntouched;
              ASSERT_EQ(std::memcmp(&outs[slot][p * room + i], &expected, sizeof(float)), 0)
                  << "frame " << f << " plane " << p << " at (" << x << ", " << y << ")";
            }
          }
        }
      }
      EXPECT_GT(missed, 0) << "no deadline passed: that path was not tested";
    }
  }
}

// Fails when a frame or planes in device memory must be aligned to more than a pixel or a float, or
// when something is written beside the planes. The sizes are no multiples of what the kernels work
// in; the larger one takes larger pieces.
TEST_F(OnDevice, NoAlignmentIsAskedFor) {
  constexpr unsigned char kUntouched = 0x5a;
  for (const ImageSize size : {ImageSize{101, 67}, {641, 403}}) {
    for (const std::size_t shift : {0, 1, 2, 3}) {
      const auto columns = static_cast<std::size_t>(size.width);
      const auto rows = static_cast<std::size_t>(size.height);
      // Without a shift all rows begin on 16 bytes, with one hardly any.
      const std::size_t stride = (columns + 3 + shift) * sizeof(float);
      const std::size_t plane = stride * rows + (shift == 0 ? 0 : sizeof(float));
      const std::size_t bytes = 3 * plane + 16;
      const std::size_t in_stride = columns + shift;
      OpticalFlowConfig config = foveated_config(size);
      config.kernels.nx = config.kernels.ny = 3;
      config.kernels.nt = 2;
      config.window = shift % 2 == 0 ? 15 : 5;
      SCOPED_TRACE(std::to_string(size.width) + " columns, shift " + std::to_string(shift));
      const auto frames = noise_frames(size, PixelFormat::kGray8, 3, 6);
      const Results expected = run<OpticalFlow>(config, frames, 2, 1, BackendChoice::kCuda);

      EngineConfig settings = engine_config(1, BackendChoice::kCuda);
      settings.memory = must(OpticalFlow::footprint(must(Engine::probe(settings)), config)) +
                        Buffer::footprint(MemorySpace::kCuda, in_stride * rows + shift) +
                        Buffer::footprint(MemorySpace::kCuda, bytes);
      Engine engine = must(Engine::create(settings));
      OpticalFlow flow = must(OpticalFlow::create(engine, config));
      Buffer in = must(Buffer::create(engine, MemorySpace::kCuda, in_stride * rows + shift));
      Buffer out = must(Buffer::create(engine, MemorySpace::kCuda, bytes));
      const std::vector<unsigned char> untouched(bytes, kUntouched);
      std::vector<unsigned char> got(bytes);
      for (std::size_t f = 0; f < frames.size(); ++f) {
        const Frame host = frames[f].frame(f);
        for (int y = 0; y < size.height; ++y)
          must(in.write(shift + static_cast<std::size_t>(y) * in_stride,
                        static_cast<const char*>(host.data) + y * host.stride, columns));
        must(out.write(0, untouched.data(), bytes));
        Frame frame = host;
        frame.data = static_cast<const char*>(in.data()) + shift;
        frame.stride = static_cast<std::ptrdiff_t>(in_stride);
        frame.space = MemorySpace::kCuda;
        const FlowOutput view = planes_at(static_cast<float*>(out.data()) + shift, plane, size,
                                          stride, MemorySpace::kCuda);
        must(flow.wait(must(flow.submit(frame, view)), Deadline::never()));

        must(out.read(0, got.data(), bytes));
        std::vector<unsigned char> wanted = untouched;
        for (std::size_t p = 0; p < 3; ++p) {
          for (std::size_t y = 0; y < rows; ++y)
            std::memcpy(&wanted[shift * sizeof(float) + p * plane + y * stride],
                        &expected.planes[f][p].data[y * columns], columns * sizeof(float));
        }
        EXPECT_TRUE(got == wanted) << "frame " << f;
      }
    }
  }
}

// Fails when operators on one engine disturb each other, dead-lock, or lose a frame: four threads,
// each with an operator of its own and six frames in flight.
TEST_F(OnDevice, FourThreadsWithSixFramesInFlightEach) {
  constexpr int kThreads = 4;
  constexpr int kDepth = 6;
  constexpr std::size_t kFrames = 60;
  std::vector<OpticalFlowConfig> configs;
  for (int t = 0; t < kThreads; ++t) {
    OpticalFlowConfig config = foveated_config({64 + 13 * t, 48 + 7 * t}, kDepth);
    if (t % 2 == 1) {
      config.kernels.form = KernelForm::kUniform;
      config.kernels.origin = KernelOrigin::kGaussian;
    }
    configs.push_back(config);
  }
  std::vector<std::vector<FrameBuffer>> frames;
  std::vector<Results> expected;
  for (int t = 0; t < kThreads; ++t) {
    const auto i = static_cast<std::size_t>(t);
    frames.push_back(noise_frames(configs[i].size, PixelFormat::kGray8, kFrames,
                                  31U + static_cast<unsigned>(t)));
    expected.push_back(run<OpticalFlow>(configs[i], frames[i], 1, 1, BackendChoice::kCuda));
  }

  EngineConfig settings = engine_config(2, BackendChoice::kCuda);
  settings.device_stream_sets = 3;  // two of the four share one
  const EngineInfo info = must(Engine::probe(settings));
  for (const OpticalFlowConfig& config : configs)
    settings.memory += must(OpticalFlow::footprint(info, config));
  Engine engine = must(Engine::create(settings));
  std::vector<OpticalFlow> flows;
  for (const OpticalFlowConfig& config : configs)
    flows.push_back(must(OpticalFlow::create(engine, config)));
  std::vector<Results> got(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { got[t] = send(flows[t], frames[t], kDepth); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kThreads; ++t) {
    ASSERT_EQ(got[t].planes.size(), kFrames);
    for (std::size_t f = 0; f < kFrames; ++f) {
      EXPECT_EQ(got[t].infos[f].sequence, f);
      for (std::size_t p = 0; p < 3; ++p)
        ASSERT_TRUE(same_bytes(got[t].planes[f][p], expected[t].planes[f][p]))
            << "thread " << t << " frame " << f << " plane " << p;
    }
  }
}

// Fails when the first frame takes longer than the others (code loaded late), or when device memory
// goes.
TEST_F(OnDevice, SteadyFromTheFirstFrame) {
  const OpticalFlowConfig config = foveated_config({320, 240});
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  const std::size_t in_bytes = 320 * 240;
  const std::size_t plane_bytes = 320 * 240 * sizeof(float);
  settings.memory = must(OpticalFlow::footprint(must(Engine::probe(settings)), config)) +
                    Buffer::footprint(MemorySpace::kCuda, in_bytes) +
                    Buffer::footprint(MemorySpace::kCuda, 3 * plane_bytes);
  Engine engine = must(Engine::create(settings));
  OpticalFlow flow = must(OpticalFlow::create(engine, config));
  Buffer in = must(Buffer::create(engine, MemorySpace::kCuda, in_bytes));
  Buffer out = must(Buffer::create(engine, MemorySpace::kCuda, 3 * plane_bytes));
  const auto noise_frame = noise_frames(config.size, PixelFormat::kGray8, 1, 3);
  for (int y = 0; y < 240; ++y)
    must(in.write(
        static_cast<std::size_t>(y) * 320,
        static_cast<const char*>(noise_frame[0].frame(0).data) + y * noise_frame[0].frame(0).stride,
        320));
  Frame frame;
  frame.data = in.data();
  frame.size = config.size;
  frame.stride = 320;
  frame.space = MemorySpace::kCuda;
  const FlowOutput view =
      planes_at(out.data(), plane_bytes, config.size, 320 * sizeof(float), MemorySpace::kCuda);
  constexpr int kFrames = 1000;
  std::vector<std::int64_t> times;
  times.reserve(kFrames);
  const MemoryUse before = engine.memory_use();
  for (int f = 0; f < kFrames; ++f)
    times.push_back(must(flow.wait(must(flow.submit(frame, view)), Deadline::never())).compute_ns);
  EXPECT_EQ(engine.memory_use().used, before.used);
  const std::int64_t first = times.front();
  std::sort(times.begin(), times.end());
  const std::int64_t p50 = times[kFrames / 2];
  RecordProperty("p50_ns", std::to_string(p50));
  EXPECT_LE(first, 3 * p50) << "the first frame of " << p50 << " ns";
}

// Fails when memory of a device is given out on the CPU, or a copy may pass a buffer's end.
TEST(Buffers, RefuseWhatTheyCannotDo) {
  EngineConfig settings = engine_config(1, BackendChoice::kCpu);
  settings.memory = Buffer::footprint(MemorySpace::kHost, 100);
  EXPECT_EQ(settings.memory.host, 128u);
  Engine engine = must(Engine::create(settings));
  for (const MemorySpace space : {MemorySpace::kPinned, MemorySpace::kCuda}) {
    const auto refused = Buffer::create(engine, space, 100);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kUnsupported);
    EXPECT_NE(std::string(refused.error().text).find("the backend is cpu"), std::string::npos);
  }
  EXPECT_FALSE(Buffer::create(engine, MemorySpace::kHost, 0));
  Buffer buffer = must(Buffer::create(engine, MemorySpace::kHost, 100));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kMemoryAlignment, 0u);
  const char text[] = "ocellus";
  char back[sizeof(text)] = {};
  must(buffer.write(92, text, sizeof(text)));
  must(buffer.read(92, back, sizeof(back)));
  EXPECT_STREQ(back, text);
  EXPECT_FALSE(buffer.write(93, text, sizeof(text)));
  EXPECT_FALSE(buffer.read(~std::size_t{0}, back, 1));
  Buffer moved = std::move(buffer);
  EXPECT_EQ(engine.memory_use().pieces, 1);
  { const Buffer gone = std::move(moved); }
  EXPECT_EQ(engine.memory_use().pieces, 0);
}

// Fails when the number of pieces that a block gives out ends without a word, or as if memory were
// missing.
TEST(Buffers, AreSoManyAtMost) {
  EngineConfig settings = engine_config(1, BackendChoice::kCpu);
  settings.memory = Buffer::footprint(MemorySpace::kHost, 300 * 64);
  Engine engine = must(Engine::create(settings));
  std::vector<Buffer> buffers;
  for (int i = 0; i < 256; ++i)
    buffers.push_back(must(Buffer::create(engine, MemorySpace::kHost, 64)));
  const auto refused = Buffer::create(engine, MemorySpace::kHost, 64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
  EXPECT_NE(std::string(refused.error().text).find("256 pieces"), std::string::npos)
      << refused.error().text;
  buffers.pop_back();
  EXPECT_TRUE(Buffer::create(engine, MemorySpace::kHost, 64));
}

}  // namespace
}  // namespace ocellus::test
