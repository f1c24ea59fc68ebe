// BuildInfo: from what this program was built, and how.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ocellus::app {

/// "unknown" where the build did not know it.
struct BuildInfo {
  std::string version;
  /// The commit of the source tree in hexadecimal; "-dirty" follows it if tracked files differed.
  std::string commit;
  std::string compiler;  ///< name and version: "GNU 12.2.0"
  std::string type;      ///< "Release"
  std::string flags;     ///< of the C++ code of the library, without warnings and paths
};

BuildInfo build_info();
nlohmann::ordered_json build_json();
/// "ocellus 0.1.0, commit 0123456789ab, GNU 12.2.0, Release".
std::string build_line();

}  // namespace ocellus::app
