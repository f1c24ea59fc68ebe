#include "cortical_network/placed_cpu.h"

#include "core/failure.h"

namespace ocellus::detail {
namespace {

struct CpuArrays {
  std::uint8_t* cells = nullptr;
  HypercolumnArrays split;
  HypercolumnArrays top;
};

CpuArrays place(const PlacedPlan& plan, int device, LayoutBuilder& builder) noexcept {
  CpuArrays arrays;
  const int split = plan.split_part(device);
  const bool has_pixels = split != PlacedPlan::kNone || plan.cpu_level == 0;
  const Hierarchy& h = plan.hierarchy();
  if (has_pixels) {
    arrays.cells = builder.take<std::uint8_t>(static_cast<std::size_t>(h.width) *
                                              static_cast<std::size_t>(h.height) * kLgnCells);
  }
  if (split != PlacedPlan::kNone)
    arrays.split = plan.part(split).piece(0).place(builder, PlacementKind::kCpu);
  if (plan.top_part != PlacedPlan::kNone)
    arrays.top = plan.part(plan.top_part).piece(0).place(builder, PlacementKind::kCpu);
  return arrays;
}

}  // namespace

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
  OCELLUS_TRY_ASSIGN(memory, engine->take(MemorySpace::kHost, bytes(plan, device)));
  engine_ = engine;
  piece_ = *memory;
  LayoutBuilder builder(piece_, kPieceAlignment);
  const CpuArrays placed = place(plan, device, builder);
  const auto start = [&](int part, const HypercolumnArrays& arrays, CpuLevels& levels) {
    if (part == PlacedPlan::kNone) return;
    const NetworkPiece& piece = plan.part(part).piece(0);
    levels.plan = plan.network;
    piece.apply(levels.plan);
    static_cast<HypercolumnArrays&>(levels.arrays) = arrays;
    levels.arrays.cells = placed.cells;
    levels.arrays.winners = winners.winners;
    levels.arrays.winner_responses = winners.responses;
    levels.scratch = scratch;
    levels.prepare(piece);
    levels.on_each_level<&CpuLevels::start>([&](std::span<const JobStep> steps) { run(steps); });
  };
  start(plan.split_part(device), placed.split, split_);
  start(plan.top_part, placed.top, top_);
  return {};
}

void PlacedCpu::run(std::span<const JobStep> steps) noexcept {
  // Levels of one part, the highest ones, need no other thread.
  std::size_t shared = 0;
  while (shared < steps.size() && steps[shared].parts > 1) ++shared;
  if (shared > 0 && engine_->scheduler().workers() == 1) shared = 0;
  if (shared > 0) {
    Job job;
    job.steps = steps.data();
    job.step_count = static_cast<int>(shared);
    engine_->scheduler().submit(job);
    engine_->scheduler().wait(job, Deadline::never());
  }
  run_here(steps.subspan(shared));
}

void PlacedCpu::step_split(const std::uint8_t* image, std::ptrdiff_t stride, std::uint64_t step,
                           bool learns) noexcept {
  // Without split levels, the levels from the lowest one on are those of step_top().
  CpuLevels& lowest = split_.empty() ? top_ : split_;
  lowest.image = image;
  lowest.stride = stride;
  const JobStep cells = lowest.cells_step();
  run({&cells, 1});
  split_.step = step;
  split_.learns = learns;
  run(split_.level_steps());
}

void PlacedCpu::step_top(std::uint64_t step, bool learns) noexcept {
  top_.step = step;
  top_.learns = learns;
  run(top_.level_steps());
}

}  // namespace ocellus::detail
