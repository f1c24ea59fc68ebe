// ocellus digits: finds and reads the digits of frames, or recognizes the images of an IDX file.
#pragma once

#include <string>

#include "apps/io/frame_job.h"

namespace ocellus::app {

/// Values of the command line.
struct DigitsCommand : FrameCommand {
  DigitsCommand() : FrameCommand("digits") {}

  bool plain = false;
  std::string images;
  std::string labels;
  std::string mistakes;
};

/// Recognizes the images of `command.images`. Returns the exit code. Throws InputError.
int recognize_images(const DigitsCommand& command);

void add_digits_command(CLI::App& program, int& exit_code);
/// Adds `digits` to `ocellus train`: learning of neocognitrons from labeled images.
void add_train_digits_command(CLI::App& train, int& exit_code);

}  // namespace ocellus::app
