// What all subcommands share: the error that ends the program, the common options, progress on a
// terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/input_error.h"
#include "ocellus/ocellus.h"

namespace ocellus::app {

/// Exit codes of the program.
enum ExitCode : int {
  kDone = 0,
  kAnswerIsNo = 1,  ///< a budget was missed, a limit exceeded
  kBadInput = 2,    ///< wrong usage, or an input that cannot be read
};

/// The value of an Expected, or an InputError with `context` before the library's text.
template <typename T>
T take(Expected<T> value, const std::string& context) {
  if (!value) {
    throw InputError(context + ": " +
                     (value.error().text[0] != '\0' ? value.error().text
                                                    : status_message(value.error().status)));
  }
  if constexpr (!std::is_void_v<T>) return std::move(*value);
}

/// Options that every computing subcommand takes.
struct CommonOptions {
  std::string backend = "auto";
  int threads = 0;
  bool json = false;
};

void add_common_options(CLI::App& command, CommonOptions& options);
void add_json_option(CLI::App& command, bool& json);

/// The engine's configuration without its memory. Throws InputError on a bad backend or thread
/// count.
EngineConfig engine_config(const CommonOptions& options);

/// Takes numbers from low to high. CLI::Range lets "nan" through, because every comparison with it
/// is false.
CLI::Validator finite_range(double low, double high);

/// Takes numbers of frames up to 10^18, so that a few more can be added to them.
CLI::Validator frame_number();

std::string size_text(ImageSize size);  ///< "640x480"

/// Throws InputError that names both files when their sizes differ.
void check_same_size(const std::string& a_path, ImageSize a, const std::string& b_path,
                     ImageSize b);
/// Throws InputError when --border leaves no pixel.
void check_border(int border, ImageSize size);

/// Options that mean nothing together with others.
struct UnusedOptions {
  bool unused;  ///< whether this holds for the command line at hand
  std::vector<const char*> names;
  std::string why;
};

/// Throws InputError when an option is given that would be taken in silence: one that is unused, or
/// one with an empty text. Every subcommand calls it first.
void check_options(const CLI::App& command, const std::vector<UnusedOptions>& rules);

/// One JSON object, indented, and a newline on stdout.
void print_json(const nlohmann::ordered_json& object);

/// "2 threads (AVX2)" of the CPU that computes; "AVX2" alone where a device does.
std::string cpu_text(const EngineInfo& engine);

/// "1 frame", "2 frames".
std::string counted(std::int64_t count, const std::string& one, const std::string& many = "");

/// The smallest value that at least so many percent do not exceed.
double percentile(std::vector<double> values, double percent);

/// "640x480" to a size. Throws InputError naming `option`.
ImageSize parse_size(const std::string& text, const std::string& option);

/// A bar on stderr, drawn only when stderr is a terminal; redrawn at most ten times a second.
class Progress {
 public:
  /// `total` 0: unknown, a count is shown.
  Progress(const std::string& what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::int64_t total_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point last_{};
};

// One function per subcommand: adds it to the program with its options; when it is the one called,
// its exit code goes to `exit_code`.
void add_devices_command(CLI::App& program, int& exit_code);
void add_options_command(CLI::App& program, int& exit_code);
void add_flow_command(CLI::App& program, int& exit_code);
void add_cell_commands(CLI::App& program, int& exit_code);  // halftone and cnn
void add_compare_command(CLI::App& program, int& exit_code);
void add_latency_command(CLI::App& program, int& exit_code);
void add_bench_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
