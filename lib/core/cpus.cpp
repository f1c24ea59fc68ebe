#include "ocellus/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/process.h"

namespace ocellus {
namespace detail {
namespace {

constexpr std::size_t kPathBytes = 4096;

/// Reads a text file line by line, without allocating. Skips lines of more than 4 KiB.
class LineReader {
 public:
  explicit LineReader(const char* path) noexcept : file_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~LineReader() {
    if (file_ >= 0) close(file_);
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Returns false at the end, and if the file cannot be read. The line is valid until the next
  /// call.
  bool next(std::string_view& line) noexcept {
    for (bool skip = false;;) {
      const std::string_view held(bytes_ + begin_, end_ - begin_);
      const std::size_t length = held.find('\n');
      if (length != std::string_view::npos) {
        begin_ += length + 1;
        line = held.substr(0, length);
        if (!skip) return true;
        skip = false;
        continue;
      }
      if (held.size() == sizeof(bytes_)) {
        skip = true;
        begin_ = end_ = 0;
      }
      if (!read_more()) {  // the last line may have no end
        begin_ = end_ = 0;
        line = held;
        return !skip && !held.empty();
      }
    }
  }

 private:
  bool read_more() noexcept {
    if (file_ < 0) return false;
    std::copy(bytes_ + begin_, bytes_ + end_, bytes_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t room = std::min(sizeof(bytes_) - end_, sizeof(bytes_));
    ssize_t got = 0;
    do {
      got = read(file_, bytes_ + end_, room);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    end_ += static_cast<std::size_t>(got);
    return true;
  }

  int file_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  char bytes_[kPathBytes];
};

/// Takes the text up to `separator` from the front of `rest`, and the separator.
std::string_view take(std::string_view& rest, char separator) noexcept {
  const std::size_t length = std::min(rest.find(separator), rest.size());
  const std::string_view first = rest.substr(0, length);
  rest.remove_prefix(std::min(length + 1, rest.size()));
  return first;
}

bool has_word(std::string_view list, std::string_view word) noexcept {
  while (!list.empty())
    if (take(list, ',') == word) return true;
  return false;
}

/// A path without allocation. Too long a path is empty and stays so.
class Path {
 public:
  void append(std::string_view text) noexcept {
    if (!fits_ || text.size() >= sizeof(text_) - size_) {
      fits_ = false;
      size_ = 0;
    } else {
      size_ = static_cast<std::size_t>(std::copy(text.begin(), text.end(), text_ + size_) - text_);
    }
    text_[size_] = '\0';
  }
  /// Of a path in /proc/self/mountinfo, which writes "\040" for a blank.
  void append_decoded(std::string_view text) noexcept {
    while (!text.empty()) {
      int code = 0;
      const bool octal =
          text.size() >= 4 && text[0] == '\\' &&
          std::from_chars(text.data() + 1, text.data() + 4, code, 8).ptr == text.data() + 4;
      const char letter = octal ? static_cast<char>(code) : text[0];
      append({&letter, 1});
      text.remove_prefix(octal ? 4 : 1);
    }
  }
  void cut(std::size_t size) noexcept {
    size_ = std::min(size_, size);
    text_[size_] = '\0';
  }
  std::string_view view() const noexcept { return {text_, size_}; }
  const char* c_str() const noexcept { return text_; }

 private:
  char text_[kPathBytes] = {};
  std::size_t size_ = 0;
  bool fits_ = true;
};

/// The first two whole numbers of a file; false if it does not begin with `count` of them.
bool read_numbers(const Path& folder, const char* file, int count, long long* numbers) noexcept {
  Path path = folder;
  path.append(file);
  LineReader lines(path.c_str());
  std::string_view line;
  if (!lines.next(line)) return false;
  for (int i = 0; i < count; ++i) {
    const std::string_view word = take(line, ' ');
    if (std::from_chars(word.data(), word.data() + word.size(), numbers[i]).ec != std::errc())
      return false;  // "max"
  }
  return true;
}

/// A limit that control groups set. `known`: a file told of it.
struct Limit {
  bool known = false;
  double least = std::numeric_limits<double>::infinity();

  void add(double limit) noexcept {
    known = true;
    if (limit > 0.0) least = std::min(least, limit);
  }
  bool is_none() const noexcept { return std::isinf(least); }
};

/// Adds what the files of one control group tell. `unified`: in the hierarchy of version 2.
using AddLimit = void (*)(Limit& to, const Path& group, bool unified);

void add_cpu_limit(Limit& to, const Path& group, bool unified) noexcept {
  long long time[2] = {0, 0};  // of each period, and the period
  const bool read = unified ? read_numbers(group, "/cpu.max", 2, time)
                            : read_numbers(group, "/cpu.cfs_quota_us", 1, time) &&
                                  read_numbers(group, "/cpu.cfs_period_us", 1, time + 1);
  if (!read || time[0] <= 0 || time[1] <= 0) return;  // "max" or -1: none
  to.add(static_cast<double>(time[0]) / static_cast<double>(time[1]));
}

void add_memory_limit(Limit& to, const Path& group, bool unified) noexcept {
  // Version 1 has a number near 2^63 for no limit.
  constexpr long long kNoLimit = 1LL << 60;
  Path path = group;
  path.append(unified ? "/memory.max" : "/memory.limit_in_bytes");
  LineReader lines(path.c_str());
  std::string_view line;
  if (!lines.next(line)) return;
  long long bytes = 0;
  const bool number =
      std::from_chars(line.data(), line.data() + line.size(), bytes).ec == std::errc();
  if (number || line == "max")
    to.add(number && bytes < kNoLimit ? static_cast<double>(bytes) : 0.0);
}

/// The control groups of the process.
struct Groups {
  Path unified;     ///< in the hierarchy of version 2; empty: not in it
  Path controller;  ///< in that of the controller of version 1
};

void read_groups(const char* root, std::string_view controller, Groups& groups) noexcept {
  Path path;
  path.append(root);
  path.append("/proc/self/cgroup");
  LineReader lines(path.c_str());
  std::string_view line;
  while (lines.next(line)) {  // "0::/user.slice" or "4:cpu,cpuacct:/docker/1f2e"
    const std::string_view hierarchy = take(line, ':');
    const std::string_view controllers = take(line, ':');
    if (hierarchy == "0" && controllers.empty()) groups.unified.append(line);
    if (has_word(controllers, controller)) groups.controller.append(line);
  }
}

/// Adds the limits of a group and of those above it, which a mounted hierarchy shows. `shown`: the
/// group that is mounted.
void add_limits(Limit& to, AddLimit add, const char* root, std::string_view mount,
                std::string_view shown, std::string_view group, bool unified) noexcept {
  Path decoded;
  decoded.append_decoded(shown);
  std::string_view top = decoded.view();
  // A hierarchy above the namespace of the process tells nothing about its groups.
  if (top.starts_with("/..") || group.starts_with("/..")) return;
  if (top == "/") top = "";
  const bool below =
      group.starts_with(top) && (group.size() == top.size() || group[top.size()] == '/');
  Path folder;
  folder.append(root);
  folder.append_decoded(mount);
  const std::size_t mounted = folder.view().size();
  // A container of version 1 often shows its own group as the whole hierarchy.
  if (below) folder.append(group.substr(top.size()));
  for (;;) {
    add(to, folder, unified);
    const std::size_t slash = folder.view().rfind('/');
    if (slash == std::string_view::npos || folder.view().size() <= mounted) return;
    folder.cut(std::max(slash, mounted));
  }
}

/// The least limit of all groups. `controller`: its name in version 1.
Limit limit_of(const char* root, std::string_view controller, AddLimit add) noexcept {
  Groups groups;
  read_groups(root, controller, groups);
  Path path;
  path.append(root);
  path.append("/proc/self/mountinfo");
  LineReader lines(path.c_str());
  Limit least;
  std::string_view line;
  // "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw"
  while (lines.next(line)) {
    for (int i = 0; i < 3; ++i) take(line, ' ');
    const std::string_view shown = take(line, ' ');
    const std::string_view mount = take(line, ' ');
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    line.remove_prefix(dash + 3);
    const std::string_view type = take(line, ' ');
    take(line, ' ');  // the source
    const bool unified = type == "cgroup2";
    if (!unified && !(type == "cgroup" && has_word(line, controller))) continue;
    const Path& group = unified ? groups.unified : groups.controller;
    if (!group.view().empty()) add_limits(least, add, root, mount, shown, group.view(), unified);
  }
  return least;
}

}  // namespace

double cpu_quota(const char* root) noexcept {
  const Limit limit = limit_of(root, "cpu", add_cpu_limit);
  return limit.is_none() ? 0.0 : limit.least;
}

std::optional<std::uint64_t> memory_limit(const char* root) noexcept {
  const Limit limit = limit_of(root, "memory", add_memory_limit);
  if (!limit.known) return std::nullopt;
  return limit.is_none() ? 0 : static_cast<std::uint64_t>(limit.least);
}

int whole_cpus(int affinity, double quota) noexcept {
  // Quotas are rounded to microseconds.
  constexpr double kRounding = 1e-3;
  if (!(quota > 0.0) || quota >= affinity) return std::max(affinity, 1);
  return std::max(static_cast<int>(quota + kRounding), 1);
}

}  // namespace detail

UsableCpus usable_cpus() noexcept {
  UsableCpus cpus;
  // The kernel refuses a mask that is shorter than its own, which may have more than 1024 CPUs.
  cpu_set_t mask[8];
  if (sched_getaffinity(0, sizeof(mask), mask) == 0)
    cpus.affinity = std::max(CPU_COUNT_S(sizeof(mask), mask), 1);
  cpus.quota = detail::cpu_quota("");
  cpus.count = detail::whole_cpus(cpus.affinity, cpus.quota);
  return cpus;
}

}  // namespace ocellus
