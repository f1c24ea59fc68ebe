// ocellus-cluster model: the predicted frame rate of a cluster.
#pragma once

#include "apps/common/common.h"

namespace ocellus::app {

void add_cluster_model_command(CLI::App& program, int& exit_code);

}  // namespace ocellus::app
