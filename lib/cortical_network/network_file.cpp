#include "cortical_network/network_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "core/failure.h"
#include "core/model_writer.h"
#include "cortical_network_generated.h"

namespace ocellus::detail {
namespace {

void build_table(flatbuffers::FlatBufferBuilder& builder, const CorticalNetworkConfig& config,
                 std::uint64_t steps) noexcept {
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
      config.feedback_tolerance, config.seed, steps));
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

/// Bytes of the weights and of the wins without padding.
struct FileBytes {
  std::uint64_t weights = 0;
  std::uint64_t wins = 0;

  std::uint64_t wins_at() const noexcept {
    return (weights + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
  }
};

FileBytes bytes_of(const NetworkPlan& plan) noexcept {
  FileBytes bytes;
  for (int l = 0; l < plan.hierarchy.level_count; ++l) {
    const LevelPlan& level = plan.hierarchy.level(l);
    const auto minicolumns = static_cast<std::uint64_t>(level.hypercolumns) *
                             static_cast<std::uint64_t>(level.minicolumns);
    bytes.weights += minicolumns * static_cast<std::uint64_t>(level.inputs) * sizeof(std::uint16_t);
    bytes.wins += minicolumns;
  }
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

}  // namespace

Expected<void> save_network(const char* path, const CorticalNetworkConfig& config,
                            std::uint64_t steps, const NetworkPlan& plan,
                            NetworkStore& store) noexcept {
  ModelWriter writer;
  {
    ModelTable table;
    build_table(table.builder, config, steps);
    OCELLUS_TRY(writer.open(kCorticalNetworkKind, path, table.builder.GetBufferPointer(),
                            table.builder.GetSize()));
  }
  const auto write = [&writer](const auto* values, std::size_t count) {
    return writer.write(values, count * sizeof(*values));
  };
  const auto write_weights = [&](const NetworkRun& run) { return for_each_row(plan, run, write); };
  const auto write_wins = [&](const NetworkRun& run) { return for_each_wins(plan, run, write); };
  OCELLUS_TRY(for_each_run(plan, store, NetworkStore::kWeights, write_weights));
  OCELLUS_TRY(writer.align());
  OCELLUS_TRY(for_each_run(plan, store, NetworkStore::kWins, write_wins));
  return writer.finish();
}

Expected<void> NetworkReader::named(const Expected<void>& done) const noexcept {
  if (done ||
      (done.error().status != Status::kCorruptFile && done.error().status != Status::kIoError))
    return done;
  return with_path(kCorticalNetworkKind, path_, done.error());
}

Expected<void> NetworkReader::open(const char* path, int workers) noexcept {
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the cortical network is empty");
  OCELLUS_TRY(check_number("workers", workers, 1, kMaxWorkers));
  path_ = path;
  OCELLUS_TRY(file_.open(kCorticalNetworkKind, path));
  return named(read_config(workers));
}

// A network that is written can be read.
static_assert(std::size_t{kMaxCorticalLevels} * sizeof(file::CorticalNetworkLevel) + 256 <=
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
  const FileBytes bytes = bytes_of(plan_);
  if (header->array_bytes != bytes.wins_at() + bytes.wins) {
    return corrupt_file(
        "cortical network: there are %llu bytes of arrays; %d hypercolumns need %llu",
        static_cast<unsigned long long>(header->array_bytes), plan_.hierarchy.hypercolumns,
        static_cast<unsigned long long>(bytes.wins_at() + bytes.wins));
  }
  return file_.verify_arrays();
}

Expected<void> NetworkReader::read(NetworkStore& store) noexcept {
  return named(read_arrays(file_, plan_, store));
}

}  // namespace ocellus::detail
