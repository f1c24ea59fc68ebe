// Beside interpose.h, in a program that stands in for more calls than malloc's.
#pragma once

namespace ocellus::test {

/// What mmap gave and munmap did not take back, of calls that go through the program.
long live_mappings();

}  // namespace ocellus::test
