// The part of interpose.h for programs with interpose_system.cpp.
#pragma once

namespace ocellus::test {

/// Mappings that were made by mmap and not removed by munmap, in calls that go through the program.
long live_mappings();

/// Threads that were started and not joined. The list of the system still shows a thread for a
/// moment after it was joined.
long live_threads();

}  // namespace ocellus::test
