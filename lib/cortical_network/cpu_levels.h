// CpuLevels: levels of a cortical network, or of a part of it, on the CPU. Workers share a level.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "core/scheduler.h"
#include "cortical_network/network_piece.h"

namespace ocellus::detail {

/// Private memory of the workers.
class WorkerScratch {
 public:
  void layout(LayoutBuilder& builder, const Hierarchy& hierarchy, int workers) noexcept;
  void clear() noexcept;
  StepScratch of(int worker, std::uint64_t step = 0, bool learns = false) const noexcept {
    const auto number = static_cast<std::size_t>(worker);
    return {active_ + number * active_each_, patterns_ + number * pattern_each_,
            expected_ + number * expected_each_, step, learns};
  }

 private:
  std::uint16_t* active_ = nullptr;
  std::uint8_t* patterns_ = nullptr;
  std::uint16_t* expected_ = nullptr;
  std::size_t workers_ = 0;
  std::size_t active_each_ = 0;
  std::size_t pattern_each_ = 0;
  std::size_t expected_each_ = 0;
};

/// The steps of jobs that compute the levels. They refer to the object.
class CpuLevels {
 public:
  /// What a step of a job does with hypercolumns of a level.
  using Body = void (*)(const NetworkPlan& plan, int level, int begin, int end,
                        const NetworkArrays& arrays, const StepScratch& scratch) noexcept;

  CpuLevels() noexcept = default;
  CpuLevels(const CpuLevels&) = delete;
  CpuLevels& operator=(const CpuLevels&) = delete;

  NetworkPlan plan;  ///< with the places of the piece
  NetworkArrays arrays;
  WorkerScratch scratch;
  // The step in progress.
  const std::uint8_t* image = nullptr;
  std::ptrdiff_t stride = 0;
  std::uint64_t step = 0;  ///< number of the learning step
  bool learns = false;

  /// `plan` is complete. `piece` must outlive the object.
  void prepare(const NetworkPiece& piece) noexcept;
  bool empty() const noexcept { return piece_ == nullptr; }

  /// The LGN cells of a step, then its levels.
  std::span<const JobStep> steps() const noexcept {
    return {steps_.data(), empty() ? 0 : static_cast<std::size_t>(piece_->trees().end + 1)};
  }
  JobStep cells_step() const noexcept { return steps_[0]; }
  std::span<const JobStep> level_steps() const noexcept {
    if (empty()) return {};
    const auto first = static_cast<std::size_t>(piece_->trees().first + 1);
    return steps().subspan(first);
  }
  /// Another step of a job on a level.
  template <Body kBody>
  JobStep level_step(int level) noexcept {
    LevelJob& job = jobs_[static_cast<std::size_t>(level)];
    job = {this, level};
    return {.run = &CpuLevels::run_part<kBody>, .context = &job, .parts = chunks(level)};
  }
  /// Calls use(steps) with a step of a job for each level.
  template <Body kBody, typename Use>
  void on_each_level(const Use& use) noexcept {
    if (empty()) return;
    std::array<JobStep, kMaxCorticalLevels> made;
    std::size_t count = 0;
    for (int l = piece_->trees().first; l < piece_->trees().end; ++l)
      made[count++] = level_step<kBody>(l);
    use(std::span<const JobStep>(made.data(), count));
  }

 private:
  struct LevelJob {
    CpuLevels* levels = nullptr;
    int level = 0;
  };

  template <Body kBody>
  static void run_part(void* context, int part, int worker) noexcept {
    const auto [levels, level] = *static_cast<const LevelJob*>(context);
    const PieceRun run = levels->chunk(level, part);
    NetworkArrays arrays = levels->arrays;
    arrays.slot_shift = run.slot - run.begin;
    kBody(levels->plan, level, run.begin, run.end, arrays,
          levels->scratch.of(worker, levels->step, levels->learns));
  }
  static void cells_part(void* context, int part, int worker) noexcept;
  /// Parts of the work of a level: those of its runs, one run after another.
  int chunks(int level) const noexcept;
  PieceRun chunk(int level, int part) const noexcept;

  const NetworkPiece* piece_ = nullptr;
  PixelRange pixels_;
  std::array<LevelJob, kMaxCorticalLevels> jobs_{};
  std::array<JobStep, kMaxCorticalLevels + 1> steps_{};
};

/// Runs the steps of a job on the calling thread.
void run_here(std::span<const JobStep> steps) noexcept;

}  // namespace ocellus::detail
