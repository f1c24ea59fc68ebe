#include "apps/neocognitron/reading.h"

#include <algorithm>
#include <cctype>

#include "apps/common/common.h"

namespace ocellus::app {
namespace {

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char character) {
    return std::isdigit(static_cast<unsigned char>(character)) != 0;
  });
}

/// Characters of UTF-8.
long length_of(const std::string& name) {
  return std::count_if(name.begin(), name.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
  });
}

}  // namespace

CharacterNames::CharacterNames(const std::string& model)
    : info_(take(Neocognitron::read_model_info(model.c_str()), "--model")) {
  for (int label = 0; label < classes(); ++label) {
    numbers_ = numbers_ && is_number(name(label));
    long_names_ = long_names_ || length_of(name(label)) > 1;
  }
}

int CharacterNames::find(const std::string& wanted) const {
  for (int label = 0; label < classes(); ++label)
    if (name(label) == wanted) return label;
  return -1;
}

int CharacterNames::class_of(int label) const {
  if (numbers_) return find(std::to_string(label));
  return label < classes() ? label : -1;
}

std::string CharacterNames::text_of(const NeocognitronRecord& record, int field) const {
  std::string text;
  int line = -1;
  for (int i = 0; i < record.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (record.field[at] != field) continue;
    if (line >= 0) text += record.line[at] != line ? "\n" : long_names_ ? " " : "";
    line = record.line[at];
    const std::uint32_t flags = record.flags[at];
    text += (flags & kCharacterEmpty) != 0      ? " "
            : (flags & kCharacterRejected) != 0 ? "?"
                                                : name(record.label[at]);
  }
  return text;
}

nlohmann::ordered_json characters_json(const NeocognitronRecord& record, int field) {
  nlohmann::ordered_json characters = nlohmann::ordered_json::array();
  for (int i = 0; i < record.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (record.field[at] != field) continue;
    nlohmann::ordered_json character;
    character["class"] = record.label[at];
    character["confidence"] = record.confidence[at];
    character["margin"] = record.margin[at];
    character["box"] = {record.x[at], record.y[at], record.width[at], record.height[at]};
    if ((record.flags[at] & kCharacterRejected) != 0) character["rejected"] = true;
    if ((record.flags[at] & kCharacterCapped) != 0) character["capped"] = true;
    if ((record.flags[at] & kCharacterEmpty) != 0) character["empty"] = true;
    characters.push_back(std::move(character));
  }
  return characters;
}

}  // namespace ocellus::app
