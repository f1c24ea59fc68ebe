// Every template of the library against the operation of its name, computed by simple loops, on
// drawn shapes and on 50 pieces of photographs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "halftone/bitmap.h"
#include "ocellus/cell_templates.h"
#include "reference/cellular_network.h"
#include "support/networks.h"

namespace ocellus {
namespace {

using test::Bitmap;
using test::Offsets;
using test::PlaneD;

CellularNetworkConfig chain(const std::string& text, ImageSize size) {
  CellularNetworkConfig config;
  config.size = size;
  const auto count = parse_cell_chain(text, config.stages);
  EXPECT_TRUE(count) << count.error().text;
  config.stage_count = count ? *count : 0;
  return config;
}

/// What computes the chains: the reference, or the operator on a backend.
using Network = std::optional<BackendChoice>;

PlaneD run_reference(const CellularNetworkConfig& config, const PlaneD& gray, bool& converged) {
  std::vector<int> bits;
  for (int i = 0; i < config.stage_count; ++i)
    bits.push_back(config.stages[static_cast<std::size_t>(i)].levels == 2 ? 9 : 13);
  const reference::CellRun run = reference::run_cells(config, bits, gray);
  converged = run.info.converged;
  return run.gray;
}

/// Operators on one engine. The last one is kept, because creation takes long on a device.
class Operators {
 public:
  explicit Operators(BackendChoice backend) {
    CellularNetworkConfig largest = chain("skeleton | diffusion | patchmaker", {128, 128});
    EngineConfig settings = test::engine_config(2, backend);
    settings.memory =
        test::must(CellularNetwork::footprint(test::must(Engine::probe(settings)), largest));
    engine_.emplace(test::must(Engine::create(settings)));
  }

  /// The last operator is reused if `name` and size are equal; an empty name is never reused.
  PlaneD run(const std::string& name, const CellularNetworkConfig& config, const PlaneD& gray,
             bool& converged) {
    if (!network_ || name.empty() || name != name_ || config.size != size_) {
      network_.reset();
      network_.emplace(test::must(CellularNetwork::create(*engine_, config)));
      name_ = name;
      size_ = config.size;
    }
    const test::FrameBuffer frame =
        test::FrameBuffer(config.size, PixelFormat::kGray8, 3, 1).fill(gray);
    CellularNetworkRecord info;
    const test::CellBytes out = test::cells_of(*network_, frame.frame(), &info);
    converged = info.converged;
    PlaneD result(gray.width, gray.height);
    std::copy(out.begin(), out.end(), result.data.begin());
    return result;
  }

 private:
  std::optional<Engine> engine_;
  std::optional<CellularNetwork> network_;
  std::string name_;
  ImageSize size_;
};

class Templates : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    if (!GetParam()) return;
    if (*GetParam() == BackendChoice::kCuda) test::skip_without_device();
    if (IsSkipped()) return;
    operators_.emplace(*GetParam());
  }

  Bitmap run(const std::string& text, const Bitmap& image) {
    return test::bitmap_of(run_gray(text, test::gray_of(image)));
  }
  Bitmap run(const CellularNetworkConfig& config, const Bitmap& image) {
    return test::bitmap_of(run_gray("", config, test::gray_of(image)));
  }
  PlaneD run_gray(const std::string& text, const PlaneD& gray) {
    return run_gray(text, chain(text, gray.size()), gray);
  }
  PlaneD run_gray(const std::string& name, const CellularNetworkConfig& config,
                  const PlaneD& gray) {
    return operators_ ? operators_->run(name, config, gray, converged_)
                      : run_reference(config, gray, converged_);
  }

  /// Checks all chains with a known result.
  void check(const std::vector<Bitmap>& images);

  bool converged_ = false;

 private:
  std::optional<Operators> operators_;
};

// ---- definitions of the binary templates

const Offsets kSquare = {{0, 0},  {1, 0},   {1, 1},  {0, 1}, {-1, 1},
                         {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
const Offsets kCross = {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}};
const Offsets kL = {{0, 0}, {0, -1}, {1, 0}};

/// If `outside` is true, a black cell sees the nearest cell of the image in place of a cell
/// outside.
Bitmap count_around(const Bitmap& image, bool outside,
                    const std::function<bool(bool black, int neighbors)>& rule) {
  return test::each(image, [&](int x, int y) {
    return rule(image.at(x, y), test::black_around(image, x, y, outside, test::kAround));
  });
}

Bitmap nearest_count(const Bitmap& image,
                     const std::function<bool(bool black, int neighbors)>& rule) {
  return test::each(image, [&](int x, int y) {
    int count = 0;
    for (const auto& [dx, dy] : test::kAround) count += image.clamped(x + dx, y + dy);
    return rule(image.at(x, y), count);
  });
}

Bitmap shadow(const Bitmap& image, int dx, int dy) {
  return test::each(image, [&](int x, int y) {
    for (; test::inside(image, x, y); x -= dx, y -= dy) {
      if (image.at(x, y)) return true;
    }
    return false;
  });
}

/// Along each line in the direction (dx, dy): as many black cells as the line has runs, separated
/// by single white cells, up to the end of the line.
Bitmap packed_runs(const Bitmap& image, int dx, int dy) {
  Bitmap result(image.width, image.height);
  for (int y0 = 0; y0 < image.height; ++y0) {
    for (int x0 = 0; x0 < image.width; ++x0) {
      if (test::inside(image, x0 - dx, y0 - dy)) continue;  // not the start of a line
      int runs = 0;
      bool before = false;
      int x = x0;
      int y = y0;
      for (; test::inside(image, x, y); x += dx, y += dy) {
        runs += image.at(x, y) && !before;
        before = image.at(x, y);
      }
      for (int run = 0; run < runs; ++run)
        result.at(x - dx * (1 + 2 * run), y - dy * (1 + 2 * run)) = 1;
    }
  }
  return result;
}

Bitmap filled(const Bitmap& image) {
  const Bitmap open = test::background(image);
  return test::each(image, [&](int x, int y) { return !open.at(x, y); });
}

Bitmap without_hollows(Bitmap image) {
  for (;;) {
    const Bitmap next =
        count_around(image, false, [](bool black, int around) { return black || around >= 4; });
    if (next.data == image.data) return image;
    image = next;
  }
}

Bitmap combined(const Bitmap& a, const Bitmap& b, const std::function<bool(bool, bool)>& rule) {
  return test::each(a, [&](int x, int y) { return rule(a.at(x, y), b.at(x, y)); });
}

Bitmap opened_by_recall(const Bitmap& image) {
  return test::reached(image, test::erode(image, kSquare), 1, test::kAround);
}

using Meaning = std::function<Bitmap(const Bitmap&)>;

/// Chains with a known result and the operation of their name.
const std::vector<std::tuple<std::string, std::string, Meaning>>& known_chains() {
  static const std::vector<std::tuple<std::string, std::string, Meaning>> kKnown = {
      {"edge", "edge",
       [](const Bitmap& u) {
         return nearest_count(u, [](bool black, int n) { return black && n < 8; });
       }},
      {"corner", "corner",
       [](const Bitmap& u) {
         return nearest_count(u, [](bool black, int n) { return black && n <= 3; });
       }},
      {"threshold", "threshold", [](const Bitmap& u) { return u; }},
      {"erosion", "erosion", [](const Bitmap& u) { return test::erode(u, kSquare); }},
      {"erosion_cross", "erosion(cross)", [](const Bitmap& u) { return test::erode(u, kCross); }},
      {"erosion_l", "erosion(l)", [](const Bitmap& u) { return test::erode(u, kL); }},
      {"dilation", "dilation(square)", [](const Bitmap& u) { return test::dilate(u, kSquare); }},
      {"dilation_cross", "dilation_cross", [](const Bitmap& u) { return test::dilate(u, kCross); }},
      {"dilation_l", "dilation_l", [](const Bitmap& u) { return test::dilate(u, kL); }},
      {"erosion_l", "erosion_l | dilation_l",
       [](const Bitmap& u) { return test::dilate(test::erode(u, kL), kL); }},
      {"hole", "hole", filled},
      {"recall", "erosion | recall", opened_by_recall},
      {"hollow", "hollow", without_hollows},
      {"figdel", "figdel",
       [](const Bitmap& u) {
         return count_around(u, false, [](bool black, int n) { return black && n == 0; });
       }},
      {"figextr", "figextr",
       [](const Bitmap& u) {
         return count_around(u, false, [](bool black, int n) { return black && n > 0; });
       }},
      {"junction", "junction",
       [](const Bitmap& u) {
         return count_around(u, false, [](bool black, int n) { return black && n >= 3; });
       }},
      {"patchmaker", "patchmaker(sweeps=4)",
       [](Bitmap u) {
         for (int i = 0; i < 4; ++i) u = test::dilate(u, kCross);
         return u;
       }},
      {"shadow", "shadow(left)", [](const Bitmap& u) { return shadow(u, -1, 0); }},
      {"shadow_up", "shadow(up)", [](const Bitmap& u) { return shadow(u, 0, -1); }},
      {"shadow_right", "shadow(right)", [](const Bitmap& u) { return shadow(u, 1, 0); }},
      {"shadow_down", "shadow(down)", [](const Bitmap& u) { return shadow(u, 0, 1); }},
      {"ccd", "ccd", [](const Bitmap& u) { return packed_runs(u, 1, 0); }},
      {"ccd_vertical", "ccd(vertical)", [](const Bitmap& u) { return packed_runs(u, 0, 1); }},
      {"ccd_diagonal", "ccd(diagonal)", [](const Bitmap& u) { return packed_runs(u, 1, 1); }},
      {"ccd_antidiagonal", "ccd(antidiagonal)",
       [](const Bitmap& u) { return packed_runs(u, -1, 1); }},
      {"lognot", "lognot",
       [](const Bitmap& u) { return combined(u, u, [](bool a, bool) { return !a; }); }},
      {"logand", "ccd | logand",
       [](const Bitmap& u) {
         return combined(packed_runs(u, 1, 0), u, [](bool a, bool b) { return a && b; });
       }},
      {"logor", "ccd | logor",
       [](const Bitmap& u) {
         return combined(packed_runs(u, 1, 0), u, [](bool a, bool b) { return a || b; });
       }},
      {"logdif", "ccd | logdif",
       [](const Bitmap& u) {
         return combined(packed_runs(u, 1, 0), u, [](bool a, bool b) { return a && !b; });
       }},
  };
  return kKnown;
}

void Templates::check(const std::vector<Bitmap>& images) {
  for (const auto& [name, text, expected] : known_chains()) {
    for (std::size_t i = 0; i < images.size(); ++i) {
      const Bitmap result = run(text, images[i]);
      ASSERT_EQ(test::drawn(result), test::drawn(expected(images[i])))
          << text << " of image " << i << test::drawn(images[i]);
      const bool ends = text.find("sweeps") == std::string::npos;
      ASSERT_TRUE(converged_ || !ends) << text << " of image " << i;
    }
  }
}

// Fails when a template does not compute the operation of its name, or does not converge.
TEST_P(Templates, BinaryTemplatesEqualMorphologyOnDrawnShapes) {
  check(test::drawn_images());
}

// Fails as the test above, on images with all the small shapes of photographs.
TEST_P(Templates, BinaryTemplatesEqualMorphologyOnPhotographs) {
  const auto images = test::real_images(test::data_folder());
  if (images.empty()) GTEST_SKIP() << "OCELLUS_TEST_DATA has no images/camera.pgm and coins.pgm";
  ASSERT_EQ(images.size(), 50u);
  check(images);
}

std::vector<Bitmap> all_images() {
  std::vector<Bitmap> images = test::drawn_images();
  for (const Bitmap& image : test::real_images(test::data_folder())) images.push_back(image);
  return images;
}

/// A smaller selection for tests that run many times.
std::vector<Bitmap> some_images() {
  const std::vector<Bitmap> all = all_images();
  std::vector<Bitmap> some;
  for (std::size_t i = 0; i < all.size(); i += 3) some.push_back(all[i]);
  return some;
}

// Fails when an unchanged object disappears, or an object with a missing cell remains.
TEST_P(Templates, ConnectivityKeepsUnchangedObjects) {
  std::mt19937 random(5);
  for (const Bitmap& image : all_images()) {
    const test::Areas objects(image, 1, test::kSides);
    std::vector<int> mark;  // per object: -1 unchanged, 0 its next cell is to be removed, 1 removed
    for (int i = 0; i < objects.count; ++i) mark.push_back(random() % 2 == 0 ? -1 : 0);
    test::PlaneF marked(image.width, image.height, -1.0f);
    Bitmap expected(image.width, image.height);
    for (std::size_t i = 0; i < image.data.size(); ++i) {
      if (!image.data[i]) continue;
      int& object = mark[static_cast<std::size_t>(objects.number.data[i] - 1)];
      expected.data[i] = object < 0;
      if (object == 0) {
        object = 1;
      } else {
        marked.data[i] = 1.0f;
      }
    }
    CellularNetworkConfig config;
    config.size = image.size();
    config.stage_count = 1;
    config.stages[0] = *cell_template("connectivity");
    config.stages[0].start = CellStart::kPlane;
    config.stages[0].start_plane = marked.data.data();
    config.stages[0].start_stride = static_cast<std::ptrdiff_t>(sizeof(float)) * image.width;
    ASSERT_EQ(test::drawn(run(config, image)), test::drawn(expected)) << test::drawn(image);
    EXPECT_TRUE(converged_);
  }
}

/// The sum of the cells around. A cell outside the image counts as the nearest cell inside.
int majority(const Bitmap& image, int x, int y, const Offsets& element) {
  int sum = 0;
  for (const auto& [dx, dy] : element) sum += image.clamped(x + dx, y + dy) ? 1 : -1;
  return sum;
}

// Fails when a final cell differs from the majority around it, when a small isolated object
// remains, or when a large one disappears.
TEST_P(Templates, MajorityTemplatesConvergeToMajorities) {
  const std::tuple<const char*, Offsets, int> cases[] = {{"smkiller", kSquare, 2},
                                                         {"average", kCross, 1}};
  for (const auto& [name, element, vanishing] : cases) {
    for (const Bitmap& image : all_images()) {
      const Bitmap result = run(name, image);
      EXPECT_TRUE(converged_) << name;
      for (int y = 0; y < image.height; ++y) {
        for (int x = 0; x < image.width; ++x)
          ASSERT_EQ(result.at(x, y), majority(result, x, y, element) > 0) << name;
      }
    }
    Bitmap image(40, 20);
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) image.at(4 + x, 6 + y) = 1;
    }
    for (int y = 0; y < vanishing; ++y) {
      for (int x = 0; x < vanishing; ++x) image.at(30 + x, 9 + y) = 1;
    }
    const Bitmap result = run(name, image);
    EXPECT_GT(test::cells(result), 30) << name;
    for (int y = 0; y < 20; ++y) {
      for (int x = 26; x < 40; ++x) EXPECT_FALSE(result.at(x, y)) << name;
    }
  }
}

// Fails when a template that is documented to converge to the same image in every order does not.
TEST_P(Templates, TheOrderOfUpdatesDoesNotChangeTheResult) {
  const char* const chains[] = {
      "edge",       "dilation(l)", "hole",          "erosion | recall",  "hollow",
      "shadow",     "ccd",         "ccd(vertical)", "ccd(antidiagonal)", "shadow(down)",
      "ccd | logor"};
  for (const char* const text : chains) {
    for (const Bitmap& image : test::drawn_images()) {
      const std::string expected = test::drawn(run(text, image));
      for (const auto& [update, spacing] : {std::pair{CellUpdate::kRaster, 0},
                                            {CellUpdate::kSynchronous, 0},
                                            {CellUpdate::kColors, 3},
                                            {CellUpdate::kColors, 9}}) {
        CellularNetworkConfig config = chain(text, image.size());
        for (CellStage& stage : config.stages) {
          stage.update = update;
          stage.color_spacing = spacing;
        }
        ASSERT_EQ(test::drawn(run(config, image)), expected) << text << test::drawn(image);
        ASSERT_TRUE(converged_) << text;
      }
    }
  }
}

// Fails when a shadow needs more sweeps than documented.
TEST(TemplateTests, ShadowsGrowTwoCellsPerSweep) {
  for (const char* const name : {"shadow(left)", "shadow(right)"}) {
    const CellularNetworkConfig config = chain(name, {200, 1});
    const PlaneD white(200, 1, 255.0);
    EXPECT_LE(reference::run_cells(config, {9}, white).info.sweeps, 102) << name;
    EXPECT_GE(reference::run_cells(config, {9}, white).info.sweeps, 90) << name;
  }
}

/// Applies a chain to its own result until nothing changes.
template <typename Run>
Bitmap repeated(const Run& run, Bitmap image) {
  for (int pass = 0; pass < 200; ++pass) {
    const Bitmap next = run(image);
    if (next.data == image.data) return next;
    image = next;
  }
  ADD_FAILURE() << "no fixed point after 200 passes";
  return image;
}

// Fails when thinning breaks or joins objects, opens or creates a hole, adds a cell, or leaves a
// thick part.
TEST_P(Templates, SkeletonsAreThinAndKeepTheConnectivity) {
  for (const Bitmap& image : some_images()) {
    const Bitmap skeleton = repeated([&](const Bitmap& u) { return run("skeleton", u); }, image);
    for (std::size_t i = 0; i < image.data.size(); ++i) ASSERT_LE(skeleton.data[i], image.data[i]);
    ASSERT_EQ(test::Areas(skeleton, 1, test::kAround).count,
              test::Areas(image, 1, test::kAround).count)
        << test::drawn(image) << test::drawn(skeleton);
    const auto holes = [](const Bitmap& of) {
      return test::Areas(combined(filled(of), of, [](bool a, bool b) { return a && !b; }), 1,
                         test::kSides)
          .count;
    };
    ASSERT_EQ(holes(skeleton), holes(image)) << test::drawn(image) << test::drawn(skeleton);
    // Between holes that are close, a cell of the skeleton may be surrounded by black cells.
    const Bitmap thick =
        count_around(skeleton, false, [](bool black, int n) { return black && n == 8; });
    EXPECT_LE(test::cells(thick), test::cells(skeleton) / 25) << test::drawn(skeleton);
  }
}

// Fails when an object without holes does not shrink to one of its cells, or when an object is lost
// or broken.
TEST_P(Templates, CentersAreOneCellPerObject) {
  for (const Bitmap& image : some_images()) {
    const Bitmap centers = repeated([&](const Bitmap& u) { return run("center", u); }, image);
    const test::Areas objects(image, 1, test::kAround);
    const test::Areas rests(centers, 1, test::kAround);
    ASSERT_EQ(rests.count, objects.count) << test::drawn(image) << test::drawn(centers);
    // An object around a hole, or inside one, may shrink to a ring.
    const auto size = static_cast<std::size_t>(objects.count) + 1;
    std::vector<int> left(size);
    std::vector<bool> holes(size);
    const Bitmap open = test::background(image);
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        left[static_cast<std::size_t>(objects.number.at(x, y))] += centers.at(x, y);
        if (image.at(x, y) || open.at(x, y)) continue;
        for (const auto& [dx, dy] : test::kSides)
          holes[static_cast<std::size_t>(objects.number.clamped(x + dx, y + dy))] = true;
      }
    }
    for (std::size_t i = 1; i < size; ++i) {
      EXPECT_TRUE(left[i] == 1 || holes[i])
          << left[i] << " cells of object " << i << test::drawn(image) << test::drawn(centers);
      EXPECT_GE(left[i], 1) << "object " << i << test::drawn(image) << test::drawn(centers);
    }
  }
}

// Fails when a group in a chain is not the chain applied to its own result until nothing changes,
// or when the passes are not counted.
TEST_P(Templates, GroupsRepeatUntilNothingChanges) {
  if (!GetParam())
    GTEST_SKIP() << "conformance.cellular_network compares groups with the reference";
  for (const char* chain : {"skeleton", "center", "skeleton | center"}) {
    for (const Bitmap& image : some_images()) {
      const Bitmap expected = repeated([&](const Bitmap& u) { return run(chain, u); }, image);
      ASSERT_EQ(run("[" + std::string(chain) + "]", image).data, expected.data)
          << chain << test::drawn(image);
      EXPECT_TRUE(converged_);
    }
  }
}

// ---- gray templates

PlaneD photograph() {
  const auto camera = test::read_pgm(test::data_folder() + "/images/camera.pgm");
  PlaneD gray(61, 47);
  for (int y = 0; y < gray.height; ++y) {
    for (int x = 0; x < gray.width; ++x) {
      gray.at(x, y) = camera ? camera->at(150 + 3 * x, 60 + 4 * y)
                             : std::round(127.5 + 90.0 * std::sin(0.2 * x) * std::cos(0.15 * y) +
                                          30.0 * std::sin(1.7 * x + 0.9 * y));
    }
  }
  return gray;
}

double u_of(double gray) {
  return 1.0 - 2.0 * gray / 255.0;
}

// Fails when the number in parentheses is not the threshold in units of u.
TEST_P(Templates, ThresholdIsTheGivenNumber) {
  const PlaneD gray = photograph();
  for (const double threshold : {-0.9, -0.25, 0.0, 0.4}) {
    const PlaneD result = run_gray("threshold(" + std::to_string(threshold) + ")", gray);
    for (std::size_t i = 0; i < gray.data.size(); ++i) {
      if (std::fabs(u_of(gray.data[i]) - threshold) > 0.003) {
        ASSERT_EQ(result.data[i], u_of(gray.data[i]) > threshold ? 0.0 : 255.0);
      }
    }
  }
}

// Fails when dark flat areas count as edges, or the dark side of a step does not.
TEST_P(Templates, EdgesOfGrayAreOnTheDarkSide) {
  const PlaneD gray = photograph();
  const PlaneD result = run_gray("edgegray", gray);
  for (int y = 0; y < gray.height; ++y) {
    for (int x = 0; x < gray.width; ++x) {
      double sum = -0.5;
      for (const auto& [dx, dy] : test::kAround)
        sum += u_of(gray.at(x, y)) - u_of(gray.clamped(x + dx, y + dy));
      if (std::fabs(sum) > 0.01) {
        ASSERT_EQ(result.at(x, y), sum > 0.0 ? 0.0 : 255.0);
      }
    }
  }
  EXPECT_EQ(run_gray("edgegray", PlaneD(9, 7, 10.0)).data, PlaneD(9, 7, 255.0).data);
}

// Fails when an inverse halftone is not the weighted mean of its kernel.
TEST_P(Templates, InverseHalftonesAreMeans) {
  const PlaneD gray = test::gray_of(test::drawn_images()[2]);
  for (const char* const name : {"invhlf3", "invhlf5"}) {
    const CellStage stage = *cell_template(name);
    const int r = stage.weights.radius;
    const PlaneD result = run_gray(name, gray);
    EXPECT_TRUE(converged_);
    double weights = 0.0;
    for (int y = 0; y < gray.height; ++y) {
      for (int x = 0; x < gray.width; ++x) {
        double sum = 0.0;
        weights = 0.0;
        for (int dy = -r; dy <= r; ++dy) {
          for (int dx = -r; dx <= r; ++dx) {
            const double weight = static_cast<double>(
                stage.weights.b[static_cast<std::size_t>((dy + r) * (2 * r + 1) + dx + r)]);
            weights += weight;
            sum += weight * gray.clamped(x + dx, y + dy);
          }
        }
        ASSERT_NEAR(result.at(x, y), sum, 0.6) << name;
      }
    }
    EXPECT_NEAR(weights, 1.0, 1e-6) << name;
  }
}

// Fails when diffusion differs from its repeated kernel by more than the rounding to levels allows.
TEST_P(Templates, DiffusionIsItsKernelRepeated) {
  const PlaneD gray = photograph();
  const PlaneD result = run_gray("diffusion(sweeps=3)", gray);
  PlaneD expected = gray;
  for (int i = 0; i < 3; ++i) {
    const PlaneD before = expected;
    for (int y = 0; y < gray.height; ++y) {
      for (int x = 0; x < gray.width; ++x) {
        double sum = 0.0;
        for (const auto& [dx, dy] : test::kAround)
          sum += (dx == 0 || dy == 0 ? 0.15 : 0.1) * before.clamped(x + dx, y + dy);
        expected.at(x, y) = sum;
      }
    }
  }
  for (std::size_t i = 0; i < gray.data.size(); ++i)
    ASSERT_NEAR(result.data[i], expected.data[i], 1.6) << "the limit is three times half a level";
}

// Fails when relaxation leaves the range, oscillates, or does not approach the mean of the
// neighbors.
TEST_P(Templates, LaplaceRelaxes) {
  const PlaneD gray = photograph();
  const auto roughness = [](const PlaneD& of) {
    double sum = 0.0;
    for (int y = 0; y < of.height; ++y) {
      for (int x = 0; x < of.width; ++x) {
        double mean = 0.0;
        for (const auto& [dx, dy] : test::kSides) mean += 0.25 * of.clamped(x + dx, y + dy);
        sum += std::fabs(of.at(x, y) - mean);
      }
    }
    return sum / static_cast<double>(of.data.size());
  };
  const PlaneD result = run_gray("laplace", gray);
  EXPECT_LT(roughness(result), 0.05 * roughness(gray));
  EXPECT_LT(roughness(result), 0.6) << "must be less than one level";
  const auto [low, high] = std::minmax_element(gray.data.begin(), gray.data.end());
  for (const double value : result.data) {
    EXPECT_GE(value, *low - 0.5);
    EXPECT_LE(value, *high + 0.5);
  }
}

// Fails when a halftone does not converge within 100 sweeps, or has a different mean than its
// image.
TEST_P(Templates, HalftonesKeepTheTone) {
  const PlaneD gray = photograph();
  const std::pair<const char*, double> cases[] = {
      {"hlf3", 6.0},   {"hlf5", 3.0},        {"hlf5kc", 6.0}, {"gauss3", 4.0},
      {"gauss5", 1.0}, {"gauss5(0.8)", 1.0}, {"gauss7", 1.0}, {"gauss9", 1.0}};
  for (const auto& [name, tolerance] : cases) {
    const PlaneD result = run_gray(name, gray);
    EXPECT_TRUE(converged_) << name;
    double tone = 0.0;
    for (std::size_t i = 0; i < gray.data.size(); ++i) tone += result.data[i] - gray.data[i];
    EXPECT_LT(std::fabs(tone) / static_cast<double>(gray.data.size()), tolerance) << name;
    const PlaneD back = run_gray(std::string(name) + " | invhlf5", gray);
    double error = 0.0;
    for (std::size_t i = 0; i < gray.data.size(); ++i)
      error += std::fabs(back.data[i] - gray.data[i]);
    EXPECT_LT(error / static_cast<double>(gray.data.size()), 30.0) << name;
  }
}

// Fails when a new template has no test here.
TEST(TemplateTests, EveryNameIsTested) {
  std::set<std::string> tested = {"connectivity", "smkiller", "average", "skeleton",  "center",
                                  "edgegray",     "invhlf3",  "invhlf5", "diffusion", "laplace",
                                  "gauss3",       "gauss5",   "gauss7",  "gauss9",    "hlf3",
                                  "hlf5",         "hlf5kc"};
  for (const auto& known : known_chains()) tested.insert(std::get<0>(known));
  for (const CellTemplateInfo& info : cell_templates())
    EXPECT_TRUE(tested.contains(info.name)) << info.name;
}

/// The reference, and the backends of the other suites.
std::vector<Network> networks() {
  std::vector<Network> all = {std::nullopt};
  for (const BackendChoice backend : test::conformance_backends()) all.push_back(backend);
  return all;
}

INSTANTIATE_TEST_SUITE_P(On, Templates, testing::ValuesIn(networks()), [](const auto& of) {
  if (!of.param) return "reference";
  return *of.param == BackendChoice::kCuda ? "cuda" : "cpu";
});

}  // namespace
}  // namespace ocellus
