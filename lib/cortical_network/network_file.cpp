#include "cortical_network/network_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "core/failure.h"
#include "cortical_network/patches.h"
#include "cortical_network_generated.h"

namespace ocellus::detail {
namespace {

/// The largest r: with it and all R, the evidence is far from the end of 64 bits.
constexpr std::int32_t kMostClassBias = 1 << 30;

void build_table(flatbuffers::FlatBufferBuilder& builder, const CorticalNetworkConfig& config,
                 std::uint64_t steps, const ReadOutTable& read_out) noexcept {
  std::array<flatbuffers::Offset<flatbuffers::String>, kMaxCortexClasses> names;
  const auto classes = static_cast<std::size_t>(read_out.classes);
  for (std::size_t c = 0; c < classes; ++c) names[c] = builder.CreateString(read_out.names[c]);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> classes_at;
  if (classes > 0) classes_at = builder.CreateVector(names.data(), classes);
  std::array<file::CorticalNetworkLevel, kMaxCorticalLevels> levels;
  const auto count = static_cast<std::size_t>(config.level_count);
  for (std::size_t i = 0; i < count; ++i) {
    const CorticalLevel& level = config.levels[i];
    levels[i] = {level.window_width, level.window_height, level.stride_x, level.stride_y,
                 level.minicolumns};
  }
  const HebbianLearning& learning = config.learning;
  builder.Finish(file::CreateCorticalNetwork(
      builder, config.width, config.height, static_cast<std::uint8_t>(config.lgn),
      config.lgn_threshold, builder.CreateVectorOfStructs(levels.data(), count), learning.threshold,
      learning.potentiation, learning.depression, learning.initial_weight, learning.random_firing,
      learning.firing_decay, learning.stable_wins, config.feedback_rounds,
      config.feedback_tolerance, config.seed, steps, classes_at, read_out.sharpness));
}

Expected<void> parse_read_out(const file::CorticalNetwork& from, ReadOutTable& table) noexcept {
  const auto* const classes = from.classes();
  const unsigned count = classes == nullptr ? 0 : classes->size();
  if (count > kMaxCortexClasses) {
    return corrupt_file("cortical network: it has %u classes; it may have %d", count,
                        kMaxCortexClasses);
  }
  for (unsigned c = 0; c < count; ++c) {
    const flatbuffers::String* const name = classes->Get(c);
    if (!is_class_name(name->string_view())) {
      return corrupt_file(
          "cortical network: the name of class %u must have 1 to %zu printable characters", c,
          kMaxClassName);
    }
    std::copy_n(name->c_str(), name->size(), table.names[c]);
  }
  table.classes = static_cast<int>(count);
  table.sharpness = from.sharpness();
  if (count > 0 && !is_sharpness(table.sharpness)) {
    return corrupt_file("cortical network: sharpness is %g; it must be above 0, at most 1000",
                        static_cast<double>(table.sharpness));
  }
  return {};
}

Expected<CorticalNetworkConfig> config_of(const file::CorticalNetwork& from) noexcept {
  CorticalNetworkConfig config;
  const auto* const levels = from.levels();
  const unsigned count = levels == nullptr ? 0 : levels->size();
  if (count < 1 || count > kMaxCorticalLevels) {
    return corrupt_file("cortical network: it has %u levels; it must have 1 to %d", count,
                        kMaxCorticalLevels);
  }
  config.width = from.width();
  config.height = from.height();
  config.lgn = static_cast<LgnTransform>(from.lgn());
  config.lgn_threshold = from.lgn_threshold();
  config.level_count = static_cast<int>(count);
  for (unsigned i = 0; i < count; ++i) {
    const file::CorticalNetworkLevel* const level = levels->Get(i);
    config.levels[i] = {level->window_width(), level->window_height(), level->stride_x(),
                        level->stride_y(), level->minicolumns()};
  }
  config.learning = {from.threshold(),      from.potentiation(),  from.depression(),
                     from.initial_weight(), from.random_firing(), from.firing_decay(),
                     from.stable_wins()};
  config.feedback_rounds = from.feedback_rounds();
  config.feedback_tolerance = from.feedback_tolerance();
  config.seed = from.seed();
  return config;
}

/// Bytes of the arrays without padding.
struct FileBytes {
  std::uint64_t weights = 0;
  std::uint64_t wins = 0;
  std::uint64_t class_bias = 0;  ///< 0: there is no read-out
  std::uint64_t read_out = 0;

  static std::uint64_t aligned(std::uint64_t at) noexcept {
    return (at + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
  }
  std::uint64_t wins_at() const noexcept { return aligned(weights); }
  std::uint64_t all() const noexcept {
    const std::uint64_t network = wins_at() + wins;
    return class_bias == 0 ? network : aligned(aligned(network) + class_bias) + read_out;
  }
};

FileBytes bytes_of(const NetworkPlan& plan, int classes = 0) noexcept {
  FileBytes bytes;
  for (int l = 0; l < plan.hierarchy.level_count; ++l) {
    const LevelPlan& level = plan.hierarchy.level(l);
    const auto minicolumns = static_cast<std::uint64_t>(level.hypercolumns) *
                             static_cast<std::uint64_t>(level.minicolumns);
    bytes.weights += minicolumns * static_cast<std::uint64_t>(level.inputs) * sizeof(std::uint16_t);
    bytes.wins += minicolumns;
  }
  const auto count = static_cast<std::uint64_t>(classes);
  bytes.class_bias = count * sizeof(std::int32_t);
  bytes.read_out = read_out_rows(plan.hierarchy) * count * sizeof(std::int16_t);
  return bytes;
}

/// Calls body(run) for all hypercolumns of the network in the order of the file.
template <typename Body>
Expected<void> for_each_run(const NetworkPlan& plan, NetworkStore& store, unsigned needed,
                            const Body& body) noexcept {
  for (int l = 0; l < plan.hierarchy.level_count; ++l) {
    for (int h = 0; h < plan.hierarchy.level(l).hypercolumns;) {
      OCELLUS_TRY_ASSIGN(run, store.open(l, h, needed));
      OCELLUS_TRY(body(*run));
      h += run->count;
    }
  }
  return {};
}

/// Calls body(weights, count) for the weights of a run without padding.
template <typename Body>
Expected<void> for_each_row(const NetworkPlan& plan, const NetworkRun& run,
                            const Body& body) noexcept {
  const LevelPlan& level = plan.hierarchy.level(run.level);
  // Without padding, the rows of a hypercolumn follow each other in memory as in the file.
  const bool padded = level.pitch != level.inputs;
  const int rows = run.count * (padded ? level.minicolumns : 1);
  const auto count = static_cast<std::size_t>(level.inputs) *
                     static_cast<std::size_t>(padded ? 1 : level.minicolumns);
  const auto pitch = static_cast<std::size_t>(level.pitch) *
                     static_cast<std::size_t>(padded ? 1 : level.minicolumns);
  for (int row = 0; row < rows; ++row)
    OCELLUS_TRY(body(run.weights + static_cast<std::size_t>(row) * pitch, count));
  return {};
}

/// Calls body(wins, count) for each hypercolumn of a run.
template <typename Body>
Expected<void> for_each_wins(const NetworkPlan& plan, const NetworkRun& run,
                             const Body& body) noexcept {
  const LevelPlan& level = plan.hierarchy.level(run.level);
  for (int h = 0; h < run.count; ++h) {
    const auto count = static_cast<std::size_t>(level.minicolumns);
    std::uint8_t* const wins =
        run.wins + static_cast<std::size_t>(h) * static_cast<std::size_t>(level.padded);
    OCELLUS_TRY(body(wins, count));
  }
  return {};
}

template <typename T>
Expected<void> check_values(const char* name, const T* values, std::size_t count,
                            int most) noexcept {
  // The largest of all without a branch for each.
  int largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max<int>(largest, values[i]);
  if (largest <= most) return {};
  return corrupt_file("cortical network: %s is %d; it must be 0 to %d", name, largest, most);
}

Expected<void> read_arrays(ModelFile& file, const NetworkPlan& plan, NetworkStore& store) noexcept {
  const auto read_weights = [&](std::uint16_t* row, std::size_t count) -> Expected<void> {
    OCELLUS_TRY(file.read(row, count * sizeof(*row)));
    return check_values("a weight", row, count, kCorticalWeightOne);
  };
  const auto read_run = [&](const NetworkRun& run) -> Expected<void> {
    OCELLUS_TRY(for_each_row(plan, run, read_weights));
    return store.store(run, NetworkStore::kWeights);
  };
  OCELLUS_TRY(for_each_run(plan, store, NetworkStore::kNothing, read_run));
  const FileBytes bytes = bytes_of(plan);
  std::uint8_t zeros[kModelAlignment] = {};
  const auto padding = static_cast<std::size_t>(bytes.wins_at() - bytes.weights);
  OCELLUS_TRY(file.read(zeros, padding));
  const auto read_wins = [&](std::uint8_t* wins, std::size_t count) -> Expected<void> {
    OCELLUS_TRY(file.read(wins, count));
    return check_values("a number of wins", wins, count, plan.stable_wins);
  };
  const auto read_wins_of_run = [&](const NetworkRun& run) -> Expected<void> {
    const auto stride = static_cast<std::size_t>(plan.hierarchy.level(run.level).padded);
    std::memset(run.wins, 0, stride * static_cast<std::size_t>(run.count));
    OCELLUS_TRY(for_each_wins(plan, run, read_wins));
    store.derive(run);
    return store.store(run, NetworkStore::kWeights | NetworkStore::kWins | NetworkStore::kDerived);
  };
  return for_each_run(plan, store, NetworkStore::kWeights, read_wins_of_run);
}

/// The table of a read-out for this network. Errors: InvalidArgument.
Expected<ReadOutTable> table_of(const CorticalReadOut& read_out, const NetworkPlan& plan) noexcept {
  ReadOutTable table;
  const std::size_t classes = read_out.names.size();
  if (classes == 0) return table;
  if (classes > std::size_t{kMaxCortexClasses} || read_out.class_bias.size() != classes ||
      read_out.weights.size() != classes * read_out_rows(plan.hierarchy) ||
      !is_sharpness(read_out.sharpness))
    return invalid_argument("the read-out does not fit the network");
  table.classes = static_cast<int>(classes);
  table.sharpness = read_out.sharpness;
  for (std::size_t c = 0; c < classes; ++c) {
    const std::string_view name = read_out.names[c].c_str();
    if (!is_class_name(name))
      return invalid_argument("the name of a class must have 1 to %zu printable characters",
                              kMaxClassName);
    std::copy(name.begin(), name.end(), table.names[c]);
  }
  return table;
}

}  // namespace

NetworkRun whole_level(const NetworkPlan& plan, const HypercolumnArrays& arrays,
                       int level) noexcept {
  const LevelPlan& l = plan.hierarchy.level(level);
  NetworkRun run;
  run.level = level;
  run.count = l.hypercolumns;
  run.weights = arrays.weights + l.weights_at;
  run.strong = arrays.strong + l.strong_at;
  run.minicolumns = arrays.minicolumns + l.minicolumns_at;
  run.wins = arrays.wins + l.minicolumns_at;
  return run;
}

Expected<void> open_network(ModelWriter& writer, const char* path,
                            const CorticalNetworkConfig& config, std::uint64_t steps,
                            const ReadOutTable& read_out) noexcept {
  ModelTable table;
  build_table(table.builder, config, steps, read_out);
  return writer.open(kCorticalNetworkKind, path, table.builder.GetBufferPointer(),
                     table.builder.GetSize());
}

Expected<void> save_network(const char* path, const CorticalNetworkConfig& config,
                            std::uint64_t steps, const NetworkPlan& plan, NetworkStore& store,
                            const CorticalReadOut& read_out) noexcept {
  OCELLUS_TRY_ASSIGN(table, table_of(read_out, plan));
  ModelWriter writer;
  OCELLUS_TRY(open_network(writer, path, config, steps, *table));
  const auto write = [&writer](const auto* values, std::size_t count) {
    return writer.write(values, count * sizeof(*values));
  };
  const auto write_weights = [&](const NetworkRun& run) { return for_each_row(plan, run, write); };
  const auto write_wins = [&](const NetworkRun& run) { return for_each_wins(plan, run, write); };
  OCELLUS_TRY(for_each_run(plan, store, NetworkStore::kWeights, write_weights));
  OCELLUS_TRY(writer.align());
  OCELLUS_TRY(for_each_run(plan, store, NetworkStore::kWins, write_wins));
  if (table->classes > 0) {
    OCELLUS_TRY(writer.align());
    OCELLUS_TRY(write(read_out.class_bias.data(), read_out.class_bias.size()));
    OCELLUS_TRY(writer.align());
    OCELLUS_TRY(write(read_out.weights.data(), read_out.weights.size()));
  }
  return writer.finish();
}

Expected<void> NetworkReader::named(const Expected<void>& done) const noexcept {
  if (done ||
      (done.error().status != Status::kCorruptFile && done.error().status != Status::kIoError))
    return done;
  return with_path(kCorticalNetworkKind, path_, done.error());
}

Expected<void> NetworkReader::open(const char* path, int workers, bool verify) noexcept {
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the cortical network is empty");
  OCELLUS_TRY(check_number("workers", workers, 1, kMaxWorkers));
  path_ = path;
  OCELLUS_TRY(file_.open(kCorticalNetworkKind, path));
  OCELLUS_TRY(named(read_config(workers)));
  return verify ? named(file_.verify_arrays()) : Expected<void>();
}

// A network that is written can be read.
static_assert(std::size_t{kMaxCorticalLevels} * sizeof(file::CorticalNetworkLevel) +
                  kMaxCortexClasses * (sizeof(ClassName) + 12) + 256 <=
              kCorticalNetworkKind.max_table_bytes);
static_assert(kCorticalNetworkKind.max_table_bytes <= ModelTable::kMaxBytes);

Expected<void> NetworkReader::read_config(int workers) noexcept {
  alignas(8) std::uint8_t head[model_arrays_at(kCorticalNetworkKind.max_table_bytes)];
  OCELLUS_TRY_ASSIGN(header, file_.header(head, sizeof(head)));
  OCELLUS_TRY_ASSIGN(table,
                     model_table<file::CorticalNetwork>(kCorticalNetworkKind, head, *header));
  OCELLUS_TRY_ASSIGN(config, config_of(**table));
  config_ = *config;
  config_.workers = workers;
  steps_ = (*table)->steps();
  if (const Expected<void> made = make_network_plan(config_, plan_); !made)
    return corrupt_file("cortical network: %s", made.error().text);
  OCELLUS_TRY(parse_read_out(**table, read_out_));
  array_hash_ = header->array_hash;
  const FileBytes bytes = bytes_of(plan_, read_out_.classes);
  if (header->array_bytes != bytes.all()) {
    return corrupt_file(
        "cortical network: there are %llu bytes of arrays; %d hypercolumns need %llu",
        static_cast<unsigned long long>(header->array_bytes), plan_.hierarchy.hypercolumns,
        static_cast<unsigned long long>(bytes.all()));
  }
  return {};
}

Expected<void> NetworkReader::read(NetworkStore& store) noexcept {
  return named(read_arrays(file_, plan_, store));
}

Expected<void> NetworkReader::read_read_out(std::int32_t* class_bias,
                                            std::int16_t* weights) noexcept {
  const FileBytes bytes = bytes_of(plan_, read_out_.classes);
  if (bytes.class_bias == 0) return {};
  const auto read = [&]() -> Expected<void> {
    std::uint8_t zeros[kModelAlignment];
    const auto skip = [&](std::uint64_t at) {
      return file_.read(zeros, static_cast<std::size_t>(FileBytes::aligned(at) - at));
    };
    OCELLUS_TRY(skip(bytes.wins_at() + bytes.wins));
    OCELLUS_TRY(file_.read(class_bias, bytes.class_bias));
    OCELLUS_TRY(skip(bytes.class_bias));
    OCELLUS_TRY(file_.read(weights, bytes.read_out));
    for (int c = 0; c < read_out_.classes; ++c) {
      if (class_bias[c] >= -kMostClassBias && class_bias[c] <= kMostClassBias) continue;
      return corrupt_file("cortical network: a bias of a class is %d; it must be %d to %d",
                          class_bias[c], -kMostClassBias, kMostClassBias);
    }
    return {};
  };
  return named(read());
}

}  // namespace ocellus::detail
