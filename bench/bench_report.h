// The report of a bench: one object of JSON, or tables that are printed from the rows of this
// object.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/measure/clip.h"

namespace ocellus::app {

using Json = nlohmann::ordered_json;

/// A column of a table: a member of the rows.
struct BenchColumn {
  const char* heading;
  const char* member;
  int width;              ///< negative: aligned to the left
  int precision = 0;      ///< digits after the point
  double scale = 1.0;     ///< of the figure
  const char* unit = "";  ///< follows the figure
};

/// `name`: heading of the first column; empty: its own.
void print_heading(const std::vector<BenchColumn>& columns, const std::string& name = "",
                   const std::string& end = "");
/// A member that is missing or null is a dash. A row with "not_run" has its first `names` columns
/// and this reason.
void print_row(const std::vector<BenchColumn>& columns, const Json& row,
               const std::string& end = "", std::size_t names = 1);

/// The rows of one input.
struct BenchRows {
  std::string title{};  ///< a line above the table; empty: none
  std::string name{};   ///< heading of the first column; empty: that of the column
  std::string heading_end{};
  Json rows = Json::array();
  std::string end{};  ///< a line below the table; empty: none
};

struct BenchReport {
  Json json;          ///< of the report without its rows
  std::string begin;  ///< the lines before the tables
  std::vector<BenchColumn> columns;
  std::size_t names = 1;  ///< columns that identify a row
  std::function<std::string(const Json& row)> row_end{};
  std::vector<BenchRows> tables{};
  bool apart = true;  ///< an empty line precedes each table
  std::string end{};  ///< the lines after the tables

  /// Prints JSON or text. Returns the exit code.
  int print(bool as_json);
};

/// The beginning of a row: name, group, input and size.
Json row_of(const std::string& name, const std::string& group, const Clip& clip);

}  // namespace ocellus::app
