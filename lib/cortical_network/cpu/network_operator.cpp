// Network on the CPU: the patches of a frame are steps of the network, one after another. Workers
// share a level.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "core/failure.h"
#include "cortical_network/cpu_levels.h"
#include "cortical_network/operator_plan.h"
#include "cortical_network/patch_operator.h"

namespace ocellus::detail {
namespace {

class CpuNetwork final : public PatchOperator<NetworkOperatorPlan> {
 public:
  CpuNetwork(const NetworkOperatorPlan& plan, int workers) noexcept
      : PatchOperator(plan, workers), rows_(Bands::cut(plan.network.height, workers, 4, 16)) {
    const int top = levels() - 1;
    levels_.plan = plan.plan;
    levels_.learns = plan.learn;
    levels_.stride = plan.network.width;
    whole_ = NetworkPiece(plan.plan, {0, top + 1, 0, hierarchy().level(top).hypercolumns});
    levels_.prepare(whole_);
    std::copy(levels_.steps().begin(), levels_.steps().end(), inner_.begin());
    for (int l = 0; l < levels(); ++l) {
      inner_[hypothesis_of(l)] = levels_.level_step<&choose_hypotheses>(l);
      inner_[hypothesis_of(l) + 1] = levels_.level_step<&respond_to_expectation>(l);
    }
  }

  Expected<void> write_learned(const void* from, std::uint64_t at,
                               std::size_t bytes) noexcept override {
    OCELLUS_TRY(PatchOperator::write_learned(from, at, bytes));
    levels_.step = *arrays_.steps;
    return {};
  }
  Expected<void> save_learned(const char* path) noexcept override {
    return save_network(path, plan_, *this);
  }

 private:
  const Hierarchy& hierarchy() const noexcept { return plan_.plan.hierarchy; }
  int levels() const noexcept { return hierarchy().level_count; }
  std::size_t hypothesis_of(int level) const noexcept {
    return static_cast<std::size_t>(levels() + 1 + 2 * level);
  }

  void layout(LayoutBuilder& builder) noexcept override {
    const auto pixels = static_cast<std::size_t>(plan_.network.width) *
                        static_cast<std::size_t>(plan_.network.height);
    const auto hypercolumns = static_cast<std::size_t>(hierarchy().hypercolumns);
    model_ = builder.take<std::uint8_t>(model_arrays_at(plan_, nullptr).bytes);
    levels_.arrays.cells = builder.take<std::uint8_t>(pixels * kLgnCells);
    levels_.arrays.winners = builder.take<std::int32_t>(hypercolumns);
    levels_.arrays.winner_responses = builder.take<std::int64_t>(hypercolumns);
    levels_.arrays.hypotheses = builder.take<std::int32_t>(hypercolumns);
    levels_.scratch.layout(builder, hierarchy(), workers_);
    image_ = builder.take<std::uint8_t>(pixels);
    layout_gray(builder);
  }

  Expected<void> prepare() noexcept override {
    OCELLUS_TRY(read_network(plan_, model_));
    arrays_ = model_arrays_at(plan_, model_);
    static_cast<HypercolumnArrays&>(levels_.arrays) = arrays_;
    levels_.scratch.clear();
    levels_.image = image_;
    levels_.step = *arrays_.steps;
    return {};
  }

  int step_count() const noexcept override {
    const int feedback = 2 * levels() * plan_.plan.feedback_rounds;
    return 1 + plan_.patches * (levels() + 3 + feedback);
  }

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    const auto add = [&](auto* run, int parts, int patch, std::size_t inner) {
      contexts->level = patch;
      contexts->index = static_cast<int>(inner);
      *steps++ = {run, contexts++, parts};
    };
    const auto add_inner = [&](int patch, std::size_t inner) {
      add(&CpuNetwork::run_inner, inner_[inner].parts, patch, inner);
    };
    add(&CpuNetwork::convert, convert_parts(), 0, 0);
    for (int patch = 0; patch < plan_.patches; ++patch) {
      add(&CpuNetwork::draw, rows_.count(), patch, 0);
      for (std::size_t i = 0; i <= static_cast<std::size_t>(levels()); ++i) add_inner(patch, i);
      for (int round = 0; round < plan_.plan.feedback_rounds; ++round) {
        for (int l = levels() - 1; l >= 0; --l) add_inner(patch, hypothesis_of(l));
        for (int l = 0; l < levels(); ++l) add_inner(patch, hypothesis_of(l) + 1);
      }
      add(&CpuNetwork::answer, 1, patch, 0);
    }
  }

  void write_bad(const FrameJob& frame) noexcept override {
    if (!frame.wants(0)) return;
    for (int patch = 0; patch < plan_.patches; ++patch)
      std::fill_n(frame.out_row<float>(0, patch), hierarchy().hypercolumns,
                  static_cast<float>(kSilent));
  }

  static CpuNetwork& self_of(void* context) noexcept {
    return *static_cast<CpuNetwork*>(frame_of(context).owner);
  }

  static void draw(void* context, int part, int) noexcept {
    if (is_bad(context)) return;
    const FrameJob& frame = frame_of(context);
    const CpuNetwork& self = self_of(context);
    const NetworkOperatorPlan& plan = self.plan_;
    const int number = static_cast<StepContext*>(context)->level;
    stretch_patch(self.patch_of(frame, number), plan.network.width, plan.network.height,
                  self.rows_.begin(part), self.rows_.end(part), self.image_);
  }

  /// A step of the network, or of its feedback.
  static void run_inner(void* context, int part, int worker) noexcept {
    if (is_bad(context)) return;
    const JobStep& step =
        self_of(context)
            .inner_[static_cast<std::size_t>(static_cast<StepContext*>(context)->index)];
    step.run(step.context, part, worker);
  }

  static void answer(void* context, int, int) noexcept {
    if (is_bad(context)) return;
    const FrameJob& frame = frame_of(context);
    CpuNetwork& self = self_of(context);
    const NetworkOperatorPlan& plan = self.plan_;
    const int patch = static_cast<StepContext*>(context)->level;
    const std::int32_t* const winners = self.levels_.arrays.winners;
    if (plan.learn) self.levels_.step = ++*self.arrays_.steps;
    if (frame.wants(0))
      std::copy_n(winners, self.hierarchy().hypercolumns, frame.out_row<float>(0, patch));
    std::array<std::int64_t, kMaxCortexClasses> evidence;
    read_out_winners(self.hierarchy(), self.arrays_.class_bias, self.arrays_.read_out,
                     plan.read_out.classes, winners, evidence.data());
    const PatchAnswer answer =
        decide_or_none(evidence.data(), plan.read_out.classes, plan.read_out.sharpness);
    auto& record = *static_cast<NetworkRecord*>(frame.record);
    record.label[static_cast<std::size_t>(patch)] = answer.label;
    record.confidence[static_cast<std::size_t>(patch)] = answer.confidence;
    record.count = plan.patches;
    record.truncated = plan.truncated;
  }

  Bands rows_;  // of the image that the network sees
  NetworkPiece whole_;
  CpuLevels levels_;
  /// LGN cells and levels, then hypotheses and responses of each level.
  std::array<JobStep, std::size_t{3} * kMaxCorticalLevels + 1> inner_{};
  NetworkModelArrays arrays_;
  std::uint8_t* image_ = nullptr;
};

}  // namespace

std::unique_ptr<OperatorInstance> make_on_cpu(const NetworkOperatorPlan& plan,
                                              int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) CpuNetwork(plan, workers));
}

}  // namespace ocellus::detail
