// ocellus cortex: classifies the images of an IDX file in batches of tiles.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/operator_run.h"
#include "apps/common/printable.h"
#include "apps/cortex/commands.h"
#include "apps/io/frame_output.h"
#include "apps/io/idx_file.h"
#include "apps/io/image_io.h"
#include "ocellus/cortex.h"

namespace ocellus::app {
namespace {

struct CortexCommand {
  CommonOptions common;
  std::string images;
  std::string labels;
  std::string model = "digits";
  std::string ink = "auto";
  int batch = 128;
};

/// The classes of a model and the labels that a file has for them.
class CortexNames {
 public:
  explicit CortexNames(const std::string& model)
      : info_(take(Cortex::read_model_info(model.c_str()), "--model")) {
    for (int c = 0; c < classes(); ++c) {
      const std::string text = name(c);
      numbers_ =
          numbers_ && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos;
    }
  }

  const CortexModelInfo& info() const { return info_; }
  int classes() const { return info_.classes; }
  std::string name(int label) const { return info_.names[static_cast<std::size_t>(label)].c_str(); }
  /// The class whose name is the label if all names are numbers, otherwise the class of this
  /// number. -1: there is none.
  int class_of(int label) const {
    if (!numbers_) return label < classes() ? label : -1;
    for (int c = 0; c < classes(); ++c)
      if (std::stoi(name(c)) == label) return c;
    return -1;
  }

 private:
  CortexModelInfo info_;
  bool numbers_ = true;
};

struct Answers {
  std::vector<int> labels;
  std::vector<float> confidences;
  std::vector<double> batch_ms;
  double total_ms = 0.0;
};

IdxImages read_images(const CortexCommand& command, const CortexNames& names,
                      std::vector<int>& classes) {
  IdxImages images;
  if (command.labels.empty()) {
    images = read_idx_images(command.images);
  } else {
    LabeledIdx read = read_labeled_idx(command.images, command.labels);
    images = std::move(read.images);
    for (std::size_t i = 0; i < read.labels.size(); ++i) {
      classes.push_back(names.class_of(read.labels[i]));
      if (classes.back() >= 0) continue;
      throw InputError(fmt::format("{}: label {} of image {} has no class; the model {} has {}",
                                   command.labels, read.labels[i], i, command.model,
                                   counted(names.classes(), "class", "classes")));
    }
  }
  if (images.count == 0) throw InputError(fmt::format("{}: contains no image", command.images));
  // One decision for all images is safer than one for each.
  make_ink_bright(images, command.ink == "bright" ? InkColor::kBright
                          : command.ink == "dark" ? InkColor::kDark
                                                  : InkColor::kAuto);
  return images;
}

/// Images of a file lie one below the other, so a batch is a frame of one column of tiles.
Answers run(Cortex& op, const IdxImages& images, int batch) {
  using Clock = std::chrono::steady_clock;
  const std::size_t pixels =
      static_cast<std::size_t>(images.width) * static_cast<std::size_t>(images.height);
  GrayImage frame({images.width, images.height * batch}, PixelFormat::kGray8);
  const auto record = std::make_unique<CortexRecord>();
  const ResultLayout layout(op.info(), false);
  std::vector<char> memory(layout.bytes());
  OperatorOutput output = layout.output(memory.data(), MemorySpace::kHost);
  output.record = record.get();
  Answers answers;
  const StopsEarly stops_early;
  Progress progress("images", static_cast<std::int64_t>(images.count));
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < images.count && stop_signal() == 0;
       begin += static_cast<std::size_t>(batch)) {
    const std::size_t count = std::min(static_cast<std::size_t>(batch), images.count - begin);
    // Tiles behind the last image have no ink.
    std::fill(frame.pixels.begin(), frame.pixels.end(), std::uint8_t{0});
    std::memcpy(frame.pixels.data(), images.pixels.data() + begin * pixels, count * pixels);
    const Clock::time_point start = Clock::now();
    const Ticket ticket = take(op.submit(frame.view(number++, 0), output), "cortex");
    take(op.wait(ticket, Deadline::never()), "cortex");
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    answers.batch_ms.push_back(ms);
    answers.total_ms += ms;
    for (std::size_t i = 0; i < count; ++i) {
      answers.labels.push_back(record->label[i]);
      answers.confidences.push_back(record->confidence[i]);
    }
    progress.update(static_cast<std::int64_t>(answers.labels.size()));
  }
  return answers;
}

void print(const CortexCommand& command, const EngineInfo& engine, const IdxImages& images,
           const CortexNames& names, const Answers& answers, const std::vector<int>& classes,
           const OperatorInfo& info) {
  const std::size_t count = answers.labels.size();
  const double ms_per_image = answers.total_ms / static_cast<double>(count);
  std::size_t right = 0;
  const auto size = static_cast<std::size_t>(names.classes());
  std::vector<std::vector<int>> confusion(size, std::vector<int>(size));
  for (std::size_t i = 0; i < count && !classes.empty(); ++i) {
    right += answers.labels[i] == classes[i] ? 1 : 0;
    ++confusion[static_cast<std::size_t>(classes[i])][static_cast<std::size_t>(answers.labels[i])];
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(count);
  if (command.common.json) {
    nlohmann::ordered_json json;
    json["images_file"] = command.images;
    json["images"] = count;
    json["size"] = {images.width, images.height};
    add_engine_json(json, engine);
    json["model"] = command.model;
    json["class_names"] = nlohmann::ordered_json::array();
    for (int label = 0; label < names.classes(); ++label)
      json["class_names"].push_back(names.name(label));
    json["batch"] = command.batch;
    json["batch_median_ms"] = percentile(answers.batch_ms, 50.0);
    json["ms_per_image"] = ms_per_image;
    json["accuracy"] = nullptr;
    if (!classes.empty()) {
      json["accuracy"] = accuracy;
      json["confusion"] = confusion;
    }
    json["predictions"] = answers.labels;
    json["confidences"] = answers.confidences;
    print_json(json);
    return;
  }
  fmt::print("{}: {} of {}x{}, {}, {} with {}\n", printable(command.images),
             counted(static_cast<std::int64_t>(count), "image"), images.width, images.height,
             printable(info.summary), backend_name(engine.backend), cpu_text(engine));
  fmt::print("{:.4f} ms per image, in batches of {}: median {:.3f} ms\n", ms_per_image,
             command.batch, percentile(answers.batch_ms, 50.0));
  if (!classes.empty()) {
    fmt::print("accuracy {:.2f} % ({} of {})\n", 100.0 * accuracy, right,
               counted(static_cast<std::int64_t>(count), "image"));
  }
}

void run_cortex(CortexCommand command) {
  if (command.images.empty()) throw InputError("--images must name a file");
  const CortexNames names(command.model);
  std::vector<int> classes;
  const IdxImages images = read_images(command, names, classes);
  command.batch = static_cast<int>(std::min<std::size_t>(
      images.count,
      static_cast<std::size_t>(std::min(command.batch, kMaxImageSide / images.height))));
  CortexConfig config;
  config.size = {images.width, images.height * command.batch};
  if (!config.model.assign(command.model.c_str()))
    throw InputError(fmt::format("--model has more than {} characters", kMaxOptionText));
  config.layout = CortexLayout::kTiles;
  config.tile_width = images.width;
  config.tile_height = images.height;
  config.ink = CortexInk::kLight;

  if (command.common.backend == "auto") command.common.backend = "cpu";
  EngineConfig settings = engine_config(command.common);
  settings.memory =
      take(Cortex::footprint(take(Engine::probe(settings), "cortex"), config), "cortex");
  Engine engine = take(Engine::create(settings), "cortex");
  Cortex op = take(Cortex::create(engine, config), "cortex");
  const Answers answers = run(op, images, command.batch);
  if (answers.labels.size() < images.count) {
    tell(fmt::format("ocellus: interrupted after {} of {} images\n", answers.labels.size(),
                     images.count));
  }
  if (!answers.labels.empty())
    print(command, engine.info(), images, names, answers, classes, op.info());
}

}  // namespace

void add_cortex_command(CLI::App& program, int& exit_code) {
  CLI::App* const command =
      program.add_subcommand("cortex", "Classifies images (cortical classifier)");
  const auto o = std::make_shared<CortexCommand>();
  command->add_option("--images", o->images,
                      "IDX file of the images (idx3 of unsigned bytes), plain or gzip");
  command->add_option("--labels", o->labels,
                      "IDX file of their labels (idx1 of unsigned bytes), plain or gzip");
  command
      ->add_option("--model", o->model, "Model file (*.ocellus), or a model of the library: digits")
      ->capture_default_str();
  command->add_option("--ink", o->ink, "Color of the ink; auto looks at the borders")
      ->check(CLI::IsMember({"auto", "bright", "dark"}))
      ->capture_default_str();
  command->add_option("--batch", o->batch, "Images of a frame")
      ->check(CLI::Range(1, kMaxCortexPatches))
      ->capture_default_str();
  add_common_options(*command, o->common);
  command->footer(
      "Images of another size than the model's are stretched to it. There is a CPU backend only.\n"
      "docs/cortex.md tells how images are classified.");
  command->callback([command, o, &exit_code] {
    check_options(*command, {});
    run_cortex(*o);
    exit_code = kDone;
  });
}

}  // namespace ocellus::app
