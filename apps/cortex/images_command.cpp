// ocellus cortex --images: classifies the images of an IDX file in batches of tiles.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/cortex/cortex_command.h"
#include "apps/io/idx_file.h"
#include "apps/io/image_io.h"
#include "apps/io/operator_run.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

struct Answers {
  std::vector<int> labels;
  std::vector<float> confidences;
  std::vector<double> batch_ms;
  double total_ms = 0.0;
};

IdxImages read_images(const CortexCommand& command, const CortexConfig& config,
                      const CortexNames& names, std::vector<int>& classes) {
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
                                   command.labels, read.labels[i], i, config.model.c_str(),
                                   counted(names.classes(), "class", "classes")));
    }
  }
  if (images.count == 0) throw InputError(fmt::format("{}: contains no image", command.images));
  // One decision for all images is safer than one for each.
  make_ink_bright(images, config.ink == CortexInk::kLight  ? InkColor::kBright
                          : config.ink == CortexInk::kDark ? InkColor::kDark
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
  const StopsOnSignal stops(op);
  Progress progress("images", static_cast<std::int64_t>(images.count));
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < images.count && stop_signal() == 0;
       begin += static_cast<std::size_t>(batch)) {
    const std::size_t count = std::min(static_cast<std::size_t>(batch), images.count - begin);
    // Tiles behind the last image have no ink.
    std::fill(frame.pixels.begin(), frame.pixels.end(), std::uint8_t{0});
    std::memcpy(frame.pixels.data(), images.pixels.data() + begin * pixels, count * pixels);
    const Clock::time_point start = Clock::now();
    try {
      const Ticket ticket = take(op.submit(frame.view(number++, 0), output), "cortex");
      take(op.wait(ticket, Deadline::never()), "cortex");
    } catch (const Stopped&) {
      break;
    }
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

/// What is printed beside the answers.
struct ImagesReport {
  const CortexCommand& command;
  std::string model;
  int batch;
  const EngineInfo& engine;
  const OperatorInfo& info;
};

void print(const ImagesReport& report, const IdxImages& images, const CortexNames& names,
           const Answers& answers, const std::vector<int>& classes) {
  const CortexCommand& command = report.command;
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
    add_engine_json(json, report.engine);
    json["model"] = report.model;
    json["class_names"] = nlohmann::ordered_json::array();
    for (int label = 0; label < names.classes(); ++label)
      json["class_names"].push_back(names.name(label));
    json["batch"] = report.batch;
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
             printable(report.info.summary), backend_name(report.engine.backend),
             cpu_text(report.engine));
  fmt::print("{:.4f} ms per image, in batches of {}: median {:.3f} ms\n", ms_per_image,
             report.batch, percentile(answers.batch_ms, 50.0));
  if (!classes.empty()) {
    fmt::print("accuracy {:.2f} % ({} of {})\n", 100.0 * accuracy, right,
               counted(static_cast<std::int64_t>(count), "image"));
  }
}

}  // namespace

int classify_images(const CortexCommand& command) {
  CortexConfig config = *command.options.config().get_if<CortexConfig>();
  const CortexNames names(config.model.c_str());
  std::vector<int> classes;
  const IdxImages images = read_images(command, config, names, classes);
  if (!command.save_model.empty()) require_writable_model(command.save_model, config.model.c_str());
  const auto batch = static_cast<int>(std::min<std::size_t>(
      images.count,
      static_cast<std::size_t>(std::min(command.batch, kMaxImageSide / images.height))));
  config.size = {images.width, images.height * batch};
  config.layout = CortexLayout::kTiles;
  config.tile_width = images.width;
  config.tile_height = images.height;
  config.ink = CortexInk::kLight;

  EngineConfig settings = engine_config(command.common);
  settings.memory =
      take(Cortex::footprint(take(Engine::probe(settings), "cortex"), config), "cortex");
  Engine engine = take(Engine::create(settings), "cortex");
  Cortex op = take(Cortex::create(engine, config), "cortex");
  const Answers answers = run(op, images, batch);
  if (answers.labels.size() < images.count) {
    tell(fmt::format("ocellus: interrupted after {} of {} images\n", answers.labels.size(),
                     images.count));
  }
  if (!command.save_model.empty()) take(op.save_model(command.save_model.c_str()), "cortex");
  if (!answers.labels.empty()) {
    const ImagesReport report{command, config.model.c_str(), batch, engine.info(), op.info()};
    print(report, images, names, answers, classes);
  }
  return kDone;
}

}  // namespace ocellus::app
