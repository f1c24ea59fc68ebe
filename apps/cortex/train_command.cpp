// ocellus train cortex: learns a cortical classifier from labeled images.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/json_sink.h"
#include "apps/common/printable.h"
#include "apps/common/rounding.h"
#include "apps/cortex/level_text.h"
#include "apps/io/image_io.h"
#include "apps/io/output_file.h"
#include "apps/io/training_files.h"
#include "ocellus/cortex_training.h"

namespace ocellus::app {
namespace {

struct TrainCortexOptions : TrainingFiles {
  std::vector<std::string> levels;
  std::string rule = "hebb";
  bool no_off_cells = false;
  std::string read_out = "delta";
  bool keep_slant = false;
  std::string picture;
  CortexTraining training;
};

CortexTraining training_of(const TrainCortexOptions& options) {
  CortexTraining training = options.training;
  CortexParameters& parameters = training.parameters;
  if (!options.levels.empty())
    parameters.level_count = parse_levels(options.levels, parameters.levels, &parameters);
  parameters.deslant = !options.keep_slant;
  training.rule = options.rule == "bcpnn" ? CortexRule::kBcpnn : CortexRule::kHebb;
  training.off_cells = !options.no_off_cells;
  training.read_out = options.read_out == "bayes" ? CortexReadOut::kBayes : CortexReadOut::kDelta;
  return training;
}

/// The hypercolumn that is drawn: its pixels in a rectangle, and its rows of weights.
struct DrawnHypercolumn {
  int width;
  int height;
  std::vector<int> pixels;  // of each input, y * width + x
  std::size_t first_row;
};

DrawnHypercolumn middle_of(const TrainedCortex& cortex) {
  const CortexParameters& parameters = cortex.parameters;
  DrawnHypercolumn drawn;
  if (parameters.fields > 0) {
    const auto inputs = static_cast<std::size_t>(parameters.field_inputs);
    drawn.first_row = static_cast<std::size_t>(parameters.fields / 2) * inputs;
    drawn.width = parameters.width;
    drawn.height = parameters.height;
    const auto begin = cortex.fields.begin() + static_cast<std::ptrdiff_t>(drawn.first_row);
    drawn.pixels.assign(begin, begin + parameters.field_inputs);
    return drawn;
  }
  const CorticalLevel& level = parameters.levels[0];
  const int columns = (parameters.width - level.window_width) / level.stride_x + 1;
  const int rows = (parameters.height - level.window_height) / level.stride_y + 1;
  drawn.width = level.window_width;
  drawn.height = level.window_height;
  drawn.pixels.resize(pixels_of({drawn.width, drawn.height}));
  std::iota(drawn.pixels.begin(), drawn.pixels.end(), 0);
  drawn.first_row =
      static_cast<std::size_t>(rows / 2 * columns + columns / 2) * drawn.pixels.size();
  return drawn;
}

/// Writes the minicolumns of the hypercolumn in the middle of the lowest level to a PNG, 16 in a
/// row. Gray levels are the probabilities that a pixel of the window is active, of (a) in
/// ocellus/cortex_model.h: 0 is black. Throws InputError.
void write_feature_picture(const std::string& path, const TrainedCortex& cortex) {
  constexpr int kColumns = 16;
  constexpr int kScale = 3;
  constexpr int kGap = 3;
  const DrawnHypercolumn drawn = middle_of(cortex);
  const int minicolumns = cortex.parameters.levels[0].minicolumns;
  // The arrays have room for a multiple of 32 minicolumns.
  const auto stride = static_cast<std::size_t>((minicolumns + 31) / 32 * 32);
  const std::int8_t* const weights = cortex.weights.data() + drawn.first_row * stride;

  const int tile_width = drawn.width * kScale + kGap;
  const int tile_height = drawn.height * kScale + kGap;
  const int across = std::min(kColumns, minicolumns);
  const int down = (minicolumns + across - 1) / across;
  GrayImage picture({across * tile_width + kGap, down * tile_height + kGap}, PixelFormat::kGray8);
  std::fill(picture.pixels.begin(), picture.pixels.end(), std::uint8_t{128});
  for (int m = 0; m < minicolumns; ++m) {
    const int left = kGap + m % across * tile_width;
    const int top = kGap + m / across * tile_height;
    for (std::size_t input = 0; input < drawn.pixels.size(); ++input) {
      const double weight =
          weights[input * stride + static_cast<std::size_t>(m)] / double{kCortexWeightScale};
      const std::uint8_t gray = nearest_byte(255.0 / (1.0 + std::exp(-weight)));
      const int x = left + drawn.pixels[input] % drawn.width * kScale;
      const int y = top + drawn.pixels[input] / drawn.width * kScale;
      for (int row = y; row < y + kScale; ++row)
        std::fill_n(picture.pixels.begin() + std::ptrdiff_t{row} * picture.size.width + x, kScale,
                    gray);
    }
  }
  write_png_gray(path, picture, 8);
}

void print_report(const TrainCortexOptions& options, const TrainedCortex& cortex,
                  std::size_t images, std::size_t validated, std::size_t right, double seconds,
                  std::size_t bytes) {
  const double accuracy =
      validated == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(validated);
  if (options.json) {
    nlohmann::ordered_json object;
    object["model"] = options.out;
    object["classes"] = cortex.names;
    object["images"] = images;
    object["validation_images"] = validated;
    object["read_out"] = options.read_out;
    object["seconds"] = seconds;
    object["accuracy"] = validated == 0 ? nullptr : nlohmann::ordered_json(accuracy);
    object["sharpness"] = cortex.sharpness;
    object["bytes"] = bytes;
    if (!options.picture.empty()) object["picture"] = options.picture;
    print_json(object);
    return;
  }
  fmt::print("learned {} of {} in {:.1f} s\n", counted(images, "image"),
             counted(cortex.names.size(), "class", "classes"), seconds);
  if (validated > 0) {
    fmt::print("accuracy {:.2f} % ({} of {} validation images)\n", 100.0 * accuracy, right,
               validated);
  }
  fmt::print("{}: {}\n", printable(options.out), bytes_text(bytes));
  if (!options.picture.empty()) fmt::print("written: {}\n", printable(options.picture));
}

void run_train(const TrainCortexOptions& options) {
  check_training_files(options);
  if (!options.picture.empty() && file_extension(options.picture) != ".png")
    throw InputError(fmt::format("--picture is '{}'; it must end in .png", options.picture));
  check_distinct_outputs({{"-o", options.out}, {"--picture", options.picture}});
  CortexTraining training = training_of(options);
  LabeledImages images = read_labeled_images(options);
  const LabeledImages validation = split_validation(images, options.validation, training.seed);
  require_writable(options.out);
  json_sink();  // a bad target is an error before the learning
  if (!options.picture.empty()) require_writable(options.picture);

  TrainingWatch watch;
  training.progress = std::ref(watch);
  const auto stopped = [&] {  // main ends by the signal
    watch.end();
    tell("ocellus: stopped; no model was written\n");
  };
  Expected<TrainedCortex> trained = train_cortex(images, training);
  if (!trained && stop_signal() != 0) return stopped();
  const TrainedCortex cortex = take(std::move(trained), "train");
  const double seconds = watch.seconds();
  std::size_t right = 0;
  if (validation.count() > 0) {
    Expected<std::vector<CortexAnswer>> classified =
        classify(cortex, validation, training.threads, std::ref(watch));
    if (!classified && stop_signal() != 0) return stopped();
    const std::vector<CortexAnswer> answers = take(std::move(classified));
    for (std::size_t i = 0; i < answers.size(); ++i)
      right += answers[i].label == validation.labels[i] ? 1 : 0;
  }
  watch.end();
  const std::string note =
      !options.note.empty()
          ? options.note
          : fmt::format("{} images of {} classes, read-out {}, seed {}", images.count(),
                        cortex.names.size(), options.read_out, training.seed);
  const std::vector<std::uint8_t> bytes = take(encode_cortex(cortex, note), options.out);
  write_file(options.out, bytes);
  if (!options.picture.empty()) write_feature_picture(options.picture, cortex);
  print_report(options, cortex, images.count(), validation.count(), right, seconds, bytes.size());
}

void add_learning_options(CLI::App& command, TrainCortexOptions& options) {
  CortexTraining& training = options.training;
  CortexParameters& parameters = training.parameters;
  command
      .add_option(
          "--levels", options.levels,
          "Levels, the lowest first, with commas between them: window/stride:minicolumns, or "
          "hypercolumns*inputs:minicolumns for a lowest level of fields of free pixels, such "
          "as 15*78:200; default: 12x12/2x2:256")
      ->delimiter(',');
  add_value(command, "--lgn-threshold", parameters.lgn_threshold,
            "Gray level from which a pixel is ink, 1 to 255");
  command.add_flag("--keep-slant", options.keep_slant, "Do not remove the slant of images");
  add_value(command, "--competitors", parameters.competitors,
            "Active minicolumns of a hypercolumn, 1 to 8; above 1: soft competition");
  add_value(command, "--softness", parameters.softness,
            "By how much the score counts in soft competition, 0.05 to 10");
  add_value(command, "--feature-images", training.feature_images,
            "Images that each hypercolumn learns from, 1 to 100000000");
  add_value(command, "--rule", options.rule,
            "Rule of the features: hebb moves the winner; bcpnn moves all that are active")
      ->check(CLI::IsMember({"hebb", "bcpnn"}));
  add_value(command, "--least-rate", training.least_rate,
            "Rule hebb: least rate of the features, 0.0001 to 1");
  add_value(command, "--batch", training.batch, "Rule bcpnn: images of an update, 1 to 1000000");
  add_value(command, "--trace-rate", training.trace_rate,
            "Rule bcpnn: rate of the traces in an update, 0.0001 to 1");
  add_value(command, "--bias-gain", training.bias_gain,
            "Rule bcpnn: factor of the logarithm of the activity in the bias, -100 to 100");
  command.add_flag("--no-off-cells", options.no_off_cells,
                   "Rule bcpnn: only bright pixels count, as in StreamBrain");
  add_value(command, "--rewirings", training.rewirings,
            "Free pixels: how often those with little information are exchanged, 0 to 100000");
  add_value(command, "--exchanges", training.exchanges,
            "Free pixels: of a field, exchanged at a time, at most, 1 to 4096");
  command.add_option("--picture", options.picture,
                     "Write a picture of the features of a hypercolumn of the lowest level (.png)");
  add_value(command, "--read-out", options.read_out,
            "bayes counts in one pass; delta corrects errors")
      ->check(CLI::IsMember({"bayes", "delta"}));
  add_value(command, "--labels-per-class", training.labels_per_class,
            "Use the labels of the first N images of each class only; 0: all");
  add_value(command, "--prior", training.prior,
            "Read-out bayes: images that the prior counts as, 0.001 to 1000");
  add_value(command, "--passes", training.passes, "Read-out delta: passes, 1 to 1000");
  add_value(command, "--rate", training.rate, "Read-out delta: rate at the begin, 0 to 1");
  add_value(command, "--copies", training.copies,
            "Distorted copies of each image that are learned, too, 0 to 100");
  add_value(command, "--rotation", training.rotation, "Most rotation of a copy, 0 to 45 degrees");
  add_value(command, "--scale", training.scale,
            "Logarithm of the largest factor of a copy along x and y, 0 to 1");
  add_value(command, "--shear", training.shear, "Most shear of a copy, 0 to 1");
  add_value(command, "--shift", training.shift, "Most shift of a copy, 0 to 8 pixels");
  add_value(command, "--seed", training.seed, "Seed of the split, the features and the order");
  add_training_threads(command, training.threads);
}

}  // namespace

void add_train_cortex_command(CLI::App& train, int& exit_code) {
  CLI::App* const command =
      train.add_subcommand("cortex", "Learns classes of images (cortical classifier)");
  const auto options = std::make_shared<TrainCortexOptions>();
  add_training_inputs(*command, *options);
  add_learning_options(*command, *options);
  add_training_outputs(*command, *options);
  command->footer("Ctrl-C stops. docs/cortex.md tells what is learned.");
  command->callback([command, options, &exit_code] {
    const bool bayes = options->read_out == "bayes";
    const bool bcpnn = options->rule == "bcpnn";
    const bool fields =
        !options->levels.empty() && options->levels[0].find('*') != std::string::npos;
    check_options(*command, {{bcpnn, {"--least-rate"}, "rule bcpnn has the rate --trace-rate"},
                             {!bcpnn,
                              {"--batch", "--trace-rate", "--bias-gain", "--no-off-cells"},
                              "they belong to --rule bcpnn"},
                             {!fields,
                              {"--rewirings", "--exchanges"},
                              "without free pixels in --levels, no field is rewired"},
                             {bayes, {"--passes", "--rate"}, "read-out bayes needs one pass"},
                             {!bayes, {"--prior"}, "read-out delta has no prior"},
                             {options->training.copies == 0,
                              {"--rotation", "--scale", "--shear", "--shift"},
                              "without --copies, no image is distorted"},
                             {options->training.parameters.competitors == 1,
                              {"--softness"},
                              "without competitors, the winner alone is active"}});
    run_train(*options);
    exit_code = kDone;
  });
}

}  // namespace ocellus::app
