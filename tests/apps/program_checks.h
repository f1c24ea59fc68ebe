// What the tests of the program share: checks of its JSON, its errors and its files.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "child_process.h"

namespace ocellus::test {

/// Runs the program with --json and returns the object. stdout must hold one object and nothing
/// else.
inline nlohmann::json json_of(std::vector<std::string> arguments, int expected_exit = 0) {
  arguments.push_back("--json");
  const ChildResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, expected_exit) << result.err;
  EXPECT_EQ(result.err, "") << "stderr is for a terminal's progress and for errors";
  const nlohmann::json object = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << result.out;
  return object;
}

inline std::vector<std::string> plus(std::vector<std::string> arguments,
                                     const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

inline void expect_error(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& says) {
  const ChildResult result = run_program(arguments);
  std::string line;
  for (const std::string& argument : arguments) line += " " + argument;
  EXPECT_EQ(result.exit_code, 2) << line << "\n" << result.out << result.err;
  EXPECT_EQ(result.out, "") << line;
  for (const std::string& text : says)
    EXPECT_NE(result.err.find(text), std::string::npos) << line << " says: " << result.err;
}

/// Waits until `is_so` returns true, at most one minute, because the machine may be busy.
template <typename Condition>
bool wait_until(Condition&& is_so) {
  for (int i = 0; i < 6000; ++i) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// The names in a folder that begin with `begin`.
inline std::vector<std::string> files_in(const std::string& folder, const std::string& begin = "") {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(begin, 0) == 0) names.push_back(name);
  }
  return names;
}

inline bool has_gstreamer() {
  return std::getenv("OCELLUS_HAS_GSTREAMER") != nullptr;
}

}  // namespace ocellus::test
