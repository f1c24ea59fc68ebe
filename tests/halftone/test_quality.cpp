// Quality: how visible the errors of the presets' halftones are, compared with error diffusion,
// ordered dither and direct binary search on real images.
//
// The measure is the PSNR after a Gaussian of 1.5 pixels on both images; 8 pixels at each border
// are left out. The images are two of the development data, and photographs of the package
// opencv-doc. The rows printed after "table NAME" are those of docs/halftone.md, see
// toolchains/halftone-tables.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "apps/io/image_io.h"
#include "apps/measure/image_errors.h"
#include "ocellus/cell_templates.h"
#include "ocellus/halftone.h"
#include "reference/halftones.h"
#include "support/flow_files.h"
#include "support/networks.h"

namespace ocellus {
namespace {

using namespace test;

constexpr double kSigma = 1.5;

struct Photograph {
  std::string name;
  app::GrayImage image;
};

std::vector<Photograph> photographs() {
  const char* set = std::getenv("OCELLUS_OPENCV_DOC");
  const std::string examples = set != nullptr ? set : "/usr/share/doc/opencv-doc/examples/data";
  std::vector<std::string> files = {data_folder() + "/images/camera.pgm",
                                    data_folder() + "/images/coins.pgm"};
  for (const char* name : {"fruits", "baboon", "building", "home"})
    files.push_back(examples + "/" + name + ".jpg");
  std::vector<Photograph> all;
  for (const std::string& file : files) {
    if (std::filesystem::exists(file))
      all.push_back({std::filesystem::path(file).stem().string(), app::read_image(file)});
  }
  return all;
}

PlaneD values_of(const app::GrayImage& image) {
  PlaneD plane(image.size.width, image.size.height);
  for (int y = 0; y < plane.height; ++y)
    for (int x = 0; x < plane.width; ++x)
      plane.at(x, y) = static_cast<double>(image.brightness(x, y));
  return plane;
}

app::GrayPlane gray_of(const PlaneD& plane) {
  return {plane.size(), plane.data};
}

PlaneD halftone(const app::GrayImage& image, const CellularNetworkConfig& config,
                CellularNetworkRecord* info = nullptr) {
  auto rig = Rig<CellularNetwork>::make(config);
  const CellBytes out = cells_of(rig.op, image.view(0, 0), info);
  PlaneD plane(image.size.width, image.size.height);
  std::copy(out.begin(), out.end(), plane.data.begin());
  return plane;
}

struct Score {
  double psnr = 0.0;
  double mean = 0.0;
  double anisotropy = 0.0;
};

Score score(const PlaneD& result, const PlaneD& truth) {
  const auto seen =
      app::seen_errors(gray_of(result), gray_of(truth), kSigma, app::kSeenBorder).value();
  const auto directions = app::anisotropy(gray_of(result), gray_of(truth)).value();
  return {seen.psnr, seen.mean_difference, directions.mean_db};
}

void print_heading(const char* table, const std::vector<Photograph>& images) {
  std::printf("table %s\n| method |", table);
  for (const Photograph& photograph : images) std::printf(" %s |", photograph.name.c_str());
  std::printf(" mean | mean gray off by | anisotropy, dB |\n|---|");
  for (std::size_t i = 0; i < images.size() + 3; ++i) std::printf("---|");
  std::printf("\n");
}

void print_row(const char* method, const std::vector<Score>& scores) {
  double sum = 0.0;
  double mean = 0.0;
  double anisotropy = 0.0;
  std::printf("| %s |", method);
  for (const Score& of : scores) {
    std::printf(" %.2f |", of.psnr);
    sum += of.psnr;
    mean = std::max(mean, std::abs(of.mean));
    anisotropy += of.anisotropy;
  }
  const auto count = static_cast<double>(scores.size());
  std::printf(" %.2f | %.4f | %.1f |\n", sum / count, mean, anisotropy / count);
}

std::vector<Score> scores_of(const std::vector<Photograph>& images,
                             const std::function<PlaneD(const app::GrayImage&)>& method) {
  std::vector<Score> scores;
  for (const Photograph& photograph : images)
    scores.push_back(score(method(photograph.image), values_of(photograph.image)));
  return scores;
}

double mean_psnr(const std::vector<Score>& scores) {
  double sum = 0.0;
  for (const Score& of : scores) sum += of.psnr;
  return sum / static_cast<double>(scores.size());
}

CellularNetworkConfig library_template(ImageSize size, const char* name) {
  return one_stage(size, must(cell_template(name)));
}

/// The quality preset with `count` sweeps of swaps. One sweep of updates follows each but the last,
/// and updates to the fixed point follow the last.
CellularNetworkConfig with_swap_sweeps(ImageSize size, int count) {
  CellularNetworkConfig config = halftone_config(size);
  const CellStage swaps = config.stages[1];
  const CellStage updates = config.stages[2];
  config.stage_count = 1;
  for (int i = 0; i < count; ++i) {
    config.stages[static_cast<std::size_t>(config.stage_count++)] = swaps;
    config.stages[static_cast<std::size_t>(config.stage_count++)] = updates;
  }
  config.stages[static_cast<std::size_t>(config.stage_count - 1)].max_sweeps = 100;
  return config;
}

CellularNetworkConfig begun_with(CellularNetworkConfig config, CellStart start) {
  config.stages[0].start = start;
  return config;
}

/// The start of the preset, unchanged, because each cell reads only itself.
CellularNetworkConfig start_alone(ImageSize size) {
  CellStage stage = halftone_config(size).stages[0];
  stage.weights = {};
  stage.weights.a[4] = 1.0f;
  return one_stage(size, stage);
}

/// Fails when a preset is worse than error diffusion on any image, or less than 1 dB better on
/// average (0.5 dB for the fast preset). Also fails when a preset changes the mean gray or has a
/// larger anisotropy.
TEST(Quality, PresetsAreBetterThanErrorDiffusion) {
  const std::vector<Photograph> images = photographs();
  if (images.size() < 6) {
    GTEST_SKIP()
        << "only " << images.size()
        << " of 6 images were found: OCELLUS_TEST_DATA must name the development data, and "
           "OCELLUS_OPENCV_DOC the folder of opencv-doc's pictures";
  }
  const auto gray = [](const app::GrayImage& image) { return values_of(image); };
  const std::vector<Score> diffused = scores_of(
      images, [&](const app::GrayImage& i) { return reference::floyd_steinberg(gray(i)); });
  const std::vector<Score> ordered =
      scores_of(images, [&](const app::GrayImage& i) { return reference::bayer(gray(i)); });
  print_heading("quality", images);
  print_row("Bayer 8x8", ordered);
  print_row("Floyd-Steinberg", diffused);
  for (const HalftonePreset preset : {HalftonePreset::kFast, HalftonePreset::kQuality}) {
    const bool fast = preset == HalftonePreset::kFast;
    std::vector<Score> scores;
    double gained = 0.0;
    for (std::size_t i = 0; i < images.size(); ++i) {
      const app::GrayImage& image = images[i].image;
      CellularNetworkRecord info;
      const PlaneD result = halftone(image, halftone_config(image.size, preset), &info);
      scores.push_back(score(result, values_of(image)));
      SCOPED_TRACE(images[i].name);
      EXPECT_TRUE(info.converged);
      EXPECT_GE(scores[i].psnr, diffused[i].psnr);
      EXPECT_LE(std::abs(scores[i].mean), 0.002);
      EXPECT_LE(scores[i].anisotropy, diffused[i].anisotropy);
      gained += scores[i].psnr - diffused[i].psnr;
    }
    print_row(fast ? "preset fast" : "preset quality", scores);
    EXPECT_GE(gained / static_cast<double>(images.size()), fast ? 0.5 : 1.0);
  }
}

/// Fails when a preset of gray levels is worse than error diffusion to the same levels on any
/// image, changes the mean gray, or has other levels.
TEST(Quality, PresetsOfGrayLevelsAreBetterThanErrorDiffusion) {
  const std::vector<Photograph> images = photographs();
  if (images.size() < 6) GTEST_SKIP() << "only " << images.size() << " of 6 images were found";
  print_heading("levels", images);
  for (const int levels : {4, 16}) {
    const std::vector<Score> diffused = scores_of(images, [&](const app::GrayImage& image) {
      return reference::floyd_steinberg(values_of(image), levels);
    });
    const std::string name = std::to_string(levels) + " levels: ";
    print_row((name + "Floyd-Steinberg").c_str(), diffused);
    std::vector<Score> scores;
    for (std::size_t i = 0; i < images.size(); ++i) {
      const app::GrayImage& image = images[i].image;
      SCOPED_TRACE(name + images[i].name);
      CellularNetworkRecord info;
      const PlaneD result =
          halftone(image,
                   halftone_config(image.size,
                                   levels == 4 ? HalftonePreset::kGray4 : HalftonePreset::kGray16),
                   &info);
      for (const double gray : result.data)
        ASSERT_EQ(std::fmod(gray, 255.0 / (levels - 1)), 0.0) << gray;
      scores.push_back(score(result, values_of(image)));
      EXPECT_TRUE(info.converged);
      EXPECT_GE(scores[i].psnr, diffused[i].psnr);
      EXPECT_LE(std::abs(scores[i].mean), 0.002);
    }
    print_row((name + "preset gray" + std::to_string(levels)).c_str(), scores);
  }
}

/// Fails when one of the preset's three improvements over descent has no effect. Without its start,
/// with narrower Gaussians, or with fewer sweeps of swaps, the preset must be worse.
TEST(Quality, EachPartOfThePresetImprovesIt) {
  const std::vector<Photograph> images = photographs();
  if (images.size() < 6) GTEST_SKIP() << "only " << images.size() << " of 6 images were found";
  const auto row = [&](const char* method, const auto& config_of) {
    const std::vector<Score> scores = scores_of(images, [&](const app::GrayImage& image) {
      return halftone(image, config_of(image.size));
    });
    print_row(method, scores);
    return mean_psnr(scores);
  };
  print_heading("templates", images);
  double best = 0.0;
  for (const char* name : {"hlf3", "hlf5", "hlf5kc"}) {
    const std::string label = name;
    const double published = row((label + ", its own start: the input").c_str(),
                                 [&](ImageSize size) { return library_template(size, name); });
    const double noise = row((label + ", noise").c_str(), [&](ImageSize size) {
      return begun_with(library_template(size, name), CellStart::kNoise);
    });
    EXPECT_GT(noise, published) << name;
    best = std::max(best, noise);
  }
  double before = 0.0;
  for (const char* name : {"gauss3", "gauss5", "gauss7", "gauss9"}) {
    const double noise = row((std::string(name) + ", noise").c_str(), [&](ImageSize size) {
      return begun_with(library_template(size, name), CellStart::kNoise);
    });
    const double mean = row((std::string(name) + ", its own start: error diffusion").c_str(),
                            [&](ImageSize size) { return library_template(size, name); });
    EXPECT_GT(mean, noise) << name;
    EXPECT_GT(mean, before) << name;
    before = mean;
  }
  EXPECT_GT(before, best);

  print_heading("parts", images);
  double preset = 0.0;
  before = row("start: error diffusion in tiles", start_alone);
  for (int sweeps = 0; sweeps <= 4; ++sweeps) {
    const std::string label = sweeps == 0 ? "updates to the fixed point"
                              : sweeps == 1
                                  ? "update, 1 sweep of swaps, updates"
                                  : "update, " + std::to_string(sweeps) + " times swaps, updates";
    const double mean = row((label + (sweeps == 2 ? " (preset quality)" : "")).c_str(),
                            [&](ImageSize size) { return with_swap_sweeps(size, sweeps); });
    EXPECT_GT(mean, before) << sweeps << " sweeps of swaps must be better than fewer";
    before = mean;
    if (sweeps == 2) preset = mean;
  }
  const double noise = row("preset quality begun with noise", [](ImageSize size) {
    return begun_with(halftone_config(size), CellStart::kNoise);
  });
  const double blue = row("preset quality begun with blue noise", [](ImageSize size) {
    return begun_with(halftone_config(size), CellStart::kBlueNoise);
  });
  EXPECT_GT(preset, noise);
  EXPECT_GT(preset, blue);
}

/// The width of the measure's Gaussian corresponds to the viewing distance. Fails when error
/// diffusion is better than the quality preset on average at any distance but the nearest.
TEST(Quality, PresetIsBetterAtOtherDistances) {
  const std::vector<Photograph> images = photographs();
  if (images.size() < 6) GTEST_SKIP() << "only " << images.size() << " of 6 images were found";
  const std::vector<double> sigmas = {0.7, 1.0, 1.5, 2.0, 3.0, 4.0};
  std::printf("table distances\n| method |");
  for (const double sigma : sigmas) std::printf(" %.1f |", sigma);
  std::printf("\n|---|---|---|---|---|---|---|\n");
  const auto row = [&](const char* method, const auto& make) {
    std::vector<double> means(sigmas.size(), 0.0);
    for (const Photograph& photograph : images) {
      const PlaneD truth = values_of(photograph.image);
      const PlaneD result = make(photograph.image, truth);
      for (std::size_t i = 0; i < sigmas.size(); ++i) {
        means[i] += app::seen_errors(gray_of(result), gray_of(truth), sigmas[i], app::kSeenBorder)
                        .value()
                        .psnr /
                    static_cast<double>(images.size());
      }
    }
    std::printf("| %s |", method);
    for (const double mean : means) std::printf(" %.2f |", mean);
    std::printf("\n");
    return means;
  };
  row("Bayer 8x8",
      [](const app::GrayImage&, const PlaneD& gray) { return reference::bayer(gray); });
  const std::vector<double> diffused = row(
      "Floyd-Steinberg",
      [](const app::GrayImage&, const PlaneD& gray) { return reference::floyd_steinberg(gray); });
  row("preset fast", [](const app::GrayImage& image, const PlaneD&) {
    return halftone(image, halftone_config(image.size, HalftonePreset::kFast));
  });
  const std::vector<double> ours =
      row("preset quality", [](const app::GrayImage& image, const PlaneD&) {
        return halftone(image, halftone_config(image.size));
      });
  for (std::size_t i = 1; i < sigmas.size(); ++i)
    EXPECT_GT(ours[i], diffused[i]) << "sigma " << sigmas[i];
}

/// Fails when asynchronous updates of the published templates do not converge within 60 sweeps,
/// except for 1 cell in 10,000. Also fails when synchronous updates converge: they oscillate, which
/// is why the order matters.
TEST(Quality, AsynchronousUpdatesConvergeAndSynchronousOnesDoNot) {
  const std::vector<Photograph> images = photographs();
  if (images.empty()) GTEST_SKIP() << "no images: OCELLUS_TEST_DATA must name the development data";
  for (const char* name : {"hlf3", "hlf5", "hlf5kc", "gauss9"}) {
    for (const Photograph& photograph : images) {
      CellularNetworkConfig config = library_template(photograph.image.size, name);
      CellStage& stage = config.stages[0];
      stage.start = CellStart::kNoise;
      stage.max_sweeps = 60;
      SCOPED_TRACE(std::string(name) + " on " + photograph.name);
      const double cells = static_cast<double>(photograph.image.pixels.size());
      for (const CellUpdate update : {CellUpdate::kColors, CellUpdate::kRaster}) {
        stage.update = update;
        CellularNetworkRecord info;
        static_cast<void>(halftone(photograph.image, config, &info));
        EXPECT_LE(info.changed, 1e-4 * cells) << info.sweeps << " sweeps";
      }
      stage.update = CellUpdate::kSynchronous;
      CellularNetworkRecord info;
      static_cast<void>(halftone(photograph.image, config, &info));
      EXPECT_FALSE(info.converged);
      EXPECT_GT(info.changed, 0.1 * cells);
    }
  }
}

/// The upper limit in the table. Fails when direct binary search is not better than the presets,
/// which would indicate a mistake in its implementation.
TEST(SlowQuality, DirectBinarySearchIsTheUpperLimit) {
  const std::vector<Photograph> images = photographs();
  if (images.size() < 6) GTEST_SKIP() << "only " << images.size() << " of 6 images were found";
  std::vector<Score> scores;
  for (const Photograph& photograph : images) {
    const PlaneD truth = values_of(photograph.image);
    scores.push_back(score(reference::direct_binary_search(truth, kSigma, 30), truth));
    const Score ours =
        score(halftone(photograph.image, halftone_config(photograph.image.size)), truth);
    EXPECT_GT(scores.back().psnr, ours.psnr) << photograph.name;
  }
  std::printf("table quality\n");
  print_row("direct binary search", scores);
}

}  // namespace
}  // namespace ocellus
