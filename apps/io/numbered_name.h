// Names of files with a number in them: f%02d.pgm, d%d/x.pgm.
#pragma once

#include <string>
#include <vector>

namespace ocellus::app {

/// A path in which one %d, or %0Nd for N digits, stands for a number, in the file's name or in that
/// of one folder, and %% for a percent sign, everywhere.
class NumberedName {
 public:
  /// Throws InputError on a % that is none of these, and on a second number.
  explicit NumberedName(const std::string& text);

  /// Whether there is a number in it; else it is the name of one file.
  bool numbered() const { return numbered_; }
  std::string at(long number) const;
  /// Numbers from 0 to 10^18 - 1 of the files that are there, ascending.
  std::vector<long> existing() const;

 private:
  bool numbered_ = false;
  std::string before_;
  std::string after_;
  int width_ = 1;
};

}  // namespace ocellus::app
