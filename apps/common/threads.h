// Threads of the program: one that does not start is an InputError, and no exception leaves one.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace ocellus::app {

/// Starts a thread; `run` must not throw. `what` names the thread in the error, such as "the thread
/// that reads frames". Throws InputError.
std::thread start_thread(const std::string& what, const std::function<void()>& run);

/// Runs work(0) to work(threads - 1) at the same time, each on a thread of its own, after all of
/// them have started. Throws InputError if one does not start, and else what `work` threw first.
void run_on_threads(int threads, const std::function<void(int)>& work);

}  // namespace ocellus::app
