// The errors that end the program, while the system gives no memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "apps/common/common.h"
#include "apps/program.h"

namespace {
bool gives_memory = true;
}  // namespace

// Inlined, they look to the compiler like a mismatch of new and free.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = gives_memory ? std::malloc(bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace ocellus::test {
namespace {

/// As static objects of some libraries do.
struct NeedsMemoryAtExit {
  ~NeedsMemoryAtExit() { delete new int; }
};
const NeedsMemoryAtExit needs_memory_at_exit;

/// Runs the program until `run` throws, and leaves as main does.
template <typename Run>
void run_and_exit(const Run& run) {
  const std::function<int()> call = [&run] {
    run();
    return static_cast<int>(app::kDone);
  };
  std::exit(app::run_program("ocellus", call));
}

// Fails when the handler of the last error, or what follows it, needs memory and so ends the
// program by a signal, or when an error is told by the name of a class.
TEST(LastHandlerDeathTest, TakesNoMemory) {
  const testing::ExitedWithCode bad_input(app::kBadInput);
  const std::string long_text(500, 'x');
  const app::InputError error(long_text);
  const char* const short_of_memory = "^ocellus: the system gave no memory\n$";
  EXPECT_EXIT(run_and_exit([&] {
                gives_memory = false;
                throw error;
              }),
              bad_input, short_of_memory);
  EXPECT_EXIT(run_and_exit([] {
                gives_memory = false;
                static_cast<void>(std::string(1000, 'y'));
              }),
              bad_input, short_of_memory);
  EXPECT_EXIT(run_and_exit([&] { throw error; }), bad_input, "^ocellus: " + long_text + "\n$");
}

}  // namespace
}  // namespace ocellus::test
