// Neocognitron on the CPU: workers take halves of fields when ink is found, fields when characters
// are found, and candidates when they are recognized.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "core/cpu_operator.h"
#include "core/failure.h"
#include "image/gray_rows.h"
#include "neocognitron/character_reader.h"
#include "neocognitron/cpu/layers.h"
#include "neocognitron/model_source.h"
#include "neocognitron/references.h"

namespace ocellus::detail {
namespace {

/// A neocognitron in the memory of an engine. It recognizes one character at a time.
class CpuNetwork {
 public:
  /// Memory of a worker.
  struct Scratch {
    std::array<ActiveCells, kNeocognitronStages> cells;  ///< UG, UC1 to UC3
    float* v = nullptr;
    ComplexScratch complex;
    float* simple_cells = nullptr;
    std::uint8_t* any = nullptr;
    float* similarities = nullptr;
  };

  /// Takes the memory. `max_active`: share of the cells of UG and of the C-layers that may be
  /// active. `plan` must outlive the object.
  void layout(const ModelPlan& plan, float max_active, LayoutBuilder& memory) noexcept {
    plan_ = &plan;
    max_active_ = max_active;
    const NeocognitronTable& table = plan.table;
    contrast_ = contrast_window(table.parameters);
    for (int stage = 0; stage < kNeocognitronStages; ++stage) {
      const auto i = static_cast<std::size_t>(stage);
      simple_windows_[i] = simple_window(table.parameters, stage);
      if (i < complex_windows_.size())
        complex_windows_[i] = complex_window(table.parameters, stage);
      layers_[i] = {&simple_windows_[i], planes_below(table, stage), table.planes[i],
                    table.parameters.stages[i].threshold, table.parameters.gain};
      weights_[i] = memory.take<std::uint16_t>(layers_[i].weight_count());
      layers_[i].weights = weights_[i];
    }
    classes_.layout(table, memory);
  }

  void layout(Scratch& scratch, LayoutBuilder& memory) const noexcept {
    std::size_t positions = 0;
    std::size_t simple = 0;
    std::size_t row_sums = 0;
    std::size_t active = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const int side = kSimpleSides[i].in;
      const std::uint32_t most = active_capacity(plan_->table, static_cast<int>(i), max_active_);
      scratch.cells[i] = {side,
                          layers_[i].in_planes,
                          memory.take<std::uint32_t>(squared(side) + 1),
                          memory.take<std::uint16_t>(most),
                          memory.take<float>(most),
                          memory.take<float>(squared(side)),
                          most};
      const auto stride = static_cast<std::size_t>(layers_[i].stride());
      const std::size_t own = squared(simple_windows_[i].sides.out);
      positions = std::max(positions, own);
      if (i + 1 == layers_.size()) {
        // The read-out reads whole vectors from the first reference of a class on.
        scratch.similarities = memory.take<float>(own * stride + kPlaneAlignment);
        break;
      }
      simple = std::max(simple, own * stride);
      row_sums = std::max(row_sums, complex_row_sums(complex_windows_[i], layers_[i].planes));
      active = std::max(active, squared(kSimpleSides[i].out + 1));
    }
    scratch.v = memory.take<float>(positions);
    scratch.complex = {memory.take<float>(row_sums), memory.take<std::uint8_t>(active)};
    scratch.simple_cells = memory.take<float>(simple);
    scratch.any = memory.take<std::uint8_t>(positions);
  }

  /// Reads the model. Errors: those of ModelArrays::read_arrays, OutOfMemory.
  Expected<void> prepare() noexcept {
    ModelArrays arrays;
    OCELLUS_TRY(arrays.read_arrays(*plan_));
    for (std::size_t i = 0; i < layers_.size(); ++i)
      place_weights(layers_[i], arrays.weights(static_cast<int>(i)), weights_[i]);
    if (classes_.prepare(plan_->table, arrays.weights(3))) return {};
    return tl::unexpected(
        make_error(Status::kOutOfMemory, "the system gave no memory to read the model"));
  }

  /// Writes the cells of UC4, `classes` similarities from 0 to 1. `u0` has 65x65 floats. False if
  /// more cells than allowed were active: those beyond counted as 0.
  bool recognize(const float* u0, const Scratch& scratch, float* scores) const noexcept {
    bool complete =
        contrast_cells(contrast_, plan_->table.parameters.contrast_threshold, u0, scratch.cells[0]);
    for (std::size_t i = 0; i < complex_windows_.size(); ++i) {
      simple_cells(layers_[i], scratch.cells[i], scratch.v, scratch.simple_cells, scratch.any);
      complete = complex_cells(complex_windows_[i], scratch.simple_cells, scratch.any,
                               scratch.complex, scratch.cells[i + 1]) &&
                 complete;
    }
    reference_similarities(layers_[3], scratch.cells[3], scratch.v, scratch.similarities);
    classes_.score(scratch.similarities, layers_[3].stride(), scores);
    return complete;
  }

 private:
  const ModelPlan* plan_ = nullptr;
  float max_active_ = 1.0f;
  CellWindow contrast_;
  std::array<CellWindow, kNeocognitronStages> simple_windows_;
  std::array<CellWindow, kNeocognitronStages - 1> complex_windows_;
  std::array<SimpleLayer, kNeocognitronStages> layers_;
  std::array<std::uint16_t*, kNeocognitronStages> weights_{};
  ReferenceClasses classes_;
};

class CpuNeocognitron final : public CpuOperator {
 public:
  CpuNeocognitron(const NeocognitronPlan& plan, int workers) noexcept
      : CpuOperator(info_of(plan), workers),
        plan_(plan),
        bands_(Bands::cut(plan.size.height, workers, 4, 16)) {}

 private:
  static constexpr int kSteps = 8;

  void layout(LayoutBuilder& builder) noexcept override {
    network_.layout(plan_.model, plan_.max_active, builder);
    reader_.layout(plan_, workers_, builder);
    for (int w = 0; w < workers_; ++w) {
      const auto i = static_cast<std::size_t>(w);
      network_.layout(scratch_[i], builder);
      u0_[i] = builder.take<float>(static_cast<std::size_t>(kNeocognitronSide) * kNeocognitronSide);
    }
    if (converts()) {
      gray_ = builder.take<std::uint8_t>(static_cast<std::size_t>(plan_.size.width) *
                                         static_cast<std::size_t>(plan_.size.height));
    }
    const auto candidates = static_cast<std::size_t>(plan_.max_candidates());
    scores_ = builder.take<float>(candidates * static_cast<std::size_t>(plan_.model.table.classes));
    complete_ = builder.take<std::uint8_t>(candidates);
  }

  Expected<void> prepare() noexcept override { return network_.prepare(); }

  int step_count() const noexcept override { return kSteps; }

  template <void (CpuNeocognitron::*kMethod)(const StepContext&, int, int) noexcept>
  static void run(void* context, int part, int worker) noexcept {
    const StepContext& at = *static_cast<StepContext*>(context);
    (static_cast<CpuNeocognitron*>(at.frame->owner)->*kMethod)(at, part, worker);
  }

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    const auto add = [&](void (*function)(void*, int, int) noexcept, int parts) {
      *steps++ = {function, contexts++, parts};
    };
    using Self = CpuNeocognitron;
    add(&run<&Self::convert>, converts() ? bands_.count() : 0);
    add(&run<&Self::measure>, reader_.halves());
    add(&run<&Self::set_levels>, reader_.fields());
    add(&run<&Self::extract>, reader_.halves());
    add(&run<&Self::find>, reader_.fields());
    add(&run<&Self::collect>, 1);
    add(&run<&Self::recognize>, 0);
    add(&run<&Self::finish>, 1);
  }

  void write_bad(const FrameJob& frame) noexcept override {
    reader_.clear_rows(frame.out.planes[0]);
  }

  bool converts() const noexcept { return plan_.format != PixelFormat::kGray8; }

  GrayPlane plane_of(const FrameJob& frame) const noexcept {
    if (converts()) return {gray_, plan_.size.width, plan_.size};
    return {static_cast<const std::uint8_t*>(frame.in.data), frame.in.stride, plan_.size};
  }

  void convert(const StepContext& at, int part, int) noexcept {
    for (int y = bands_.begin(part); y < bands_.end(part); ++y) {
      std::uint8_t* const to = gray_ + static_cast<std::ptrdiff_t>(y) * plan_.size.width;
      if (!write_gray_row(at.frame->in, y, to)) mark_bad(*at.frame);
    }
  }

  void measure(const StepContext& at, int part, int) noexcept {
    reader_.measure(part, plane_of(*at.frame));
  }
  void set_levels(const StepContext&, int part, int) noexcept { reader_.set_levels(part); }
  void extract(const StepContext& at, int part, int) noexcept {
    reader_.extract(part, plane_of(*at.frame));
  }
  void find(const StepContext&, int part, int) noexcept { reader_.find(part); }

  void collect(const StepContext& at, int, int) noexcept {
    // Steps of a frame follow each other in their array.
    at.step[1].parts = at.frame->bad.load(std::memory_order_relaxed) ? 0 : reader_.collect();
  }

  void recognize(const StepContext& at, int part, int worker) noexcept {
    const auto w = static_cast<std::size_t>(worker);
    const NeocognitronTable& table = plan_.model.table;
    float* const scores = scores_ + part * table.classes;
    std::uint8_t& complete = complete_[part];
    const InkImage image = reader_.draw(part, plane_of(*at.frame), worker);
    PatchTransform transform;
    if (!find_transform(image, table.normalization, transform)) {
      std::fill_n(scores, table.classes, 0.0f);
      complete = 1;
      return;
    }
    resample(image, transform, u0_[w]);
    complete = network_.recognize(u0_[w], scratch_[w], scores) ? 1 : 0;
  }

  void finish(const StepContext& at, int, int) noexcept {
    const FrameJob& frame = *at.frame;
    if (frame.bad.load(std::memory_order_relaxed)) return;
    reader_.finish(scores_, complete_, *static_cast<NeocognitronRecord*>(frame.record),
                   frame.out.planes[0]);
  }

  NeocognitronPlan plan_;
  Bands bands_;
  CharacterReader reader_;
  CpuNetwork network_;
  std::array<CpuNetwork::Scratch, kMaxWorkers> scratch_{};
  std::array<float*, kMaxWorkers> u0_{};
  std::uint8_t* gray_ = nullptr;
  float* scores_ = nullptr;
  std::uint8_t* complete_ = nullptr;
};

}  // namespace

std::unique_ptr<OperatorInstance> make_on_cpu(const NeocognitronPlan& plan, int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) CpuNeocognitron(plan, workers));
}

}  // namespace ocellus::detail
