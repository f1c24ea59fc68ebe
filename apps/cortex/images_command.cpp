// ocellus cortex --images: classifies the images of an IDX file in batches of tiles.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "apps/cortex/cortex_command.h"
#include "apps/io/image_batches.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

/// Rows: right classes. Columns: answers.
std::vector<std::vector<int>> confusions(const RecognitionResult& result, int classes) {
  const auto size = static_cast<std::size_t>(classes);
  std::vector<std::vector<int>> matrix(size, std::vector<int>(size));
  for (std::size_t i = 0; i < result.count(); ++i) {
    ++matrix[static_cast<std::size_t>(result.classes[i])]
            [static_cast<std::size_t>(result.answers[i])];
  }
  return matrix;
}

}  // namespace

int classify_images(const CortexCommand& command) {
  OperatorConfig config = command.options.config();
  CortexConfig& cortex = *config.get_if<CortexConfig>();
  const std::string model = cortex.model.c_str();
  const ClassNames names(take(Cortex::read_model_info(model.c_str()), "--model"));
  const FileImages read = read_file_images(command.images, command.labels,
                                           cortex.ink == CortexInk::kLight  ? InkColor::kBright
                                           : cortex.ink == CortexInk::kDark ? InkColor::kDark
                                                                            : InkColor::kAuto);
  const std::vector<int> classes = read.classes(names, model);
  if (!command.save_model.empty()) require_writable_model(command.save_model, model.c_str());
  const int batch = set_batches(cortex, read.images, command.batch);
  OperatorRun run(engine_config(command.common), config);
  const RecognitionResult result = recognize_batches(run, read.images, batch, classes);
  if (!command.save_model.empty()) run.op().save_model(command.save_model);
  if (result.count() == 0) return kDone;

  if (command.common.json) {
    nlohmann::ordered_json json =
        batches_json(read, run, result, names, batch, {{"model", model}}, {});
    if (result.labeled()) {
      json["accuracy"] = result.accuracy();
      json["confusion"] = confusions(result, names.classes());
    }
    json["predictions"] = result.answers;
    json["confidences"] = result.confidences;
    print_json(json);
    return kDone;
  }
  print_batches(read, run, result);
  fmt::print("{:.4f} ms per image, in batches of {}: median {:.3f} ms\n", result.ms_per_image(),
             batch, percentile(result.batch_ms, 50.0));
  if (result.labeled()) {
    fmt::print("accuracy {:.2f} % ({} of {})\n", 100.0 * result.accuracy(), result.right_count(),
               counted(static_cast<std::int64_t>(result.count()), "image"));
  }
  return kDone;
}

}  // namespace ocellus::app
