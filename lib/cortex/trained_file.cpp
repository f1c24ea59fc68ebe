// Model files of the cortical classifier, written and read as a whole: part of ocellus::training.
#include <cstring>
#include <memory>
#include <string_view>

#include "core/failure.h"
#include "cortex/model_file.h"
#include "cortex_model_generated.h"
#include "ocellus/cortex_training.h"
#include "training/memory.h"

namespace ocellus {
namespace {

using namespace detail;

Expected<CortexShape> shape_of(const TrainedCortex& cortex) {
  OCELLUS_TRY_ASSIGN(shape,
                     make_cortex_shape(cortex.parameters, static_cast<int>(cortex.names.size())));
  const std::size_t classes = cortex.names.size();
  const struct {
    const char* name;
    std::size_t size;
    std::size_t expected;
  } arrays[] = {
      {"weights", cortex.weights.size(), shape->hierarchy.weights},
      {"bias", cortex.bias.size(), shape->hierarchy.minicolumns},
      {"read_out", cortex.read_out.size(), shape->hierarchy.minicolumns * classes},
      {"class_bias", cortex.class_bias.size(), classes},
      {"fields", cortex.fields.size(), shape->field_elements()},
  };
  for (const auto& array : arrays) {
    if (array.size == array.expected) continue;
    return invalid_argument("cortex: %s has %zu elements; it must have %zu", array.name, array.size,
                            array.expected);
  }
  for (const std::string& name : cortex.names) {
    if (is_class_name(name)) continue;
    return invalid_argument(
        "cortex: the name \"%.*s\" of a class must have 1 to %zu printable characters", shown(name),
        name.c_str(), kMaxClassName);
  }
  if (!is_sharpness(cortex.sharpness)) {
    return invalid_argument("cortex: sharpness is %g; it must be above 0, at most 1000",
                            static_cast<double>(cortex.sharpness));
  }
  const CortexArrays values{cortex.weights.data(), cortex.bias.data(), cortex.read_out.data(),
                            cortex.class_bias.data(), cortex.fields.data()};
  if (const Expected<void> checked = check_arrays(*shape, values); !checked)
    return invalid_argument("%s", checked.error().text);
  const std::size_t probabilities = cortex.probabilities.size();
  if (probabilities == 0) return shape;
  if (probabilities != shape->hierarchy.weights) {
    return invalid_argument("cortex: probabilities has %zu elements; it must have 0 or %zu",
                            probabilities, shape->hierarchy.weights);
  }
  if (const Expected<void> checked =
          check_probabilities(cortex.probabilities.data(), probabilities);
      !checked)
    return invalid_argument("%s", checked.error().text);
  return shape;
}

template <typename T>
void copy_to(const std::vector<T>& from, std::uint8_t* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
}

template <typename T>
void copy_from(const T* from, std::size_t count, std::vector<T>& to) {
  to.assign(from, from + count);
}

}  // namespace

Expected<std::vector<std::uint8_t>> encode_cortex(const TrainedCortex& cortex,
                                                  const std::string& note) noexcept {
  OCELLUS_TRY_ASSIGN(shape, shape_of(cortex));
  const bool learns = !cortex.probabilities.empty();
  flatbuffers::FlatBufferBuilder builder(4096);
  const std::vector<std::string_view> names(cortex.names.begin(), cortex.names.end());
  build_cortex_table(builder, shape->parameters, cortex.rule, cortex.sharpness, names, note,
                     learns);
  const CortexPlaces places = places_of(*shape, learns);
  const std::uint32_t length = builder.GetSize();
  const std::uint64_t begin = model_arrays_at(length);
  std::vector<std::uint8_t> bytes(begin + places.bytes);
  std::uint8_t* const to = bytes.data() + begin;
  copy_to(cortex.weights, to + places.weights);
  copy_to(cortex.bias, to + places.bias);
  copy_to(cortex.read_out, to + places.read_out);
  copy_to(cortex.class_bias, to + places.class_bias);
  copy_to(cortex.fields, to + places.fields);
  if (learns) copy_to(cortex.probabilities, to + places.probabilities);
  write_model_header(kCortexKind, builder.GetBufferPointer(), length, places.bytes,
                     XXH64(&bytes[begin], places.bytes, 0), bytes.data());
  return bytes;
}

Expected<TrainedCortex> read_cortex(const char* path) noexcept {
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the cortex model is empty");
  ModelFile file;
  OCELLUS_TRY(file.open(kCortexKind, path));
  TrainedCortex cortex;
  const auto read = [&]() -> Expected<void> {
    std::vector<std::uint64_t> room(model_arrays_at(kCortexKind.max_table_bytes) / 8 + 8);
    OCELLUS_TRY_ASSIGN(header, file.header(room.data(), room.size() * 8));
    const auto table = std::make_unique<CortexTable>();
    OCELLUS_TRY(parse_cortex_table(room.data(), *header, *table));
    const CortexShape& shape = table->shape;
    const CortexPlaces places = places_of(shape, table->probabilities);
    OCELLUS_TRY(file.verify_arrays());
    // The bytes of the file and the arrays of the model.
    OCELLUS_TRY(check_memory(kCortexKind.name, 2 * places.bytes));
    std::vector<std::uint64_t> bytes(places.bytes / 8 + 1);
    OCELLUS_TRY(file.read(bytes.data(), places.bytes));
    auto* const begin = reinterpret_cast<std::uint8_t*>(bytes.data());
    const CortexArrays arrays = arrays_at(shape, begin);
    OCELLUS_TRY(check_arrays(shape, arrays));
    cortex.parameters = shape.parameters;
    cortex.rule = table->rule;
    cortex.sharpness = table->sharpness;
    const auto classes = static_cast<std::size_t>(shape.classes);
    for (std::size_t c = 0; c < classes; ++c) cortex.names.emplace_back(table->names[c]);
    copy_from(arrays.weights, shape.hierarchy.weights, cortex.weights);
    copy_from(arrays.bias, shape.hierarchy.minicolumns, cortex.bias);
    copy_from(arrays.read_out, shape.hierarchy.minicolumns * classes, cortex.read_out);
    copy_from(arrays.class_bias, classes, cortex.class_bias);
    copy_from(arrays.fields, shape.field_elements(), cortex.fields);
    if (!table->probabilities) return {};
    copy_from(learning_arrays_at(shape, begin).probabilities, shape.hierarchy.weights,
              cortex.probabilities);
    return check_probabilities(cortex.probabilities.data(), cortex.probabilities.size());
  };
  if (const Expected<void> done = read(); !done) return with_path(kCortexKind, path, done.error());
  return cortex;
}

}  // namespace ocellus
