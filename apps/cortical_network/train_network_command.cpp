// ocellus train network: shows labeled images to a cortical network, which learns by the paper's
// rule without the labels, learns a read-out with them, and counts right answers.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/json_sink.h"
#include "apps/common/printable.h"
#include "apps/cortex/level_text.h"
#include "apps/cortical_network/real_devices.h"
#include "apps/io/output_file.h"
#include "apps/io/training_files.h"
#include "ocellus/cortical_network.h"
#include "ocellus/network_training.h"

namespace ocellus::app {
namespace {

struct TrainNetworkOptions : TrainingFiles {
  std::string test_images;
  std::string test_labels;
  std::vector<std::string> levels{"7x7/7x7:128", "2x2/2x2:256", "2x2/1x1:1024"};
  bool contrast = false;
  int lgn_threshold = 128;
  HebbianLearning learning;
  std::string read_out = "vote";
  float prior = 1.0f;
  int passes = 1;
  int first = 0;
  int test_first = 0;
  double noise = 0.0;
  int occlusion = 0;
  int feedback_rounds = 0;
  int feedback_tolerance = 1;
  std::uint64_t seed = 1;
  std::string devices;  ///< empty: the CPU
};

/// The network on the devices of the options, as `ocellus cortex plan` places it; null: the CPU
/// learns.
std::unique_ptr<PlacedRun> placed_run(const TrainNetworkOptions& o,
                                      const CorticalNetworkConfig& config) {
  if (o.devices.empty()) return nullptr;
  std::vector<RealDevice> devices = parse_real_devices("--devices", o.devices, 1);
  measure_devices(config, {}, devices);
  const CorticalPlacement placement =
      take(place_cortical_network(config, placement_devices(devices)), "--devices");
  return std::make_unique<PlacedRun>(config, placement, devices);
}

CorticalNetworkConfig config_of(const TrainNetworkOptions& o, const LabeledImages& images) {
  CorticalNetworkConfig config;
  config.width = images.width;
  config.height = images.height;
  config.lgn = o.contrast ? LgnTransform::kContrast : LgnTransform::kLevel;
  config.lgn_threshold = o.lgn_threshold;
  config.level_count = parse_levels(o.levels, config.levels);
  config.learning = o.learning;
  config.seed = o.seed;
  return config;
}

/// The first `first` images, or all of them.
std::size_t shown_of(const LabeledImages& images, int first) {
  return first == 0 ? images.count() : std::min(images.count(), static_cast<std::size_t>(first));
}

/// Minicolumns of the highest level that have a class.
std::size_t labeled(const CorticalNetwork& network, const TrainedReadOut& read_out) {
  const std::size_t classes = read_out.names.size();
  const int top = network.levels() - 1;
  const auto rows = static_cast<std::size_t>(network.minicolumns(top) + 1);
  const std::size_t count = network.winners(top).size() * rows;
  auto row = read_out.weights.end() - static_cast<std::ptrdiff_t>(count * classes);
  std::size_t labeled = 0;
  for (std::size_t i = 0; i < count; ++i, row += static_cast<std::ptrdiff_t>(classes)) {
    const bool silence = i % rows == 0;
    labeled += !silence && std::any_of(row, row + static_cast<std::ptrdiff_t>(classes),
                                       [](std::int16_t weight) { return weight != 0; });
  }
  return labeled;
}

/// Inverts a share of the pixels, and clears a square at a random place.
class Disturbance {
 public:
  Disturbance(double noise, int occlusion, std::uint64_t seed)
      : random_(seed), noise_(noise), occlusion_(occlusion) {}

  void apply(std::vector<std::uint8_t>& image, int width, int height) {
    std::uniform_real_distribution<> share(0.0, 1.0);
    for (auto& p : image)
      if (share(random_) < noise_) p ^= 0xff;
    if (occlusion_ == 0) return;
    const auto place = [&](int length) {
      return static_cast<int>(random_() % static_cast<unsigned>(length - occlusion_ + 1));
    };
    const int x0 = place(width);
    const int y0 = place(height);
    for (int y = y0; y < y0 + occlusion_; ++y)
      std::fill_n(image.begin() + static_cast<std::ptrdiff_t>(y) * width + x0, occlusion_,
                  std::uint8_t{0});
  }

 private:
  std::mt19937_64 random_;
  double noise_;
  int occlusion_;
};

struct Result {
  std::string images;
  int feedback_rounds = 0;
  std::size_t answered = 0;
  std::size_t right = 0;
  std::size_t count = 0;
};

/// None: `watch` stopped it.
std::optional<Result> test(const TrainNetworkOptions& o, CorticalNetwork& network,
                           const TrainedReadOut& read_out, const LabeledImages& images,
                           bool disturbed, int rounds, TrainingWatch& watch) {
  Result result;
  result.images = disturbed ? "disturbed" : "clean";
  result.feedback_rounds = rounds;
  result.count = shown_of(images, o.test_first);
  take(network.set_feedback(rounds, o.feedback_tolerance), "--feedback-rounds");
  Disturbance disturbance(disturbed ? o.noise : 0.0, disturbed ? o.occlusion : 0, o.seed);
  std::vector<std::uint8_t> image;
  for (std::size_t i = 0; i < result.count; ++i) {
    if (!watch("testing", static_cast<double>(i) / static_cast<double>(result.count)))
      return std::nullopt;
    image.assign(images.image(i), images.image(i + 1));
    disturbance.apply(image, images.width, images.height);
    network.step(image.data(), images.width, false);
    const int answer = answer_of(network, read_out.view());
    result.answered += answer >= 0;
    result.right += answer == images.labels[i];
  }
  return result;
}

double percent_of(std::size_t part, std::size_t all) {
  return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

void print_report(const TrainNetworkOptions& o, const CorticalNetwork& network,
                  const TrainedReadOut& read_out, double seconds,
                  const std::vector<Result>& results) {
  if (o.json) {
    nlohmann::ordered_json json;
    json["network"] = o.out;
    json["steps"] = network.steps();
    json["seconds"] = seconds;
    json["read_out"] = o.read_out;
    json["labeled_minicolumns"] = labeled(network, read_out);
    json["results"] = nlohmann::ordered_json::array();
    for (const Result& result : results) {
      json["results"].push_back({{"images", result.images},
                                 {"feedback_rounds", result.feedback_rounds},
                                 {"count", result.count},
                                 {"answered", result.answered},
                                 {"right", result.right},
                                 {"accuracy", percent_of(result.right, result.count) / 100.0}});
    }
    print_json(json);
    return;
  }
  fmt::print("{} steps in {:.1f} s, {} minicolumns of the highest level have a label\n",
             network.steps(), seconds, labeled(network, read_out));
  for (const Result& result : results) {
    fmt::print("{:<9} images, {} of feedback: {:.2f} % answered, {:.2f} % right ({} of {})\n",
               result.images, counted(result.feedback_rounds, "round"),
               percent_of(result.answered, result.count), percent_of(result.right, result.count),
               result.right, result.count);
  }
  fmt::print("{}: {} steps\n", printable(o.out), network.steps());
}

/// Learns the read-out from the images that were learned, writes the network with it, and counts
/// right answers to the others. Returns false if `watch` stopped it.
bool label_and_test(const TrainNetworkOptions& o, const LabeledImages& images,
                    const LabeledImages& tested, CorticalNetwork& network, TrainedReadOut& read_out,
                    std::vector<Result>& results, TrainingWatch& watch) {
  take(network.set_feedback(0, o.feedback_tolerance), "--feedback-rounds");
  NetworkReadOutTraining training;
  training.read_out = o.read_out == "bayes" ? NetworkReadOut::kBayes : NetworkReadOut::kVote;
  training.first = static_cast<std::size_t>(o.first);
  training.prior = o.prior;
  training.progress = std::ref(watch);
  Expected<TrainedReadOut> trained = train_read_out(network, images, training);
  if (!trained && stop_signal() != 0) return false;
  read_out = take(std::move(trained), "train");
  take(network.set_feedback(o.feedback_rounds, o.feedback_tolerance), "--feedback-rounds");
  take(network.save_file(o.out.c_str(), read_out.view()), o.out);
  if (tested.count() == 0) return true;
  std::vector<int> rounds{0};
  if (o.feedback_rounds > 0) rounds.push_back(o.feedback_rounds);
  for (const bool disturbed : {false, true}) {
    if (disturbed && o.noise <= 0.0 && o.occlusion == 0) continue;
    for (const int feedback : rounds) {
      const std::optional<Result> result =
          test(o, network, read_out, tested, disturbed, feedback, watch);
      if (!result) return false;
      results.push_back(*result);
    }
  }
  return true;
}

void run_train_network(const TrainNetworkOptions& o) {
  check_training_files(o);
  LabeledImages images = read_labeled_images(o);
  TrainingFiles test_files = o;
  test_files.images = o.test_images;
  test_files.labels = o.test_labels;
  LabeledImages tested = split_validation(images, o.validation, o.seed);
  if (!o.test_images.empty()) {
    tested = read_labeled_images(test_files);
    if (tested.width != images.width || tested.height != images.height) {
      throw InputError(fmt::format("the images of {} have {}x{} pixels, those of {} {}x{}",
                                   o.test_images, tested.width, tested.height, o.images,
                                   images.width, images.height));
    }
  }
  if (o.occlusion > std::min(images.width, images.height)) {
    throw InputError(fmt::format("--occlusion is {}; the images have {}x{} pixels", o.occlusion,
                                 images.width, images.height));
  }
  require_writable_model(o.out);
  json_sink();  // a bad target is an error before the learning
  const CorticalNetworkConfig config = config_of(o, images);
  const std::unique_ptr<PlacedRun> placed = placed_run(o, config);
  std::optional<CorticalNetwork> on_cpu;
  if (placed == nullptr) on_cpu = take(CorticalNetwork::create(config), "network");

  TrainingWatch watch;
  const std::size_t shown = shown_of(images, o.first);
  const auto learn = [&](std::size_t i) {
    if (on_cpu)
      on_cpu->step(images.image(i), images.width, true);
    else
      take(placed->network().step(images.image(i), images.width, true), "--devices");
  };
  for (int pass = 0; pass < o.passes; ++pass) {
    for (std::size_t i = 0; i < shown; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(shown);
      if (!watch("learning", (pass + share) / o.passes)) {
        watch.end();
        tell("ocellus: stopped; no network was written\n");
        return;
      }
      learn(i);
    }
  }
  const double seconds = watch.seconds();
  if (placed != nullptr) {
    // The CPU labels and tests the network.
    take(placed->network().save_file(o.out.c_str()), o.out);
    on_cpu = take(CorticalNetwork::load_file(o.out.c_str()), o.out);
  }
  CorticalNetwork& network = *on_cpu;
  // Written before the rest, which may take long and changes nothing in it.
  take(network.set_feedback(o.feedback_rounds, o.feedback_tolerance), "--feedback-rounds");
  take(network.save_file(o.out.c_str()), o.out);
  TrainedReadOut read_out;
  std::vector<Result> results;
  const bool done = label_and_test(o, images, tested, network, read_out, results, watch);
  watch.end();
  if (!done) {
    tell(fmt::format("ocellus: stopped; {} was written, but not tested\n", printable(o.out)));
    return;
  }
  print_report(o, network, read_out, seconds, results);
}

}  // namespace

void add_train_network_command(CLI::App& train, int& exit_code) {
  CLI::App* const command = train.add_subcommand(
      "network", "Teaches a cortical network by the rule of Nere, Franey, Hashmi and Lipasti");
  const auto o = std::make_shared<TrainNetworkOptions>();
  add_training_inputs(*command, *o);
  auto* const test_images = command->add_option("--test-images", o->test_images,
                                                "IDX file of images to count answers of");
  auto* const test_labels =
      command->add_option("--test-labels", o->test_labels, "IDX file of their labels");
  test_images->needs(test_labels);
  test_images->excludes(command->get_option("--validation"));
  test_labels->needs(test_images);
  add_value(*command, "--levels", o->levels,
            "Levels, the lowest first, with commas between them: window/stride:minicolumns")
      ->delimiter(',');
  command->add_flag("--contrast", o->contrast, "LGN cells of contrast in place of the gray level");
  add_value(*command, "--lgn-threshold", o->lgn_threshold, "Of the LGN cells, 1 to 255");
  add_value(*command, "--threshold", o->learning.threshold, "T, 0 to 1");
  add_value(*command, "--potentiation", o->learning.potentiation, "0 to 1");
  add_value(*command, "--depression", o->learning.depression, "0 to 1");
  add_value(*command, "--random-firing", o->learning.random_firing, "0 to 1");
  add_value(*command, "--read-out", o->read_out,
            "vote: each winner of the highest level has a class; bayes counts the winners of all "
            "levels, and their silence")
      ->check(CLI::IsMember({"vote", "bayes"}));
  add_value(*command, "--prior", o->prior,
            "Read-out bayes: images that the prior counts as, 0.001 to 1000");
  add_value(*command, "--passes", o->passes, "Times that the images are shown")
      ->check(CLI::Range(1, 1000));
  add_value(*command, "--first", o->first, "Show the first N images only; 0: all")
      ->check(CLI::Range(0, 1000000000));
  add_value(*command, "--test-first", o->test_first, "Test the first N images only; 0: all")
      ->check(CLI::Range(0, 1000000000));
  add_value(*command, "--noise", o->noise, "Test again with this share of the pixels inverted")
      ->check(finite_range(0.0, 1.0));
  add_value(*command, "--occlusion", o->occlusion,
            "Test again with a cleared square of this side at a random place")
      ->check(CLI::Range(0, 1024));
  add_value(*command, "--feedback-rounds", o->feedback_rounds,
            "Test also with this number of rounds of feedback, 0 to 100");
  add_value(*command, "--feedback-tolerance", o->feedback_tolerance, "F, 1 to 1000");
  command->add_option("--devices", o->devices,
                      std::string("Learn on them. ") + kDevicesHelp +
                          ". They are measured, and the network is placed as by cortex plan");
  add_value(*command, "--seed", o->seed, "Seed of the network and of --noise and --occlusion");
  command->add_option("-o,--output", o->out, "The network (.ocellus)")->required();
  add_json_option(*command, o->json);
  command->footer(
      "The labels do not take part in the learning; only the read-out has them, which ocellus\n"
      "network answers with. Ctrl-C stops; after learning, the network is written.");
  command->callback([command, o, &exit_code] {
    check_options(*command, {{o->read_out == "vote", {"--prior"}, "read-out vote has no prior"}});
    run_train_network(*o);
    exit_code = kDone;
  });
}

}  // namespace ocellus::app
