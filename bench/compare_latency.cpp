// ocellus compare latency: reports of `ocellus latency --json` beside each other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/json_text.h"
#include "apps/common/printable.h"
#include "apps/io/image_io.h"
#include "apps/io/input_file.h"
#include "apps/io/output_file.h"
#include "apps/measure/junit.h"
#include "apps/measure/svg_plot.h"
#include "bench/bench_command.h"
#include "bench/bench_report.h"
#include "bench/curve_plot.h"

namespace ocellus::app {
namespace {

/// The percentiles of a report, with the members that hold them.
constexpr std::pair<double, const char*> kPercentiles[] = {{50.0, "/latency_ms/p50"},
                                                           {90.0, "/latency_ms/p90"},
                                                           {99.0, "/latency_ms/p99"},
                                                           {99.9, "/latency_ms/p99.9"}};

struct Options {
  std::vector<std::string> files;
  std::string plot;
  std::optional<double> max_ratio;
  double percentile = 99.0;
  std::string junit;
  bool json = false;
};

using Report = nlohmann::json;

/// A number of a report, or nothing.
std::optional<double> number_at(const Report& in, const char* member) {
  const Report::json_pointer pointer(member);
  if (!in.contains(pointer) || !in.at(pointer).is_number()) return std::nullopt;
  return in.at(pointer).get<double>();
}

/// A member of a report in one line; "-" if it is missing.
std::string member_text(const Report& in, const char* member) {
  const Report::json_pointer pointer(member);
  if (!in.contains(pointer) || in.at(pointer).is_null()) return "-";
  const Report& value = in.at(pointer);
  return printable(value.is_string() ? value.get<std::string>() : value.dump(), kMostOfValue);
}

/// One run of a report: frames and results in one kind of memory.
struct ReportRow {
  std::size_t report = 0;
  const Report* run = nullptr;
  std::string name;
  std::int64_t frames = 0;

  /// None if too few frames tell it, or if the histogram does not. Older reports hold such
  /// percentiles.
  std::optional<double> percentile(double percent, const char* member) const {
    if (!percentile_is_known(frames, percent)) return std::nullopt;
    const std::optional<double> value = number_at(*run, member);
    return value && *value < kHighestMs ? value : std::nullopt;
  }
  /// As text or as JSON.
  Json shown(double percent, const char* member) const {
    if (const std::optional<double> value = percentile(percent, member)) return *value;
    return percentile_is_known(frames, percent) ? Json(kBeyondHistogram) : Json(nullptr);
  }
};

struct ReportFile {
  std::string name;
  Report json;
};

ReportFile read_report(const std::string& path) {
  ReportFile report{std::filesystem::path(path).filename().string(), {}};
  InputText file(path);
  try {
    report.json = json_object(read_text(file, kMostJsonBytes));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file.name(), error.what()));
  }
  if (!report.json.contains("runs") || !report.json["runs"].is_array() ||
      report.json["runs"].empty())
    throw InputError(
        fmt::format("{}: is not a report that ocellus latency --json printed", file.name()));
  return report;
}

std::vector<ReportRow> rows_of(const std::vector<ReportFile>& reports) {
  std::vector<ReportRow> rows;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const Report& run : reports[i].json["runs"]) {
      const auto frames = number_at(run, "/frames");
      const Report::json_pointer median("/latency_ms/p50");
      if (!frames || !number_at(run, "/latency_ms/max") || !run.contains(median) ||
          !(run.at(median).is_number() || run.at(median) == kBeyondHistogram))
        throw InputError(fmt::format("{}: a run has no frames or no latency_ms", reports[i].name));
      rows.push_back({i, &run, fmt::format("{}, {}", reports[i].name, member_text(run, "/memory")),
                      static_cast<std::int64_t>(*frames)});
    }
  }
  return rows;
}

/// The conditions in which the reports differ, and which the figures depend on.
std::vector<std::string> differences(const std::vector<ReportFile>& reports) {
  std::vector<std::string> names;
  for (const char* member : {"/pipeline", "/configs", "/size", "/pace", "/fps", "/newest", "/input",
                             "/backend", "/device", "/workers", "/realtime_priority",
                             "/workers_only", "/memory_locked", "/zero_copy", "/cpu_affinity",
                             "/machine/cpu", "/machine/governor", "/machine/system", "/version"}) {
    for (const ReportFile& report : reports) {
      if (member_text(report.json, member) == member_text(reports.front().json, member)) continue;
      names.push_back(std::string(member).substr(1));
      break;
    }
  }
  return names;
}

/// The median relative to that of the first row; none if a histogram does not tell one of them.
std::optional<double> ratio(const ReportRow& row, const ReportRow& first) {
  const std::optional<double> own = row.percentile(50.0, "/latency_ms/p50");
  const std::optional<double> other = first.percentile(50.0, "/latency_ms/p50");
  if (!own || !other) return std::nullopt;
  return *own / *other;
}

/// Whether the options that both operators have are the same. A later version may have more.
bool same_options(const Report& a, const Report& b) {
  if (!a.is_object() || !b.is_object()) return a == b;
  for (const auto& [name, value] : a.items())
    if (b.contains(name) && b[name] != value) return false;
  return true;
}

/// Throws InputError unless the reports are about the same work.
void check_same_work(const ReportFile& first, const ReportFile& other) {
  const auto refuse = [&](const char* what, const std::string& a, const std::string& b) {
    throw InputError(
        fmt::format("{} and {} cannot be compared with --max-ratio: they differ in {} ({} and {})",
                    first.name, other.name, what, a, b));
  };
  for (const char* member : {"/pipeline", "/size", "/pace", "/fps", "/newest", "/backend"}) {
    const std::string a = member_text(first.json, member);
    const std::string b = member_text(other.json, member);
    if (a != b) refuse(member + 1, a, b);
  }
  const Report a = first.json.value("configs", Report::array());
  const Report b = other.json.value("configs", Report::array());
  if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), same_options))
    refuse("configs", shown_json(a), shown_json(b));
}

/// Adds to each run behind the first report its ratio to the run of the first report with the same
/// memory. Returns the results in the form of write_junit.
Json check_ratios(const Options& o, const std::vector<ReportFile>& reports,
                  const std::vector<ReportRow>& rows, Json& json) {
  const std::string name = fmt::format("p{:g}", o.percentile);
  const auto* const known =
      std::find_if(std::begin(kPercentiles), std::end(kPercentiles),
                   [&](const auto& one) { return one.first == o.percentile; });
  const auto value_of = [&](const ReportRow& row) -> std::optional<double> {
    if (!percentile_is_known(row.frames, o.percentile)) {
      throw InputError(fmt::format("{}: {} do not tell {}, which needs {}", row.name,
                                   counted(row.frames, "frame"), name,
                                   std::llround(100.0 / (100.0 - o.percentile))));
    }
    return row.percentile(o.percentile, known->second);
  };
  json["percentile"] = o.percentile;
  json["max_ratio"] = *o.max_ratio;
  Json tests = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ReportRow& row = rows[i];
    if (row.report == 0) continue;
    check_same_work(reports.front(), reports[row.report]);
    const auto first = std::find_if(rows.begin(), rows.end(), [&](const ReportRow& other) {
      return other.report == 0 &&
             member_text(*other.run, "/memory") == member_text(*row.run, "/memory");
    });
    if (first == rows.end())
      throw InputError(fmt::format("{}: {} has no run in this memory", row.name, reports[0].name));
    const std::optional<double> limit = value_of(*first);
    if (!limit || *limit <= 0.0)
      throw InputError(fmt::format("{}: its {} is no time to compare with", first->name, name));
    const std::optional<double> value = value_of(row);
    // A time beyond the histogram is far beyond each limit.
    const bool good = value && *value <= *limit * *o.max_ratio;
    const std::string note = fmt::format(
        "{} {} ms, {} the {:.3f} ms of {}", name,
        value ? fmt::format("{:.3f}", *value) : kBeyondHistogram,
        value ? fmt::format("{:.3f} times", *value / *limit) : "far above", *limit, first->name);
    json["runs"][i]["ratio"] = value ? Json(*value / *limit) : Json(nullptr);
    json["runs"][i]["ok"] = good;
    tests.push_back({{"name", fmt::format("latency.{}", row.name)},
                     {"fails_when", fmt::format("the ratio is above {:g}", *o.max_ratio)},
                     {"result", good ? "passed" : "failed"},
                     {"ms", value.value_or(kHighestMs)},
                     {"note", note}});
  }
  return tests;
}

void plot(const Options& o, const std::vector<ReportFile>& reports,
          const std::vector<ReportRow>& rows) {
  constexpr std::size_t kMost = 5;
  if (rows.size() > kMost)
    throw InputError(
        fmt::format("--plot shows at most {} runs; the reports have {}", kMost, rows.size()));
  CurvePlot plot;
  plot.title = "ocellus latency: percentiles";
  plot.subtitle = fmt::format("{}, {}", member_text(reports.front().json, "/pipeline"),
                              member_text(reports.front().json, "/size"));
  plot.machine = member_text(reports.front().json, "/machine/cpu");
  plot.x_label = "percentage of the frames";
  plot.y_label = "latency that they do not exceed, ms";
  for (const ReportRow& row : rows) {
    Curve curve{row.name, {}};
    for (const auto& [percent, member] : kPercentiles) {
      if (const auto value = row.percentile(percent, member); value && *value > 0.0)
        curve.points.emplace_back(percent, *value);
    }
    plot.curves.push_back(std::move(curve));
  }
  write_curves_svg(o.plot, plot);
}

int compare_latency(const Options& o) {
  if (!o.plot.empty() && file_extension(o.plot) != ".svg")
    throw InputError(fmt::format("--plot is '{}'; it must end in .svg", o.plot));
  std::vector<ReportFile> reports;
  if (!o.junit.empty()) require_writable(o.junit);
  check_distinct_outputs({{"--plot", o.plot}, {"--junit", o.junit}});
  for (const std::string& path : o.files) reports.push_back(read_report(path));
  const std::vector<ReportRow> rows = rows_of(reports);
  const std::vector<std::string> different = differences(reports);
  if (!o.plot.empty()) plot(o, reports, rows);
  Json json;
  json["different"] = different;
  json["runs"] = Json::array();
  for (const ReportRow& row : rows) {
    Json one = {{"report", o.files[row.report]},
                {"memory", member_text(*row.run, "/memory")},
                {"frames", row.frames}};
    for (const auto& [percent, member] : kPercentiles)
      one[fmt::format("p{:g}", percent)] = row.shown(percent, member);
    one["max"] = *number_at(*row.run, "/latency_ms/max");
    const std::optional<double> of_first = ratio(row, rows.front());
    one["p50_ratio"] = of_first ? Json(*of_first) : nullptr;
    json["runs"].push_back(std::move(one));
  }
  Json tests = Json::array();
  if (o.max_ratio) tests = check_ratios(o, reports, rows, json);
  const bool good = std::all_of(tests.begin(), tests.end(),
                                [](const Json& test) { return test["result"] == "passed"; });
  if (o.max_ratio) json["ok"] = good;
  if (!o.junit.empty()) write_junit(o.junit, "ocellus compare latency", tests);
  if (o.json) {
    print_json(json);
    return good ? kDone : kAnswerIsNo;
  }
  for (const ReportFile& report : reports) {
    fmt::print("{}: {} at {}, {}, {}; {}, host {}, {}\n", printable(report.name, kMostOfValue),
               member_text(report.json, "/pipeline"), member_text(report.json, "/size"),
               member_text(report.json, "/pace"), member_text(report.json, "/device"),
               member_text(report.json, "/machine/cpu"), member_text(report.json, "/host"),
               member_text(report.json, "/date"));
  }
  if (!different.empty()) fmt::print("they differ in: {}\n", fmt::join(different, ", "));
  fmt::print("\n");
  std::size_t width = 6;
  for (const ReportRow& row : rows)
    width = std::max(width, printable(row.name, kMostOfValue).size());
  const std::vector<BenchColumn> columns = {{"ms", "name", -static_cast<int>(width)},
                                            {"p50", "p50", 9, 3},
                                            {"p90", "p90", 9, 3},
                                            {"p99", "p99", 9, 3},
                                            {"p99.9", "p99.9", 9, 3},
                                            {"max", "max", 9, 3},
                                            {"jitter", "jitter", 9, 3},
                                            {"frames", "frames", 8},
                                            {"misses", "misses", 8},
                                            {"p50 ratio", "p50_ratio", 10, 3}};
  print_heading(columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Json& row = json["runs"][i];
    row["name"] = printable(rows[i].name, kMostOfValue);
    if (const auto jitter = number_at(*rows[i].run, "/jitter_ms/deviation"))
      row["jitter"] = *jitter;
    row["misses"] = member_text(*rows[i].run, "/misses");
    print_row(columns, row);
  }
  for (const Json& test : tests) {
    const auto name = test["name"].get<std::string>();
    fmt::print("{:<7} {}: {}\n", test["result"].get<std::string>(),
               printable(name.substr(name.find('.') + 1), kMostOfValue),
               printable(test["note"].get<std::string>()));
  }
  for (const std::string& path : {o.plot, o.junit})
    if (!path.empty()) fmt::print("written: {}\n", printable(path));
  return good ? kDone : kAnswerIsNo;
}

}  // namespace

void add_compare_latency_command(CLI::App& program, int& exit_code) {
  CLI::App* const command =
      program.add_subcommand("compare", "Compare a result with the truth")
          ->add_subcommand("latency", "Print reports of ocellus latency --json beside each other");
  command->footer(
      "Each run is a row. The ratio is that of the medians to the first row. A percentile that "
      "too\n"
      "few frames tell is -. With --max-ratio, the exit code is 1 if a run of a later report has "
      "a\n"
      "larger ratio to that of the first report with the same memory, and 2 if the reports cannot\n"
      "be compared: they are about other operators, options, sizes or rates.");
  const auto o = std::make_shared<Options>();
  command->add_option("REPORTS", o->files, "Two or more files")->required()->expected(2, 100);
  command->add_option("--plot", o->plot, "Write a plot of the percentiles (.svg), of up to 5 runs");
  command
      ->add_option(
          "--max-ratio", o->max_ratio,
          "Exit with code 1 if a percentile is more than this times that of the first report")
      ->check(finite_range(0.001, 1000.0));
  add_value(*command, "--percentile", o->percentile, "The percentile of --max-ratio")
      ->check(CLI::IsMember({50.0, 90.0, 99.0, 99.9}));
  command->add_option("--junit", o->junit,
                      "File for the results of --max-ratio in the form of JUnit");
  add_json_option(*command, o->json);
  command->callback([command, o, &exit_code] {
    check_options(*command, {{!o->max_ratio,
                              {"--percentile", "--junit"},
                              "it belongs to --max-ratio, without which nothing is tested"}});
    exit_code = compare_latency(*o);
  });
}

}  // namespace ocellus::app
