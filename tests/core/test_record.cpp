#include "ocellus/record.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ocellus/operator.h"
#include "ocellus/operators.h"

namespace ocellus {
namespace {

constexpr int kMost = 6;

struct Record {
  std::int32_t count = 0;
  std::int32_t label[kMost] = {};
  float confidence[kMost] = {};
  std::int32_t x[kMost] = {};
  std::int32_t y[kMost] = {};
  std::int32_t width[kMost] = {};
  std::int32_t height[kMost] = {};
  std::int32_t part[kMost] = {};
  std::int32_t line[kMost] = {};
  std::uint32_t flags[kMost] = {};
  bool cut = true;
};

constexpr RecordFlag kFlags[] = {{"doubtful", "?"}, {"slow"}, {"missing", " "}};

constexpr RecordField list(const char* name, FieldType type, std::size_t offset, FieldRole role,
                           std::span<const RecordFlag> flags = {}) {
  return {name, type, kMost, static_cast<std::uint32_t>(offset), "", role, flags};
}

constexpr RecordField kFields[] = {
    {"count", FieldType::kInt32, 1, offsetof(Record, count), "", FieldRole::kCount},
    {"cut", FieldType::kBool, 1, offsetof(Record, cut), "", FieldRole::kFlag},
    list("label", FieldType::kInt32, offsetof(Record, label), FieldRole::kLabel),
    list("confidence", FieldType::kFloat, offsetof(Record, confidence), FieldRole::kConfidence),
    list("x", FieldType::kInt32, offsetof(Record, x), FieldRole::kBox),
    list("y", FieldType::kInt32, offsetof(Record, y), FieldRole::kBox),
    list("width", FieldType::kInt32, offsetof(Record, width), FieldRole::kBox),
    list("height", FieldType::kInt32, offsetof(Record, height), FieldRole::kBox),
    list("part", FieldType::kInt32, offsetof(Record, part), FieldRole::kText),
    list("line", FieldType::kInt32, offsetof(Record, line), FieldRole::kText),
    list("flags", FieldType::kUint32, offsetof(Record, flags), FieldRole::kFlag, kFlags),
};
constexpr RecordInfo kInfo = {
    "test", sizeof(Record), kFields, static_cast<int>(std::size(kFields)), "signs", "sign"};
constexpr ClassName kNames[] = {"a", "b", "c"};

OperatorInfo make_info(const ClassName* names = kNames) {
  OperatorInfo info;
  info.record = &kInfo;
  info.classes = 3;
  info.class_names = names;
  return info;
}

std::string text_of(const OperatorInfo& info, const Record& record, int part = kAllParts) {
  char text[64];
  const std::size_t length = write_text(info, &record, part, text);
  EXPECT_EQ(length, std::strlen(text));
  return text;
}

// Fails when lines or parts run together, a mark does not take the place of a name, or an item is
// in the text of another part.
TEST(Record, Text) {
  Record record;
  record.count = 6;
  const std::int32_t labels[] = {0, 1, 2, -1, 1, 2};
  const std::int32_t parts[] = {0, 0, 0, 0, 2, 2};
  const std::int32_t lines[] = {0, 0, 1, 1, 0, 0};
  const std::uint32_t flags[] = {0, 1, 2, 4, 1 | 4, 0};
  std::copy_n(labels, kMost, record.label);
  std::copy_n(parts, kMost, record.part);
  std::copy_n(lines, kMost, record.line);
  std::copy_n(flags, kMost, record.flags);
  OperatorInfo info = make_info();
  EXPECT_EQ(text_of(info, record), "a?\nc ") << "the parts behind the last one have no text";
  info.text_parts = 3;
  EXPECT_EQ(text_of(info, record), "a?\nc \n\n c");
  EXPECT_EQ(text_of(info, record, 0), "a?\nc ");
  EXPECT_EQ(text_of(info, record, 1), "");
  EXPECT_EQ(text_of(info, record, 2), " c");
  info.parts_are_items = true;
  EXPECT_EQ(text_of(info, record), "a?\nc  c");
  const ClassName longer[] = {"a", "b", "cc"};
  info.class_names = longer;
  EXPECT_EQ(text_of(info, record, 0), "a ?\ncc  ");
}

// Fails when a text that is cut off has no end, or is written behind its memory.
TEST(Record, TextIsCutOff) {
  Record record;
  record.count = 3;
  record.label[1] = 1;
  record.label[2] = 2;
  const OperatorInfo info = make_info();
  for (std::size_t room = 0; room < 6; ++room) {
    std::vector<char> text(room + 1, '#');
    EXPECT_EQ(write_text(info, &record, kAllParts, {text.data(), room}), 3u);
    EXPECT_EQ(text[room], '#');
    if (room == 0) continue;
    EXPECT_EQ(std::string(text.data()), std::string("abc").substr(0, room - 1));
  }
}

// Fails when a label or a count that the record cannot have is used as an index.
TEST(Record, WrongNumbers) {
  Record record;
  record.count = 1000;
  for (std::int32_t& label : record.label) label = 3;
  record.label[1] = INT32_MIN;
  const OperatorInfo info = make_info();
  EXPECT_EQ(RecordItems(info, &record).count(), kMost);
  EXPECT_STREQ(RecordItems(info, &record).name(0), "");
  EXPECT_STREQ(RecordItems(info, &record).name(1), "");
  EXPECT_EQ(text_of(info, record), "");
  record.count = -7;
  EXPECT_EQ(RecordItems(info, &record).count(), 0);
  EXPECT_EQ(RecordItems(OperatorInfo{}, nullptr).count(), 0);
  EXPECT_EQ(RecordItems(make_info(nullptr), &record).count(), 0);
  EXPECT_STREQ(make_info(nullptr).class_name(0), "") << "before creation";
}

// Fails when the box of an item is that of another one, of the record or of a grid.
TEST(Record, Boxes) {
  Record record;
  record.count = 2;
  record.x[1] = 1;
  record.y[1] = 2;
  record.width[1] = 3;
  record.height[1] = 4;
  EXPECT_EQ(RecordItems(make_info(), &record).box(1), (Rect{1, 2, 3, 4}));

  static constexpr RecordField kFew[] = {kFields[0], kFields[2]};
  static constexpr RecordInfo kGrid = {"grid", sizeof(Record), kFew, 2, "tiles", "tile"};
  OperatorInfo info = make_info();
  info.record = &kGrid;
  record.count = 5;
  EXPECT_EQ(RecordItems(info, &record).box(4), Rect{}) << "there are no tiles";
  info.tile = {10, 20};
  info.tile_columns = 3;
  EXPECT_EQ(RecordItems(info, &record).box(4), (Rect{10, 20, 10, 20}));
  EXPECT_EQ(RecordItems(info, &record).box(2), (Rect{20, 0, 10, 20}));
  EXPECT_EQ(text_of(info, record), "aaa\naa");
}

// Fails when a value of some type is read wrongly.
TEST(Record, Values) {
  Record record;
  record.count = -3;
  record.confidence[2] = 0.25f;
  record.flags[5] = 0xffffffffu;
  const auto value = [&](const char* name, int index) {
    for (const RecordField& field : kInfo.all())
      if (std::strcmp(field.name, name) == 0) return field_value(field, &record, index);
    return -1e9;
  };
  EXPECT_EQ(value("count", 0), -3.0);
  EXPECT_EQ(value("confidence", 2), 0.25);
  EXPECT_EQ(value("flags", 5), 4294967295.0);
  EXPECT_EQ(value("cut", 0), 1.0);
}

// Fails when the table of an operator's record does not have what programs rely on: items that are
// counted, boxes of four fields, and texts of two.
TEST(Record, TablesOfAllOperators) {
  for (const OperatorDescription& description : operators()) {
    OperatorConfig config(description);
    config.set_input({64, 64}, PixelFormat::kGray8);
    const Expected<OperatorInfo> info = config.info();
    if (!info || info->record == nullptr) continue;  // a filter needs a file
    const RecordInfo& record = *info->record;
    const auto count_of = [&](FieldRole role) {
      int count = 0;
      for (const RecordField& field : record.all()) count += field.role == role ? 1 : 0;
      return count;
    };
    const bool items = record.find(FieldRole::kCount) != nullptr;
    EXPECT_EQ(items, record.items[0] != '\0') << description.name;
    EXPECT_EQ(items, record.item[0] != '\0') << description.name;
    EXPECT_LE(record.bytes, kMaxRecordBytes);
    int capacity = 0;
    for (const RecordField& field : record.all()) {
      const bool one = field.capacity == 1;
      if (one) {
        EXPECT_TRUE(field.role == FieldRole::kCount || field.role == FieldRole::kValue ||
                    (field.role == FieldRole::kFlag && field.type == FieldType::kBool))
            << description.name << " " << field.name;
        EXPECT_TRUE(field.flags.empty()) << field.name;
        continue;
      }
      EXPECT_NE(field.role, FieldRole::kCount) << field.name;
      EXPECT_EQ(field.role == FieldRole::kFlag, !field.flags.empty()) << field.name;
      EXPECT_TRUE(capacity == 0 || field.capacity == capacity) << field.name;
      capacity = field.capacity;
    }
    EXPECT_TRUE(count_of(FieldRole::kBox) == 0 || count_of(FieldRole::kBox) == 4);
    EXPECT_TRUE(count_of(FieldRole::kText) == 0 || count_of(FieldRole::kText) == 2);
    // A new network has no read-out: its labels are -1.
    const bool classifies = std::string_view(description.name) != "network";
    EXPECT_EQ(count_of(FieldRole::kLabel) > 0 && classifies, info->classes > 0) << description.name;
  }
}

}  // namespace
}  // namespace ocellus
