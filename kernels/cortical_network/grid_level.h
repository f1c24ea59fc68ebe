// A level of a hierarchy of hypercolumns as kernels take it.
#pragma once

#include "cortical_network/hierarchy.h"

namespace ocellus::cuda {

/// As detail::LevelPlan.
struct GridLevel {
  int hypercolumns;
  int first;  ///< number of the level's first hypercolumn, counted over all levels
  int columns;
  int stride_x;
  int stride_y;
  int window_width;
  int window_height;
  int below_first;  ///< `first` of the level below; -1: the pixels of the image are below
  int below_columns;
  int below_cells;
  int inputs;
  int minicolumns;
  int padded;  ///< minicolumns
};

inline GridLevel grid_level(const detail::Hierarchy& hierarchy, int level) noexcept {
  const detail::LevelPlan& l = hierarchy.level(level);
  return {.hypercolumns = l.hypercolumns(),
          .first = l.first,
          .columns = l.columns,
          .stride_x = l.shape.stride_x,
          .stride_y = l.shape.stride_y,
          .window_width = l.shape.window_width,
          .window_height = l.shape.window_height,
          .below_first = level == 0 ? -1 : hierarchy.level(level - 1).first,
          .below_columns = l.below_columns,
          .below_cells = l.below_cells,
          .inputs = l.inputs,
          .minicolumns = l.shape.minicolumns,
          .padded = l.stride};
}

}  // namespace ocellus::cuda
