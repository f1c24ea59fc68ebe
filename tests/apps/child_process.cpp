#include "child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace ocellus::test {

std::string program_path() {
  const char* const named = std::getenv("OCELLUS_PROGRAM");
  if (named != nullptr) return named;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "ocellus";
}

RunningProgram::RunningProgram(const std::vector<std::string>& arguments,
                               unsigned long file_limit) {
  std::string name = program_path();
  std::vector<std::string> copies = arguments;
  // Under an emulator, `ocellus bench` cannot execute the other program.
  const char* const bench = std::getenv("OCELLUS_BENCH_PROGRAM");
  if (bench != nullptr && !copies.empty() && copies.front() == "bench") {
    name = bench;
    copies.erase(copies.begin());
  } else if (bench != nullptr && copies.size() > 1 && copies[0] == "compare" &&
             copies[1] == "latency") {
    name = bench;
  }
  // Files in place of pipes, because a pipe would block on long output.
  const std::string out = folder_ / "out";
  const std::string err = folder_ / "err";
  std::vector<char*> argv;
  argv.push_back(name.data());
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  child_ = fork();
  if (child_ == 0) {
    const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int in_file = open("/dev/null", O_RDONLY);
    dup2(in_file, 0);
    dup2(out_file, 1);
    dup2(err_file, 2);
    signal(SIGINT, SIG_DFL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (file_limit > 0) {
      const rlimit limit{file_limit, file_limit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execv(name.c_str(), argv.data());
    _exit(127);
  }
}

RunningProgram::~RunningProgram() {
  if (child_ <= 0) return;
  send(SIGKILL);
  waitpid(child_, nullptr, 0);
}

void RunningProgram::send(int signal) const {
  if (child_ > 0) kill(child_, signal);
}

ChildResult RunningProgram::wait() {
  ChildResult result;
  if (child_ <= 0) return result;
  int status = 0;
  rusage used = {};
  wait4(child_, &status, 0, &used);
  child_ = -1;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  result.peak_memory = static_cast<std::size_t>(used.ru_maxrss) << 10;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = bytes_of(folder_ / "out");
  result.err = bytes_of(folder_ / "err");
  return result;
}

ChildResult run_program(const std::vector<std::string>& arguments) {
  return RunningProgram(arguments).wait();
}

}  // namespace ocellus::test
