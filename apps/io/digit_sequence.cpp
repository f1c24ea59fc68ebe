#include "apps/io/digit_sequence.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/common.h"
#include "apps/io/scene_text.h"

namespace ocellus::app {
namespace {

constexpr const char* kLineName = "test:digits";
constexpr const char* kFormName = "test:form";
constexpr std::size_t kDrawnDigits = 400;

constexpr const char* kSequenceForm =
    "a scene of digits is "
    "test:digits[@FPS][,size=WIDTHxHEIGHT][,frames=N][,digits=N][,ink=dark|light][,sheet=FILE]"
    "[,seed=N]";
constexpr const char* kFormForm =
    "a scene of forms is "
    "test:form[@FPS][,size=WIDTHxHEIGHT][,frames=N][,ink=dark|light][,sheet=FILE][,seed=N]";
constexpr ImageSize kFormSize{1280, 960};
constexpr ImageSize kLeastFormSize{640, 480};
constexpr ImageSize kLeastLineSize{64, 64};

bool has_name(const std::string& input, const std::string& name) {
  return input.rfind(name, 0) == 0 &&
         (input.size() == name.size() || input[name.size()] == '@' || input[name.size()] == ',');
}

}  // namespace

bool is_digit_sequence(const std::string& input) {
  return has_name(input, kLineName) || has_name(input, kFormName);
}

DigitSequenceConfig DigitSequenceConfig::parse(const std::string& text) {
  DigitSequenceConfig config;
  config.form = has_name(text, kFormName);
  if (config.form) config.scene.size = kFormSize;
  const ImageSize least = config.form ? kLeastFormSize : kLeastLineSize;
  std::size_t begin = std::string(config.form ? kFormName : kLineName).size();
  if (begin < text.size() && text[begin] == ',') ++begin;
  SceneText parts(text, begin, config.form ? kFormForm : kSequenceForm);
  while (parts.next()) {
    if (parts.part().starts_with('@')) {
      config.fps = parts.rate(parts.part().substr(1));
    } else if (parts.is("size")) {
      config.scene.size = parse_size(parts.value(), text);
      if (config.scene.size.width < least.width || config.scene.size.height < least.height)
        parts.refuse(fmt::format("must be at least {}x{}", least.width, least.height));
    } else if (parts.is("frames")) {
      config.frames = parts.number(1, 1000);
    } else if (!config.form && parts.is("digits")) {
      config.scene.digits = parts.number(1, 64);
    } else if (parts.is("ink")) {
      if (parts.value() != "dark" && parts.value() != "light")
        parts.refuse("must be ink=dark or ink=light");
      config.scene.light_ink = parts.value() == "light";
    } else if (parts.is("sheet")) {
      if (parts.value().empty()) parts.refuse("must name an image file");
      config.sheet = parts.value();
    } else if (parts.is("seed")) {
      config.scene.seed = parts.number(0u, 1000000u);
    } else {
      parts.refuse_unknown();
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
  return config_.form ? make_form_scene(config_.scene, digits_, number)
                      : make_digit_scene(config_.scene, digits_, number);
}

}  // namespace ocellus::app
