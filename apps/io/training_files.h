// What the commands of `ocellus train` share: labeled images, the model file, progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "ocellus/labeled_images.h"

namespace ocellus::app {

/// Files and options of the command line.
struct TrainingFiles {
  std::string images;
  std::string labels;
  std::string class_names;
  std::string ink = "auto";
  double validation = 0.0;
  std::string note;
  std::string out;
  bool json = false;
};

void add_training_inputs(CLI::App& command, TrainingFiles& files);
void add_training_outputs(CLI::App& command, TrainingFiles& files);
void add_training_threads(CLI::App& command, int& threads);

/// Throws InputError if a file is not named, if the model's name does not end in .ocellus, or if
/// the note is too long.
void check_training_files(const TrainingFiles& files);

/// Reads the images, with bright ink, their labels and the names of the classes. Throws InputError.
LabeledImages read_labeled_images(const TrainingFiles& files);

/// What a command shows while it computes, and whether it must stop. The library calls it, through
/// which no exception may pass: without memory, nothing is shown.
class TrainingWatch {
 public:
  /// Since its construction.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  bool operator()(const char* what, double share) noexcept;
  void end() { progress_.reset(); }

 private:
  void show(const char* what, double share);

  StopsEarly stops_early_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::string what_;
  std::optional<Progress> progress_;
};

}  // namespace ocellus::app
