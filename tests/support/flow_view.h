// A flow field in vectors as the view that the library takes.
#pragma once

#include <vector>

#include "ocellus/optical_flow.h"
#include "support/plane.h"

namespace ocellus::test {

/// The planes have no padding. `deviation` may be empty: the field has no such plane.
inline FlowOutput flow_view(ImageSize size, std::vector<float>& u, std::vector<float>& v,
                            std::vector<float>& deviation) {
  const std::ptrdiff_t stride = size.width * static_cast<std::ptrdiff_t>(sizeof(float));
  FlowOutput flow;
  flow.u = float_plane(u.data(), size, stride);
  flow.v = float_plane(v.data(), size, stride);
  if (!deviation.empty()) flow.deviation = float_plane(deviation.data(), size, stride);
  return flow;
}

}  // namespace ocellus::test
