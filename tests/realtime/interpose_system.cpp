// Replaces the system calls of the library other than malloc, so that a test can refuse them
// (interpose.h).
#include "realtime/interpose_system.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>

#include "realtime/interpose.h"

namespace {

using ocellus::test::is_refused;
using ocellus::test::SystemCall;

std::atomic<long> mappings{0};
std::atomic<long> threads{0};

/// The function of the C library.
template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int open_or_refuse(const char* path, int flags, mode_t mode) {
  if (is_refused(SystemCall::kOpen)) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t read_or_refuse(int file, void* buffer, std::size_t bytes, off_t at) {
  if (is_refused(SystemCall::kRead)) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pread64, file, buffer, bytes, at);
}

void* map_or_refuse(void* at, std::size_t bytes, int protection, int flags, int file,
                    off_t offset) {
  if (is_refused(SystemCall::kMapping)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* const block =
      reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
  if (block != MAP_FAILED) ++mappings;
  return block;
}

}  // namespace

namespace ocellus::test {

long live_mappings() {
  return mappings.load();
}

long live_threads() {
  return threads.load();
}

}  // namespace ocellus::test

// Names with 64 belong to large files on 32-bit systems, names with chk to hardened builds. The
// library may be compiled to call any of them.
extern "C" {

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  return map_or_refuse(at, bytes, protection, flags, file, offset);
}
void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file,
             off64_t offset) noexcept {
  return map_or_refuse(at, bytes, protection, flags, file, offset);
}
int munmap(void* block, std::size_t bytes) noexcept {
  const auto status = static_cast<int>(syscall(SYS_munmap, block, bytes));
  if (status == 0) --mappings;
  return status;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = real<Create>("pthread_create");
  if (is_refused(SystemCall::kThread)) return EAGAIN;
  const int status = create(thread, attributes, function, argument);
  if (status == 0) ++threads;
  return status;
}
int pthread_join(pthread_t thread, void** result) {
  using Join = int (*)(pthread_t, void**);
  static const auto join = real<Join>("pthread_join");
  const int status = join(thread, result);
  if (status == 0) --threads;
  return status;
}

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_or_refuse(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_or_refuse(path, flags, mode);
}
int __open_2(const char* path, int flags) {
  return open_or_refuse(path, flags, 0);
}
int __open64_2(const char* path, int flags) {
  return open_or_refuse(path, flags, 0);
}

int fstat(int file, struct stat* status) noexcept {
  using Stat = int (*)(int, struct stat*);
  static const auto stat = real<Stat>("fstat");
  if (!is_refused(SystemCall::kStat)) return stat(file, status);
  errno = EIO;
  return -1;
}

ssize_t pread(int file, void* buffer, std::size_t bytes, off_t at) {
  return read_or_refuse(file, buffer, bytes, at);
}
ssize_t pread64(int file, void* buffer, std::size_t bytes, off64_t at) {
  return read_or_refuse(file, buffer, bytes, at);
}
ssize_t __pread_chk(int file, void* buffer, std::size_t bytes, off_t at, std::size_t) {
  return read_or_refuse(file, buffer, bytes, at);
}
ssize_t __pread64_chk(int file, void* buffer, std::size_t bytes, off64_t at, std::size_t) {
  return read_or_refuse(file, buffer, bytes, at);
}

int mlock(const void* block, std::size_t bytes) noexcept {
  if (is_refused(SystemCall::kLock)) {
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mlock, block, bytes));
}

}  // extern "C"
