// Uses the library of the larger project, which uses Ocellus.
#include <cstring>

const char* larger_version();

int main() {
  return std::strlen(larger_version()) > 0 ? 0 : 1;
}
