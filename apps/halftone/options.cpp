#include "apps/halftone/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apps/common/printable.h"
#include "ocellus/cell_templates.h"
#include "ocellus/halftone.h"

namespace ocellus::app {
namespace {

constexpr const char* kContext = "cellular network";

/// Words of the command line for values of the library.
template <typename Value>
struct Word {
  const char* word;
  Value value;
};

constexpr Word<CellStart> kStarts[] = {
    {"input", CellStart::kInput},
    {"noise", CellStart::kNoise},
    {"blue-noise", CellStart::kBlueNoise},
    {"error-diffusion", CellStart::kErrorDiffusion},
};
constexpr Word<CellUpdate> kUpdates[] = {
    {"colors", CellUpdate::kColors},
    {"raster", CellUpdate::kRaster},
    {"synchronous", CellUpdate::kSynchronous},
};
constexpr Word<CellPolarity> kPolarities[] = {
    {"black", CellPolarity::kBlackIsOne},
    {"white", CellPolarity::kWhiteIsOne},
};
constexpr Word<HalftonePreset> kPresets[] = {
    {"quality", HalftonePreset::kQuality},
    {"fast", HalftonePreset::kFast},
};

template <typename Value, std::size_t Count>
std::vector<std::string> words_of(const Word<Value> (&words)[Count]) {
  std::vector<std::string> names;
  for (const Word<Value>& word : words) names.emplace_back(word.word);
  return names;
}

/// CLI11 has checked that it is one of them.
template <typename Value, std::size_t Count>
Value value_of(const Word<Value> (&words)[Count], const std::string& text) {
  return std::find_if(words, words + Count, [&](const auto& word) { return text == word.word; })
      ->value;
}

template <typename Value, std::size_t Count>
std::string word_of(const Word<Value> (&words)[Count], Value value, const char* otherwise) {
  const auto* const found =
      std::find_if(words, words + Count, [&](const auto& word) { return value == word.value; });
  return found == words + Count ? otherwise : found->word;
}

std::string start_name(CellStart start) {
  return word_of(kStarts, start,
                 start == CellStart::kConstant ? "constant"
                 : start == CellStart::kPlane  ? "image"
                                               : "previous");
}

std::string boundary_name(const CellStage& stage) {
  switch (stage.boundary) {
    case CellBoundary::kZeroFlux:
      return "zero-flux";
    case CellBoundary::kPeriodic:
      return "periodic";
    case CellBoundary::kFixed:
      break;
  }
  return fmt::format("{:g}", stage.boundary_value);
}

/// The library names its fields; who reads the text knows the options.
std::string with_cell_option_name(std::string text) {
  const std::pair<std::string, std::string> kNames[] = {
      {"levels", "--levels"},
      {"max_sweeps", "--max-sweeps"},
      {"color_spacing", "--color-spacing"},
      {"boundary_value", "--boundary"},
      {"update", "--update"},
  };
  const std::string warm_start = "warm_start is true";
  if (text.rfind(warm_start, 0) == 0)
    return text.replace(0, warm_start.size(), "--warm-start is given");
  // "stages[0].levels is 1; ...": the options hold for all stages.
  const std::size_t dot = text.find("].");
  if (text.rfind("stages[", 0) != 0 || dot == std::string::npos) return text;
  for (const auto& [field, option] : kNames) {
    if (text.compare(dot + 2, field.size() + 1, field + " ") == 0)
      return text.replace(0, dot + 2 + field.size(), option);
  }
  return text;
}

/// The states that gray values stand for.
FloatPlane read_states(const std::string& path, ImageSize size, CellPolarity polarity) {
  const GrayImage image = read_image(path);
  check_same_size(path, image.size, "FRAMES", size);
  FloatPlane plane{size, {}};
  const float sign = polarity == CellPolarity::kWhiteIsOne ? 1.0f : -1.0f;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x)
      plane.values.push_back(sign * (image.brightness(x, y) / 127.5f - 1.0f));
  }
  return plane;
}

int weights_that_count(const std::array<float, kMaxTemplateWeights>& weights) {
  return static_cast<int>(
      std::count_if(weights.begin(), weights.end(), [](float weight) { return weight != 0.0f; }));
}

}  // namespace

void add_cell_options(CLI::App& command, CellOptions& o) {
  const bool halftone = o.command == CellOptions::Command::kHalftone;
  const std::string group = "Cellular network";
  const auto option = [&](const char* name, auto& value, const std::string& help) {
    return command.add_option(name, value, help)->group(group);
  };
  if (halftone) {
    option("--preset", o.preset,
           "quality (default) or fast: how much time is given to how close a halftone is")
        ->check(CLI::IsMember(words_of(kPresets)));
  }
  CLI::Option* const chain =
      option("--template", o.chain,
             std::string("A template by name, a file (*.ocellus), or a chain of them (\"erosion | "
                         "edge\")") +
                 (halftone ? " instead of a preset" : ""));
  // In a pipeline's link the words are not known to be a command line's.
  if (!halftone) chain->required();
  option("--start", o.start,
         "What the first stage begins with, instead of the template's own: input, noise, "
         "blue-noise or error-diffusion")
      ->check(CLI::IsMember(words_of(kStarts)));
  option("--seed", o.seed, "Seed of --start noise (default 1)");
  if (!halftone)
    option("--initial", o.initial, "Image of the same size that the first stage begins with");
  command
      .add_flag(
          "--warm-start", o.warm_start,
          "Begin each frame but the first with the result of the one before: for halftones, and "
          "others whose cells follow the frame from any start")
      ->group(group);
  option("--levels", o.levels, "Gray levels of the result, 2 to 256");
  option("--max-sweeps", o.max_sweeps, "Sweeps of each stage, 1 to 100000; fewer at a fixed point");
  option("--polarity", o.polarity, "What +1 stands for: black (default) or white")
      ->check(CLI::IsMember(words_of(kPolarities)));
  if (halftone) return;
  option("--boundary", o.boundary,
         "What lies beyond the image: zero-flux, periodic, or a number from -1 to 1");
  option("--update", o.update, "Order of the cells: colors, raster or synchronous")
      ->check(CLI::IsMember(words_of(kUpdates)));
  option("--color-spacing", o.color_spacing,
         "Cells of a color are so far apart, radius + 1 to 9; 0 = the least");
}

std::vector<UnusedOptions> unused_cell_options(const CellOptions& o) {
  std::vector<UnusedOptions> rules = {{o.start != "noise", {"--seed"}, "it is for --start noise"}};
  if (o.command == CellOptions::Command::kHalftone) {
    rules.push_back({o.chain.has_value(),
                     {"--preset"},
                     "--template takes its place; leave one of the two out"});
  } else {
    rules.push_back(
        {o.initial.has_value(), {"--start"}, "--initial says what the first stage begins with"});
    rules.push_back({o.update.has_value() && o.update != "colors",
                     {"--color-spacing"},
                     fmt::format("--update {} has no colors", o.update.value_or(""))});
  }
  return rules;
}

void set_boundary(CellStage& stage, const std::string& text) {
  if (text == "zero-flux" || text == "periodic") {
    stage.boundary = text == "periodic" ? CellBoundary::kPeriodic : CellBoundary::kZeroFlux;
    return;
  }
  double value = 0.0;
  if (!CLI::detail::lexical_cast(text, value) || !(value >= -1.0 && value <= 1.0)) {
    throw InputError(fmt::format(
        "--boundary is '{}'; it must be zero-flux, periodic, or a number from -1 to 1", text));
  }
  stage.boundary = CellBoundary::kFixed;
  stage.boundary_value = static_cast<float>(value);
}

std::shared_ptr<const CellSetup> cell_setup(const CellOptions& o, ImageSize size,
                                            PixelFormat format, const GrayRange& range) {
  auto setup = std::make_shared<CellSetup>();
  CellularNetworkConfig& config = setup->config;
  if (o.chain) {
    config.stage_count = take(parse_cell_chain(*o.chain, config.stages), "--template");
    setup->name = *o.chain;
  } else {
    const std::string preset = o.preset.value_or(kPresets[0].word);
    if (o.levels && *o.levels != 2) {
      throw InputError(fmt::format(
          "--levels is {}, but the presets are of two levels; give a --template, such as hlf5",
          *o.levels));
    }
    config = halftone_config(size, value_of(kPresets, preset));
    setup->name = "preset " + preset;
  }
  config.size = size;
  config.format = format;
  config.input_range = range;
  config.output_format = PixelFormat::kGray8;
  config.depth = 1;
  config.warm_start = o.warm_start;
  if (o.polarity) config.polarity = value_of(kPolarities, *o.polarity);
  for (int i = 0; i < config.stage_count; ++i) {
    CellStage& stage = config.stages[static_cast<std::size_t>(i)];
    stage.levels = o.levels.value_or(stage.levels);
    stage.max_sweeps = o.max_sweeps.value_or(stage.max_sweeps);
    if (o.boundary) set_boundary(stage, *o.boundary);
    if (o.update) stage.update = value_of(kUpdates, *o.update);
    stage.color_spacing = o.color_spacing.value_or(stage.color_spacing);
  }
  CellStage& first = config.stages.front();
  if (o.start) first.start = value_of(kStarts, *o.start);
  first.seed = o.seed.value_or(first.seed);
  if (o.initial) {
    setup->initial = read_states(*o.initial, size, config.polarity);
    first.start = CellStart::kPlane;
    first.start_plane = setup->initial.values.data();
    first.start_stride =
        static_cast<std::ptrdiff_t>(size.width) * static_cast<std::ptrdiff_t>(sizeof(float));
  }
  return setup;
}

std::string describe(const CellSetup& setup) {
  int radius = 0;
  int sweeps = 0;
  for (const CellStage& stage : setup.stages()) {
    radius = std::max(radius, stage.weights.radius);
    sweeps = std::max(sweeps, stage.max_sweeps);
  }
  return fmt::format("{}: {} up to {}x{}, {}, at most {} each{}", printable(setup.name),
                     counted(setup.config.stage_count, "stage"), 2 * radius + 1, 2 * radius + 1,
                     counted(setup.levels(), "level"), counted(sweeps, "sweep"),
                     setup.config.warm_start ? ", warm start" : "");
}

nlohmann::ordered_json setup_json(const CellSetup& setup) {
  nlohmann::ordered_json json;
  json["name"] = setup.name;
  json["warm_start"] = setup.config.warm_start;
  json["input_range"] = {setup.config.input_range.black, setup.config.input_range.white};
  json["polarity"] = word_of(kPolarities, setup.config.polarity, "");
  json["levels"] = setup.levels();
  json["stages"] = nlohmann::ordered_json::array();
  for (const CellStage& stage : setup.stages()) {
    json["stages"].push_back({{"radius", stage.weights.radius},
                              {"threshold", stage.weights.threshold},
                              {"levels", stage.levels},
                              {"input", stage.input == CellInput::kFrame ? "frame" : "previous"},
                              {"start", start_name(stage.start)},
                              {"boundary", boundary_name(stage)},
                              {"update", word_of(kUpdates, stage.update, "")},
                              {"move", stage.move == CellMove::kSwap ? "swap" : "update"},
                              {"color_spacing", stage.color_spacing},
                              {"max_sweeps", stage.max_sweeps}});
  }
  return json;
}

Workload least_work(const CellSetup& setup) {
  const ImageSize size = setup.config.size;
  const double cells = static_cast<double>(size.width) * size.height;
  Workload work;
  work.bytes =
      cells * (bytes_per_pixel(setup.config.format) + bytes_per_pixel(setup.config.output_format));
  const CellStage* before = nullptr;
  for (const CellStage& stage : setup.stages()) {
    // B u once, A y once, a product and a sum for each weight: what later sweeps cost depends on
    // how many cells change. The sums of a stage with the same weights are there already.
    const bool same = before != nullptr && before->weights.a == stage.weights.a &&
                      before->weights.b == stage.weights.b;
    before = &stage;
    if (same) continue;
    const int weights = weights_that_count(stage.weights.a) + weights_that_count(stage.weights.b);
    work.flops += cells * 2.0 * weights;
  }
  return work;
}

// ---- the operator

std::string CellPlan::error_text(const Error& error) const {
  return fmt::format("{}: {}", kContext, with_cell_option_name(error.text));
}

OperatorOutput CellRun::output_of(GrayImage& image) {
  OperatorOutput output;
  output.planes[0] = {image.pixels.data(), image.size,         image.stride(),
                      image.format,        MemorySpace::kHost, nullptr};
  return output;
}

}  // namespace ocellus::app
