// ocellus cortex and ocellus network: classify frames, or the tiles of frames, or the images of an
// IDX file.
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
#include "ocellus/network.h"

namespace ocellus::app {
namespace {

/// Values of the command line.
struct PatchCommand : FrameCommand {
  using FrameCommand::FrameCommand;

  std::string images;
  std::string labels;
  int batch = 128;
  std::string save_model;  ///< path; empty: none
};

/// Runs the command, and saves what the frames have taught.
class PatchJob : public FrameJob {
 public:
  PatchJob(const PatchCommand& command, const char* model)
      : FrameJob(command, {}), command_(command) {
    if (!command.save_model.empty()) require_writable_model(command.save_model, model);
  }

 private:
  void finish() override {
    if (!command_.save_model.empty()) frame_run().save_model(command_.save_model);
  }

  const PatchCommand& command_;
};

/// Classifies the images of an IDX file in batches of tiles. Returns the exit code. Throws
/// InputError.
template <typename Operator, typename Config>
int classify_images(const PatchCommand& command) {
  OperatorConfig config = command.options.config();
  Config& patches = *config.get_if<Config>();
  const std::string model = patches.model.c_str();
  if (model.empty())
    throw InputError(
        "--model is missing: --images needs a model with a read-out, which ocellus train learns");
  const ClassNames names(take(Operator::read_model_info(model.c_str()), "--model"));
  if (names.classes() == 0)
    throw InputError("--model: the network has no read-out; ocellus train network learns one");
  InkColor ink = InkColor::kAuto;
  if constexpr (requires { patches.ink; }) ink = ink_color(patches.ink);
  const FileImages read = read_file_images(command.images, command.labels, ink);
  const std::vector<int> classes = read.classes(names, model);
  if (!command.save_model.empty()) require_writable_model(command.save_model, model.c_str());
  const int batch = set_batches(patches, read.images, command.batch);
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

template <typename Operator, typename Config>
CLI::App& add_patch_command(CLI::App& program, int& exit_code, const char* name, const char* help,
                            const char* footer) {
  CLI::App* const command = program.add_subcommand(name, help);
  const auto o = std::make_shared<PatchCommand>(name);
  add_input_options(*command, o->frames, 1);
  command->get_option("FRAMES")->required(false);
  command->add_option("--images", o->images,
                      "In place of FRAMES: IDX file of images (idx3 of unsigned bytes), plain or "
                      "gzip");
  command->add_option("--labels", o->labels,
                      "IDX file of the labels of --images (idx1 of unsigned bytes), plain or gzip");
  add_value(*command, "--batch", o->batch, "Images of a frame, with --images")
      ->check(CLI::Range(1, kMaxPatches));
  command->add_option("--save-model", o->save_model,
                      "Model file (*.ocellus) to write at the end, with --learn");
  add_job_options(*command, *o);
  command->footer(footer);
  command->callback([command, o, &exit_code] {
    if (!command->get_subcommands().empty()) return;  // plan
    const bool with_images = !o->images.empty();
    const OperatorConfig given = o->options.config();
    const Config& config = *given.get_if<Config>();
    check_options(
        *command,
        {{with_images,
          {"--limit", kSourceTimeout, "--layout", "--tile-width", "--tile-height"},
          "each image of --images is one patch"},
         {with_images,
          {"--devices", "--json-lines", "--metrics"},
          "with --images, one device computes, and there is one report"},
         {!with_images, {"--labels", "--batch"}, "they are those of --images"},
         {!config.learn, {"--save-model"}, "without --learn, the model does not change"}});
    if (with_images == !o->frames.inputs.empty())
      throw InputError(with_images
                           ? "give either FRAMES or --images, not both"
                           : "FRAMES is missing; give frames, or an IDX file with --images");
    exit_code = with_images ? classify_images<Operator, Config>(*o)
                            : PatchJob(*o, config.model.c_str()).run();
  });
  return *command;
}

}  // namespace

void add_cortex_command(CLI::App& program, int& exit_code) {
  CLI::App& command = add_patch_command<Cortex, CortexConfig>(
      program, exit_code, "cortex", "Classifies frames or images (cortical classifier)",
      "Patches of another size than the model's are stretched to it. With --images, ink=auto is\n"
      "decided once for all images. docs/cortex_method.md tells how images are classified,\n"
      "and what is learned. The images of a batch are classified before the operator learns them.\n"
      "A file with the name plan is written as ./plan.");
  add_executed_command(
      command, "plan",
      "Places a cortical network on a CPU and GPUs, and predicts the time of a step", {"plan"});
}

void add_network_command(CLI::App& program, int& exit_code) {
  add_patch_command<Network, NetworkConfig>(
      program, exit_code, "network",
      "Shows frames or images to a cortical network, which learns or classifies them",
      "Each patch is a step of the network. Patches of another size than its images are stretched\n"
      "to it. ocellus train network learns a network and its read-out from labeled images;\n"
      "docs/cortical_network.md tells how.");
}

}  // namespace ocellus::app
