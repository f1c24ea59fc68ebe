#include "ocellus/version.h"

namespace ocellus {

const char* version() noexcept {
  return OCELLUS_VERSION_STRING;
}

}  // namespace ocellus
