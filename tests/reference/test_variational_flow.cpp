// The reference of the variational flow against known motion, and against errors measured for the
// method on sequences with true flow.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "reference/image.h"
#include "reference/variational_flow.h"
#include "support/flow_files.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus {
namespace {

using reference::variational_flow;
using reference::VariationalResult;
using test::PlaneD;

// Fails when a translation by parts of a pixel is not found. The texture is a function, so the
// frames are exact.
TEST(VariationalFlow, FindsATranslationByPartsOfAPixel) {
  const ImageSize size{128, 104};
  const test::Texture texture(11, 6.0, 24.0);
  for (const auto& [u, v] : {std::pair{0.37, -0.81}, {-4.63, 2.29}}) {
    const test::AffineMotion motion(0, 0, u, 0, 0, v);
    const VariationalResult flow = variational_flow(test::render(texture, motion, size, 0.0),
                                                    test::render(texture, motion, size, 1.0));
    double sum = 0.0;
    int count = 0;
    const int border = 12;
    for (int y = border; y < size.height - border; ++y) {
      for (int x = border; x < size.width - border; ++x, ++count) {
        sum += test::end_point_error(flow.u.at(x, y), flow.v.at(x, y), u, v);
        ASSERT_GT(flow.confidence.at(x, y), 0.0);
      }
    }
    EXPECT_LE(sum / count, 0.02) << "translation by " << u << ", " << v;
  }
}

/// Frames with fine detail, motion of several pixels, occlusion and flow across the borders. Both
/// sides stay odd over the levels 97, 49 and 25, so that a mirrored pyramid is the mirrored one.
std::pair<PlaneD, PlaneD> moving_square() {
  const ImageSize size{97, 97};
  const test::Texture ground(3, 5.0, 30.0);
  const test::Texture square(4, 4.0, 20.0);
  const auto frame = [&](double moment) {
    return reference::make(size.width, size.height, [&](int x, int y) {
      const bool inside =
          std::abs(x - 45.0 - 3.0 * moment) < 17.0 && std::abs(y - 52.0 + 2.0 * moment) < 14.0;
      return inside ? square(x - 3.0 * moment, y + 2.0 * moment)
                    : ground(x + 1.3 * moment, y - 0.6 * moment);
    });
  };
  return {frame(0.0), frame(1.0)};
}

/// Compares flow of frames that are changed by an exchange of pixels. `pixel(x, y)` is where the
/// pixel came from, and `vector(u, v)` what becomes of its flow.
template <typename Pixel, typename Flow>
void expect_the_same_after(const Pixel& pixel, const Flow& vector) {
  const auto [first, second] = moving_square();
  const auto changed = [&](const PlaneD& plane) {
    return reference::make(plane.width, plane.height, [&](int x, int y) {
      const auto [from_x, from_y] = pixel(x, y);
      return plane.at(from_x, from_y);
    });
  };
  const VariationalResult before = variational_flow(first, second);
  const VariationalResult after = variational_flow(changed(first), changed(second));
  for (int y = 0; y < first.height; ++y) {
    for (int x = 0; x < first.width; ++x) {
      const auto [from_x, from_y] = pixel(x, y);
      const auto [u, v] = vector(before.u.at(from_x, from_y), before.v.at(from_x, from_y));
      ASSERT_NEAR(after.u.at(x, y), u, 1e-6) << x << ", " << y;
      ASSERT_NEAR(after.v.at(x, y), v, 1e-6) << x << ", " << y;
      ASSERT_NEAR(after.confidence.at(x, y), before.confidence.at(from_x, from_y), 1e-6)
          << x << ", " << y;
    }
  }
}

// Fails when x and y are confused in any step. The flow of transposed frames is the transposed one.
TEST(VariationalFlow, TreatsBothAxesAlike) {
  expect_the_same_after(
      [](int x, int y) {
        return std::pair{y, x};
      },
      [](double u, double v) {
        return std::pair{v, u};
      });
}

// Fails when a step treats the two directions or the two borders of an axis differently. The flow
// of frames rotated by half a turn is the rotated one.
TEST(VariationalFlow, TreatsBothDirectionsAlike) {
  expect_the_same_after(
      [](int x, int y) {
        return std::pair{96 - x, 96 - y};
      },
      [](double u, double v) {
        return std::pair{-u, -v};
      });
}

/// The mean end-point error over all pixels with known flow.
double error_on(const std::string& first, const std::string& second, const std::string& truth) {
  const auto from = test::read_pgm(first);
  const auto to = test::read_pgm(second);
  const auto field = test::read_flo(truth);
  if (!from || !to || !field) {
    ADD_FAILURE() << "cannot read " << first << ", " << second << " or " << truth;
    return 0.0;
  }
  const VariationalResult flow = variational_flow(*from, *to);
  double sum = 0.0;
  int count = 0;
  for (std::size_t i = 0; i < field->u.data.size(); ++i) {
    const double u = static_cast<double>(field->u.data[i]);
    const double v = static_cast<double>(field->v.data[i]);
    if (!(std::abs(u) < 1e9 && std::abs(v) < 1e9)) continue;  // larger values mean unknown
    sum += test::end_point_error(flow.u.data[i], flow.v.data[i], u, v);
    ++count;
  }
  return sum / count;
}

// Fails when a constant, a border or a step differs from the method, whose errors are 0.083 and
// 0.109. The further digits are those of this reference: rounding moves them by less than 1e-6, and
// a changed constant by 1e-4 and more on one of the sequences.
TEST(VariationalFlow, HasTheErrorsOfTheMethodOnSequencesWithTruth) {
  const std::string data = test::data_folder();
  if (data.empty()) GTEST_SKIP() << "OCELLUS_TEST_DATA is not set: no ground truth";
  const std::string whale = data + "/flow/RubberWhale/";
  EXPECT_NEAR(error_on(whale + "frame10.pgm", whale + "frame11.pgm", whale + "flow10.flo"), 0.08279,
              1e-5);
  const std::string yosemite = data + "/flow/yosemite/";
  EXPECT_NEAR(error_on(yosemite + "yos09.pgm", yosemite + "yos10.pgm", yosemite + "flow09.flo"),
              0.10886, 1e-5);
}

}  // namespace
}  // namespace ocellus
