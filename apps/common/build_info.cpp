#include "apps/common/build_info.h"

#include <fmt/format.h>

#include "build_commit.h"  // of toolchains/cmake/commit.cmake
#include "ocellus/version.h"

namespace ocellus::app {

BuildInfo build_info() {
  return {version(), OCELLUS_BUILD_COMMIT, OCELLUS_BUILD_COMPILER, OCELLUS_BUILD_TYPE,
          OCELLUS_BUILD_FLAGS};
}

nlohmann::ordered_json build_json() {
  const BuildInfo info = build_info();
  return {{"version", info.version},
          {"commit", info.commit},
          {"compiler", info.compiler},
          {"type", info.type},
          {"flags", info.flags}};
}

std::string build_line() {
  const BuildInfo info = build_info();
  // Twelve digits name a commit; the rest of the line is what follows the 40.
  std::string commit = info.commit;
  if (commit.size() >= 40) commit.erase(12, 28);
  return fmt::format("ocellus {}, commit {}, {}, {}", info.version, commit, info.compiler,
                     info.type);
}

}  // namespace ocellus::app
