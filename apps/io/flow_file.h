// Flow fields in memory and in files: Middlebury .flo, and PFM for the confidence.
#pragma once

#include <string>
#include <vector>

#include "ocellus/optical_flow.h"

namespace ocellus::app {

/// u right, v down, pixels per frame; NaN where unknown. `confidence` may be empty.
struct FlowField {
  ImageSize size;
  std::vector<float> u;
  std::vector<float> v;
  std::vector<float> confidence;

  FlowField() = default;
  FlowField(ImageSize field_size, bool with_confidence);

  std::size_t pixels() const { return u.size(); }
  FlowOutput output();
};

/// Values beyond this are "unknown" in a .flo file; unknown flow is written as 1e10 and read as
/// NaN.
inline constexpr float kUnknownFlow = 1e9f;

/// Throws InputError that names the file and what is wrong with it.
FlowField read_flo(const std::string& path);
void write_flo(const std::string& path, const FlowField& field);

/// One plane of floats, rows from the top.
struct FloatPlane {
  ImageSize size;
  std::vector<float> values;
};
FloatPlane read_pfm(const std::string& path);
void write_pfm(const std::string& path, ImageSize size, const std::vector<float>& values);

}  // namespace ocellus::app
