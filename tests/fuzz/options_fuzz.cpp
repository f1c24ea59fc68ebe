// Fuzz target: any texts as settings of every operator. The first byte is the operator, the second
// the frames' format, and the rest are the settings; see `settings_of`. The settings are refused
// with an error text, or each option reads back equal. The configuration is refused with an error
// text, or has a footprint.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/operators.h"
#include "ocellus/ocellus.h"

namespace {

using namespace ocellus;
using fuzz::check;
using fuzz::settings_of;

/// Sets each option to its own text. The text must stay the same.
void read_again(const OperatorConfig& config) {
  for (const Option& option : config.options()) {
    const Text<kMaxOptionText> text = config.get_option(option);
    if (!config.means_something(option)) continue;
    OperatorConfig again = config;
    if (!again.set_option(option.name, text.view())) std::abort();
    if (!(again.get_option(option) == text)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const EngineInfo engine = [] {
    EngineConfig config;
    config.backend.choice = BackendChoice::kCpu;
    const auto info = Engine::probe(config);
    if (!info) std::abort();
    return *info;
  }();
  if (size < 2) return 0;
  OperatorConfig config(operators()[data[0] % operators().size()]);
  config.set_input({64, 48}, data[1] % 2 == 0 ? PixelFormat::kGray8 : PixelFormat::kFloat32);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::vector<OptionSetting> settings = settings_of(text, config.options());
  const Expected<void> done = config.set_options(settings);
  if (!done) {
    check(done.error());
    return 0;
  }
  read_again(config);
  const auto info = config.info();
  const auto footprint = config.footprint(engine);
  if (!info) check(info.error());
  if (!footprint) check(footprint.error());
  if (info.has_value() != footprint.has_value()) std::abort();
  if (info && (info->size != ImageSize{64, 48} || info->plane_count < 1 || footprint->host == 0))
    std::abort();
  return 0;
}
