// The cortical classifier against its equations in double precision.
#include <gtest/gtest.h>

#include <hwy/targets.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cortex/classifier.h"
#include "cortex/classifier_reference.h"
#include "cortex/patch.h"

namespace ocellus {
namespace {

using detail::CortexShape;

/// A model of random numbers with memory for one patch.
class RandomModel {
 public:
  RandomModel(const CortexParameters& parameters, int classes, unsigned seed) : random_(seed) {
    const auto made = detail::make_cortex_shape(parameters, classes);
    EXPECT_TRUE(made) << made.error().text;
    shape = *made;
    fill(weights_, shape.hierarchy.weights, 127);
    fill(bias_, shape.hierarchy.minicolumns, 600);
    fill(read_out_, shape.hierarchy.minicolumns * static_cast<std::size_t>(classes), 9000);
    fill(class_bias_, static_cast<std::size_t>(classes), 5000);
    draw_fields();
    arrays = {weights_.data(), bias_.data(), read_out_.data(), class_bias_.data(), fields_.data()};
    detail::LayoutBuilder sizes;
    scratch.layout(shape, sizes);
    memory_.resize(sizes.bytes() + 64);
    void* begin = memory_.data();
    std::size_t room = memory_.size();
    std::align(64, sizes.bytes(), begin, room);
    detail::LayoutBuilder places(begin);
    scratch.layout(shape, places);
  }

  std::vector<std::uint8_t> patch() {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape.pixels()));
    for (auto& p : pixels) p = static_cast<std::uint8_t>(random_() % 3 == 0 ? random_() % 256 : 0);
    return pixels;
  }

  CortexShape shape;
  detail::CortexArrays arrays;
  detail::CortexScratch scratch;

 private:
  /// Every field: `field_inputs` random pixels, ascending.
  void draw_fields() {
    for (int h = 0; h < shape.parameters.fields; ++h) {
      std::vector<std::uint16_t> all(static_cast<std::size_t>(shape.pixels()));
      std::iota(all.begin(), all.end(), std::uint16_t{0});
      std::sample(all.begin(), all.end(), std::back_inserter(fields_),
                  shape.parameters.field_inputs, random_);
    }
  }

  template <typename T>
  void fill(std::vector<T>& values, std::size_t count, int most) {
    values.resize(count);
    for (T& value : values)
      value = static_cast<T>(static_cast<int>(random_() % (2u * static_cast<unsigned>(most) + 1)) -
                             most);
  }

  std::mt19937 random_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int32_t> bias_;
  std::vector<std::int16_t> read_out_;
  std::vector<std::int32_t> class_bias_;
  std::vector<std::uint16_t> fields_;
  std::vector<std::uint8_t> memory_;
};

/// Winners equal, evidence within the rounding of the activities to 1/256.
void compare(RandomModel& model, int patches) {
  const int classes = model.shape.classes;
  test::ReferenceClassifier reference(model.shape.parameters, classes, model.arrays);
  std::vector<std::int64_t> evidence(static_cast<std::size_t>(classes));
  const int competitors = model.shape.parameters.competitors;
  // |R| is at most 9000 / 1024; a share is rounded by at most 1/512, and its table by 1/65535.
  const double tolerance =
      competitors == 1 ? 1e-6
                       : model.shape.hierarchy.hypercolumns * competitors * 9.0 * (1.0 / 500.0);
  for (int i = 0; i < patches; ++i) {
    const auto patch = model.patch();
    detail::classify_patch(model.shape, model.arrays, patch.data(), model.shape.parameters.width,
                           model.scratch, evidence.data());
    const std::vector<int> cells(model.scratch.cells, model.scratch.cells + model.shape.pixels());
    const std::vector<double> expected = reference.evidence(cells);
    for (std::size_t h = 0; h < reference.winners.size(); ++h)
      ASSERT_EQ(model.scratch.winners[h], reference.winners[h]) << "hypercolumn " << h;
    for (std::size_t c = 0; c < expected.size(); ++c) {
      ASSERT_NEAR(static_cast<double>(evidence[c]) / (kCortexReadOutScale * kCortexActivityOne),
                  expected[c], tolerance);
    }
  }
}

CortexParameters two_levels() {
  CortexParameters p;
  p.width = 21;
  p.height = 17;
  p.deslant = false;
  p.level_count = 2;
  p.levels[0] = {7, 5, 3, 2, 37};  // 5 x 7
  p.levels[1] = {2, 3, 1, 2, 70};  // 4 x 3
  return p;
}

// Fails if a score, a winner, the geometry of a level or the read-out differs from the equations.
// Promises: RES-003.
TEST(CortexClassifier, EqualsReference) {
  RandomModel model(two_levels(), 5, 1);
  compare(model, 20);
}

// Fails if more active inputs than a 16-bit sum holds lead to an overflow.
TEST(CortexClassifier, LargeWindowEqualsReference) {
  CortexParameters p;
  p.width = 64;
  p.height = 64;
  p.lgn_threshold = 1;
  p.deslant = false;
  p.levels[0] = {60, 64, 2, 1, 33};
  RandomModel model(p, 3, 2);
  compare(model, 5);
}

// Fails if the shares of soft competition differ from (b) by more than their rounding.
TEST(CortexClassifier, SoftCompetitionEqualsReference) {
  CortexParameters p = two_levels();
  p.competitors = 4;
  p.softness = 0.05f;
  RandomModel model(p, 4, 3);
  compare(model, 20);
}

// Fails if a hypercolumn with a free field sees other pixels than those of its list, or if a level
// above sees other winners.
TEST(CortexClassifier, FreeFieldsEqualReference) {
  CortexParameters p = two_levels();
  p.fields = 9;
  p.field_inputs = 31;
  p.levels[1] = {4, 1, 2, 1, 70};
  p.competitors = 3;
  RandomModel model(p, 5, 6);
  EXPECT_EQ(model.shape.hierarchy.hypercolumns, 9 + 3);
  compare(model, 20);
}

// Fails if an instruction set computes another score than the scalar one.
// Promises: RES-002.
TEST(CortexClassifier, InstructionSetsEqual) {
  RandomModel model(two_levels(), 5, 4);
  const auto patch = model.patch();
  std::vector<std::int64_t> expected;
  int targets = 0;
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    std::vector<std::int64_t> evidence(5);
    detail::classify_patch(model.shape, model.arrays, patch.data(), 21, model.scratch,
                           evidence.data());
    if (targets++ == 0) expected = evidence;
    EXPECT_EQ(evidence, expected) << hwy::TargetName(target);
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_GT(targets, 0);
}

// Fails if the slant is measured or removed in another way than the reference does: a pixel may
// differ by the rounding of the position to 1/256 and of the result to 1.
TEST(Deslant, EqualsReference) {
  std::mt19937 random(5);
  for (const int width : {8, 28, 64}) {
    const int height = 72 - width;
    std::vector<std::uint8_t> patch(static_cast<std::size_t>(width * height));
    for (int kind = 0; kind < 4; ++kind) {
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          // A stroke with a slant, and noise.
          const int middle = width / 2 + (kind - 2) * (y - height / 2) / 2;
          const bool on = std::abs(x - middle) < 2 || (kind == 3 && random() % 20 == 0);
          patch[static_cast<std::size_t>(y * width + x)] =
              static_cast<std::uint8_t>(on ? 100 + random() % 156 : 0);
        }
      }
      std::vector<std::uint8_t> out(patch.size());
      detail::deslant(patch.data(), width, width, height, out.data());
      const auto expected = test::ReferenceClassifier::deslant(
          std::vector<double>(patch.begin(), patch.end()), width, height);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], 0.5 + 255.0 / 256.0 * 1.5) << width << " kind " << kind;
    }
  }
}

// Fails if a patch without ink, or with ink in one row only, is changed or divides by 0.
TEST(Deslant, KeepsPatchesWithoutSlant) {
  std::vector<std::uint8_t> patch(28 * 28);
  std::vector<std::uint8_t> out(patch.size(), 1);
  detail::deslant(patch.data(), 28, 28, 28, out.data());
  EXPECT_EQ(out, patch);
  for (std::size_t x = 3; x < 20; ++x) patch[5 * 28 + x] = static_cast<std::uint8_t>(10 * x);
  detail::deslant(patch.data(), 28, 28, 28, out.data());
  EXPECT_EQ(out, patch);
}

// Fails if the class with the most evidence is not the answer, if the lower one of equals is not,
// or if the confidence is not (d).
TEST(CortexClassifier, Decides) {
  constexpr std::int64_t kOne = kCortexReadOutScale * kCortexActivityOne;
  const std::vector<std::int64_t> evidence{-kOne, 2 * kOne, 0, 2 * kOne};
  const auto decision = detail::decide(evidence.data(), 4, 0.5f);
  EXPECT_EQ(decision.label, 1);
  EXPECT_NEAR(decision.confidence, 1.0 / (std::exp(-1.5) + 1.0 + std::exp(-1.0) + 1.0), 1e-6);
}

// Fails if a bad parameter is accepted, or if the error does not name it.
TEST(CortexClassifier, RefusesBadParameters) {
  const auto text = [](const auto& change) -> std::string {
    CortexParameters p = two_levels();
    change(p);
    const auto checked = check_parameters(p);
    if (checked) return "accepted";
    EXPECT_EQ(checked.error().status, Status::kInvalidArgument);
    return checked.error().text;
  };
  const auto has = [&](const auto& change, const char* part) {
    const std::string error = text(change);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  using P = CortexParameters;
  EXPECT_EQ(text([](P&) {}), "accepted");
  has([](P& p) { p.width = 7; }, "width is 7; it must be 8 to 64");
  has([](P& p) { p.height = 65; }, "height is 65");
  has([](P& p) { p.lgn_threshold = 0; }, "lgn_threshold is 0");
  has([](P& p) { p.level_count = 5; }, "level_count is 5; it must be 1 to 4");
  has([](P& p) { p.levels[1].minicolumns = 0; }, "minicolumns of level 2 is 0");
  has([](P& p) { p.levels[1] = {1, 1, 1, 1, 8}; }, "must converge");
  has([](P& p) { p.levels[0].window_width = 22; }, "the window of level 1 is 22x5");
  has([](P& p) { p.competitors = 9; }, "competitors is 9; it must be 1 to 8");
  has([](P& p) { p.softness = std::numeric_limits<float>::quiet_NaN(); }, "softness is");
  has(
      [](P& p) {
        p.competitors = 8;
        p.levels[0].minicolumns = 7;
      },
      "level 1 has 7 minicolumns");
  has(
      [](P& p) {
        p.width = p.height = 64;
        p.levels[0] = {32, 32, 1, 1, 1024};
      },
      "bytes; a model must have at most");
}

}  // namespace
}  // namespace ocellus
