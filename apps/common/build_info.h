// BuildInfo: from what this program was built, and how.
#pragma once

namespace ocellus::app {

/// Static storage. "unknown" where the build did not know it.
struct BuildInfo {
  const char* version;
  /// The commit of the source tree in hexadecimal; "-dirty" follows it if tracked files differed.
  const char* commit;
  const char* compiler;  ///< name and version: "GNU 12.2.0"
  const char* type;      ///< "Release"
  const char* flags;     ///< of the C++ code of the library, without warnings and paths
};

BuildInfo build_info();

}  // namespace ocellus::app
