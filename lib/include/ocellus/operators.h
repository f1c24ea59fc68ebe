// The list of operators, for programs that run any of them: by name, with options by name.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// An operator of the list. Static storage, as all texts in it.
struct OperatorDescription {
  const char* name = "";     ///< of the command, of the element after "ocellus", in a pipeline
  const char* summary = "";  ///< one sentence without its full stop
  OptionTable options;

  void (*construct)(void* config) noexcept = nullptr;  ///< the default configuration
  void (*set_input)(void* config, ImageSize size, PixelFormat format,
                    const GrayRange& range) noexcept = nullptr;
  Expected<OperatorInfo> (*info)(const void* config) noexcept = nullptr;
  Expected<Footprint> (*footprint)(const EngineInfo& engine, const void* config) noexcept = nullptr;
  Expected<OperatorHandle> (*create)(Engine& engine, const void* config) noexcept = nullptr;
};

/// All operators, in the order of the documentation.
std::span<const OperatorDescription> operators() noexcept;

/// Null: there is none of this name.
const OperatorDescription* find_operator(std::string_view name) noexcept;

/// A configuration of any operator of the list: a value, without memory of its own.
class OperatorConfig {
 public:
  /// The defaults, without a size.
  explicit OperatorConfig(const OperatorDescription& description) noexcept
      : description_(&description) {
    description.construct(data_.data());
  }

  /// From a configuration such as OpticalFlowConfig.
  template <typename Config>
  requires requires { Config::options(); }
  OperatorConfig(const Config& config) noexcept : description_(described_by(Config::options())) {
    static_assert(sizeof(Config) <= kBytes && std::is_trivially_copyable_v<Config>);
    new (data_.data()) Config(config);
  }

  const OperatorDescription& description() const noexcept { return *description_; }
  OptionTable options() const noexcept { return description_->options; }

  /// Frames that will come. `range` is for operators that have one: which gray values are black and
  /// white.
  void set_input(ImageSize size, PixelFormat format, const GrayRange& range = {}) noexcept {
    description_->set_input(data_.data(), size, format, range);
  }

  /// As the functions of these names for a configuration; see options.h.
  Expected<void> set_options(std::span<const OptionSetting> settings) noexcept {
    return detail::set_options(options(), data_.data(), settings);
  }
  Expected<void> set_option(std::string_view name, std::string_view value) noexcept {
    const OptionSetting setting{name, value};
    return set_options(std::span(&setting, 1));
  }
  /// `option`: of `options()`.
  Text<kMaxOptionText> get_option(const Option& option) const noexcept {
    Text<kMaxOptionText> text;
    detail::get_option(option, data_.data(), text.data, sizeof(text.data));
    return text;
  }
  /// Of kBool, kInt, kFloat, kChoice.
  double get_number(const Option& option) const noexcept { return option.get(data_.data()); }
  bool means_something(const Option& option) const noexcept {
    return option.means_something(data_.data());
  }

  /// As those of the operator's own class.
  Expected<OperatorInfo> info() const noexcept { return description_->info(data_.data()); }
  Expected<Footprint> footprint(const EngineInfo& engine) const noexcept {
    return description_->footprint(engine, data_.data());
  }
  Expected<OperatorHandle> create(Engine& engine) const noexcept {
    return description_->create(engine, data_.data());
  }

  /// Null: it is another operator's.
  template <typename Config>
  Config* get_if() noexcept {
    return Config::options().data() == options().data()
               ? std::launder(reinterpret_cast<Config*>(data_.data()))
               : nullptr;
  }
  template <typename Config>
  const Config* get_if() const noexcept {
    return const_cast<OperatorConfig*>(this)->get_if<Config>();
  }

  /// Largest configuration.
  static constexpr std::size_t kBytes = 3072;

 private:
  static const OperatorDescription* described_by(OptionTable options) noexcept;

  const OperatorDescription* description_;
  alignas(std::max_align_t) std::array<std::byte, kBytes> data_{};
};

/// An engine with memory for these operators, and for `config.memory` besides.
/// Errors: those of Engine::create and of the operators' footprints.
Expected<Engine> create_engine(const EngineConfig& config,
                               std::span<const OperatorConfig> operators) noexcept;
inline Expected<Engine> create_engine(const EngineConfig& config,
                                      std::initializer_list<OperatorConfig> operators) noexcept {
  return create_engine(config, std::span(operators.begin(), operators.size()));
}

}  // namespace ocellus

#pragma GCC visibility pop
