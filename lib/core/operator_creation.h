// The functions of Operator (ocellus/operator.h). The source file of an operator specializes
// OperatorTraits and instantiates Operator.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "core/backend.h"
#include "core/failure.h"
#include "core/operator_instance.h"
#include "ocellus/operator.h"

namespace ocellus {
namespace detail {

/// What an operator adds. The specialization for its configuration has these static functions:
///   Expected<Plan> make_plan_for(config)
///                                      the configuration, checked; a large Plan is a unique_ptr
///   OperatorInfo info(plan)            its names of classes may lie in the plan
///   unique_ptr<OperatorInstance> cpu(plan, workers, config), cuda(plan, config)
///                                      without memory, null if the system has none; may keep
///                                      pointers to plan and configuration until `start` returns
///   void choose(plan, backend)         optional: completes the plan for the backend
///   Expected<void> verify(plan)        optional: checks what the plan has not read of its files
template <typename Config>
struct OperatorTraits;

/// For OperatorTraits of an operator whose plan is too large for a stack. `make_on_cpu` and
/// `make_on_cuda` make its instances from the plan.
template <typename Config, typename LargePlan>
struct LargePlanTraits {
  using Plan = std::unique_ptr<LargePlan>;

  static Expected<Plan> make_plan_for(const Config& config) noexcept {
    Plan plan(new (std::nothrow) LargePlan);
    if (plan == nullptr) return no_memory_for_operator();
    OCELLUS_TRY(make_plan(config, *plan));
    return plan;
  }
  static std::unique_ptr<OperatorInstance> cpu(const Plan& plan, int workers,
                                               const Config&) noexcept {
    return make_on_cpu(*plan, workers);
  }
  static std::unique_ptr<OperatorInstance> cuda(const Plan& plan, const Config&) noexcept {
    return make_on_cuda(*plan);
  }
};

template <typename Config, typename Plan>
std::unique_ptr<OperatorInstance> make_instance(const EngineInfo& engine, Plan& plan,
                                                const Config& config) noexcept {
  using Traits = OperatorTraits<Config>;
  if constexpr (requires { Traits::choose(plan, engine.backend); })
    Traits::choose(plan, engine.backend);
  if constexpr (kBuiltWithCuda)
    if (engine.backend == BackendKind::kCuda) return Traits::cuda(plan, config);
  return Traits::cpu(plan, engine.workers, config);
}

}  // namespace detail

template <typename Self, typename Config, typename Record>
Expected<OperatorInfo> Operator<Self, Config, Record>::info_for(const Config& config) noexcept {
  using Traits = detail::OperatorTraits<Config>;
  OCELLUS_TRY_ASSIGN(plan, Traits::make_plan_for(config));
  OperatorInfo info = Traits::info(*plan);
  info.priority = config.priority;
  info.class_names = nullptr;
  return info;
}

template <typename Self, typename Config, typename Record>
Expected<Footprint> Operator<Self, Config, Record>::footprint(const EngineInfo& engine,
                                                              const Config& config) noexcept {
  using Traits = detail::OperatorTraits<Config>;
  OCELLUS_TRY_ASSIGN(plan, Traits::make_plan_for(config));
  if constexpr (requires { Traits::verify(*plan); }) OCELLUS_TRY(Traits::verify(*plan));
  return detail::footprint_of(detail::make_instance(engine, *plan, config));
}

template <typename Self, typename Config, typename Record>
Expected<Self> Operator<Self, Config, Record>::create(Engine& engine,
                                                      const Config& config) noexcept {
  using Traits = detail::OperatorTraits<Config>;
  OCELLUS_TRY_ASSIGN(plan, Traits::make_plan_for(config));
  auto instance = detail::make_instance(engine.info(), *plan, config);
  OperatorInfo info = Traits::info(*plan);
  info.priority = config.priority;
  OCELLUS_TRY_ASSIGN(made, detail::make_operator(engine, info, std::move(instance)));
  return Self{Operator(std::move(*made))};
}

}  // namespace ocellus
