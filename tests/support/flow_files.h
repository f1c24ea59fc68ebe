// Reads ground truth from 8-bit PGM and Middlebury .flo files, and computes the usual errors.
#pragma once

#include <cctype>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "support/plane.h"

namespace ocellus::test {

/// Returns nothing if the file is missing or is not a binary 8-bit PGM.
inline std::optional<PlaneD> read_pgm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  if (!(file >> magic) || magic != "P5") return std::nullopt;
  int numbers[3] = {};
  for (int& number : numbers) {
    while (file >> std::ws && file.peek() == '#') {
      std::string comment;
      std::getline(file, comment);
    }
    if (!(file >> number)) return std::nullopt;
  }
  if (numbers[0] < 1 || numbers[1] < 1 || numbers[2] != 255) return std::nullopt;
  file.get();
  PlaneD plane(numbers[0], numbers[1]);
  std::vector<char> bytes(plane.data.size());
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    plane.data[i] = static_cast<unsigned char>(bytes[i]);
  return plane;
}

/// A sequence of the test data with the true flow of one frame.
struct FlowSequence {
  const char* name;
  const char* frames;  ///< pattern of the numbered PGM files
  int first;           ///< number of the first frame
  int last;
  int described;  ///< the truth is the flow from this frame to the next one
  const char* truth;
  int border;  ///< pixels that are usually left out on all sides
};
inline constexpr FlowSequence kFlowSequences[] = {
    {"RubberWhale", "flow/RubberWhale/frame%02d.pgm", 7, 14, 10, "flow/RubberWhale/flow10.flo", 0},
    {"Hydrangea", "flow/Hydrangea/frame%02d.pgm", 7, 14, 10, "flow/Hydrangea/flow10.flo", 0},
    {"Grove2", "flow/Grove2/frame%02d.pgm", 7, 14, 10, "flow/Grove2/flow10.flo", 0},
    {"Sintel alley", "flow/sintel_alley/frame_%04d.pgm", 1, 4, 2, "flow/sintel_alley/flow_0002.flo",
     0},
    {"Yosemite", "flow/yosemite/yos%02d.pgm", 2, 16, 9, "flow/yosemite/flow09.flo", 12},
};

struct FlowField {
  PlaneF u;
  PlaneF v;
};

inline std::optional<FlowField> read_flo(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  float magic = 0.0f;
  std::int32_t size[2] = {};
  if (!file.read(reinterpret_cast<char*>(&magic), 4) || magic != 202021.25f) return std::nullopt;
  if (!file.read(reinterpret_cast<char*>(size), 8) || size[0] < 1 || size[1] < 1)
    return std::nullopt;
  FlowField field{PlaneF(size[0], size[1]), PlaneF(size[0], size[1])};
  for (std::size_t i = 0; i < field.u.data.size(); ++i) {
    float pair[2];
    if (!file.read(reinterpret_cast<char*>(pair), 8)) return std::nullopt;
    field.u.data[i] = pair[0];
    field.v.data[i] = pair[1];
  }
  return field;
}

inline double end_point_error(double u, double v, double true_u, double true_v) {
  return std::hypot(u - true_u, v - true_v);
}

/// The angle between (u, v, 1) and the true (u, v, 1) in degrees.
inline double angular_error(double u, double v, double true_u, double true_v) {
  const double dot =
      (u * true_u + v * true_v + 1.0) /
      (std::sqrt(u * u + v * v + 1.0) * std::sqrt(true_u * true_u + true_v * true_v + 1.0));
  return std::acos(std::clamp(dot, -1.0, 1.0)) * 180.0 / std::numbers::pi;
}

}  // namespace ocellus::test
