#include "restoration/filter_file.h"

#include <cmath>
#include <cstring>

#include "core/failure.h"
#include "core/model_writer.h"
#include "restoration_filter_generated.h"

namespace ocellus {
namespace detail {

Expected<void> parse_filter_table(const void* bytes, const ModelHeader& model,
                                  RestorationFilter& filter, FilterFileInfo& info) noexcept {
  OCELLUS_TRY_ASSIGN(verified, model_table<file::RestorationFilter>(kFilterKind, bytes, model));
  const file::RestorationFilter* const table = *verified;
  const int support = table->support();
  if (support < 1 || support > kMaxFilterSupport) {
    return corrupt_file("filter file: support is %d; it must be 1 to %d", support,
                        kMaxFilterSupport);
  }
  const std::uint64_t expected = filter_floats(support) * sizeof(float);
  if (model.array_bytes != expected) {
    return corrupt_file("filter file: there are %llu bytes of coefficients; support %d needs %llu",
                        static_cast<unsigned long long>(model.array_bytes), support,
                        static_cast<unsigned long long>(expected));
  }
  // Comparisons with NaN are false.
  if (!(table->margin() > 0.0f && table->margin() <= 1.0f)) {
    return corrupt_file("filter file: margin is %g; it must be above 0 and at most 1",
                        static_cast<double>(table->margin()));
  }
  if (table->response() > kMaxFilterResponse) {
    return corrupt_file("filter file: response is %d; it must be 0 to %d pixels", table->response(),
                        kMaxFilterResponse);
  }
  const float residual = table->residual();
  if (!(residual >= 0.0f && std::isfinite(residual)) && residual != -1.0f) {
    return corrupt_file("filter file: residual is %g; it must be 0 or more, or -1",
                        static_cast<double>(residual));
  }
  info = {table->margin(), table->response(), residual};
  filter.support = support;
  if (const flatbuffers::String* note = table->note())
    copy_note(filter.note, sizeof(filter.note), note->c_str(), note->size());
  return {};
}

Expected<void> set_coefficients(const float* array, RestorationFilter& filter) noexcept {
  const int m = filter.support;
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    for (const bool back : {false, true}) {
      RestorationFilter::Taps& taps = back ? filter.feedback[q] : filter.feedforward[q];
      for (int i = 0; i < m * m; ++i) {
        const float value = *array++;
        if (!std::isfinite(value)) {
          return corrupt_file("filter file: %c(%d, %d) of quadrant %d is %g; it must be finite",
                              back ? 'b' : 'a', i / m, i % m, static_cast<int>(q),
                              static_cast<double>(value));
        }
        taps[static_cast<std::size_t>(i)] = value;
      }
    }
  }
  return {};
}

Expected<FilterProperties> encode_filter(const RestorationFilter& filter, float residual,
                                         FilterFileBytes& file) noexcept {
  OCELLUS_TRY_ASSIGN(properties, analyze_filter(filter));
  ModelTable table;
  const auto note = table.builder.CreateString(filter.note);
  table.builder.Finish(
      file::CreateRestorationFilter(table.builder, static_cast<std::uint8_t>(filter.support), note,
                                    static_cast<float>(1.0 - properties->largest_root),
                                    static_cast<std::uint16_t>(properties->response), residual));
  const std::uint32_t length = table.builder.GetSize();
  unsigned char* const arrays = file.bytes + model_arrays_at(length);
  unsigned char* to = arrays;
  const std::size_t taps = filter_floats(filter.support) * sizeof(float) / (2 * kFilterQuadrants);
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    for (const RestorationFilter::Taps* const from :
         {&filter.feedforward[q], &filter.feedback[q]}) {
      std::memcpy(to, from->data(), taps);
      to += taps;
    }
  }
  const auto array_bytes = static_cast<std::size_t>(to - arrays);
  write_model_header(kFilterKind, table.builder.GetBufferPointer(), length, array_bytes,
                     XXH64(arrays, array_bytes, 0), file.bytes);
  file.count = static_cast<std::size_t>(to - file.bytes);
  return properties;
}

}  // namespace detail

Expected<RestorationFilter> read_restoration_filter(const char* path,
                                                    FilterFileInfo* info) noexcept {
  if (path == nullptr || path[0] == '\0')
    return detail::invalid_argument("the path of the filter file is empty");
  detail::ModelFile file;
  OCELLUS_TRY(file.open(detail::kFilterKind, path));
  RestorationFilter filter;
  FilterFileInfo table_info;
  const auto read = [&]() noexcept -> Expected<void> {
    alignas(64) unsigned char bytes[detail::model_arrays_at(detail::kFilterKind.max_table_bytes)];
    OCELLUS_TRY_ASSIGN(model, file.header(bytes, sizeof(bytes)));
    OCELLUS_TRY(detail::parse_filter_table(bytes, *model, filter, table_info));
    std::array<float, detail::filter_floats(kMaxFilterSupport)> array;
    OCELLUS_TRY(file.read(array.data(), detail::filter_floats(filter.support) * sizeof(float)));
    return detail::set_coefficients(array.data(), filter);
  };
  if (const Expected<void> done = read(); !done)
    return detail::with_path(detail::kFilterKind, path, done.error());
  if (info != nullptr) *info = table_info;
  return filter;
}

}  // namespace ocellus
