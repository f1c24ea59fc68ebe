// Model files of the cortical classifier, written and read as a whole.
#include <cstring>
#include <memory>

#include "core/failure.h"
#include "cortex/model_file.h"
#include "cortex_model_generated.h"
#include "ocellus/cortex_training.h"

namespace ocellus {
namespace {

using namespace detail;

Expected<CortexShape> shape_of(const TrainedCortex& cortex) {
  const Expected<CortexShape> shape =
      make_cortex_shape(cortex.parameters, static_cast<int>(cortex.names.size()));
  if (!shape) return shape;
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
                            cortex.class_bias.data()};
  if (const Expected<void> checked = check_arrays(*shape, values); !checked)
    return invalid_argument("%s", checked.error().text);
  return shape;
}

template <typename T>
void copy_to(const std::vector<T>& from, std::uint8_t* to) {
  std::memcpy(to, from.data(), from.size() * sizeof(T));
}

template <typename T>
void copy_from(const T* from, std::size_t count, std::vector<T>& to) {
  to.assign(from, from + count);
}

}  // namespace

Expected<std::vector<std::uint8_t>> encode_cortex(const TrainedCortex& cortex,
                                                  const std::string& note) noexcept {
  const Expected<CortexShape> shape = shape_of(cortex);
  if (!shape) return tl::unexpected(shape.error());
  const CortexParameters& p = cortex.parameters;
  flatbuffers::FlatBufferBuilder builder(4096);
  std::vector<flatbuffers::Offset<file::CortexLevel>> levels;
  for (int i = 0; i < p.level_count; ++i) {
    const CorticalLevel& level = p.levels[static_cast<std::size_t>(i)];
    levels.push_back(file::CreateCortexLevel(
        builder, static_cast<std::uint16_t>(level.window_width),
        static_cast<std::uint16_t>(level.window_height), static_cast<std::uint16_t>(level.stride_x),
        static_cast<std::uint16_t>(level.stride_y), static_cast<std::uint16_t>(level.minicolumns)));
  }
  std::vector<flatbuffers::Offset<flatbuffers::String>> names;
  for (const std::string& name : cortex.names) names.push_back(builder.CreateString(name));
  builder.Finish(file::CreateCortex(
      builder, static_cast<std::uint16_t>(p.width), static_cast<std::uint16_t>(p.height),
      static_cast<std::uint8_t>(p.lgn_threshold), p.deslant, builder.CreateVector(levels),
      static_cast<std::uint8_t>(p.competitors), p.softness, cortex.sharpness,
      builder.CreateVector(names), builder.CreateString(note)));
  const CortexPlaces places = places_of(*shape);
  const std::uint32_t length = builder.GetSize();
  const std::uint64_t begin = model_arrays_at(length);
  std::vector<std::uint8_t> bytes(begin + places.bytes);
  std::uint8_t* const to = bytes.data() + begin;
  copy_to(cortex.weights, to + places.weights);
  copy_to(cortex.bias, to + places.bias);
  copy_to(cortex.read_out, to + places.read_out);
  copy_to(cortex.class_bias, to + places.class_bias);
  write_model_header(kCortexKind, builder.GetBufferPointer(), length, places.bytes,
                     XXH64(to, places.bytes, 0), bytes.data());
  return bytes;
}

Expected<TrainedCortex> read_cortex(const char* path) noexcept {
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("the path of the cortex model is empty");
  ModelFile file;
  if (Expected<void> opened = file.open(kCortexKind, path); !opened)
    return tl::unexpected(opened.error());
  TrainedCortex cortex;
  const auto read = [&]() -> Expected<void> {
    std::vector<std::uint64_t> room(model_arrays_at(kCortexKind.max_table_bytes) / 8 + 8);
    const Expected<ModelHeader> header = file.header(room.data(), room.size() * 8);
    if (!header) return tl::unexpected(header.error());
    const auto table = std::make_unique<CortexTable>();
    if (Expected<void> parsed = parse_cortex_table(room.data(), *header, *table); !parsed)
      return parsed;
    const CortexShape& shape = table->shape;
    const CortexPlaces places = places_of(shape);
    std::vector<std::uint64_t> bytes(places.bytes / 8 + 1);
    if (Expected<void> done = file.read(bytes.data(), places.bytes); !done) return done;
    const CortexArrays arrays =
        arrays_at(shape, reinterpret_cast<const std::uint8_t*>(bytes.data()));
    if (Expected<void> checked = check_arrays(shape, arrays); !checked) return checked;
    cortex.parameters = shape.parameters;
    cortex.sharpness = table->sharpness;
    const auto classes = static_cast<std::size_t>(shape.classes);
    for (std::size_t c = 0; c < classes; ++c) cortex.names.emplace_back(table->names[c]);
    copy_from(arrays.weights, shape.hierarchy.weights, cortex.weights);
    copy_from(arrays.bias, shape.hierarchy.minicolumns, cortex.bias);
    copy_from(arrays.read_out, shape.hierarchy.minicolumns * classes, cortex.read_out);
    copy_from(arrays.class_bias, classes, cortex.class_bias);
    return {};
  };
  if (const Expected<void> done = read(); !done) return with_path(kCortexKind, path, done.error());
  return cortex;
}

}  // namespace ocellus
