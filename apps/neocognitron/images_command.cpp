// ocellus digits --images: recognizes images of one character each, in batches of tiles.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "apps/common/interrupt.h"
#include "apps/common/operator_run.h"
#include "apps/common/printable.h"
#include "apps/io/idx_file.h"
#include "apps/io/image_io.h"
#include "apps/neocognitron/digits_command.h"
#include "apps/neocognitron/recognition_report.h"

namespace ocellus::app {
namespace {

constexpr int kLeastSide = 8;
constexpr int kLargestSide = 1024;

struct Times {
  std::vector<double> batch_ms;
  double total_ms = 0.0;
  int batch = 0;  // images
};

IdxImages read_images(const DigitsCommand& command, CharacterInk ink,
                      std::vector<std::uint8_t>& labels) {
  IdxImages images;
  if (command.labels.empty()) {
    images = read_idx_images(command.images);
  } else {
    LabeledIdx read = read_labeled_idx(command.images, command.labels);
    images = std::move(read.images);
    labels = std::move(read.labels);
  }
  if (images.width < kLeastSide || images.height < kLeastSide || images.width > kLargestSide ||
      images.height > kLargestSide) {
    throw InputError(fmt::format("{}: the images are {}x{}; they must be {}x{} to {}x{}",
                                 command.images, images.width, images.height, kLeastSide,
                                 kLeastSide, kLargestSide, kLargestSide));
  }
  if (images.count == 0) throw InputError(fmt::format("{}: contains no image", command.images));
  // One decision for all images is safer than one for each.
  make_ink_bright(images, ink == CharacterInk::kDark    ? InkColor::kDark
                          : ink == CharacterInk::kLight ? InkColor::kBright
                                                        : InkColor::kAuto);
  return images;
}

std::vector<int> classes_of(const DigitsCommand& command, const std::vector<std::uint8_t>& labels,
                            const CharacterNames& names, const std::string& model) {
  std::array<int, 256> class_of{};
  for (std::size_t label = 0; label < class_of.size(); ++label)
    class_of[label] = names.class_of(static_cast<int>(label));
  std::vector<int> classes;
  classes.reserve(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    classes.push_back(class_of[labels[i]]);
    if (classes.back() >= 0) continue;
    throw InputError(fmt::format("{}: label {} of image {} has no class; the model {} has {}",
                                 command.labels, labels[i], i, model,
                                 counted(names.classes(), "class", "classes")));
  }
  return classes;
}

/// Images of a file lie one below the other, so a batch is a frame of one column of tiles.
RecognitionResult recognize(OperatorRun& run, const IdxImages& images, Times& times) {
  using Clock = std::chrono::steady_clock;
  const ImageSize size{images.width, images.height * times.batch};
  const std::size_t pixels =
      static_cast<std::size_t>(images.width) * static_cast<std::size_t>(images.height);
  const auto batch = static_cast<std::size_t>(times.batch);
  GrayImage frame(size, PixelFormat::kGray8);
  RecognitionResult result;
  const StopsEarly stops_early;
  Progress progress("images", static_cast<std::int64_t>(images.count));
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < images.count && stop_signal() == 0; begin += batch) {
    const std::size_t count = std::min(batch, images.count - begin);
    // Tiles behind the last image have no ink.
    std::fill(frame.pixels.begin(), frame.pixels.end(), std::uint8_t{0});
    std::memcpy(frame.pixels.data(), images.pixels.data() + begin * pixels, count * pixels);
    const Clock::time_point start = Clock::now();
    run.op().step(frame.view(number++, 0));
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    times.batch_ms.push_back(ms);
    times.total_ms += ms;
    const auto& record = run.op().record<NeocognitronRecord>();
    for (std::size_t i = 0; i < count; ++i) {
      result.answers.push_back(record.label[i]);
      result.confidences.push_back(record.confidence[i]);
    }
    progress.update(static_cast<std::int64_t>(result.count()));
  }
  return result;
}

}  // namespace

int recognize_images(const DigitsCommand& command) {
  if (!command.mistakes.empty() && file_extension(command.mistakes) != ".png")
    throw InputError(fmt::format("--mistakes is '{}'; it must end in .png", command.mistakes));
  const EngineConfig engine = engine_config(command.common);
  OperatorConfig config = command.options.config();
  NeocognitronConfig& digits = *config.get_if<NeocognitronConfig>();
  const CharacterNames names(digits.model.c_str());
  std::vector<std::uint8_t> labels;
  const IdxImages images = read_images(command, digits.ink, labels);
  const std::vector<int> classes = classes_of(command, labels, names, digits.model.c_str());

  Times times;
  times.batch = static_cast<int>(std::min<std::size_t>(
      images.count,
      static_cast<std::size_t>(std::min(digits.max_characters, kMaxImageSide / images.height))));
  digits.layout = CharacterLayout::kTiles;
  digits.fields = {};
  digits.tile_width = images.width;
  digits.tile_height = images.height;
  digits.ink = CharacterInk::kLight;
  config.set_input({images.width, images.height * times.batch}, PixelFormat::kGray8);
  OperatorRun run(engine, config);
  RecognitionResult result = recognize(run, images, times);
  if (result.count() < images.count)
    tell(fmt::format("ocellus: interrupted after {} of {} images\n", result.count(), images.count));
  if (result.count() == 0) return kDone;
  if (!classes.empty())
    result.classes.assign(classes.begin(),
                          classes.begin() + static_cast<std::ptrdiff_t>(result.count()));
  if (!command.mistakes.empty()) write_mistakes(command.mistakes, images, result, names);

  const double ms_per_image = times.total_ms / static_cast<double>(result.count());
  if (command.common.json) {
    nlohmann::ordered_json json;
    json["images_file"] = command.images;
    json["images"] = result.count();
    json["size"] = {images.width, images.height};
    add_engine_json(json, run.engine());
    json["config"] = config_json(config);
    json["class_names"] = nlohmann::ordered_json::array();
    for (int label = 0; label < names.classes(); ++label)
      json["class_names"].push_back(names.name(label));
    json["memory_bytes"] = run.footprint().host;
    json["batch"] = times.batch;
    json["batch_median_ms"] = percentile(times.batch_ms, 50.0);
    json["ms_per_image"] = ms_per_image;
    json["accuracy"] = nullptr;
    if (result.labeled()) add_accuracy_json(json, result, names);
    json["predictions"] = result.answers;
    json["confidences"] = result.confidences;
    if (!command.mistakes.empty()) json["mistakes"] = command.mistakes;
    print_json(json);
    return kDone;
  }
  fmt::print("{}: {} of {}x{}, {}, {} with {}\n", printable(command.images),
             counted(static_cast<std::int64_t>(result.count()), "image"), images.width,
             images.height, printable(run.op().info().summary), backend_name(run.engine().backend),
             cpu_text(run.engine()));
  fmt::print("{:.3f} ms per image, in batches of {}: median {:.2f} ms\n", ms_per_image, times.batch,
             percentile(times.batch_ms, 50.0));
  if (result.labeled()) print_accuracy(result, names);
  if (!command.mistakes.empty()) fmt::print("written: {}\n", printable(command.mistakes));
  return kDone;
}

}  // namespace ocellus::app
