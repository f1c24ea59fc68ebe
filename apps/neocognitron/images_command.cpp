// ocellus digits --images: recognizes images of one character each, in batches of tiles.
#include <fmt/format.h>

#include <vector>

#include "apps/common/printable.h"
#include "apps/io/operator_run.h"
#include "apps/neocognitron/digits_command.h"
#include "apps/neocognitron/image_batches.h"

namespace ocellus::app {

int recognize_images(const DigitsCommand& command) {
  if (!command.mistakes.empty() && file_extension(command.mistakes) != ".png")
    throw InputError(fmt::format("--mistakes is '{}'; it must end in .png", command.mistakes));
  const EngineConfig engine = engine_config(command.common);
  OperatorConfig config = command.options.config();
  const NeocognitronConfig& digits = *config.get_if<NeocognitronConfig>();
  const CharacterNames names(digits.model.c_str());
  const CharacterImages read = read_character_images(command.images, command.labels, digits.ink);
  const IdxImages& images = read.images;
  const std::vector<int> classes = classes_of(read, names, digits.model.c_str());

  const int batch = set_batches(config, images);
  BatchTimes times;
  OperatorRun run(engine, config);
  RecognitionResult result = recognize_batches(run, images, batch, times);
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
    json["batch"] = batch;
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
  fmt::print("{:.3f} ms per image, in batches of {}: median {:.2f} ms\n", ms_per_image, batch,
             percentile(times.batch_ms, 50.0));
  if (result.labeled()) print_accuracy(result, names);
  if (!command.mistakes.empty()) fmt::print("written: {}\n", printable(command.mistakes));
  return kDone;
}

}  // namespace ocellus::app
