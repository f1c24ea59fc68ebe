// ocellus cortex: classifies frames, or the tiles of frames, or the images of an IDX file.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "apps/common/device_list.h"
#include "apps/io/frame_job.h"
#include "apps/io/image_batches.h"
#include "apps/io/output_file.h"
#include "apps/program.h"
#include "ocellus/cortex.h"

namespace ocellus::app {
namespace {

/// Values of the command line.
struct CortexCommand : FrameCommand {
  CortexCommand() : FrameCommand("cortex") {}

  std::string images;
  std::string labels;
  int batch = 128;
  std::string save_model;  ///< path; empty: none
};

/// Runs the command, and saves what the frames have taught.
class CortexJob : public FrameJob {
 public:
  explicit CortexJob(const CortexCommand& command) : FrameJob(command, {}), command_(command) {
    if (!command.save_model.empty())
      require_writable_model(command.save_model,
                             command.options.config().get_if<CortexConfig>()->model.c_str());
  }

 private:
  void finish() override {
    if (!command_.save_model.empty()) frame_run().save_model(command_.save_model);
  }

  const CortexCommand& command_;
};

/// Classifies the images of an IDX file in batches of tiles. Returns the exit code. Throws
/// InputError.
int classify_images(const CortexCommand& command) {
  OperatorConfig config = command.options.config();
  CortexConfig& cortex = *config.get_if<CortexConfig>();
  const std::string model = cortex.model.c_str();
  const ClassNames names(take(Cortex::read_model_info(model.c_str()), "--model"));
  const FileImages read = read_file_images(command.images, command.labels, ink_color(cortex.ink));
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
      json["confusion"] = result.confusions(names.classes(), names.classes());
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
               counted(result.count(), "image"));
  }
  return kDone;
}

}  // namespace

void add_cortex_command(CLI::App& program, int& exit_code) {
  CLI::App* const command =
      program.add_subcommand("cortex", "Classifies frames or images (cortical classifier)");
  const auto o = std::make_shared<CortexCommand>();
  add_input_options(*command, o->frames, 1);
  command->get_option("FRAMES")->required(false);
  command->add_option("--images", o->images,
                      "In place of FRAMES: IDX file of images (idx3 of unsigned bytes), plain or "
                      "gzip");
  command->add_option("--labels", o->labels,
                      "IDX file of the labels of --images (idx1 of unsigned bytes), plain or gzip");
  add_value(*command, "--batch", o->batch, "Images of a frame, with --images")
      ->check(CLI::Range(1, kMaxCortexPatches));
  command->add_option("--save-model", o->save_model,
                      "Model file (*.ocellus) to write at the end, with --learn");
  add_job_options(*command, *o);
  command->footer(
      "Patches of another size than the model's are stretched to it. With --images, ink=auto is\n"
      "decided once for all images. docs/cortex_method.md tells how images are classified,\n"
      "and what is learned. The images of a batch are classified before the operator learns them.\n"
      "A file with the name plan is written as ./plan.");
  add_executed_command(
      *command, "plan",
      "Places a cortical network on a CPU and GPUs, and predicts the time of a step", {"plan"});
  command->callback([command, o, &exit_code] {
    if (!command->get_subcommands().empty()) return;  // plan
    const bool with_images = !o->images.empty();
    const bool learns = o->options.config().get_if<CortexConfig>()->learn;
    check_options(*command,
                  {{with_images,
                    {"--limit", kSourceTimeout, "--layout", "--tile-width", "--tile-height"},
                    "each image of --images is one patch"},
                   {with_images,
                    {"--devices", "--json-lines"},
                    "with --images, one device computes, and there is one report"},
                   {!with_images, {"--labels", "--batch"}, "they are those of --images"},
                   {!learns, {"--save-model"}, "without --learn, the model does not change"}});
    if (with_images == !o->frames.inputs.empty())
      throw InputError(with_images
                           ? "give either FRAMES or --images, not both"
                           : "FRAMES is missing; give frames, or an IDX file with --images");
    exit_code = with_images ? classify_images(*o) : CortexJob(*o).run();
  });
}

}  // namespace ocellus::app
