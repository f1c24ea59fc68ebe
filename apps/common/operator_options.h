// OperatorOptions: an operator's options, on a command line or in a link of a pipeline.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/operator_run.h"

namespace ocellus::app {

/// Must outlive the plans that come out of it.
class OperatorOptions {
 public:
  virtual ~OperatorOptions() = default;
  virtual void add_to(CLI::App& command) = 0;
  /// For check_options.
  virtual std::vector<UnusedOptions> unused() const = 0;
  /// For frames of this size and format. Throws InputError.
  virtual std::unique_ptr<OperatorPlan> plan(ImageSize size, PixelFormat format) const = 0;
};

/// The operators that have one, as the program calls them.
std::vector<std::string> operator_names();
/// Null for any other name.
std::unique_ptr<OperatorOptions> make_operator_options(const std::string& name);

}  // namespace ocellus::app
