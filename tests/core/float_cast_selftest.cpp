// Converts a number that no integer type can hold. A sanitizer must end the program.
#include <cstdio>

int main() {
  volatile float value = 1e20f;
  const int number = static_cast<int>(value);
  std::printf("%d\n", number);
  return 0;
}
