// What the fuzz targets of operators share: settings from texts, and an operator of any
// configuration.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/numbers.h"
#include "ocellus/ocellus.h"

namespace ocellus::fuzz {

/// Whether a text names a file. The fuzzer must not open a path of its own, which may be a device.
inline bool names_a_file(std::string_view value) {
  return value.find_first_of("./") != std::string_view::npos;
}

/// Settings from lines NAME=VALUE. A name that begins with a byte of 128 or more stands for the
/// option of that number.
inline std::vector<OptionSetting> settings_of(std::string_view text, OptionTable table) {
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

template <typename Operator>
struct Made {
  Engine engine;
  Operator op;
};

/// The operator in an engine of exactly its footprint. Nothing when the configuration is refused,
/// or when it needs more than `most` bytes and would be slow.
template <typename Operator, typename Config>
std::optional<Made<Operator>> make(const Config& config, int workers, std::size_t most) {
  EngineConfig settings;
  settings.backend.choice = BackendChoice::kCpu;
  settings.workers = workers;
  const auto info = Engine::probe(settings);
  if (!info) std::abort();
  const auto needs = Operator::footprint(*info, config);
  if (!needs) {
    check(needs.error());
    return std::nullopt;
  }
  if (needs->host > most) return std::nullopt;
  settings.memory = *needs;
  auto engine = Engine::create(settings);
  if (!engine) std::abort();
  auto op = Operator::create(*engine, config);
  if (!op) {
    check(op.error());  // taps may be not finite
    return std::nullopt;
  }
  if (engine->memory_use().used != *needs) std::abort();
  return Made<Operator>{std::move(*engine), std::move(*op)};
}

}  // namespace ocellus::fuzz
