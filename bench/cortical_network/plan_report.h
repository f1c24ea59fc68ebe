// What `ocellus cortex plan` prints.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "ocellus/cortical_placement.h"

namespace ocellus::app {

struct PlanReport {
  std::vector<PlacementDevice> devices;
  CorticalPlacement placement;
};

void print_plan(const PlanReport& report);
nlohmann::ordered_json plan_json(const PlanReport& report);

}  // namespace ocellus::app
