// A bug for check_symbols.sh: a time of the wall clock, which may be set.
#include <chrono>

namespace ocellus {

bool is_late(std::chrono::nanoseconds due);

bool is_late(std::chrono::nanoseconds due) {
  return std::chrono::system_clock::now().time_since_epoch() > due;
}

}  // namespace ocellus
