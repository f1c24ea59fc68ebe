// Files of cortical networks.
#pragma once

#include "core/model_file.h"

namespace ocellus::detail {

inline constexpr ModelKind kCorticalNetworkKind{"cortnet", "cortical network", 1, 4032};

}  // namespace ocellus::detail
