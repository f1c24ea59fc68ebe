// The state of a training: whether it fits a call, and its file.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/failure.h"
#include "core/model_file.h"
#include "neocognitron/geometry.h"
#include "neocognitron_training_generated.h"
#include "training/memory.h"
#include "training/network_run.h"

namespace ocellus {
namespace detail {
namespace {

constexpr ModelKind kTrainingKind{"neotrain", "training checkpoint", 1, 960};

/// A hash of numbers and texts. It does not depend on the padding of structs.
class Hash {
 public:
  template <typename... T>
  Hash& add(T... values) noexcept {
    static_assert((std::is_arithmetic_v<T> && ...));
    (add_bytes(&values, sizeof(values)), ...);
    return *this;
  }
  template <typename T>
  Hash& add(const std::vector<T>& values) noexcept {
    static_assert(std::is_arithmetic_v<T>);
    add(std::uint64_t{values.size()});
    add_bytes(values.data(), values.size() * sizeof(T));
    return *this;
  }
  Hash& add(const std::vector<std::string>& texts) noexcept {
    add(std::uint64_t{texts.size()});
    for (const std::string& text : texts) {
      add(std::uint64_t{text.size()});
      add_bytes(text.data(), text.size());
    }
    return *this;
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  void add_bytes(const void* bytes, std::size_t count) noexcept {
    value_ = XXH64(bytes, count, value_);
  }

  std::uint64_t value_ = 0;
};

void add_parameters(Hash& hash, const NeocognitronParameters& parameters,
                    const PatchNormalization& normalization) {
  hash.add(parameters.center_sigma, parameters.surround_sigma, parameters.contrast_radius,
           parameters.contrast_threshold, parameters.gain, parameters.interpolate);
  // Older states, which have no number for it, have the largest side.
  if (parameters.reference_side != kSimpleSides[3].out) hash.add(parameters.reference_side);
  for (const NeocognitronStage& stage : parameters.stages) {
    hash.add(stage.threshold, stage.s_radius, stage.s_decay, stage.c_radius, stage.c_decay,
             stage.surround, stage.surround_radius);
  }
  hash.add(normalization.extent, normalization.deslant);
}

/// Calls visit(array) for each array of a file, in their order.
template <typename State, typename Visit>
void for_each_array(State& state, const Visit& visit) {
  visit(state.weights[0]);
  visit(state.weights[1]);
  visit(state.references);
  visit(state.squares);
  visit(state.products);
  visit(state.smallest_products);
  visit(state.labels);
}

constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
}

/// The bytes of all arrays, each up to a multiple of 64.
std::uint64_t array_bytes(const TrainingCheckpoint& state) {
  std::uint64_t bytes = 0;
  for_each_array(
      state, [&bytes](const auto& values) { bytes += padded(values.size() * sizeof(values[0])); });
  return bytes;
}

/// The numbers of elements of the arrays, in their order.
using ArrayCounts = std::array<std::uint64_t, 7>;

/// Whether a network can have so many elements, whatever its parameters.
bool is_possible(const ArrayCounts& counts, const file::NeocognitronTraining& from) {
  constexpr std::uint64_t kMostRows = std::uint64_t{kMaxWindowTaps} * kMaxFeaturePlanes;
  const std::uint64_t k2 = from.planes()->Get(0);
  const std::uint64_t k3 = from.planes()->Get(1);
  const std::uint64_t references = from.references();
  return k2 <= kMaxFeaturePlanes && k3 <= kMaxFeaturePlanes && references <= kMaxReferences &&
         counts[0] <= kMaxWindowTaps * kEdgePlanes * k2 && counts[1] <= kMaxWindowTaps * k2 * k3 &&
         from.rows() <= kMostRows && from.products() <= references * references;
}

/// The numbers of the table, and those of the elements, which `available` bytes hold.
Expected<ArrayCounts> parse_table(const file::NeocognitronTraining& from, std::uint64_t available,
                                  TrainingCheckpoint& state) {
  const auto* const planes = from.planes();
  const auto* const weights = from.weights();
  if (planes == nullptr || planes->size() != 2 || weights == nullptr || weights->size() != 2)
    return corrupt_file("training checkpoint: there must be numbers of planes for 2 stages");
  // The verifier does not check the alignment of a vector's elements.
  if (reinterpret_cast<std::uintptr_t>(weights->Data()) % alignof(std::uint64_t) != 0)
    return corrupt_file("training checkpoint: its numbers of weights are not aligned to 8 bytes");
  state.images_hash = from.images_hash();
  state.settings_hash = from.settings_hash();
  state.stage = from.stage();
  state.planes = {planes->Get(0), planes->Get(1)};
  state.position = from.position();
  constexpr std::uint32_t kMost = 1'000'000'000;
  if (from.passes() > kMost || from.added() > kMost || from.references() > kMaxReferences) {
    return corrupt_file("training checkpoint: it has %u passes and %u references", from.passes(),
                        from.references());
  }
  state.passes = static_cast<int>(from.passes());
  state.added = static_cast<int>(from.added());
  const std::uint64_t references = from.references();
  const ArrayCounts counts{weights->Get(0), weights->Get(1), references * from.rows(),
                           references,      from.products(), references,
                           references};
  if (!is_possible(counts, from)) {
    return corrupt_file(
        "training checkpoint: its table has %llu and %llu weights, %u references of %u weights and "
        "%llu products; no network has so many",
        static_cast<unsigned long long>(counts[0]), static_cast<unsigned long long>(counts[1]),
        from.references(), from.rows(), static_cast<unsigned long long>(from.products()));
  }
  std::uint64_t needed = 0;
  std::size_t i = 0;
  for_each_array(state,
                 [&](const auto& values) { needed += padded(counts[i++] * sizeof(values[0])); });
  if (needed != available) {
    return corrupt_file(
        "training checkpoint: there are %llu bytes of arrays, which do not fit its "
        "table",
        static_cast<unsigned long long>(available));
  }
  return counts;
}

}  // namespace

std::uint64_t images_hash(const LabeledImages& images) noexcept {
  Hash hash;
  hash.add(images.width, images.height).add(images.ink).add(images.labels).add(images.names);
  return hash.value();
}

std::uint64_t settings_hash(const NeocognitronTraining& training,
                            const TrainedNeocognitron* from) noexcept {
  Hash hash;
  if (from == nullptr) {
    add_parameters(hash, training.parameters, training.normalization);
    for (const FeatureLearning& stage : training.features) {
      hash.add(stage.threshold, stage.radius, stage.least_input, stage.kill_losers, stage.planes,
               stage.images);
    }
  } else {
    add_parameters(hash, from->parameters, from->normalization);
    hash.add(from->has_other).add(from->names).add(from->labels).add(from->lengths);
    for (const std::vector<float>& weights : from->weights) hash.add(weights);
  }
  hash.add(training.margin, training.references, training.passes, training.copies,
           training.tuning.passes, training.tuning.rate, training.tuning.sharpness,
           training.rotation, training.scale, training.shear, training.bend, training.stroke,
           training.seed, training.calibration_copies);
  hash.add(std::vector<std::string>{training.other});
  return hash.value();
}

Expected<void> check_resume(const TrainingCheckpoint& state, const TrainingCheckpoint& expected,
                            const NeocognitronParameters& parameters, int passes,
                            bool extends) noexcept {
  if (state.images_hash != expected.images_hash)
    return invalid_argument("training: the state to resume comes from other images or labels");
  if (state.settings_hash != expected.settings_hash)
    return invalid_argument("training: the state to resume comes from other settings");
  bool fits = state.stage >= 1 && state.stage <= 3 && state.passes >= 0 && state.passes <= passes &&
              state.added >= 0 && (state.stage == 3 || state.labels.empty());
  int below = kEdgePlanes;
  for (std::size_t f = 0; fits && f < state.planes.size(); ++f) {
    // The stages of a network that learns more are not in the state.
    const bool learned = !extends && state.stage >= static_cast<int>(f) + 2;
    if (!learned) {
      fits = state.planes[f] == 0 && state.weights[f].empty();
      continue;
    }
    const int taps = simple_window(parameters, static_cast<int>(f) + 1).taps;
    fits = state.planes[f] >= 1 && state.planes[f] <= kMaxFeaturePlanes &&
           state.weights[f].size() == static_cast<std::size_t>(taps) *
                                          static_cast<std::size_t>(below) *
                                          static_cast<std::size_t>(state.planes[f]);
    below = state.planes[f];
  }
  if (!fits) return invalid_argument("training: the state to resume does not fit the network");
  return {};
}

}  // namespace detail

std::vector<std::uint8_t> encode_checkpoint(const TrainingCheckpoint& state) noexcept {
  using namespace detail;
  flatbuffers::FlatBufferBuilder builder(512);
  const std::vector<std::uint16_t> planes{static_cast<std::uint16_t>(state.planes[0]),
                                          static_cast<std::uint16_t>(state.planes[1])};
  const std::vector<std::uint64_t> weights{state.weights[0].size(), state.weights[1].size()};
  const auto references = static_cast<std::uint32_t>(state.labels.size());
  builder.Finish(file::CreateNeocognitronTraining(
      builder, state.images_hash, state.settings_hash, static_cast<std::uint8_t>(state.stage),
      builder.CreateVector(planes), builder.CreateVector(weights),
      static_cast<std::uint32_t>(state.passes), state.position,
      static_cast<std::uint32_t>(state.added), references,
      static_cast<std::uint32_t>(references == 0 ? 0 : state.references.size() / references),
      state.products.size()));
  const std::uint32_t length = builder.GetSize();
  const std::uint64_t begin = model_arrays_at(length);
  const std::uint64_t arrays = array_bytes(state);
  std::vector<std::uint8_t> bytes(begin + arrays);
  std::uint8_t* to = bytes.data() + begin;
  for_each_array(state, [&to](const auto& values) {
    const std::size_t count = values.size() * sizeof(values[0]);
    if (count > 0) std::memcpy(to, values.data(), count);
    to += padded(count);
  });
  write_model_header(kTrainingKind, builder.GetBufferPointer(), length, arrays,
                     XXH64(bytes.data() + begin, arrays, 0), bytes.data());
  return bytes;
}

Expected<TrainingCheckpoint> read_checkpoint(const char* path) noexcept {
  using namespace detail;
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the training checkpoint is empty");
  ModelFile file;
  OCELLUS_TRY(file.open(kTrainingKind, path));
  TrainingCheckpoint state;
  const auto read = [&]() -> Expected<void> {
    std::array<std::uint64_t, model_arrays_at(kTrainingKind.max_table_bytes) / 8> room{};
    OCELLUS_TRY_ASSIGN(header, file.header(room.data(), sizeof(room)));
    OCELLUS_TRY_ASSIGN(
        table, model_table<file::NeocognitronTraining>(kTrainingKind, room.data(), *header));
    OCELLUS_TRY_ASSIGN(counts, parse_table(**table, header->array_bytes, state));
    OCELLUS_TRY(file.verify_arrays());
    OCELLUS_TRY(check_memory("training checkpoint", header->array_bytes));
    Expected<void> done;
    std::size_t i = 0;
    for_each_array(state, [&](auto& values) {
      if (!done) return;
      values.resize((*counts)[i++]);
      const std::size_t count = values.size() * sizeof(values[0]);
      if (count > 0) done = file.read(values.data(), count);
      std::array<std::uint8_t, kModelAlignment> rest{};
      if (done && padded(count) > count) done = file.read(rest.data(), padded(count) - count);
    });
    if (!done) return done;
    bool valid = std::all_of(state.squares.begin(), state.squares.end(),
                             [](double square) { return square > 0.0; });
    for_each_array(state, [&valid](const auto& values) {
      for (const auto value : values) valid = valid && std::isfinite(value);
    });
    if (!valid) {
      return corrupt_file(
          "training checkpoint: a number is not finite, or a length is not above 0");
    }
    return {};
  };
  if (const Expected<void> done = read(); !done)
    return with_path(kTrainingKind, path, done.error());
  return state;
}

}  // namespace ocellus
