#include "core/backend.h"

#include <hwy/targets.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/failure.h"

namespace ocellus {

const char* backend_name(BackendKind kind) noexcept {
  return kind == BackendKind::kCpu ? "cpu" : "cuda";
}

Expected<BackendSpec> BackendSpec::parse(const char* text) noexcept {
  BackendSpec spec;
  if (text == nullptr) text = "";
  if (std::strcmp(text, "auto") == 0) return spec;
  if (std::strcmp(text, "cpu") == 0) {
    spec.choice = BackendChoice::kCpu;
    return spec;
  }
  if (std::strncmp(text, "cuda", 4) == 0) {
    spec.choice = BackendChoice::kCuda;
    if (text[4] == '\0') return spec;
    char* end = nullptr;
    const long device =
        text[4] == ':' && text[5] >= '0' && text[5] <= '9' ? std::strtol(text + 5, &end, 10) : -1;
    if (end != nullptr && *end == '\0' && device < 1024) {
      spec.device = static_cast<int>(device);
      return spec;
    }
  }
  return detail::invalid_argument("backend is \"%.40s\"; it must be auto, cpu, cuda or cuda:N",
                                  text);
}

namespace detail {
namespace {

/// Reads the processor's name from /proc/cpuinfo; empty if it is not there.
void read_cpu_name(char* name, std::size_t capacity) noexcept {
  name[0] = '\0';
  std::FILE* file = std::fopen("/proc/cpuinfo", "r");
  if (file == nullptr) return;
  char line[256];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strncmp(line, "model name", 10) != 0) continue;
    const char* colon = std::strchr(line, ':');
    if (colon == nullptr) continue;
    std::snprintf(name, capacity, "%s", colon + (colon[1] == ' ' ? 2 : 1));
    name[std::strcspn(name, "\n")] = '\0';
    break;
  }
  std::fclose(file);
}

Expected<void> probe_cpu(int, EngineInfo& info) noexcept {
  info.backend = BackendKind::kCpu;
  info.device = -1;
  read_cpu_name(info.device_name, sizeof(info.device_name));
  return {};
}

}  // namespace

const Backend kCpuBackend = {
    .kind = BackendKind::kCpu,
    .probe = probe_cpu,
};

const char* simd_target_name() noexcept {
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(usable & -usable);  // the best one is the lowest bit
}

const Backend* find_backend(BackendKind kind) noexcept {
  if (kind == BackendKind::kCpu) return &kCpuBackend;
  if constexpr (kBuiltWithCuda) return &kCudaBackend;
  return nullptr;
}

Expected<const Backend*> choose_backend(const BackendSpec& spec, EngineInfo& info) noexcept {
  // Set for every backend, because the host copies frames for CUDA devices, too.
  info.simd_target = simd_target_name();
  if (spec.choice != BackendChoice::kCpu) {
    if (const Backend* cuda = find_backend(BackendKind::kCuda)) {
      const Expected<void> usable = cuda->probe(spec.device, info);
      if (usable) return cuda;
      if (spec.choice == BackendChoice::kCuda) return tl::unexpected(usable.error());
    } else if (spec.choice == BackendChoice::kCuda) {
      return detail::failure(
          Status::kBackendUnavailable,
          "backend cuda:%d was asked for, but this build has no CUDA; use auto or cpu",
          spec.device);
    }
  }
  OCELLUS_TRY(kCpuBackend.probe(0, info));
  return &kCpuBackend;
}

}  // namespace detail
}  // namespace ocellus
