// File names that contain a number: f%02d.pgm, d%d/x.pgm.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ocellus::app {

/// A path in which one %d, or %0Nd for N digits, stands for a number. It may be in the name of the
/// file or of one folder. %% stands for a percent sign everywhere.
class NumberedName {
 public:
  /// Throws InputError on any other use of %, and on a second number.
  explicit NumberedName(const std::string& text);

  /// Whether the name contains a number. Otherwise it is the name of one file.
  bool numbered() const { return numbered_; }
  std::string at(long number) const;
  /// Names `count` files from number `first` on: the name of one file, or the pattern of several.
  std::string of(long first, std::size_t count) const {
    return count == 1 || !numbered_ ? at(first) : text_;
  }
  /// The numbers of the existing files, from 0 to 10^18 - 1, ascending.
  std::vector<long> existing() const;

 private:
  std::string text_;
  bool numbered_ = false;
  std::string before_;
  std::string after_;
  int width_ = 1;
};

}  // namespace ocellus::app
