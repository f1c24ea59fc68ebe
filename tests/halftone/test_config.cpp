// Invalid configurations of the cellular network: each is refused with a text that names the field,
// its value and the allowed values.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ocellus/halftone.h"
#include "support/run.h"

namespace ocellus {
namespace {

using test::must;

CellularNetworkConfig good() {
  CellularNetworkConfig config;
  config.size = {32, 24};
  config.depth = 2;
  config.stage_count = 1;
  config.stages[0].weights = gaussian_template(2, 0.9f);
  return config;
}

struct Mistake {
  const char* what;
  std::function<void(CellularNetworkConfig&)> make;
  std::vector<const char*> texts;  // the message must contain all of them
};

std::string error_of(const CellularNetworkConfig& config) {
  const EngineInfo engine = must(Engine::probe(test::engine_config()));
  const auto footprint = CellularNetwork::footprint(engine, config);
  if (footprint) return "";
  EXPECT_TRUE(footprint.error().status == Status::kInvalidArgument ||
              footprint.error().status == Status::kUnsupported);
  return footprint.error().text;
}

/// Fails when a mistake is accepted, or when the message does not describe it.
TEST(CellConfig, MistakesAreReported) {
  const float nan = std::nanf("");
  static float plane[32 * 24] = {};
  const std::vector<Mistake> mistakes = {
      {"no size",
       [](auto& c) {
         c.size = {0, 0};
       },
       {"size is 0x0", "1 to 16384"}},
      {"too large",
       [](auto& c) {
         c.size = {16385, 10};
       },
       {"16385x10"}},
      {"format", [](auto& c) { c.format = static_cast<PixelFormat>(9); }, {"format is 9"}},
      {"output format",
       [](auto& c) { c.output_format = static_cast<PixelFormat>(9); },
       {"output_format is 9", "kGray8"}},
      {"polarity", [](auto& c) { c.polarity = static_cast<CellPolarity>(5); }, {"polarity is 5"}},
      {"no number as black",
       [&](auto& c) { c.input_range.black = nan; },
       {"input_range.black is nan", "0 to 254"}},
      {"black below 0",
       [](auto& c) { c.output_range.black = -1.0f; },
       {"output_range.black is -1", "0 to 254"}},
      {"infinite white",
       [](auto& c) { c.input_range.white = std::numeric_limits<float>::infinity(); },
       {"input_range.white is inf", "1 to 255"}},
      {"white of another format",
       [](auto& c) { c.output_range.white = 65535.0f; },
       {"output_range.white is 65535", "1 to 255"}},
      {"white below black",
       [](auto& c) {
         c.input_range = {235.0f, 16.0f};
       },
       {"input_range.white is 16", "at least 1 above", "235"}},
      {"white too near to black",
       [](auto& c) {
         c.output_range = {100.0f, 100.75f};
       },
       {"output_range.white is 100.75", "at least 1 above", "100"}},
      {"depth", [](auto& c) { c.depth = 9; }, {"depth is 9", "1 to 8"}},
      {"no stage", [](auto& c) { c.stage_count = 0; }, {"stage_count is 0", "1 to 16"}},
      {"17 stages", [](auto& c) { c.stage_count = 17; }, {"stage_count is 17"}},
      {"radius 5",
       [](auto& c) { c.stages[0].weights.radius = 5; },
       {"stages[0]", "radius is 5", "1 to 4"}},
      {"radius 0", [](auto& c) { c.stages[0].weights.radius = 0; }, {"radius is 0"}},
      {"NaN in A", [&](auto& c) { c.stages[0].weights.a[7] = nan; }, {"stages[0]", "nan"}},
      {"infinite B",
       [](auto& c) { c.stages[0].weights.b[0] = std::numeric_limits<float>::infinity(); },
       {"inf"}},
      {"NaN as threshold", [&](auto& c) { c.stages[0].weights.threshold = nan; }, {"threshold"}},
      {"one level", [](auto& c) { c.stages[0].levels = 1; }, {"levels is 1", "2 to 256"}},
      {"257 levels", [](auto& c) { c.stages[0].levels = 257; }, {"levels is 257"}},
      {"xi", [](auto& c) { c.stages[0].xi = 0.0f; }, {"xi is 0"}},
      {"start value",
       [](auto& c) {
         c.stages[0].start = CellStart::kConstant;
         c.stages[0].start_value = 1.5f;
       },
       {"start_value is 1.5", "-1 to 1"}},
      {"boundary value",
       [](auto& c) {
         c.stages[0].boundary = CellBoundary::kFixed;
         c.stages[0].boundary_value = -2.0f;
       },
       {"boundary_value is -2"}},
      {"start value that is not used",
       [](auto& c) {
         c.stages[0].start = CellStart::kInput;
         c.stages[0].start_value = std::numeric_limits<float>::quiet_NaN();
       },
       {"start_value is nan", "-1 to 1"}},
      {"boundary value that is not used",
       [](auto& c) {
         c.stages[0].boundary = CellBoundary::kZeroFlux;
         c.stages[0].boundary_value = std::numeric_limits<float>::infinity();
       },
       {"boundary_value is inf", "-1 to 1"}},
      {"spacing", [](auto& c) { c.stages[0].color_spacing = 2; }, {"color_spacing is 2", "3 to 9"}},
      {"sweeps", [](auto& c) { c.stages[0].max_sweeps = 0; }, {"max_sweeps is 0", "1 to 100000"}},
      {"sweeps of a frame", [](auto& c) { c.max_sweeps = 0; }, {"max_sweeps is 0", "1 to 1000000"}},
      {"too many sweeps of a frame",
       [](auto& c) { c.max_sweeps = 1'000'001; },
       {"max_sweeps is 1000001", "1 to 1000000"}},
      {"group of -1 stages",
       [](auto& c) { c.stages[0].group_stages = -1; },
       {"group_stages is -1", "0 to 16"}},
      {"group beyond the last stage",
       [](auto& c) { c.stages[0].group_stages = c.stage_count + 1; },
       {"stages[0].group_stages is", "at most"}},
      {"groups that overlap",
       [](auto& c) {
         c.stage_count = 3;
         c.stages[1] = c.stages[2] = c.stages[0];
         c.stages[0].group_stages = 2;
         c.stages[1].group_stages = 2;
       },
       {"stages[1].group_stages is 2", "begins with stages[0]", "overlap"}},
      {"error diffusion in a group",
       [](auto& c) {
         c.stages[0].group_stages = 1;
         c.stages[0].start = CellStart::kErrorDiffusion;
       },
       {"stages[0].start is kErrorDiffusion", "group"}},
      {"no pass", [](auto& c) { c.stages[0].max_passes = 0; }, {"max_passes is 0", "1 to 100000"}},
      {"warm start of a group",
       [](auto& c) {
         c.warm_start = true;
         c.stages[0].start = CellStart::kInput;
         c.stages[0].group_stages = 1;
       },
       {"warm_start is true", "stages[0] begins a group"}},
      {"no start plane",
       [](auto& c) { c.stages[0].start = CellStart::kPlane; },
       {"start_plane is null"}},
      {"start stride",
       [](auto& c) {
         c.stages[0].start = CellStart::kPlane;
         c.stages[0].start_plane = plane;
         c.stages[0].start_stride = 100;
       },
       {"start_stride is 100", "at least 128"}},
      {"NaN in the threshold plane",
       [&](auto& c) {
         plane[32 + 3] = nan;
         c.stages[0].threshold_plane = plane;
         c.stages[0].threshold_stride = 128;
       },
       {"threshold_plane", "(3, 1)"}},
      {"swaps with levels",
       [](auto& c) {
         c.stages[0].move = CellMove::kSwap;
         c.stages[0].levels = 3;
       },
       {"kSwap with 3 levels", "two"}},
      {"swaps in raster order",
       [](auto& c) {
         c.stages[0].move = CellMove::kSwap;
         c.stages[0].update = CellUpdate::kRaster;
       },
       {"kSwap", "kColors"}},
      {"lopsided swaps",
       [](auto& c) {
         c.stages[0].move = CellMove::kSwap;
         c.stages[0].weights.a[3] = 0.5f;
       },
       {"kSwap", "symmetric A"}},
      {"weights that do not fit",
       [](auto& c) { c.stages[0].weights.a.fill(5000.0f); },
       {"stages[0]", "the sum of |A| is 125000", "16384"}},
      {"a warm start without B",
       [](auto& c) {
         c.warm_start = true;
         c.stages[0].weights.b.fill(0.0f);
       },
       {"warm_start is true", "stages[0] has no weights in B",
        "needs a template with weights in B"}},
      {"a warm start with a B that is rounded to nothing",
       [](auto& c) {
         c.warm_start = true;
         c.stages[0].weights.b.fill(1e-6f);
       },
       {"warm_start is true", "stages[0] has no weights in B"}},
      {"a warm start in the place of a constant",
       [](auto& c) {
         c.warm_start = true;
         c.stages[0].start = CellStart::kConstant;
       },
       {"warm_start is true", "stages[0] starts with a constant", "works from any start"}},
      {"the second stage",
       [](auto& c) {
         c.stage_count = 2;
         c.stages[1] = c.stages[0];
         c.stages[1].levels = 0;
       },
       {"stages[1]", "levels is 0"}},
  };
  EXPECT_EQ(error_of(good()), "");
  CellularNetworkConfig warm = good();
  warm.warm_start = true;
  EXPECT_EQ(error_of(warm), "");
  // The warm start does not depend on the stages after the first.
  warm.stage_count = 2;
  warm.stages[1] = warm.stages[0];
  warm.stages[1].start = CellStart::kConstant;
  EXPECT_EQ(error_of(warm), "");
  for (const Mistake& mistake : mistakes) {
    CellularNetworkConfig config = good();
    mistake.make(config);
    const std::string text = error_of(config);
    for (const char* part : mistake.texts)
      EXPECT_NE(text.find(part), std::string::npos) << mistake.what << ": \"" << text << '"';
  }
}

/// Fails when an unsuitable frame or output plane, or the ticket of another operator, is accepted.
TEST(CellConfig, MistakesInAFrameAreReported) {
  auto rig = test::Rig<CellularNetwork>::make(good());
  std::vector<unsigned char> pixels(64 * 64);
  Frame frame;
  frame.data = pixels.data();
  frame.size = {32, 24};
  frame.stride = 32;
  ImageView view;
  view.data = pixels.data() + 32 * 24;
  view.size = frame.size;
  view.stride = 32;
  const auto text_of = [&](const Frame& in, const ImageView& out) {
    const auto ticket = rig.op.submit(in, out);
    return ticket ? std::string() : std::string(ticket.error().text);
  };
  Frame small = frame;
  small.size = {31, 24};
  EXPECT_NE(text_of(small, view).find("31x24"), std::string::npos);
  ImageView narrow = view;
  narrow.stride = 31;
  EXPECT_NE(text_of(frame, narrow).find("31 bytes"), std::string::npos);
  ImageView none = view;
  none.data = nullptr;
  EXPECT_NE(text_of(frame, none).find("null"), std::string::npos);
  const auto wrong = rig.op.wait(Ticket{77, 1}, Deadline::immediate());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().status, Status::kInvalidTicket);
  EXPECT_EQ(text_of(frame, view), "");
  EXPECT_EQ(text_of(frame, view), "");
  EXPECT_NE(text_of(frame, view).find("2 frames are in flight"), std::string::npos);
  rig.op.reset();
}

}  // namespace
}  // namespace ocellus
