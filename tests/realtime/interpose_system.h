// Beside interpose.h, in a program that stands in for more calls than malloc's.
#pragma once

namespace ocellus::test {

/// What mmap gave and munmap did not take back, of calls that go through the program.
long live_mappings();

/// Threads that were started and not joined. The system still lists a thread for a moment after it
/// was joined.
long live_threads();

}  // namespace ocellus::test
