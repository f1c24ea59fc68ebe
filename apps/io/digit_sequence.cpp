#include "apps/io/digit_sequence.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/common.h"
#include "apps/io/scene_text.h"

namespace ocellus::app {
namespace {

constexpr const char* kSequenceName = "test:digits";
constexpr std::size_t kDrawnDigits = 400;

constexpr const char* kSequenceForm =
    "a scene of digits is "
    "test:digits[@FPS][,size=WIDTHxHEIGHT][,frames=N][,digits=N][,ink=dark|light][,sheet=FILE]"
    "[,seed=N]";

[[noreturn]] void bad_sequence(const std::string& text, const std::string& part,
                               const std::string& why) {
  refuse_part(text, part, why, kSequenceForm);
}

template <typename T>
T sequence_number(const std::string& text, const std::string& part, const std::string& value, T low,
                  T high) {
  return number_of_part(text, part, value, low, high, kSequenceForm);
}

}  // namespace

bool is_digit_sequence(const std::string& input) {
  const std::string name = kSequenceName;
  return input.rfind(name, 0) == 0 &&
         (input.size() == name.size() || input[name.size()] == '@' || input[name.size()] == ',');
}

DigitSequenceConfig DigitSequenceConfig::parse(const std::string& text) {
  DigitSequenceConfig config;
  std::string rest = text.substr(std::min(std::string(kSequenceName).size(), text.size()));
  if (!rest.empty() && rest[0] == ',') rest = rest.substr(1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string part = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    if (!part.empty() && part[0] == '@') {
      config.fps = sequence_number(text, part, part.substr(1), 0.1, 1000.0);
      continue;
    }
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) bad_sequence(text, part, "does not have the form NAME=VALUE");
    const std::string name = part.substr(0, equals);
    const std::string value = part.substr(equals + 1);
    if (name == "size") {
      config.scene.size = parse_size(value, text);
      if (config.scene.size.width < 64 || config.scene.size.height < 64)
        bad_sequence(text, part, "must be at least 64x64");
    } else if (name == "frames") {
      config.frames = sequence_number(text, part, value, 1, 1000);
    } else if (name == "digits") {
      config.scene.digits = sequence_number(text, part, value, 1, 64);
    } else if (name == "ink") {
      if (value != "dark" && value != "light")
        bad_sequence(text, part, "must be ink=dark or ink=light");
      config.scene.light_ink = value == "light";
    } else if (name == "sheet") {
      if (value.empty()) bad_sequence(text, part, "must name an image file");
      config.sheet = value;
    } else if (name == "seed") {
      config.scene.seed = sequence_number(text, part, value, 0u, 1000000u);
    } else {
      bad_sequence(text, part, "is unknown");
    }
  }
  return config;
}

DigitImages read_digit_sheet(const std::string& path) {
  constexpr int kTile = 20;
  constexpr int kDigits = 10;
  const GrayImage sheet = read_image(path);
  if (sheet.format != PixelFormat::kGray8 || sheet.size.width % kTile != 0 ||
      sheet.size.height % (kDigits * kTile) != 0) {
    throw InputError(
        fmt::format("{}: it is {}x{}; a sheet of digits has 8 bits, and is a multiple of {} wide "
                    "and of {} high",
                    path, sheet.size.width, sheet.size.height, kTile, kDigits * kTile));
  }
  DigitImages digits{kTile, kTile, {}, {}};
  const int rows = sheet.size.height / kTile;
  for (int row = 0; row < rows; ++row) {
    for (int x = 0; x < sheet.size.width; x += kTile) {
      digits.labels.push_back(static_cast<std::uint8_t>(row / (rows / kDigits)));
      for (int y = 0; y < kTile; ++y) {
        const auto begin = sheet.pixels.begin() + (row * kTile + y) * sheet.stride() +
                           static_cast<std::ptrdiff_t>(x);
        digits.ink.insert(digits.ink.end(), begin, begin + kTile);
      }
    }
  }
  return digits;
}

DigitSequence::DigitSequence(const DigitSequenceConfig& config)
    : config_(config),
      digits_(config.sheet.empty() ? draw_digits(kDrawnDigits, config.scene.seed)
                                   : read_digit_sheet(config.sheet)) {}

DigitScene DigitSequence::frame(int number) const {
  return make_digit_scene(config_.scene, digits_, number);
}

}  // namespace ocellus::app
