// FileWriter and UnfinishedFile: every target of the table, several writers at once, signals.
#include "core/file_writer.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "ocellus/unfinished_files.h"
#include "support/file_targets.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

using detail::FileWriter;

/// Larger than a pipe and than one write of the callers.
std::string contents(char letter = 'a') {
  std::string bytes(300'000, letter);
  for (std::size_t i = 0; i < bytes.size(); i += 7) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

Expected<void> write_whole(const std::string& path, const std::string& bytes,
                           const FileWriter::Options& options) {
  FileWriter writer;
  if (Expected<void> done = writer.open(path.c_str(), options); !done) return done;
  const std::size_t half = bytes.size() / 2;
  if (options.random_access) {
    if (auto done = writer.write_at(bytes.data() + half, bytes.size() - half, half); !done)
      return done;
    if (auto done = writer.write_at(bytes.data(), half, 0); !done) return done;
  } else {
    if (auto done = writer.write(bytes.data(), half); !done) return done;
    if (auto done = writer.write(bytes.data() + half, bytes.size() - half); !done) return done;
  }
  return writer.commit();
}

std::string error_of(const std::string& path, const FileWriter::Options& options) {
  const Expected<void> done = write_whole(path, contents(), options);
  return done ? "" : path + ": " + done.error().text;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  return names;
}

// Promises: FILE-001.
TEST(FileWriter, MeetsEveryTarget) {
  expect_file_targets(
      {"from front to end", "",
       [](const std::string& path) { return error_of(path, {.stops = [] { return false; }}); },
       true});
  expect_file_targets({"in any order", "", [](const std::string& path) {
                         return error_of(path, {.random_access = true, .durable = true});
                       }});
}

// Fails if a writer that nobody stops waits for the reader of a pipe, or one that is stopped goes
// on waiting.
TEST(FileWriter, DoesNotWaitForAReaderForEver) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(error_of(pipe, {}).find("no process has opened the pipe"), std::string::npos);
  static std::atomic<int> asked{0};
  asked = 0;
  EXPECT_NE(error_of(pipe, {.stops = [] { return ++asked > 3; }}).find("no process"),
            std::string::npos);
  EXPECT_EQ(asked, 4);
}

// Fails if a file without `commit` appears, or its temporary file stays, or if others can read
// meanwhile what replaces a file that they cannot read.
// Promises: FILE-001.
TEST(FileWriter, AppearsOnlyWhenItIsComplete) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  for (const bool exists : {false, true}) {
    if (exists) {
      std::ofstream(path) << "old";
      chmod(path.c_str(), 0600);
    }
    {
      FileWriter writer;
      ASSERT_TRUE(writer.open(path.c_str(), {}));
      ASSERT_TRUE(writer.write("new", 3));
      EXPECT_EQ(bytes_of(writer.part_path()), "new");
      struct stat status = {};
      ASSERT_EQ(stat(writer.part_path(), &status), 0);
      if (exists) {
        EXPECT_EQ(status.st_mode & 0777, 0600u);
      }
      EXPECT_EQ(std::filesystem::exists(path), exists);
    }
    EXPECT_EQ(names_in(folder.path()).size(), exists ? 1u : 0u);
  }
  EXPECT_EQ(bytes_of(path), "old");
}

// Fails if something that takes the place of the target while the file is written is replaced.
TEST(FileWriter, ReplacesOnlyFiles) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  const auto refuses = [&](const char* word, const auto& take_place) {
    std::ofstream(path) << "old";
    FileWriter writer;
    ASSERT_TRUE(writer.open(path.c_str(), {}));
    std::filesystem::remove(path);
    take_place();
    const Expected<void> done = writer.commit();
    ASSERT_FALSE(done);
    EXPECT_NE(std::string(done.error().text).find(word), std::string::npos) << done.error().text;
  };
  refuses("something else", [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); });
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  std::filesystem::remove(path);
  refuses("something else", [&] { std::filesystem::create_symlink("elsewhere", path); });
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  std::filesystem::remove(path);
  EXPECT_TRUE(names_in(folder.path()).empty());
}

// Fails if a file that was deleted while it is open, as /proc/self/fd names it, gets a new name.
TEST(FileWriter, RefusesAFileWithoutAName) {
  const TemporaryFolder folder;
  const int open_file = open((folder / "file").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(open_file, 0);
  std::filesystem::remove(folder / "file");
  EXPECT_NE(error_of("/proc/self/fd/" + std::to_string(open_file), {}), "");
  close(open_file);
  EXPECT_TRUE(names_in(folder.path()).empty());
}

// Fails if writers of one target, in threads and in processes, leave a mix of their files, or if a
// reader sees one that is not complete.
// Promises: FILE-001.
TEST(FileWriter, SeveralWritersOfOneTarget) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  const std::vector<std::string> all = {contents('a'), contents('b').substr(0, 200'000),
                                        contents('c')};
  ASSERT_TRUE(write_whole(path, all[0], {}));
  constexpr int kTimes = 100;
  std::atomic<int> failed{0};
  std::atomic<bool> over{false};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    for (int i = 0; i < kTimes; ++i)
      if (!write_whole(path, all[2], {.random_access = true})) _exit(1);
    _exit(0);
  }
  std::vector<std::thread> writers;
  for (const std::string& bytes : {std::cref(all[0]), std::cref(all[1])}) {
    writers.emplace_back([&failed, &path, bytes] {
      for (int i = 0; i < kTimes; ++i)
        if (!write_whole(path, bytes, {.random_access = true})) ++failed;
    });
  }
  int reads = 0;
  int broken = 0;
  std::thread reader([&] {
    while (!over) {
      const std::string bytes = bytes_of(path);
      ++reads;
      broken += bytes == all[0] || bytes == all[1] || bytes == all[2] ? 0 : 1;
    }
  });
  for (std::thread& writer : writers) writer.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  over = true;
  reader.join();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(broken, 0) << "of " << reads;
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"file"});
}

// Fails if paths that lead to one file are taken for two, or the other way round.
TEST(FileWriter, KnowsTheSameFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::create_symlink("sub", folder / "other");
  std::filesystem::create_symlink("sub/new", folder / "link");
  const auto same = [&](const char* a, const char* b) {
    return detail::same_file((folder / a).c_str(), (folder / b).c_str());
  };
  for (const bool exists : {false, true}) {
    if (exists) std::ofstream(folder / "sub/new") << "new";
    EXPECT_TRUE(same("sub/new", "./sub/../sub/new"));
    EXPECT_TRUE(same("sub/new", "other/new"));
    EXPECT_TRUE(same("link", "other/new"));
    EXPECT_FALSE(same("sub/new", "sub/newer"));
    EXPECT_FALSE(same("sub/new", "new"));
    EXPECT_FALSE(same("none/new", "none/new"));
  }
  std::filesystem::create_hard_link(folder / "sub/new", folder / "hard");
  EXPECT_TRUE(same("hard", "link"));
}

void end_by(int signal) {
  remove_unfinished_files();
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);
}

// Fails if a signal at any moment of the creation, the writing or the renaming of files leaves a
// temporary file, or if the handler waits for the thread that it interrupts.
// Promises: FILE-002.
TEST(UnfinishedFile, ASignalLeavesNone) {
  const std::string bytes = contents();
  for (int round = 0; round < 40; ++round) {
    const TemporaryFolder folder;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      struct sigaction action = {};
      action.sa_handler = end_by;
      sigaction(SIGTERM, &action, nullptr);
      std::vector<std::thread> writers;
      for (int i = 0; i < 1 + round % 4; ++i) {
        writers.emplace_back([&folder, &bytes, i] {
          for (;;)
            if (!write_whole(folder / std::to_string(i), bytes, {})) pause();
        });
      }
      for (std::thread& writer : writers) writer.join();
      _exit(1);
    }
    while (names_in(folder.path()).empty()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(137 * round));
    kill(child, SIGTERM);
    kill(child, SIGTERM);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    for (const std::string& name : names_in(folder.path())) {
      EXPECT_EQ(name.size(), 1u) << "round " << round;
      EXPECT_TRUE(bytes_of(folder / name) == bytes) << name;
    }
  }
}

// Fails if a file is created after the others were removed, so that it stays.
// Promises: FILE-002.
TEST(UnfinishedFile, NoneComesAfterTheRemoval) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    FileWriter writer;
    if (!writer.open((folder / "first").c_str(), {})) _exit(1);
    remove_unfinished_files();
    if (!names_in(folder.path()).empty()) _exit(2);
    if (writer.commit()) _exit(3);
    FileWriter late;
    if (late.open((folder / "second").c_str(), {})) _exit(4);
    _exit(names_in(folder.path()).empty() ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Fails if more files than can be registered are an error.
// Promises: FILE-002.
TEST(UnfinishedFile, ManyAtOnce) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<FileWriter>> writers;
  for (int i = 0; i < 40; ++i) {
    writers.push_back(std::make_unique<FileWriter>());
    ASSERT_TRUE(writers.back()->open((folder / std::to_string(i)).c_str(), {}));
  }
  for (auto& writer : writers) ASSERT_TRUE(writer->commit());
  EXPECT_EQ(names_in(folder.path()).size(), 40u);
}

}  // namespace
}  // namespace ocellus::test
