#include "kernels/core/trace.h"

#include <cstdio>

// Some distributions have NVTX in a separate package.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define OCELLUS_NVTX 1
#else
#define OCELLUS_NVTX 0
#endif

namespace ocellus::cuda {

#if OCELLUS_NVTX

namespace {

/// The NVTX domain; null without a profiler.
nvtxDomainHandle_t domain() noexcept {
  static const nvtxDomainHandle_t kDomain = nvtxDomainCreateA("ocellus");
  return kDomain;
}

}  // namespace

void TraceRange::prepare() noexcept {
  static_cast<void>(domain());
}

TraceRange::TraceRange(const char* who, const char* step, std::uint64_t sequence) noexcept {
  if (domain() == nullptr) return;
  char text[64];
  std::snprintf(text, sizeof(text), "%s: %s", who, step);
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = sequence;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  nvtxDomainRangePushEx(domain(), &event);
}

TraceRange::~TraceRange() {
  if (domain() != nullptr) nvtxDomainRangePop(domain());
}

#else

void TraceRange::prepare() noexcept {}
TraceRange::TraceRange(const char*, const char*, std::uint64_t) noexcept {}
TraceRange::~TraceRange() = default;

#endif

}  // namespace ocellus::cuda
