#include "apps/optical_flow/run.h"

namespace ocellus::app {

std::string FlowPlan::error_text(const Error& error) const {
  return "optical flow: " + with_option_name(error.text);
}

std::optional<Support> choose_support(int wanted, long number, long first, long last) {
  for (Support support{wanted}; support.frames >= 2; --support.frames) {
    if (number - support.before() >= first && number + support.after() <= last) return support;
  }
  return std::nullopt;
}

}  // namespace ocellus::app
