// ocellus bench digits --schedule papers or all: the layers of a character by the programs and the
// schedules of the paper, and by the operator. The table is that of tables 5 and 6 of the paper.
#include "bench/neocognitron/bench_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>

#include "apps/common/printable.h"
#include "apps/measure/machine.h"
#include "bench/bench_command.h"
#include "bench/papers/neocognitron/paper_character.h"

namespace ocellus::app {
namespace {

using paper::CpuProgram;
using paper::LayerTimes;
using paper::OperatorLayers;
using paper::PaperNetwork;
using paper::PlaneCells;

constexpr double kTolerance = 1e-4;
/// Characters of a turn. One more comes before them, which is not timed.
constexpr std::size_t kLayerTurn = 5;

struct Program {
  const char* name;
  CpuProgram program;
};
constexpr Program kPrograms[] = {{"F", CpuProgram::kScatterActive},
                                 {"S", CpuProgram::kScatterAll},
                                 {"G", CpuProgram::kGather},
                                 {"F blocks", CpuProgram::kScatterBlocks},
                                 {"G tiles", CpuProgram::kGatherTiles}};

/// A model file in memory, for the operator.
class MemoryModel {
 public:
  explicit MemoryModel(const TrainedNeocognitron& network)
      : descriptor_(memfd_create("ocellus-model", MFD_CLOEXEC)) {
    const auto bytes = take(encode_neocognitron(network, "for ocellus bench"), "model");
    std::size_t written = 0;
    while (descriptor_ >= 0 && written < bytes.size()) {
      const ssize_t n = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
      if (n <= 0) break;
      written += static_cast<std::size_t>(n);
    }
    if (written == bytes.size()) return;
    if (descriptor_ >= 0) close(descriptor_);
    throw InputError("the system gave no memory for a model with the numbers of --planes");
  }
  ~MemoryModel() { close(descriptor_); }
  MemoryModel(const MemoryModel&) = delete;
  MemoryModel& operator=(const MemoryModel&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

LayerBenchCase make_case(const DigitsBenchOptions& o, const std::string& model) {
  LayerBenchCase made;
  made.model = model;
  made.network = take(read_neocognitron(model.c_str()), "model");
  // The network of the paper reads all positions of US4.
  made.network.parameters.reference_side = detail::kSimpleSides[3].out;
  if (o.windows == "paper") made.network = paper::with_paper_windows(made.network);
  if (!o.planes.empty())
    made.network =
        take(paper::with_planes(made.network, {o.planes[0], o.planes[1], o.planes[2]}), "--planes");
  made.digits = draw_digits(static_cast<std::size_t>(o.layer_characters()), kBenchSeed);
  const auto pixels =
      static_cast<std::size_t>(made.digits.width) * static_cast<std::size_t>(made.digits.height);
  for (std::size_t i = 0; i < made.digits.count(); ++i)
    made.characters.push_back(paper::normalized_character(made.network.normalization,
                                                          made.digits.ink.data() + i * pixels,
                                                          made.digits.width, made.digits.height));
  return made;
}

std::vector<float> largest_similarities(const TrainedNeocognitron& network,
                                        const PlaneCells& similarities) {
  std::vector<float> scores(network.names.size(), 0.0f);
  for (int k = 0; k < similarities.planes; ++k) {
    const float* const cells = similarities.row(k, 0);
    float& score = scores[network.labels[static_cast<std::size_t>(k)]];
    score = std::max(score, *std::max_element(cells, cells + similarities.plane_cells()));
  }
  return scores;
}

struct LayerTable {
  LayerBenchCase made;
  std::array<double, kNeocognitronStages> active{};  ///< mean share of UG, UC1 to UC3
  double active_of_all = 0.0;                        ///< of their cells together
  std::vector<LayerColumn> columns;
};

/// Computes what the columns are compared with.
void recognize_all(OperatorLayers& layers, LayerTable& table) {
  LayerBenchCase& made = table.made;
  for (const std::vector<float>& u0 : made.characters) {
    layers.recognize(u0.data());
    made.scores.emplace_back(layers.scores().begin(), layers.scores().end());
    made.largest.push_back(
        largest_similarities(made.network, layers.simple(kNeocognitronStages - 1)));
    for (std::size_t i = 0; i < table.active.size(); ++i)
      table.active[i] +=
          layers.active_share(static_cast<int>(i)) / static_cast<double>(made.characters.size());
  }
  double cells = 0.0;
  for (std::size_t i = 0; i < table.active.size(); ++i) {
    const auto own = static_cast<double>(layers.inputs(static_cast<int>(i)).values.size());
    table.active_of_all += own * table.active[i];
    cells += own;
  }
  table.active_of_all /= cells;
}

/// Compares each S-layer for equal inputs, and then the scores.
void compare_program(const Program& one, OperatorLayers& layers, PaperNetwork& programs,
                     const LayerBenchCase& made, LayerColumn& column) {
  for (std::size_t c = 0; c < made.characters.size(); ++c) {
    if (c < kComparedCharacters) {
      layers.recognize(made.characters[c].data());
      for (int stage = 0; stage < kNeocognitronStages; ++stage) {
        const PlaneCells expected = layers.simple(stage);
        PlaneCells actual(expected.side, expected.planes);
        programs.layer(stage).run(one.program, layers.inputs(stage), actual);
        note_difference(column, "an S-cell", expected.values, actual.values);
      }
    }
    programs.recognize(one.program, made.characters[c].data(), &column.counts);
    note_difference(column, "a score", made.largest[c],
                    {programs.scores().begin(), programs.scores().end()});
  }
}

void add(LayerColumn& column, const LayerTimes& times) {
  for (std::size_t i = 0; i < times.simple_ms.size(); ++i)
    column.simple_ms[i].push_back(times.simple_ms[i]);
  column.character_ms.push_back(times.character_ms);
}

/// The columns of the CPU. They take turns, so that other load on the machine affects all equally.
void measure_on_host(const DigitsBenchOptions& o, LayerTable& table,
                     const std::function<void()>& done) {
  const LayerBenchCase& made = table.made;
  OperatorLayers layers(made.network);
  recognize_all(layers, table);
  PaperNetwork programs(made.network);
  std::vector<std::function<LayerTimes(const float*)>> runs;
  for (const Program& one : kPrograms) {
    LayerColumn& column = table.columns.emplace_back();
    column.name = one.name;
    column.group = "paper";
    column.processor = "cpu";
    compare_program(one, layers, programs, made, column);
    runs.emplace_back([&programs, program = one.program](const float* u0) {
      return programs.recognize(program, u0);
    });
    done();
  }
  if (o.schedule == "all") {
    LayerColumn& column = table.columns.emplace_back();
    column.name = "ours";
    column.group = "ours";
    column.processor = "cpu";
    runs.emplace_back([&layers](const float* u0) { return layers.recognize(u0); });
  }
  for (std::size_t begin = 0; begin < made.characters.size(); begin += kLayerTurn) {
    const std::size_t end = std::min(begin + kLayerTurn, made.characters.size());
    for (std::size_t r = 0; r < runs.size(); ++r) {
      runs[r](made.characters[begin].data());
      for (std::size_t c = begin; c < end; ++c)
        add(table.columns[r], runs[r](made.characters[c].data()));
    }
    done();
  }
}

// ---- reports

double median(const std::vector<double>& ms) {
  return percentile(ms, 50.0);
}

using Counts = paper::LayerCounts;

struct NamedCount {
  const char* name;    ///< in JSON
  const char* of_row;  ///< in the table
  std::uint64_t Counts::*count;
};
/// Of sections 5.2 and 5.3 of the paper.
constexpr NamedCount kCounts[] = {{"cell_reads", "uS reads", &Counts::cell_reads},
                                  {"cell_writes", "uS writes", &Counts::cell_writes},
                                  {"v_reads", "v reads", &Counts::v_reads},
                                  {"v_writes", "v writes", &Counts::v_writes},
                                  {"energy_reads", "uC for v", &Counts::energy_reads}};

/// A number of S-layer `stage` in a second, where a character has `sum` / characters of it.
double in_a_second(const LayerTable& table, const LayerColumn& column, std::size_t stage,
                   double sum) {
  return sum / static_cast<double>(table.made.characters.size()) /
         (1e-3 * median(column.simple_ms[stage]));
}
double mb_per_s(const LayerTable& table, const LayerColumn& column, std::size_t stage) {
  return 1e-6 * in_a_second(table, column, stage, column.counts[stage].bytes());
}
double mflops(const LayerTable& table, const LayerColumn& column, std::size_t stage) {
  return 1e-6 *
         in_a_second(table, column, stage, static_cast<double>(column.counts[stage].operations));
}
/// In all S-layers of a character.
double mean_count(const LayerTable& table, const LayerColumn& column,
                  std::uint64_t Counts::*count) {
  double sum = 0.0;
  for (const Counts& counts : column.counts) sum += static_cast<double>(counts.*count);
  return sum / static_cast<double>(table.made.characters.size());
}
bool is_counted(const LayerColumn& column) {
  return column.counts[0].operations > 0;
}

nlohmann::ordered_json table_json(const DigitsBenchOptions& o, const LayerTable& table) {
  nlohmann::ordered_json json;
  json["model"] = table.made.model;
  json["planes"] = table.made.network.planes;
  json["windows"] = o.windows;
  json["planes_changed"] = !o.planes.empty();
  json["characters"] = table.made.characters.size();
  json["several"] = kSeveral;
  json["active"] = table.active;
  json["active_of_all"] = table.active_of_all;
  json["columns"] = nlohmann::ordered_json::array();
  for (const LayerColumn& column : table.columns) {
    nlohmann::ordered_json c;
    c["name"] = column.name;
    c["group"] = column.group;
    c["processor"] = column.processor;
    if (!column.simple_ms[0].empty()) {
      c["simple_ms"] = nlohmann::ordered_json::array();
      for (const auto& ms : column.simple_ms) c["simple_ms"].push_back(median(ms));
    }
    c["character_ms"] = median(column.character_ms);
    if (!column.transfer_ms.empty()) c["transfer_ms"] = median(column.transfer_ms);
    if (!column.in_turn_ms.empty()) c["several_in_turn_ms"] = median(column.in_turn_ms);
    if (!column.overlapped_ms.empty()) c["several_overlapped_ms"] = median(column.overlapped_ms);
    if (column.threads[0] != 0) c["threads"] = column.threads;
    if (is_counted(column)) {
      for (std::size_t i = 0; i < kNeocognitronStages; ++i) {
        c["mb_per_s"].push_back(mb_per_s(table, column, i));
        c["mflops"].push_back(mflops(table, column, i));
      }
      for (const NamedCount& count : kCounts)
        c[count.name] = mean_count(table, column, count.count);
    }
    if (!column.instruction_share.empty()) c["instruction_share"] = column.instruction_share;
    if (!column.trials[0].empty()) c["trials"] = column.trials;
    c["largest_difference"] = column.difference;
    json["columns"].push_back(c);
  }
  return json;
}

void print_row(const std::string& name, const std::vector<LayerColumn>& columns,
               const std::function<std::optional<double>(const LayerColumn&)>& value,
               int precision = 4) {
  fmt::print("{:<12}", name);
  for (const LayerColumn& column : columns) {
    const std::optional<double> figure = value(column);
    fmt::print(" {:>9}", figure ? fmt::format("{:.{}f}", *figure, precision) : "-");
  }
  fmt::print("\n");
}

void print_table(const LayerTable& table) {
  const auto& planes = table.made.network.planes;
  fmt::print("\n{}: {}, {}, {} and {} planes in US1 to US4, {}\n", printable(table.made.model),
             planes[0], planes[1], planes[2], planes[3],
             counted(table.made.characters.size(), "character"));
  fmt::print("active inputs of S1 to S4: {:.1f} %, of all {:.1f} %\n",
             fmt::join({100.0 * table.active[0], 100.0 * table.active[1], 100.0 * table.active[2],
                        100.0 * table.active[3]},
                       ", "),
             100.0 * table.active_of_all);
  fmt::print("\n{:<12}", "ms");
  for (const LayerColumn& column : table.columns) fmt::print(" {:>9}", column.name);
  fmt::print("\n{:<12}", "");
  for (const LayerColumn& column : table.columns) fmt::print(" {:>9}", column.processor);
  fmt::print("\n");
  const auto of = [](const std::vector<double>& ms) {
    return ms.empty() ? std::nullopt : std::optional(median(ms));
  };
  for (std::size_t i = 0; i < kNeocognitronStages; ++i)
    print_row(fmt::format("S{}", i + 1), table.columns,
              [&](const LayerColumn& c) { return of(c.simple_ms[i]); });
  print_row("character", table.columns, [&](const LayerColumn& c) { return of(c.character_ms); });
  const auto print_counts = [&](const std::string& name, const auto& value, int precision = 0) {
    print_row(
        name, table.columns,
        [&](const LayerColumn& c) {
          return is_counted(c) ? std::optional<double>(value(c)) : std::nullopt;
        },
        precision);
  };
  for (std::size_t i = 0; i < kNeocognitronStages; ++i)
    print_counts(fmt::format("S{} MB/s", i + 1),
                 [&](const LayerColumn& c) { return mb_per_s(table, c, i); });
  for (std::size_t i = 0; i < kNeocognitronStages; ++i)
    print_counts(fmt::format("S{} MFLOPS", i + 1),
                 [&](const LayerColumn& c) { return mflops(table, c, i); });
  for (const NamedCount& count : kCounts)
    print_counts(count.of_row,
                 [&](const LayerColumn& c) { return mean_count(table, c, count.count); });
  const auto on_device = [](const LayerColumn& c) { return !c.transfer_ms.empty(); };
  if (!std::any_of(table.columns.begin(), table.columns.end(), on_device)) return;
  print_row("transfers", table.columns, [&](const LayerColumn& c) { return of(c.transfer_ms); });
  print_row(fmt::format("{} in turn", kSeveral), table.columns,
            [&](const LayerColumn& c) { return of(c.in_turn_ms); });
  print_row(fmt::format("{} at once", kSeveral), table.columns,
            [&](const LayerColumn& c) { return of(c.overlapped_ms); });
  for (const LayerColumn& c : table.columns)
    if (c.threads[0] != 0)
      fmt::print("{}: {} threads in a block of S1 to S4\n", c.name, fmt::join(c.threads, ", "));
  for (const LayerColumn& c : table.columns)
    if (!c.instruction_share.empty())
      fmt::print("{}: at least {:.2f} of the instructions that the device executes in S1 to S4\n",
                 c.name, fmt::join(c.instruction_share, ", "));
}

/// Figure 6 of the paper: the time of each layer against the threads of a block.
void plot_trials(const std::string& path, const LayerTable& table, const std::string& machine) {
  CurvePlot plot;
  plot.title = "S-layers of a neocognitron, schedule T4";
  plot.subtitle = "one character; a block has the planes of some neighboring positions";
  plot.machine = machine;
  plot.x_label = "threads of a block";
  plot.y_label = "Time of a layer, ms";
  for (const LayerColumn& column : table.columns) {
    if (column.name != "T4") continue;
    for (std::size_t i = 0; i < kNeocognitronStages; ++i)
      plot.curves.push_back({fmt::format("S{}", i + 1), column.trials[i]});
  }
  write_curves_svg(path, plot);
}

}  // namespace

void note_difference(LayerColumn& column, const char* what, const std::vector<float>& expected,
                     const std::vector<float>& actual) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(expected[i]) - static_cast<double>(actual.at(i)));
    // Comparisons with NaN are false.
    if (!(difference <= kTolerance)) {
      throw std::runtime_error(
          fmt::format("{} on {}: {} differs from the operator's by {:g}, more than {:g}",
                      column.name, column.processor, what, difference, kTolerance));
    }
    column.difference = std::max(column.difference, difference);
  }
}

int bench_digit_layers(const DigitsBenchOptions& o, const EngineConfig& engine,
                       const EngineInfo& info) {
  const bool on_device = info.backend == BackendKind::kCuda;
  if (!o.plot.empty() && !on_device)
    throw InputError("--plot has no meaning here: it draws times of T4, and the backend is cpu");
  std::vector<LayerTable> tables;
  {
    constexpr std::int64_t kColumnsOfDevice = 7;
    const auto turns =
        (static_cast<std::size_t>(o.layer_characters()) + kLayerTurn - 1) / kLayerTurn;
    const auto steps = static_cast<std::int64_t>(std::size(kPrograms) + turns) +
                       (on_device ? kColumnsOfDevice : 0);
    Progress progress("bench digits", static_cast<std::int64_t>(o.models.size()) * steps);
    std::int64_t done = 0;
    const auto step = [&] { progress.update(++done); };
    for (const std::string& model : o.models) {
      LayerTable& table = tables.emplace_back();
      table.made = make_case(o, model);
      measure_on_host(o, table, step);
      if (!on_device) continue;
      const MemoryModel changed(table.made.network);
      LayerBenchCase made = table.made;
      made.model = changed.path();
      for (LayerColumn& column : device_layer_columns(o, engine, made, step))
        table.columns.push_back(std::move(column));
    }
  }
  if (!o.plot.empty()) plot_trials(o.plot, tables.front(), info.device_name);
  if (o.common.json) {
    nlohmann::ordered_json json = bench_head("digits", info);
    json["schedule"] = o.schedule;
    if (on_device) json["device"] = info.device_name;
    json["cpu"] = cpu_name();
    json["simd"] = info.simd_target;
    json["tables"] = nlohmann::ordered_json::array();
    for (const LayerTable& table : tables) json["tables"].push_back(table_json(o, table));
    print_json(json);
    return kDone;
  }
  fmt::print("ocellus {} bench digits: layers of one character, medians\n{}, 1 thread ({}){}{}\n",
             version(), cpu_name(), info.simd_target, on_device ? "; " : "",
             on_device ? printable(info.device_name) : "");
  for (const LayerTable& table : tables) print_table(table);
  double largest = 0.0;
  for (const LayerTable& table : tables)
    for (const LayerColumn& column : table.columns) largest = std::max(largest, column.difference);
  fmt::print(
      "\nF, S and G are the CPU programs of Ikeda, Miyamoto, Ino and Hagihara{}; F blocks and G "
      "tiles\nhave cache blocking. character: from U0 to UC4. MB/s: reads and writes of the arrays "
      "of a layer, in\ncaches or memory. MFLOPS: multiplications and additions. uS, v: their reads "
      "and writes in S1 to S4.\nuC for v: reads of inputs for v alone. Compared with the operator "
      "on the CPU: each S-layer for the\nfirst {}, and the scores of all characters. The largest "
      "difference is {:.1e}.\n",
      on_device ? ", and T1 to T5 and B their GPU schedules" : "",
      counted(kComparedCharacters, "character"), largest);
  if (on_device) {
    fmt::print(
        "The columns of cuda are timed by the device's clock, each layer alone. The transfers of "
        "T1 to T5 and B,\nof U0 and of the scores, come in addition. The character of ours on "
        "cuda: "
        "all kernels of a frame of one\ntile in device memory. {0} in turn and {0} at once: that "
        "many characters from and to the host, by the\nclock of the host; at once: T1 to T5 and B "
        "in {1} streams, ours in one frame. Instructions: loads and\narithmetic of the sums.\n",
        kSeveral, kStreams);
  }
  return kDone;
}

}  // namespace ocellus::app
