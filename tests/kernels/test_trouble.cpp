// The CUDA backend beside other work that occupies the device, takes its memory, or makes it
// unusable.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "kernels/trouble_kernels.h"
#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

constexpr ImageSize kSize{160, 120};

OpticalFlowConfig foveated() {
  OpticalFlowConfig config = OpticalFlowConfig::with_kernels(kSize);
  config.depth = 3;
  config.kernels.form = KernelForm::kPerPixel;
  config.kernels.origin = KernelOrigin::kFoveated;
  config.kernels.nx = config.kernels.ny = 7;
  config.kernels.nt = 5;
  config.window = 7;
  return config;
}

class Trouble : public OnDevice {};
class TroubleOfEveryOperator : public OnDevice, public testing::WithParamInterface<OperatorCase> {};
INSTANTIATE_TEST_SUITE_P(Operators, TroubleOfEveryOperator, testing::ValuesIn(operator_cases()),
                         case_label);

// Fails when a frame waits for the whole device or works in the default stream. A kernel of the
// program occupies the default stream, and another one a stream of its own, until all frames are
// done.
TEST_P(TroubleOfEveryOperator, WaitsForNoOtherWork) {
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 20, 3);
  const OperatorConfig config = GetParam().with(kSize, 3);
  const Results expected = run(config, frames, 1, 1, BackendChoice::kCuda);
  auto rig = make_rig(config, 1, BackendChoice::kCuda);
  int* stop = nullptr;
  ASSERT_EQ(cudaHostAlloc(&stop, sizeof(int), cudaHostAllocMapped), cudaSuccess);
  *stop = 0;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(launch_until(stop, stream), cudaSuccess);
  ASSERT_EQ(launch_until(stop, nullptr), cudaSuccess);
  // A frame that waits for these kernels would wait for ever. The thread ends them after 30 s.
  std::atomic<bool> done{false};
  std::thread watch([&] {
    for (int i = 0; i < 3000 && !done; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    static_cast<volatile int*>(stop)[0] = 1;
  });
  const Results got = send(rig.op, frames, 3);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady) << "the other work had to be ended";
  done = true;
  watch.join();
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(stop), cudaSuccess);
  EXPECT_TRUE(same_bytes(got, expected));
}

// Fails when a frame in device memory is read before the caller's stream has written it, or when
// later work of the result's stream does not see the result. The host does not wait for the frame.
TEST_P(TroubleOfEveryOperator, TheDeviceWaitsForTheCallersStreams) {
  const OperatorConfig config = GetParam().with(kSize, 3);
  const OperatorInfo info = must(config.info());
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 6, 7);
  const auto columns = static_cast<std::size_t>(kSize.width);
  const auto rows = static_cast<std::size_t>(kSize.height);
  const std::size_t bytes = out_bytes(info);
  std::vector<std::vector<char>> expected;
  {
    auto plain = make_rig(config, 1, BackendChoice::kCuda);
    for (const FrameBuffer& frame : frames) {
      expected.emplace_back(bytes);
      must(plain.op.wait(
          must(plain.op.submit(frame.frame(), output_at(expected.back().data(), info))),
          Deadline::never()));
    }
  }
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory = Buffer::footprint(MemorySpace::kCuda, columns * rows) +
                    Buffer::footprint(MemorySpace::kCuda, bytes);
  Engine engine = must(create_engine(settings, {config}));
  OperatorHandle op = must(config.create(engine));
  Buffer in = must(Buffer::create(engine, MemorySpace::kCuda, columns * rows));
  Buffer out = must(Buffer::create(engine, MemorySpace::kCuda, bytes));
  cudaStream_t writer = nullptr;
  cudaStream_t reader = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking), cudaSuccess);
  unsigned char* image = nullptr;
  char* result = nullptr;
  int* stop = nullptr;
  ASSERT_EQ(cudaHostAlloc(&image, columns * rows, 0), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&result, bytes, 0), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&stop, sizeof(int), cudaHostAllocMapped), cudaSuccess);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const Frame host = frames[f].frame(f);
    for (std::size_t y = 0; y < rows; ++y)
      std::memcpy(
          image + y * columns,
          static_cast<const char*>(host.data) + static_cast<std::ptrdiff_t>(y) * host.stride,
          columns);
    *stop = 0;
    ASSERT_EQ(cudaMemsetAsync(in.data(), 0x77, columns * rows, writer), cudaSuccess);
    ASSERT_EQ(launch_until(stop, writer), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(in.data(), image, columns * rows, cudaMemcpyHostToDevice, writer),
              cudaSuccess);
    Frame frame = host;
    frame.data = in.data();
    frame.stride = static_cast<std::ptrdiff_t>(columns);
    frame.space = MemorySpace::kCuda;
    frame.stream = writer;
    const OperatorOutput view = output_at(out.data(), info, MemorySpace::kCuda, reader);
    const Ticket ticket = must(op.submit(frame, view));
    ASSERT_EQ(cudaMemcpyAsync(result, out.data(), bytes, cudaMemcpyDeviceToHost, reader),
              cudaSuccess);
    EXPECT_FALSE(op.wait(ticket, Deadline::after(std::chrono::milliseconds(5))))
        << "the frame was not written yet";
    EXPECT_EQ(cudaStreamQuery(reader), cudaErrorNotReady);
    static_cast<volatile int*>(stop)[0] = 1;
    ASSERT_EQ(cudaStreamSynchronize(reader), cudaSuccess);
    EXPECT_EQ(std::memcmp(result, expected[f].data(), bytes), 0) << "frame " << f;
    must(op.wait(ticket, Deadline::never()));
  }
  EXPECT_EQ(cudaFreeHost(stop), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(result), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(image), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(reader), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(writer), cudaSuccess);
}

/// Flow by uniform kernels, and an engine of one stream set with room for it and for `wanted`.
struct Simple {
  OpticalFlowConfig config;
  Engine engine;
  OpticalFlow flow;

  static OpticalFlowConfig config_for(ImageSize size, int depth) {
    OpticalFlowConfig config = OpticalFlowConfig::with_kernels(size);
    config.depth = depth;
    config.kernels.origin = KernelOrigin::kGaussian;
    config.kernels.nt = 3;
    return config;
  }
  static Simple make(ImageSize size, int depth, const Footprint& wanted, int operators = 1) {
    const OpticalFlowConfig config = config_for(size, depth);
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.device_stream_sets = 1;
    settings.memory = wanted;
    const EngineInfo info = must(Engine::probe(settings));
    for (int i = 0; i < operators; ++i)
      settings.memory += must(OpticalFlow::footprint(info, config));
    Engine engine = must(Engine::create(settings));
    OpticalFlow flow = must(OpticalFlow::create(engine, config));
    return {config, std::move(engine), std::move(flow)};
  }
};

// Fails when a frame is refused or lost while another operator is created on its stream set, or
// when that creation fails.
TEST_F(Trouble, CreationDisturbsNoFrameOfItsStreamSet) {
  Simple rig = Simple::make({640, 480}, 2, {}, 2);
  const auto frames = noise_frames(rig.config.size, PixelFormat::kGray8, 1, 9);
  OutputBuffer out(rig.config.size, 3);
  std::atomic<bool> stop{false};
  std::atomic<int> done{0};
  std::thread runner([&] {
    while (!stop) {
      const auto ticket = rig.flow.submit(frames[0].frame(0), out.flow());
      ASSERT_TRUE(ticket) << ticket.error().text;
      const auto info = rig.flow.wait(*ticket, Deadline::after(std::chrono::seconds(20)));
      ASSERT_TRUE(info) << info.error().text;
      ++done;
    }
  });
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    const auto other = OpticalFlow::create(rig.engine, rig.config);
    EXPECT_TRUE(other) << other.error().text;
  }
  stop = true;
  runner.join();
  EXPECT_GT(done, 50);
}

// Fails when creation or destruction is refused while the program captures a graph in the global
// mode, or when it breaks that capture.
TEST_F(Trouble, CreationGoesBesideACaptureOfTheProgram) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  int* word = nullptr;
  ASSERT_EQ(cudaMalloc(&word, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(word, 0, sizeof(int), stream), cudaSuccess);
  std::thread([] { static_cast<void>(Simple::make({64, 48}, 2, {})); }).join();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaFree(word), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// Fails when `reset` or the destructor returns while a result is still copied to the caller's
// memory. The next frame, whose result stays on the device, is done before.
TEST_F(Trouble, ResetAndDestructorWaitForDownloads) {
  constexpr ImageSize kLarge{4096, 4096};
  const std::size_t pixels = static_cast<std::size_t>(kLarge.width) * kLarge.height;
  const std::size_t bytes = 3 * pixels * sizeof(float);
  std::optional<Simple> rig = Simple::make(kLarge, 2,
                                           Buffer::footprint(MemorySpace::kPinned, bytes) +
                                               Buffer::footprint(MemorySpace::kCuda, bytes) +
                                               Buffer::footprint(MemorySpace::kCuda, pixels));
  Buffer pinned = must(Buffer::create(rig->engine, MemorySpace::kPinned, bytes));
  Buffer device = must(Buffer::create(rig->engine, MemorySpace::kCuda, bytes));
  Buffer image = must(Buffer::create(rig->engine, MemorySpace::kCuda, pixels));
  Frame frame;
  frame.data = image.data();
  frame.size = kLarge;
  frame.stride = kLarge.width;
  frame.space = MemorySpace::kCuda;
  const auto view = [&](const Buffer& to) {
    return planes_at(to.data(), pixels * sizeof(float), kLarge, kLarge.width * sizeof(float),
                     to.space());
  };
  constexpr int kRounds = 5;
  int on_its_way = 0;
  for (int round = 0; round <= kRounds; ++round) {
    const Ticket first = must(rig->flow.submit(frame, view(pinned)));
    const Ticket second = must(rig->flow.submit(frame, view(device)));
    must(rig->flow.wait(second, Deadline::never()));
    const auto looked = rig->flow.wait(first, Deadline::immediate());
    on_its_way += looked ? 0 : 1;
    if (round < kRounds) {
      rig->flow.reset();
    } else {
      rig.reset();
    }
    std::memset(pinned.data(), 0x55, bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto* const now = static_cast<const unsigned char*>(pinned.data());
    EXPECT_EQ(std::count(now, now + bytes, 0x55), static_cast<std::ptrdiff_t>(bytes))
        << (round < kRounds ? "reset" : "the destructor");
  }
  EXPECT_GT(on_its_way, 0) << "no download was slower than the next frame: the test shows nothing";
}

// Fails when a result is written before the earlier work of its stream, or of the default stream
// where the result names none, has read the old contents.
TEST_F(Trouble, ResultsWaitForTheirStream) {
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 2, 17);
  const auto pixels = static_cast<std::size_t>(kSize.width) * kSize.height;
  const std::size_t bytes = 3 * pixels * sizeof(float);
  cudaStream_t own = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaSuccess);
  int* stop = nullptr;
  ASSERT_EQ(cudaHostAlloc(&stop, sizeof(int), cudaHostAllocMapped), cudaSuccess);
  char* seen = nullptr;
  ASSERT_EQ(cudaHostAlloc(&seen, bytes, 0), cudaSuccess);
  for (cudaStream_t stream : {own, static_cast<cudaStream_t>(nullptr)}) {
    Simple rig = Simple::make(kSize, 1, Buffer::footprint(MemorySpace::kCuda, bytes));
    Buffer out = must(Buffer::create(rig.engine, MemorySpace::kCuda, bytes));
    const FlowOutput view = planes_at(out.data(), pixels * sizeof(float), kSize,
                                      kSize.width * sizeof(float), MemorySpace::kCuda, stream);
    for (const FrameBuffer& frame : frames)
      must(rig.flow.wait(must(rig.flow.submit(frame.frame(), view)), Deadline::never()));
    std::vector<char> before(bytes);
    must(out.read(0, before.data(), bytes));
    *stop = 0;
    ASSERT_EQ(launch_until(stop, stream), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(seen, out.data(), bytes, cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    const Ticket ticket = must(rig.flow.submit(frames[0].frame(), view));
    EXPECT_FALSE(rig.flow.wait(ticket, Deadline::after(std::chrono::milliseconds(50))));
    static_cast<volatile int*>(stop)[0] = 1;
    must(rig.flow.wait(ticket, Deadline::after(std::chrono::seconds(20))));
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(std::memcmp(seen, before.data(), bytes), 0)
        << (stream == nullptr ? "the default stream" : "a stream");
    std::vector<char> after(bytes);
    must(out.read(0, after.data(), bytes));
    EXPECT_NE(std::memcmp(before.data(), after.data(), bytes), 0)
        << "both results are equal: the test shows nothing";
  }
  EXPECT_EQ(cudaFreeHost(seen), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(stop), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(own), cudaSuccess);
}

// Fails when the library leaves an error in the runtime, after a failed call or a query of an
// event, or when it removes an error of the program.
TEST_F(Trouble, TheRuntimesLastErrorIsTheProgramsOwn) {
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  EngineConfig too_much = engine_config(1, BackendChoice::kCuda);
  too_much.memory.device = std::size_t{1} << 46;
  EXPECT_FALSE(Engine::create(too_much));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  const auto frames = noise_frames({640, 480}, PixelFormat::kGray8, 1, 9);
  Simple rig = Simple::make({640, 480}, 2, {});
  OutputBuffer out(rig.config.size, 3);
  const auto send_one = [&] {
    const Ticket ticket = must(rig.flow.submit(frames[0].frame(), out.flow()));
    EXPECT_FALSE(rig.flow.wait(ticket, Deadline::immediate())) << "the frame was already done";
    must(rig.flow.wait(ticket, Deadline::never()));
  };
  send_one();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  const cudaError_t own = cudaSetDevice(-1);
  ASSERT_NE(own, cudaSuccess);
  send_one();
  EXPECT_EQ(cudaGetLastError(), own);
}

// Fails when the error for too large a block does not name the numbers, when the refusal leaks, or
// when it disturbs another operator.
TEST_F(Trouble, OutOfDeviceMemory) {
  const OpticalFlowConfig config = foveated();
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 8, 4);
  auto rig = Rig<OpticalFlow>::make(config, 1, BackendChoice::kCuda);
  const Results before = send(rig.op, frames, 2);
  const auto device_memory = [](std::size_t& total) {
    std::size_t free = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  std::size_t total = 0;
  std::size_t free_before = 0;
  // The driver keeps some memory after the first round.
  for (int round = 0; round < 5; ++round) {
    const std::size_t free = device_memory(total);
    if (round == 1) free_before = free;
    EngineConfig too_much = engine_config(1, BackendChoice::kCuda);
    too_much.memory.device = total + (std::size_t{1} << 30);
    const auto refused = Engine::create(too_much);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
    const std::string text = refused.error().text;
    EXPECT_NE(text.find(std::to_string(too_much.memory.device)), std::string::npos) << text;
    EXPECT_NE(text.find("are free"), std::string::npos) << text;

    // A second engine does not find the memory that the first one has.
    EngineConfig most = engine_config(1, BackendChoice::kCuda);
    most.memory.device = free - free / 8;
    const auto first = Engine::create(most);
    ASSERT_TRUE(first) << first.error().text;
    const auto second = Engine::create(most);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().status, Status::kOutOfMemory);

    // An operator does not fit the block of its engine.
    EngineConfig small = engine_config(1, BackendChoice::kCuda);
    small.memory = must(OpticalFlow::footprint(must(Engine::probe(small)), config));
    small.memory.device /= 2;
    Engine engine = must(Engine::create(small));
    const auto too_large = OpticalFlow::create(engine, config);
    ASSERT_FALSE(too_large);
    EXPECT_EQ(too_large.error().status, Status::kOutOfMemory);
    EXPECT_NE(std::string(too_large.error().text).find("device memory"), std::string::npos)
        << too_large.error().text;
    EXPECT_EQ(engine.memory_use().pieces, 0);
  }
  EXPECT_EQ(device_memory(total), free_before) << "memory leaks";
  rig.op.reset();
  EXPECT_TRUE(same_bytes(send(rig.op, frames, 2), before));
}

// Runs in a process of its own, for ALostDeviceIsNamedAndTheCpuGoesOn. The process loses the
// device.
TEST_F(Trouble, DISABLED_LosesTheDevice) {
  const OpticalFlowConfig config = foveated();
  const auto frames = noise_frames(kSize, PixelFormat::kGray8, 8, 5);
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  const Footprint one = must(OpticalFlow::footprint(must(Engine::probe(settings)), config));
  settings.memory = one + one;
  auto engine = std::make_unique<Engine>(must(Engine::create(settings)));
  auto flow = std::make_unique<OpticalFlow>(must(OpticalFlow::create(*engine, config)));
  auto other = std::make_unique<OpticalFlow>(must(OpticalFlow::create(*engine, config)));
  static_cast<void>(send(*flow, frames, 2));

  OutputBuffer outs[2] = {OutputBuffer(kSize, 3), OutputBuffer(kSize, 3)};
  std::vector<Ticket> in_flight;
  Error error;
  bool lost = false;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  for (int f = 0; f < 2000 && !lost; ++f) {
    if (f == 10) {
      ASSERT_EQ(launch_illegal_address(stream), cudaSuccess);
    }
    const auto i = static_cast<std::size_t>(f);
    const auto ticket = flow->submit(frames[i % 8].frame(i), outs[i % 2].flow());
    if (!ticket) {
      error = ticket.error();
      lost = true;
      break;
    }
    if (const auto done = flow->wait(*ticket, Deadline::after(std::chrono::seconds(20))); !done) {
      error = done.error();
      lost = true;
    }
  }
  ASSERT_TRUE(lost) << "2000 frames after the illegal address";
  std::printf("lost: %s\n", error.text);
  EXPECT_EQ(error.status, Status::kDeviceLost) << error.text;
  EXPECT_NE(std::string(error.text).find("flow: cu"), std::string::npos);
  EXPECT_NE(std::string(error.text).find("illegal memory access"), std::string::npos);
  // Every later call of all operators returns the same error at once.
  for (OpticalFlow* op : {flow.get(), other.get()}) {
    const auto refused = op->submit(frames[0].frame(0), outs[0].flow());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kDeviceLost);
    EXPECT_STREQ(refused.error().text, error.text);
    op->reset();
  }
  const auto no_more = Engine::create(settings);
  ASSERT_FALSE(no_more);
  std::printf("then: %s\n", no_more.error().text);
  flow.reset();
  other.reset();
  engine.reset();

  // The CPU still works.
  const Results expected = run<OpticalFlow>(config, frames, 1, 1, BackendChoice::kCpu);
  EXPECT_EQ(expected.planes.size(), frames.size());
  EXPECT_GT(std::abs(expected.planes[7][0].at(80, 60)), 0.0f);
}

// Runs in a process of its own, for TwoFirstCreationsAtOnce. Only the first creations of a process
// race.
TEST_F(Trouble, DISABLED_CreatesTwoAtOnce) {
  const CellularNetworkConfig configs[] = {halftone_config({2000, 500}),
                                           halftone_config({300, 300})};
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  const EngineInfo info = must(Engine::probe(settings));
  for (const CellularNetworkConfig& config : configs)
    settings.memory += must(CellularNetwork::footprint(info, config));
  Engine engine = must(Engine::create(settings));
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (const CellularNetworkConfig& config : configs) {
    threads.emplace_back([&engine, &config, &ready] {
      ++ready;
      while (ready < 2) {
      }
      const auto network = CellularNetwork::create(engine, config);
      EXPECT_TRUE(network) << network.error().text;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Runs this program again with one of its disabled tests. True when the test passes.
bool passes_alone(const std::string& test, std::string& output) {
  std::array<char, 4096> self{};
  EXPECT_GT(readlink("/proc/self/exe", self.data(), self.size() - 1), 0);
  const std::string command = std::string("timeout 120 '") + self.data() +
                              "' --gtest_also_run_disabled_tests --gtest_filter=*" + test + " 2>&1";
  FILE* child = popen(command.c_str(), "r");
  EXPECT_NE(child, nullptr);
  if (child == nullptr) return false;
  std::array<char, 256> piece{};
  while (std::fgets(piece.data(), piece.size(), child) != nullptr) output += piece.data();
  const int status = pclose(child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Fails when one of two creations at once fails, because the other one lowers a kernel's limit of
// shared memory.
TEST_F(Trouble, TwoFirstCreationsAtOnce) {
  for (int round = 0; round < 5; ++round) {
    std::string output;
    EXPECT_TRUE(passes_alone("CreatesTwoAtOnce", output)) << output;
  }
}

// Fails when an error that ends the use of the device hangs a call, is not named, or also ends the
// use of the CPU.
// Promises: ERR-007.
TEST_F(Trouble, ALostDeviceIsNamedAndTheCpuGoesOn) {
  std::string output;
  EXPECT_TRUE(passes_alone("LosesTheDevice", output)) << output;
  EXPECT_NE(output.find("lost: flow: cu"), std::string::npos) << output;
}

}  // namespace
}  // namespace ocellus::test
