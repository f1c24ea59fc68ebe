// Frames with digits whose boxes are known: strips of handwritten amounts of cheques, and synthetic
// camera frames with digits of MNIST. Both need development data (OCELLUS_TEST_DATA).
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/io/digit_scene.h"
#include "apps/io/image_io.h"

namespace ocellus::test {

struct DigitFrame {
  std::string name;
  app::GrayImage image;
  std::string string;
  std::vector<Rect> boxes;
};

/// Which strips of a folder. Parameters of the finder are chosen with the even ones.
enum class Strips { kEven, kOdd, kAll };

inline std::vector<DigitFrame> read_strips(const std::string& folder, Strips which) {
  std::ifstream in(folder + "/digits.csv");
  std::vector<DigitFrame> frames;
  std::string line;
  std::getline(in, line);  // the header
  for (int i = 0; std::getline(in, line); ++i) {
    if (which != Strips::kAll && (i % 2 == 1) != (which == Strips::kOdd)) continue;
    DigitFrame frame;
    std::istringstream fields(line);
    std::string text;
    std::getline(fields, frame.name, ',');
    std::getline(fields, frame.string, ',');
    while (std::getline(fields, text, ';')) {
      std::istringstream numbers(text);
      Rect box;
      if (numbers >> box.x >> box.y >> box.width >> box.height) frame.boxes.push_back(box);
    }
    frame.image = app::read_image(folder + "/images/" + frame.name);
    frames.push_back(std::move(frame));
  }
  return frames;
}

/// The bytes of a gzip file behind a header.
inline std::vector<std::uint8_t> read_gzip(const std::string& path, std::size_t header) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> part(1 << 20);
  int count = 0;
  while ((count = gzread(file.get(), part.data(), static_cast<unsigned>(part.size()))) > 0)
    bytes.insert(bytes.end(), part.begin(), part.begin() + count);
  if (count < 0 || bytes.size() <= header) throw std::runtime_error("cannot read " + path);
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

/// All training digits of MNIST. The first 55000 are for learning, the others for measuring.
/// `file`: "train" or "t10k".
inline app::DigitImages read_mnist(const std::string& folder, const std::string& file = "train") {
  constexpr int kSide = 28;
  app::DigitImages digits{kSide, kSide, {}, {}};
  digits.ink = read_gzip(folder + "/" + file + "-images-idx3-ubyte.gz", 16);
  digits.labels = read_gzip(folder + "/" + file + "-labels-idx1-ubyte.gz", 8);
  if (digits.ink.size() != digits.labels.size() * kSide * kSide)
    throw std::runtime_error("MNIST: images and labels of different number");
  return digits;
}
inline constexpr std::size_t kLearningDigits = 55000;

/// Scenes of the digits from the `first` one on.
inline std::vector<DigitFrame> make_scenes(const app::DigitImages& mnist, std::size_t first,
                                           int count, unsigned seed) {
  app::DigitImages digits{mnist.width, mnist.height, {}, {}};
  const auto area = static_cast<std::size_t>(mnist.width) * static_cast<std::size_t>(mnist.height);
  digits.ink.assign(mnist.ink.begin() + static_cast<std::ptrdiff_t>(first * area), mnist.ink.end());
  digits.labels.assign(mnist.labels.begin() + static_cast<std::ptrdiff_t>(first),
                       mnist.labels.end());
  app::DigitSceneConfig config;
  config.seed = seed;
  std::vector<DigitFrame> frames;
  for (int i = 0; i < count; ++i) {
    app::DigitScene scene = app::make_digit_scene(config, digits, i);
    frames.push_back({"scene " + std::to_string(i), std::move(scene.image), std::move(scene.string),
                      std::move(scene.boxes)});
  }
  return frames;
}

}  // namespace ocellus::test
