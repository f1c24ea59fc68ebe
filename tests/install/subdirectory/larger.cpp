// The library of the larger project.
#include <ocellus/ocellus.h>

const char* larger_version() {
  return ocellus::version();
}
