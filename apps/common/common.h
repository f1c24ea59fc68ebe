// What all subcommands share: exit codes, common options, checks of options, and the progress bar.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/common/input_error.h"
#include "apps/common/interrupt.h"
#include "apps/common/operator_options.h"
#include "ocellus/ocellus.h"

namespace ocellus::app {

/// Exit codes of the program.
enum ExitCode : int {
  kDone = 0,
  kAnswerIsNo = 1,  ///< a budget was missed or a limit exceeded
  kBadInput = 2,    ///< wrong usage, or an input that cannot be read
};

/// Returns the value of an Expected. Throws InputError with the library's error text, which
/// `context` precedes unless it is empty, and Stopped for the error of that name.
template <typename T>
T take(Expected<T> value, const std::string& context = "") {
  if (!value) {
    if (value.error().status == Status::kStopped) throw Stopped();
    throw InputError((context.empty() ? "" : context + ": ") +
                     (value.error().text[0] != '\0' ? value.error().text
                                                    : status_message(value.error().status)));
  }
  if constexpr (!std::is_void_v<T>) return std::move(*value);
}

/// Options that every computing subcommand takes.
struct CommonOptions {
  std::string backend = "auto";
  std::string devices;  ///< of commands with --devices (device_list.h); empty: `backend`
  int threads = 0;
  TableOptions engine{EngineConfig::options()};
  bool json = false;
  bool json_lines = false;  ///< of commands with FRAMES
  std::string metrics;      ///< of commands that run for long; empty: not published
};

/// Accepts whole numbers from 0 to `most`. Without this check, CLI11 takes others modulo 2^64.
CLI::Validator whole_number(std::uint64_t most);
/// Adds an option whose help shows its default.
template <typename T>
CLI::Option* add_value(CLI::App& command, const char* name, T& value, const std::string& help) {
  CLI::Option* const option = command.add_option(name, value, help)->capture_default_str();
  if constexpr (std::unsigned_integral<T>)
    option->check(whole_number(std::numeric_limits<T>::max()));
  return option;
}
void add_common_options(CLI::App& command, CommonOptions& options);
/// Adds --json and --json-to, which also sets `json`.
void add_json_option(CLI::App& command, bool& json);
/// Adds --json-lines, for a command whose report has frames.
void add_json_lines_option(CLI::App& command, CommonOptions& options);
/// Adds --metrics, for a command that runs for long.
void add_metrics_option(CLI::App& command, CommonOptions& options);

/// The engine's configuration with its memory not yet set. Throws InputError on a bad backend or
/// thread count.
EngineConfig engine_config(const CommonOptions& options);

/// Accepts numbers from `low` to `high`. CLI::Range would accept "nan", because every comparison
/// with NaN is false.
CLI::Validator finite_range(double low, double high);

/// Accepts frame numbers up to 10^18, so that adding a few frames cannot overflow.
CLI::Validator frame_number();

std::string size_text(ImageSize size);  ///< "640x480"

/// Throws InputError that names both files when their sizes differ.
void check_same_size(const std::string& a_path, ImageSize a, const std::string& b_path,
                     ImageSize b);
/// Throws InputError when a border of this width leaves no pixel.
void check_border(int border, ImageSize size);

/// Options that have no effect together with other options.
struct UnusedOptions {
  bool unused;  ///< whether the rule applies to this command line
  std::vector<const char*> names;
  std::string why;
};

/// Throws InputError when an option is given that would have no effect, or whose value is empty.
/// Every subcommand calls it first.
void check_options(const CLI::App& command, const std::vector<UnusedOptions>& rules);

/// Prints one indented JSON object and a newline on stdout. With --json-to, a line goes there
/// instead, which has the time, too. Throws InputError.
void print_json(const nlohmann::ordered_json& object);

/// The time in nanoseconds since 1970 (UTC), for "wall_clock_ns".
std::int64_t wall_clock_ns();

/// For example "2 threads (AVX2)". Where a device computes, the SIMD target alone: "AVX2".
std::string cpu_text(const EngineInfo& engine);

/// "1 frame", "2 frames".
std::string counted(std::int64_t count, const std::string& one, const std::string& many = "");
template <std::integral Count>
std::string counted(Count count, const std::string& one, const std::string& many = "") {
  return counted(static_cast<std::int64_t>(count), one, many);
}

/// Three significant digits, never with an exponent: "33.3", "1330", "0.00123".
std::string short_number(double value);

/// Whether `count` values tell this percentile: at least one of them is expected above it.
bool percentile_is_known(std::int64_t count, double percent);

/// The smallest value v for which at least `percent` percent of the values are at most v.
double percentile(std::vector<double> values, double percent);

/// The number that is the whole text, or nothing.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && next == end ? std::optional(number) : std::nullopt;
}

/// Parses a size such as "640x480". Throws InputError that names `option`.
ImageSize parse_size(const std::string& text, const std::string& option);

/// A progress bar on stderr. It is drawn only on a terminal, at most ten times a second.
class Progress {
 public:
  /// `total` 0: the total is unknown, and only a count is shown.
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

// Each function adds one subcommand with its options to the program. When the subcommand runs, it
// stores its exit code in `exit_code`.
void add_devices_command(CLI::App& program, int& exit_code);
void add_options_command(CLI::App& program, int& exit_code);
void add_flow_command(CLI::App& program, int& exit_code);
void add_filter_command(CLI::App& program, int& exit_code);
void add_cell_commands(CLI::App& program, int& exit_code);  // halftone and cnn
void add_compare_command(CLI::App& program, int& exit_code);
void add_latency_command(CLI::App& program, int& exit_code);
void add_bench_command(CLI::App& program, int& exit_code);
void add_selftest_command(CLI::App& program, int& exit_code);
void add_template_command(CLI::App& program, int& exit_code);
void add_kernels_command(CLI::App& program, int& exit_code);
void add_restoration_command(CLI::App& program, int& exit_code);  // restore and identify
void add_identify_command(CLI::App& program, int& exit_code);     // alone
void add_digits_command(CLI::App& program, int& exit_code);
void add_cortex_command(CLI::App& program, int& exit_code);
void add_network_command(CLI::App& program, int& exit_code);
void add_train_digits_command(CLI::App& train, int& exit_code);
void add_train_cortex_command(CLI::App& train, int& exit_code);
void add_train_network_command(CLI::App& train, int& exit_code);
/// Adds `completion` and `manual`, which print scripts and the page of all commands of `program`.
void add_page_commands(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
