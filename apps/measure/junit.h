// Results of tests in the form of JUnit, which CI systems read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ocellus::app {

/// `tests`: objects with "name" (its first word up to a period is the class), "fails_when",
/// "result" ("passed", "failed" or "skipped"), "ms" and "note". Throws InputError.
void write_junit(const std::string& path, const std::string& suite,
                 const nlohmann::ordered_json& tests);

}  // namespace ocellus::app
