// OperatorHandle: what every operator offers, whatever it computes. The operators' own classes add
// creation and typed results; programs that drive any operator use this class alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"

namespace ocellus {

namespace detail {
class OperatorState;
struct OperatorAccess;
}  // namespace detail

#pragma GCC visibility push(default)  // exported by a shared library

/// Most frames in flight.
inline constexpr int kMaxDepth = 8;
/// Most planes that an operator writes.
inline constexpr int kMaxOutputPlanes = 8;
/// Largest record, in bytes.
inline constexpr std::size_t kMaxRecordBytes = 4096;

/// A plane that an operator writes.
struct PlaneInfo {
  const char* name = "";  ///< static storage, as all texts here
  ImageSize size;
  PixelFormat format = PixelFormat::kFloat32;  ///< type of its elements
  bool optional = false;                       ///< may be left out
  int levels = 0;  ///< values that occur, from the format's least to its largest; 0: any number
};

/// The type of a field of a record.
enum class FieldType : std::uint8_t { kInt32, kUint32, kFloat, kBool };

/// A field of a record: `capacity` values of one type, one after the other.
struct RecordField {
  const char* name = "";
  FieldType type = FieldType::kInt32;
  std::uint16_t capacity = 1;
  std::uint32_t offset = 0;  ///< bytes from the begin of the record
  const char* help = "";     ///< what it tells, with the unit
};

/// A record: a plain struct of fixed size, which comes with each result.
struct RecordInfo {
  const char* name = "";
  std::size_t bytes = 0;
  const RecordField* fields = nullptr;
  int field_count = 0;
};

/// What an operator takes and gives; fixed when it is made.
struct OperatorInfo {
  const char* name = "";  ///< in error texts and on timelines
  ImageSize size;         ///< of the frames
  PixelFormat format = PixelFormat::kGray8;
  int plane_count = 1;  ///< output planes, 1 to kMaxOutputPlanes; the first is not optional
  std::array<PlaneInfo, kMaxOutputPlanes> planes{};
  const RecordInfo* record = nullptr;  ///< null without one
  int depth = 1;                       ///< frames in flight, 1 to kMaxDepth
  int support_frames = 1;              ///< frames that a result is computed from
  float delay_frames = 0.0f;           ///< age of the moment that a result describes, in frames
  bool keeps_state = false;            ///< a result depends on the frames before
  char summary[160] = {};              ///< how it computes, in a few words
  /// What a frame needs at least, however it is computed: memory traffic that no cache can save,
  /// and multiplications and additions.
  double least_bytes = 0.0;
  double least_flops = 0.0;
};

/// Where a result goes: planes in the order of OperatorInfo::planes, all in memory of one kind and
/// with one stream. Planes of one size and format have one stride. A plane without data is left
/// out.
struct OperatorOutput {
  std::array<ImageView, kMaxOutputPlanes> planes{};
  /// In ordinary memory, of the type that the operator's record has; filled in when `wait` says
  /// done. Null: not wanted.
  void* record = nullptr;
};

/// Since creation. Times are from `submit` to the return of the `wait` that said done.
struct OperatorStats {
  std::uint64_t frames = 0;            ///< waited for until done
  std::uint64_t bad_frames = 0;        ///< of those, with pixels that are not finite
  std::uint64_t missed_deadlines = 0;  ///< calls of `wait` that returned DeadlineMissed
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
};

/// An operator on an engine. Movable; a moved-from object can be destroyed or assigned to, nothing
/// else.
///
/// `submit`, `wait`, `reset` and `stats` of one object must not run at the same time, but for
/// `wait` beside `submit`; different objects are independent, on one engine too. Frame and output
/// must live until `wait` has said done for them, or until `reset` or the destructor has returned:
/// after DeadlineMissed too.
class OperatorHandle {
 public:
  OperatorHandle(OperatorHandle&&) noexcept;
  OperatorHandle& operator=(OperatorHandle&&) noexcept;
  /// Waits for frames in flight, then gives the memory back.
  ~OperatorHandle();

  const OperatorInfo& info() const noexcept;

  /// Queues a frame. Bounded; no allocation. After an error it is as if the frame had not come.
  /// Errors: InvalidArgument (size, format, stride, null data, planes), QueueFull, DeviceLost,
  /// System.
  Expected<Ticket> submit(const Frame& in, const OperatorOutput& out) noexcept;

  /// Computes, or waits, until the frame is done or the deadline has passed.
  /// Errors: InvalidTicket, DeviceLost, DeadlineMissed (not done), System (reset drops the frame).
  Expected<FrameInfo> wait(Ticket ticket, Deadline deadline) noexcept;

  /// Finishes what runs, drops what is queued with its tickets, forgets all frames, keeps the
  /// memory.
  void reset() noexcept;

  OperatorStats stats() const noexcept;

 private:
  friend struct detail::OperatorAccess;
  explicit OperatorHandle(std::unique_ptr<detail::OperatorState> state) noexcept;

  std::unique_ptr<detail::OperatorState> state_;
};

#pragma GCC visibility pop

}  // namespace ocellus
