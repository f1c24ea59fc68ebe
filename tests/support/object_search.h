// The search for moving objects in a field, without an operator.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/layout_builder.h"
#include "optical_flow/moving_objects.h"
#include "support/run.h"

namespace ocellus::test {

class ObjectSearch {
 public:
  /// The field has the size of the region of interest.
  explicit ObjectSearch(const OpticalFlowConfig& config)
      : search_(must(detail::make_plan(config))), memory_(nullptr, std::free) {
    detail::LayoutBuilder counted;
    search_.layout(counted);
    memory_.reset(std::aligned_alloc(kMemoryAlignment, counted.bytes()));
    detail::LayoutBuilder layout(memory_.get());
    search_.layout(layout);
  }

  const detail::CellGrid& grid() const { return search_.grid(); }
  /// The objects of one field after the other.
  MovingObjectsRecord find(const FlowOutput& field) {
    MovingObjectsRecord record;
    std::fill_n(search_.samples().deviation, grid().cells(), 0.0f);
    for (int y = 0; y < grid().size.height; ++y) {
      search_.take_motion(y, field.u.row<const float>(y), field.v.row<const float>(y));
      if (field.deviation.data != nullptr)
        search_.take_deviation(y, 0, grid().size.width, field.deviation.row<const float>(y));
    }
    search_.find(record);
    return record;
  }

 private:
  detail::MovingObjects search_;
  std::unique_ptr<void, void (*)(void*)> memory_;
};

}  // namespace ocellus::test
