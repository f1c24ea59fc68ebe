// The threads of this process.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace ocellus::test {

/// The ids of the threads whose name begins with `prefix`.
inline std::vector<pid_t> threads_named(const char* prefix) {
  std::vector<pid_t> found;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    char path[300];
    std::snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
    char name[32] = {};
    if (std::FILE* file = std::fopen(path, "r")) {
      if (std::fgets(name, sizeof(name), file) != nullptr &&
          std::strncmp(name, prefix, std::strlen(prefix)) == 0) {
        found.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
      }
      std::fclose(file);
    }
  }
  closedir(tasks);
  return found;
}

/// The threads whose name begins with `prefix`, once there are `count`, or after 5 s. The system
/// still lists a joined thread for a moment.
inline std::vector<pid_t> threads_after(std::size_t count, const char* prefix = "") {
  std::vector<pid_t> found = threads_named(prefix);
  for (int tries = 0; found.size() != count && tries < 5000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    found = threads_named(prefix);
  }
  return found;
}

}  // namespace ocellus::test
