// The standard deviation of the flow over a band of rows, for both methods.
#pragma once

#include "image/separable_sweep.h"
#include "optical_flow/cpu/flow_rows.h"
#include "optical_flow/cpu/planes.h"
#include "optical_flow/moving_objects.h"

namespace ocellus::detail {

/// Private buffers of one worker.
struct DeviationScratch {
  RowRing lines;  ///< of the width of the region
  RowRing samples;

  void layout(LayoutBuilder& builder, int width) noexcept {
    lines.layout(builder, 4, width);
    samples.layout(builder, 16, (width + 1) / 2);
  }
  /// Copies every second pixel of a row, which must be readable 2 kRowSlack pixels beyond its end.
  void sample(const float* row, float* to, int width) const noexcept {
    flow_rows().split_row(row, to, samples.row(15), width);
  }
};

/// Columns [x, x + width) of a region.
struct DeviationColumns {
  int x;  ///< even
  int width;
};

/// What the deviation of a region is made of. `derive(y, columns, ix, iy, residual)` must write the
/// samples of these three rows. `flow(y, component)` returns a row of u or v, NaN where it is
/// invalid; it must be readable 2 kRowSlack pixels beyond its end. `texture(y, columns)` returns
/// the texture. `derive` and `texture` may use the first two lines.
template <typename Derive, typename Flow, typename Texture>
struct DeviationSource {
  Derive derive;
  Flow flow;
  Texture texture;
};
template <typename Derive, typename Flow, typename Texture>
DeviationSource(Derive, Flow, Texture) -> DeviationSource<Derive, Flow, Texture>;

/// Computes the deviation of `part` of a region of the size, whose first pixel is a sample, and
/// whose edges are repeated. A result does not depend on the part that it is in. `emit(y,
/// deviation)` receives the pixels of the part in row y. `wanted` is that of sweep_rows. `sweep` is
/// for kDeviationRadius and kDeviationSums planes.
template <typename Source, typename Emit, typename Wanted = EveryRow>
void sweep_deviation(const DeviationModel& model, ImageSize size, const Rect& part,
                     const SweepScratch& sweep, const DeviationScratch& scratch,
                     const Source& source, Emit&& emit, const Wanted& wanted = {}) noexcept {
  SymmetricTaps box;
  box.set_box(kDeviationRadius);
  // The columns that the part depends on.
  DeviationColumns columns;
  columns.x = 2 * std::max(0, part.x / 2 - kDeviationRadius);
  columns.width =
      std::min(size.width, 2 * ((part.x + part.width + 1) / 2 + kDeviationRadius)) - columns.x;
  const int samples = (columns.width + 1) / 2;
  const int begin = part.y;
  const int end = part.y + part.height;
  float* const image[3] = {scratch.samples.row(0), scratch.samples.row(1), scratch.samples.row(2)};
  sweep_separable(
      samples, (size.height + 1) / 2, begin / 2, (end + 1) / 2, kDeviationSums, box, sweep,
      [&](int row, float* const* terms) {
        const int y = 2 * row;
        source.derive(y, columns, image[0], image[1], image[2]);
        DeviationSamples of = {{image[0], image[1], image[2]}, {}};
        for (int c = 0; c < 2; ++c) {
          float* const above = scratch.samples.row(3 + c);
          float* const below = scratch.samples.row(5 + c);
          float* const beside = scratch.samples.row(7 + c);
          scratch.sample(source.flow(std::max(y - 1, 0), c) + columns.x, above, columns.width);
          scratch.sample(source.flow(std::min(y + 1, size.height - 1), c) + columns.x, below,
                         columns.width);
          const float* const here = source.flow(y, c) + columns.x;
          flow_rows().split_row(here, scratch.samples.row(15), beside, columns.width);
          beside[-1] = here[columns.x > 0 ? -1 : 0];
          beside[samples - 1] = here[columns.width - 1];
          of.flow[c] = {beside - 1, beside, above, below};
        }
        flow_rows().deviation_terms_row(of, model.gradient_floor, terms, samples);
      },
      [&](int row, float* const* means) {
        float* const variance = image[0];
        flow_rows().deviation_variance_row(means, model, variance, samples);
        for (int y = wanted(std::max(begin, 2 * row)); y < std::min(end, 2 * row + 2);
             y = wanted(y + 1)) {
          float* const deviation = scratch.lines.row(2);
          flow_rows().deviation_row(variance, source.texture(y, columns), model, deviation,
                                    columns.width);
          emit(y, deviation + part.x - columns.x);
        }
      },
      [&](int row) {
        const int y = wanted(std::max(begin, 2 * row));
        return y < end ? y / 2 : end;
      });
}

/// Computes the deviation in the cells of rows [begin, end) of `roi`, a part of the region, whose
/// motion may be that of an object. The motion must have been taken.
template <typename Source>
void sweep_moving_cells(const DeviationModel& model, ImageSize size, const Rect& roi, int begin,
                        int end, const SweepScratch& sweep, const DeviationScratch& scratch,
                        const Source& source, const MovingObjects& objects) noexcept {
  // Cells side by side share most of their windows, so they are computed together: blocks of this
  // many pixels, with those beside them. If all move, the time is that of the plane.
  constexpr int kBlock = 128;
  const CellGrid& grid = objects.grid();
  const int cells = std::max(1, kBlock / grid.side);
  const auto end_of = [&](int from) { return std::min(from + cells, grid.columns); };
  const auto moves = [&](int from) {
    return objects.moving_row(begin, end, from, end_of(from) - 1) < end;
  };
  for (int first = 0, next = 0; first < grid.columns; first = next) {
    next = end_of(first);
    if (!moves(first)) continue;
    while (next < grid.columns && moves(next)) next = end_of(next);
    const int last = next - 1;
    const int x = grid.sample_x(first);
    const int width = grid.sample_x(last) + 1 - x;
    sweep_deviation(
        model, size, {roi.x + x, roi.y + begin, width, end - begin}, sweep, scratch, source,
        [&](int y, const float* deviation) {
          objects.take_deviation(y - roi.y, x, width, deviation);
        },
        [&](int y) { return roi.y + objects.moving_row(y - roi.y, end, first, last); });
  }
}

}  // namespace ocellus::detail
