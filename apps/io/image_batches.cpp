#include "apps/io/image_batches.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/io/frame_output.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

int ClassNames::find(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? -1 : static_cast<int>(found - names_.begin());
}

int ClassNames::class_of(int label) const {
  const bool numbers = std::all_of(names_.begin(), names_.end(), [](const std::string& name) {
    return name.size() < 4 && name.find_first_not_of("0123456789") == std::string::npos;
  });
  if (!numbers) return label < classes() ? label : -1;
  for (int c = 0; c < classes(); ++c)
    if (std::stoi(name(c)) == label) return c;
  return -1;
}

std::vector<int> FileImages::classes(const ClassNames& names, const std::string& model) const {
  std::vector<int> class_of(256);
  for (std::size_t label = 0; label < class_of.size(); ++label)
    class_of[label] = names.class_of(static_cast<int>(label));
  std::vector<int> all;
  all.reserve(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    all.push_back(class_of[labels[i]]);
    if (all.back() >= 0) continue;
    throw InputError(fmt::format("{}: label {} of image {} has no class; the model {} has {}",
                                 labels_file, labels[i], i, model,
                                 counted(names.classes(), "class", "classes")));
  }
  return all;
}

FileImages read_file_images(const std::string& images_file, const std::string& labels_file,
                            InkColor ink, int least_side, int largest_side) {
  FileImages read{images_file, labels_file, {}, {}};
  IdxImages& images = read.images;
  if (labels_file.empty()) {
    images = read_idx_images(images_file);
  } else {
    LabeledIdx labeled = read_labeled_idx(images_file, labels_file);
    images = std::move(labeled.images);
    read.labels = std::move(labeled.labels);
  }
  const auto [shorter, longer] = std::minmax(images.width, images.height);
  if (shorter < least_side || longer > largest_side) {
    throw InputError(fmt::format("{}: the images are {}x{}; they must be {}x{} to {}x{}",
                                 images_file, images.width, images.height, least_side, least_side,
                                 largest_side, largest_side));
  }
  if (images.count == 0) throw InputError(fmt::format("{}: contains no image", images_file));
  // One decision for all images is safer than one for each.
  make_ink_bright(images, ink);
  return read;
}

std::size_t RecognitionResult::right_count() const {
  std::size_t good = 0;
  for (std::size_t i = 0; i < count(); ++i) good += right(i) ? 1 : 0;
  return good;
}

double RecognitionResult::accuracy() const {
  return static_cast<double>(right_count()) / static_cast<double>(count());
}

double RecognitionResult::ms_per_image() const {
  return std::accumulate(batch_ms.begin(), batch_ms.end(), 0.0) / static_cast<double>(count());
}

std::vector<std::vector<long>> RecognitionResult::confusions(int rows, int columns) const {
  const auto width = static_cast<std::size_t>(columns);
  std::vector<std::vector<long>> matrix(static_cast<std::size_t>(rows), std::vector<long>(width));
  for (std::size_t i = 0; i < count(); ++i) {
    const auto answer = answers[i] < 0 ? width - 1 : static_cast<std::size_t>(answers[i]);
    ++matrix[static_cast<std::size_t>(classes[i])][answer];
  }
  return matrix;
}

RecognitionResult recognize_batches(OperatorRun& run, const IdxImages& images, int batch_size,
                                    const std::vector<int>& classes) {
  using Clock = std::chrono::steady_clock;
  const std::size_t pixels = pixels_of({images.width, images.height});
  const auto batch = static_cast<std::size_t>(batch_size);
  GrayImage frame({images.width, images.height * batch_size}, PixelFormat::kGray8);
  const RecordField& label = *run.op().info().record->find(FieldRole::kLabel);
  const RecordField& confidence = *run.op().info().record->find(FieldRole::kConfidence);
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
    try {
      run.op().step(frame.view(number++, 0));
    } catch (const Stopped&) {
      break;
    }
    result.batch_ms.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    for (int i = 0; i < static_cast<int>(count); ++i) {
      result.answers.push_back(static_cast<int>(field_value(label, run.op().record(), i)));
      result.confidences.push_back(
          static_cast<float>(field_value(confidence, run.op().record(), i)));
    }
    progress.update(static_cast<std::int64_t>(result.count()));
  }
  if (result.count() < images.count)
    tell(fmt::format("ocellus: interrupted after {} of {} images\n", result.count(), images.count));
  result.classes.assign(classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                               classes.size(), result.count())));
  return result;
}

nlohmann::ordered_json batches_json(const FileImages& read, const OperatorRun& run,
                                    const RecognitionResult& result, const ClassNames& names,
                                    int batch, const nlohmann::ordered_json& config,
                                    const nlohmann::ordered_json& memory) {
  nlohmann::ordered_json json;
  json["images_file"] = read.images_file;
  json["images"] = result.count();
  json["size"] = {read.images.width, read.images.height};
  add_engine_json(json, run.engine());
  json.update(config);
  json["class_names"] = names.all();
  if (!memory.is_null()) json.update(memory);
  json["batch"] = batch;
  json["batch_median_ms"] = percentile(result.batch_ms, 50.0);
  json["ms_per_image"] = result.ms_per_image();
  json["accuracy"] = nullptr;
  return json;
}

void print_batches(const FileImages& read, const OperatorRun& run,
                   const RecognitionResult& result) {
  fmt::print("{}: {} of {}x{}, {}, {} with {}\n", printable(read.images_file),
             counted(result.count(), "image"), read.images.width, read.images.height,
             printable(run.op().info().summary), backend_name(run.engine().backend),
             cpu_text(run.engine()));
}

}  // namespace ocellus::app
