// A number that no integer can hold becomes one: a sanitizer must end it.
#include <cstdio>

int main() {
  volatile float value = 1e20f;
  const int number = static_cast<int>(value);
  std::printf("%d\n", number);
  return 0;
}
