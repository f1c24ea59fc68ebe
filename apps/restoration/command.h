// ocellus restore: frames in, pictures out.
#pragma once

namespace CLI {
class App;
}

namespace ocellus::app {

/// Its exit code goes to `exit_code`. The callback throws InputError on bad input, which is exit
/// status 2.
void add_restoration_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
