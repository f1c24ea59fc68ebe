// FrameRun: the order of reading, processing and writing, and devices that fail.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/common/input_error.h"
#include "apps/io/frame_run.h"
#include "failing_operator.h"
#include "ocellus/operators.h"

namespace ocellus::test {
namespace {

using app::FrameRun;
using app::InputError;
using app::InputFrame;
using app::ProcessedFrame;

constexpr ImageSize kSize{40, 32};

std::vector<EngineConfig> engines(int count) {
  EngineConfig one;
  one.backend.choice = BackendChoice::kCpu;
  one.workers = 1;
  return std::vector<EngineConfig>(static_cast<std::size_t>(count), one);
}

OperatorConfig config_of(const OperatorDescription& description) {
  OperatorConfig config(description);
  config.set_input(kSize, PixelFormat::kGray8);
  return config;
}

void fill(InputFrame& frame, int number) {
  frame.number = number;
  frame.image = app::GrayImage(kSize, PixelFormat::kGray8);
  for (std::size_t i = 0; i < frame.image.pixels.size(); ++i) {
    const std::size_t value = i * i + 31 * static_cast<std::size_t>(number) * (i % 7 + 1);
    frame.image.pixels[i] = static_cast<std::uint8_t>(value % 251);
  }
}

/// A sequence of frames that records what happens.
struct Sequence {
  explicit Sequence(int frames) : count(frames) {}

  int count;
  int read = 1;  ///< the first one is read by the caller
  std::vector<std::string> events{"read 0"};
  std::vector<std::vector<std::uint8_t>> results;
  int most_in_flight = 0;
  /// Parts of a frame: copies of it.
  std::size_t parts = 1;
  int bad_read = -1;  ///< the frame whose reading fails
  int bad_done = -1;  ///< the frame whose writing fails

  void run(FrameRun& run) {
    InputFrame first;
    fill(first, 0);
    run.process(
        std::move(first),
        [this](InputFrame& frame) {
          if (read == bad_read) throw InputError("the file ends early");
          if (read == count) return false;
          events.push_back("read " + std::to_string(read));
          fill(frame, read++);
          return true;
        },
        [this](const InputFrame& frame) {
          return std::vector<Frame>(parts,
                                    frame.image.view(static_cast<std::uint64_t>(frame.number), 0));
        },
        [this](const ProcessedFrame& work) {
          const auto number = static_cast<int>(work.frame.number);
          if (number == bad_done) throw std::runtime_error("the disk is full");
          events.push_back("done " + std::to_string(number));
          ASSERT_EQ(static_cast<std::size_t>(number), results.size()) << "out of order";
          ASSERT_EQ(work.results.size(), parts);
          results.push_back(work.results[0].image().pixels);
          for (const ProcessedFrame::Result& result : work.results)
            EXPECT_EQ(result.image().pixels, results.back());
          most_in_flight = std::max(most_in_flight, read - number);
          EXPECT_GT(work.compute_ns, 0);
          EXPECT_GT(work.ms, 0.0);
        });
  }
};

// Fails when a frame of a live camera is held until the next one comes.
// Promises: PRG-002.
TEST(FrameRun, WritesAResultBeforeItReadsTheNextFrame) {
  FrameRun run(engines(1), config_of(*find_operator("restore")));
  EXPECT_FALSE(run.several());
  EXPECT_EQ(run.info().depth, 1);
  Sequence sequence(3);
  sequence.run(run);
  EXPECT_EQ(sequence.events,
            (std::vector<std::string>{"read 0", "done 0", "read 1", "done 1", "read 2", "done 2"}));
}

// Fails when results on several devices are not those of one device, come in another order, belong
// to another frame, or when more frames are in flight than there is room for.
TEST(FrameRun, HasTheResultsOfOneDevice) {
  for (const std::size_t parts : {1u, 3u}) {
    Sequence alone(11);
    alone.parts = parts;
    FrameRun one(engines(1), config_of(*find_operator("restore")));
    alone.run(one);
    ASSERT_EQ(alone.results.size(), 11u);
    for (const int devices : {2, 3, 5}) {
      SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(parts) + " parts");
      Sequence spread(11);
      spread.parts = parts;
      FrameRun run(engines(devices), config_of(*find_operator("restore")));
      spread.run(run);
      EXPECT_EQ(spread.results, alone.results);
      EXPECT_LE(spread.most_in_flight, FrameRun::kDepthOfSeveral * devices);
      nlohmann::ordered_json json;
      run.add_to(json);
      ASSERT_EQ(json["devices"].size(), static_cast<std::size_t>(devices));
      std::int64_t sum = 0;
      for (const auto& device : json["devices"]) {
        EXPECT_EQ(device["name"], "cpu");
        EXPECT_GE(device["frames"].get<std::int64_t>(), 11 * static_cast<int>(parts) / devices);
        sum += device["frames"].get<std::int64_t>();
      }
      EXPECT_EQ(sum, 11 * static_cast<int>(parts));
      EXPECT_GT(json["frames_per_s"].get<double>(), 0.0);
    }
  }
}

// Fails when a device that fails in the middle of a run is not named, when results before its frame
// are lost, when one after it is passed on, or when frames or operators stay behind.
TEST(FrameRun, NamesTheDeviceThatFails) {
  for (int failing = 0; failing < 3; ++failing) {
    for (const int good : {0, 1, 3}) {
      SCOPED_TRACE("device " + std::to_string(failing) + " after " + std::to_string(good));
      FailingControl& control = failing_control();
      control = {failing, good};
      Sequence sequence(30);
      {
        FrameRun run(engines(3), config_of(failing_operator()));
        EXPECT_EQ(control.living, 3);
        try {
          sequence.run(run);
          FAIL() << "no error";
        } catch (const InputError& error) {
          EXPECT_EQ(std::string(error.what()), "restore: engine " + std::to_string(failing) +
                                                   " (cpu): the device gave no answer");
        }
      }
      EXPECT_EQ(sequence.results.size(), static_cast<std::size_t>(3 * good + failing));
      EXPECT_EQ(control.living, 0);
      EXPECT_EQ(control.in_flight, 0);
    }
  }
}

// Fails when an input that cannot be read or an output that cannot be written leaves frames in
// flight, whose memory is freed (the address sanitizer sees the write), or blocks.
TEST(FrameRun, EndsWithFramesInFlight) {
  FailingControl& control = failing_control();
  control = {};
  for (int bad = 1; bad < 8; ++bad) {
    for (const bool reading : {true, false}) {
      for (const OperatorDescription* op : {&failing_operator(), find_operator("restore")}) {
        Sequence sequence(20);
        (reading ? sequence.bad_read : sequence.bad_done) = bad;
        {
          FrameRun run(engines(2), config_of(*op));
          EXPECT_THROW(sequence.run(run), std::runtime_error);
        }
        EXPECT_EQ(control.in_flight, 0);
        EXPECT_EQ(control.living, 0);
      }
    }
  }
}

// Fails when the reason of a refusal does not come first, or has no name.
TEST(FrameRun, SaysWhyItIsNotCreated) {
  const auto refused = [](const OperatorConfig& config) {
    try {
      FrameRun run(engines(2), config);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  OperatorConfig warm = config_of(*find_operator("halftone"));
  ASSERT_TRUE(warm.set_option("warm_start", "true"));
  EXPECT_EQ(refused(warm).find("halftone keeps state from frame to frame"), 0u) << refused(warm);
  EXPECT_EQ(refused(OperatorConfig(*find_operator("restore"))).find("restore: size is 0x0"), 0u);
}

}  // namespace
}  // namespace ocellus::test
