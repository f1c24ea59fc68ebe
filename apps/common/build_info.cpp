#include "apps/common/build_info.h"

#include "build_commit.h"  // of toolchains/cmake/commit.cmake
#include "ocellus/version.h"

namespace ocellus::app {

BuildInfo build_info() {
  return {version(), OCELLUS_BUILD_COMMIT, OCELLUS_BUILD_COMPILER, OCELLUS_BUILD_TYPE,
          OCELLUS_BUILD_FLAGS};
}

}  // namespace ocellus::app
