// An operator of the tests with the options of `restore`. It copies frames, and fails where a test
// asks for it.
#pragma once

#include "ocellus/operators.h"

namespace ocellus::test {

struct FailingControl {
  int failing = -1;     ///< number of the operator that fails, in the order of creation; -1: none
  int good_frames = 0;  ///< of that operator, before it fails

  int created = 0;
  int living = 0;
  int in_flight = 0;  ///< frames of all operators that were neither waited for nor dropped
};

FailingControl& failing_control();
const OperatorDescription& failing_operator();

}  // namespace ocellus::test
