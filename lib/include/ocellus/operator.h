// OperatorHandle: the interface that all operators share. The class of each operator adds creation
// and typed results. Programs that drive any operator use only this class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/record.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"

namespace ocellus {

namespace detail {
class OperatorState;
struct OperatorAccess;
}  // namespace detail

#pragma GCC visibility push(default)  // exported by a shared library

/// Largest number of frames in flight.
inline constexpr int kMaxDepth = 8;
/// Largest number of planes that an operator writes.
inline constexpr int kMaxOutputPlanes = 8;

/// A plane that an operator writes.
struct PlaneInfo {
  const char* name = "";  ///< static storage, as all texts here
  ImageSize size{};
  PixelFormat format = PixelFormat::kFloat32;  ///< type of the elements
  bool optional = false;                       ///< true if the caller may leave the plane out
  /// Number of different values, from the format's smallest to its largest; 0: any.
  int levels = 0;
  /// True if the plane is a picture of the frame, of its size and of the format of its luma. Only
  /// the first plane may be one. If frames have color, the caller may give an ImageView in the
  /// frame's format instead. The luma of the result then replaces that of the frame's pixels
  /// (`replace_luma_row` in ocellus/luma.h). It may be the memory of the frame.
  bool follows_frame = false;
  /// What such a picture has of the frame's color.
  PictureColor color = PictureColor::kNeutral;
};

/// What an operator takes and produces. It does not change after creation.
struct OperatorInfo {
  const char* name = "";  ///< name in error texts and on timelines
  ImageSize size{};       ///< size of the frames
  PixelFormat format = PixelFormat::kGray8;
  int plane_count = 1;  ///< output planes, 1 to kMaxOutputPlanes; the first is not optional
  std::array<PlaneInfo, kMaxOutputPlanes> planes{};
  const RecordInfo* record = nullptr;  ///< null if the operator has no record
  int classes = 0;                     ///< of the record's labels; 0: all labels are -1
  /// Names of the classes, which live as long as the operator. Null without classes, and before
  /// creation.
  const ClassName* class_names = nullptr;
  /// Parts of the record's text, such as the fields of a form; 0: the text is not divided.
  int text_parts = 0;
  bool parts_are_items = false;  ///< each part has one item: no line end stands between parts
  /// Size of a tile and tiles of a row, for a record without boxes whose items are the tiles of the
  /// frame, row after row. 0 columns: they are not.
  ImageSize tile{};
  int tile_columns = 0;
  int depth = 1;  ///< frames in flight, 1 to kMaxDepth
  OperatorPriority priority = OperatorPriority::kNormal;
  int support_frames = 1;     ///< number of frames that a result is computed from
  float delay_frames = 0.0f;  ///< age of the moment that a result describes, in frames
  bool keeps_state = false;   ///< true if a result depends on previous frames
  bool learns = false;        ///< true if frames change its model; `reset` keeps that
  /// The method of computation in a few words. A created operator may add to it what it chose for
  /// its backend.
  char summary[160] = {};
  /// Least cost of a frame, whatever the implementation: memory traffic in bytes that no cache can
  /// avoid, with each plane in PlaneInfo::format, and number of multiplications and additions.
  double least_bytes = 0.0;
  double least_flops = 0.0;

  /// The name of a class, or "".
  const char* class_name(int label) const noexcept {
    return class_names == nullptr || label < 0 || label >= classes ? "" : class_names[label];
  }
};

/// Destination of a result: planes in the order of OperatorInfo::planes. All are in memory of one
/// kind and have one stream. Planes of the same size and format have the same stride. A plane
/// without data is left out.
struct OperatorOutput {
  std::array<ImageView, kMaxOutputPlanes> planes{};
  /// Destination of the record, in ordinary memory, of the operator's record type. Filled in when
  /// `wait` reports the frame as done. Null: no record is written.
  void* record = nullptr;
};

/// Statistics since creation. Times are from `submit` to the return of the `wait` that reported the
/// frame as done.
struct OperatorStats {
  std::uint64_t frames = 0;      ///< frames that `wait` reported as done
  std::uint64_t bad_frames = 0;  ///< number of those that had pixels that are not finite
  /// Frames of which a `wait` returned DeadlineMissed. Each one counts once, whether it was done
  /// later or not. A deadline that is not later than the frame's `submit`, such as
  /// Deadline::immediate(), only looks and does not count.
  std::uint64_t missed_deadlines = 0;
  /// Percentiles. Above LatencyHistogram::kHighestNs (17.18 s) they are one more than that, which
  /// only says that they are longer.
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
  std::uint64_t canceled_frames = 0;  ///< frames that `cancel` dropped; no other number counts them
  std::uint64_t overflow = 0;         ///< of `frames`, those that took longer than kHighestNs
};

/// An operator on an engine. A movable handle; a moved-from object can only be destroyed or
/// assigned to.
///
/// The calls for one object must not run at the same time. Exceptions are `wait` with `submit` and
/// with `cancel` of another ticket, and `stop` with every call. Different objects are independent,
/// even on one engine. Frame and output must remain valid until `wait` reports the frame as done,
/// `cancel` reports it as canceled, or `reset` or the destructor returns. This also holds after
/// DeadlineMissed.
class OperatorHandle {
 public:
  OperatorHandle(OperatorHandle&&) noexcept;
  OperatorHandle& operator=(OperatorHandle&&) noexcept;
  /// Ends the frames in flight early, as `reset` does, then returns the memory to the engine.
  ~OperatorHandle();

  /// What the operator takes and produces.
  const OperatorInfo& info() const noexcept;

  /// Queues a frame. Takes bounded time and does not allocate. After an error, the operator's state
  /// is as if the frame had not come. Errors: InvalidArgument (size, format, stride, null data,
  /// planes), QueueFull, DeviceLost, System, Stopped (`stop` was called, and `reset` was not).
  Expected<Ticket> submit(const Frame& in, const OperatorOutput& out) noexcept;

  /// Computes or waits until the frame is done or the deadline has passed. Errors: InvalidTicket,
  /// DeviceLost, DeadlineMissed (not done yet), System (`reset` drops the frame), Stopped (`stop`
  /// ended the frame early: it has no result, its ticket is dropped, and its memory is free).
  Expected<FrameInfo> wait(Ticket ticket, Deadline deadline) noexcept;

  /// Gives a frame back that has not begun, so that a newer one can take its place. Does not wait.
  /// If the frame has begun or is done, nothing changes, and the outcome says so.
  ///
  /// A canceled frame leaves no trace: temporal state, history and what an operator learns are as
  /// if it had never been submitted. So the next result relates to the frame before the canceled
  /// one, and optical flow is the motion over the longer interval. The ticket's number is not used
  /// again.
  ///
  /// On the CPU a frame begins when a thread takes its first part; until then it may wait for
  /// frames of all operators on the engine. On CUDA `submit` gives it to the device, so it has
  /// begun. There a program that wants the newest frame keeps it back until the one in flight is
  /// done. Errors: InvalidTicket, DeviceLost, System.
  Expected<CancelOutcome> cancel(Ticket ticket) noexcept;

  /// Returns a file descriptor for event loops (poll, epoll). It is readable while a frame is done
  /// that was not waited for, or while `wait` would return an error other than DeadlineMissed. Then
  /// `wait` for the oldest ticket with Deadline::immediate() gives the result. Do not read, write
  /// or close it: `wait` resets it, and the operator closes it at its destruction. On CUDA a call
  /// with a deadline that has passed copies at most 1 MiB to a result in MemorySpace::kHost. While
  /// bytes are left it returns DeadlineMissed, and the descriptor stays readable.
  ///
  /// The first call creates it; call it at creation, not in the real-time path. Later calls return
  /// the same one. From then on, a system call per frame sets it and another one resets it. On CUDA
  /// the first call also starts a thread that looks for the end of frames. It looks as
  /// EngineConfig::device_wait says: without a pause (kSpin), with a yield, or every 50 us
  /// (kBlock). It sleeps when no frame is in flight. Errors: System, Unsupported (after fork()).
  Expected<int> create_event_fd() noexcept;

  /// Makes the frames in flight end early: at the next part of the computation on the CPU, and at
  /// the next sweep of a cellular network on CUDA. A `wait` that runs returns Stopped soon, or when
  /// the turn of its frame comes if another operator's frame is before it. `submit` takes no frame
  /// until `reset`. Frames that are done keep their results. An operator that learns completes its
  /// frames, so that it has learned from whole frames.
  ///
  /// Any thread may call it beside every other call but the destructor, and so may a handler of
  /// signals: it only sets a flag.
  void stop() noexcept;

  /// Drops the frames in flight and their tickets, and forgets all previous frames. A frame that
  /// runs ends early, as by `stop`; returns when it has ended. The operator takes frames again.
  /// Keeps the memory.
  void reset() noexcept;

  /// Writes what the operator has learned to a model file. It has what exactly the frames have
  /// taught that were submitted before and not dropped by `reset`; the call waits until they are
  /// done, and their tickets stay valid.
  ///
  /// `path` has the old file or the whole new one at any time, also when several operators and
  /// processes save to it. A link is followed, and a file that is replaced keeps its permissions.
  /// Until then a temporary file lies beside it (ocellus/unfinished_files.h). A device is written
  /// in place; pipes, terminals and standard output are refused.
  ///
  /// Does not allocate. Not for the real-time path: it waits for the storage. Errors: Unsupported
  /// (the operator does not learn; after fork()), InvalidArgument (path), IoError, DeviceLost,
  /// System.
  Expected<void> save_model(const char* path) noexcept;

  /// Takes over what another operator has learned, such as one for frames of another size. Waits
  /// for the frames in flight of both. Does not allocate. Errors: Unsupported (one of them does not
  /// learn; after fork(), also for the operator of the parent), InvalidArgument (their models have
  /// different shapes), DeviceLost, System. An error of the last two kinds in the middle of the
  /// copy leaves a part of each model. Then `submit` and `save_model` return System until
  /// `take_learned` succeeds.
  Expected<void> take_learned(OperatorHandle& from) noexcept;

  /// Statistics since creation.
  OperatorStats stats() const noexcept;

 private:
  friend struct detail::OperatorAccess;
  explicit OperatorHandle(std::unique_ptr<detail::OperatorState> state) noexcept;

  std::unique_ptr<detail::OperatorState> state_;
};

/// Waits until one of the operators has a frame that is done and was not waited for, and returns
/// its index. `wait` for the oldest ticket of that operator then gives the result, or the error,
/// without a wait for the computation. If several have one, those behind `last` come first, so that
/// a fast operator does not hide a slow one: give the index that the call before returned. Uses the
/// event descriptors (`create_event_fd`), which the first call creates, and leaves all computation
/// to the workers. Does not allocate after the first call. Errors: InvalidArgument (no operator, or
/// more than kMostToWaitFor), DeadlineMissed, System, Unsupported (after fork()).
inline constexpr std::size_t kMostToWaitFor = 64;
Expected<std::size_t> wait_any(std::span<OperatorHandle* const> operators, Deadline deadline,
                               std::size_t last = 0) noexcept;

/// The base of the class of each operator: its creation from a configuration. `Self` is that class,
/// and `Record` the type of its record.
template <typename Self, typename Config, typename Record = void>
class Operator : public OperatorHandle {
 public:
  /// What an operator of this configuration takes and produces. Reads the tables of the model files
  /// that the configuration names. Errors: those of `create`.
  static Expected<OperatorInfo> info_for(const Config& config) noexcept;

  /// The memory that `create` takes on such an engine. Takes no resources. Reads a model file once,
  /// so a damaged one is refused before memory is taken for it. Errors: those of `create`.
  static Expected<Footprint> footprint(const EngineInfo& engine, const Config& config) noexcept;

  /// Creates the operator. No other call takes memory from the engine. Reads the files and calls
  /// the callbacks of the configuration. Errors: InvalidArgument (the text names the field, its
  /// value and its range), Unsupported, OutOfMemory (the engine's block has no free piece of this
  /// size, or the system has no memory), IoError and CorruptFile (a file), DeviceLost, System.
  static Expected<Self> create(Engine& engine, const Config& config) noexcept;

  using OperatorHandle::submit;
  /// For an operator with one plane. `record` may be null; otherwise it is filled in when `wait`
  /// reports the frame as done.
  Expected<Ticket> submit(const Frame& in, const ImageView& plane,
                          Record* record = nullptr) noexcept {
    OperatorOutput out;
    out.planes[0] = plane;
    out.record = record;
    return OperatorHandle::submit(in, out);
  }

 private:
  explicit Operator(OperatorHandle handle) noexcept : OperatorHandle(std::move(handle)) {}
};

#pragma GCC visibility pop

}  // namespace ocellus
