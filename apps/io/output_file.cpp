#include "apps/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "apps/common/input_guard.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "core/file_writer.h"

namespace ocellus::app {
namespace {

namespace fs = std::filesystem;

/// The descriptor of standard output once it is reserved, or -1.
int reserved_output = -1;

}  // namespace

void reserve_standard_output() {
  if (reserved_output >= 0) return;
  std::fflush(stdout);
  const int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw InputError(fmt::format("standard output: {}", std::strerror(errno)));
  reserved_output = kept;
}

bool same_file(const std::string& a, const std::string& b) {
  return detail::same_file(a.c_str(), b.c_str());
}

void check_distinct_outputs(const std::vector<std::pair<const char*, std::string>>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const auto& [first, path] = outputs[k];
      const auto& [second, other] = outputs[i];
      if (path.empty() || other.empty() || is_special_file(path) || !same_file(path, other))
        continue;
      throw InputError(fmt::format("{} and {} name the same file, {}; give them different names",
                                   first, second, path));
    }
  }
}

void remove_file(const std::string& path) {
  char target[detail::FileWriter::kPathBytes];
  if (is_special_file(path) || !detail::resolve_links(path.c_str(), target)) return;
  unlink(target);
}

void require_writable(const std::string& path) {
  if (!is_special_file(path)) OutputFile{path};
}

void require_writable_model(const std::string& path, const std::string& from) {
  if (is_standard_stream(path))
    throw InputError("a model cannot be written to standard output; name a regular file");
  if (from.empty() || !same_file(path, from)) check_not_input(path);
  detail::FileWriter writer;
  if (const auto opened = writer.open(path.c_str(), {.random_access = true}); !opened)
    throw InputError(fmt::format("{}: {}", path, opened.error().text));
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (is_standard_stream(path_)) {
    reserve_standard_output();
    path_ = "standard output";
    open_stream(reserved_output);
    return;
  }
  check_not_input(path_);
  writer_ = std::make_unique<detail::FileWriter>();
  check(writer_->open(path_.c_str(), {.stops = [] { return stop_signal() != 0; }}));
  open_stream(writer_->descriptor());
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
}

const char* OutputFile::part_path() const {
  return writer_ != nullptr ? writer_->part_path() : path_.c_str();
}

void OutputFile::open_stream(int descriptor) {
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own >= 0) file_ = fdopen(own, "wb");
  if (file_ != nullptr) return;
  const int error = errno;
  if (own >= 0) close(own);
  errno = error;
  fail();
}

void OutputFile::write(const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, file_) != count) fail();
}

void OutputFile::flush() {
  if (std::fflush(file_) != 0) fail();
}

void OutputFile::commit() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
  if (writer_ != nullptr) check(writer_->commit());
}

void OutputFile::check(const Expected<void>& done) const {
  if (!done) throw InputError(fmt::format("{}: {}", path_, done.error().text));
}

void OutputFile::fail() const {
  throw InputError(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

void write_file(const std::string& path, std::span<const std::uint8_t> bytes) {
  OutputFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void require_free_space(const std::string& path, std::uint64_t bytes) {
  char target[detail::FileWriter::kPathBytes];
  if (!detail::resolve_links(path.c_str(), target)) return;
  const fs::path folder = fs::path(target).parent_path();
  std::error_code code;
  const fs::space_info space = fs::space(folder.empty() ? "." : folder, code);
  if (code || bytes <= space.available) return;  // the writer reports a folder that does not exist
  throw InputError(fmt::format("{}: needs {}, but its file system has {} free", path,
                               bytes_text(bytes), bytes_text(space.available)));
}

bool is_special_file(const std::string& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace ocellus::app
