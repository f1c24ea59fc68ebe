#include "apps/new_operator/command.h"

#include "apps/io/picture_command.h"

namespace ocellus::app {

void add_new_operator_command(CLI::App& program, int& exit_code) {
  add_picture_command(program, exit_code, "newoperator", "@SUMMARY@")
      ->footer("Color is taken as its luma. docs/new_operator.md tells what is computed.");
}

}  // namespace ocellus::app
