#include "cortical_network/operator_plan.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/checks.h"
#include "core/failure.h"

namespace ocellus::detail {
namespace {

constexpr RecordInfo kRecord = patch_record_info("network");

/// The steps of a frame have their memory in the engine.
constexpr int kMostFeedbackSteps = 1 << 16;
constexpr std::int64_t kMostPatchPixels = 1 << 30;

Expected<CorticalNetworkConfig> new_network(const NetworkConfig& config) noexcept {
  CorticalNetworkConfig made;
  made.width = config.width;
  made.height = config.height;
  made.lgn = config.lgn;
  made.lgn_threshold = config.lgn_threshold;
  made.learning = config.learning;
  made.seed = static_cast<std::uint64_t>(config.seed);
  const char* text = config.levels.c_str();
  for (;;) {
    if (made.level_count == kMaxCorticalLevels)
      return invalid_argument("levels has more than %d levels", kMaxCorticalLevels);
    const char* const end =
        parse_level(text, made.levels[static_cast<std::size_t>(made.level_count++)]);
    if (end == nullptr || (*end != ',' && *end != '\0')) {
      return invalid_argument(
          "levels: level %d is not valid; it must be the window, the stride and the number of "
          "minicolumns, such as 3x3/1x1:64",
          made.level_count);
    }
    if (*end == '\0') return made;
    text = end + 1;
  }
}

/// Arrays that have the whole network, for files.
struct WholeNetwork final : NetworkStore {
  WholeNetwork(const NetworkPlan& of, const HypercolumnArrays& at) noexcept
      : plan(of), arrays(at) {}
  Expected<NetworkRun> open(int level, int, unsigned) noexcept override {
    return whole_level(plan, arrays, level);
  }

  const NetworkPlan& plan;
  const HypercolumnArrays& arrays;
};

Expected<std::unique_ptr<NetworkReader>> make_reader(const NetworkOperatorPlan& plan,
                                                     bool verify) noexcept {
  std::unique_ptr<NetworkReader> file(new (std::nothrow) NetworkReader);
  if (file == nullptr) return no_memory_for_operator();
  OCELLUS_TRY(file->open(plan.model.c_str(), 1, verify));
  return file;
}

/// Writes the first `used` bytes of each row of `pitch` bytes.
Expected<void> write_rows(ModelWriter& writer, OperatorInstance& instance, std::uint64_t at,
                          std::uint64_t rows, std::size_t used, std::size_t pitch) noexcept {
  alignas(8) std::uint8_t piece[16384];
  const std::uint64_t end = rows * pitch;
  for (std::uint64_t begin = 0; begin < end; begin += sizeof(piece)) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(sizeof(piece), end - begin));
    OCELLUS_TRY(instance.read_learned(piece, at + begin, count));
    for (std::size_t i = 0; i < count;) {
      const auto column = static_cast<std::size_t>((begin + i) % pitch);
      const std::size_t length = std::min(pitch - column, count - i);
      if (column < used) OCELLUS_TRY(writer.write(piece + i, std::min(length, used - column)));
      i += length;
    }
  }
  return {};
}

}  // namespace

Expected<void> make_plan(const NetworkConfig& config, NetworkOperatorPlan& plan) noexcept {
  OCELLUS_TRY(plan_patches(config, plan));
  if (config.model.empty()) {
    OCELLUS_TRY_ASSIGN(network, new_network(config));
    plan.network = *network;
  } else {
    OCELLUS_TRY_ASSIGN(file, make_reader(plan, false));
    plan.network = (*file)->config();
    plan.read_out = (*file)->read_out();
    plan.array_hash = (*file)->array_hash();
  }
  OCELLUS_TRY(make_network_plan(plan.network, plan.plan));
  // A file that is saved keeps its own.
  plan.plan.feedback_rounds = config.learn ? 0 : config.feedback_rounds;
  plan.plan.feedback_tolerance = config.feedback_tolerance;
  OCELLUS_TRY(check_number("width", plan.network.width, 1, kMaxImageSide));
  OCELLUS_TRY(check_number("height", plan.network.height, 1, kMaxImageSide));
  OCELLUS_TRY(check_number("pixels of all patches",
                           std::int64_t{plan.patches} * plan.network.width * plan.network.height, 1,
                           kMostPatchPixels));
  return check_number("feedback_rounds * levels * patches",
                      plan.plan.feedback_rounds * plan.network.level_count * plan.patches, 0,
                      kMostFeedbackSteps);
}

OperatorInfo info_of(const NetworkOperatorPlan& plan) noexcept {
  const Hierarchy& hierarchy = plan.plan.hierarchy;
  OperatorInfo info = patch_info(plan, kRecord, hierarchy, plan.read_out.classes);
  info.planes[0] = {
      "winners", {hierarchy.hypercolumns, plan.patches}, PixelFormat::kFloat32, false};
  return info;
}

NetworkModelArrays model_arrays_at(const NetworkOperatorPlan& plan, std::uint8_t* bytes) noexcept {
  const Hierarchy& hierarchy = plan.plan.hierarchy;
  const auto classes = static_cast<std::size_t>(plan.read_out.classes);
  LayoutBuilder builder(bytes);
  NetworkModelArrays arrays;
  arrays.steps = builder.take<std::uint64_t>(2);
  arrays.place(builder, hierarchy.weights, hierarchy.strong, hierarchy.minicolumns);
  arrays.class_bias = builder.take<std::int32_t>(classes);
  arrays.read_out = builder.take<std::int16_t>(classes * read_out_rows(hierarchy));
  arrays.bytes = builder.bytes();
  return arrays;
}

OperatorInstance::Learned learned_of(const NetworkOperatorPlan& plan) noexcept {
  if (!plan.learn) return {};
  const NetworkPlan& p = plan.plan;
  // The arrays have what follows from the weights by the constants of learning.
  return {model_arrays_at(plan, nullptr).bytes,
          arrangement_of(
              {plan.network.width, plan.network.height, p.potentiation, p.depression, p.stable_wins,
               plan.read_out.classes},
              {plan.network.levels.data(), static_cast<std::size_t>(plan.network.level_count)})};
}

Expected<void> verify_network_file(const NetworkOperatorPlan& plan) noexcept {
  if (plan.model.empty()) return {};
  OCELLUS_TRY(make_reader(plan, true));
  return {};
}

Expected<void> read_network(const NetworkOperatorPlan& plan, std::uint8_t* to) noexcept {
  const NetworkModelArrays model = model_arrays_at(plan, to);
  std::memset(to, 0, model.bytes);
  const auto count = static_cast<std::size_t>(plan.plan.hierarchy.hypercolumns);
  const std::unique_ptr<std::int32_t[]> winners(new (std::nothrow) std::int32_t[count]);
  const std::unique_ptr<std::int64_t[]> responses(new (std::nothrow) std::int64_t[count]);
  if (winners == nullptr || responses == nullptr) return no_memory_for_operator();
  NetworkArrays arrays;
  static_cast<HypercolumnArrays&>(arrays) = model;
  arrays.winners = winners.get();
  arrays.winner_responses = responses.get();
  if (!plan.model.empty()) {
    OCELLUS_TRY_ASSIGN(opened, make_reader(plan, false));
    NetworkReader& file = **opened;
    if (file.array_hash() != plan.array_hash) {
      return with_path(
          kCorticalNetworkKind, plan.model.c_str(),
          make_error(Status::kCorruptFile, "cortical network: it changed while it was read"));
    }
    WholeNetwork store(plan.plan, arrays);
    OCELLUS_TRY(file.read(store));
    OCELLUS_TRY(file.read_read_out(model.class_bias, model.read_out));
    *model.steps = file.steps();
  }
  for (int level = 0; level < plan.plan.hierarchy.level_count; ++level) {
    (plan.model.empty() ? initialize_hypercolumns : derive_hypercolumns)(
        plan.plan, level, 0, plan.plan.hierarchy.level(level).hypercolumns, arrays, {});
  }
  return {};
}

Expected<void> save_network(const char* path, const NetworkOperatorPlan& plan,
                            OperatorInstance& instance) noexcept {
  const Hierarchy& hierarchy = plan.plan.hierarchy;
  // Where the arrays begin, by a place that nothing reads.
  alignas(kMemoryAlignment) std::uint8_t base[kMemoryAlignment];
  const NetworkModelArrays model = model_arrays_at(plan, base);
  const auto place_of = [&base](const void* array) {
    return static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(array) - base);
  };
  std::uint64_t steps = 0;
  OCELLUS_TRY(instance.read_learned(&steps, place_of(model.steps), sizeof(steps)));
  ModelWriter writer;
  OCELLUS_TRY(open_network(writer, path, plan.network, steps, plan.read_out));
  for (int level = 0; level < hierarchy.level_count; ++level) {
    const LevelPlan& l = hierarchy.level(level);
    OCELLUS_TRY(write_rows(
        writer, instance, place_of(model.weights) + l.weights_at * sizeof(std::uint16_t),
        static_cast<std::uint64_t>(l.hypercolumns) * static_cast<std::uint64_t>(l.minicolumns),
        static_cast<std::size_t>(l.inputs) * sizeof(std::uint16_t),
        static_cast<std::size_t>(l.pitch) * sizeof(std::uint16_t)));
  }
  OCELLUS_TRY(writer.align());
  for (int level = 0; level < hierarchy.level_count; ++level) {
    const LevelPlan& l = hierarchy.level(level);
    OCELLUS_TRY(write_rows(writer, instance, place_of(model.wins) + l.minicolumns_at,
                           static_cast<std::uint64_t>(l.hypercolumns),
                           static_cast<std::size_t>(l.minicolumns),
                           static_cast<std::size_t>(l.padded)));
  }
  if (plan.read_out.classes > 0) {
    const auto write = [&](const void* array, std::size_t bytes) -> Expected<void> {
      OCELLUS_TRY(writer.align());
      return write_rows(writer, instance, place_of(array), 1, bytes, bytes);
    };
    const auto classes = static_cast<std::size_t>(plan.read_out.classes);
    OCELLUS_TRY(write(model.class_bias, classes * sizeof(std::int32_t)));
    OCELLUS_TRY(write(model.read_out, classes * read_out_rows(hierarchy) * sizeof(std::int16_t)));
  }
  return writer.finish();
}

}  // namespace ocellus::detail
