#include "kernels/trace_recorder.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>

namespace ocellus::test {

Seen& seen() {
  static Seen all;
  return all;
}

namespace {

nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  seen().domains.emplace_back(name);
  return reinterpret_cast<nvtxDomainHandle_t>(&seen());
}

int NVTX_API push_range(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const bool as_expected = domain == reinterpret_cast<nvtxDomainHandle_t>(&seen()) &&
                           event->messageType == NVTX_MESSAGE_TYPE_ASCII &&
                           event->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  seen().ranges.push_back(!as_expected ? "a range of another kind"
                                       : std::string(event->message.ascii) + " " +
                                             std::to_string(event->payload.ullValue));
  seen().deepest = std::max(seen().deepest, ++seen().depth);
  return seen().depth - 1;
}

int NVTX_API pop_range(nvtxDomainHandle_t) {
  return --seen().depth;
}

}  // namespace
}  // namespace ocellus::test

using namespace ocellus::test;

// NVTX calls this function of the library that NVTX_INJECTION64_PATH names.
extern "C" __attribute__((visibility("default"))) int NVTX_API
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE2_DomainCreateA)
    return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(create_domain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(push_range);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(pop_range);
  return 1;
}
