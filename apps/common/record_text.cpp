#include "apps/common/record_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "apps/common/printable.h"

namespace ocellus::app {
namespace {

nlohmann::ordered_json value_json(const RecordField& field, const void* record, int index) {
  const double value = field_value(field, record, index);
  if (field.type == FieldType::kBool) return value != 0.0;
  if (field.type == FieldType::kFloat) return value;
  return static_cast<std::int64_t>(value);
}

/// Calls `use` with the name of each flag of the item that is set.
template <typename Use>
void each_flag(const RecordField& field, const void* record, int item, const Use& use) {
  const auto bits = static_cast<std::uint32_t>(field_value(field, record, item));
  for (std::size_t bit = 0; bit < field.flags.size(); ++bit)
    if ((bits >> bit & 1U) != 0) use(field.flags[bit].name);
}

nlohmann::ordered_json item_json(const OperatorInfo& info, const RecordItems& items,
                                 const void* record, int item) {
  const Rect place = items.box(item);
  const nlohmann::ordered_json box = {place.x, place.y, place.width, place.height};
  nlohmann::ordered_json json;
  for (const RecordField& field : info.record->all()) {
    if (field.capacity == 1) continue;
    switch (field.role) {
      case FieldRole::kLabel:
        json["class"] = value_json(field, record, item);
        break;
      case FieldRole::kFlag:
        each_flag(field, record, item, [&](const char* name) { json[name] = true; });
        break;
      case FieldRole::kBox:
        json["box"] = box;
        break;
      case FieldRole::kText:
        break;
      default:
        json[field.name] = value_json(field, record, item);
    }
  }
  if (info.tile_columns > 0) json["box"] = box;
  return json;
}

/// The items of a part of the text, with their string.
nlohmann::ordered_json part_json(const OperatorInfo& info, const RecordItems& items,
                                 const void* record, int part) {
  nlohmann::ordered_json json;
  if (info.classes > 0) json["string"] = record_string(info, record, part);
  nlohmann::ordered_json& list = json[info.record->items] = nlohmann::ordered_json::array();
  for (int i = 0; i < items.count(); ++i)
    if (items.part(i) == part) list.push_back(item_json(info, items, record, i));
  return json;
}

/// Of the only item of a record whose items are no text, for a terminal.
std::string only_confidence(const OperatorInfo& info, const void* record) {
  const RecordField* const confidence = info.record->find(FieldRole::kConfidence);
  if (confidence == nullptr || info.record->find(FieldRole::kText) != nullptr ||
      RecordItems(info, record).count() != 1)
    return "";
  return fmt::format(", confidence {:.3f}", field_value(*confidence, record));
}

/// Text for a terminal. Lines after the first one begin with `indent`.
std::string in_lines(const std::string& text, const std::string& indent) {
  std::string shown;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    shown += (begin > 0 ? "\n" + indent : "") + printable(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return shown;
}

}  // namespace

std::string record_string(const OperatorInfo& info, const void* record, int part) {
  std::string text(write_text(info, record, part, {}) + 1, '\0');
  write_text(info, record, part, text);
  text.pop_back();
  return text;
}

nlohmann::ordered_json record_json(const OperatorInfo& info, const void* record) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (info.record == nullptr) return json;
  const RecordItems items(info, record);
  for (const RecordField& field : info.record->all()) {
    if (field.capacity > 1) continue;
    if (field.role != FieldRole::kCount) {
      json[field.name] = value_json(field, record, 0);
    } else if (info.text_parts == 0) {
      json.update(part_json(info, items, record, 0));
    } else {
      json["fields"] = nlohmann::ordered_json::array();
      for (int part = 0; part < info.text_parts; ++part)
        json["fields"].push_back(part_json(info, items, record, part));
    }
  }
  return json;
}

void print_record(long frame, const OperatorInfo& info, const void* record) {
  if (info.record == nullptr || info.classes == 0) return;
  const RecordItems items(info, record);
  for (int part = 0; part < std::max(info.text_parts, 1); ++part) {
    const std::string where = info.text_parts == 0
                                  ? fmt::format("frame {}: ", frame)
                                  : fmt::format("frame {}, field {}: ", frame, part);
    const std::string text = record_string(info, record, part);
    fmt::print("{}{}{}\n", where,
               text.empty() ? fmt::format("no {}", items.count() > 0 && info.text_parts == 0
                                                       ? "class"
                                                       : info.record->items)
                            : in_lines(text, std::string(where.size(), ' ')),
               only_confidence(info, record));
  }
  for (const RecordField& field : info.record->all())
    if (field.role == FieldRole::kFlag && field.capacity == 1 && field_value(field, record) != 0.0)
      fmt::print("frame {}: {}\n", frame, field.help);
}

void print_items(const OperatorInfo& info, const void* record) {
  const RecordItems items(info, record);
  if (items.count() == 0 || !only_confidence(info, record).empty()) return;
  const auto is_column = [](const RecordField& field) {
    return field.capacity > 1 &&
           (field.role == FieldRole::kValue || field.role == FieldRole::kConfidence);
  };
  std::string head = info.classes > 0 ? fmt::format("  {:<10}", "class") : " ";
  for (const RecordField& field : info.record->all())
    if (is_column(field)) head += fmt::format(" {:>10}", field.name);
  fmt::print("{}   box\n", head);
  for (int i = 0; i < items.count(); ++i) {
    std::string flags;
    std::string line =
        info.classes > 0
            ? fmt::format("  {:<10}", items.label(i) < 0 ? "-" : printable(items.name(i)))
            : " ";
    for (const RecordField& field : info.record->all()) {
      const int decimals = field.type == FieldType::kFloat ? 3 : 0;
      if (is_column(field))
        line += fmt::format(" {:>10.{}f}", field_value(field, record, i), decimals);
      if (field.role == FieldRole::kFlag && field.capacity > 1)
        each_flag(field, record, i, [&](const char* name) { flags += fmt::format("  {}", name); });
    }
    const Rect box = items.box(i);
    fmt::print("{}   {},{},{},{}{}\n", line, box.x, box.y, box.width, box.height, flags);
  }
}

}  // namespace ocellus::app
