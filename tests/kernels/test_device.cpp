// The CUDA backend on a device: every kind of memory, many operators at once, the first frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

class EveryOperatorOnDevice : public OnDevice, public testing::WithParamInterface<OperatorCase> {};
INSTANTIATE_TEST_SUITE_P(Operators, EveryOperatorOnDevice,
                         testing::ValuesIn(parallel_operator_cases()), case_label);

constexpr unsigned char kUntouched = 0x5a;

/// Frames and planes in buffers of any kind of memory: each row has `padding` more elements, and
/// the first one lies `shift` elements behind the begin of the buffer.
class Placed {
 public:
  Placed(const OperatorInfo& info, MemorySpace in, MemorySpace out, int padding, int shift)
      : info_(info), in_(in), out_(out), padding_(padding), shift_(shift) {
    for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
      // All planes begin on a multiple of 4 bytes, then `shift` elements behind it.
      offsets_.push_back(out_bytes_ + element(p) * static_cast<std::size_t>(shift));
      out_bytes_ += (stride(p) * static_cast<std::size_t>(info.planes[p].size.height) +
                     element(p) * static_cast<std::size_t>(shift) + 3) /
                    4 * 4;
    }
    in_pixel_ = static_cast<std::size_t>(bytes_per_pixel(info.format));
    in_stride_ = in_pixel_ * static_cast<std::size_t>(info.size.width + padding);
    in_bytes_ = in_stride_ * static_cast<std::size_t>(info.size.height) +
                in_pixel_ * static_cast<std::size_t>(shift);
  }
  Footprint footprint() const {
    return Buffer::footprint(in_, in_bytes_) + Buffer::footprint(out_, out_bytes_);
  }
  bool pinned_alone() const { return in_ == MemorySpace::kPinned && out_ == MemorySpace::kPinned; }
  void create(Engine& engine) {
    frame_.emplace(must(Buffer::create(engine, in_, in_bytes_)));
    planes_.emplace(must(Buffer::create(engine, out_, out_bytes_)));
  }
  Frame frame(const Frame& host) {
    const std::size_t first = in_pixel_ * static_cast<std::size_t>(shift_);
    for (int y = 0; y < info_.size.height; ++y)
      must(frame_->write(first + static_cast<std::size_t>(y) * in_stride_,
                         static_cast<const char*>(host.data) + y * host.stride,
                         static_cast<std::size_t>(row_bytes(info_.format, info_.size.width))));
    Frame frame = host;
    frame.data = static_cast<const char*>(frame_->data()) + first;
    frame.stride = static_cast<std::ptrdiff_t>(in_stride_);
    frame.space = in_;
    return frame;
  }
  OperatorOutput output() {
    const std::vector<unsigned char> untouched(out_bytes_, kUntouched);
    must(planes_->write(0, untouched.data(), out_bytes_));
    OperatorOutput out;
    for (std::size_t p = 0; p < offsets_.size(); ++p)
      out.planes[p] = {static_cast<char*>(planes_->data()) + offsets_[p],
                       info_.planes[p].size,
                       static_cast<std::ptrdiff_t>(stride(p)),
                       info_.planes[p].format,
                       out_,
                       nullptr};
    return out;
  }
  /// The planes have these bytes, and nothing else was written.
  void expect(const std::vector<std::vector<unsigned char>>& planes) const {
    std::vector<unsigned char> wanted(out_bytes_, kUntouched);
    for (std::size_t p = 0; p < offsets_.size(); ++p) {
      const std::size_t row = element(p) * static_cast<std::size_t>(info_.planes[p].size.width);
      for (std::size_t y = 0; y * row < planes[p].size(); ++y)
        std::memcpy(&wanted[offsets_[p] + y * stride(p)], &planes[p][y * row], row);
    }
    std::vector<unsigned char> got(out_bytes_);
    must(planes_->read(0, got.data(), out_bytes_));
    const auto first = std::mismatch(got.begin(), got.end(), wanted.begin()).first;
    if (first == got.end()) return;
    std::size_t differ = 0;
    for (std::size_t i = 0; i < out_bytes_; ++i) differ += got[i] != wanted[i] ? 1 : 0;
    const auto at = static_cast<std::size_t>(first - got.begin());
    ADD_FAILURE() << differ << " of " << out_bytes_ << " bytes differ, the first one at " << at
                  << ": " << int{got[at]} << " and not " << int{wanted[at]}
                  << "; rows of plane 0 have " << stride(0) << " bytes";
  }

 private:
  std::size_t element(std::size_t p) const {
    return static_cast<std::size_t>(bytes_per_pixel(info_.planes[p].format));
  }
  std::size_t stride(std::size_t p) const {
    return element(p) * static_cast<std::size_t>(info_.planes[p].size.width + padding_);
  }

  OperatorInfo info_;
  MemorySpace in_;
  MemorySpace out_;
  int padding_;
  int shift_;
  std::vector<std::size_t> offsets_;
  std::size_t out_bytes_ = 0;
  std::size_t in_pixel_ = 1;  // bytes
  std::size_t in_stride_ = 0;
  std::size_t in_bytes_ = 0;
  std::optional<Buffer> frame_;
  std::optional<Buffer> planes_;
};

/// The bytes of the planes without padding, of each frame, through ordinary memory.
std::vector<std::vector<std::vector<unsigned char>>> plain_results(
    const OperatorConfig& config, const std::vector<FrameBuffer>& frames) {
  auto rig = make_rig(config, 2, BackendChoice::kCuda);
  const OperatorInfo info = in_color(rig.op.info());
  std::vector<unsigned char> bytes(out_bytes(info));
  std::vector<std::vector<std::vector<unsigned char>>> results;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const OperatorOutput out = output_at(bytes.data(), info);
    must(rig.op.wait(must(rig.op.submit(frames[f].frame(f), out)), Deadline::never()));
    results.emplace_back();
    for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
      const auto* const begin = static_cast<const unsigned char*>(out.planes[p].data);
      results.back().emplace_back(begin, begin + out.planes[p].stride * out.planes[p].size.height);
    }
  }
  return results;
}

/// Sends the frames through `placed` memory and compares the results.
void expect_same(const OperatorConfig& config, const std::vector<FrameBuffer>& frames,
                 const std::vector<std::vector<std::vector<unsigned char>>>& expected,
                 Placed placed, ZeroCopy zero_copy = ZeroCopy::kOff) {
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory = placed.footprint();
  settings.zero_copy = zero_copy;
  Engine engine = must(create_engine(settings, {config}));
  OperatorHandle op = must(config.create(engine));
  placed.create(engine);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    SCOPED_TRACE("frame " + std::to_string(f));
    const Frame frame = placed.frame(frames[f].frame(f));
    const FrameInfo info =
        must(op.wait(must(op.submit(frame, placed.output())), Deadline::never()));
    EXPECT_EQ(info.sequence, f);
    if (zero_copy == ZeroCopy::kOn && placed.pinned_alone()) {
      EXPECT_EQ(info.copy_ns, 0);
    }
    placed.expect(expected[f]);
  }
}

// Fails when frames or results in pinned or device memory are read or written at a wrong place, or
// when their results differ from those in ordinary memory.
TEST_P(EveryOperatorOnDevice, EveryKindOfMemoryGivesTheSameResult) {
  constexpr MemorySpace kSpaces[] = {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda};
  for (const PixelFormat format : {PixelFormat::kGray8, PixelFormat::kRgb}) {
    const OperatorConfig config = GetParam().with({101, 67}, 1, format);
    const OperatorInfo info = in_color(must(config.info()));
    const auto frames = moving_frames(info.size, format, 6, true);
    const auto expected = plain_results(config, frames);
    for (const MemorySpace in : kSpaces) {
      for (const MemorySpace out : kSpaces) {
        SCOPED_TRACE("format " + std::to_string(static_cast<int>(format)) + " in " +
                     std::to_string(static_cast<int>(in)) + " out " +
                     std::to_string(static_cast<int>(out)));
        expect_same(config, frames, expected, Placed(info, in, out, 11, 0));
      }
    }
  }
}

// Fails when kernels that use pinned memory where it lies give other bytes than with copies, write
// beside the planes, need another alignment than an element's, or when a frame still counts a copy.
// The bytes of the floats are also the colors of a frame.
TEST_P(EveryOperatorOnDevice, ZeroCopyGivesTheSameResult) {
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kFloat32, PixelFormat::kBgrx}) {
    const OperatorConfig config = GetParam().with({101, 67}, 1, format);
    const auto made = config.info();
    if (!made && made.error().status == Status::kInvalidArgument) continue;  // not of this format
    const OperatorInfo info = in_color(must(made));
    const auto frames = moving_frames(info.size, format, 4, true);
    const auto expected = plain_results(config, frames);
    for (const MemorySpace in : {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
      for (const MemorySpace out : {MemorySpace::kHost, MemorySpace::kPinned}) {
        SCOPED_TRACE("format " + std::to_string(static_cast<int>(format)) + " in " +
                     std::to_string(static_cast<int>(in)) + " out " +
                     std::to_string(static_cast<int>(out)));
        expect_same(config, frames, expected, Placed(info, in, out, 11, 0), ZeroCopy::kOn);
      }
    }
    for (const int shift : {1, 2, 3}) {
      SCOPED_TRACE("shift " + std::to_string(shift));
      expect_same(config, frames, expected,
                  Placed(info, MemorySpace::kPinned, MemorySpace::kPinned, 3 + shift, shift),
                  ZeroCopy::kOn);
    }
  }
}

// Fails when frames or planes in device memory must be aligned to more than an element, or when
// bytes beside the planes are written. The sizes are no multiples of a kernel's tiles. The larger
// image has larger tiles.
TEST_P(EveryOperatorOnDevice, ElementsAreTheOnlyAlignment) {
  for (const ImageSize size : {ImageSize{101, 67}, {641, 403}}) {
    const OperatorConfig config = GetParam().with(size);
    const OperatorInfo info = must(config.info());
    const auto frames = moving_frames(size, PixelFormat::kGray8, 3, true);
    const auto expected = plain_results(config, frames);
    for (const int shift : {0, 1, 2, 3}) {
      SCOPED_TRACE(std::to_string(size.width) + " columns, shift " + std::to_string(shift));
      // Without a shift all rows of floats begin on 16 bytes.
      expect_same(config, frames, expected,
                  Placed(info, MemorySpace::kCuda, MemorySpace::kCuda, 3 + shift, shift));
    }
  }
}

// Fails when the first frame takes longer than later ones, because code is loaded late, or when the
// engine's memory changes while frames run.
TEST_P(EveryOperatorOnDevice, TheFirstFrameIsNoOutlier) {
  const OperatorConfig config = GetParam().with({320, 240});
  const OperatorInfo info = must(config.info());
  Placed placed(info, MemorySpace::kCuda, MemorySpace::kCuda, 0, 0);
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory = placed.footprint();
  Engine engine = must(create_engine(settings, {config}));
  OperatorHandle op = must(config.create(engine));
  placed.create(engine);
  const auto frames = moving_frames(info.size, PixelFormat::kGray8, 1, true);
  const Frame frame = placed.frame(frames[0].frame());
  const OperatorOutput out = placed.output();
  constexpr int kFrames = 1000;
  std::vector<std::int64_t> times;
  times.reserve(kFrames);
  const MemoryUse before = engine.memory_use();
  for (int f = 0; f < kFrames; ++f)
    times.push_back(must(op.wait(must(op.submit(frame, out)), Deadline::never())).compute_ns);
  EXPECT_EQ(engine.memory_use().used, before.used);
  const std::int64_t first = times.front();
  std::sort(times.begin(), times.end());
  const std::int64_t p50 = times[kFrames / 2];
  RecordProperty("p50_ns", std::to_string(p50));
  EXPECT_LE(first, 3 * p50) << "the first frame of " << p50 << " ns";
}

// Fails when operators on one engine disturb each other, wait for each other for ever, or lose a
// frame: a thread for each operator, six frames in flight, fewer stream sets than operators.
TEST_F(OnDevice, AThreadForEveryOperator) {
  constexpr int kDepth = 6;
  constexpr int kFrames = 20;
  std::vector<OperatorConfig> configs;
  std::vector<std::vector<FrameBuffer>> frames;
  std::vector<Results> expected;
  for (const OperatorCase& what : operator_cases()) {
    const int n = static_cast<int>(configs.size()) % 4;
    const ImageSize size{64 + 13 * n, 48 + 7 * n};
    configs.push_back(what.with(size, kDepth));
    frames.push_back(moving_frames(size, PixelFormat::kGray8, kFrames, true));
    expected.push_back(run(configs.back(), frames.back(), 1, 1, BackendChoice::kCuda));
  }
  EngineConfig settings = engine_config(2, BackendChoice::kCuda);
  settings.device_stream_sets = 3;
  Engine engine = must(create_engine(settings, configs));
  std::vector<OperatorHandle> handles;
  for (const OperatorConfig& config : configs) handles.push_back(must(config.create(engine)));
  std::vector<Results> got(handles.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < handles.size(); ++t)
    threads.emplace_back([&, t] { got[t] = send(handles[t], frames[t], kDepth); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < handles.size(); ++t) {
    EXPECT_TRUE(same_bytes(got[t], expected[t])) << operator_cases()[t].name;
    for (std::size_t f = 0; f < got[t].infos.size(); ++f) EXPECT_EQ(got[t].infos[f].sequence, f);
  }
}

// Fails when a large result in ordinary memory, which comes in chunks, differs from the one in
// pinned memory: with and without copy threads, with several frames in flight, rows that do not
// divide into the chunks, a plane that is left out, and deadlines that pass between two chunks.
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

      constexpr float kGuard = -12345.0f;
      constexpr std::size_t kPadding = 7;
      const std::size_t columns = static_cast<std::size_t>(out_size.width) + kPadding;
      const std::size_t room = columns * static_cast<std::size_t>(out_size.height);
      std::vector<std::vector<float>> outs(3, std::vector<float>(3 * room, kGuard));
      std::vector<Ticket> tickets(3);
      int missed = 0;
      for (std::size_t first = 0; first < frames.size(); first += 3) {
        for (std::size_t slot = 0; slot < 3; ++slot) {
          const std::size_t f = first + slot;
          std::fill(outs[slot].begin(), outs[slot].end(), kGuard);
          FlowOutput view = planes_at(outs[slot].data(), room * sizeof(float), out_size,
                                      columns * sizeof(float), MemorySpace::kHost);
          if (f % 2 == 1) view.confidence = {};
          tickets[slot] = must(flow.submit(frames[f].frame(f), view));
        }
        // The last one first, because it would be done while the others are copied.
        for (const Ticket& ticket : {tickets[2], tickets[0], tickets[1]}) {
          for (;;) {
            // A sleep takes longer than asked for.
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
                  inside ? results[f][p * plane + y * (columns - kPadding) + x] : kGuard;
              ASSERT_EQ(std::memcmp(&outs[slot][p * room + i], &expected, sizeof(float)), 0)
                  << "frame " << f << " plane " << p << " at (" << x << ", " << y << ")";
            }
          }
        }
      }
      EXPECT_GT(missed, 0) << "no deadline was missed: that path was not tested";
    }
  }
}

// Fails when an engine on the CPU gives out device or pinned memory, or when a copy passes the end
// of a buffer.
TEST(Buffers, RefuseOtherMemoryAndOverruns) {
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

// Fails when a block gives out more pieces than it can count, or when the error does not name that
// limit.
TEST(Buffers, HaveALimitedNumber) {
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
