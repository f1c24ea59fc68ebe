#include "apps/restoration/filter_writer.h"

#include <vector>

#include "apps/io/output_file.h"
#include "core/model_file.h"
#include "restoration/filter_file.h"
#include "restoration_filter_generated.h"

namespace ocellus::app {

FilterProperties write_filter_file(const std::string& path, const RestorationFilter& filter,
                                   double residual) {
  const Expected<FilterProperties> properties = analyze_filter(filter);
  if (!properties) throw InputError(path + ": " + properties.error().text);
  std::vector<float> array;
  const auto taps = static_cast<std::ptrdiff_t>(filter.support * filter.support);
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    for (const RestorationFilter::Taps* const from : {&filter.feedforward[q], &filter.feedback[q]})
      array.insert(array.end(), from->begin(), from->begin() + taps);
  }
  const std::size_t array_bytes = array.size() * sizeof(float);
  flatbuffers::FlatBufferBuilder builder(1024);
  const auto note = builder.CreateString(filter.note);
  builder.Finish(file::CreateRestorationFilter(
      builder, static_cast<std::uint8_t>(filter.support), note,
      static_cast<float>(1.0 - properties->largest_root),
      static_cast<std::uint16_t>(properties->response), static_cast<float>(residual)));
  const std::uint32_t length = builder.GetSize();
  std::vector<unsigned char> header(detail::model_arrays_at(length));
  detail::write_model_header(detail::kFilterKind, builder.GetBufferPointer(), length, array_bytes,
                             XXH64(array.data(), array_bytes, 0), header.data());
  OutputFile output(path);
  output.write(header.data(), header.size());
  output.write(array.data(), array_bytes);
  output.commit();
  return *properties;
}

}  // namespace ocellus::app
