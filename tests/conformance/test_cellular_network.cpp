// CellularNetwork on every backend against the double-precision reference of equations (1) and (2).
// All cells must be equal.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "conformance/conformance.h"
#include "halftone/plan.h"
#include "ocellus/halftone.h"
#include "reference/cellular_network.h"
#include "support/networks.h"
#include "support/simd.h"

namespace ocellus {
namespace {

using namespace test;
using reference::CellRun;
using reference::CellStarts;

CellStarts starts() {
  return {[](int x, int y, std::uint32_t seed) {
            return detail::noise_state(x, y, seed) / static_cast<double>(detail::kInputOne);
          },
          [](int x, int y) {
            const auto at = static_cast<std::size_t>(y % 64 * 64 + x % 64);
            return detail::blue_noise_state(detail::blue_noise_ranks()[at]) /
                   static_cast<double>(detail::kInputOne);
          }};
}

/// A result plane of any format. The bytes around it hold a guard value.
class CellBuffer {
 public:
  CellBuffer(ImageSize size, PixelFormat format)
      : size_(size),
        format_(format),
        stride_(static_cast<std::size_t>(size.width + 3) *
                static_cast<std::size_t>(bytes_per_pixel(format))),
        bytes_(stride_ * static_cast<std::size_t>(size.height + 2), kGuard) {}

  ImageView view() {
    return {bytes_.data() + stride_, size_,  static_cast<std::ptrdiff_t>(stride_), format_,
            MemorySpace::kHost,      nullptr};
  }
  double at(int x, int y) const {
    const unsigned char* pixel =
        bytes_.data() + stride_ * static_cast<std::size_t>(y + 1) +
        static_cast<std::size_t>(x) * static_cast<std::size_t>(bytes_per_pixel(format_));
    if (format_ == PixelFormat::kGray8) return *pixel;
    if (format_ == PixelFormat::kGray16) {
      std::uint16_t value;
      std::memcpy(&value, pixel, sizeof(value));
      return value;
    }
    float value;
    std::memcpy(&value, pixel, sizeof(value));
    return static_cast<double>(value);
  }
  bool surroundings_untouched() const {
    const auto used =
        static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(bytes_per_pixel(format_));
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const std::size_t row = i / stride_;
      const bool inside =
          row >= 1 && row <= static_cast<std::size_t>(size_.height) && i % stride_ < used;
      if (!inside && bytes_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr unsigned char kGuard = 0xA5;
  ImageSize size_;
  PixelFormat format_;
  std::size_t stride_;
  std::vector<unsigned char> bytes_;
};

double expected_value(double gray, PixelFormat format) {
  if (format == PixelFormat::kGray8) return std::floor(gray + 0.5);
  // The division by 257 must not move a half. Other values are at least 1/510 away from one.
  if (format == PixelFormat::kGray16) return std::floor(gray * 257.0 + 0.5 + 1e-6);
  return gray;
}

class Cells : public OnBackend {
 protected:
  /// Sends frames through the operator and compares each result with the reference.
  void expect_exact(const CellularNetworkConfig& config, const std::vector<FrameBuffer>& frames,
                    int workers = 2) const {
    auto rig = this->rig<CellularNetwork>(config, workers);
    std::vector<int> bits;
    for (int s = 0; s < config.stage_count; ++s)
      bits.push_back(CellularNetwork::fraction_bits(config, s));
    std::optional<reference::CellLevels> warm;
    for (std::size_t f = 0; f < frames.size(); ++f) {
      CellBuffer out(config.size, config.output_format);
      CellularNetworkRecord info;
      const Ticket ticket = must(rig.op.submit(frames[f].frame(f), out.view(), &info));
      must(rig.op.wait(ticket, Deadline::after(std::chrono::seconds(120))));
      const CellRun expected =
          reference::run_cells(config, bits, frames[f].values(), starts(), warm);
      warm = expected.first;
      ASSERT_TRUE(out.surroundings_untouched());
      for (int y = 0; y < config.size.height; ++y) {
        for (int x = 0; x < config.size.width; ++x) {
          const double wanted = expected_value(expected.gray.at(x, y), config.output_format);
          ASSERT_NEAR(out.at(x, y), wanted,
                      config.output_format == PixelFormat::kFloat32 ? 1e-4 : 0.0)
              << "frame " << f << " at (" << x << ", " << y << ")";
        }
      }
      EXPECT_EQ(info.sweeps, expected.info.sweeps);
      EXPECT_EQ(info.changed, expected.info.changed);
      EXPECT_EQ(info.converged, expected.info.converged);
      EXPECT_EQ(info.passes, expected.info.passes);
      EXPECT_EQ(info.finished, expected.info.finished);
      EXPECT_LE(info.sweeps, config.max_sweeps);
      (info.finished ? finished_ : ended_early_)++;
    }
  }

  mutable int finished_ = 0;     // frames
  mutable int ended_early_ = 0;  // by the limit of their sweeps
};

std::vector<FrameBuffer> one_frame(ImageSize size, unsigned seed,
                                   PixelFormat format = PixelFormat::kGray8) {
  return noise_frames(size, format, 1, seed, 5, 1);
}

/// Smooth gray with some noise, as in a photograph.
std::vector<FrameBuffer> scene_frames(ImageSize size, int count, unsigned seed) {
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < count; ++f) {
    PlaneD plane = noise(size, seed);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        plane.at(x, y) =
            0.2 * plane.at(x, y) + 90.0 + 80.0 * std::sin(0.05 * (x + 2 * f)) * std::cos(0.07 * y);
      }
    }
    frames.emplace_back(size, PixelFormat::kGray8);
    frames.back().fill(plane);
  }
  return frames;
}

CellTemplate random_template(std::mt19937& random, int radius, bool symmetric, float strength) {
  std::uniform_real_distribution<float> weight(-1.0f, 1.0f);
  CellTemplate made;
  made.radius = radius;
  const auto count = static_cast<std::size_t>((2 * radius + 1) * (2 * radius + 1));
  for (std::size_t i = 0; i < count; ++i) {
    made.a[i] = strength * weight(random) / static_cast<float>(radius);
    made.b[i] = weight(random);
  }
  if (symmetric) {
    for (std::size_t i = 0; i < count / 2; ++i) made.a[count - 1 - i] = made.a[i];
    made.a[count / 2] = std::abs(made.a[count / 2]);
  }
  made.threshold = weight(random);
  return made;
}

/// With equal probability all gray values, the range of video, or any other range.
GrayRange random_range(std::mt19937& random) {
  const unsigned kind = random() % 3;
  if (kind == 0) return {};
  if (kind == 1) return {16.0f, 235.0f};
  const auto black = static_cast<float>(random() % 25401) / 100.0f;
  const float most = 255.0f - black;
  const float span = 1.0f + (most - 1.0f) * static_cast<float>(random() % 101) / 100.0f;
  return {black, std::min(black + span, 255.0f)};
}

std::string text_of(const GrayRange& range) {
  return std::to_string(range.black) + "-" + std::to_string(range.white);
}

/// A random configuration of one stage, with the planes that it points to.
struct RandomCells {
  CellularNetworkConfig config;
  std::vector<float> start_plane;
  std::vector<float> threshold_plane;
  std::string what;

  explicit RandomCells(unsigned seed) {
    std::mt19937 random(seed);
    const auto one_of = [&](int count) {
      return static_cast<int>(random() % static_cast<unsigned>(count));
    };
    constexpr ImageSize kSizes[] = {{1, 1},   {7, 1},   {1, 9},    {3, 2},   {5, 5},
                                    {19, 23}, {64, 33}, {131, 70}, {150, 41}};
    const ImageSize size = kSizes[one_of(9)];
    const auto cells = static_cast<std::size_t>(size.width * size.height);
    const auto stride = size.width * static_cast<std::ptrdiff_t>(sizeof(float));
    CellStage stage;
    const int radius = 1 + one_of(4);
    stage.move = one_of(5) == 0 ? CellMove::kSwap : CellMove::kUpdate;
    const bool swaps = stage.move == CellMove::kSwap;
    stage.weights =
        random_template(random, radius, swaps || one_of(2) == 0, one_of(3) == 0 ? 0.0f : 1.0f);
    constexpr int kLevels[] = {2, 2, 3, 5, 16, 256};
    stage.levels = swaps ? 2 : kLevels[one_of(6)];
    stage.xi = 0.25f + 0.5f * static_cast<float>(one_of(4));
    stage.start = static_cast<CellStart>(one_of(7));
    if (stage.start == CellStart::kPlane) {
      for (std::size_t i = 0; i < cells; ++i)
        start_plane.push_back(static_cast<float>(one_of(2001) - 1000) / 1000.0f);
      stage.start_plane = start_plane.data();
      stage.start_stride = stride;
    }
    if (one_of(4) == 0) {
      for (std::size_t i = 0; i < cells; ++i)
        threshold_plane.push_back(static_cast<float>(one_of(2001) - 1000) / 500.0f);
      stage.threshold_plane = threshold_plane.data();
      stage.threshold_stride = stride;
    }
    stage.start_value = static_cast<float>(one_of(3) - 1) * 0.5f;
    stage.seed = seed;
    stage.boundary = static_cast<CellBoundary>(one_of(3));
    stage.boundary_value = static_cast<float>(one_of(5) - 2) * 0.4f;
    stage.update = swaps ? CellUpdate::kColors : static_cast<CellUpdate>(one_of(3));
    const int least = radius + (swaps ? 2 : 1);
    stage.color_spacing = one_of(2) == 0 ? 0 : least + one_of(10 - least);
    stage.max_sweeps = 1 + one_of(6);
    config = one_stage(size, stage);
    config.polarity = one_of(2) == 0 ? CellPolarity::kBlackIsOne : CellPolarity::kWhiteIsOne;
    constexpr PixelFormat kFormats[] = {PixelFormat::kGray8, PixelFormat::kGray16,
                                        PixelFormat::kFloat32};
    config.format = kFormats[one_of(2)];
    config.output_format = kFormats[one_of(3)];
    config.input_range = random_range(random);
    config.output_range = random_range(random);
    what = "seed " + std::to_string(seed) + ": " + std::to_string(size.width) + "x" +
           std::to_string(size.height) + " radius " + std::to_string(radius) + " levels " +
           std::to_string(stage.levels) + " update " +
           std::to_string(static_cast<int>(stage.update)) + " move " +
           std::to_string(static_cast<int>(stage.move)) + " start " +
           std::to_string(static_cast<int>(stage.start)) + " boundary " +
           std::to_string(static_cast<int>(stage.boundary)) + " spacing " +
           std::to_string(stage.color_spacing) + " from " + text_of(config.input_range) + " to " +
           text_of(config.output_range);
  }
  RandomCells(const RandomCells&) = delete;
  RandomCells& operator=(const RandomCells&) = delete;
};

// Fails when an order, a boundary or a start differs from the reference, with random templates of
// each radius, sizes that are no multiples of bands or words, and images smaller than the template.
// Promises: RES-004.
TEST_P(Cells, MatchTheReference) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    const RandomCells cells(seed);
    SCOPED_TRACE(cells.what);
    expect_exact(cells.config, one_frame(cells.config.size, seed, cells.config.format),
                 1 + static_cast<int>(seed % 4));
    if (HasFatalFailure()) return;
  }
}

/// A random chain of four stages with one group or two. Most groups end at their limit.
struct RandomGroups {
  RandomCells cells[3];
  CellularNetworkConfig config;
  std::string what;

  explicit RandomGroups(unsigned seed)
      : cells{RandomCells(3 * seed), RandomCells(3 * seed + 1), RandomCells(3 * seed + 2)},
        config(cells[0].config) {
    std::mt19937 random(seed);
    const auto one_of = [&](unsigned count) { return static_cast<int>(random() % count); };
    config.stage_count = 4;
    for (std::size_t s = 0; s < 4; ++s) {
      CellStage& stage = config.stages[s];
      stage = cells[s % 3].config.stages[0];
      // Planes have the size of another image, except those of the first stage.
      if (stage.start == CellStart::kPlane || stage.start == CellStart::kErrorDiffusion)
        stage.start = CellStart::kPrevious;
      if (s % 3 != 0) stage.threshold_plane = nullptr;
      stage.input = static_cast<CellInput>(one_of(2));
      stage.max_sweeps = 1 + one_of(3);
    }
    const int first = one_of(4);
    CellStage& begin = config.stages[static_cast<std::size_t>(first)];
    begin.group_stages = 1 + one_of(static_cast<unsigned>(4 - first));
    begin.max_passes = 1 + one_of(5);
    const int behind = first + begin.group_stages;
    if (behind < 4 && one_of(2) == 0) {
      config.stages[static_cast<std::size_t>(behind)].group_stages = 4 - behind;
      config.stages[static_cast<std::size_t>(behind)].max_passes = 3;
    }
    what = "stages " + std::to_string(first) + " to " + std::to_string(behind - 1) + " of " +
           cells[0].what + " | " + cells[1].what + " | " + cells[2].what;
  }
};

// Fails when small weights are rounded away: of two levels, a common factor changes no cell.
TEST_P(Cells, AFactorOfAllWeightsChangesNothing) {
  CellStage stage;
  stage.weights.a = {0.1f, 0.2f, 0.1f, 0.2f, 0.0f, 0.2f, 0.1f, 0.2f, 0.1f};
  stage.weights.b = {0.0f, -0.3f, 0.0f, -0.3f, 1.7f, -0.3f, 0.0f, -0.3f, 0.0f};
  stage.weights.threshold = 0.0625f;
  const std::vector<FrameBuffer> frames = one_frame({64, 48}, 3);
  const auto cells = [&](int exponent) {
    CellStage scaled = stage;
    for (float& weight : scaled.weights.a) weight = std::ldexp(weight, exponent);
    for (float& weight : scaled.weights.b) weight = std::ldexp(weight, exponent);
    scaled.weights.threshold = std::ldexp(stage.weights.threshold, exponent);
    const CellularNetworkConfig config = one_stage({64, 48}, scaled);
    expect_exact(config, frames);
    auto rig = this->rig<CellularNetwork>(config, 2);
    CellBytes bytes(64 * 48);
    must(rig.op.wait(must(rig.op.submit(frames[0].frame(0), view_of(bytes, {64, 48}))),
                     Deadline::after(std::chrono::seconds(120))));
    return bytes;
  };
  const CellBytes expected = cells(0);
  EXPECT_GT(std::count(expected.begin(), expected.end(), 255), 500);
  EXPECT_GT(std::count(expected.begin(), expected.end(), 0), 500);
  for (const int exponent : {-4, -20, -60, -120})
    EXPECT_EQ(cells(exponent), expected) << "2^" << exponent;
}

// Fails when a group of stages differs from the reference: its number of passes, the input of its
// first stage from the second pass on, its place in the chain, or the stages behind it.
// Promises: RES-004.
TEST_P(Cells, GroupsMatchTheReference) {
  for (const char* chain : {"[skeleton]", "threshold(0.3) | [erosion | recall] * 3 | dilation",
                            "[erosion | dilation] * 4 | [ hollow(sweeps=2) | edge ]*2"}) {
    SCOPED_TRACE(chain);
    CellularNetworkConfig config;
    config.size = {66, 33};
    config.stage_count = must(parse_cell_chain(chain, config.stages));
    expect_exact(config, scene_frames(config.size, 2, 7), 3);
    if (HasFatalFailure()) return;
  }
}

// Fails when the same is wrong for stages with other levels, orders, boundaries and starts.
TEST_P(Cells, RandomGroupsMatchTheReference) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    const RandomGroups groups(seed);
    SCOPED_TRACE(groups.what);
    expect_exact(groups.config,
                 noise_frames(groups.config.size, groups.config.format, 2, seed, 5, 1),
                 1 + static_cast<int>(seed % 4));
    if (HasFatalFailure()) return;
  }
}

// Fails when the result of one instruction set differs from the reference.
// Promises: RES-002.
TEST_P(Cells, MatchTheReferenceOnEachInstructionSet) {
  if (GetParam() != BackendChoice::kCpu) GTEST_SKIP() << "instruction sets belong to the CPU";
  for (const SimdTarget& target : simd_targets()) {
    const OnlyTargets only(target.bit);
    for (unsigned seed = 0; seed < 150; ++seed) {
      const RandomCells cells(seed);
      SCOPED_TRACE(target.name + ", " + cells.what);
      expect_exact(cells.config, one_frame(cells.config.size, seed, cells.config.format));
      if (HasFatalFailure()) return;
    }
    SCOPED_TRACE(target.name + ", a preset");
    expect_exact(halftone_config({301, 50}), scene_frames({301, 50}, 1, 3));
    if (HasFatalFailure()) return;
  }
}

// Fails when the limit of a frame's sweeps ends a stage, a group or a run of stages that keep their
// states at another sweep than in the reference, or when the stages behind it still sweep.
TEST_P(Cells, TheLimitOfSweepsMatchesTheReference) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    RandomGroups groups(seed);
    groups.config.max_sweeps = 1 + static_cast<int>(seed % 23);
    SCOPED_TRACE(std::to_string(groups.config.max_sweeps) + " sweeps, " + groups.what);
    expect_exact(groups.config, one_frame(groups.config.size, seed, groups.config.format));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(finished_, 10);
  EXPECT_GT(ended_early_, 10);
  finished_ = ended_early_ = 0;
  const ImageSize size{45, 38};
  for (const HalftonePreset preset : {HalftonePreset::kQuality, HalftonePreset::kFast}) {
    for (int sweeps = 1; sweeps < 14; ++sweeps) {
      SCOPED_TRACE("preset, " + std::to_string(sweeps) + " sweeps");
      CellularNetworkConfig config = halftone_config(size, preset);
      config.max_sweeps = sweeps;
      config.warm_start = sweeps % 2 == 0;
      expect_exact(config, scene_frames(size, 2, 3));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(finished_, 2);
  EXPECT_GT(ended_early_, 10);
}

// Fails when stages that keep their states are counted wrongly behind one that ended before its
// limit. The sweeps of a band know late that a stage has ended.
TEST_P(Cells, StagesThatEndEarlyAreCounted) {
  const ImageSize size{75, 61};
  CellularNetworkConfig config = halftone_config(size, HalftonePreset::kFast);
  const CellStage update = config.stages[2];
  ASSERT_EQ(update.max_sweeps, 100);
  CellStage swap = config.stages[1];
  swap.max_sweeps = 100;
  config.stages[0].start = CellStart::kNoise;
  config.stages[0].max_sweeps = 100;
  config.stages[1] = update;  // which has nothing left to do
  config.stages[2] = swap;
  config.stages[3] = update;
  for (config.stage_count = 2; config.stage_count <= 4; ++config.stage_count) {
    for (const int sweeps : {4096, 3, 7, 8, 9, 10, 11, 12, 15, 20}) {
      SCOPED_TRACE(std::to_string(config.stage_count) + " stages, " + std::to_string(sweeps));
      config.max_sweeps = sweeps;
      expect_exact(config, scene_frames(size, 1, 5), 1);
      if (HasFatalFailure()) return;
    }
  }
}

/// Each cell takes the opposite of its output, in every sweep and without end.
CellularNetworkConfig endless(ImageSize size) {
  CellStage stage;
  stage.weights.a[4] = -3.0f;
  stage.max_sweeps = 100'000;
  return one_stage(size, stage);
}

// Fails when a network without a fixed point runs on at the limit of a frame's sweeps: the limits
// of its stage and of its group allow 10^10 sweeps.
// Promises: RT-006.
TEST_P(Cells, TheLimitBoundsStagesTimesPasses) {
  for (const bool grouped : {false, true}) {
    CellularNetworkConfig config = endless({20, 9});
    if (grouped) {
      config.stages[0].group_stages = 1;
      config.stages[0].max_passes = 100'000;
    }
    ASSERT_EQ(config.max_sweeps, 4096);
    auto made = rig<CellularNetwork>(config);
    CellBuffer out(config.size, config.output_format);
    CellularNetworkRecord record;
    const auto frames = one_frame(config.size, 1);
    const Ticket ticket = must(made.op.submit(frames[0].frame(), out.view(), &record));
    must(made.op.wait(ticket, Deadline::after(std::chrono::seconds(60))));
    EXPECT_EQ(record.sweeps, 4096);
    EXPECT_EQ(record.passes, grouped ? 1 : 0);
    EXPECT_FALSE(record.finished);
    EXPECT_FALSE(record.converged);
  }
}

// Fails when a frame of a network without a fixed point does not end soon after `stop`, `reset` or
// the destructor, in any order of updates; and when `wait` reports such a frame as done.
// Promises: RT-006.
TEST_P(Cells, AFrameThatTakesLongCanBeStopped) {
  using Clock = std::chrono::steady_clock;
  const ImageSize size{320, 240};
  constexpr auto kSoon = std::chrono::seconds(20);
  const auto frames = one_frame(size, 1);
  struct Order {
    CellUpdate update;
    CellBoundary boundary;
    bool grouped;
  };
  for (const Order& order : {Order{CellUpdate::kColors, CellBoundary::kFixed, false},
                             Order{CellUpdate::kColors, CellBoundary::kZeroFlux, false},
                             Order{CellUpdate::kRaster, CellBoundary::kZeroFlux, false},
                             Order{CellUpdate::kSynchronous, CellBoundary::kPeriodic, false},
                             Order{CellUpdate::kSynchronous, CellBoundary::kZeroFlux, true}}) {
    SCOPED_TRACE("update " + std::to_string(static_cast<int>(order.update)) + ", boundary " +
                 std::to_string(static_cast<int>(order.boundary)));
    CellularNetworkConfig config = endless(size);
    config.stages[0].update = order.update;
    config.stages[0].boundary = order.boundary;
    if (order.grouped) {
      config.stages[0].group_stages = 1;
      config.stages[0].max_passes = 100'000;
    }
    config.max_sweeps = kMaxFrameSweeps;
    config.depth = 2;
    auto made = std::make_unique<Rig<CellularNetwork>>(rig<CellularNetwork>(config));
    CellBuffer out(size, config.output_format);
    CellBuffer second(size, config.output_format);
    const auto begin = [&] {
      const Ticket ticket = must(made->op.submit(frames[0].frame(), out.view()));
      static_cast<void>(must(made->op.submit(frames[0].frame(), second.view())));
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return ticket;
    };
    const auto expect_dropped = [&](Ticket ticket, Status status) {
      const auto got = made->op.wait(ticket, Deadline::never());
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().status, status) << got.error().text;
    };
    const Ticket stopped = begin();
    Clock::time_point start = Clock::now();
    made->op.stop();
    expect_dropped(stopped, Status::kStopped);
    EXPECT_LT(Clock::now() - start, kSoon);
    expect_dropped(stopped, Status::kInvalidTicket);
    const auto refused = made->op.submit(frames[0].frame(), out.view());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kStopped) << refused.error().text;
    made->op.reset();
    const Ticket reset = begin();
    start = Clock::now();
    made->op.reset();
    EXPECT_LT(Clock::now() - start, kSoon);
    expect_dropped(reset, Status::kInvalidTicket);
    begin();
    start = Clock::now();
    made.reset();
    EXPECT_LT(Clock::now() - start, kSoon);
  }
}

// Fails when a preset, whose stages keep their states, differs from the reference, or when the rows
// at the border of two bands do. 333 rows are several bands.
TEST_P(Cells, PresetsMatchTheReference) {
  for (const HalftonePreset preset : {HalftonePreset::kQuality, HalftonePreset::kFast,
                                      HalftonePreset::kGray4, HalftonePreset::kGray16}) {
    for (const int workers : {1, 3}) {
      const ImageSize size{301, 333};
      expect_exact(halftone_config(size, preset), scene_frames(size, 1, 3), workers);
      if (HasFatalFailure()) return;
    }
  }
}

// Fails when error diffusion to more than two levels differs from the reference: at tiles that are
// cut, in images narrower than a vector, with another xi or from frames of another type.
TEST_P(Cells, DiffusionToLevelsMatchesTheReference) {
  for (const int levels : {3, 4, 16, 255, 256}) {
    for (const ImageSize size : {ImageSize{1, 1}, {5, 3}, {129, 33}, {2100, 37}}) {
      for (const PixelFormat format : {PixelFormat::kGray8, PixelFormat::kGray16}) {
        CellStage stage;
        stage.weights.a[4] = 1.0f;  // each cell keeps its output
        stage.start = CellStart::kErrorDiffusion;
        stage.levels = levels;
        stage.xi = levels == 16 ? 0.5f : 1.0f;
        stage.max_sweeps = 1;
        CellularNetworkConfig config = test::one_stage(size, stage);
        config.format = format;
        SCOPED_TRACE(std::to_string(levels) + " levels, width " + std::to_string(size.width));
        expect_exact(config, test::noise_frames(size, format, 1, 7));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Fails when a preset on 8-bit frames, which takes another path on a device, ignores the gray
// ranges, or when black or white areas get dots from noise outside the input range.
TEST_P(Cells, PresetsKeepToTheGrayRanges) {
  for (const CellPolarity polarity : {CellPolarity::kBlackIsOne, CellPolarity::kWhiteIsOne}) {
    const ImageSize size{301, 77};
    CellularNetworkConfig config = halftone_config(size, HalftonePreset::kFast);
    config.polarity = polarity;
    config.input_range = {16.0f, 235.0f};
    config.output_range = {40.25f, 219.75f};
    expect_exact(config, scene_frames(size, 1, 3));
    if (HasFatalFailure()) return;
    config.input_range = {96.5f, 128.0f};
    config.output_range = {0.0f, 128.0f};
    expect_exact(config, scene_frames(size, 1, 4));
    if (HasFatalFailure()) return;

    config.input_range = config.output_range = {16.0f, 235.0f};
    FrameBuffer frame(size, PixelFormat::kGray8);
    const auto is_black = [](int x) { return x % 100 < 50; };
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        frame.set(x, y, is_black(x) ? (x * y) % 17 : 235 + (x * y) % 21);
    auto rig = this->rig<CellularNetwork>(config);
    CellBuffer out(size, config.output_format);
    must(rig.op.wait(must(rig.op.submit(frame.frame(), out.view())),
                     Deadline::after(std::chrono::seconds(60))));
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        ASSERT_EQ(out.at(x, y), is_black(x) ? 16.0 : 235.0) << "at (" << x << ", " << y << ")";
  }
}

// Fails when the sum of A y and B u, which is one sum where B is -A, is limited to the range of B u
// alone. Black areas begin with white cells, and white areas with black cells.
TEST_P(Cells, DistantStartsConverge) {
  const ImageSize size{70, 40};
  FrameBuffer frame(size, PixelFormat::kGray8);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) frame.set(x, y, (x / 23 + y / 11) % 2 * 255);
  std::vector<FrameBuffer> frames;
  frames.push_back(std::move(frame));
  for (int radius = 1; radius <= kMaxTemplateRadius; ++radius) {
    for (const float start : {-1.0f, 1.0f}) {
      SCOPED_TRACE("radius " + std::to_string(radius) + ", start " + std::to_string(start));
      CellStage stage;
      stage.weights = gaussian_template(radius, 0.3f * static_cast<float>(radius + 1));
      stage.start = CellStart::kConstant;
      stage.start_value = start;
      stage.boundary = CellBoundary::kFixed;
      expect_exact(one_stage(size, stage), frames);
      if (HasFatalFailure()) return;
    }
  }
}

// Fails when a cell is skipped although a cell in its neighborhood has changed. Changes are
// recorded for pieces of rows, so the widths lie around those of pieces. Boundaries, orders, swaps
// between updates, and templates that spread over the whole image take part.
TEST_P(Cells, SkippedCellsAreUpdatedInTime) {
  for (const ImageSize size : {ImageSize{63, 20}, ImageSize{66, 33}, ImageSize{129, 40}}) {
    const std::string wide = std::to_string(size.width) + " wide, ";
    for (const CellBoundary boundary :
         {CellBoundary::kZeroFlux, CellBoundary::kPeriodic, CellBoundary::kFixed}) {
      for (int radius = 1; radius <= kMaxTemplateRadius; ++radius) {
        for (const int spacing : {0, radius + 3}) {
          SCOPED_TRACE(wide + "boundary " + std::to_string(static_cast<int>(boundary)) +
                       ", radius " + std::to_string(radius) + ", spacing " +
                       std::to_string(spacing));
          CellStage stage;
          stage.weights = gaussian_template(radius, 0.3f * static_cast<float>(radius + 1));
          stage.input = CellInput::kFrame;
          stage.start = CellStart::kNoise;
          stage.boundary = boundary;
          stage.boundary_value = -0.5f;
          stage.color_spacing = spacing;
          stage.max_sweeps = 12;
          CellularNetworkConfig config = one_stage(size, stage);
          stage.start = CellStart::kPrevious;
          config.stage_count = 3;
          config.stages[1] = config.stages[2] = stage;
          config.stages[1].move = CellMove::kSwap;
          expect_exact(config, scene_frames(size, 1, 5));
          if (HasFatalFailure()) return;
        }
      }
    }
    for (const char* chain : {"threshold | hole", "threshold | shadow", "erosion | recall"}) {
      SCOPED_TRACE(wide + chain);
      CellularNetworkConfig config;
      config.size = size;
      config.stage_count = must(parse_cell_chain(chain, config.stages));
      expect_exact(config, one_frame(size, 7));
      if (HasFatalFailure()) return;
    }
  }
}

// Fails when a warm start does not begin with the result of the previous frame.
TEST_P(Cells, WarmStart) {
  const ImageSize size{97, 80};
  CellularNetworkConfig config = halftone_config(size);
  config.warm_start = true;
  expect_exact(config, scene_frames(size, 4, 5));
  // In a chain only the first stage has a warm start.
  config.stages[1] = config.stages[0];
  config.stages[1].input = CellInput::kPrevious;
  config.stages[1].start = CellStart::kInput;
  config.stage_count = 2;
  expect_exact(config, scene_frames(size, 3, 6));
}

// Fails when a stage of a chain does not take the previous output as its input or start, or reads
// its levels wrongly.
TEST_P(Cells, ChainsPassOutputsOn) {
  std::mt19937 random(4);
  const ImageSize size{53, 47};
  for (int round = 0; round < 12; ++round) {
    CellularNetworkConfig config;
    config.size = size;
    config.stage_count = 3;
    constexpr int kLevels[] = {2, 7, 256, 2, 3};
    for (std::size_t s = 0; s < 3; ++s) {
      CellStage& stage = config.stages[s];
      stage.weights = random_template(random, 1 + static_cast<int>(random() % 3), false, 0.5f);
      stage.levels = kLevels[random() % 5];
      stage.input = random() % 3 == 0 ? CellInput::kFrame : CellInput::kPrevious;
      stage.start = random() % 2 == 0 ? CellStart::kPrevious : CellStart::kInput;
      stage.max_sweeps = 3;
    }
    SCOPED_TRACE(round);
    expect_exact(config, one_frame(size, 40u + static_cast<unsigned>(round)));
    if (HasFatalFailure()) return;
  }
}

// Fails when a stage that keeps the previous states computes with the states instead of their
// outputs. They differ with many levels and an xi other than 1.
TEST_P(Cells, StagesContinueWithTheOutputs) {
  std::mt19937 random(6);
  for (const int levels : {2, 5, 256}) {
    for (const float xi : {0.5f, 1.0f, 2.0f}) {
      CellularNetworkConfig config;
      config.size = {61, 43};
      config.stage_count = 3;
      config.warm_start = true;
      CellStage stage;
      stage.weights = random_template(random, 1, true, 0.3f);
      stage.levels = levels;
      stage.xi = xi;
      stage.input = CellInput::kFrame;
      stage.max_sweeps = 2;
      config.stages[0] = stage;
      stage.start = CellStart::kPrevious;
      stage.max_sweeps = 1;
      config.stages[1] = config.stages[2] = stage;
      SCOPED_TRACE(std::to_string(levels) + " levels, xi " + std::to_string(xi));
      expect_exact(config, scene_frames(config.size, 3, 8));
      if (HasFatalFailure()) return;
    }
  }
}

// Fails when float pixels are scaled, rounded or limited differently from the 16-bit gray that they
// stand for. Halftones show every difference.
TEST_P(Cells, FloatsAreRoundedToGray16) {
  const ImageSize size{83, 61};
  CellularNetworkConfig config = halftone_config(size);
  FrameBuffer floats(size, PixelFormat::kFloat32, 3, 1);
  FrameBuffer words(size, PixelFormat::kGray16);
  std::mt19937 random(12);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const double word = random() % 65536;
      const double beside = random() % 2 == 0 ? 0.4 : -0.4;  // rounds to the word
      const bool dark = word < 1000.0;
      const bool light = word > 64000.0;
      floats.set(x, y, dark ? -9.0 : light ? 300.0 : (word + beside) / 257.0);
      words.set(x, y, dark ? 0.0 : light ? 255.0 : word / 257.0);
    }
  }
  config.format = PixelFormat::kGray16;
  auto of_words = this->rig<CellularNetwork>(config);
  config.format = PixelFormat::kFloat32;
  auto of_floats = this->rig<CellularNetwork>(config);
  EXPECT_TRUE(cells_of(of_floats.op, floats.frame()) == cells_of(of_words.op, words.frame()));
}

// Fails when the output or the record of a frame with NaN is not 0.
TEST_P(Cells, BadFramesAreZero) {
  const ImageSize size{40, 36};
  CellularNetworkConfig config = halftone_config(size);
  config.format = PixelFormat::kFloat32;
  auto frames = noise_frames(size, PixelFormat::kFloat32, 2, 9);
  frames[1].set(17, 35, std::nan(""));
  auto rig = this->rig<CellularNetwork>(config);
  static_cast<void>(cells_of(rig.op, frames[0].frame()));
  CellularNetworkRecord record;
  EXPECT_EQ(cells_of(rig.op, frames[1].frame(), &record), CellBytes(40 * 36, 0));
  EXPECT_EQ(record.sweeps, 0);
  EXPECT_EQ(record.changed, 0u);
  EXPECT_FALSE(record.converged);
}

INSTANTIATE_TEST_SUITE_P(Backends, Cells, testing::ValuesIn(conformance_backends()), backend_label);

}  // namespace
}  // namespace ocellus
