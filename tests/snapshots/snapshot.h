// Snapshots: JSON files in the source tree with what a user of the product sees.
//
// The comparison is exact in structure, keys, order of keys, strings, booleans and integers.
// Floating-point numbers have a tolerance. Values that depend on time, machine or version are
// replaced by their type.
//
// With OCELLUS_SNAPSHOTS=write in the environment, a test writes its files and prints what changed.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace ocellus::test {

using Json = nlohmann::ordered_json;

inline constexpr double kSnapshotRelative = 1e-3;
inline constexpr double kSnapshotAbsolute = 1e-4;

/// Replaces values that depend on time, machine or version by their type, such as "<number>", and
/// rounds floating-point numbers. The table of these keys is in snapshot.cpp.
/// `case_name`: the name of the snapshot, because some keys depend on the machine in one case only.
Json neutral(const Json& value, const std::string& case_name);

/// The lines of a text, with times, rates and descriptions of the machine replaced.
Json neutral_lines(const std::string& text);

/// Replaces `from` everywhere in a text, such as the path of a temporary folder.
std::string replaced(std::string text, const std::string& from, const std::string& to);

/// One line for each difference: the path of the value, what was expected, and what there is.
std::vector<std::string> differences(const Json& expected, const Json& actual);

/// Snapshots in one folder.
class Snapshots {
 public:
  /// `folder`: an absolute path.
  explicit Snapshots(const std::string& folder) : folder_(folder) {}

  /// Reports a failure of the test if `actual`, which must be neutral, is not the snapshot `name`.
  void check(const std::string& name, const Json& actual) const;
  /// Reports a failure if the folder has other snapshots than these.
  void check_names(const std::set<std::string>& names) const;

 private:
  std::string folder_;
};

}  // namespace ocellus::test
