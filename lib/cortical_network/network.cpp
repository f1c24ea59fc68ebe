#include "ocellus/network.h"

#include <memory>
#include <new>

#include "core/operator_creation.h"
#include "cortical_network/operator_plan.h"

namespace ocellus {

template <>
struct detail::OperatorTraits<NetworkConfig> : LargePlanTraits<NetworkConfig, NetworkOperatorPlan> {
  static OperatorInfo info(const Plan& plan) noexcept {
    OperatorInfo info = info_of(*plan);
    info.class_names = plan->read_out.names.data();
    return info;
  }
  static Expected<void> verify(const Plan& plan) noexcept { return verify_network_file(*plan); }
};

template class Operator<Network, NetworkConfig, NetworkRecord>;

Expected<NetworkModelInfo> Network::read_model_info(const char* model) noexcept {
  const std::unique_ptr<detail::NetworkReader> file(new (std::nothrow) detail::NetworkReader);
  if (file == nullptr) return detail::no_memory_for_operator();
  OCELLUS_TRY(file->open(model, 1, false));
  const detail::ReadOutTable& read_out = file->read_out();
  NetworkModelInfo info;
  info.config = file->config();
  info.classes = read_out.classes;
  for (std::size_t c = 0; c < info.names.size(); ++c) info.names[c] = Text<32>(read_out.names[c]);
  info.sharpness = read_out.sharpness;
  return info;
}

}  // namespace ocellus
