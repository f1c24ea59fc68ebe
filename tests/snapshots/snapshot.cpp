#include "snapshots/snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/files.h"

namespace ocellus::test {
namespace {

enum class Kind { kNumber, kNumberOrNull, kText, kTextOrNull, kBool, kAny };

struct Volatile {
  const char* key;
  Kind kind;
  /// The snapshots in which the key is replaced, by the beginning of their names; "" for all.
  const char* cases = "";
};

/// The only keys whose values are not compared. If the value is an object or an array, the
/// numbers in it are replaced, and its keys and its length are compared.
constexpr Volatile kVolatile[] = {
    // Times and rates.
    {"ms", Kind::kNumber},
    {"compute_ms", Kind::kNumber},
    {"median_compute_ms", Kind::kNumber},
    {"median_ms", Kind::kNumber},
    {"p99_ms", Kind::kNumber},
    {"latency_ms", Kind::kNumber},
    {"wake_ms", Kind::kNumber},
    {"work_ms", Kind::kNumber},
    {"queue_ms", Kind::kNumber},
    {"copy_ms", Kind::kNumber},
    {"jitter_ms", Kind::kNumber},
    {"worst_frames", Kind::kNumber},
    {"latency_histogram", Kind::kAny},
    {"batch_median_ms", Kind::kNumber},
    {"ms_per_image", Kind::kNumber},
    {"seconds", Kind::kNumber},
    {"frames_per_s", Kind::kNumber},
    {"frames_per_s_min", Kind::kNumber},
    {"frames_per_s_max", Kind::kNumber},
    {"efficiency", Kind::kNumber, "bench"},
    {"min_ms", Kind::kNumber, "bench"},
    {"p50_ms", Kind::kNumber, "bench"},
    {"step_ms", Kind::kNumber, "bench"},
    {"operator_step_ms", Kind::kNumber, "bench"},
    {"floor_ms", Kind::kNumber, "bench"},
    {"ratio", Kind::kNumber, "bench"},
    {"bandwidth_share", Kind::kNumber, "bench"},
    {"mpixel_per_s", Kind::kNumber, "bench"},
    {"read_gb_per_s", Kind::kNumber, "bench"},
    {"copy_gb_per_s", Kind::kNumber, "bench"},
    {"copy_bytes_per_s", Kind::kNumber, "bench"},
    {"gflops", Kind::kNumber, "bench"},
    {"gb_per_s_at_least", Kind::kNumber},
    {"date", Kind::kText},
    {"wall_clock_ns", Kind::kNumber},
    {"wall-clock", Kind::kNumber, "ocellus"},
    {"latency", Kind::kNumber, "ocellus"},
    {"compute-time", Kind::kNumber, "ocellus"},
    {"p50", Kind::kNumber, "ocellus"},
    {"p99", Kind::kNumber, "ocellus"},
    {"max", Kind::kNumber, "ocellus"},
    // What the operating system did in this time.
    {"late_starts", Kind::kNumber},
    {"page_faults", Kind::kNumber},
    {"steal_percent", Kind::kNumber},
    // The machine. Most commands of the snapshots set the number of workers.
    {"host", Kind::kText},
    {"simd", Kind::kText},
    {"cpu", Kind::kText},
    {"cpus", Kind::kNumber},
    {"last_cache_bytes", Kind::kNumber, "bench"},
    {"block_bytes", Kind::kNumber, "bench"},
    {"usable_cpus", Kind::kNumber},
    {"quota", Kind::kNumberOrNull},
    {"cpu_quota", Kind::kNumberOrNull},
    {"cpu_affinity", Kind::kText},
    {"memory_limit_bytes", Kind::kAny},
    {"clock_source", Kind::kTextOrNull},
    {"kernel_version", Kind::kText},
    {"kernel_command_line", Kind::kTextOrNull},
    {"machine_state", Kind::kAny},
    {"build", Kind::kText},
    {"workers", Kind::kNumber, "devices"},
    {"governor", Kind::kTextOrNull},
    {"virtual_machine", Kind::kBool},
    {"realtime_kernel", Kind::kBool},
    {"system", Kind::kText},
    {"device", Kind::kText},
    {"reason", Kind::kText, "devices"},
    // The CPU backend of some operators takes memory for each lane of the SIMD target.
    {"memory_bytes", Kind::kNumber},
    {"footprint", Kind::kNumber},
    {"version", Kind::kText},
};

struct Replacement {
  const char* pattern;
  const char* by;
};

/// The parts of text output that are not compared, in order. A line in which one is found has its
/// blanks made single, because the width of a column may depend on the value.
constexpr Replacement kReplacements[] = {
    {R"(\d+(\.\d+)? ms\b)", "<number> ms"},
    {R"(\d+(\.\d+)? s\b)", "<number> s"},
    {R"(\d+(\.\d+)? frames/s)", "<number> frames/s"},
    {R"(\d+(\.\d+)? GB/s)", "<number> GB/s"},
    {R"(\d+(\.\d+)? MB (host|pinned|device))", "<number> MB $2"},
    {R"(\d+ page faults)", "<number> page faults"},
    {R"(\d+\.\d+ % of the CPU time)", "<number> % of the CPU time"},
    {R"((cpu with \d+ threads?) \(\w+\))", "$1 (<text>)"},
    {R"(; [^;]*(, \d+ threads?) \(\w+\))", "; <text>$1 (<text>)"},
    // The tables of `latency`.
    {R"(^    frame \d+ +\d[. 0-9]*$)", "    frame <numbers>"},
    {R"(^( *)(latency|delay of the start|work|queue|copy|compute) +\d[-. 0-9]*$)",
     "$1$2 <numbers>"},
    {R"(^measured .* on host [^;]*; CPUs allowed: [^;]*;)",
     "measured <text> on host <text>; CPUs allowed: <text>;"},
    {R"(^(machine:|build:|  machine at the start:|CPU|SIMD|workers|CPUs) .*)", "$1 <text>"},
    {R"(^.*, governor .*)", "<text>"},
    {R"(^ocellus \d+\.\d+\.\d+)", "ocellus <text>"},
    // The table of `bench devices`.
    {R"(^( +\d) +\d+\.\d +\d+\.\d +\d+\.\d +\d+\.\d\d( +\S+  cpu) \(.*\))",
     "$1 <numbers>$2 (<text>)"},
    // The backends of `devices`.
    {R"(^  cpu +available .*)", "  cpu available <text>"},
    {R"(^  cuda +not available .*)", "  cuda not available <text>"},
};

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kNumber:
      return "<number>";
    case Kind::kNumberOrNull:
      return "<number or null>";
    case Kind::kText:
      return "<text>";
    case Kind::kTextOrNull:
      return "<text or null>";
    case Kind::kBool:
      return "<boolean>";
    case Kind::kAny:
      return "<any>";
  }
  return "";
}

bool is_of(const Json& value, Kind kind) {
  switch (kind) {
    case Kind::kNumber:
      return value.is_number();
    case Kind::kNumberOrNull:
      return value.is_number() || value.is_null();
    case Kind::kText:
      return value.is_string();
    case Kind::kTextOrNull:
      return value.is_string() || value.is_null();
    case Kind::kBool:
      return value.is_boolean();
    case Kind::kAny:
      return !value.is_object();
  }
  return false;
}

const Volatile* find_volatile(const std::string& key, const std::string& case_name) {
  for (const Volatile& row : kVolatile)
    if (key == row.key && case_name.rfind(row.cases, 0) == 0) return &row;
  return nullptr;
}

/// A value of another type remains, so that the comparison fails.
Json masked(const Json& value, Kind kind, const std::string& case_name) {
  if (is_of(value, kind)) return name_of(kind);
  if (value.is_array()) {
    Json array = Json::array();
    for (const Json& member : value) array.push_back(masked(member, kind, case_name));
    return array;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [key, member] : value.items()) {
    const Volatile* const row = find_volatile(key, case_name);
    const bool own = row != nullptr && is_of(member, row->kind);
    object[key] = masked(member, own ? row->kind : kind, case_name);
  }
  return object;
}

/// A shorter number than all digits, far within the tolerance.
double shortened(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return std::strtod(text, nullptr);
}

bool are_close(double a, double b) {
  const double difference = std::fabs(a - b);
  return difference <= kSnapshotAbsolute ||
         difference <= kSnapshotRelative * std::max(std::fabs(a), std::fabs(b));
}

/// True if two texts differ only in numbers with a decimal point, within the tolerance or by one in
/// their last digit.
bool are_close(const std::string& a, const std::string& b) {
  static const std::regex number(R"(-?\d+\.\d+)");
  if (std::regex_replace(a, number, "#") != std::regex_replace(b, number, "#")) return false;
  auto x = std::sregex_iterator(a.begin(), a.end(), number);
  auto y = std::sregex_iterator(b.begin(), b.end(), number);
  for (; x != std::sregex_iterator(); ++x, ++y) {
    const std::string text = x->str();
    if (text.size() - text.find('.') != y->str().size() - y->str().find('.')) return false;
    const double last = std::pow(10.0, -static_cast<double>(text.size() - text.find('.') - 1));
    const double first = std::stod(text);
    const double second = std::stod(y->str());
    if (!are_close(first, second) && std::fabs(first - second) > 1.01 * last) return false;
  }
  return true;
}

std::string short_text(const Json& value) {
  constexpr std::size_t kMost = 160;
  std::string text = value.dump();
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, member] : object.items()) keys.push_back(key);
  return keys;
}

/// `is_line`: the value is a line of text output, whose numbers have the tolerance.
void compare(const Json& expected, const Json& actual, const std::string& path, bool is_line,
             std::vector<std::string>& found) {
  const auto differ = [&] {
    found.push_back(path + ": expected " + short_text(expected) + ", actual " + short_text(actual));
  };
  if (expected.is_object() && actual.is_object()) {
    bool same_keys = true;
    for (const auto& [key, member] : expected.items()) {
      if (actual.contains(key)) {
        compare(member, actual[key], path + "/" + key, is_line || key == "text", found);
      } else {
        same_keys = false;
        found.push_back(path + "/" + key + ": expected " + short_text(member) + ", is missing");
      }
    }
    for (const auto& [key, member] : actual.items()) {
      if (expected.contains(key)) continue;
      same_keys = false;
      found.push_back(path + "/" + key + ": not expected, actual " + short_text(member));
    }
    if (same_keys && keys_of(expected) != keys_of(actual))
      found.push_back(path + ": expected the keys in the order " + Json(keys_of(expected)).dump() +
                      ", actual " + Json(keys_of(actual)).dump());
  } else if (expected.is_array() && actual.is_array()) {
    if (expected.size() != actual.size())
      found.push_back(path + ": expected " + std::to_string(expected.size()) +
                      " elements, actual " + std::to_string(actual.size()));
    for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i)
      compare(expected[i], actual[i], path + "/" + std::to_string(i), is_line, found);
  } else if (expected.is_number_float() && actual.is_number_float()) {
    if (!are_close(expected.get<double>(), actual.get<double>())) differ();
  } else if (expected.is_number_integer() && actual.is_number_integer()) {
    // Signed and unsigned integers are one type in a file.
    if (expected != actual) differ();
  } else if (is_line && expected.is_string() && actual.is_string()) {
    if (!are_close(expected.get<std::string>(), actual.get<std::string>())) differ();
  } else if (expected.type() != actual.type() || expected != actual) {
    differ();
  }
}

bool writes() {
  const char* const asked = std::getenv("OCELLUS_SNAPSHOTS");
  return asked != nullptr && std::strcmp(asked, "write") == 0;
}

std::string joined(const std::vector<std::string>& lines) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMost); ++i) text += "  " + lines[i] + "\n";
  if (lines.size() > kMost) text += "  and " + std::to_string(lines.size() - kMost) + " more\n";
  return text;
}

}  // namespace

Json neutral(const Json& value, const std::string& case_name) {
  if (value.is_object()) {
    Json object = Json::object();
    for (const auto& [key, member] : value.items()) {
      const Volatile* const row = find_volatile(key, case_name);
      object[key] =
          row != nullptr ? masked(member, row->kind, case_name) : neutral(member, case_name);
    }
    return object;
  }
  if (value.is_array()) {
    Json array = Json::array();
    for (const Json& member : value) array.push_back(neutral(member, case_name));
    return array;
  }
  if (value.is_number_float()) return shortened(value.get<double>());
  return value;
}

Json neutral_lines(const std::string& text) {
  static const std::regex blanks(R"((\S) +)");
  Json lines = Json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    bool found = false;
    for (const Replacement& row : kReplacements) {
      std::string next = std::regex_replace(line, std::regex(row.pattern), row.by);
      found = found || next != line;
      line = std::move(next);
    }
    lines.push_back(found ? std::regex_replace(line, blanks, "$1 ") : line);
  }
  return lines;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::vector<std::string> differences(const Json& expected, const Json& actual) {
  std::vector<std::string> found;
  compare(expected, actual, "", false, found);
  return found;
}

void Snapshots::check(const std::string& name, const Json& actual) const {
  const std::string path = folder_ + "/" + name + ".json";
  // What a file cannot hold, such as NaN, is compared as the file has it.
  const Json written = Json::parse(actual.dump());
  const bool exists = std::filesystem::exists(path);
  const Json expected = exists ? Json::parse(bytes_of(path), nullptr, false) : Json();
  const std::vector<std::string> found = differences(expected, written);
  if (found.empty()) return;
  if (!writes()) {
    ADD_FAILURE() << (exists ? "differs from " : "there is no ") << path << "\n"
                  << joined(found) << "If the change is wanted, run the test with "
                  << "OCELLUS_SNAPSHOTS=write.";
    return;
  }
  std::ofstream file(path);
  file << written.dump(1) << "\n";
  file.close();
  EXPECT_TRUE(file) << "cannot write " << path;
  std::printf("%s %s\n%s", exists ? "changed" : "new", path.c_str(),
              exists ? joined(found).c_str() : "");
}

void Snapshots::check_names(const std::set<std::string>& names) const {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != ".json" || names.count(path.stem().string()) != 0) continue;
    if (writes()) {
      std::printf("removed %s\n", path.c_str());
      std::filesystem::remove(path);
    } else {
      ADD_FAILURE() << path << " is the snapshot of no case";
    }
  }
}

}  // namespace ocellus::test
