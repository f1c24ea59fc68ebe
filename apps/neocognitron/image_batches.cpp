#include "apps/neocognitron/image_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "apps/common/interrupt.h"
#include "apps/io/image_io.h"

namespace ocellus::app {
namespace {

constexpr int kLeastSide = 8;
constexpr int kLargestSide = 1024;

}  // namespace

CharacterImages read_character_images(const std::string& images_file,
                                      const std::string& labels_file, CharacterInk ink) {
  CharacterImages read{images_file, labels_file, {}, {}};
  IdxImages& images = read.images;
  if (labels_file.empty()) {
    images = read_idx_images(images_file);
  } else {
    LabeledIdx labeled = read_labeled_idx(images_file, labels_file);
    images = std::move(labeled.images);
    read.labels = std::move(labeled.labels);
  }
  if (images.width < kLeastSide || images.height < kLeastSide || images.width > kLargestSide ||
      images.height > kLargestSide) {
    throw InputError(fmt::format("{}: the images are {}x{}; they must be {}x{} to {}x{}",
                                 images_file, images.width, images.height, kLeastSide, kLeastSide,
                                 kLargestSide, kLargestSide));
  }
  if (images.count == 0) throw InputError(fmt::format("{}: contains no image", images_file));
  // One decision for all images is safer than one for each.
  make_ink_bright(images, ink == CharacterInk::kDark    ? InkColor::kDark
                          : ink == CharacterInk::kLight ? InkColor::kBright
                                                        : InkColor::kAuto);
  return read;
}

std::vector<int> classes_of(const CharacterImages& characters, const CharacterNames& names,
                            const std::string& model) {
  const std::vector<std::uint8_t>& labels = characters.labels;
  std::array<int, 256> class_of{};
  for (std::size_t label = 0; label < class_of.size(); ++label)
    class_of[label] = names.class_of(static_cast<int>(label));
  std::vector<int> classes;
  classes.reserve(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    classes.push_back(class_of[labels[i]]);
    if (classes.back() >= 0) continue;
    throw InputError(fmt::format("{}: label {} of image {} has no class; the model {} has {}",
                                 characters.labels_file, labels[i], i, model,
                                 counted(names.classes(), "class", "classes")));
  }
  return classes;
}

// Images of a file lie one below the other, so a batch is a frame of one column of tiles.
int set_batches(OperatorConfig& config, const IdxImages& images) {
  NeocognitronConfig& digits = *config.get_if<NeocognitronConfig>();
  const auto batch = static_cast<int>(std::min<std::size_t>(
      images.count,
      static_cast<std::size_t>(std::min(digits.max_characters, kMaxImageSide / images.height))));
  digits.layout = CharacterLayout::kTiles;
  digits.fields = {};
  digits.tile_width = images.width;
  digits.tile_height = images.height;
  digits.ink = CharacterInk::kLight;
  config.set_input({images.width, images.height * batch}, PixelFormat::kGray8);
  return batch;
}

RecognitionResult recognize_batches(OperatorRun& run, const IdxImages& images, int batch_size,
                                    BatchTimes& times) {
  using Clock = std::chrono::steady_clock;
  const ImageSize size{images.width, images.height * batch_size};
  const std::size_t pixels =
      static_cast<std::size_t>(images.width) * static_cast<std::size_t>(images.height);
  const auto batch = static_cast<std::size_t>(batch_size);
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
    try {
      run.op().step(frame.view(number++, 0));
    } catch (const Stopped&) {
      break;
    }
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

}  // namespace ocellus::app
