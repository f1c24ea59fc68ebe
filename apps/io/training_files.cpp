#include "apps/io/training_files.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/io/idx_file.h"

namespace ocellus::app {

void add_training_inputs(CLI::App& command, TrainingFiles& files) {
  command.add_option("--images", files.images,
                     "IDX file of the images (idx3 of unsigned bytes), plain or gzip");
  command.add_option("--labels", files.labels,
                     "IDX file of their labels (idx1 of unsigned bytes), plain or gzip");
  command.add_option("--class-names", files.class_names,
                     "Text file with the name of each label, one a line; default: the numbers");
  add_value(command, "--ink", files.ink, "Color of the ink; auto looks at the borders")
      ->check(CLI::IsMember({"auto", "dark", "light"}));
  add_value(command, "--validation", files.validation,
            "Share of the images of each class that is not learned but measures the accuracy")
      ->check(finite_range(0.0, 0.9));
}

void add_training_outputs(CLI::App& command, TrainingFiles& files) {
  command.add_option("--note", files.note,
                     "Origin of the model, for readers, at most 255 characters");
  command.add_option("-o,--output", files.out, "Model file (*.ocellus) to write");
  add_json_option(command, files.json);
}

void add_training_threads(CLI::App& command, int& threads) {
  add_value(command, "--threads", threads,
            "Threads, 0: one for each CPU; the model does not depend on it")
      ->check(CLI::Range(0, 1024));
}

void check_training_files(const TrainingFiles& files) {
  for (const auto& [name, value] :
       {std::pair{"--images", &files.images}, {"--labels", &files.labels}, {"-o", &files.out}})
    if (value->empty()) throw InputError(fmt::format("{} must name a file", name));
  if (!files.out.ends_with(".ocellus"))
    throw InputError(fmt::format("{}: the name must end in .ocellus", printable(files.out)));
  constexpr std::size_t kLongestNote = 255;
  if (files.note.size() > kLongestNote) {
    throw InputError(
        fmt::format("--note has {} characters; it may have {}", files.note.size(), kLongestNote));
  }
}

LabeledImages read_labeled_images(const TrainingFiles& files) {
  LabeledIdx read = read_labeled_idx(files.images, files.labels);
  make_ink_bright(read.images, files.ink == "light"  ? InkColor::kBright
                               : files.ink == "dark" ? InkColor::kDark
                                                     : InkColor::kAuto);
  LabeledImages images;
  images.width = read.images.width;
  images.height = read.images.height;
  images.ink = std::move(read.images.pixels);
  images.labels.assign(read.labels.begin(), read.labels.end());
  if (!files.class_names.empty()) {
    images.names = read_class_names(files.class_names);
    const std::size_t names = images.names.size();
    for (std::size_t i = 0; i < read.labels.size(); ++i) {
      if (read.labels[i] < names) continue;
      throw InputError(
          fmt::format("{}: label {} of image {} has no name; {} has names of labels 0 "
                      "to {}",
                      files.labels, read.labels[i], i, files.class_names, names - 1));
    }
  }
  return images;
}

bool TrainingWatch::operator()(const char* what, double share) noexcept {
  try {
    show(what, share);
  } catch (const std::bad_alloc&) {
    progress_.reset();
  }
  return stop_signal() == 0;
}

void TrainingWatch::show(const char* what, double share) {
  constexpr std::int64_t kTotal = 1000;
  if (what_ != what) {
    what_ = what;
    progress_.reset();  // the old bar disappears before the new one begins
    progress_.emplace(what_, kTotal);
  }
  progress_->update(static_cast<std::int64_t>(share * kTotal));
}

}  // namespace ocellus::app
