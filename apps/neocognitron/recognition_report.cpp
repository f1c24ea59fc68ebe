#include "apps/neocognitron/recognition_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/io/image_io.h"
#include "ocellus/character_draw.h"

namespace ocellus::app {
namespace {

constexpr std::size_t kMostMistakes = 400;
constexpr int kColumns = 20;      // of the picture of mistakes
constexpr int kWholeMatrix = 16;  // classes up to which the confusion matrix is printed
constexpr std::size_t kWorstPairs = 10;
constexpr double kThresholds[] = {0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999};

std::string answer_name(const CharacterNames& names, int answer) {
  return answer < 0 ? std::string("no ink") : names.name(answer);
}

void print_matrix(const std::vector<std::vector<long>>& matrix, const CharacterNames& names) {
  fmt::print("\n  {:<12}", "class");
  const auto columns = static_cast<std::size_t>(names.classes());
  for (std::size_t c = 0; c < columns; ++c)
    fmt::print(" {:>6}", printable(names.name(static_cast<int>(c))).substr(0, 6));
  fmt::print("\n");
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    fmt::print("  {:<12}", printable(names.name(static_cast<int>(row))));
    for (std::size_t c = 0; c < columns; ++c) fmt::print(" {:>6}", matrix[row][c]);
    fmt::print("\n");
  }
}

void print_worst(const std::vector<std::vector<long>>& matrix, const CharacterNames& names) {
  std::vector<std::tuple<long, int, int>> pairs;
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    for (std::size_t c = 0; c < matrix[row].size(); ++c) {
      if (c == row || matrix[row][c] == 0) continue;
      pairs.emplace_back(matrix[row][c], static_cast<int>(row),
                         c < matrix.size() ? static_cast<int>(c) : -1);
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return std::get<0>(a) != std::get<0>(b) ? std::get<0>(a) > std::get<0>(b) : a < b;
  });
  if (pairs.empty()) return;
  fmt::print("\n  most frequent mistakes\n");
  for (std::size_t i = 0; i < std::min(pairs.size(), kWorstPairs); ++i) {
    const auto& [count, right, answer] = pairs[i];
    fmt::print("  {:>6}  {} read as {}\n", count, printable(names.name(right)),
               printable(answer_name(names, answer)));
  }
}

}  // namespace

std::vector<RejectionPoint> rejection_curve(const RecognitionResult& result) {
  std::vector<RejectionPoint> curve;
  for (const double threshold : kThresholds) {
    std::size_t answered = 0;
    std::size_t right = 0;
    for (std::size_t i = 0; i < result.count(); ++i) {
      if (result.answers[i] < 0 || static_cast<double>(result.confidences[i]) < threshold) continue;
      ++answered;
      right += result.right(i) ? 1 : 0;
    }
    curve.push_back(
        {threshold, static_cast<double>(answered) / static_cast<double>(result.count()),
         answered == 0 ? 1.0 : static_cast<double>(right) / static_cast<double>(answered)});
  }
  return curve;
}

void add_accuracy_json(nlohmann::ordered_json& json, const RecognitionResult& result,
                       const CharacterNames& names) {
  json["accuracy"] = result.accuracy();
  json["confusion"] = result.confusions(names.classes(), names.classes() + 1);
  json["rejection"] = nlohmann::ordered_json::array();
  for (const RejectionPoint& point : rejection_curve(result)) {
    json["rejection"].push_back({{"min_confidence", point.min_confidence},
                                 {"answered", point.answered},
                                 {"accuracy", point.accuracy}});
  }
}

void print_accuracy(const RecognitionResult& result, const CharacterNames& names) {
  const long wrong = std::lround((1.0 - result.accuracy()) * static_cast<double>(result.count()));
  fmt::print("accuracy {:.2f} %, {}\n", 100.0 * result.accuracy(), counted(wrong, "mistake"));
  const auto matrix = result.confusions(names.classes(), names.classes() + 1);
  if (names.classes() <= kWholeMatrix) {
    fmt::print("\n  answers for each class");
    print_matrix(matrix, names);
  } else {
    print_worst(matrix, names);
  }
  fmt::print("\n  {:>14} {:>10} {:>10}\n", "min confidence", "answered", "accuracy");
  for (const RejectionPoint& point : rejection_curve(result))
    fmt::print("  {:>14.3f} {:>8.2f} % {:>8.2f} %\n", point.min_confidence, 100.0 * point.answered,
               100.0 * point.accuracy);
}

void write_mistakes(const std::string& path, const IdxImages& images,
                    const RecognitionResult& result, const CharacterNames& names) {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < result.count() && wrong.size() < kMostMistakes; ++i)
    if (!result.right(i)) wrong.push_back(i);

  constexpr int kPictureGap = 4;
  constexpr int kTextScale = 1;
  // Small images are enlarged, so that the text below them has room.
  const int scale = std::clamp(56 / std::max(images.width, images.height), 1, 4);
  const int tile_width = images.width * scale + kPictureGap;
  const int tile_height = images.height * scale + kGlyphHeight * kTextScale + 2 * kPictureGap;
  const int count = std::max(1, static_cast<int>(wrong.size()));
  const int columns = std::min({kColumns, count, std::max(1, kMaxImageSide / tile_width)});
  const int rows = std::min((count + columns - 1) / columns, kMaxImageSide / tile_height);
  GrayImage picture({std::max(columns * tile_width + kPictureGap, 15 * kGlyphWidth),
                     rows * tile_height + kPictureGap},
                    PixelFormat::kGray8);
  std::fill(picture.pixels.begin(), picture.pixels.end(), std::uint8_t{255});
  OverlayImage overlay;
  overlay.size = picture.size;
  overlay.planes[0] = picture.pixels.data();
  overlay.strides[0] = picture.stride();
  if (wrong.empty()) draw_text("no mistakes", kPictureGap, kPictureGap, 1, {}, overlay);
  const auto letters = static_cast<std::size_t>(std::max(3, tile_width / kGlyphWidth));
  const std::size_t pixels = pixels_of({images.width, images.height});
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const int column = static_cast<int>(i) % columns;
    const int row = static_cast<int>(i) / columns;
    if (row == rows) break;
    const int left = kPictureGap + column * tile_width;
    const int top = kPictureGap + row * tile_height;
    const std::uint8_t* const ink = images.pixels.data() + wrong[i] * pixels;
    for (int y = 0; y < images.height * scale; ++y) {
      std::uint8_t* const to = picture.pixels.data() + (top + y) * picture.stride() + left;
      for (int x = 0; x < images.width * scale; ++x) {
        const std::uint8_t level = ink[y / scale * images.width + x / scale];
        to[x] = static_cast<std::uint8_t>(255 - level);
      }
    }
    const std::string text = fmt::format("{}>{}", names.name(result.classes[wrong[i]]),
                                         answer_name(names, result.answers[wrong[i]]));
    draw_text(text.substr(0, letters), left, top + images.height * scale + kPictureGap, kTextScale,
              {}, overlay);
  }
  write_png_gray(path, picture, 8);
}

}  // namespace ocellus::app
