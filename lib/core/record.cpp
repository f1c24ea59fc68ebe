#include "ocellus/record.h"

#include <algorithm>
#include <cstring>

#include "ocellus/operator.h"

namespace ocellus {
namespace {

/// Appends to a text of fixed size, and cuts it off at the end.
class TextWriter {
 public:
  explicit TextWriter(std::span<char> to) noexcept : to_(to) {}

  void add(std::string_view text) noexcept {
    const std::size_t room = to_.empty() ? 0 : to_.size() - 1 - written_;
    const std::size_t bytes = std::min(text.size(), room);
    std::copy_n(text.data(), bytes, to_.data() + written_);
    written_ += bytes;
    length_ += text.size();
  }
  std::size_t finish() noexcept {
    if (!to_.empty()) to_[written_] = '\0';
    return length_;
  }

 private:
  std::span<char> to_;
  std::size_t written_ = 0;
  std::size_t length_ = 0;
};

std::string_view gap_of(const OperatorInfo& info) noexcept {
  for (int label = 0; label < info.classes; ++label)
    if (std::strlen(info.class_name(label)) > 1) return " ";
  return "";
}

}  // namespace

double field_value(const RecordField& field, const void* record, int index) noexcept {
  const char* const at = static_cast<const char*>(record) + field.offset;
  const auto read = [at, index](auto value) {
    std::memcpy(&value, at + static_cast<std::size_t>(index) * sizeof(value), sizeof(value));
    return static_cast<double>(value);
  };
  switch (field.type) {
    case FieldType::kInt32:
      return read(std::int32_t{});
    case FieldType::kUint32:
      return read(std::uint32_t{});
    case FieldType::kFloat:
      return read(0.0f);
    case FieldType::kBool:
      return read(std::uint8_t{});
  }
  return 0.0;
}

RecordItems::RecordItems(const OperatorInfo& info, const void* record) noexcept
    : info_(&info), record_(record) {
  if (info.record == nullptr || record == nullptr) return;
  const RecordField* const count = info.record->find(FieldRole::kCount);
  if (count == nullptr) return;
  label_ = info.record->find(FieldRole::kLabel);
  box_ = info.record->find(FieldRole::kBox);
  text_ = info.record->find(FieldRole::kText);
  int most = 0;
  for (const RecordField& field : info.record->all()) {
    most = std::max<int>(most, field.capacity);
    if (field.role == FieldRole::kFlag && field.capacity > 1) flags_ = &field;
  }
  count_ = std::clamp(number(count, 0), 0, most);
}

const char* RecordItems::name(int item) const noexcept {
  return info_->class_name(label(item));
}

Rect RecordItems::box(int item) const noexcept {
  if (box_ != nullptr) {
    return {number(box_, item), number(box_ + 1, item), number(box_ + 2, item),
            number(box_ + 3, item)};
  }
  if (info_->tile_columns == 0) return {};
  const ImageSize tile = info_->tile;
  return {item % info_->tile_columns * tile.width, item / info_->tile_columns * tile.height,
          tile.width, tile.height};
}

int RecordItems::line(int item) const noexcept {
  if (text_ != nullptr) return number(text_ + 1, item);
  return info_->tile_columns == 0 ? 0 : item / info_->tile_columns;
}

const char* RecordItems::mark(int item) const noexcept {
  if (flags_ == nullptr) return nullptr;
  const auto bits = static_cast<std::uint32_t>(field_value(*flags_, record_, item));
  const char* found = nullptr;
  for (std::size_t bit = 0; bit < flags_->flags.size(); ++bit)
    if ((bits >> bit & 1U) != 0 && flags_->flags[bit].text != nullptr)
      found = flags_->flags[bit].text;
  return found;
}

bool RecordItems::marked(int item) const noexcept {
  return mark(item) != nullptr;
}

std::string_view RecordItems::text(int item) const noexcept {
  const char* const instead = mark(item);
  return instead != nullptr ? instead : name(item);
}

std::size_t write_text(const OperatorInfo& info, const void* record, int part,
                       std::span<char> to) noexcept {
  const RecordItems items(info, record);
  const std::string_view gap = gap_of(info);
  TextWriter text(to);
  const int first = part == kAllParts ? 0 : part;
  const int last = part == kAllParts ? std::max(info.text_parts, 1) - 1 : part;
  for (int p = first; p <= last; ++p) {
    if (p > first) text.add(info.parts_are_items ? gap : "\n");
    int line = -1;
    for (int i = 0; i < items.count(); ++i) {
      if (items.part(i) != p) continue;
      if (line >= 0) text.add(items.line(i) != line ? "\n" : gap);
      line = items.line(i);
      text.add(items.text(i));
    }
  }
  return text.finish();
}

}  // namespace ocellus
