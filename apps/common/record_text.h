// The record of a result as JSON and as text for a terminal, from the table that describes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ocellus/operator.h"

namespace ocellus::app {

/// The names of the items' classes, see `write_text`.
std::string record_string(const OperatorInfo& info, const void* record, int part = kAllParts);

/// The values of the record by name. Items are a list of objects with "class", "confidence", "box"
/// and the other values; a flag of an item stands there if it is set. With classes, "string" is
/// their text. Items of a divided text lie in "fields", one for each part. {} without a record.
nlohmann::ordered_json record_json(const OperatorInfo& info, const void* record);

/// Prints the text of a record with classes, and the flags that are set; nothing without classes.
void print_record(long frame, const OperatorInfo& info, const void* record);
/// Prints a table of the items, unless `print_record` has printed all of them.
void print_items(const OperatorInfo& info, const void* record);

}  // namespace ocellus::app
