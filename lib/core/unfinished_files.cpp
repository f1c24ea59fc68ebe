#include "ocellus/unfinished_files.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/thread.h"

namespace ocellus {
namespace {

/// The name of an unfinished file. Its storage is static, because a signal handler reads it.
struct Place {
  enum State : int { kUnused, kCreating, kCreated, kRemoved };
  std::atomic<int> state{kUnused};
  std::atomic<pid_t> owner{0};  // a child process that fork() made has a copy of the entry
  char path[PATH_MAX] = {};
};
std::array<Place, 16> places{};
std::atomic<bool> ending{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

int take_place(const char* path) noexcept {
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(Place::path)) return -1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    int none = Place::kUnused;
    if (!places[i].state.compare_exchange_strong(none, Place::kCreating)) continue;
    std::memcpy(places[i].path, path, length + 1);
    places[i].owner.store(getpid());
    return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void remove_unfinished_files() noexcept {
  ending.store(true);
  const pid_t process = getpid();
  for (Place& place : places) {
    if (place.owner.load() != process) continue;
    // Another thread may be between the registration and the creation. A file system that hangs
    // must not keep the process alive.
    constexpr int kMostMs = 1000;
    for (int ms = 0; ms < kMostMs && place.state.load() == Place::kCreating; ++ms)
      poll(nullptr, 0, 1);
    int created = Place::kCreated;
    if (place.state.compare_exchange_strong(created, Place::kRemoved)) unlink(place.path);
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (path_ != nullptr) leave(true);
}

int UnfinishedFile::create(const char* path, mode_t mode) noexcept {
  // remove_unfinished_files() waits for a file that is being created. A handler must not interrupt
  // the thread that it would wait for.
  const detail::BlockedSignals blocked(true);
  place_ = take_place(path);
  // Asked after the registration: either the file is not created, or its removal sees it.
  int descriptor = -1;
  if (ending.load())
    errno = ECANCELED;
  else
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor >= 0) path_ = path;
  if (place_ >= 0) {
    Place& place = places[static_cast<std::size_t>(place_)];
    place.state.store(descriptor >= 0 ? Place::kCreated : Place::kUnused);
    if (descriptor < 0) place_ = -1;
  }
  return descriptor;
}

void UnfinishedFile::keep() noexcept {
  if (path_ != nullptr) leave(false);
}

void UnfinishedFile::leave(bool remove) noexcept {
  if (remove && (place_ < 0 || places[static_cast<std::size_t>(place_)].owner.load() == getpid()))
    unlink(path_);
  path_ = nullptr;
  if (place_ < 0) return;
  int created = Place::kCreated;
  places[static_cast<std::size_t>(place_)].state.compare_exchange_strong(created, Place::kUnused);
  place_ = -1;
}

}  // namespace ocellus
