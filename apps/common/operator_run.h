// Operators at work: one behind an interface, on an engine of its own or in a chain, and the memory
// of frames and results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

/// What one frame costs at least, however it is written.
struct Workload {
  double bytes = 0.0;  ///< memory traffic that no cache can save
  double flops = 0.0;  ///< multiplications and additions
};

/// To the next multiple of 256, where rows, frames and planes in the engine's memory begin.
std::size_t rounded_up(std::size_t bytes);

/// Frames in memory of one kind: ordinary memory, where the images must live as long as this, or
/// the engine's, into which they are copied.
class StoredFrames {
 public:
  static Footprint footprint(MemorySpace space, const std::vector<GrayImage>& frames);
  StoredFrames(Engine& engine, MemorySpace space, const std::vector<GrayImage>& frames);

  Frame at(std::size_t index, std::uint64_t sequence, std::int64_t timestamp_ns) const;

 private:
  const std::vector<GrayImage>* frames_;
  std::optional<Buffer> memory_;  // of the engine
};

/// Planes for a result in the engine's memory, one after the other.
class ResultPlanes {
 public:
  static Footprint footprint(MemorySpace space, ImageSize size, int planes, int pixel_bytes);
  ResultPlanes(Engine& engine, MemorySpace space, ImageSize size, int planes, int pixel_bytes);

  void* plane(int index) const;
  std::ptrdiff_t stride() const { return static_cast<std::ptrdiff_t>(stride_); }

 private:
  std::size_t stride_;
  std::size_t plane_;
  Buffer memory_;
};

/// An operator with the memory that its results go to.
class RunningOperator {
 public:
  virtual ~RunningOperator() = default;
  /// Submits, waits. Throws InputError with the library's reason.
  virtual FrameInfo step(const Frame& frame) = 0;
  virtual float delay_frames() const { return 0.0f; }
};

/// How an operator is made, and what is told of it. Throws InputError with the library's reason.
class OperatorPlan {
 public:
  virtual ~OperatorPlan() = default;
  /// Of the operator and its results in memory of this kind.
  virtual Footprint footprint(const EngineInfo& engine, MemorySpace results) const = 0;
  virtual std::unique_ptr<RunningOperator> create(Engine& engine, MemorySpace results) const = 0;
  virtual std::string describe() const = 0;
  virtual nlohmann::ordered_json json() const = 0;
  virtual Workload least_work() const = 0;
};

/// An engine with one operator on it, results in ordinary memory.
class OperatorRun {
 public:
  /// Throws InputError with the library's reason.
  OperatorRun(const EngineConfig& engine, const OperatorPlan& plan);

  RunningOperator& op() { return *operator_; }
  const EngineInfo& engine() const { return engine_.info(); }
  const Footprint& footprint() const { return footprint_; }

 private:
  Footprint footprint_;
  Engine engine_;
  std::unique_ptr<RunningOperator> operator_;
};

/// Operators on one engine, each of which reads the camera's frame, one after the other. Frames and
/// results lie in memory of one kind.
class OperatorChain {
 public:
  /// Throws InputError with the library's reason.
  OperatorChain(const EngineConfig& engine, const std::vector<std::unique_ptr<OperatorPlan>>& plans,
                MemorySpace space, const std::vector<GrayImage>& frames);

  /// One of the frames through operator number `op`.
  FrameInfo step(std::size_t op, std::size_t index, std::uint64_t sequence,
                 std::int64_t timestamp_ns);

  std::size_t size() const { return operators_.size(); }
  const EngineInfo& engine() const { return engine_.info(); }
  float delay_frames(std::size_t op) const { return operators_[op]->delay_frames(); }
  const Footprint& footprint() const { return footprint_; }

 private:
  Footprint footprint_;
  Engine engine_;
  StoredFrames frames_;
  std::vector<std::unique_ptr<RunningOperator>> operators_;
};

}  // namespace ocellus::app
