#include "apps/common/input_guard.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <mutex>
#include <set>
#include <utility>

#include "apps/common/input_error.h"

namespace ocellus::app {
namespace {

/// The files that the process reads, by device and number of the file.
struct Inputs {
  std::mutex mutex;
  bool protect = false;
  std::set<std::pair<dev_t, ino_t>> files;
};
Inputs& inputs() {
  static Inputs all;
  return all;
}

}  // namespace

void protect_inputs() {
  const std::lock_guard<std::mutex> lock(inputs().mutex);
  inputs().protect = true;
}

void note_input(const std::string& path) {
  struct stat status = {};
  const std::lock_guard<std::mutex> lock(inputs().mutex);
  if (inputs().protect && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
    inputs().files.emplace(status.st_dev, status.st_ino);
}

void check_not_input(const std::string& path) {
  struct stat status = {};
  const std::lock_guard<std::mutex> lock(inputs().mutex);
  if (!inputs().protect || stat(path.c_str(), &status) != 0) return;
  if (inputs().files.count({status.st_dev, status.st_ino}) == 0) return;
  throw InputError(fmt::format(
      "{}: is an input of this command, and would be overwritten; give the output another name",
      path));
}

}  // namespace ocellus::app
