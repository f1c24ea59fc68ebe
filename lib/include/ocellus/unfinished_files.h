// Files that the process has not finished, and their removal when a signal ends it.
//
// `OperatorHandle::save_model` and `save_file` of the cortical networks write to a temporary file
// beside their target, such as model.ocellus.0123456789ab.part, and rename it when it is complete.
// An error removes it. A signal that ends the process leaves it, unless the program's handler of
// the signal calls remove_unfinished_files(). The target is the old file or the new one in any
// case, and a temporary file that was left can be deleted.
#pragma once

#include <sys/types.h>

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Removes the files of all UnfinishedFile objects. A signal handler may call it. The process must
/// end afterwards: it can neither create nor finish such a file any more.
void remove_unfinished_files() noexcept;

/// A file that disappears with this object, and in remove_unfinished_files(), unless `keep` is
/// called. The process can register 16 of them at a time; others stay when a signal ends it.
class UnfinishedFile {
 public:
  UnfinishedFile() noexcept = default;
  /// Removes the file.
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  /// Creates the file, which must not exist, and opens it for writing. Called once, until it
  /// succeeds. `path` must live as long as the object. Returns the descriptor, or -1 with the
  /// reason in errno: ECANCELED after remove_unfinished_files().
  int create(const char* path, mode_t mode) noexcept;
  /// Makes the file an ordinary one. Called after it was moved to its place, too.
  void keep() noexcept;

 private:
  void leave(bool remove) noexcept;

  const char* path_ = nullptr;
  int place_ = -1;
};

}  // namespace ocellus

#pragma GCC visibility pop
