// ocellus digits --images: recognizes images of one character each, in batches of tiles.
#include <fmt/format.h>

#include <vector>

#include "apps/common/printable.h"
#include "apps/neocognitron/digits_command.h"
#include "apps/neocognitron/recognition_report.h"

namespace ocellus::app {

int recognize_images(const DigitsCommand& command) {
  if (!command.mistakes.empty() && file_extension(command.mistakes) != ".png")
    throw InputError(fmt::format("--mistakes is '{}'; it must end in .png", command.mistakes));
  const EngineConfig engine = engine_config(command.common);
  OperatorConfig config = command.options.config();
  NeocognitronConfig& digits = *config.get_if<NeocognitronConfig>();
  const CharacterNames names(digits.model.c_str());
  const FileImages read = read_file_images(command.images, command.labels,
                                           digits.ink == CharacterInk::kDark    ? InkColor::kDark
                                           : digits.ink == CharacterInk::kLight ? InkColor::kBright
                                                                                : InkColor::kAuto,
                                           kLeastCharacterSide, kLargestCharacterSide);
  const std::vector<int> classes = read.classes(names, digits.model.c_str());
  digits.fields = {};
  const int batch = set_batches(digits, read.images, digits.max_characters);
  OperatorRun run(engine, config);
  const RecognitionResult result = recognize_batches(run, read.images, batch, classes);
  if (result.count() == 0) return kDone;
  if (!command.mistakes.empty()) write_mistakes(command.mistakes, read.images, result, names);

  if (command.common.json) {
    nlohmann::ordered_json json =
        batches_json(read, run, result, names, batch, {{"config", config_json(config)}},
                     {{"memory_bytes", run.footprint().host}});
    if (result.labeled()) add_accuracy_json(json, result, names);
    json["predictions"] = result.answers;
    json["confidences"] = result.confidences;
    if (!command.mistakes.empty()) json["mistakes"] = command.mistakes;
    print_json(json);
    return kDone;
  }
  print_batches(read, run, result);
  fmt::print("{:.3f} ms per image, in batches of {}: median {:.2f} ms\n", result.ms_per_image(),
             batch, percentile(result.batch_ms, 50.0));
  if (result.labeled()) print_accuracy(result, names);
  if (!command.mistakes.empty()) fmt::print("written: {}\n", printable(command.mistakes));
  return kDone;
}

}  // namespace ocellus::app
