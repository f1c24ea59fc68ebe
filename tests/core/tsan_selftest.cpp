// A planted data race. The ctest that runs it expects a failure: it fails when the thread sanitizer
// does not see races.
#include <thread>

int main() {
  int shared = 0;
  std::thread other([&] { shared += 1; });
  shared += 2;
  other.join();
  return shared == 3 ? 0 : 1;
}
