#include "cortical_network/network_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>

#include "core/failure.h"
#include "core/model_writer.h"
#include "cortical_network/network_state.h"
#include "cortical_network_generated.h"

namespace ocellus {
namespace detail {
namespace {

/// The table as bytes of the FlatBuffers format: the offset of the table, the offsets of its fields
/// (the vtable), the table, and the vector of levels.
struct TableImage {
  std::uint32_t table_at;
  std::uint16_t offsets_bytes;
  std::uint16_t table_bytes;
  std::uint16_t offsets[16];  ///< from the begin of the table, in the order of the schema
  // The table.
  std::int32_t from_offsets;
  std::uint32_t to_levels;
  std::uint64_t seed;
  std::uint64_t steps;
  std::int32_t width;
  std::int32_t height;
  std::int32_t lgn_threshold;
  std::int32_t stable_wins;
  std::int32_t feedback_rounds;
  std::int32_t feedback_tolerance;
  float threshold;
  float potentiation;
  float depression;
  float initial_weight;
  float random_firing;
  float firing_decay;
  std::uint8_t lgn;
  std::uint8_t end_padding[3];
  // The vector.
  std::uint32_t level_count;
  file::CorticalNetworkLevel levels[kMaxCorticalLevels];

  static constexpr std::size_t bytes(int levels) noexcept;
};

constexpr std::size_t TableImage::bytes(int levels) noexcept {
  return offsetof(TableImage, levels) +
         static_cast<std::size_t>(levels) * sizeof(file::CorticalNetworkLevel);
}
static_assert(TableImage::bytes(kMaxCorticalLevels) <= kCorticalNetworkKind.max_table_bytes);
static_assert(kCorticalNetworkKind.max_table_bytes <= ModelWriter::kMaxTableBytes);

constexpr std::size_t kTableAt = offsetof(TableImage, from_offsets);
static_assert(kTableAt % 8 == 0 && offsetof(TableImage, seed) % 8 == 0);
static_assert(sizeof(file::CorticalNetworkLevel) == 5 * sizeof(std::int32_t));
static_assert(offsetof(TableImage, levels) ==
              offsetof(TableImage, level_count) + sizeof(std::uint32_t));

TableImage table_of(const CorticalNetworkConfig& config, std::uint64_t steps) noexcept {
  TableImage table = {};
  table.table_at = kTableAt;
  constexpr std::size_t kOffsetsAt = offsetof(TableImage, offsets_bytes);
  table.offsets_bytes = kTableAt - kOffsetsAt;
  table.table_bytes = offsetof(TableImage, level_count) - kTableAt;
  const std::size_t fields[] = {offsetof(TableImage, width),
                                offsetof(TableImage, height),
                                offsetof(TableImage, lgn),
                                offsetof(TableImage, lgn_threshold),
                                offsetof(TableImage, to_levels),
                                offsetof(TableImage, threshold),
                                offsetof(TableImage, potentiation),
                                offsetof(TableImage, depression),
                                offsetof(TableImage, initial_weight),
                                offsetof(TableImage, random_firing),
                                offsetof(TableImage, firing_decay),
                                offsetof(TableImage, stable_wins),
                                offsetof(TableImage, feedback_rounds),
                                offsetof(TableImage, feedback_tolerance),
                                offsetof(TableImage, seed),
                                offsetof(TableImage, steps)};
  static_assert(sizeof(TableImage::offsets) == std::size(fields) * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < std::size(fields); ++i)
    table.offsets[i] = static_cast<std::uint16_t>(fields[i] - kTableAt);
  table.from_offsets = kTableAt - kOffsetsAt;
  table.to_levels = offsetof(TableImage, level_count) - offsetof(TableImage, to_levels);
  const HebbianLearning& learning = config.learning;
  table.seed = config.seed;
  table.steps = steps;
  table.width = config.width;
  table.height = config.height;
  table.lgn_threshold = config.lgn_threshold;
  table.stable_wins = learning.stable_wins;
  table.feedback_rounds = config.feedback_rounds;
  table.feedback_tolerance = config.feedback_tolerance;
  table.threshold = learning.threshold;
  table.potentiation = learning.potentiation;
  table.depression = learning.depression;
  table.initial_weight = learning.initial_weight;
  table.random_firing = learning.random_firing;
  table.firing_decay = learning.firing_decay;
  table.lgn = static_cast<std::uint8_t>(config.lgn);
  table.level_count = static_cast<std::uint32_t>(config.level_count);
  for (std::size_t i = 0; i < table.level_count; ++i) {
    const CorticalLevel& level = config.levels[i];
    table.levels[i] = {level.window_width, level.window_height, level.stride_x, level.stride_y,
                       level.minicolumns};
  }
  return table;
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
    const auto minicolumns = static_cast<std::uint64_t>(level.hypercolumns()) *
                             static_cast<std::uint64_t>(level.shape.minicolumns);
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
    for (int h = 0; h < plan.hierarchy.level(l).hypercolumns();) {
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
  const LevelLayout& level = plan.layout.level(run.level);
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
    const auto count = static_cast<std::size_t>(level.shape.minicolumns);
    std::uint8_t* const wins =
        run.wins + static_cast<std::size_t>(h) * static_cast<std::size_t>(level.stride);
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
    const auto stride = static_cast<std::size_t>(plan.hierarchy.level(run.level).stride);
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
  const TableImage table = table_of(config, steps);
  ModelWriter writer;
  if (Expected<void> done =
          writer.open(kCorticalNetworkKind, path, &table, TableImage::bytes(config.level_count));
      !done)
    return done;
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

Expected<void> load_network(const char* path, int workers, NetworkMaker& maker) noexcept {
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the cortical network is empty");
  OCELLUS_TRY(check_number("workers", workers, 1, kMaxWorkers));
  ModelFile file;
  OCELLUS_TRY(file.open(kCorticalNetworkKind, path));
  const auto read = [&]() -> Expected<void> {
    alignas(8) std::uint8_t head[model_arrays_at(kCorticalNetworkKind.max_table_bytes)];
    OCELLUS_TRY_ASSIGN(header, file.header(head, sizeof(head)));
    OCELLUS_TRY_ASSIGN(table,
                       model_table<file::CorticalNetwork>(kCorticalNetworkKind, head, *header));
    OCELLUS_TRY_ASSIGN(config, config_of(**table));
    config->workers = workers;
    // The length and the checksum are checked before memory is taken.
    NetworkPlan plan;
    if (const Expected<void> made = make_network_plan(*config, plan); !made)
      return corrupt_file("cortical network: %s", made.error().text);
    const FileBytes bytes = bytes_of(plan);
    if (header->array_bytes != bytes.wins_at() + bytes.wins) {
      return corrupt_file(
          "cortical network: there are %llu bytes of arrays; %d hypercolumns need %llu",
          static_cast<unsigned long long>(header->array_bytes), plan.hierarchy.hypercolumns,
          static_cast<unsigned long long>(bytes.wins_at() + bytes.wins));
    }
    OCELLUS_TRY(file.verify_arrays());
    OCELLUS_TRY_ASSIGN(store, maker.make(*config, (*table)->steps()));
    return read_arrays(file, plan, **store);
  };
  if (const Expected<void> done = read(); !done) {
    if (done.error().status != Status::kCorruptFile && done.error().status != Status::kIoError)
      return tl::unexpected(done.error());
    return with_path(kCorticalNetworkKind, path, done.error());
  }
  return {};
}

}  // namespace detail

namespace {

using detail::NetworkRun;

/// The whole level is one run, in the arrays of the network.
class WholeLevels final : public detail::NetworkStore {
 public:
  WholeLevels(const detail::NetworkPlan& plan, const detail::NetworkArrays& arrays) noexcept
      : plan_(plan), arrays_(arrays) {}

  Expected<NetworkRun> open(int level, int, unsigned) noexcept override {
    const detail::LevelPlan& l = plan_.hierarchy.level(level);
    return NetworkRun{.level = level,
                      .begin = 0,
                      .count = l.hypercolumns(),
                      .weights = arrays_.weights + plan_.layout.weights_of(level, 0, 0),
                      .strong = arrays_.strong + plan_.layout.strong_of(level, 0),
                      .minicolumns = arrays_.minicolumns + l.minicolumns_at,
                      .wins = arrays_.wins + l.minicolumns_at};
  }
  Expected<void> store(const NetworkRun&, unsigned) noexcept override { return {}; }
  // The workers do it together.
  void derive(const NetworkRun&) noexcept override {}

 private:
  const detail::NetworkPlan& plan_;
  const detail::NetworkArrays& arrays_;
};

}  // namespace

Expected<void> CorticalNetwork::save_file(const char* path) const noexcept {
  const State& state = *state_;
  WholeLevels store(state.plan, state.arrays);
  return detail::save_network(path, state.config, state.steps, state.plan, store);
}

Expected<CorticalNetwork> CorticalNetwork::load_file(const char* path, int workers) noexcept {
  struct Maker final : detail::NetworkMaker {
    std::unique_ptr<State> state;
    std::optional<WholeLevels> store;

    Expected<detail::NetworkStore*> make(const CorticalNetworkConfig& config,
                                         std::uint64_t steps) noexcept override {
      OCELLUS_TRY_ASSIGN(made, State::create(config));
      state = std::move(*made);
      state->steps = steps;
      return &store.emplace(state->plan, state->arrays);
    }
  };
  Maker maker;
  OCELLUS_TRY(detail::load_network(path, workers, maker));
  State& state = *maker.state;
  state.run(
      {state.derivation_steps.data(), static_cast<std::size_t>(state.plan.hierarchy.level_count)});
  return CorticalNetwork(maker.state.release());
}

}  // namespace ocellus
