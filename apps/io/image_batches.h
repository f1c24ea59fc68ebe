// Classifies the images of an IDX file in batches: a batch is a frame of one column of tiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/io/idx_file.h"
#include "apps/io/operator_run.h"

namespace ocellus::app {

/// The names of a model's classes.
class ClassNames {
 public:
  /// `info`: of the model, such as CortexModelInfo.
  template <typename ModelInfo>
  explicit ClassNames(const ModelInfo& info) {
    for (int c = 0; c < info.classes; ++c)
      names_.emplace_back(info.names[static_cast<std::size_t>(c)].c_str());
  }

  const std::vector<std::string>& all() const { return names_; }
  int classes() const { return static_cast<int>(names_.size()); }
  const std::string& name(int label) const { return names_[static_cast<std::size_t>(label)]; }
  /// The class with this name, or -1.
  int find(const std::string& name) const;
  /// The class of a label of a file: the class whose name is the label if all names are numbers
  /// that a label can be, otherwise the class of this number. -1: there is none.
  int class_of(int label) const;

 private:
  std::vector<std::string> names_;
};

/// Images with bright ink, and their labels.
struct FileImages {
  std::string images_file;
  std::string labels_file;  ///< empty: without labels
  IdxImages images;
  std::vector<std::uint8_t> labels;

  /// The class of each label. Throws InputError if the model has none for one.
  std::vector<int> classes(const ClassNames& names, const std::string& model) const;
};

/// Reads IDX files. `labels_file` may be empty. Throws InputError, also for images whose sides are
/// not in these bounds.
FileImages read_file_images(const std::string& images_file, const std::string& labels_file,
                            InkColor ink, int least_side = 1, int largest_side = kMaxImageSide);

/// Makes the configuration of an operator one of batches of such images, at most `most` in each.
/// Returns the number of images of a batch.
template <typename Config>
int set_batches(Config& config, const IdxImages& images, int most) {
  const auto batch = static_cast<int>(std::min<std::size_t>(
      images.count, static_cast<std::size_t>(std::min(most, kMaxImageSide / images.height))));
  config.layout = decltype(config.layout)::kTiles;
  config.tile_width = images.width;
  config.tile_height = images.height;
  if constexpr (requires { config.ink; }) config.ink = decltype(config.ink)::kLight;
  config.size = {images.width, images.height * batch};
  config.format = PixelFormat::kGray8;
  return batch;
}

/// One answer for each image.
struct RecognitionResult {
  std::vector<int> answers;        ///< class; -1: the image has no ink
  std::vector<float> confidences;  ///< 0 to 1
  std::vector<int> classes;        ///< the right class; empty without labels
  std::vector<double> batch_ms;

  std::size_t count() const { return answers.size(); }
  bool labeled() const { return !classes.empty(); }
  bool right(std::size_t image) const { return answers[image] == classes[image]; }
  /// The share of right answers, rejected or not.
  double accuracy() const;
  std::size_t right_count() const;
  double ms_per_image() const;
  /// Numbers of images. Rows: right classes. Columns: answers; one more than classes for the images
  /// without ink.
  std::vector<std::vector<long>> confusions(int rows, int columns) const;
};

/// Recognizes all images, or those before an interruption, of which it tells on stderr. `run` has a
/// configuration of batches of `batch` images. `classes`: of all images, or none.
RecognitionResult recognize_batches(OperatorRun& run, const IdxImages& images, int batch,
                                    const std::vector<int>& classes);

/// The beginning of a report, up to "accuracy", which is null. `config` stands before the names of
/// the classes, `memory` behind them.
nlohmann::ordered_json batches_json(const FileImages& read, const OperatorRun& run,
                                    const RecognitionResult& result, const ClassNames& names,
                                    int batch, const nlohmann::ordered_json& config,
                                    const nlohmann::ordered_json& memory);
/// Prints the first line of a report.
void print_batches(const FileImages& read, const OperatorRun& run, const RecognitionResult& result);

}  // namespace ocellus::app
