#include "cortical_network/cpu_levels.h"

#include <algorithm>

namespace ocellus::detail {
namespace {

/// Hypercolumns and pixels of a part of the work that one worker takes.
constexpr int kPartHypercolumns = 4 * kHypercolumnBatch;
constexpr int kPartPixels = 1 << 16;

constexpr int parts_of(int count, int size) noexcept {
  return (count + size - 1) / size;
}

/// Parts of a rectangle of pixels.
struct PixelParts {
  PixelRange all;

  int width() const noexcept { return all.x_end - all.x_begin; }
  int height() const noexcept { return all.y_end - all.y_begin; }
  int columns() const noexcept { return std::min(width(), kPartPixels); }
  int rows() const noexcept { return std::max(kPartPixels / width(), 1); }
  int count() const noexcept { return parts_of(width(), columns()) * parts_of(height(), rows()); }
  PixelRange part(int number) const noexcept {
    const int across = parts_of(width(), columns());
    const int x = all.x_begin + number % across * columns();
    const int y = all.y_begin + number / across * rows();
    return {y, std::min(y + rows(), all.y_end), x, std::min(x + columns(), all.x_end)};
  }
};

}  // namespace

void WorkerScratch::layout(LayoutBuilder& builder, const Hierarchy& hierarchy,
                           int workers) noexcept {
  workers_ = static_cast<std::size_t>(workers);
  active_each_ = static_cast<std::size_t>(hierarchy.most_inputs) * kHypercolumnBatch;
  pattern_each_ =
      align_up(static_cast<std::size_t>(padded_inputs(hierarchy.most_inputs)), kMemoryAlignment);
  expected_each_ = static_cast<std::size_t>(hierarchy.most_minicolumns);
  active_ = builder.take<std::uint16_t>(workers_ * active_each_);
  patterns_ = builder.take<std::uint8_t>(workers_ * pattern_each_);
  expected_ = builder.take<std::uint16_t>(workers_ * expected_each_);
}

void WorkerScratch::clear() noexcept {
  std::fill_n(patterns_, workers_ * pattern_each_, std::uint8_t{0});
  std::fill_n(active_, workers_ * active_each_, std::uint16_t{0});
}

void CpuLevels::prepare(const NetworkPiece& piece) noexcept {
  piece_ = &piece;
  if (piece.trees().first == 0) {
    pixels_ = pixels_of(plan, piece);
    steps_[0] = {
        .run = &CpuLevels::cells_part, .context = this, .parts = PixelParts{pixels_}.count()};
  }
  for (int l = piece.trees().first; l < piece.trees().end; ++l)
    steps_[static_cast<std::size_t>(l + 1)] = level_step<&step_hypercolumns>(l);
}

int CpuLevels::chunks(int level) const noexcept {
  int sum = 0;
  piece_->for_each_run(plan.hierarchy, level, [&](const PieceRun& run) {
    sum += parts_of(run.count(), kPartHypercolumns);
    return true;
  });
  return sum;
}

PieceRun CpuLevels::chunk(int level, int part) const noexcept {
  PieceRun chunk;
  piece_->for_each_run(plan.hierarchy, level, [&](const PieceRun& run) {
    const int chunks = parts_of(run.count(), kPartHypercolumns);
    if (part >= chunks) {
      part -= chunks;
      return true;
    }
    const int skipped = part * kPartHypercolumns;
    chunk = {run.begin + skipped, std::min(run.begin + skipped + kPartHypercolumns, run.end),
             run.slot + skipped};
    return false;
  });
  return chunk;
}

void CpuLevels::cells_part(void* context, int part, int) noexcept {
  const CpuLevels& levels = *static_cast<CpuLevels*>(context);
  lgn_cells(levels.plan, levels.image, levels.stride, PixelParts{levels.pixels_}.part(part),
            levels.arrays.cells);
}

void run_here(std::span<const JobStep> steps) noexcept {
  for (const JobStep& step : steps)
    for (int part = 0; part < step.parts; ++part) step.run(step.context, part, 0);
}

}  // namespace ocellus::detail
