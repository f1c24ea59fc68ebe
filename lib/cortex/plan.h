// CortexPlan: a checked configuration in the form that backends work from.
#pragma once

#include "cortex/model_file.h"
#include "ocellus/cortex.h"

namespace ocellus::detail {

/// Plain data.
struct CortexPlan {
  ImageSize size;
  PixelFormat format = PixelFormat::kGray8;
  int depth = 1;
  ImageSize tile;
  int columns = 1;  ///< whole tiles of a row
  int patches = 1;  ///< that are classified
  bool truncated = false;
  CortexInk ink = CortexInk::kAuto;
  Text<kMaxOptionText> model;
  CortexTable table;
  std::uint64_t array_hash = 0;  ///< of the arrays that belong to the table
};

/// Checks every field and reads the table of the model. Errors: those of Cortex::create.
Expected<void> make_plan(const CortexConfig& config, CortexPlan& plan) noexcept;
OperatorInfo info_of(const CortexPlan& plan) noexcept;

/// Reads the table of a model. Errors: InvalidArgument (empty name), IoError, CorruptFile.
Expected<void> read_cortex_table(const char* model, CortexTable& table,
                                 std::uint64_t& array_hash) noexcept;

/// Reads the arrays to `to`, which has room for `places_of(plan.table.shape).bytes`, and checks
/// their values. Errors: IoError, CorruptFile (also if the file is no longer the one that was
/// planned with), OutOfMemory.
Expected<void> read_cortex_arrays(const CortexPlan& plan, std::uint8_t* to) noexcept;

}  // namespace ocellus::detail
