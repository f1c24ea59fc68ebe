// The operators Halftone and Cnn: their options, and the network that the options describe.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <new>
#include <utility>

#include "core/checks.h"
#include "core/operator_creation.h"
#include "core/option_table.h"
#include "halftone/backend.h"
#include "halftone/plan.h"
#include "halftone/stage_check.h"
#include "image/pgm.h"
#include "ocellus/cell_templates.h"
#include "ocellus/cnn.h"
#include "ocellus/halftone.h"

namespace ocellus {
namespace {

/// In the order of HalftonePreset.
constexpr OptionChoice kPresets[] = {
    {"quality", static_cast<int>(HalftonePreset::kQuality), "9x9 Gaussian, two sweeps of swaps"},
    {"fast", static_cast<int>(HalftonePreset::kFast), "7x7 Gaussian, one sweep of swaps"},
    {"gray4", static_cast<int>(HalftonePreset::kGray4), "4 gray levels, as of e-ink, 9x9 Gaussian"},
    {"gray16", static_cast<int>(HalftonePreset::kGray16),
     "16 gray levels, as of e-ink, 9x9 Gaussian"},
};
constexpr OptionChoice kStarts[] = {
    {"template", static_cast<int>(ChainStart::kTemplate), "as the first template defines"},
    {"input", static_cast<int>(ChainStart::kInput), "the image"},
    {"noise", static_cast<int>(ChainStart::kNoise), "white noise"},
    {"blue-noise", static_cast<int>(ChainStart::kBlueNoise), "the image plus a blue-noise mask"},
    {"error-diffusion", static_cast<int>(ChainStart::kErrorDiffusion),
     "the image after error diffusion by Floyd and Steinberg"},
};
constexpr OptionChoice kPolarities[] = {
    {"black", static_cast<int>(CellPolarity::kBlackIsOne), "+1 is black, as in the literature"},
    {"white", static_cast<int>(CellPolarity::kWhiteIsOne), "+1 is white"},
};
constexpr OptionChoice kChromas[] = {
    {"neutral", static_cast<int>(PictureColor::kNeutral), "gray"},
    {"keep", static_cast<int>(PictureColor::kKept), "the color of the frame"},
};
constexpr OptionChoice kUpdates[] = {
    {"template", static_cast<int>(ChainUpdate::kTemplate), "as each template defines"},
    {"colors", static_cast<int>(ChainUpdate::kColors), "asynchronous, color by color"},
    {"raster", static_cast<int>(ChainUpdate::kRaster), "asynchronous, row by row"},
    {"synchronous", static_cast<int>(ChainUpdate::kSynchronous),
     "all cells at once; may never reach a fixed point"},
};

// ---- tables

/// The rows that both operators have.
template <typename Config>
struct ChainRows {
  using R = detail::Rows<Config>;

  static constexpr Option start() {
    return R::template choice<[](auto& c) { return &c.start; }>("start", kStarts,
                                                                "Initial state of the first stage");
  }
  static constexpr Option seed() {
    Option row =
        R::template integer<[](auto& c) { return &c.seed; }>("seed", 0, 0, "", "Seed of the noise");
    row.high = 4294967295.0;
    return R::template when<[](const Config& c) { return c.start == ChainStart::kNoise; }>(
        "start=noise", row);
  }
  static constexpr Option warm_start() {
    return R::template flag<[](auto& c) { return &c.warm_start; }>(
        "warm_start",
        "Start each frame from the result of the frame before; for halftones, and for templates "
        "whose cells follow the frame from any initial state");
  }
  static constexpr Option levels() {
    return R::template integer<[](auto& c) { return &c.levels; }>(
        "levels", 0, 256, "",
        "Number of gray levels of the result, at least 2; 0 = as the template defines");
  }
  static constexpr Option max_sweeps() {
    return R::template integer<[](auto& c) { return &c.max_sweeps; }>(
        "max_sweeps", 1, kMaxFrameSweeps, "sweeps",
        "Maximum number of sweeps of a frame, over all stages and passes; the record of a frame "
        "that it ends is not finished");
  }
  static constexpr Option polarity() {
    return R::template choice<[](auto& c) { return &c.polarity; }>(
        "polarity", kPolarities, "Color that a cell of +1 stands for");
  }
  static constexpr Option chroma() {
    return R::template choice<[](auto& c) { return &c.chroma; }>(
        "chroma", kChromas, "Color of the output picture, if its format has color");
  }
};

using HalftoneRows = detail::Rows<HalftoneConfig>;
using HalftoneChainRows = ChainRows<HalftoneConfig>;

constexpr Option kHalftoneOptions[] = {
    HalftoneRows::text<[](auto& c) { return &c.chain; }>(
        "template",
        "Template to use in place of the preset: a name such as \"hlf5\", a template file, or a "
        "chain of these"),
    HalftoneRows::when<[](const HalftoneConfig& c) { return c.chain.empty(); }>(
        "an empty template",
        HalftoneRows::choice<[](auto& c) { return &c.preset; }>(
            "preset", kPresets, "Balance of quality and speed, and gray levels")),
    HalftoneChainRows::start(),
    HalftoneChainRows::seed(),
    HalftoneChainRows::warm_start(),
    HalftoneRows::when<[](const HalftoneConfig& c) { return !c.chain.empty(); }>(
        "a template; the presets have levels of their own", HalftoneChainRows::levels()),
    HalftoneChainRows::max_sweeps(),
    HalftoneChainRows::polarity(),
    HalftoneChainRows::chroma(),
    detail::depth_option<HalftoneConfig>(),
    detail::priority_option<HalftoneConfig>(),
};

using CnnRows = detail::Rows<CnnConfig>;
using CnnChainRows = ChainRows<CnnConfig>;

constexpr Option kCnnOptions[] = {
    CnnRows::text<[](auto& c) { return &c.chain; }>(
        "template",
        "Name of a template, a template file, or a chain of these such as \"erosion | edge\""),
    CnnRows::text<[](auto& c) { return &c.initial; }>(
        "initial",
        "Binary PGM file with the size of the frames that sets the initial state of the first "
        "stage; empty = none"),
    CnnRows::when<[](const CnnConfig& c) { return c.initial.empty(); }>("an empty initial",
                                                                        CnnChainRows::start()),
    CnnChainRows::seed(),
    CnnChainRows::warm_start(),
    CnnChainRows::levels(),
    CnnChainRows::max_sweeps(),
    CnnChainRows::polarity(),
    CnnChainRows::chroma(),
    CnnRows::text<[](auto& c) { return &c.boundary; }>(
        "boundary",
        "State of the cells beyond the image: zero-flux, periodic or a number, -1 to 1; empty = "
        "as the template defines"),
    CnnRows::choice<[](auto& c) { return &c.update; }>("update", kUpdates, "Order of the updates"),
    CnnRows::when<[](const CnnConfig& c) {
      return c.update == ChainUpdate::kTemplate || c.update == ChainUpdate::kColors;
    }>("update=template or update=colors",
       CnnRows::integer<[](auto& c) { return &c.color_spacing; }>(
           "color_spacing", 0, detail::kMaxColorSpacing, "cells",
           "Distance of cells of the same color, at least the radius + 1; 0 = as the template "
           "defines")),
    detail::depth_option<CnnConfig>(),
    detail::priority_option<CnnConfig>(),
};

// ---- from options to stages

/// A network and the memory for the initial states that it points to.
struct Network {
  CellularNetworkConfig config;
  std::unique_ptr<float[]> initial;

  std::span<CellStage> stages() noexcept {
    return {config.stages.data(), static_cast<std::size_t>(config.stage_count)};
  }
};

using NetworkPointer = std::unique_ptr<Network>;

tl::unexpected<Error> named(const char* option, const Error& error) noexcept {
  return tl::unexpected(make_error(error.status, "%s: %s", option, error.text));
}

CellStart cell_start(ChainStart start) noexcept {
  switch (start) {
    case ChainStart::kNoise:
      return CellStart::kNoise;
    case ChainStart::kBlueNoise:
      return CellStart::kBlueNoise;
    case ChainStart::kErrorDiffusion:
      return CellStart::kErrorDiffusion;
    case ChainStart::kInput:
    case ChainStart::kTemplate:
      break;
  }
  return CellStart::kInput;
}

Expected<void> set_boundary(std::string_view text, CellStage& stage) noexcept {
  if (text == "zero-flux" || text == "periodic") {
    stage.boundary = text == "periodic" ? CellBoundary::kPeriodic : CellBoundary::kZeroFlux;
    return {};
  }
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, stage.boundary_value);
  if (error != std::errc() || next != end ||
      !(stage.boundary_value >= -1.0f && stage.boundary_value <= 1.0f)) {
    return detail::invalid_argument(
        "boundary is \"%.*s\"; it must be zero-flux, periodic, a number from -1 to 1, or empty for "
        "the template's",
        static_cast<int>(text.size()), text.data());
  }
  stage.boundary = CellBoundary::kFixed;
  return {};
}

Expected<void> set_update(const CnnConfig& config, CellStage& stage) noexcept {
  if (config.update == ChainUpdate::kColors) stage.update = CellUpdate::kColors;
  if (config.update == ChainUpdate::kRaster) stage.update = CellUpdate::kRaster;
  if (config.update == ChainUpdate::kSynchronous) stage.update = CellUpdate::kSynchronous;
  if (config.color_spacing > 0) stage.color_spacing = config.color_spacing;
  return config.boundary.empty() ? Expected<void>() : set_boundary(config.boundary.view(), stage);
}

Expected<void> read_initial(const CnnConfig& config, Network& network) noexcept {
  const std::size_t cells =
      static_cast<std::size_t>(config.size.width) * static_cast<std::size_t>(config.size.height);
  network.initial.reset(new (std::nothrow) float[cells]);
  if (!network.initial) return detail::no_memory_for_operator();
  if (Expected<void> read =
          detail::read_pgm(config.initial.c_str(), config.size, network.initial.get());
      !read)
    return named("initial", read.error());
  const float sign = config.polarity == CellPolarity::kWhiteIsOne ? 1.0f : -1.0f;
  for (std::size_t i = 0; i < cells; ++i)
    network.initial[i] = sign * (2.0f * network.initial[i] - 1.0f);
  CellStage& first = network.config.stages.front();
  first.start = CellStart::kPlane;
  first.start_plane = network.initial.get();
  first.start_stride =
      static_cast<std::ptrdiff_t>(sizeof(float)) * static_cast<std::ptrdiff_t>(config.size.width);
  return {};
}

Expected<void> parse_chain(const ChainConfig& config, CellularNetworkConfig& network) noexcept {
  const Expected<int> stages = parse_cell_chain(config.chain.view(), network.stages);
  if (!stages) return named("template", stages.error());
  network.stage_count = *stages;
  return {};
}

/// Applies the options that both operators have. The stages must exist.
Expected<void> set_common(const ChainConfig& config, Network& network) noexcept {
  CellularNetworkConfig& to = network.config;
  to.size = config.size;
  to.format = config.format;
  to.output_format = config.output_format;
  to.input_range = config.input_range;
  to.output_range = config.output_range;
  to.chroma = config.chroma;
  to.depth = config.depth;
  to.priority = config.priority;
  to.warm_start = config.warm_start;
  to.polarity = config.polarity;
  to.max_sweeps = config.max_sweeps;
  if (config.levels == 1)
    return detail::invalid_argument("levels is 1; it must be 2 to 256, or 0 for the template's");
  if (config.levels > 0)
    for (CellStage& stage : network.stages()) stage.levels = config.levels;
  if (config.start == ChainStart::kTemplate) return {};
  to.stages.front().start = cell_start(config.start);
  to.stages.front().seed = config.seed;
  return {};
}

/// Checks the stages. The templates themselves are valid, so an error comes from an option.
Expected<void> check_stages(Network& network) noexcept {
  for (const CellStage& stage : network.stages()) OCELLUS_TRY(detail::check_cell_stage(stage));
  return {};
}

/// Errors: InvalidArgument, naming the option, and errors of reading a file.
Expected<NetworkPointer> make_network_of(const HalftoneConfig& config) noexcept {
  OCELLUS_TRY(detail::check_options(kHalftoneOptions, &config));
  NetworkPointer network(new (std::nothrow) Network);
  if (!network) return detail::no_memory_for_operator();
  if (config.chain.empty())
    network->config = halftone_config(config.size, config.preset);
  else
    OCELLUS_TRY(parse_chain(config, network->config));
  OCELLUS_TRY(set_common(config, *network));
  OCELLUS_TRY(check_stages(*network));
  return network;
}

Expected<NetworkPointer> make_network_of(const CnnConfig& config) noexcept {
  OCELLUS_TRY(detail::check_options(kCnnOptions, &config));
  NetworkPointer network(new (std::nothrow) Network);
  if (!network) return detail::no_memory_for_operator();
  OCELLUS_TRY(parse_chain(config, network->config));
  OCELLUS_TRY(set_common(config, *network));
  for (CellStage& stage : network->stages()) OCELLUS_TRY(set_update(config, stage));
  if (!config.initial.empty()) {
    OCELLUS_TRY(detail::check_geometry(config.size, config.format, {}, config.depth));
    OCELLUS_TRY(read_initial(config, *network));
  }
  OCELLUS_TRY(check_stages(*network));
  return network;
}

const char* name_of(const HalftoneConfig&) noexcept {
  return "halftone";
}
const char* name_of(const CnnConfig&) noexcept {
  return "cnn";
}

/// The chain, or the word of the preset.
std::string_view what_runs(const HalftoneConfig& config) noexcept {
  if (!config.chain.empty()) return config.chain.view();
  return kPresets[static_cast<int>(config.preset)].word;
}
std::string_view what_runs(const CnnConfig& config) noexcept {
  return config.chain.view();
}

/// The plan refers to the network.
struct PlannedChain : detail::PlannedNetwork {
  NetworkPointer network;
  const char* kind = "";
  std::string_view what;  ///< the chain or the preset
};

template <typename Config>
struct ChainTraits : detail::NetworkTraits<Config, PlannedChain> {
  static Expected<PlannedChain> make_plan_for(const Config& config) noexcept {
    OCELLUS_TRY_ASSIGN(network, make_network_of(config));
    const CellularNetworkConfig& stages = (*network)->config;
    OCELLUS_TRY_ASSIGN(plan, detail::make_plan(stages));
    plan->name = name_of(config);
    return PlannedChain{{*plan, detail::sources_of(stages)},
                        std::move(*network),
                        config.chain.empty() ? "preset " : "",
                        what_runs(config)};
  }
  /// The info of the cellular network, with a summary of the chain or preset.
  static OperatorInfo info(const PlannedChain& planned) noexcept {
    OperatorInfo info = detail::info_of(planned.plan);
    const std::string_view what = planned.what;
    char stages[sizeof(info.summary)];
    std::snprintf(stages, sizeof(stages), "%s", info.summary);
    std::snprintf(info.summary, sizeof(info.summary), "%s%.*s: %.96s", planned.kind,
                  detail::shown(what), what.data(), stages);
    return info;
  }
};

}  // namespace

OptionTable HalftoneConfig::options() noexcept {
  return kHalftoneOptions;
}
OptionTable CnnConfig::options() noexcept {
  return kCnnOptions;
}

// ---- operators

template <>
struct detail::OperatorTraits<HalftoneConfig> : ChainTraits<HalftoneConfig> {};
template <>
struct detail::OperatorTraits<CnnConfig> : ChainTraits<CnnConfig> {};

template class Operator<Halftone, HalftoneConfig, CellularNetworkRecord>;
template class Operator<Cnn, CnnConfig, CellularNetworkRecord>;

Expected<ImageSize> Cnn::read_initial_size(const char* path) noexcept {
  return detail::read_pgm_size(path);
}

}  // namespace ocellus
