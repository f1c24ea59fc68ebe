#include "apps/io/numbered_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "apps/common/common.h"

namespace ocellus::app {
namespace {

namespace fs = std::filesystem;

/// With at most 18 digits, adding a few frames to a number cannot overflow.
constexpr int kMostDigits = 18;

}  // namespace

NumberedName::NumberedName(const std::string& text) : text_(text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& part = numbered_ ? after_ : before_;
    if (text[i] != '%') {
      part += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '%') {
      part += '%';
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    int width = 1;
    if (end < text.size() && text[end] == '0') {
      width = 0;
      ++end;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) &&
             width <= kMostDigits)
        width = width * 10 + (text[end++] - '0');
    }
    if (numbered_ || end >= text.size() || text[end] != 'd' || width > kMostDigits) {
      throw InputError(
          fmt::format("{}: a numbered pattern has one %d or %0Nd (N digits, as in f%02d.pgm), in "
                      "the name of the files or of one folder, and %% for a percent sign",
                      text));
    }
    numbered_ = true;
    width_ = std::max(1, width);
    i = end;
  }
}

std::string NumberedName::at(long number) const {
  if (!numbered_) return before_;
  return fmt::format("{}{:0{}}{}", before_, number, width_, after_);
}

std::vector<long> NumberedName::existing() const {
  if (!numbered_) return {};
  // The number is in one component of the path. The part before it is the folder to search. The
  // part after it must exist in each folder found.
  const std::size_t slash = before_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : before_.substr(0, slash + 1);
  const std::string begin = slash == std::string::npos ? before_ : before_.substr(slash + 1);
  const std::string end = after_.substr(0, after_.find('/'));
  std::vector<long> numbers;
  std::error_code code;
  fs::directory_iterator entries(folder, code);
  if (code && code != std::errc::no_such_file_or_directory && code != std::errc::not_a_directory)
    throw InputError(fmt::format("{}: the folder cannot be read: {}", folder, code.message()));
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= begin.size() + end.size() || !name.starts_with(begin) ||
        !name.ends_with(end))
      continue;
    const std::string digits = name.substr(begin.size(), name.size() - begin.size() - end.size());
    const long number = number_of<long>(digits).value_or(-1);
    if (number < 0 || digits.size() > kMostDigits) continue;
    if (fmt::format("{:0{}}", number, width_) != digits) continue;  // a different number of digits
    // A folder without the file is skipped. A file that cannot be examined causes an error when it
    // is read.
    std::error_code unseen;
    if (after_.find('/') == std::string::npos ||
        fs::symlink_status(at(number), unseen).type() != fs::file_type::not_found)
      numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace ocellus::app
