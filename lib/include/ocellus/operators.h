// The list of operators, for programs that run any operator by its name and set options by name.
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
  /// Name of the command, of the element (after "ocellus") and in a pipeline.
  const char* name = "";
  const char* summary = "";  ///< one sentence without the final period
  OptionTable options{};

  void (*construct)(void* config) noexcept = nullptr;  ///< constructs the default configuration
  void (*set_input)(void* config, ImageSize size, PixelFormat format,
                    const GrayRange& range) noexcept = nullptr;
  Expected<OperatorInfo> (*info)(const void* config) noexcept = nullptr;
  Expected<Footprint> (*footprint)(const EngineInfo& engine, const void* config) noexcept = nullptr;
  Expected<OperatorHandle> (*create)(Engine& engine, const void* config) noexcept = nullptr;
};

/// Returns all operators, in the order of the documentation.
std::span<const OperatorDescription> operators() noexcept;

/// Returns the operator of this name, or null if there is none.
const OperatorDescription* find_operator(std::string_view name) noexcept;

/// A configuration of any operator of the list. A plain value that does not allocate.
class OperatorConfig {
 public:
  /// The operator's default configuration, without a size.
  explicit OperatorConfig(const OperatorDescription& description) noexcept
      : description_(&description) {
    description.construct(data_.data());
  }

  /// Copies a configuration such as OpticalFlowConfig.
  template <typename Config>
  requires requires { Config::options(); }
  OperatorConfig(const Config& config) noexcept : description_(described_by(Config::options())) {
    static_assert(sizeof(Config) <= kBytes && std::is_trivially_copyable_v<Config>);
    new (data_.data()) Config(config);
  }

  const OperatorDescription& description() const noexcept { return *description_; }
  OptionTable options() const noexcept { return description_->options; }

  /// Sets the size and format of the frames. `range` applies to operators that need to know which
  /// gray values are black and white.
  void set_input(ImageSize size, PixelFormat format, const GrayRange& range = {}) noexcept {
    description_->set_input(data_.data(), size, format, range);
  }

  /// These functions correspond to those of the same names in options.h.
  Expected<void> set_options(std::span<const OptionSetting> settings) noexcept {
    return detail::set_options(options(), data_.data(), settings);
  }
  Expected<void> set_option(std::string_view name, std::string_view value) noexcept {
    const OptionSetting setting{name, value};
    return set_options(std::span(&setting, 1));
  }
  /// `option` must be an element of `options()`.
  Text<kMaxOptionText> get_option(const Option& option) const noexcept {
    Text<kMaxOptionText> text;
    detail::get_option(option, data_.data(), text.data, sizeof(text.data));
    return text;
  }
  /// The value of an option of type kBool, kInt, kFloat or kChoice.
  double get_number(const Option& option) const noexcept { return option.get(data_.data()); }
  bool means_something(const Option& option) const noexcept {
    return option.means_something(data_.data());
  }
  /// The configuration, as the functions of an Option take it.
  const void* data() const noexcept { return data_.data(); }

  /// These functions correspond to those of the operator's own class.
  Expected<OperatorInfo> info() const noexcept { return description_->info(data_.data()); }
  Expected<Footprint> footprint(const EngineInfo& engine) const noexcept {
    return description_->footprint(engine, data_.data());
  }
  Expected<OperatorHandle> create(Engine& engine) const noexcept {
    return description_->create(engine, data_.data());
  }

  /// Returns null if the configuration belongs to another operator. The result points into this
  /// object, so a temporary one has no such function.
  template <typename Config>
  Config* get_if() & noexcept {
    return Config::options().data() == options().data()
               ? std::launder(reinterpret_cast<Config*>(data_.data()))
               : nullptr;
  }
  template <typename Config>
  const Config* get_if() const& noexcept {
    return const_cast<OperatorConfig*>(this)->get_if<Config>();
  }
  template <typename Config>
  const Config* get_if() const&& = delete;

  /// Largest size of a configuration.
  static constexpr std::size_t kBytes = 6144;

 private:
  static const OperatorDescription* described_by(OptionTable options) noexcept;

  const OperatorDescription* description_;
  alignas(std::max_align_t) std::array<std::byte, kBytes> data_{};
};

/// Creates an engine with memory for these operators, in addition to `config.memory`. Errors: those
/// of Engine::create and of the operators' `footprint`.
Expected<Engine> create_engine(const EngineConfig& config,
                               std::span<const OperatorConfig> operators) noexcept;
inline Expected<Engine> create_engine(const EngineConfig& config,
                                      std::initializer_list<OperatorConfig> operators) noexcept {
  return create_engine(config, std::span(operators.begin(), operators.size()));
}

}  // namespace ocellus

#pragma GCC visibility pop
