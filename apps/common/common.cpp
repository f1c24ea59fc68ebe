#include "apps/common/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apps/common/json_sink.h"
#include "apps/common/json_text.h"
#include "apps/common/printable.h"

namespace ocellus::app {

void add_json_option(CLI::App& command, bool& json) {
  CLI::Option* const printed =
      command.add_flag("--json", json, "Print one JSON object on stdout instead of text");
  command
      .add_option_function<std::string>(
          "--json-to",
          [&json](const std::string& target) {
            json = true;
            set_json_target(target);
          },
          "Send lines of JSON to TARGET instead of text to stdout: a file to which they are "
          "appended, a pipe, unix:PATH, tcp:HOST:PORT, or - for stdout")
      ->type_name("TARGET")
      ->excludes(printed);
}

void add_json_lines_option(CLI::App& command, CommonOptions& options) {
  command
      .add_flag("--json-lines", options.json_lines,
                "Print one JSON object per frame, each on a line, and a last one about all frames")
      ->excludes("--json");
}

void add_metrics_option(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--metrics", options.metrics,
                  "Publish counts and latencies for Prometheus: a PORT of 127.0.0.1, HOST:PORT, or "
                  "a file that is replaced every second")
      ->type_name("FILE|PORT");
}

void add_common_options(CLI::App& command, CommonOptions& options) {
  add_value(command, "--backend", options.backend, "auto, cpu, cuda or cuda:N (device number N)");
  add_value(
      command, "--threads", options.threads,
      fmt::format("Number of worker threads, 1 to {}; 0: one for each CPU that the process may use",
                  kMaxWorkers))
      ->check(CLI::Range(0, kMaxWorkers));
  const EngineConfig defaults;
  options.engine.add_to(command, "Options of the engine", &defaults);
  add_json_option(command, options.json);
}

EngineConfig engine_config(const CommonOptions& options) {
  EngineConfig config;
  config.backend = take(BackendSpec::parse(options.backend.c_str()), "--backend");
  config.workers = options.threads;
  options.engine.set(&config);
  return config;
}

CLI::Validator finite_range(double low, double high) {
  const auto check = [low, high](std::string& text) {
    double value = 0.0;
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high)
      return std::string();
    return fmt::format("{} is not a number from {} to {}", text, low, high);
  };
  return CLI::Validator(check, fmt::format("[{} - {}]", low, high));
}

CLI::Validator whole_number(std::uint64_t most) {
  const auto check = [most](std::string& text) {
    const auto number = number_of<std::uint64_t>(text);
    return number && *number <= most
               ? std::string()
               : fmt::format("{} is not a whole number from 0 to {}", text, most);
  };
  return CLI::Validator(check, "");
}

CLI::Validator frame_number() {
  constexpr long kMost = 1'000'000'000'000'000'000;
  const auto check = [](std::string& text) {
    long value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= -kMost && value <= kMost)
      return std::string();
    return fmt::format("{} is not a frame number", text);
  };
  return CLI::Validator(check, "");
}

void check_options(const CLI::App& command, const std::vector<UnusedOptions>& rules) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty() && option->get_type_size() > 0)  // a flag has no value
        throw InputError(
            fmt::format("{} is empty; it needs a value", option->get_name(false, true)));
    }
  }
  for (const UnusedOptions& rule : rules) {
    if (!rule.unused) continue;
    for (const char* name : rule.names) {
      // Commands that share a rule need not have all of its options.
      const CLI::Option* const option = command.get_option_no_throw(name);
      if (option != nullptr && option->count() > 0)
        throw InputError(fmt::format("{} has no meaning here: {}", name, rule.why));
    }
  }
}

/// Indented JSON with each array of numbers on one line. A histogram has thousands of them.
static std::string with_arrays_on_lines(std::string_view json) {
  std::string out;
  bool in_string = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    out += json[at];
    if (json[at] == '\\') {  // only in a string
      out += json[++at];
    } else if (json[at] == '"') {
      in_string = !in_string;
    } else if (json[at] == '[' && !in_string) {
      const std::size_t end = json.find_first_of("[]{}\"", at + 1);
      if (json[end] != ']') continue;
      for (++at; at < end; ++at) {
        if (json[at] == '\n' || json[at] == ' ') continue;
        out += json[at];
        if (json[at] == ',') out += ' ';
      }
      out += ']';
    }
  }
  return out;
}

void print_json(const nlohmann::ordered_json& object) {
  if (JsonSink* const sink = json_sink()) {
    nlohmann::ordered_json line = object;
    line["wall_clock_ns"] = wall_clock_ns();
    return sink->write(line);
  }
  const std::string text = with_arrays_on_lines(json_text(object)) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string cpu_text(const EngineInfo& engine) {
  if (engine.workers == 0) return engine.simd_target;
  return fmt::format("{} ({})", counted(engine.workers, "thread"), engine.simd_target);
}

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many.empty() ? one + "s" : many);
}

std::string short_number(double value) {
  if (!std::isfinite(value) || value == 0.0) return fmt::format("{:g}", value);
  constexpr int kMostDecimals = 12;
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  std::string text = fmt::format("{:.{}f}", value, std::clamp(2 - magnitude, 0, kMostDecimals));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

bool percentile_is_known(std::int64_t count, double percent) {
  return (100.0 - percent) * static_cast<double>(count) >= 100.0 - 1e-6;
}

double percentile(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double rank = std::clamp(std::ceil(percent / 100.0 * count), 1.0, count);
  return values[static_cast<std::size_t>(rank) - 1];
}

ImageSize parse_size(const std::string& text, const std::string& option) {
  const std::size_t cross = std::min(text.find('x'), text.size() - 1);
  const ImageSize size{number_of<int>(text.substr(0, cross)).value_or(0),
                       number_of<int>(text.substr(cross + 1)).value_or(0)};
  if (size.width < 1 || size.height < 1 || size.width > kMaxImageSide ||
      size.height > kMaxImageSide) {
    throw InputError(
        fmt::format("{} is '{}'; it must be WIDTHxHEIGHT, such as 640x480, each 1 to {}", option,
                    text, kMaxImageSide));
  }
  return size;
}

std::string size_text(ImageSize size) {
  return fmt::format("{}x{}", size.width, size.height);
}

void check_same_size(const std::string& a_path, ImageSize a, const std::string& b_path,
                     ImageSize b) {
  if (a != b)
    throw InputError(fmt::format("{} is {}, {} is {}; they must have the same size", a_path,
                                 size_text(a), b_path, size_text(b)));
}

void check_border(int border, ImageSize size) {
  if (2 * border >= std::min(size.width, size.height))
    throw InputError(fmt::format("--border {} leaves no pixel of {}", border, size_text(size)));
}

Progress::Progress(const std::string& what, std::int64_t total)
    : what_(printable(what)), total_(total), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  // Clears the bar, so that the next output begins on an empty line.
  if (drawn_) tell("\r\033[K");
}

void Progress::update(std::int64_t done) {
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  if (total_ <= 0) {
    tell(fmt::format("\r{}: {}\033[K", what_, done));
  } else {
    constexpr int kWidth = 30;
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    const int filled = static_cast<int>(share * kWidth);
    tell(fmt::format("\r{} [{:=<{}}{: <{}}] {:3.0f} % ({}/{})\033[K", what_, "", filled, "",
                     kWidth - filled, share * 100.0, done, total_));
  }
  std::fflush(stderr);
}

}  // namespace ocellus::app
