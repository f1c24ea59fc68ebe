// What a writer of files may find at its target, and what must become of it. One table for every
// writer of the library, the program, the elements and the bindings.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/files.h"

namespace ocellus::test {

/// A writer under test.
struct FileWriterCase {
  const char* name;
  const char* extension;
  /// Writes to a path. Returns the text of the error, or nothing.
  std::function<std::string(const std::string& path)> write;
  /// Whether it writes a pipe from front to end. Others must refuse it at once.
  bool takes_pipes = false;
  bool takes_devices = true;
  /// Whether the bytes are a complete file. Empty: they are always the same.
  std::function<bool(const std::string& bytes)> complete = {};
  /// Files that `write` reads: an ordinary user may not reach them.
  std::vector<std::string> reads = {};
};

/// For the superuser, no permission counts. While it exists, a test that runs as the superuser has
/// the rights of an ordinary user.
class OrdinaryUser {
 public:
  static constexpr uid_t kNobody = 65534;

  OrdinaryUser() {
    if (was_superuser_ && (setegid(kNobody) != 0 || seteuid(kNobody) != 0))
      ADD_FAILURE() << "cannot become an ordinary user";
  }
  ~OrdinaryUser() {
    if (was_superuser_ && (seteuid(0) != 0 || setegid(0) != 0)) std::abort();
  }
  static bool can_read(const std::vector<std::string>& files) {
    const OrdinaryUser user;
    return std::ranges::all_of(files, [](const std::string& file) {
      return faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0;
    });
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  const bool was_superuser_ = geteuid() == 0;
};

/// The target of a case, in a folder of its own.
class FileTarget {
 public:
  explicit FileTarget(const FileWriterCase& writer)
      : writer_(writer), path_(folder_ / ("out" + std::string(writer.extension))) {
    // The ordinary user works here, too.
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  }

  const std::string& path() const { return path_; }
  std::string beside(const std::string& name) const { return folder_ / name; }
  std::string file(const std::string& name, const std::string& bytes, mode_t mode) const {
    const std::string made = folder_ / name;
    std::ofstream(made, std::ios::binary) << bytes;
    EXPECT_EQ(chmod(made.c_str(), mode), 0);
    return made;
  }
  std::string link(const std::string& to, const std::string& name) const {
    std::filesystem::create_symlink(to, folder_ / name);
    return folder_ / name;
  }

  void write(const std::string& path) { error_ = writer_.write(path); }
  void write() { write(path_); }

  /// The writer succeeded, and `path` is a complete file with these permissions.
  void written(const std::string& path, mode_t mode, const std::string& expected) const {
    EXPECT_EQ(error_, "");
    struct stat status = {};
    ASSERT_EQ(lstat(path.c_str(), &status), 0) << path;
    EXPECT_TRUE(S_ISREG(status.st_mode));
    EXPECT_EQ(status.st_mode & 07777, mode);
    EXPECT_TRUE(complete(bytes_of(path), expected)) << bytes_of(path).size() << " bytes";
  }
  bool complete(const std::string& bytes, const std::string& expected) const {
    return writer_.complete ? writer_.complete(bytes) : !bytes.empty() && bytes == expected;
  }
  /// The writer failed, and its text has this word.
  void refused(const std::string& word) const {
    EXPECT_NE(error_, "") << "it was written";
    EXPECT_NE(error_.find(word), std::string::npos) << error_;
    EXPECT_NE(error_.find("out"), std::string::npos) << "does not name the file: " << error_;
  }
  void unchanged(const std::string& path, const std::string& bytes, mode_t mode) const {
    struct stat status = {};
    ASSERT_EQ(lstat(path.c_str(), &status), 0) << path;
    EXPECT_TRUE(S_ISREG(status.st_mode));
    EXPECT_EQ(status.st_mode & 07777, mode);
    EXPECT_EQ(bytes_of(path), bytes);
  }
  /// Nothing but these files is left.
  void only(std::set<std::string> names) const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      found.insert(entry.path().filename());
    EXPECT_EQ(found, names);
  }
  std::string name() const { return std::filesystem::path(path_).filename(); }

 private:
  const FileWriterCase& writer_;
  TemporaryFolder folder_;
  std::string path_;
  std::string error_;
};

/// Runs a writer with every target. Fails when it replaces a device, a pipe or a link; writes
/// through a link that somebody has planted beside the target; destroys another file; loses
/// permissions; overwrites a file without a right to write it; or leaves a temporary file.
inline void expect_file_targets(const FileWriterCase& writer) {
  SCOPED_TRACE(writer.name);
  namespace fs = std::filesystem;
  const std::string old(100'000, 'x');
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t fresh = 0666 & ~mask;
  const bool ordinary = OrdinaryUser::can_read(writer.reads);
  std::string expected;
  {
    SCOPED_TRACE("no file");
    FileTarget target(writer);
    target.write();
    expected = bytes_of(target.path());
    target.written(target.path(), fresh, expected);
    target.only({target.name()});
  }
  for (const mode_t mode : {0640, 0600, 0644}) {
    SCOPED_TRACE("a file of mode " + std::to_string(mode));
    FileTarget target(writer);
    target.file(target.name(), old, mode);
    target.write();
    target.written(target.path(), mode, expected);
    target.only({target.name()});
  }
  if (ordinary) {
    SCOPED_TRACE("a read-only file");
    FileTarget target(writer);
    target.file(target.name(), old, 0444);
    const OrdinaryUser user;
    target.write();
    target.refused("Permission denied");
    target.unchanged(target.path(), old, 0444);
    target.only({target.name()});
  }
  if (geteuid() == 0) {
    SCOPED_TRACE("files of another user, for the superuser");
    FileTarget target(writer);
    for (const mode_t mode : {0444, 0600}) {
      target.file(target.name(), old, mode);
      EXPECT_EQ(chown(target.path().c_str(), OrdinaryUser::kNobody, OrdinaryUser::kNobody), 0);
      target.write();
      target.written(target.path(), mode, expected);
      struct stat status = {};
      EXPECT_EQ(stat(target.path().c_str(), &status), 0);
      EXPECT_EQ(status.st_uid, OrdinaryUser::kNobody);
      fs::remove(target.path());
    }
  }
  {
    SCOPED_TRACE("links");
    FileTarget target(writer);
    fs::create_directory(target.beside("folder"));
    const std::string file = target.file("folder/file", old, 0600);
    target.link("folder/file", "middle");
    target.link("middle", target.name());
    target.write();
    target.written(file, 0600, expected);
    EXPECT_TRUE(fs::is_symlink(target.path()) && fs::is_symlink(target.beside("middle")));
    target.only({target.name(), "middle", "folder"});
  }
  {
    SCOPED_TRACE("a link to a file that does not exist");
    FileTarget target(writer);
    target.link("later", target.name());
    target.write();
    target.written(target.beside("later"), fresh, expected);
    EXPECT_TRUE(fs::is_symlink(target.path()));
    target.only({target.name(), "later"});
  }
  {
    SCOPED_TRACE("links in a circle");
    FileTarget target(writer);
    target.link(target.name(), "middle");
    target.link("middle", target.name());
    target.write();
    target.refused("levels of symbolic links");
    target.only({target.name(), "middle"});
  }
  {
    SCOPED_TRACE("planted names");
    FileTarget target(writer);
    const std::string victim = target.file("victim", "victim", 0600);
    target.link(victim, target.name() + ".part");
    target.write();
    target.written(target.path(), fresh, expected);
    target.unchanged(victim, "victim", 0600);
    EXPECT_TRUE(fs::is_symlink(target.path() + ".part"));
    fs::remove(target.path() + ".part");
    const std::string notes = target.file(target.name() + ".part", "notes", 0644);
    target.write();
    target.unchanged(notes, "notes", 0644);
    target.only({target.name(), target.name() + ".part", "victim"});
  }
  {
    SCOPED_TRACE("a pipe");
    FileTarget target(writer);
    ASSERT_EQ(mkfifo(target.path().c_str(), 0600), 0);
    std::string got;
    std::thread reader;
    if (writer.takes_pipes) reader = std::thread([&] { got = bytes_of(target.path()); });
    const auto begin = std::chrono::steady_clock::now();
    target.write();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    if (writer.takes_pipes) {
      reader.join();
      EXPECT_TRUE(target.complete(got, expected)) << got.size() << " bytes";
    } else {
      target.refused("pipe");
    }
    EXPECT_TRUE(fs::is_fifo(target.path()));
    target.only({target.name()});
  }
  {
    SCOPED_TRACE("devices");
    FileTarget target(writer);
    // Only the superuser makes a device; a link leads to one as well.
    const bool made =
        geteuid() == 0 && mknod(target.path().c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0;
    const std::string full = target.link("/dev/full", "out-full" + std::string(writer.extension));
    if (!made) target.link("/dev/null", target.name());
    target.write();
    if (!writer.takes_devices) {
      target.refused("device");
    } else {
      target.write(full);
      target.refused("No space left");
    }
    EXPECT_TRUE(fs::is_character_file(target.path()) && fs::is_character_file("/dev/null") &&
                fs::is_character_file("/dev/full"));
    EXPECT_EQ(fs::is_symlink(target.path()), !made);
    EXPECT_TRUE(fs::is_symlink(full));
    target.only({target.name(), "out-full" + std::string(writer.extension)});
  }
  {
    SCOPED_TRACE("a folder");
    FileTarget target(writer);
    fs::create_directory(target.path());
    target.write();
    target.refused("irectory");
    EXPECT_TRUE(fs::is_directory(target.path()));
    target.only({target.name()});
  }
  if (ordinary) {
    SCOPED_TRACE("a folder without permission");
    FileTarget target(writer);
    fs::create_directory(target.beside("closed"));
    const std::string file = target.file("closed/out" + std::string(writer.extension), old, 0666);
    fs::permissions(target.beside("closed"), fs::perms(0555));
    {
      const OrdinaryUser user;
      target.write(target.beside("closed/out-new" + std::string(writer.extension)));
      target.refused("Permission denied");
      target.write(file);
      target.refused("temporary file");
    }
    target.unchanged(file, old, 0666);
    fs::permissions(target.beside("closed"), fs::perms(0755));
    EXPECT_EQ(std::distance(fs::directory_iterator(target.beside("closed")), {}), 1);
  }
  {
    SCOPED_TRACE("no folder");
    FileTarget target(writer);
    target.write(target.beside("none/out" + std::string(writer.extension)));
    target.refused("No such file or directory");
    target.only({});
  }
  {
    SCOPED_TRACE("the longest name");
    constexpr std::size_t kMost = 255;
    FileTarget target(writer);
    const std::string name =
        "out" + std::string(kMost - 3 - std::strlen(writer.extension), 'n') + writer.extension;
    for (int i = 0; i < 2; ++i) {
      target.write(target.beside(name));
      target.written(target.beside(name), fresh, expected);
      target.only({name});
    }
    target.write(target.beside("out" + name));
    target.refused("name too long");
    target.only({name});
  }
}

}  // namespace ocellus::test
