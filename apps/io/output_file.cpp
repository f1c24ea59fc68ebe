#include "apps/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

namespace ocellus::app {
namespace {

namespace fs = std::filesystem;

/// Resolves symbolic links, because a rename would replace the link itself. The target need not
/// exist. For links that lead nowhere, such as a loop, the result of `stat` decides.
fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;  // the limit of the kernel
  std::error_code code;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, code); ++i) {
    const fs::path to = fs::read_symlink(path, code);
    if (code) break;
    path = to.is_absolute() ? to : path.parent_path() / to;
  }
  return path;
}

bool is_standard_output(const struct stat& file) {
  struct stat out = {};
  return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == file.st_dev && out.st_ino == file.st_ino;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// The descriptor of standard output once it is reserved, or -1.
int reserved_output = -1;

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

void reserve_standard_output() {
  if (reserved_output >= 0) return;
  std::fflush(stdout);
  const int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw InputError(fmt::format("standard output: {}", std::strerror(errno)));
  reserved_output = kept;
}

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

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), target_(follow_links(path_).string()) {
  if (is_standard_stream(path_)) {
    reserve_standard_output();
    path_ = "standard output";
    open_descriptor(fcntl(reserved_output, F_DUPFD_CLOEXEC, 0));
    return;
  }
  struct stat status = {};
  if (stat(path_.c_str(), &status) != 0) {
    if (errno != ENOENT) fail();  // the file may exist, and must not be replaced unchecked
    open_part();
  } else if (S_ISREG(status.st_mode) && !is_standard_output(status)) {
    check_not_input(path_);
    // A rename checks only the permissions of the folder. The file's own permissions must count,
    // too.
    if (access(path_.c_str(), W_OK) != 0) fail();
    replaced_mode_ = status.st_mode & 07777;
    open_part();
  } else {
    open_in_place();
  }
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (unfinished_) unlink(part_path_.c_str());
}

void OutputFile::open_in_place() {
  part_path_ = path_;
  int descriptor = -1;
  struct stat status = {};
  if (stat(path_.c_str(), &status) == 0 && is_standard_output(status)) {
    // If stdout is a regular file, opening it by name would write from its beginning, and later
    // output of the program would overwrite that.
    descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  } else {
    // Waits until a process reads the pipe or a signal asks to stop.
    constexpr timespec kStep = {0, 20'000'000};
    while ((descriptor = open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) < 0 &&
           errno == ENXIO && S_ISFIFO(status.st_mode) && stop_signal() == 0)
      nanosleep(&kStep, nullptr);
    if (descriptor >= 0) fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  }
  open_descriptor(descriptor);
}

void OutputFile::open_descriptor(int descriptor) {
  if (descriptor >= 0) file_ = fdopen(descriptor, "wb");
  if (file_ == nullptr) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    errno = error;
    fail();
  }
}

void OutputFile::open_part() {
  // Leaves space for the suffix if the name itself has the maximum length.
  constexpr std::size_t kLongest = 200;
  const std::string begin =
      (folder_of(target_) / fs::path(target_).filename().string().substr(0, kLongest)).string();
  constexpr int kTries =
      100;  // a process with the same number may have left a file when the machine crashed
  int descriptor = -1;
  for (int i = 0; i < kTries && descriptor < 0; ++i) {
    part_path_ = fmt::format("{}.{}-{}.part", begin, getpid(), i);
    // Registered before the file exists, because a signal may come between the two calls.
    unfinished_.emplace(part_path_.c_str());
    descriptor = open(part_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) break;
    unfinished_.reset();
    if (errno != EEXIST) fail();
  }
  if (descriptor < 0) fail();
  file_ = fdopen(descriptor, "wb");
  if (file_ == nullptr) {
    close(descriptor);
    unlink(part_path_.c_str());
    fail();
  }
}

void OutputFile::write(const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, file_) != count) fail();
}

void OutputFile::flush() {
  if (std::fflush(file_) != 0) fail();
}

void OutputFile::seek_to_start() {
  if (std::fseek(file_, 0, SEEK_SET) != 0) fail();
}

void OutputFile::commit() {
  if (std::fflush(file_) != 0) fail();
  // The data must reach the disk before the rename. Otherwise a crash could lose the old file and
  // the new one.
  if (replaced_mode_ &&
      (fchmod(fileno(file_), *replaced_mode_) != 0 || fsync(fileno(file_)) != 0)) {
    fail();
  }
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
  if (!unfinished_) return;
  if (std::rename(part_path_.c_str(), target_.c_str()) != 0) fail();
  unfinished_.reset();
}

void OutputFile::fail() const {
  throw InputError(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

void require_free_space(const std::string& path, std::uint64_t bytes) {
  std::error_code code;
  const fs::space_info space = fs::space(folder_of(follow_links(path)), code);
  if (code || bytes <= space.available) return;  // the writer reports a folder that does not exist
  throw InputError(fmt::format("{}: needs {}, but its file system has {} free", path,
                               bytes_text(bytes), bytes_text(space.available)));
}

bool is_special_file(const std::string& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < kUnits.size(); ++unit) value /= 1024.0;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace ocellus::app
