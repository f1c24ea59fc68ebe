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

}  // namespace

CharacterNames::CharacterNames(const std::string& model)
    : info_(take(Neocognitron::read_model_info(model.c_str()), "--model")) {
  for (int label = 0; label < classes(); ++label) numbers_ = numbers_ && is_number(name(label));
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

}  // namespace ocellus::app
