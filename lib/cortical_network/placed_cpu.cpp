#include "cortical_network/placed_cpu.h"

#include <algorithm>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

struct CpuArrays {
  std::uint8_t* cells = nullptr;
  PieceArrays split;
  PieceArrays top;
};

CpuArrays place(const PlacedPlan& plan, int device, LayoutBuilder& builder) noexcept {
  CpuArrays arrays;
  const int split = plan.split_part(device);
  const bool has_top = plan.top_part != PlacedPlan::kNone;
  const bool has_pixels = split != PlacedPlan::kNone || plan.cpu_level == 0;
  const Hierarchy& h = plan.hierarchy();
  if (has_pixels) {
    arrays.cells = builder.take<std::uint8_t>(static_cast<std::size_t>(h.width) *
                                              static_cast<std::size_t>(h.height) * kLgnCells);
  }
  if (split != PlacedPlan::kNone)
    arrays.split = plan.part(split).piece(0).place(builder, PlacementKind::kCpu);
  if (has_top) arrays.top = plan.part(plan.top_part).piece(0).place(builder, PlacementKind::kCpu);
  return arrays;
}

/// Parts of the work of a level: those of its runs, one run after another.
int chunks_of(const Hierarchy& hierarchy, const NetworkPiece& piece, int level) noexcept {
  int sum = 0;
  piece.for_each_run(hierarchy, level, [&](const PieceRun& run) {
    sum += parts_of(run.count(), kPartHypercolumns);
    return true;
  });
  return sum;
}

PieceRun chunk_of(const Hierarchy& hierarchy, const NetworkPiece& piece, int level,
                  int part) noexcept {
  PieceRun chunk;
  piece.for_each_run(hierarchy, level, [&](const PieceRun& run) {
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

}  // namespace

PixelRange pixels_of(const NetworkPlan& plan, const NetworkPiece& piece) noexcept {
  const Hierarchy& h = plan.hierarchy;
  const LevelPlan& lowest = h.level(0);
  const SubtreeRects& rects = piece.level(0).rects;
  PixelRange range{h.height, 0, h.width, 0};
  // A contrast cell sees the neighbors of its pixel.
  const int margin = plan.lgn == LgnTransform::kContrast ? 1 : 0;
  for (int i = 0; i < rects.count; ++i) {
    const GridRect& r = rects.rects[static_cast<std::size_t>(i)];
    const CorticalLevel& shape = lowest.shape;
    range.x_begin = std::min(range.x_begin, std::max(r.x * shape.stride_x - margin, 0));
    range.y_begin = std::min(range.y_begin, std::max(r.y * shape.stride_y - margin, 0));
    range.x_end = std::max(
        range.x_end,
        std::min((r.x + r.width - 1) * shape.stride_x + shape.window_width + margin, h.width));
    range.y_end = std::max(
        range.y_end,
        std::min((r.y + r.height - 1) * shape.stride_y + shape.window_height + margin, h.height));
  }
  return range;
}

PlacedCpu::~PlacedCpu() {
  if (engine_) engine_->give_back(MemorySpace::kHost, piece_);
}

std::size_t PlacedCpu::bytes(const PlacedPlan& plan, int device) noexcept {
  LayoutBuilder sizes(nullptr, kPieceAlignment);
  place(plan, device, sizes);
  return sizes.bytes();
}

Expected<void> PlacedCpu::create(const PlacedPlan& plan, int device, const EngineRef& engine,
                                 const PlacedWinners& winners,
                                 const WorkerScratch& scratch) noexcept {
  OCELLUS_TRY_ASSIGN(piece, engine->take(MemorySpace::kHost, bytes(plan, device)));
  engine_ = engine;
  piece_ = *piece;
  scratch_ = scratch;
  LayoutBuilder builder(piece_, kPieceAlignment);
  const CpuArrays arrays = place(plan, device, builder);
  cells_ = arrays.cells;
  split_.pieces = arrays.split;
  top_.pieces = arrays.top;
  prepare(plan, plan.split_part(device), split_, winners);
  prepare(plan, plan.top_part, top_, winners);
  if (cells_ != nullptr) {
    const NetworkPiece* const lowest = plan.cpu_level == 0 ? top_.piece : split_.piece;
    pixels_ = {pixels_of(plan.network, *lowest)};
  }
  starts_ = true;
  run(split_.steps.data(), split_.step_count);
  run(top_.steps.data(), top_.step_count);
  starts_ = false;
  return {};
}

void PlacedCpu::prepare(const PlacedPlan& plan, int number, CpuPart& part,
                        const PlacedWinners& winners) noexcept {
  part.part = number;
  if (number == PlacedPlan::kNone) return;
  const NetworkPiece& piece = plan.part(number).piece(0);
  part.piece = &piece;
  part.plan = plan.network;
  piece.apply(part.plan);
  part.arrays.cells = cells_;
  part.arrays.weights = part.pieces.weights;
  part.arrays.strong = part.pieces.strong;
  part.arrays.minicolumns = part.pieces.minicolumns;
  part.arrays.wins = part.pieces.wins;
  part.arrays.winners = winners.winners;
  part.arrays.winner_responses = winners.responses;
  for (int l = piece.trees().first; l < piece.trees().end; ++l) {
    const auto at = static_cast<std::size_t>(part.step_count++);
    part.jobs[at] = {this, &part, l};
    part.steps[at] = {.run = &PlacedCpu::step_part,
                      .context = &part.jobs[at],
                      .parts = chunks_of(plan.hierarchy(), piece, l)};
  }
}

void PlacedCpu::step_part(void* context, int part, int worker) noexcept {
  const auto [cpu, of, level] = *static_cast<const LevelJob*>(context);
  const PieceRun chunk = chunk_of(of->plan.hierarchy, *of->piece, level, part);
  NetworkArrays arrays = of->arrays;
  arrays.slot_shift = chunk.slot - chunk.begin;
  if (cpu->starts_) {
    for (int h = chunk.begin; h < chunk.end; ++h)
      initialize_hypercolumn(of->plan, level, h, arrays);
    return;
  }
  step_hypercolumns(of->plan, level, chunk.begin, chunk.end, cpu->step_, cpu->learns_, arrays,
                    cpu->scratch_.of(worker));
}

void PlacedCpu::cells_part(void* context, int part, int) noexcept {
  const PlacedCpu& cpu = *static_cast<PlacedCpu*>(context);
  const CpuPart& lowest = cpu.split_.piece != nullptr ? cpu.split_ : cpu.top_;
  lgn_cells(lowest.plan, cpu.image_, cpu.stride_, cpu.pixels_.part(part), cpu.cells_);
}

void PlacedCpu::run(const JobStep* steps, int count) noexcept {
  if (count == 0) return;
  // Levels of one part, the highest ones, need no other thread.
  int shared = 0;
  while (shared < count && steps[shared].parts > 1) ++shared;
  if (engine_->scheduler().workers() == 1) shared = 0;
  if (shared > 0) {
    Job job;
    job.steps = steps;
    job.step_count = shared;
    engine_->scheduler().submit(job);
    engine_->scheduler().wait(job, Deadline::never());
  }
  for (int i = shared; i < count; ++i)
    for (int part = 0; part < steps[i].parts; ++part) steps[i].run(steps[i].context, part, 0);
}

void PlacedCpu::step_split(const std::uint8_t* image, std::ptrdiff_t stride, std::uint64_t step,
                           bool learns) noexcept {
  if (cells_ != nullptr) {
    image_ = image;
    stride_ = stride;
    const JobStep cells{.run = &PlacedCpu::cells_part, .context = this, .parts = pixels_.count()};
    run(&cells, 1);
  }
  step_ = step;
  learns_ = learns;
  run(split_.steps.data(), split_.step_count);
}

void PlacedCpu::step_top(std::uint64_t step, bool learns) noexcept {
  step_ = step;
  learns_ = learns;
  run(top_.steps.data(), top_.step_count);
}

}  // namespace ocellus::detail
