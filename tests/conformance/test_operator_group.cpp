// OperatorGroup: every operator on several engines, and the contracts of the group with an operator
// of the tests. tests/kernels/test_operator_group.cpp has devices that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

/// The backend that OCELLUS_TEST_BACKEND names; without it CUDA where a device is available.
BackendChoice backend() {
  return conformance_backends().back();
}

std::vector<EngineConfig> engines(int count) {
  return std::vector<EngineConfig>(static_cast<std::size_t>(count), engine_config(1, backend()));
}

OperatorGroup make_group(int count, const OperatorConfig& config, int cameras = 1) {
  return must(OperatorGroup::create(engines(count), config, cameras));
}

/// Frames that differ from camera to camera.
std::vector<FrameBuffer> frames_of(int camera, ImageSize size, std::size_t count) {
  std::vector<FrameBuffer> frames;
  for (std::size_t f = 0; f < count; ++f) {
    frames.emplace_back(size, PixelFormat::kGray8);
    frames.back().fill(noise(size, static_cast<unsigned>(100 * camera) + static_cast<unsigned>(f)));
  }
  return frames;
}

/// The results of each camera. The frames come in turn from the cameras; a frame is submitted as
/// soon as there is room. `by`: number of the engine of each frame, in the order of `wait`.
std::vector<Results> send_all(OperatorGroup& group, int cameras, std::size_t count,
                              std::vector<int>* by = nullptr) {
  struct Flight {
    int camera;
    std::unique_ptr<OutputBuffer> out;
  };
  std::vector<std::vector<FrameBuffer>> frames;
  for (int camera = 0; camera < cameras; ++camera)
    frames.push_back(frames_of(camera, group.info().size, count));
  std::vector<Results> results(static_cast<std::size_t>(cameras));
  std::deque<Flight> flying;
  const auto land = [&] {
    Flight flight = std::move(flying.front());
    flying.pop_front();
    const GroupResult done = must(group.wait(flight.camera, Deadline::never()));
    Results& of = results[static_cast<std::size_t>(flight.camera)];
    EXPECT_EQ(done.info.sequence, of.infos.size());
    EXPECT_TRUE(flight.out->surroundings_untouched());
    of.infos.push_back(done.info);
    std::vector<PlaneF> planes;
    for (int p = 0; p < flight.out->plane_count(); ++p) planes.push_back(flight.out->plane(p));
    of.planes.push_back(std::move(planes));
    of.records.push_back(flight.out->record());
    if (by != nullptr) by->push_back(done.engine);
  };
  for (std::size_t f = 0; f < count; ++f) {
    for (int camera = 0; camera < cameras; ++camera) {
      while (group.next_engine(camera) < 0) land();
      auto out = std::make_unique<OutputBuffer>(group.info());
      must(group.submit(camera, frames[static_cast<std::size_t>(camera)][f].frame(f),
                        out->output()));
      flying.push_back({camera, std::move(out)});
    }
  }
  while (!flying.empty()) land();
  return results;
}

class EveryOperator : public testing::TestWithParam<OperatorCase> {
 protected:
  void SetUp() override { skip_without(backend()); }
};

// Fails when a result on several engines differs from that of one operator, comes in another order
// than its frame, or is written to the output of another frame; when an engine gets no frames; and
// when the frames of one camera are spread although the operator keeps state.
TEST_P(EveryOperator, HasTheResultsOfOne) {
  constexpr std::size_t kFrames = 7;
  const ImageSize size{40, 32};
  for (const int depth : {1, 2, 3}) {
    SCOPED_TRACE("depth " + std::to_string(depth));
    const OperatorConfig config = GetParam().with(size, depth);
    const OperatorInfo info = must(config.info());
    const bool alone = info.keeps_state;
    std::vector<Results> wanted;
    for (int camera = 0; camera < 3; ++camera)
      wanted.push_back(run(config, frames_of(camera, size, kFrames), 1, 1, backend()));
    if (alone) {
      const auto refused = OperatorGroup::create(engines(2), config, 1);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().status, Status::kInvalidArgument);
      const std::string text = refused.error().text;
      EXPECT_EQ(text.find(config.description().name), 0u) << text;
      EXPECT_NE(text.find("1 camera cannot use 2 devices: give at most one device for each camera"),
                std::string::npos)
          << text;
      EXPECT_NE(text.find(info.learns ? "learns" : "keeps state"), std::string::npos) << text;
    } else {
      OperatorGroup group = make_group(2, config);
      EXPECT_EQ(group.frames_in_flight(), 2 * depth);
      std::vector<int> by;
      EXPECT_TRUE(same_bytes(send_all(group, 1, kFrames, &by)[0], wanted[0]));
      EXPECT_EQ(by, (std::vector<int>{0, 1, 0, 1, 0, 1, 0})) << "frames go to the engines in turn";
    }
    OperatorGroup group = make_group(2, config, 3);
    EXPECT_EQ(group.frames_in_flight(), alone ? depth : 2 * depth);
    const std::vector<Results> results = send_all(group, 3, kFrames);
    for (std::size_t camera = 0; camera < 3; ++camera)
      EXPECT_TRUE(same_bytes(results[camera], wanted[camera])) << "camera " << camera;
    if (info.learns) continue;
    group.reset();
    EXPECT_TRUE(same_bytes(send_all(group, 3, kFrames)[2], wanted[2])) << "after a reset";
  }
}

INSTANTIATE_TEST_SUITE_P(Group, EveryOperator, testing::ValuesIn(parallel_operator_cases()),
                         case_label);

class Group : public testing::Test {
 protected:
  void SetUp() override { skip_without(backend()); }
};

OperatorConfig restoration(int depth) {
  OperatorConfig config(*find_operator("restore"));
  config.set_input({40, 32}, PixelFormat::kGray8);
  must(config.set_option("depth", std::to_string(depth)));
  return config;
}

OperatorConfig warm_halftone(int depth) {
  OperatorConfig config(*find_operator("halftone"));
  config.set_input({40, 32}, PixelFormat::kGray8);
  must(config.set_option("warm_start", "true"));
  must(config.set_option("depth", std::to_string(depth)));
  return config;
}

void expect_failure(const Error& error, Status status, const std::string& says) {
  EXPECT_EQ(error.status, status) << error.text;
  EXPECT_NE(std::string(error.text).find(says), std::string::npos) << error.text;
}

// Fails when a number out of its range is used, or when the error does not name it.
TEST_F(Group, NamesBadArguments) {
  const OperatorConfig config = restoration(1);
  const auto refused = [&](int count, int cameras, const std::string& says) {
    const auto made = OperatorGroup::create(engines(count), config, cameras);
    ASSERT_FALSE(made) << says;
    expect_failure(made.error(), Status::kInvalidArgument, says);
  };
  refused(0, 1, "engines has 0 elements; it must have 1 to 64");
  refused(65, 1, "engines has 65 elements");
  refused(1, 0, "cameras is 0; it must be 1 to 256");
  refused(1, 257, "cameras is 257");
  OperatorConfig without_size(*find_operator("restore"));
  const auto made = OperatorGroup::create(engines(2), without_size);
  ASSERT_FALSE(made);
  EXPECT_EQ(std::string(made.error().text).find("size is 0x0"), 0u) << made.error().text;

  OperatorGroup group = make_group(2, config, 2);
  FrameBuffer frame({40, 32}, PixelFormat::kGray8);
  OutputBuffer out(group.info());
  for (const int camera : {-1, 2}) {
    const std::string says = "camera is " + std::to_string(camera) + "; it must be 0 to 1";
    EXPECT_EQ(group.next_engine(camera), -1);
    const auto submitted = group.submit(camera, frame.frame(), out.output());
    ASSERT_FALSE(submitted);
    expect_failure(submitted.error(), Status::kInvalidArgument, says);
    const auto waited = group.wait(camera, Deadline::never());
    ASSERT_FALSE(waited);
    expect_failure(waited.error(), Status::kInvalidArgument, says);
  }
  const auto saved = group.save_model(0, "/dev/null");
  ASSERT_FALSE(saved);
  expect_failure(saved.error(), Status::kUnsupported, "does not learn");
}

// Fails when the error of a device does not say which one it is, or when the engines before it stay
// in memory (the leak checker of the sanitizer build).
TEST_F(Group, NamesTheDeviceThatIsNotThere) {
  std::vector<EngineConfig> list = engines(2);
  list[1].backend = {BackendChoice::kCuda, 977};
  const auto made = OperatorGroup::create(list, restoration(1));
  ASSERT_FALSE(made);
  expect_failure(made.error(), Status::kBackendUnavailable, "engine 1 (cuda:977): ");
}

// Fails when a frame that was refused takes the place of another one, when a full group takes more
// frames, or when a camera without frames in flight waits forever.
TEST_F(Group, HasBoundedRoom) {
  for (const bool in_turn : {true, false}) {
    SCOPED_TRACE(in_turn ? "in turn" : "each camera alone");
    const int depth = 2;
    OperatorGroup group = make_group(2, in_turn ? restoration(depth) : warm_halftone(depth), 2);
    FrameBuffer frame({40, 32}, PixelFormat::kGray8);
    std::deque<OutputBuffer> outs;
    const auto submit = [&](int camera, std::uint64_t number) {
      outs.emplace_back(group.info());
      return group.submit(camera, frame.frame(number), outs.back().output());
    };
    const auto nothing = group.wait(0, Deadline::never());
    ASSERT_FALSE(nothing);
    expect_failure(nothing.error(), Status::kInvalidTicket, "no frame of camera 0 is in flight");
    const int room = group.frames_in_flight();
    EXPECT_EQ(room, in_turn ? 4 : 2);
    for (int f = 0; f < room; ++f) {
      EXPECT_EQ(group.next_engine(0), in_turn ? f % 2 : 0);
      must(submit(0, static_cast<std::uint64_t>(f)));
      FrameBuffer small({39, 32}, PixelFormat::kGray8);
      if (f + 1 == room) continue;
      const auto refused = group.submit(0, small.frame(99), outs.back().output());
      ASSERT_FALSE(refused);
      expect_failure(refused.error(), Status::kInvalidArgument, "39x32");
    }
    EXPECT_EQ(group.next_engine(0), -1);
    const auto full = submit(0, 99);
    ASSERT_FALSE(full);
    expect_failure(full.error(), Status::kQueueFull, "wait for");
    if (in_turn) {
      EXPECT_EQ(group.next_engine(1), -1);
    } else {
      EXPECT_EQ(group.next_engine(1), 1);
      must(submit(1, 0));
      EXPECT_EQ(must(group.wait(1, Deadline::never())).engine, 1);
    }
    for (int f = 0; f < room; ++f) {
      const GroupResult result = must(group.wait(0, Deadline::never()));
      EXPECT_EQ(result.info.sequence, static_cast<std::uint64_t>(f));
      EXPECT_EQ(result.engine, in_turn ? f % 2 : 0);
    }
    must(submit(0, 7));
    group.reset();
    const auto dropped = group.wait(0, Deadline::never());
    ASSERT_FALSE(dropped);
    EXPECT_EQ(dropped.error().status, Status::kInvalidTicket);
    EXPECT_EQ(group.next_engine(0), 0) << "the turn begins again";
  }
}

// Fails when an engine without room stops frames that another engine could take: the results of
// camera 1 are taken, those of camera 0 are not.
TEST_F(Group, LeavesOutAFullEngine) {
  OperatorGroup group = make_group(2, restoration(1), 2);
  FrameBuffer frame({40, 32}, PixelFormat::kGray8);
  std::deque<OutputBuffer> outs;
  const auto submit = [&](int camera) {
    outs.emplace_back(group.info());
    must(group.submit(camera, frame.frame(), outs.back().output()));
  };
  submit(0);
  for (int f = 0; f < 3; ++f) {
    submit(1);
    EXPECT_EQ(group.next_engine(1), -1);
    EXPECT_EQ(must(group.wait(1, Deadline::never())).engine, 1);
  }
  EXPECT_EQ(must(group.wait(0, Deadline::never())).engine, 0);
}

// Fails when a deadline in the past blocks or loses the frame.
TEST_F(Group, KeepsAFrameThatMissesItsDeadline) {
  OperatorGroup group = make_group(2, restoration(1));
  FrameBuffer frame({40, 32}, PixelFormat::kGray8);
  OutputBuffer out(group.info());
  must(group.submit(0, frame.frame(5), out.output()));
  for (;;) {
    const auto done = group.wait(0, Deadline::immediate());
    if (done) {
      EXPECT_EQ(done->info.sequence, 5u);
      break;
    }
    ASSERT_EQ(done.error().status, Status::kDeadlineMissed);
    std::this_thread::yield();
  }
}

// Fails when `wait` on one thread and `submit` on another one lose a frame, exchange two, leave out
// an engine whose turn it is, or use an operator beyond its depth (the thread sanitizer sees a
// race).
TEST_F(Group, SubmitsAndWaitsOnTwoThreads) {
  constexpr std::uint64_t kFrames = 400;
  OperatorGroup group = make_group(3, restoration(2));
  const auto room = static_cast<std::size_t>(group.frames_in_flight());
  FrameBuffer frame({40, 32}, PixelFormat::kGray8);
  std::vector<OutputBuffer> outs;
  for (std::size_t i = 0; i < room; ++i) outs.emplace_back(group.info());
  std::atomic<std::uint64_t> submitted{0};
  std::thread camera([&] {
    for (std::uint64_t f = 0; f < kFrames;) {
      const auto taken = group.submit(0, frame.frame(f), outs[f % room].output());
      if (taken) {
        submitted = ++f;
      } else {
        ASSERT_EQ(taken.error().status, Status::kQueueFull);
        std::this_thread::yield();
      }
    }
  });
  for (std::uint64_t f = 0; f < kFrames; ++f) {
    while (submitted == f) std::this_thread::yield();
    const GroupResult done = must(group.wait(0, Deadline::never()));
    EXPECT_EQ(done.info.sequence, f);
    EXPECT_EQ(done.engine, static_cast<int>(f % 3));
  }
  camera.join();
}

// Fails when a group that ends or moves with frames in flight does not wait for them (the address
// sanitizer sees the write), or blocks.
TEST_F(Group, MayEndWithFramesInFlight) {
  FrameBuffer frame({40, 32}, PixelFormat::kGray8);
  for (int round = 0; round < 5; ++round) {
    std::deque<OutputBuffer> outs;
    OperatorGroup made = make_group(2, restoration(2));
    for (std::uint64_t f = 0; f < 4; ++f) {
      outs.emplace_back(made.info());
      must(made.submit(0, frame.frame(f), outs.back().output()));
    }
    OperatorGroup group = std::move(made);
    EXPECT_EQ(must(group.wait(0, Deadline::never())).info.sequence, 0u);
    EXPECT_EQ(group.engine_count(), 2);
    EXPECT_EQ(group.camera_count(), 1);
    EXPECT_EQ(group.engine(1).info().backend, group.engine(0).info().backend);
  }
}

}  // namespace
}  // namespace ocellus::test
