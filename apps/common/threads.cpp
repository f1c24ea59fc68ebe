#include "apps/common/threads.h"

#include <fmt/format.h>

#include <exception>
#include <future>
#include <mutex>
#include <system_error>
#include <vector>

#include "apps/common/input_error.h"

namespace ocellus::app {

std::thread start_thread(const std::string& what, const std::function<void()>& run) {
  try {
    return std::thread(run);
  } catch (const std::system_error& error) {
    throw InputError(fmt::format("{} cannot be started: {}", what, error.what()));
  }
}

void run_on_threads(int threads, const std::function<void(int)>& work) {
  std::promise<bool> gate;
  const std::shared_future<bool> begins = gate.get_future().share();
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&](int thread) {
    if (!begins.get()) return;
    try {
      work(thread);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> pool;
  pool.reserve(static_cast<std::size_t>(threads));
  const auto end = [&](bool begin) {
    gate.set_value(begin);
    for (std::thread& thread : pool) thread.join();
  };
  try {
    for (int t = 0; t < threads; ++t) {
      pool.push_back(
          start_thread(fmt::format("thread {} of {}", t + 1, threads), [&run, t] { run(t); }));
    }
  } catch (...) {
    end(false);
    throw;
  }
  end(true);
  if (error) std::rethrow_exception(error);
}

}  // namespace ocellus::app
