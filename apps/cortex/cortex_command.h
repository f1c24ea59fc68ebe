// ocellus cortex: classifies frames, or the images of an IDX file.
#pragma once

#include <string>

#include "apps/common/common.h"
#include "apps/common/operator_options.h"
#include "apps/io/frame_job.h"
#include "ocellus/cortex.h"

namespace ocellus::app {

/// Values of the command line.
struct CortexCommand : FrameCommand {
  CortexCommand() : FrameCommand("cortex") {}

  std::string images;
  std::string labels;
  int batch = 128;
  std::string save_model;  ///< path; empty: none
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

/// Classifies the images of a command. Returns the exit code. Throws InputError.
int classify_images(const CortexCommand& command);

}  // namespace ocellus::app
