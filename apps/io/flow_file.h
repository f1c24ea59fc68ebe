// Flow fields in memory and in files: Middlebury .flo for the vectors, PFM for the confidence.
#pragma once

#include <string>
#include <vector>

#include "ocellus/optical_flow.h"

namespace ocellus::app {

/// u points right, v points down, in pixels per frame; NaN where unknown. `confidence` and
/// `deviation` may be empty.
struct FlowField {
  ImageSize size;
  std::vector<float> u;
  std::vector<float> v;
  std::vector<float> confidence;
  std::vector<float> deviation;

  FlowField() = default;
  FlowField(ImageSize field_size, bool with_confidence, bool with_deviation = false);

  std::size_t pixels() const { return u.size(); }
  FlowOutput output();
};

/// Copies the values of a plane of floats. Does nothing if it has no data.
void copy_plane(const ImageView& plane, std::vector<float>& to);

/// In a .flo file, values beyond this are "unknown". Unknown flow is written as 1e10 and read as
/// NaN.
inline constexpr float kUnknownFlow = 1e9f;

/// Throws InputError that names the file and the mistake.
FlowField read_flo(const std::string& path);
void write_flo(const std::string& path, const FlowField& field);

/// One plane of floats. The first row is the top one.
struct FloatPlane {
  ImageSize size;
  std::vector<float> values;
};
FloatPlane read_pfm(const std::string& path);
void write_pfm(const std::string& path, ImageSize size, const std::vector<float>& values);

}  // namespace ocellus::app
