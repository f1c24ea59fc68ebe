// Where the model of an operator comes from: the library or a file.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "neocognitron/model_file.h"
#include "ocellus/options.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// The parts of a model that an operator plans with. Plain data.
struct ModelPlan {
  Text<kMaxOptionText> name;  ///< of a model of the library, or the path of a file
  NeocognitronTable table;
  std::uint64_t array_hash = 0;  ///< of the arrays that belong to the table
};

/// Reads the table. Errors: InvalidArgument (empty name), IoError, CorruptFile.
Expected<void> read_model_plan(const char* name, ModelPlan& plan) noexcept;

/// Compares the arrays of a file with their checksum, before memory is taken for them. Errors:
/// IoError, CorruptFile.
Expected<void> verify_model_file(const ModelPlan& plan) noexcept;

/// The arrays of a model in memory.
class ModelArrays {
 public:
  /// Reads them and checks the values. Errors: IoError, CorruptFile (also if the file is no longer
  /// the one that was planned with), OutOfMemory.
  Expected<void> read_arrays(const ModelPlan& plan) noexcept;

  /// a(v, kappa, k) / b(k) of a stage in binary16, [v][kappa][k].
  const std::uint16_t* weights(int stage) const noexcept {
    return reinterpret_cast<const std::uint16_t*>(
        data_ + places_.weights[static_cast<std::size_t>(stage)].at);
  }

 private:
  struct Free {
    void operator()(std::uint8_t* memory) const noexcept { std::free(memory); }
  };
  NeocognitronArrays places_;
  const std::uint8_t* data_ = nullptr;
  std::unique_ptr<std::uint8_t, Free> memory_;  // of a file's arrays
};

}  // namespace ocellus::detail
