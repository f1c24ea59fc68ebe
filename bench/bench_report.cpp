#include "bench/bench_report.h"

#include <fmt/format.h>

#include <cstdlib>

#include "apps/common/common.h"
#include "apps/common/printable.h"

namespace ocellus::app {
namespace {

std::string cell_text(const BenchColumn& column, const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return printable(value.get<std::string>());
  if (value.is_array()) {
    std::string text;
    for (const Json& part : value) text += (text.empty() ? "" : "+") + part.dump();
    return text;
  }
  return fmt::format("{:.{}f}{}", value.get<double>() * column.scale, column.precision,
                     column.unit);
}

void print_cell(const BenchColumn& column, const std::string& text, bool first) {
  if (!first) fmt::print(" ");
  if (column.width < 0)
    fmt::print("{:<{}}", text, -column.width);
  else
    fmt::print("{:>{}}", text, column.width);
}

}  // namespace

void print_heading(const std::vector<BenchColumn>& columns, const std::string& name,
                   const std::string& end) {
  for (const BenchColumn& column : columns) {
    const bool first = &column == columns.data();
    print_cell(column, first && !name.empty() ? printable(name) : column.heading, first);
  }
  fmt::print("{}\n", end);
}

void print_row(const std::vector<BenchColumn>& columns, const Json& row, const std::string& end,
               std::size_t names) {
  const auto refusal = row.find("not_run");
  const std::size_t count = refusal == row.end() ? columns.size() : names;
  for (std::size_t i = 0; i < count; ++i)
    print_cell(columns[i], cell_text(columns[i], row.value(columns[i].member, Json())), i == 0);
  if (refusal == row.end())
    fmt::print("{}\n", end);
  else
    fmt::print(" not run: {}\n", refusal->get<std::string>());
}

int BenchReport::print(bool as_json) {
  if (as_json) {
    Json& rows = json["rows"] = Json::array();
    for (const BenchRows& table : tables)
      rows.insert(rows.end(), table.rows.begin(), table.rows.end());
    print_json(json);
    return kDone;
  }
  fmt::print("{}", begin);
  for (const BenchRows& table : tables) {
    if (apart) fmt::print("\n");
    if (!table.title.empty()) fmt::print("{}\n", printable(table.title));
    print_heading(columns, table.name, table.heading_end);
    for (const Json& row : table.rows) {
      const bool refused = row.contains("not_run");
      print_row(columns, row, row_end && !refused ? row_end(row) : "", names);
    }
    if (!table.end.empty()) fmt::print("{}\n", table.end);
  }
  fmt::print("{}", end);
  return kDone;
}

Json row_of(const std::string& name, const std::string& group, const Clip& clip) {
  return {{"name", name},
          {"group", group},
          {"input", clip.name},
          {"size", {clip.size().width, clip.size().height}}};
}

}  // namespace ocellus::app
