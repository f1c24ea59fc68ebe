// A deliberate data race. Its ctest expects a failure, so it fails if the thread sanitizer does not
// detect races.
#include <thread>

int main() {
  int shared = 0;
  std::thread other([&] { shared += 1; });
  shared += 2;
  other.join();
  return shared == 3 ? 0 : 1;
}
