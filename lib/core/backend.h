// Backend: the table of functions of a backend, and the backends of this build.
#pragma once

#include <memory>

#include "core/device.h"
#include "ocellus/engine.h"
#include "ocellus/status.h"

namespace ocellus::detail {

/// A backend: the CPU, or CUDA devices.
struct Backend {
  BackendKind kind = BackendKind::kCpu;
  /// Fills in the device's part of `info`. Errors: the reason why the backend cannot be used.
  Expected<void> (*probe)(int device, EngineInfo& info) noexcept = nullptr;
  /// Opens the device of `info` and allocates the engine's memory on it; null for the CPU.
  Expected<std::unique_ptr<Device>> (*open)(const EngineConfig& config,
                                            const EngineInfo& info) noexcept = nullptr;
};

#ifdef OCELLUS_CUDA
inline constexpr bool kBuiltWithCuda = true;
#else
inline constexpr bool kBuiltWithCuda = false;
#endif

extern const Backend kCpuBackend;
extern const Backend kCudaBackend;  // defined only in builds with CUDA

/// Highway's name of the best instruction set that this processor and this build support.
const char* simd_target_name() noexcept;

/// Returns the table of a backend, or null if this build does not have it.
const Backend* find_backend(BackendKind kind) noexcept;

/// Selects a backend as BackendChoice describes and fills in `info`.
Expected<const Backend*> choose_backend(const BackendSpec& spec, EngineInfo& info) noexcept;

}  // namespace ocellus::detail
