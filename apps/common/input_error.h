// InputError: bad usage, or a file that cannot be read or written.
#pragma once

#include <stdexcept>

namespace ocellus::app {

/// main prints its text and exits with kBadInput.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ocellus::app
