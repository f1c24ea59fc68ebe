// The list of operators, with one line for each.
#include "ocellus/operators.h"

#include <utility>

#include "core/failure.h"
#include "ocellus/ocellus.h"

namespace ocellus {
namespace {

template <typename Operator, typename Config>
OperatorDescription describe(const char* name, const char* summary) noexcept {
  static_assert(sizeof(Config) <= OperatorConfig::kBytes);
  static_assert(std::is_trivially_copyable_v<Config>);
  OperatorDescription made;
  made.name = name;
  made.summary = summary;
  made.options = Config::options();
  made.construct = [](void* config) noexcept { new (config) Config; };
  made.set_input = [](void* data, ImageSize size, PixelFormat format,
                      const GrayRange& range) noexcept {
    Config& config = *static_cast<Config*>(data);
    config.size = size;
    config.format = format;
    if constexpr (requires { config.input_range; }) config.input_range = range;
  };
  made.info = [](const void* config) noexcept {
    return Operator::info_for(*static_cast<const Config*>(config));
  };
  made.footprint = [](const EngineInfo& engine, const void* config) noexcept {
    return Operator::footprint(engine, *static_cast<const Config*>(config));
  };
  made.create = [](Engine& engine, const void* config) noexcept -> Expected<OperatorHandle> {
    OCELLUS_TRY_ASSIGN(handle, Operator::create(engine, *static_cast<const Config*>(config)));
    return OperatorHandle(std::move(*handle));
  };
  return made;
}

}  // namespace

std::span<const OperatorDescription> operators() noexcept {
  static const OperatorDescription kOperators[] = {
      describe<OpticalFlow, OpticalFlowConfig>(
          "flow", "Dense optical flow by the method of Lucas and Kanade"),
      describe<SpatioTemporalFilter, SpatioTemporalFilterConfig>(
          "filter", "Convolutions with spatio-temporal kernels"),
      describe<Halftone, HalftoneConfig>("halftone", "Black and white halftones of gray images"),
      describe<Cnn, CnnConfig>("cnn", "Templates of a cellular neural network"),
      describe<Restoration, RestorationConfig>(
          "restore", "Restoration of blurred images by recursive filters"),
      describe<Neocognitron, NeocognitronConfig>("digits", "Finds and reads handwritten digits"),
      describe<Cortex, CortexConfig>("cortex", "Classifies frames by a cortical network"),
      describe<Network, NetworkConfig>("network",
                                       "A cortical network of the paper, which learns from frames"),
  };
  return kOperators;
}

const OperatorDescription* find_operator(std::string_view name) noexcept {
  for (const OperatorDescription& description : operators())
    if (name == description.name) return &description;
  return nullptr;
}

const OperatorDescription* OperatorConfig::described_by(OptionTable options) noexcept {
  for (const OperatorDescription& description : operators())
    if (description.options.data() == options.data()) return &description;
  return nullptr;  // not reached: every configuration with options is in the list
}

Expected<Engine> create_engine(const EngineConfig& config,
                               std::span<const OperatorConfig> operators) noexcept {
  OCELLUS_TRY_ASSIGN(engine, Engine::probe(config));
  EngineConfig whole = config;
  for (const OperatorConfig& one : operators) {
    OCELLUS_TRY_ASSIGN(footprint, one.footprint(*engine));
    whole.memory += *footprint;
  }
  return Engine::create(whole);
}

}  // namespace ocellus
