// Every template of the library against what its name says, worked out by plain loops: on drawn
// shapes and on 50 pieces of photographs.
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

/// Operators on one engine; the last one is kept, since to make one takes long on a device.
class Operators {
 public:
  explicit Operators(BackendChoice backend) {
    CellularNetworkConfig largest = chain("skeleton | diffusion | patchmaker", {128, 128});
    EngineConfig settings = test::engine_config(2, backend);
    settings.memory =
        test::must(CellularNetwork::footprint(test::must(Engine::probe(settings)), largest));
    engine_.emplace(test::must(Engine::create(settings)));
  }

  /// `name` and the size tell whether the last operator will do; empty: it will not.
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
    const auto probed = Engine::probe(test::engine_config(1, *GetParam()));
    if (!probed) GTEST_SKIP() << "no CUDA device: " << probed.error().text;
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

  /// All chains whose result is known.
  void check(const std::vector<Bitmap>& images);

  bool converged_ = false;

 private:
  std::optional<Operators> operators_;
};

// ---- what the binary ones mean

const Offsets kSquare = {{0, 0},  {1, 0},   {1, 1},  {0, 1}, {-1, 1},
                         {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
const Offsets kCross = {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}};
const Offsets kL = {{0, 0}, {0, -1}, {1, 0}};

/// `outside` black is taken for the nearest cell where a black cell asks.
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

/// Along each line in the direction (dx, dy): as many black cells as it has runs, with a white one
/// between two, up to its end.
Bitmap packed_runs(const Bitmap& image, int dx, int dy) {
  Bitmap result(image.width, image.height);
  for (int y0 = 0; y0 < image.height; ++y0) {
    for (int x0 = 0; x0 < image.width; ++x0) {
      if (test::inside(image, x0 - dx, y0 - dy)) continue;  // not where a line begins
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

/// Chains whose result is known, each with the name that it shows.
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

// Fails when a template does not do what it is called, or does not come to rest.
TEST_P(Templates, BinaryOnesAreMorphologyOnDrawnShapes) {
  check(test::drawn_images());
}

// The same on images with all the small shapes that photographs have.
TEST_P(Templates, BinaryOnesAreMorphologyOnPhotographs) {
  const auto images = test::real_images(test::data_folder());
  if (images.empty()) GTEST_SKIP() << "no images/camera.pgm and coins.pgm in OCELLUS_TEST_DATA";
  ASSERT_EQ(images.size(), 50u);
  check(images);
}

std::vector<Bitmap> all_images() {
  std::vector<Bitmap> images = test::drawn_images();
  for (const Bitmap& image : test::real_images(test::data_folder())) images.push_back(image);
  return images;
}

/// Fewer, for what is run again and again.
std::vector<Bitmap> some_images() {
  const std::vector<Bitmap> all = all_images();
  std::vector<Bitmap> some;
  for (std::size_t i = 0; i < all.size(); i += 3) some.push_back(all[i]);
  return some;
}

// Fails when an object of which nothing is missing goes, or one with a cell missing stays.
TEST_P(Templates, ConnectivityKeepsWhatIsWhole) {
  std::mt19937 random(5);
  for (const Bitmap& image : all_images()) {
    const test::Areas objects(image, 1, test::kSides);
    std::vector<int> mark;  // of each object: -1 whole, 0 its next cell is to go, 1 it went
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

/// Sums of the cells around, the nearest one for those outside.
int majority(const Bitmap& image, int x, int y, const Offsets& element) {
  int sum = 0;
  for (const auto& [dx, dy] : element) sum += image.clamped(x + dx, y + dy) ? 1 : -1;
  return sum;
}

// Fails when cells end that are not of one color with most cells around, or small objects far from
// others stay, or large ones go.
TEST_P(Templates, MajoritiesEndWhereTheyAre) {
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

// Fails when an operator that is said to end in the same image in every order does not.
TEST_P(Templates, TheOrderOfUpdatesDoesNotMatter) {
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

// Fails when what spreads takes more sweeps than it is said to.
TEST(TemplateTests, ShadowsGoTwoCellsASweep) {
  for (const char* const name : {"shadow(left)", "shadow(right)"}) {
    const CellularNetworkConfig config = chain(name, {200, 1});
    const PlaneD white(200, 1, 255.0);
    EXPECT_LE(reference::run_cells(config, {9}, white).info.sweeps, 102) << name;
    EXPECT_GE(reference::run_cells(config, {9}, white).info.sweeps, 90) << name;
  }
}

/// A chain again and again on its own result, until nothing changes.
template <typename Run>
Bitmap repeated(const Run& run, Bitmap image) {
  for (int pass = 0; pass < 200; ++pass) {
    const Bitmap next = run(image);
    if (next.data == image.data) return next;
    image = next;
  }
  ADD_FAILURE() << "200 passes and no end";
  return image;
}

// Fails when thinning breaks an object or joins two, opens or makes a hole, adds a cell, or leaves
// something thick.
TEST_P(Templates, SkeletonsAreThinAndConnectedAsBefore) {
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
    // A cell with black ones all around can be part of it, between holes that come close.
    const Bitmap thick =
        count_around(skeleton, false, [](bool black, int n) { return black && n == 8; });
    EXPECT_LE(test::cells(thick), test::cells(skeleton) / 25) << test::drawn(skeleton);
  }
}

// Fails when an object without holes does not shrink to one cell of its own, or an object is lost
// or broken.
TEST_P(Templates, CentersAreOneCellOfEachObject) {
  for (const Bitmap& image : some_images()) {
    const Bitmap centers = repeated([&](const Bitmap& u) { return run("center", u); }, image);
    const test::Areas objects(image, 1, test::kAround);
    const test::Areas rests(centers, 1, test::kAround);
    ASSERT_EQ(rests.count, objects.count) << test::drawn(image) << test::drawn(centers);
    // What surrounds a hole, or lies in one, may be left a ring.
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

// ---- gray ones

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

// Fails when the number in brackets is not the threshold, in units of u.
TEST_P(Templates, ThresholdIsTheNumber) {
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

// Fails when an inverse halftone is not its kernel's mean.
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

// Fails when diffusion is not its kernel so many times, up to what rounding to levels can do.
TEST_P(Templates, DiffusionIsItsKernelAgainAndAgain) {
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
    ASSERT_NEAR(result.data[i], expected.data[i], 1.6) << "three times half a level";
}

// Fails when relaxing leaves the range, swings, or does not come near the mean of the neighbors.
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
  EXPECT_LT(roughness(result), 0.6) << "less than a level";
  const auto [low, high] = std::minmax_element(gray.data.begin(), gray.data.end());
  for (const double value : result.data) {
    EXPECT_GE(value, *low - 0.5);
    EXPECT_LE(value, *high + 0.5);
  }
}

// Fails when a halftone does not come to rest in 100 sweeps, or is not as dark as its image.
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

// Fails when a template was added that nothing here looks at.
TEST(TemplateTests, EveryNameIsTested) {
  std::set<std::string> tested = {"connectivity", "smkiller", "average", "skeleton",  "center",
                                  "edgegray",     "invhlf3",  "invhlf5", "diffusion", "laplace",
                                  "gauss3",       "gauss5",   "gauss7",  "gauss9",    "hlf3",
                                  "hlf5",         "hlf5kc"};
  for (const auto& known : known_chains()) tested.insert(std::get<0>(known));
  for (const CellTemplateInfo& info : cell_templates())
    EXPECT_TRUE(tested.contains(info.name)) << info.name;
}

/// The reference, and the backends that the other suites run on.
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
