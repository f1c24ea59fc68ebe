// ocellus train digits: learns a neocognitron from labeled images.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/input_guard.h"
#include "apps/common/interrupt.h"
#include "apps/common/json_sink.h"
#include "apps/common/printable.h"
#include "apps/io/image_io.h"
#include "apps/io/input_file.h"
#include "apps/io/output_file.h"
#include "apps/io/training_files.h"
#include "apps/neocognitron/training_scenes.h"
#include "ocellus/neocognitron.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::app {
namespace {

// ---- frames whose characters are known

struct LabelLine {
  std::string file;
  std::string text;
  TextFields boxes;
};

/// The boxes are the last word, the text is the word before. So the path may have spaces.
LabelLine parse_label_line(const std::string& line) {
  const auto last_word = [](std::string& rest) {
    const std::size_t end = rest.find_last_not_of(" \t\r");
    rest.resize(end == std::string::npos ? 0 : end + 1);
    const std::size_t before = rest.find_last_of(" \t");
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    std::string word = rest.substr(begin);
    rest.resize(begin);
    return word;
  };
  std::string rest = line;
  const std::string boxes = last_word(rest);
  LabelLine parsed;
  parsed.text = last_word(rest);
  const std::size_t end = rest.find_last_not_of(" \t");
  rest.resize(end == std::string::npos ? 0 : end + 1);
  parsed.file = rest;
  if (parsed.file.empty())
    throw InputError("it must have an image file, the characters, and their boxes");
  NeocognitronConfig config;
  take(set_option(config, "fields", boxes), "boxes");
  parsed.boxes = config.fields;
  if (parsed.text.size() != static_cast<std::size_t>(parsed.boxes.count)) {
    throw InputError(fmt::format("{} has {} for {}", printable(parsed.text, kMostOfValue),
                                 counted(parsed.text.size(), "character"),
                                 counted(parsed.boxes.count, "box", "boxes")));
  }
  return parsed;
}

/// Calls `use` with each frame of a text file that has a frame on each line: an image file, the
/// characters in it, and their boxes as in `--fields` of `ocellus digits`. Each character of the
/// text is a class, whose label is its index in `names`. Those that are not there are added first,
/// in the order of their codes. Paths begin at the folder of the list. Lines that are empty or
/// begin with # are skipped. Throws InputError that names the line.
void read_frames(const std::string& path, std::vector<std::string>& names,
                 const std::function<void(TrainingFrame)>& use) {
  InputText input(path);
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  std::istringstream stream(read_text(input, kMostBytes));
  const auto at_line = [&](int number, const auto& work) {
    try {
      work();
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: line {}: {}", input.name(), number, error.what()));
    }
  };
  std::vector<std::pair<int, LabelLine>> lines;
  std::set<char> characters;
  std::string read;
  for (int number = 1; std::getline(stream, read); ++number) {
    const std::size_t first = read.find_first_not_of(" \t\r");
    if (first == std::string::npos || read[first] == '#') continue;
    at_line(number, [&] { lines.emplace_back(number, parse_label_line(read.substr(first))); });
    const std::string& text = lines.back().second.text;
    characters.insert(text.begin(), text.end());
  }
  if (lines.empty()) throw InputError(fmt::format("{}: it has no frames", input.name()));
  for (const char character : characters) label_of(names, std::string(1, character));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const auto& [number, line] : lines) {
    at_line(number, [&] {
      const std::filesystem::path file(line.file);
      TrainingFrame frame{read_image((file.is_absolute() ? file : folder / file).string()), {}};
      if (frame.image.format != PixelFormat::kGray8)
        throw InputError(fmt::format("{}: it must have 8 bits", printable(line.file)));
      for (std::size_t i = 0; i < line.text.size(); ++i)
        frame.boxes.push_back(
            {line.boxes.fields[i], label_of(names, std::string(1, line.text[i]))});
      use(std::move(frame));
    });
  }
}

// ---- the command

struct TrainOptions : TrainingFiles {
  std::string frames;
  std::string choice;
  std::string from;
  std::string checkpoint;
  bool resume = false;
  int per_class = 0;
  double styles = 0.0;
  std::size_t drawn = 0;
  int scenes = 0;
  std::vector<int> planes;
  std::vector<float> learning_thresholds;
  std::vector<float> thresholds;
  int feature_images = FeatureLearning{}.images;
  bool kill_losers = false;
  std::string read_out = "interpolate";
  bool keep_slant = false;
  NeocognitronTraining training;
};

/// The images of a command line.
struct Images {
  LabeledImages training;
  LabeledImages validation;
  std::vector<TrainingFrame> choice;  // to which the choice is fitted, if there is no file
};

/// Keeps the first images of each class.
void keep_first(LabeledImages& images, int per_class) {
  const std::size_t pixels = images.pixels();
  std::array<int, kMaxCharacterClasses> seen{};
  std::size_t kept = 0;
  for (std::size_t i = 0; i < images.count(); ++i) {
    if (++seen[images.labels[i]] > per_class) continue;
    std::copy_n(images.image(i), pixels, images.ink.data() + kept * pixels);
    images.labels[kept++] = images.labels[i];
  }
  images.ink.resize(kept * pixels);
  images.labels.resize(kept);
}

Images read_images(const TrainOptions& options) {
  Images images;
  LabeledImages& training = images.training;
  if (!options.images.empty()) {
    training = read_labeled_images(options);
    // The split comes first. So the validation images do not depend on --per-class.
    images.validation = split_validation(training, options.validation, options.training.seed);
    if (options.per_class > 0) keep_first(training, options.per_class);
  }
  const std::string& other = options.training.other;
  if (!options.frames.empty()) {
    name_classes(training);
    read_frames(options.frames, training.names, [&](const TrainingFrame& frame) {
      for (const LabeledBox& box : frame.boxes) {
        if (training.names[box.label] == other)
          throw InputError(
              fmt::format("it has the character {}, which --other names", printable(other)));
      }
      add_training_frame(training, frame, other);
    });
  }
  if (options.styles > 0.0 &&
      take(add_digit_styles(training, options.styles, options.training.seed), "--styles") == 0) {
    throw InputError("--styles: there are no plain images of the classes 1 and 7");
  }
  if (options.drawn > 0) add_drawn_digits(training, options.drawn, options.training.seed);
  if (options.scenes > 0) {
    const std::uint64_t seed = options.training.seed;
    // Frames without digits are learned only: the choice would drop digits that are faint or odd.
    constexpr int kOthers = 4;  // one for so many lines
    const auto frames =
        make_training_frames(training, options.scenes, options.scenes / kOthers, seed);
    if (options.choice.empty()) {
      // So many others.
      constexpr int kShare = 3;
      const int count = std::max(1, options.scenes / kShare);
      images.choice = make_training_frames(training, count, 0, seed + 1);
    }
    for (const TrainingFrame& frame : frames) add_training_frame(training, frame, other);
  }
  return images;
}

NeocognitronTraining training_of(const TrainOptions& options) {
  NeocognitronTraining training = options.training;
  for (std::size_t i = 0; i < training.features.size(); ++i) {
    training.features[i].images = options.feature_images;
    training.features[i].kill_losers = options.kill_losers;
    if (!options.planes.empty()) training.features[i].planes = options.planes[i];
    if (!options.learning_thresholds.empty())
      training.features[i].threshold = options.learning_thresholds[i];
  }
  for (std::size_t i = 0; i < options.thresholds.size(); ++i)
    training.parameters.stages[i].threshold = options.thresholds[i];
  training.parameters.interpolate = options.read_out == "interpolate";
  training.normalization.deslant = !options.keep_slant;
  // The confidence comes from images that are not learned, if there are any.
  if (options.validation > 0.0 || options.scenes > 0 || !options.choice.empty())
    training.calibration_copies = 0;
  return training;
}

struct Validation {
  std::size_t right = 0;
  std::vector<std::size_t> class_images;  // of each class of the network
  std::vector<std::size_t> class_right;
};

Validation count_right(const TrainedNeocognitron& network,
                       const std::vector<CharacterScores>& scores,
                       const std::vector<int>& classes) {
  Validation counted;
  counted.class_images.resize(network.names.size());
  counted.class_right.resize(network.names.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (classes[i] == kNoClass) continue;
    const auto own = static_cast<std::size_t>(classes[i]);
    ++counted.class_images[own];
    const bool other = own >= network.characters();
    if (other ? scores[i].lead() >= 0.0f : scores[i].best != classes[i]) continue;
    ++counted.class_right[own];
    ++counted.right;
  }
  return counted;
}

void print_report(const TrainOptions& options, const Images& images,
                  const TrainedNeocognitron& network, const std::optional<Validation>& validation,
                  const std::optional<ChoiceFit>& choice, double seconds, std::size_t bytes) {
  const std::size_t validated = images.validation.count();
  const double accuracy =
      validation ? static_cast<double>(validation->right) / static_cast<double>(validated) : 0.0;
  if (options.json) {
    nlohmann::ordered_json object;
    object["model"] = options.out;
    object["classes"] = network.names;
    object["images"] = images.training.count();
    object["validation_images"] = validated;
    object["planes"] = {network.planes[0], network.planes[1], network.planes[2]};
    object["references"] = network.planes[3];
    object["seconds"] = seconds;
    object["accuracy"] = validation ? nlohmann::ordered_json(accuracy) : nullptr;
    if (validation) {
      nlohmann::ordered_json of_classes = nlohmann::ordered_json::object();
      for (std::size_t i = 0; i < network.names.size(); ++i) {
        if (validation->class_images[i] == 0) continue;
        of_classes[network.names[i]] = static_cast<double>(validation->class_right[i]) /
                                       static_cast<double>(validation->class_images[i]);
      }
      object["class_accuracy"] = of_classes;
    }
    object["confidence"] = {{"offset", network.calibration.offset},
                            {"per_margin", network.calibration.per_margin},
                            {"per_similarity", network.calibration.per_similarity}};
    if (choice) {
      object["choice"] = {{"characters", choice->characters},
                          {"others", choice->others},
                          {"frames", choice->frames},
                          {"frames_correct", choice->strings}};
    }
    object["bytes"] = bytes;
    print_json(object);
    return;
  }
  fmt::print("learned {} of {} in {:.1f} s\n", counted(images.training.count(), "image"),
             counted(network.names.size(), "class", "classes"), seconds);
  fmt::print("planes {}, {} and {}, {}\n", network.planes[0], network.planes[1], network.planes[2],
             counted(network.planes[3], "reference"));
  if (validation) {
    fmt::print("accuracy {:.2f} % ({} of {} validation images)\n", 100.0 * accuracy,
               validation->right, validated);
  }
  if (choice) {
    fmt::print("choice fitted to {} and {} other pieces of ink: {} of {} frames right\n",
               counted(choice->characters, "character"), choice->others, choice->strings,
               choice->frames);
  }
  fmt::print("{}: {}\n", printable(options.out), bytes_text(bytes));
}

/// The frames to which the choice is fitted, read before the training begins.
struct ChoiceFrames {
  std::vector<TrainingFrame> frames;
  LabeledImages classes;  // no images, but the names of the labels and each label once
};

/// Those of --choice, or without it `made`, whose labels are those of `learned`. Throws InputError
/// if a character is neither learned nor known before.
ChoiceFrames choice_frames(const std::string& path, std::vector<TrainingFrame> made,
                           const LabeledImages& learned,
                           const std::optional<TrainedNeocognitron>& from) {
  ChoiceFrames choice{std::move(made), {0, 0, {}, {}, {}}};
  LabeledImages known{0, 0, {}, learned.labels, learned.names};
  name_classes(known);
  std::vector<std::string>& names = choice.classes.names;
  if (path.empty())
    names = known.names;
  else
    read_frames(path, names,
                [&](TrainingFrame frame) { choice.frames.push_back(std::move(frame)); });
  if (from) known.names.insert(known.names.end(), from->names.begin(), from->names.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(known.names.begin(), known.names.end(), names[i]) == known.names.end())
      throw InputError(fmt::format("--choice: the model will have no class \"{}\"", names[i]));
    choice.classes.labels.push_back(static_cast<std::uint16_t>(i));
  }
  return choice;
}

Expected<ChoiceFit> fit(TrainedNeocognitron& network, ChoiceFrames& choice, int threads,
                        TrainingWatch& watch) {
  const std::vector<int> classes = classes_of(network, choice.classes);
  std::vector<LabeledFrame> frames;
  for (TrainingFrame& frame : choice.frames) {
    for (LabeledBox& box : frame.boxes) box.label = static_cast<std::uint16_t>(classes[box.label]);
    frames.push_back({frame.image.view(0, 0), frame.boxes});
  }
  return fit_choice(network, frames, threads, std::ref(watch));
}

void check(const TrainOptions& options) {
  // Frames may be learned alone.
  TrainingFiles files = options;
  if (!options.frames.empty() && files.images.empty() && files.labels.empty())
    files.images = files.labels = options.frames;
  check_training_files(files);
  check_distinct_outputs({{"-o", options.out}, {"--checkpoint", options.checkpoint}});
}

void run_train(const TrainOptions& options) {
  check(options);
  Images images = read_images(options);
  NeocognitronTraining training = training_of(options);
  std::optional<TrainedNeocognitron> from;
  if (!options.from.empty()) {
    from = take(read_neocognitron(options.from.c_str()), "--from");
    note_input(options.from);
  }
  ChoiceFrames of_choice =
      choice_frames(options.choice, std::move(images.choice), images.training, from);
  TrainingCheckpoint state;
  if (options.resume) {
    state = take(read_checkpoint(options.checkpoint.c_str()), "--checkpoint");
    training.resume = &state;
  }
  require_writable(options.out);
  json_sink();  // a bad target is an error before the learning
  if (!options.checkpoint.empty()) require_writable(options.checkpoint);

  TrainingWatch watch;
  training.progress = std::ref(watch);
  std::exception_ptr write_error;  // the library takes no exceptions
  if (!options.checkpoint.empty()) {
    training.checkpoint = [&](const TrainingCheckpoint& now) {
      try {
        write_file(options.checkpoint, encode_checkpoint(now));
      } catch (...) {
        write_error = std::current_exception();
      }
      return write_error == nullptr;
    };
  }
  const auto stopped = [&] {
    watch.end();
    tell(options.checkpoint.empty() ? std::string("ocellus: stopped; no model was written\n")
                                    : fmt::format("ocellus: stopped; --resume goes on from {}\n",
                                                  printable(options.checkpoint)));
  };
  Expected<TrainedNeocognitron> trained =
      from ? extend_neocognitron(*from, images.training, training)
           : train_neocognitron(images.training, training);
  if (!trained && write_error) std::rethrow_exception(write_error);
  if (!trained && stop_signal() != 0) return stopped();  // main ends by the signal
  TrainedNeocognitron network = take(std::move(trained), "train");
  const double seconds = watch.seconds();

  std::optional<Validation> validation;
  std::vector<CharacterScores> scores;  // of what was not learned
  std::vector<int> classes;
  if (images.validation.count() > 0) {
    Expected<std::vector<CharacterScores>> recognized =
        recognize(network, images.validation, training.threads, std::ref(watch));
    if (!recognized && stop_signal() != 0) return stopped();
    scores = take(std::move(recognized));
    classes = classes_of(network, images.validation);
    validation = count_right(network, scores, classes);
  }
  std::optional<ChoiceFit> choice;
  if (!of_choice.frames.empty()) {
    Expected<ChoiceFit> fitted = fit(network, of_choice, options.training.threads, watch);
    if (!fitted && stop_signal() != 0) return stopped();
    choice = take(std::move(fitted), "--choice");
    scores.insert(scores.end(), choice->scores.begin(), choice->scores.end());
    classes.insert(classes.end(), choice->classes.begin(), choice->classes.end());
  }
  // More images of few classes tell little of the others.
  if (!from && !scores.empty())
    network.calibration = take(fit_confidence(scores, classes), "confidence");
  watch.end();
  const std::string note = !options.note.empty() ? options.note
                                                 : fmt::format("{} images of {} classes, seed {}",
                                                               images.training.count(),
                                                               network.names.size(), training.seed);
  const std::vector<std::uint8_t> bytes = take(encode_neocognitron(network, note), options.out);
  write_file(options.out, bytes);
  // The checkpoint has served its purpose.
  if (!options.checkpoint.empty() && !same_file(options.checkpoint, options.out))
    remove_file(options.checkpoint);
  print_report(options, images, network, validation, choice, seconds, bytes.size());
}

void add_input_options(CLI::App& command, TrainOptions& options) {
  add_training_inputs(command, options);
  command.add_option(
      "--frames", options.frames,
      "Frames whose characters are learned, beside --images or alone: a text file with a frame on "
      "each line, as an image file, the characters in it, and their boxes as in --fields of "
      "ocellus "
      "digits");
  command.add_option("--choice", options.choice,
                     "Frames, as in --frames, to which the choice among pieces of ink is fitted; "
                     "best not those of --frames");
  command.add_option(
      "--other", options.training.other,
      "Class of the images that are no characters; with --frames or --scenes, pieces "
      "of ink that are none belong to it");
  add_value(command, "--per-class", options.per_class,
            "Learn the first N images of each class of --images only; 0: all")
      ->check(CLI::Range(0, 1'000'000'000));
  add_value(command, "--styles", options.styles,
            "Ones with an upstroke or a foot and sevens with a bar, drawn from the images of "
            "these classes: so many for each of them, 0 to 4")
      ->check(finite_range(0.0, 4.0));
  add_value(command, "--drawn", options.drawn,
            "Digits drawn from strokes, most in styles that are common in some countries only: so "
            "many in all, 0 to 1000000")
      ->check(CLI::Range(0, 1'000'000));
  add_value(command, "--scenes", options.scenes,
            "Frames made of the digits, 0 to 100000: what is cut from them is learned, and the "
            "choice among pieces of ink is fitted to a third as many others")
      ->check(CLI::Range(0, 100'000));
  command.add_option(
      "--from", options.from,
      "Model that learns the images in addition, and classes with new names: a file, or "
      "a model of the library");
}

void add_learning_options(CLI::App& command, TrainOptions& options) {
  NeocognitronTraining& training = options.training;
  command
      .add_option("--planes", options.planes,
                  fmt::format("A,B: most planes of stages 2 and 3; default: {},{}",
                              training.features[0].planes, training.features[1].planes))
      ->delimiter(',')
      ->expected(2);
  add_value(command, "--feature-images", options.feature_images,
            "Images from which stages 2 and 3 learn, the first ones; 0: all");
  command
      .add_option("--learning-thresholds", options.learning_thresholds,
                  fmt::format("A,B: thresholds of stages 2 and 3 while they learn; default: {},{}",
                              training.features[0].threshold, training.features[1].threshold))
      ->delimiter(',')
      ->expected(2);
  command
      .add_option(
          "--thresholds", options.thresholds,
          fmt::format("A,B,C: thresholds of stages 1 to 3 at recognition; default: {},{},{}",
                      training.parameters.stages[0].threshold,
                      training.parameters.stages[1].threshold,
                      training.parameters.stages[2].threshold))
      ->delimiter(',')
      ->expected(3);
  add_value(command, "--extent", training.normalization.extent,
            "Larger side of a character, 16 to 64 pixels of 65");
  command.add_flag("--kill-losers", options.kill_losers,
                   "While stages 2 and 3 learn, a winner deletes the planes that answer with it");
  add_value(command, "--read-out", options.read_out,
            "Similarity of a class: to vectors between two of its references, or to the "
            "nearest reference")
      ->check(CLI::IsMember({"interpolate", "largest"}));
  add_value(command, "--reference-side", training.parameters.reference_side,
            "Places along x and y at which a character is compared with the references: 1, its "
            "center of mass, or 5, which takes 25 times as long")
      ->check(CLI::IsMember({1, 5}));
  command.add_flag("--keep-slant", options.keep_slant, "Do not remove the slant of characters");
  add_value(command, "--margin", training.margin,
            "An image that wins by less becomes a reference, -0.5 to 0.5; with --from the "
            "default is 0");
  add_value(command, "--references", training.references,
            "Most references, 1 to 8192; 0: 25 for each class of the images, beside those of "
            "--from");
  add_value(command, "--passes", training.passes, "Most passes of stage 4 over the images");
  add_value(command, "--copies", training.copies,
            "Distorted copies of each image that stage 4 learns, too, 0 to 100");
  add_value(command, "--tuning-passes", training.tuning.passes,
            "Passes that tune the references, each with other distortions, 0 to 1000; -1: so "
            "many that 60,000 images are shown, 6 to 60; with --from only new references move");
  add_value(command, "--tuning-rate", training.tuning.rate, "Largest step of a reference, 0 to 1");
  add_value(command, "--tuning-sharpness", training.tuning.sharpness,
            "By how much a difference of similarities counts, 1 to 1000");
  add_value(command, "--rotation", training.rotation,
            "Most rotation of a copy, and of an image while tuning, 0 to 45 degrees");
  add_value(command, "--scale", training.scale,
            "Logarithm of the largest factor of these along x and y, 0 to 1");
  add_value(command, "--shear", training.shear, "Most shear of these, 0 to 1");
  add_value(command, "--bend", training.bend,
            "Most displacement of the points of a grid that bends these, 0 to 6 pixels of 65");
  add_value(command, "--stroke", training.stroke,
            "By how much strokes of these become wider or narrower at each side, 0 to 3 "
            "pixels of 65");
  add_value(command, "--seed", training.seed, "Seed of the split, the copies and the order");
  add_training_threads(command, training.threads);
}

}  // namespace

void add_train_digits_command(CLI::App& train, int& exit_code) {
  CLI::App* const command =
      train.add_subcommand("digits", "Learns characters from labeled images (neocognitron)");
  const auto options = std::make_shared<TrainOptions>();
  add_input_options(*command, *options);
  add_learning_options(*command, *options);
  command->add_option("--checkpoint", options->checkpoint,
                      "File for the state of the training, for --resume; removed at the end");
  add_value(*command, "--checkpoint-images", options->training.checkpoint_images,
            "Images of stage 4 after which the state is written")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  command->add_flag("--resume", options->resume, "Go on from --checkpoint, to the same model");
  add_training_outputs(*command, *options);
  command->footer(
      "Ctrl-C stops. With --checkpoint, --resume with the same options goes on from there.\n"
      "docs/neocognitron_method.md tells what is learned.");
  command->callback([command, options, &exit_code] {
    check_options(*command,
                  {{!options->from.empty(),
                    {"--planes", "--feature-images", "--learning-thresholds", "--thresholds",
                     "--kill-losers", "--read-out", "--reference-side", "--extent", "--keep-slant"},
                    "the model of --from has learned stages 1 to 3"},
                   {!options->frames.empty() && options->images.empty(),
                    {"--class-names", "--ink", "--validation", "--per-class"},
                    "there are no --images"},
                   {options->checkpoint.empty(),
                    {"--checkpoint-images", "--resume"},
                    "--checkpoint names no file"}});
    // New classes must not win the images of the old ones, which are not seen again.
    if (!options->from.empty() && command->count("--margin") == 0) options->training.margin = 0.0f;
    run_train(*options);
    exit_code = kDone;
  });
}

}  // namespace ocellus::app
