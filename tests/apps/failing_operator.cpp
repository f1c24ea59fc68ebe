// Its class derives from one of the library, so this file is compiled without RTTI.
#include "failing_operator.h"

#include <array>
#include <cstring>
#include <memory>

#include "core/operator_instance.h"
#include "ocellus/restoration.h"

namespace ocellus::test {
namespace {

class Failing final : public detail::OperatorInstance {
 public:
  explicit Failing(const OperatorInfo& info) noexcept
      : info_(info), number_(failing_control().created++) {
    ++failing_control().living;
  }
  ~Failing() override { --failing_control().living; }

  Footprint footprint() noexcept override { return {}; }
  Expected<void> start(detail::EngineState&) noexcept override { return {}; }

  Expected<void> submit(int slot, const Frame& in, const OperatorOutput& out) noexcept override {
    slots_[static_cast<std::size_t>(slot)] = {in, out, true};
    ++failing_control().in_flight;
    return {};
  }
  Expected<CancelOutcome> try_cancel(int) noexcept override { return CancelOutcome::kBegun; }
  Expected<void> wait(int slot, Deadline, FrameInfo& result) noexcept override {
    Slot& at = slots_[static_cast<std::size_t>(slot)];
    const FailingControl& control = failing_control();
    if (number_ == control.failing && waited_ == control.good_frames)
      return tl::unexpected(make_error(Status::kSystem, "the device gave no answer"));
    for (int y = 0; y < info_.size.height; ++y) {
      std::memcpy(at.out.planes[0].row<char>(y),
                  static_cast<const char*>(at.in.data) + y * at.in.stride,
                  static_cast<std::size_t>(info_.size.width));
    }
    result.compute_ns = 1;
    ++waited_;
    cancel(slot);
    return {};
  }
  void cancel(int slot) noexcept override {
    Slot& at = slots_[static_cast<std::size_t>(slot)];
    failing_control().in_flight -= at.busy ? 1 : 0;
    at.busy = false;
  }
  void stop() noexcept override {}
  bool is_stopped() const noexcept override { return false; }
  void reset() noexcept override {}
  Expected<void> finish_frames() noexcept override { return {}; }

 private:
  struct Slot {
    Frame in;
    OperatorOutput out;
    bool busy = false;
  };

  OperatorInfo info_;
  int number_;
  int waited_ = 0;
  std::array<Slot, kMaxDepth> slots_;
};

}  // namespace

FailingControl& failing_control() {
  static FailingControl control;
  return control;
}

const OperatorDescription& failing_operator() {
  static const OperatorDescription description = [] {
    OperatorDescription made = *find_operator("restore");
    made.create = [](Engine& engine, const void* config) noexcept -> Expected<OperatorHandle> {
      const Expected<OperatorInfo> info =
          Restoration::info_for(*static_cast<const RestorationConfig*>(config));
      if (!info) return tl::unexpected(info.error());
      return detail::make_operator(engine, *info, std::make_unique<Failing>(*info));
    };
    return made;
  }();
  return description;
}

}  // namespace ocellus::test
