// Model files of the neocognitron, written and read as a whole: part of ocellus::training.
#include "neocognitron/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "core/failure.h"
#include "neocognitron/half.h"
#include "neocognitron_model_generated.h"
#include "ocellus/neocognitron_training.h"
#include "training/memory.h"
#include "training/network_run.h"

namespace ocellus {
namespace detail {
namespace {

/// The table of a network, or an error if its parts do not fit.
Expected<NeocognitronTable> table_of(const TrainedNeocognitron& network) {
  NeocognitronTable table;
  OCELLUS_TRY(check_parameters(network.parameters));
  table.parameters = network.parameters;
  table.normalization = network.normalization;
  table.planes = network.planes;
  table.classes = static_cast<int>(network.names.size());
  for (std::size_t i = 0; i < network.planes.size(); ++i) {
    const int most = i == 3 ? kMaxReferences : kMaxFeaturePlanes;
    if (network.planes[i] < 1 || network.planes[i] > most) {
      return invalid_argument("neocognitron: stage %zu has %d planes; it must have 1 to %d", i + 1,
                              network.planes[i], most);
    }
    if (network.weights[i].size() != weight_count(table, static_cast<int>(i))) {
      return invalid_argument(
          "neocognitron: stage %zu has %zu weights; it must have %llu", i + 1,
          network.weights[i].size(),
          static_cast<unsigned long long>(weight_count(table, static_cast<int>(i))));
    }
    // A comparison with NaN is false.
    const auto bad = std::find_if(network.weights[i].begin(), network.weights[i].end(),
                                  [](float weight) { return !(std::abs(weight) <= kMostHalf); });
    if (bad != network.weights[i].end()) {
      return invalid_argument("neocognitron: a weight of stage %zu is %g; it must be %g to %g",
                              i + 1, static_cast<double>(*bad), static_cast<double>(-kMostHalf),
                              static_cast<double>(kMostHalf));
    }
  }
  const auto references = static_cast<std::size_t>(network.planes[3]);
  if (network.labels.size() != references || network.lengths.size() != references ||
      !std::is_sorted(network.labels.begin(), network.labels.end()) ||
      network.labels.back() >= network.names.size())
    return invalid_argument("neocognitron: labels, lengths and names do not fit %zu references",
                            references);
  table.has_other = network.has_other;
  if (table.characters() < 1)
    return invalid_argument("neocognitron: there is no class of characters");
  table.has_sizes = !network.sizes.empty();
  if (table.has_sizes && network.sizes.size() != static_cast<std::size_t>(table.characters())) {
    return invalid_argument("neocognitron: there are %zu sizes for %d classes of characters",
                            network.sizes.size(), table.characters());
  }
  Expected<void> checked = check_calibration(network.calibration);
  if (checked) checked = check_odds(network.odds);
  for (const CharacterSize& size : network.sizes)
    if (checked) checked = check_size(size);
  if (!checked) return invalid_argument("neocognitron: %s", checked.error().text);
  return table;
}

}  // namespace

Expected<void> check_network(const TrainedNeocognitron& network) noexcept {
  OCELLUS_TRY(table_of(network));
  return {};
}

}  // namespace detail

Expected<std::vector<std::uint8_t>> encode_neocognitron(const TrainedNeocognitron& network,
                                                        const std::string& note) noexcept {
  using namespace detail;
  OCELLUS_TRY_ASSIGN(table, table_of(network));
  const NeocognitronArrays arrays = arrays_of(*table);

  flatbuffers::FlatBufferBuilder builder(4096);
  std::vector<flatbuffers::Offset<file::NeocognitronStage>> stages;
  for (const NeocognitronStage& stage : network.parameters.stages) {
    stages.push_back(file::CreateNeocognitronStage(builder, stage.threshold, stage.s_radius,
                                                   stage.s_decay, stage.c_radius, stage.c_decay,
                                                   stage.surround, stage.surround_radius));
  }
  const std::vector<std::uint16_t> features{static_cast<std::uint16_t>(network.planes[1]),
                                            static_cast<std::uint16_t>(network.planes[2])};
  std::vector<std::uint16_t> references(network.names.size());
  for (const std::uint16_t label : network.labels) ++references[label];
  std::vector<flatbuffers::Offset<flatbuffers::String>> names;
  for (const std::string& name : network.names) names.push_back(builder.CreateString(name));
  std::vector<flatbuffers::Offset<file::NeocognitronSize>> sizes;
  for (const CharacterSize& size : network.sizes) {
    sizes.push_back(file::CreateNeocognitronSize(builder, size.width, size.height,
                                                 size.width_deviation, size.height_deviation,
                                                 size.correlation));
  }
  const NeocognitronParameters& parameters = network.parameters;
  builder.Finish(file::CreateNeocognitron(
      builder, parameters.center_sigma, parameters.surround_sigma, parameters.contrast_radius,
      parameters.contrast_threshold, parameters.gain, builder.CreateVector(stages),
      network.normalization.extent, network.normalization.deslant, builder.CreateVector(features),
      builder.CreateVector(references), builder.CreateVector(names), builder.CreateString(note),
      file::CreateNeocognitronConfidence(builder, network.calibration.offset,
                                         network.calibration.per_margin,
                                         network.calibration.per_similarity),
      parameters.interpolate, static_cast<std::uint8_t>(parameters.reference_side),
      network.has_other,
      file::CreateNeocognitronOdds(
          builder, builder.CreateVector(network.odds.weights.data(), network.odds.weights.size()),
          network.odds.dropped),
      sizes.empty() ? 0 : builder.CreateVector(sizes)));

  const std::uint32_t length = builder.GetSize();
  const std::uint64_t begin = model_arrays_at(length);
  std::vector<std::uint8_t> bytes(begin + arrays.bytes);
  std::uint8_t* const to = bytes.data() + begin;
  for (std::size_t i = 0; i < arrays.weights.size(); ++i) {
    std::uint8_t* half = to + arrays.weights[i].at;
    for (const float weight : network.weights[i]) {
      const std::uint16_t rounded = half_from_float(weight);
      std::memcpy(half, &rounded, sizeof(rounded));
      half += sizeof(rounded);
    }
  }
  std::memcpy(to + arrays.lengths.at, network.lengths.data(), arrays.lengths.bytes);
  write_model_header(kNeocognitronKind, builder.GetBufferPointer(), length, arrays.bytes,
                     XXH64(to, arrays.bytes, 0), bytes.data());
  return bytes;
}

Expected<TrainedNeocognitron> read_neocognitron(const char* path) noexcept {
  using namespace detail;
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the neocognitron model is empty");
  ModelFile file;
  const std::span<const std::uint8_t> own = library_model(path);
  if (own.empty()) {
    OCELLUS_TRY(file.open(kNeocognitronKind, path));
  }
  TrainedNeocognitron network;
  const auto read = [&]() -> Expected<void> {
    std::vector<std::uint64_t> room(model_arrays_at(kNeocognitronKind.max_table_bytes) / 8 + 8);
    OCELLUS_TRY_ASSIGN(header, own.empty() ? file.header(room.data(), room.size() * 8)
                                           : parse_model_header(kNeocognitronKind, own.data(),
                                                                own.size(), own.size()));
    const auto table = std::make_unique<NeocognitronTable>();
    const void* const begin = own.empty() ? static_cast<const void*>(room.data()) : own.data();
    OCELLUS_TRY(parse_neocognitron_table(begin, *header, *table));
    const NeocognitronArrays arrays = arrays_of(*table);
    if (own.empty()) OCELLUS_TRY(file.verify_arrays());
    // The bytes of the file and, of each weight, a float.
    OCELLUS_TRY(check_memory(kNeocognitronKind.name, 3 * arrays.bytes));
    std::vector<std::uint8_t> bytes(arrays.bytes);
    if (!own.empty())
      std::copy_n(own.data() + header->arrays_at, bytes.size(), bytes.data());
    else
      OCELLUS_TRY(file.read(bytes.data(), bytes.size()));
    network.parameters = table->parameters;
    network.normalization = table->normalization;
    network.planes = table->planes;
    network.calibration = table->calibration;
    network.has_other = table->has_other;
    network.odds = table->odds;
    if (table->has_sizes)
      network.sizes.assign(table->sizes.begin(), table->sizes.begin() + table->characters());
    for (int i = 0; i < table->classes; ++i)
      network.names.emplace_back(table->names[static_cast<std::size_t>(i)]);
    OCELLUS_TRY(check_arrays(*table, bytes.data()));
    for (std::size_t i = 0; i < arrays.weights.size(); ++i) {
      const auto* const halves =
          reinterpret_cast<const std::uint16_t*>(bytes.data() + arrays.weights[i].at);
      network.weights[i].resize(weight_count(*table, static_cast<int>(i)));
      std::transform(halves, halves + network.weights[i].size(), network.weights[i].begin(),
                     float_from_half);
    }
    network.lengths.resize(static_cast<std::size_t>(table->planes[3]));
    std::memcpy(network.lengths.data(), bytes.data() + arrays.lengths.at, arrays.lengths.bytes);
    for (int i = 0; i < table->classes; ++i) {
      const auto references = table->references[static_cast<std::size_t>(i)];
      network.labels.insert(network.labels.end(), static_cast<std::size_t>(references),
                            static_cast<std::uint16_t>(i));
    }
    return {};
  };
  if (const Expected<void> done = read(); !done)
    return with_path(kNeocognitronKind, path, done.error());
  return network;
}

}  // namespace ocellus
