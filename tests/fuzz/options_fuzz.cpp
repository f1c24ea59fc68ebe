// Fuzz target: any texts as settings of any operator. The first byte selects the operator, the
// second the format of the frames. Each further line is NAME=VALUE; a name that begins with a byte
// of 128 or more stands for the option with that number. The settings are refused with a text, or
// each option is read back unchanged. The configuration is then refused with a text, or gives its
// footprint. Sanitizers detect other faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/numbers.h"
#include "ocellus/ocellus.h"

namespace {

using namespace ocellus;
using fuzz::check;

/// Whether the value names a file. The fuzzer must not open arbitrary paths, which may be devices.
bool names_a_file(std::string_view value) {
  return value.find_first_of("./") != std::string_view::npos;
}

std::vector<OptionSetting> settings_of(std::string_view text, OptionTable table) {
  constexpr std::size_t kMost = 40;
  std::vector<OptionSetting> settings;
  while (!text.empty() && settings.size() < kMost) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = line.find('=');
    OptionSetting setting{line.substr(0, equals), {}};
    if (equals != std::string_view::npos) setting.value = line.substr(equals + 1);
    const auto first = setting.name.empty() ? 0u : static_cast<unsigned char>(setting.name[0]);
    if (first >= 128) setting.name = table[(first - 128) % table.size()].name;
    const Option* const option = find_option(table, setting.name);
    const bool text_option = option != nullptr && option->type == OptionType::kText;
    if (text_option && names_a_file(setting.value) && std::string_view(option->name) != "boundary")
      continue;
    settings.push_back(setting);
  }
  return settings;
}

/// A printed value must be accepted, and must give the same value.
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
