// ocellus filter: convolutions of frames with spatio-temporal kernels.
#pragma once

namespace CLI {
class App;
}

namespace ocellus::app {

void add_filter_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
