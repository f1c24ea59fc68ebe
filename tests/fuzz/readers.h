// What the fuzz targets of the program's readers share: the folder for files, and the allowed
// outcomes of a reader.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "apps/common/input_error.h"

namespace ocellus::fuzz {

/// A folder that is removed at a normal end of the process. It holds at most one file at a time.
class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ocellus-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  /// Aborts unless the folder is empty or holds this file only, and removes the file.
  void expect_only(const std::string& name) const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().filename() != name) std::abort();
      std::filesystem::remove(entry.path());
    }
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Runs a reader. It may throw an InputError with a text, and nothing else.
template <typename Read>
void read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const app::InputError& error) {
    if (error.what()[0] == '\0') std::abort();
  }
}

}  // namespace ocellus::fuzz
