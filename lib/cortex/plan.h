// CortexPlan: a checked configuration in the form that backends work from.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "cortex/model_file.h"
#include "ocellus/cortex.h"

namespace ocellus::detail {

/// Plain data.
struct CortexPlan : CortexConfig, PatchGrid {
  PixelFormat input_format = PixelFormat::kGray8;  ///< of the frames
  std::uint32_t rate = 0;                          ///< in units of 1 / kRateOne
  CortexTable table;
  std::uint64_t array_hash = 0;  ///< of the arrays that belong to the table
};

/// Checks every field and reads the table of the model. Errors: those of Cortex::create.
Expected<void> make_plan(const CortexConfig& config, CortexPlan& plan) noexcept;
OperatorInfo info_of(const CortexPlan& plan) noexcept;
/// What an instance says of what it learns: all arrays, as places_of() says.
OperatorInstance::Learned learned_of(const CortexPlan& plan) noexcept;

/// Writes a model file with what `instance`, an operator of this plan that learns, has learned.
/// Does not allocate. Errors: InvalidArgument (path), IoError, those of read_learned.
Expected<void> save_cortex(const char* path, const CortexPlan& plan,
                           OperatorInstance& instance) noexcept;

/// Reads the table of a model. Errors: InvalidArgument (empty name), IoError, CorruptFile.
Expected<void> read_cortex_table(const char* model, CortexTable& table,
                                 std::uint64_t& array_hash) noexcept;

/// Compares the arrays of a file with their checksum, before memory is taken for them. Errors:
/// IoError, CorruptFile.
Expected<void> verify_cortex_file(const CortexPlan& plan) noexcept;

/// Reads the arrays to `to`, which has room for `places_of(plan.table.shape, plan.learn).bytes`,
/// and checks their values. P is derived from the weights if the model does not have it. Errors:
/// IoError, CorruptFile (also if the file is no longer the one that was planned with), OutOfMemory.
Expected<void> read_cortex_arrays(const CortexPlan& plan, std::uint8_t* to) noexcept;

/// Instances without memory; null when the system has none.
std::unique_ptr<OperatorInstance> make_on_cpu(const CortexPlan& plan, int workers) noexcept;
std::unique_ptr<OperatorInstance> make_on_cuda(const CortexPlan& plan) noexcept;

}  // namespace ocellus::detail
