// Operators of any class as rows of a bench, also those that are not in the list of operators.
#pragma once

#include <functional>
#include <memory>

#include "apps/io/operator_run.h"

namespace ocellus::app {

/// The least cost of one frame, independent of the implementation.
struct Workload {
  double bytes = 0.0;  ///< memory traffic that no cache can avoid
  double flops = 0.0;  ///< multiplications and additions
};

inline Workload least_work(const OperatorInfo& info) {
  return {info.least_bytes, info.least_flops};
}

/// Creates an operator of a fixed configuration, independent of the operator's class.
struct OperatorMaker {
  std::function<Expected<OperatorInfo>()> info;
  std::function<Expected<Footprint>(const EngineInfo&)> footprint;
  std::function<Expected<OperatorHandle>(Engine&)> create;
};

template <typename Operator, typename Config>
OperatorMaker maker_of(const Config& config) {
  const auto kept = std::make_shared<const Config>(config);
  return {[kept] { return Operator::info_for(*kept); },
          [kept](const EngineInfo& engine) { return Operator::footprint(engine, *kept); },
          [kept](Engine& engine) -> Expected<OperatorHandle> {
            Expected<Operator> made = Operator::create(engine, *kept);
            if (!made) return tl::unexpected(made.error());
            return OperatorHandle(std::move(*made));
          }};
}
inline OperatorMaker maker_of(const OperatorConfig& config) {
  return {[config] { return config.info(); },
          [config](const EngineInfo& engine) { return config.footprint(engine); },
          [config](Engine& engine) { return config.create(engine); }};
}

}  // namespace ocellus::app
