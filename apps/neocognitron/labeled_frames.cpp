#include "apps/neocognitron/labeled_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/io/image_io.h"
#include "apps/io/input_file.h"
#include "ocellus/neocognitron.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::app {
namespace {

constexpr int kImageSide = 64;

struct LabelLine {
  std::string file;
  std::string text;
  TextFields boxes;
};

/// The boxes are the last word, the text is the word before. So the path may have spaces.
LabelLine parse(const std::string& line) {
  const auto last_word = [](std::string& rest) {
    const std::size_t end = rest.find_last_not_of(" \t\r");
    rest.resize(end == std::string::npos ? 0 : end + 1);
    const std::size_t before = rest.find_last_of(" \t");
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    std::string word = rest.substr(begin);
    rest.resize(begin);
    return word;
  };
  std::string rest = line;
  const std::string boxes = last_word(rest);
  LabelLine parsed;
  parsed.text = last_word(rest);
  const std::size_t end = rest.find_last_not_of(" \t");
  rest.resize(end == std::string::npos ? 0 : end + 1);
  parsed.file = rest;
  if (parsed.file.empty())
    throw InputError("it must have an image file, the characters, and their boxes");
  NeocognitronConfig config;
  if (const Expected<void> set = set_option(config, "fields", boxes); !set)
    throw InputError(fmt::format("boxes: {}", set.error().text));
  parsed.boxes = config.fields;
  if (parsed.text.size() != static_cast<std::size_t>(parsed.boxes.count)) {
    throw InputError(
        fmt::format("{} has {} for {}", printable(parsed.text, kMostOfValue),
                    counted(static_cast<std::int64_t>(parsed.text.size()), "character"),
                    counted(parsed.boxes.count, "box", "boxes")));
  }
  return parsed;
}

void add(const LabelLine& line, const std::string& folder, LabeledImages& images) {
  const std::filesystem::path file(line.file);
  const GrayImage image =
      read_image(file.is_absolute() ? line.file : (std::filesystem::path(folder) / file).string());
  if (image.format != PixelFormat::kGray8)
    throw InputError(fmt::format("{}: it must have 8 bits", printable(line.file)));
  std::vector<LabeledBox> boxes;
  for (std::size_t i = 0; i < line.text.size(); ++i) {
    const auto named =
        std::find(images.names.begin(), images.names.end(), std::string(1, line.text[i]));
    boxes.push_back(
        {line.boxes.fields[i], static_cast<std::uint16_t>(named - images.names.begin())});
  }
  const Expected<std::size_t> added = add_characters(image.view(0, 0), boxes, images);
  if (!added) throw InputError(added.error().text);
}

}  // namespace

LabeledImages read_labeled_frames(const std::string& path) {
  InputText input(path);
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const std::string text = read_text(input, kMostBytes);
  const auto at_line = [&](int number, const std::string& what) {
    return InputError(fmt::format("{}: line {}: {}", input.name(), number, what));
  };
  std::vector<std::pair<int, LabelLine>> lines;
  std::set<char> characters;
  std::istringstream stream(text);
  std::string read;
  for (int number = 1; std::getline(stream, read); ++number) {
    const std::size_t first = read.find_first_not_of(" \t\r");
    if (first == std::string::npos || read[first] == '#') continue;
    try {
      lines.emplace_back(number, parse(read.substr(first)));
    } catch (const InputError& error) {
      throw at_line(number, error.what());
    }
    characters.insert(lines.back().second.text.begin(), lines.back().second.text.end());
  }
  if (lines.empty()) throw InputError(fmt::format("{}: it has no frames", input.name()));
  LabeledImages images{kImageSide, kImageSide, {}, {}, {}};
  for (const char character : characters) images.names.emplace_back(1, character);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  for (const auto& [number, line] : lines) {
    try {
      add(line, folder, images);
    } catch (const InputError& error) {
      throw at_line(number, error.what());
    }
  }
  return images;
}

}  // namespace ocellus::app
