#include "apps/common/operator_options.h"

#include "apps/halftone/options.h"
#include "apps/optical_flow/run.h"

namespace ocellus::app {
namespace {

class FlowOperatorOptions : public OperatorOptions {
 public:
  void add_to(CLI::App& command) override { add_flow_options(command, options_); }
  std::vector<UnusedOptions> unused() const override { return unused_flow_options(options_); }
  std::unique_ptr<OperatorPlan> plan(ImageSize size, PixelFormat format) const override {
    return std::make_unique<FlowPlan>(flow_config(options_, size, format));
  }

 private:
  FlowOptions options_;
};

class CellOperatorOptions : public OperatorOptions {
 public:
  explicit CellOperatorOptions(CellOptions::Command command) : options_(command) {}

  void add_to(CLI::App& command) override { add_cell_options(command, options_); }
  std::vector<UnusedOptions> unused() const override { return unused_cell_options(options_); }
  std::unique_ptr<OperatorPlan> plan(ImageSize size, PixelFormat format) const override {
    return std::make_unique<CellPlan>(cell_setup(options_, size, format));
  }

 private:
  CellOptions options_;
};

std::unique_ptr<OperatorOptions> make_flow() {
  return std::make_unique<FlowOperatorOptions>();
}

template <CellOptions::Command Command>
std::unique_ptr<OperatorOptions> make_cells() {
  return std::make_unique<CellOperatorOptions>(Command);
}

struct Entry {
  const char* name;
  std::unique_ptr<OperatorOptions> (*make)();
};
constexpr Entry kOperators[] = {
    {"flow", make_flow},
    {"halftone", make_cells<CellOptions::Command::kHalftone>},
    {"cnn", make_cells<CellOptions::Command::kCnn>},
};

}  // namespace

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kOperators) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<OperatorOptions> make_operator_options(const std::string& name) {
  for (const Entry& entry : kOperators)
    if (name == entry.name) return entry.make();
  return nullptr;
}

}  // namespace ocellus::app
