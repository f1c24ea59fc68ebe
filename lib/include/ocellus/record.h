// Records: the part of a result that is no picture. A table describes each record, so that programs
// read, print and draw the records of all operators alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ocellus/frame.h"

namespace ocellus {

#pragma GCC visibility push(default)  // exported by a shared library

struct OperatorInfo;

/// Largest size of a record, in bytes.
inline constexpr std::size_t kMaxRecordBytes = 24576;
/// Largest length of the name of a class: printable ASCII characters without spaces.
inline constexpr std::size_t kMaxClassName = 31;
/// The name of a class, NUL-terminated.
using ClassName = char[kMaxClassName + 1];

/// The type of a field of a record.
enum class FieldType : std::uint8_t { kInt32, kUint32, kFloat, kBool };

/// What a field means to a program that does not know the operator.
enum class FieldRole : std::uint8_t {
  kValue,       ///< a value with a name: of the record, or of each item if `capacity` is above 1
  kCount,       ///< number of items; the fields of a capacity above 1 have one value for each item
  kLabel,       ///< class of an item, OperatorInfo::class_name; -1: none
  kConfidence,  ///< of the label, 0 to 1
  kBox,         ///< four fields: left and upper edge, width and height of an item, pixels
  kText,        ///< two fields: the part of the text that an item belongs to, and its line there
  /// Bits of an item, `flags`. If `capacity` is 1: a bool of the record, which is worth telling if
  /// it is true, in the words of `help`.
  kFlag,
};

/// A bit of a field of the role kFlag; its number is its place in the list.
struct RecordFlag {
  const char* name = "";
  /// What the text of the record has in place of the name of the item's class; null: the name.
  const char* text = nullptr;
};

/// A field of a record: an array of `capacity` values of one type. Static storage, as all here.
struct RecordField {
  const char* name = "";
  FieldType type = FieldType::kInt32;
  std::uint16_t capacity = 1;
  std::uint32_t offset = 0;  ///< bytes from the start of the record
  const char* help = "";     ///< meaning, with the unit
  FieldRole role = FieldRole::kValue;
  std::span<const RecordFlag> flags{};
};

/// Describes a record: a plain struct of fixed size that is part of each result.
struct RecordInfo {
  const char* name = "";
  std::size_t bytes = 0;
  const RecordField* fields = nullptr;
  int field_count = 0;
  const char* items = "";  ///< what the items are, such as "digits"; "": there are none
  const char* item = "";   ///< what one is, such as "digit"

  std::span<const RecordField> all() const noexcept {
    return {fields, static_cast<std::size_t>(field_count)};
  }
  /// The first field of this role, or null.
  const RecordField* find(FieldRole role) const noexcept {
    for (const RecordField& field : all())
      if (field.role == role) return &field;
    return nullptr;
  }
};

/// A value of a record. `index` is less than the field's capacity. A bool is 0 or 1.
double field_value(const RecordField& field, const void* record, int index = 0) noexcept;

/// Reads the items of an operator's record.
class RecordItems {
 public:
  /// `info` and `record` remain valid. An operator without items has 0 of them.
  RecordItems(const OperatorInfo& info, const void* record) noexcept;

  int count() const noexcept { return count_; }
  /// -1: the item has no class.
  int label(int item) const noexcept { return label_ == nullptr ? -1 : number(label_, item); }
  /// The name of the class, or "".
  const char* name(int item) const noexcept;
  /// In the frame. Empty if the operator has no boxes.
  Rect box(int item) const noexcept;
  /// The part of the text and the line in it.
  int part(int item) const noexcept { return text_ == nullptr ? 0 : number(text_, item); }
  int line(int item) const noexcept;
  /// What the text has for the item.
  std::string_view text(int item) const noexcept;
  /// Whether the text has a mark for the item in place of the name of its class.
  bool marked(int item) const noexcept;

 private:
  int number(const RecordField* field, int item) const noexcept {
    return static_cast<int>(field_value(*field, record_, item));
  }
  const char* mark(int item) const noexcept;

  const OperatorInfo* info_;
  const void* record_;
  int count_ = 0;
  const RecordField* label_ = nullptr;
  const RecordField* box_ = nullptr;
  const RecordField* text_ = nullptr;
  const RecordField* flags_ = nullptr;
};

/// All parts of a text.
inline constexpr int kAllParts = -1;

/// Writes the names of the items' classes as one text, with a line end between lines. Between names
/// of a line stands a blank if one of the classes has a name of more than one character. `part`: a
/// part of the text, 0 to OperatorInfo::text_parts - 1, or kAllParts. Returns the length of the
/// text without its NUL. If `to` is shorter, the text is cut off there.
std::size_t write_text(const OperatorInfo& info, const void* record, int part,
                       std::span<char> to) noexcept;

#pragma GCC visibility pop

}  // namespace ocellus
