// The threads of this process.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <algorithm>
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

/// Calls `threads` every millisecond, until it returns `count` of them or for 5 s. The system still
/// lists a joined thread for a moment, and the emulator of another CPU for longer.
template <typename Threads>
std::vector<pid_t> await_threads(std::size_t count, const Threads& threads) {
  std::vector<pid_t> found = threads();
  for (int tries = 0; found.size() != count && tries < 5000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    found = threads();
  }
  return found;
}

/// The threads whose name begins with `prefix`, once there are `count`, or after 5 s.
inline std::vector<pid_t> threads_after(std::size_t count, const char* prefix) {
  return await_threads(count, [&] { return threads_named(prefix); });
}

/// The threads that were started after this was made.
class NewThreads {
 public:
  /// Those that are left, once none is, or after 5 s.
  std::vector<pid_t> left() const {
    return await_threads(0, [&] {
      std::vector<pid_t> found = threads_named("");
      std::erase_if(found, [&](pid_t id) {
        return std::find(before_.begin(), before_.end(), id) != before_.end();
      });
      return found;
    });
  }

 private:
  std::vector<pid_t> before_ = threads_named("");
};

}  // namespace ocellus::test
