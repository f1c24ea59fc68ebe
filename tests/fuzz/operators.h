// What the fuzz targets of operators share: one of any configuration.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>

#include "fuzz/numbers.h"
#include "ocellus/engine.h"

namespace ocellus::fuzz {

template <typename Operator>
struct Made {
  Engine engine;
  Operator op;
};

/// The operator, made in exactly its footprint. Nothing when the configuration is refused, or needs
/// more than `most` bytes: valid, but slow to try many times.
template <typename Operator, typename Config>
std::optional<Made<Operator>> make(const Config& config, int workers, std::size_t most) {
  EngineConfig settings;
  settings.backend.choice = BackendChoice::kCpu;
  settings.workers = workers;
  const auto info = Engine::probe(settings);
  if (!info) std::abort();
  const auto needs = Operator::footprint(*info, config);
  if (!needs) {
    check(needs.error());
    return std::nullopt;
  }
  if (needs->host > most) return std::nullopt;
  settings.memory = *needs;
  auto engine = Engine::create(settings);
  if (!engine) std::abort();
  auto op = Operator::create(*engine, config);
  if (!op) {
    check(op.error());  // what it reads may be no numbers
    return std::nullopt;
  }
  if (engine->memory_use().used != *needs) std::abort();
  return Made<Operator>{std::move(*engine), std::move(*op)};
}

}  // namespace ocellus::fuzz
