#include "apps/restoration/command.h"

#include "apps/io/picture_command.h"
#include "apps/restoration/identify_command.h"

namespace ocellus::app {

void add_restoration_command(CLI::App& program, int& exit_code) {
  add_picture_command(program, exit_code, "restore",
                      "Restoration of blurred images by recursive filters")
      ->footer("Color is taken as its luma. docs/restoration.md tells what is computed.");
  add_identify_command(program, exit_code);
}

}  // namespace ocellus::app
