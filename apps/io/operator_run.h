// Runs operators: creates one on an engine of its own, or several on one engine, with the memory
// for frames and results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/image_io.h"
#include "ocellus/operator.h"
#include "ocellus/operators.h"

namespace ocellus::app {

/// "cpu" or "cuda:0".
std::string device_name(const EngineInfo& info);

/// The operator's info. Throws InputError with the library's reason, which names the option by its
/// flag.
OperatorInfo info_of(const OperatorConfig& config);

/// Rounds up to a multiple of 256. Rows, frames and planes in the engine's memory begin at such
/// offsets.
std::size_t rounded_up(std::size_t bytes);

/// The placement of a result's planes in one block of memory. A plane that follows the frame has
/// the format of the frames.
class ResultLayout {
 public:
  /// `padded`: rows begin at multiples of 256 bytes. If `planes` is not 0, only the first `planes`
  /// planes are placed.
  ResultLayout(const OperatorInfo& info, bool padded, int planes = 0);

  std::size_t bytes() const { return bytes_; }
  OperatorOutput output(void* memory, MemorySpace space) const;
  std::size_t offset(int plane) const { return offsets_[static_cast<std::size_t>(plane)]; }
  std::size_t stride(int plane) const { return strides_[static_cast<std::size_t>(plane)]; }

 private:
  OperatorInfo info_;
  int planes_;
  std::size_t bytes_ = 0;
  std::array<std::size_t, kMaxOutputPlanes> offsets_{};
  std::array<std::size_t, kMaxOutputPlanes> strides_{};
};

/// Frames in memory of one kind. In ordinary memory, the object refers to the images, which must
/// outlive it. In the engine's memory, it holds a copy.
class StoredFrames {
 public:
  static Footprint footprint(MemorySpace space, const std::vector<GrayImage>& frames);
  StoredFrames(Engine& engine, MemorySpace space, const std::vector<GrayImage>& frames);

  Frame at(std::size_t index, std::uint64_t sequence, std::int64_t timestamp_ns) const;

 private:
  const std::vector<GrayImage>* frames_;
  std::optional<Buffer> memory_;  // the engine's memory
};

/// An operator and the memory for its results.
class RunningOperator {
 public:
  /// The memory of the operator and of its results in memory of this kind.
  static Footprint footprint(const EngineInfo& engine, const OperatorConfig& config,
                             MemorySpace results);
  /// Throws InputError with the library's reason. If `output` is given, results go there; it refers
  /// to ordinary memory, which must outlive this object.
  RunningOperator(Engine& engine, const OperatorConfig& config, MemorySpace results,
                  const OperatorOutput* output = nullptr);

  const OperatorInfo& info() const { return handle_.info(); }
  /// Writes what the operator has learned to a model file. Throws InputError with the library's
  /// reason.
  void save_model(const std::string& path);
  /// Submits the frame and waits for it. Throws InputError with the library's reason, and Stopped.
  FrameInfo step(const Frame& frame);
  const ImageView& plane(int index) const {
    return output_.planes[static_cast<std::size_t>(index)];
  }
  /// The record of the last frame.
  const void* record() const { return record_.data(); }
  template <typename Record>
  const Record& record() const {
    return *reinterpret_cast<const Record*>(record_.data());
  }

 private:
  OperatorHandle handle_;
  StopsOnSignal stops_{handle_};
  std::vector<char> host_;
  std::optional<Buffer> memory_;
  std::vector<std::uint64_t> record_;
  OperatorOutput output_;
};

/// An engine with operators on it. Each of several reads the camera's frame, one operator after the
/// other.
class OperatorRun {
 public:
  /// Frames and results lie in memory of one kind. If `output` is given, results go there. Throws
  /// InputError with the library's reason.
  OperatorRun(const EngineConfig& engine, const std::vector<OperatorConfig>& configs,
              MemorySpace space, const std::vector<GrayImage>& frames,
              const OperatorOutput* output = nullptr);
  /// One operator without frames. Results go to ordinary memory.
  OperatorRun(const EngineConfig& engine, const OperatorConfig& config,
              const OperatorOutput* output = nullptr)
      : OperatorRun(engine, std::vector{config}, MemorySpace::kHost, kNoFrames, output) {}

  /// Processes frame number `index` with operator number `op`. Throws as RunningOperator::step.
  FrameInfo step(std::size_t op, std::size_t index, std::uint64_t sequence,
                 std::int64_t timestamp_ns);

  std::size_t size() const { return operators_.size(); }
  RunningOperator& op(std::size_t index = 0) { return *operators_[index]; }
  const RunningOperator& op(std::size_t index = 0) const { return *operators_[index]; }
  const EngineInfo& engine() const { return engine_.info(); }
  Engine& engine_handle() { return engine_; }
  const Footprint& footprint() const { return footprint_; }

 private:
  static inline const std::vector<GrayImage> kNoFrames;

  Footprint footprint_;
  Engine engine_;
  StoredFrames frames_;
  std::vector<std::unique_ptr<RunningOperator>> operators_;
};

}  // namespace ocellus::app
