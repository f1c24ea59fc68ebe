// FrameRun: an operator that processes the frames of an input on one or several devices.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/frames.h"
#include "apps/io/operator_run.h"
#include "ocellus/operator_group.h"

namespace ocellus::app {

/// A frame of the input with its results.
struct ProcessedFrame {
  /// What the operator made of a part of the frame. A part is what the operator takes: the whole
  /// frame, or one of its color planes.
  struct Result {
    std::vector<char> planes;           ///< the memory of `output`
    std::vector<std::uint64_t> record;  ///< the operator's, if it has one
    OperatorOutput output;
    GroupResult done;  ///< times and device

    /// The bytes of the first plane, without padding.
    std::vector<std::uint8_t> bytes() const;
    /// A copy of that plane, of 8 or 16 bits.
    GrayImage image() const;
    /// Whether it is a picture in RGB.
    bool has_color() const { return ocellus::has_color(output.planes[0].format); }
  };

  InputFrame frame;
  std::vector<Result> results;  ///< of the parts, in their order
  double ms = 0.0;              ///< from the first submit to the return of the last wait
  std::int64_t compute_ns = 0;  ///< of all parts
  std::uint32_t flags = 0;      ///< FrameInfo::flags of all parts
};

/// The view of a frame that is one part.
std::vector<Frame> whole_frame(const InputFrame& frame);

/// An operator on each device. One device has one frame in flight: the result of a frame is written
/// before the next one is read. Several devices have kDepthOfSeveral frames in flight on each.
class FrameRun {
 public:
  static constexpr int kDepthOfSeveral = 2;

  /// Throws InputError with the library's reason.
  FrameRun(const std::vector<EngineConfig>& engines, const OperatorConfig& config);
  /// Waits for the frames in flight, whose memory is freed next.
  ~FrameRun() { group_.reset(); }
  FrameRun(const FrameRun&) = delete;
  FrameRun& operator=(const FrameRun&) = delete;

  /// Processes frames in their order, the first of which has been read. `read` reads the next frame
  /// and returns false at the end. `parts` gives the views that are submitted; the frame stays at
  /// its place. `done` gets every frame that was read, but those that a signal ended early. Throws
  /// InputError with the library's reason, which names the device if it concerns one, and what the
  /// functions throw.
  void process(InputFrame first, const std::function<bool(InputFrame&)>& read,
               const std::function<std::vector<Frame>(const InputFrame&)>& parts,
               const std::function<void(const ProcessedFrame&)>& done);

  const OperatorInfo& info() const { return group_.info(); }
  /// Of the first device.
  const EngineInfo& engine() const { return group_.engine(0).info(); }
  /// With the depth that was chosen.
  const OperatorConfig& config() const { return config_; }
  /// Ordinary memory of the operators on all devices.
  std::size_t host_bytes() const;
  int devices() const { return group_.engine_count(); }
  /// "cpu" or "cuda:0".
  std::string device(int number) const;
  /// Writes what the operator has learned. Throws InputError.
  void save_model(const std::string& path);

  bool several() const { return devices() > 1; }
  /// Adds "devices" and "frames_per_s" to a report if there are several devices.
  void add_to(nlohmann::ordered_json& json) const;
  /// The end of a line about times. `median`: of ProcessedFrame::ms.
  std::string rate_text(double median) const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Slot {
    ProcessedFrame work;
    std::size_t begun = 0;  // parts that were submitted
    std::size_t ended = 0;  // parts whose results have come
    bool whole = false;     // all parts were submitted
    Clock::time_point begin;
  };

  /// Throw Stopped, too.
  void process_all(const std::function<bool(InputFrame&)>& read,
                   const std::function<std::vector<Frame>(const InputFrame&)>& parts,
                   const std::function<void(const ProcessedFrame&)>& done);
  void submit(Slot& slot, const std::vector<Frame>& parts);
  /// Takes the oldest result. Returns false if it is not there at the deadline.
  bool take_result(Deadline deadline);
  /// Passes on the oldest frame, or the frames that are complete.
  void pass_on(const std::function<void(const ProcessedFrame&)>& done);
  void pass_on_done(const std::function<void(const ProcessedFrame&)>& done);
  /// Whether a frame is complete that has not been passed on.
  bool has_done() const;
  double frames_per_s() const { return static_cast<double>(passed_on_) / seconds_; }

  OperatorConfig config_;
  OperatorGroup group_;
  StopsOnSignal stops_{group_};
  ResultLayout layout_;
  std::vector<Slot> slots_;
  // Frames are counted from 0, and frame n is in slot n modulo the number of slots.
  std::size_t read_ = 0;       // frames that were submitted
  std::size_t passed_on_ = 0;  // frames that `done` got
  std::size_t waiting_ = 0;    // the frame of the oldest part in flight
  std::vector<std::int64_t> parts_of_engine_;
  double seconds_ = 0.0;
};

}  // namespace ocellus::app
