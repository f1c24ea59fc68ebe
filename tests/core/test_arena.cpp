// HostArena and LayoutBuilder against a simple model.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/layout_builder.h"

namespace ocellus::detail {
namespace {

constexpr std::size_t kUnit = kMemoryAlignment;
// The documented alignment: a cache line, and the widest vector.
static_assert(kMemoryAlignment == 64);

// Fails when rounding is wrong at or next to a multiple.
TEST(Arena, AlignUpRoundsToTheNextMultiple) {
  EXPECT_EQ(align_up(0), 0u);
  EXPECT_EQ(align_up(1), kUnit);
  EXPECT_EQ(align_up(kUnit), kUnit);
  EXPECT_EQ(align_up(kUnit + 1), 2 * kUnit);
  EXPECT_EQ(align_up(10, 8), 16u);
}

// Fails when a piece is not aligned, when pieces overlap, or when a write to one piece changes
// another.
TEST(Arena, PiecesAreAlignedAndSeparate) {
  HostArena arena;
  ASSERT_TRUE(arena.create(64 * kUnit, false));
  std::vector<unsigned char*> pieces;
  const std::size_t sizes[] = {1, kUnit, kUnit + 1, 3 * kUnit - 1, 7};
  for (const std::size_t size : sizes) {
    auto* piece = static_cast<unsigned char*>(arena.take(size));
    ASSERT_NE(piece, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % kMemoryAlignment, 0u);
    std::memset(piece, static_cast<int>(pieces.size()) + 1, size);
    pieces.push_back(piece);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t k = 0; k < sizes[i]; ++k) ASSERT_EQ(pieces[i][k], i + 1);
  }
  EXPECT_EQ(arena.pieces(), 5);
  EXPECT_EQ(arena.used(), (1 + 1 + 2 + 3 + 1) * kUnit);
}

// Fails when a block that the system cannot hold is taken, so that the process would end when it
// touches it, or is refused without the bytes.
TEST(Arena, RefusesWhatTheSystemDoesNotHave) {
  HostArena arena;
  const auto refused = arena.create(std::size_t{1} << 46, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
  const std::string text = refused.error().text;
  EXPECT_NE(text.find("70368744177664 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("bytes of memory available"), std::string::npos) << text;
}

// Fails when an arena of the sum of the rounded sizes cannot hold exactly these pieces, in any
// order, or can hold more.
// Promises: MEM-002.
TEST(Arena, FootprintsAddUpExactly) {
  const std::vector<std::size_t> sizes = {100, 64, 4096, 1, 777, 64 * 9, 5};
  std::size_t sum = 0;
  for (const std::size_t size : sizes) sum += align_up(size);
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::size_t> order = sizes;
    std::shuffle(order.begin(), order.end(), random);
    HostArena arena;
    ASSERT_TRUE(arena.create(sum, false));
    EXPECT_EQ(arena.capacity(), sum);
    for (const std::size_t size : order) ASSERT_NE(arena.take(size), nullptr);
    EXPECT_EQ(arena.used(), sum);
    EXPECT_EQ(arena.largest_gap(), 0u);
    EXPECT_EQ(arena.take(1), nullptr);
  }
}

// Fails when a returned region is not kept for the next piece of its size. Also fails when a piece
// of another size does not take the smallest sufficient gap. Also fails when neighboring gaps are
// not joined although no other gap is large enough.
TEST(Arena, ChoosesTheRegionOfAPiece) {
  HostArena arena;
  ASSERT_TRUE(arena.create(16 * kUnit, false));
  void* a = arena.take(2 * kUnit);
  void* b = arena.take(4 * kUnit);
  void* c = arena.take(2 * kUnit);
  void* d = arena.take(3 * kUnit);
  void* e = arena.take(1 * kUnit);
  void* f = arena.take(4 * kUnit);
  ASSERT_NE(f, nullptr);
  arena.give_back(b);
  arena.give_back(d);
  EXPECT_EQ(arena.largest_gap(), 4 * kUnit);
  void* same = arena.take(3 * kUnit - 5);
  EXPECT_EQ(same, d) << "the region of the same size must be used";
  arena.give_back(same);
  void* smaller = arena.take(2 * kUnit);
  EXPECT_EQ(smaller, d)
      << "no region of this size is free, so the smallest sufficient one must be used";
  EXPECT_EQ(arena.take(5 * kUnit), nullptr) << "five units are free, but not contiguous";
  arena.give_back(c);
  void* joined = arena.take(5 * kUnit);
  EXPECT_EQ(joined, b) << "two neighboring gaps must be joined";
  EXPECT_EQ(arena.take(2 * kUnit), nullptr);
  void* rest = arena.take(kUnit);
  EXPECT_NE(rest, nullptr);
  for (void* piece : {a, e, f, smaller, joined, rest}) arena.give_back(piece);
  EXPECT_EQ(arena.used(), 0u);
  EXPECT_EQ(arena.largest_gap(), 16 * kUnit)
      << "all pieces were returned, so the block must be one gap";
}

// The sum of the sizes fits in the block. Fails when a piece finds no space after pieces have been
// returned and taken again in a different order.
// Promises: MEM-002.
TEST(Arena, PiecesOfFixedSizesAlwaysFit) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::size_t> sizes(2 + random() % 40);
    std::size_t sum = 0;
    for (std::size_t& size : sizes) {
      size = 1 + random() % (random() % 3 == 0 ? 100 * kUnit : 6 * kUnit);
      sum += align_up(size);
    }
    HostArena arena;
    ASSERT_TRUE(arena.create(sum, false));
    std::vector<void*> out(sizes.size());
    for (int step = 0; step < 10'000; ++step) {
      // In turns, most pieces or only a few are taken.
      const std::size_t i = random() % sizes.size();
      const bool wanted = step / 500 % 2 == 0 ? random() % 8 != 0 : random() % 8 == 0;
      if (wanted && out[i] == nullptr) {
        out[i] = arena.take(sizes[i]);
        ASSERT_NE(out[i], nullptr) << "seed " << seed << " step " << step;
      } else if (!wanted && out[i] != nullptr) {
        arena.give_back(out[i]);
        out[i] = nullptr;
      }
    }
  }
}

// Fails when a refusal does not state whether too few bytes are free, or whether they are
// fragmented.
// Promises: ERR-004.
TEST(Arena, RefusalsStateTheReason) {
  HostArena arena;
  ASSERT_TRUE(arena.create(8 * kUnit, false));
  void* pieces[8];
  for (void*& piece : pieces) piece = arena.take(kUnit);
  const Error full = arena.no_room("host", 3);
  EXPECT_EQ(full.status, Status::kOutOfMemory);
  EXPECT_NE(std::strstr(full.text, "EngineConfig::memory"), nullptr) << full.text;
  EXPECT_EQ(std::strstr(full.text, "fragmented"), nullptr) << full.text;
  for (const int i : {1, 3, 5}) arena.give_back(pieces[i]);
  ASSERT_EQ(arena.take(2 * kUnit), nullptr);
  const std::string text = arena.no_room("host", 2 * kUnit).text;
  EXPECT_NE(text.find("fragmented"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(3 * kUnit) + " free bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("only " + std::to_string(kUnit) + " are contiguous"), std::string::npos)
      << text;
}

// Fails when pieces returned in some order leave a gap that is not joined, or when the peak is
// wrong.
TEST(Arena, PiecesCanBeReturnedInAnyOrder) {
  std::vector<int> order = {0, 1, 2, 3};
  do {
    HostArena arena;
    ASSERT_TRUE(arena.create(4 * kUnit, false));
    void* pieces[4];
    for (void*& piece : pieces) piece = arena.take(kUnit);
    for (const int i : order) arena.give_back(pieces[i]);
    EXPECT_EQ(arena.pieces(), 0);
    EXPECT_EQ(arena.used(), 0u);
    EXPECT_EQ(arena.peak(), 4 * kUnit);
    EXPECT_NE(arena.take(4 * kUnit), nullptr);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Fails when an exhausted arena returns a piece, or cannot continue after a refusal.
TEST(Arena, RefusesPiecesWhenExhausted) {
  HostArena arena;
  ASSERT_TRUE(arena.create(4 * kUnit, false));
  EXPECT_EQ(arena.take(4 * kUnit + 1), nullptr);
  EXPECT_EQ(arena.take(std::numeric_limits<std::size_t>::max()), nullptr);
  EXPECT_EQ(arena.take(std::numeric_limits<std::size_t>::max() - 100), nullptr);
  EXPECT_EQ(arena.used(), 0u);
  void* piece = arena.take(4 * kUnit);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(arena.take(1), nullptr);
  arena.give_back(piece);
  EXPECT_NE(arena.take(4 * kUnit), nullptr);
}

// Fails when the table of pieces overflows.
TEST(Arena, RefusesMoreThanMaxPieces) {
  HostArena arena;
  ASSERT_TRUE(arena.create((HostArena::kMaxPieces + 8) * kUnit, false));
  std::vector<void*> pieces;
  for (int i = 0; i < HostArena::kMaxPieces; ++i) {
    pieces.push_back(arena.take(kUnit));
    ASSERT_NE(pieces.back(), nullptr);
  }
  EXPECT_EQ(arena.take(kUnit), nullptr);
  arena.give_back(pieces[100]);
  EXPECT_EQ(arena.take(kUnit), pieces[100]);
}

// Fails when an empty arena, size 0, nullptr or a pointer that is not a piece is not handled.
TEST(Arena, AcceptsEmptyAndForeignPointers) {
  HostArena none;
  ASSERT_TRUE(none.create(0, false));
  EXPECT_EQ(none.capacity(), 0u);
  EXPECT_EQ(none.take(1), nullptr);
  EXPECT_EQ(none.take(0), nullptr);
  none.give_back(nullptr);

  HostArena arena;
  ASSERT_TRUE(arena.create(4 * kUnit, false));
  auto* piece = static_cast<char*>(arena.take(2 * kUnit));
  arena.give_back(nullptr);
  arena.give_back(piece + kUnit);
  EXPECT_EQ(arena.used(), 2 * kUnit) << "a pointer into a piece must be ignored";
}

// Fails when a block that the system cannot provide is not reported as OutOfMemory with its size.
TEST(Arena, ReportsABlockTooLargeForTheSystem) {
  for (const std::size_t bytes : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 60}) {
    HostArena arena;
    const Expected<void> made = arena.create(bytes, false);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().status, Status::kOutOfMemory);
    EXPECT_NE(std::strstr(made.error().text, "bytes"), nullptr) << made.error().text;
    EXPECT_EQ(arena.take(1), nullptr);
  }
}

// Fails when the block's pages are not touched at creation, so that the first frame has page
// faults.
TEST(Arena, TouchesEveryPageAtCreation) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{5} << 20}) {
    HostArena arena;
    ASSERT_TRUE(arena.create(bytes, false));
    void* piece = arena.take(bytes);
    ASSERT_NE(piece, nullptr);
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> resident((bytes + page - 1) / page);
    ASSERT_EQ(mincore(piece, bytes, resident.data()), 0);
    for (const unsigned char flag : resident) ASSERT_EQ(flag & 1, 1);
    for (std::size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(static_cast<char*>(piece)[i], 0) << "memory must be zero at first";
  }
}

// Fails when pieces overlap or exceed the block, or when the statistics are wrong. Also fails when
// a piece is refused although a gap is large enough, or given although none is.
TEST(Arena, RandomUseMatchesTheModel) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::mt19937 random(seed);
    constexpr std::size_t kUnits = 2048;
    HostArena arena;
    ASSERT_TRUE(arena.create(kUnits * kUnit, false));
    char* base = static_cast<char*>(arena.take(1));
    arena.give_back(base);
    std::map<std::size_t, std::size_t> taken;  // offset -> length, in units
    std::size_t used = 0;
    std::size_t peak = 1;
    std::size_t largest = kUnits;
    for (int step = 0; step < 6000; ++step) {
      if (taken.empty() || random() % 5 < 3) {
        // Many different sizes, so that neighboring regions stay free until they are joined.
        const std::size_t units = 1 + random() % (random() % 8 == 0 ? 120 : 12);
        const std::size_t bytes = units * kUnit - random() % kUnit;
        char* piece = static_cast<char*>(arena.take(bytes));
        const bool room = largest >= units && taken.size() < HostArena::kMaxPieces;
        ASSERT_EQ(piece != nullptr, room) << "seed " << seed << " step " << step;
        if (piece != nullptr) {
          const auto at = static_cast<std::size_t>(piece - base) / kUnit;
          ASSERT_LE(at + units, kUnits);
          const auto next = taken.upper_bound(at);
          if (next != taken.end()) {
            ASSERT_LE(at + units, next->first) << "overlaps the next";
          }
          if (next != taken.begin()) {
            ASSERT_LE(std::prev(next)->first + std::prev(next)->second, at) << "overlaps the last";
          }
          taken[at] = units;
          used += units;
          peak = std::max(peak, used);
        }
      } else {
        auto victim = taken.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random() % taken.size()));
        arena.give_back(base + victim->first * kUnit);
        used -= victim->second;
        taken.erase(victim);
      }
      largest = 0;
      std::size_t at = 0;
      for (const auto& [offset, length] : taken) {
        largest = std::max(largest, offset - at);
        at = offset + length;
      }
      largest = std::max(largest, kUnits - at);
      ASSERT_EQ(arena.used(), used * kUnit);
      ASSERT_EQ(arena.peak(), peak * kUnit);
      ASSERT_EQ(arena.pieces(), static_cast<int>(taken.size()));
      ASSERT_EQ(arena.largest_gap(), largest * kUnit);
    }
  }
}

// Fails when the size counted without memory differs from the actual layout, or an array is not
// aligned.
// Promises: MEM-001.
TEST(LayoutBuilder, CountsWhatItLaysOut) {
  const auto lay_out = [](LayoutBuilder& builder) {
    std::vector<void*> arrays;
    arrays.push_back(builder.take<char>(3));
    arrays.push_back(builder.take<double>(17));
    arrays.push_back(builder.take<float>(0));
    arrays.push_back(builder.take<std::uint16_t>(33));
    return arrays;
  };
  LayoutBuilder counting;
  for (void* array : lay_out(counting)) EXPECT_EQ(array, nullptr);
  EXPECT_EQ(counting.bytes(), kUnit + 3 * kUnit + 2 * kUnit);

  HostArena arena;
  ASSERT_TRUE(arena.create(counting.bytes(), false));
  char* base = static_cast<char*>(arena.take(counting.bytes()));
  LayoutBuilder laying(base);
  const std::vector<void*> arrays = lay_out(laying);
  EXPECT_EQ(laying.bytes(), counting.bytes());
  EXPECT_EQ(arrays[0], base);
  EXPECT_EQ(arrays[1], base + kUnit);
  EXPECT_EQ(arrays[3], base + 4 * kUnit);
}

}  // namespace
}  // namespace ocellus::detail
