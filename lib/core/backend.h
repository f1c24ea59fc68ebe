// The backends of this build.
#pragma once

#include <memory>

#include "core/device.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// What computes: the CPU, or the devices of one kind.
struct Backend {
  BackendKind kind = BackendKind::kCpu;
  /// Fills in the device part of `info`, or says why the backend cannot be used here.
  Expected<void> (*probe)(int device, EngineInfo& info) noexcept = nullptr;
  /// Opens the device of `info` and takes its memory; null for the CPU.
  Expected<std::unique_ptr<Device>> (*open)(const EngineConfig& config,
                                            const EngineInfo& info) noexcept = nullptr;
};

#ifdef OCELLUS_CUDA
inline constexpr bool kBuiltWithCuda = true;
#else
inline constexpr bool kBuiltWithCuda = false;
#endif

extern const Backend kCpuBackend;
extern const Backend kCudaBackend;  // where the build has it

/// The table for a kind; null when it is not in this build.
const Backend* find_backend(BackendKind kind) noexcept;

/// Picks as BackendChoice says and fills in `info`.
Expected<const Backend*> choose_backend(const BackendSpec& spec, EngineInfo& info) noexcept;

}  // namespace ocellus::detail
