// What the fuzz targets of operators share: creation from any configuration.
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

/// Creates the operator in exactly its footprint. Returns nothing if the configuration is refused,
/// or needs more than `most` bytes, which would be valid but slow.
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
    check(op.error());  // files that it reads may contain invalid numbers
    return std::nullopt;
  }
  if (engine->memory_use().used != *needs) std::abort();
  return Made<Operator>{std::move(*engine), std::move(*op)};
}

}  // namespace ocellus::fuzz
