// Fuzz target: any text as a numbered pattern, as a test scene, and as text to display. Names with
// different numbers differ, and displayed text contains no control characters and is valid in XML.
// Sanitizers detect other faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/common/json_text.h"
#include "apps/common/printable.h"
#include "apps/io/digit_sequence.h"
#include "apps/io/numbered_name.h"
#include "apps/io/test_scene.h"
#include "fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ocellus;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string shown = app::printable(text, 400);
  if (shown.size() > 450) std::abort();
  for (const char c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
  }
  // The text is valid UTF-8, and a second conversion does not change it.
  if (nlohmann::json(shown).dump().empty()) std::abort();
  if (app::printable(shown) != shown) std::abort();
  const nlohmann::json value(text);
  const std::string plain = value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  if (nlohmann::json::parse(app::json_text(value)) != nlohmann::json::parse(plain)) std::abort();

  const std::string argument = text.c_str();  // an argument of the command line contains no NUL
  fuzz::read_or_refuse([&] {
    const app::NumberedName name(argument);
    if (name.numbered() == (name.at(0) == name.at(123456789))) std::abort();
  });
  fuzz::read_or_refuse([&] {
    const app::TestScene scene = app::TestScene::parse("test:" + argument);
    const ImageSize of = scene.size();
    if (of.width < 1 || of.height < 1 || of.width > kMaxImageSide || of.height > kMaxImageSide)
      std::abort();
  });
  // A source that is none of them is a test scene or a file.
  const auto check_digits = [&](const std::string& source, ImageSize least) {
    if (!app::is_digit_sequence(source)) return;
    fuzz::read_or_refuse([&] {
      const auto digits = app::DigitSequenceConfig::parse(source);
      const ImageSize of = digits.scene.size;
      if (of.width < least.width || of.height < least.height || digits.frames < 1 ||
          !(digits.fps > 0.0))
        std::abort();
    });
  };
  check_digits("test:digits" + argument, {64, 64});
  check_digits("test:form" + argument, {640, 480});
  return 0;
}
