// ocellus restore: frames in, pictures out; ocellus identify: makes a filter file.
#pragma once

namespace CLI {
class App;
}

namespace ocellus::app {

/// Adds restore and identify. The exit code goes to `exit_code`. The callbacks throw InputError on
/// bad input, which is exit status 2.
void add_restoration_command(CLI::App& program, int& exit_code);
void add_identify_command(CLI::App& program, int& exit_code);  // alone

}  // namespace ocellus::app
