#include "core/file_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

tl::unexpected<Error> failed(int error) noexcept {
  return failure(Status::kIoError, "cannot be written: %s", std::strerror(error));
}

bool same_numbers(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_standard_output(const struct stat& file) noexcept {
  struct stat out = {};
  return fstat(STDOUT_FILENO, &out) == 0 && same_numbers(out, file);
}

/// The permissions of the file itself. A rename asks only for those of the folder.
bool may_write(const char* path) noexcept {
  return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/// Bytes up to the name in the folder.
std::size_t folder_bytes(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? 0 : static_cast<std::size_t>(slash + 1 - path);
}

/// Differs from call to call. Creation is exclusive, so it need not be secret.
std::uint64_t unique_number() noexcept {
  static std::atomic<std::uint64_t> count{0};
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  std::uint64_t mixed = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                        static_cast<std::uint64_t>(now.tv_nsec);
  mixed ^= static_cast<std::uint64_t>(getpid()) << 40;
  mixed += count.fetch_add(1, std::memory_order_relaxed);
  // The last steps of SplitMix64 spread the bits.
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

/// Calls `write` with what is left, its length and the bytes before it until all is written.
template <typename Write>
Expected<void> write_all(const void* bytes, std::size_t count, const Write& write) noexcept {
  for (std::size_t done = 0; done < count;) {
    const ssize_t wrote = write(static_cast<const char*>(bytes) + done, count - done, done);
    if (wrote < 0 && errno != EINTR) return failed(errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  return {};
}

Error no_random_access() noexcept {
  return make_error(Status::kIoError,
                    "cannot be written into a pipe, a terminal or standard output; name a regular "
                    "file");
}

}  // namespace

Expected<void> resolve_links(const char* path, char (&target)[FileWriter::kPathBytes]) noexcept {
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(target)) return failed(ENAMETOOLONG);
  std::memcpy(target, path, length + 1);
  constexpr int kMostLinks = 40;  // the limit of the kernel
  for (int i = 0; i < kMostLinks; ++i) {
    char link[FileWriter::kPathBytes];
    const ssize_t count = readlink(target, link, sizeof(link));
    if (count < 0) return errno == EINVAL || errno == ENOENT ? Expected<void>() : failed(errno);
    const auto bytes = static_cast<std::size_t>(count);
    const std::size_t folder = link[0] == '/' ? 0 : folder_bytes(target);
    if (folder + bytes >= sizeof(target)) return failed(ENAMETOOLONG);
    std::memcpy(target + folder, link, bytes);
    target[folder + bytes] = '\0';
  }
  return failed(ELOOP);
}

bool same_file(const char* a, const char* b) noexcept {
  struct stat first = {};
  struct stat second = {};
  const bool exists = stat(a, &first) == 0;
  if (exists != (stat(b, &second) == 0)) return false;
  if (exists) return same_numbers(first, second);
  // Both are to be created: in which folders?
  char targets[2][FileWriter::kPathBytes];
  if (!resolve_links(a, targets[0]) || !resolve_links(b, targets[1])) return false;
  const std::size_t names[] = {folder_bytes(targets[0]), folder_bytes(targets[1])};
  if (std::strcmp(targets[0] + names[0], targets[1] + names[1]) != 0) return false;
  for (int i = 0; i < 2; ++i) {
    targets[i][names[i]] = '\0';
    struct stat& folder = i == 0 ? first : second;
    if (stat(names[i] == 0 ? "." : targets[i], &folder) != 0) return false;
  }
  return same_numbers(first, second);
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Expected<void> FileWriter::open(const char* path, const Options& options) noexcept {
  options_ = options;
  struct stat status = {};
  const bool exists = stat(path, &status) == 0;
  // Otherwise the file may exist, and must not be replaced unchecked.
  if (!exists && errno != ENOENT) return failed(errno);
  if (path[0] == '\0') return failed(ENOENT);
  if (exists && (!S_ISREG(status.st_mode) || is_standard_output(status)))
    return open_in_place(path, status);
  OCELLUS_TRY(resolve_links(path, target_));
  if (exists) {
    if (!may_write(target_)) return failed(errno);
    replaces_ = true;
    replaced_ = status;
  }
  return create_part();
}

Expected<void> FileWriter::open_in_place(const char* path, const struct stat& status) noexcept {
  in_place_ = true;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(part_)) return failed(ENAMETOOLONG);
  std::memcpy(part_, path, length + 1);
  const bool is_pipe = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  if (is_standard_output(status)) {
    if (options_.random_access) return tl::unexpected(no_random_access());
    // If stdout is a regular file, opening it by name would write from its beginning, and later
    // output of the program would overwrite that.
    descriptor_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) return failed(errno);
    return {};
  }
  if (is_pipe && options_.random_access) return tl::unexpected(no_random_access());
  constexpr int kFlags = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  while ((descriptor_ = ::open(path, kFlags)) < 0) {
    if (errno == EINTR) continue;
    if (errno != ENXIO || !S_ISFIFO(status.st_mode)) return failed(errno);
    if (options_.stops == nullptr || options_.stops())
      return failure(Status::kIoError,
                     "cannot be written: no process has opened the pipe to read from it");
    constexpr int kStepMs = 20;
    poll(nullptr, 0, kStepMs);
  }
  fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
  if (options_.random_access && lseek(descriptor_, 0, SEEK_CUR) < 0)
    return tl::unexpected(no_random_access());
  return {};
}

Expected<void> FileWriter::create_part() noexcept {
  constexpr std::size_t kEndingBytes = 20;  // with the NUL
  const std::size_t folder = folder_bytes(target_);
  // Leaves room for the ending if the name itself has the maximum length.
  constexpr std::size_t kLongestName = 200;
  const std::size_t begin = folder + std::min(std::strlen(target_ + folder), kLongestName);
  if (begin + kEndingBytes > sizeof(part_)) return failed(ENAMETOOLONG);
  std::memcpy(part_, target_, begin);
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    std::snprintf(part_ + begin, kEndingBytes, ".%012llx.part",
                  static_cast<unsigned long long>(unique_number() >> 16));
    // Until `commit`, nobody may read what shall replace a file that they may not read.
    descriptor_ = unfinished_.create(part_, replaces_ ? 0600 : 0666);
    if (descriptor_ >= 0) return {};
    if (errno != EEXIST && errno != EINTR) break;
  }
  if (!replaces_) return failed(errno);
  return failure(Status::kIoError,
                 "cannot be written: no temporary file can be created beside "
                 "it: %s",
                 std::strerror(errno));
}

Expected<void> FileWriter::write(const void* bytes, std::size_t count) noexcept {
  return write_all(bytes, count, [this](const char* from, std::size_t left, std::size_t) {
    return ::write(descriptor_, from, left);
  });
}

Expected<void> FileWriter::write_at(const void* bytes, std::size_t count,
                                    std::uint64_t at) noexcept {
  return write_all(bytes, count, [this, at](const char* from, std::size_t left, std::size_t done) {
    return ::pwrite(descriptor_, from, left, static_cast<off_t>(at + done));
  });
}

Expected<void> FileWriter::keep_attributes() noexcept {
  struct stat status = {};
  // The target may have changed since `open`.
  if (lstat(target_, &status) == 0) {
    if (!S_ISREG(status.st_mode)) {
      return failure(Status::kIoError,
                     "cannot be written: its place was taken by something else than a file");
    }
    if (!may_write(target_)) return failed(errno);
    replaces_ = true;
    replaced_ = status;
  } else if (errno != ENOENT) {
    return failed(errno);
  }
  if (!replaces_) return {};
  // Only the superuser gives files away. Others keep at least the group if they are members.
  const bool kept = fchown(descriptor_, replaced_.st_uid, replaced_.st_gid) == 0 ||
                    fchown(descriptor_, static_cast<uid_t>(-1), replaced_.st_gid) == 0;
  static_cast<void>(kept);
  constexpr mode_t kPermissions = 07777;
  if (fchmod(descriptor_, replaced_.st_mode & kPermissions) != 0) return failed(errno);
  return {};
}

Expected<void> FileWriter::commit() noexcept {
  if (!in_place_) {
    OCELLUS_TRY(keep_attributes());
    if ((replaces_ || options_.durable) && fsync(descriptor_) != 0) return failed(errno);
  }
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) return failed(errno);
  if (in_place_) return {};
  if (::rename(part_, target_) != 0) return failed(errno);
  unfinished_.keep();
  return {};
}

}  // namespace ocellus::detail
