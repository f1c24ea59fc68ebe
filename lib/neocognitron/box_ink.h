// BoxInk: the ink of the character in a box that is known beforehand.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/ink_components.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

/// Selects the ink of the character in a box. Components that lie mostly outside of the box and
/// reach into it are parts of neighbors and are left out. So are components that are much fainter
/// than the strongest one, and specks. A component with a large share of the ink in the box is cut
/// off at the box.
///
/// All memory is taken by the constructor.
class BoxInk {
 public:
  /// For components with these capacities.
  BoxInk(const InkComponents& components, LayoutBuilder& memory) noexcept;

  /// The runs of the character, by rows and from left to right, cut off at the box. They are valid
  /// until the next call.
  std::span<const InkRun> select(const InkComponents& components, const Rect& box) noexcept;

 private:
  struct Inside {
    std::int64_t area;  // pixels in the box
  };
  static float weight(const InkComponent& component, const Inside& inside) noexcept;
  static bool belongs(const InkComponent& component, const Inside& inside, const InkComponent& main,
                      const Inside& main_inside) noexcept;

  InkRun* runs_;
  Inside* insides_;  // for each component
};

}  // namespace ocellus::detail
