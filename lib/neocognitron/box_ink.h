// BoxInk: the ink of the character in a box that is known beforehand.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/ink_components.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

/// Selects the ink of the character in a box. The ink of the frame is cut off at the box, and what
/// is connected in the box is a piece. The largest piece is kept, and of the others those that may
/// be parts of a broken character. Left out are small pieces that continue outside of the box,
/// because they are parts of neighbors, faint pieces, specks, and dots at the lower end.
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
  struct Piece {
    InkComponent box;
    std::int64_t whole;  // pixels of its component, in the frame
    int cut_rows;        // rows in which its ink continues outside of the box
  };
  void collect(const InkComponents& components, const Rect& box) noexcept;
  void connect(const InkComponents& components) noexcept;
  static float weight(const Piece& piece) noexcept;
  static bool belongs(const Piece& piece, const Piece& main) noexcept;

  InkRun* runs_;   // in the box; the label is the index of the first run of the piece
  int* parents_;   // of each run: a piece is a set
  int* beyond_;    // 1: the run was cut off
  Piece* pieces_;  // for each run that is the first one of a piece
  int run_count_ = 0;
};

}  // namespace ocellus::detail
