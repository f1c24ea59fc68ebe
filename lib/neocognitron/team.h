// Work that the threads of a team share, for the host and for devices: a function that takes a team
// runs on the host with a team of one thread, and on a device with the threads of a block. Results
// do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#if defined(__CUDACC__)
#define OCELLUS_TEAM_FUNCTION __device__
// A block that runs once in a frame waits for its instructions longer than it executes them. So
// loops are not unrolled, and functions with several callers are not inlined.
#define OCELLUS_TEAM_CALL __device__ __attribute__((noinline))
#define OCELLUS_TEAM_LOOP _Pragma("unroll 1")
#else
#define OCELLUS_TEAM_FUNCTION
#define OCELLUS_TEAM_LOOP
#endif

namespace ocellus::detail {

/// A team of one thread. A team has these functions, which all of its threads call:
struct OneThread {
  constexpr int index() const noexcept { return 0; }
  constexpr int size() const noexcept { return 1; }
  /// Waits for the others. What they wrote before is visible behind it.
  constexpr void barrier() const noexcept {}
  /// Whether `value` is true for a thread of the team. A barrier.
  constexpr bool any(bool value) const noexcept { return value; }
  /// Replaces each of `count` values by the sum of those before it, and returns the sum of all.
  /// Begins and ends with a barrier.
  constexpr int scan(int* values, int count) const noexcept {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += std::exchange(values[i], sum);
    return sum;
  }

  /// Calls use(i, place) for all i of [0, count). `place` is the number of those before with
  /// has(i), and -1 without has(i). Returns the number of all with has(i). Ends with a barrier.
  template <typename Has, typename Use>
  constexpr int select(int count, const Has& has, const Use& use) const noexcept {
    int found = 0;
    for (int i = 0; i < count; ++i) use(i, has(i) ? found++ : -1);
    return found;
  }

  /// Calls use(place, key) for keys that differ, with their places in ascending order. A device has
  /// room for one key of each thread. Begins and ends with a barrier.
  template <typename Use>
  constexpr void sort(std::uint64_t* keys, int count, const Use& use) const noexcept {
    std::sort(keys, keys + count);
    for (int i = 0; i < count; ++i) use(i, keys[i]);
  }
  /// Calls use(i, place) for the i of [0, count) whose value(i) is not below 0: the first one with
  /// a value gets the place begins[value], the next one the place behind it. Moves each begin to
  /// the end of its places. `work`: of a device. Ends with a barrier, and needs one before.
  template <typename Value, typename Use>
  constexpr void distribute(int count, int* begins, int* /*work*/, const Value& value,
                            const Use& use) const noexcept {
    for (int i = 0; i < count; ++i) {
      const int own = value(i);
      if (own >= 0) use(i, begins[own]++);
    }
  }

  /// Copies elements to memory of a block. Needs a barrier behind.
  template <typename T>
  constexpr void copy_near(T* to, const T* from, int count) const noexcept {
    std::copy_n(from, count, to);
  }

  // A team consists of squads, the warps of a block, whose threads act together.
  constexpr int squad() const noexcept { return 0; }
  constexpr int squads() const noexcept { return 1; }
  constexpr int lane() const noexcept { return 0; }
  constexpr int lanes() const noexcept { return 1; }
  /// The combination of the values of all lanes.
  template <typename T, typename Combine>
  constexpr T combine_lanes(const T& value, const Combine& /*combine*/) const noexcept {
    return value;
  }
  /// The number of lanes before the own one for which `value` is true. Adds that of all lanes to
  /// `sum`.
  constexpr int lane_rank(bool value, int& sum) const noexcept {
    sum += value ? 1 : 0;
    return 0;
  }

  // What one thread may do alone.
  template <typename T>
  constexpr void add(T& to, T value) const noexcept {
    to += value;
  }
  constexpr void lower(int& to, int value) const noexcept { to = std::min(to, value); }
  /// As `lower`. Returns the value before, for which a device has to wait.
  constexpr int exchange_lower(int& to, int value) const noexcept {
    return std::exchange(to, std::min(to, value));
  }
  constexpr void raise(int& to, int value) const noexcept { to = std::max(to, value); }
  /// A value that other threads may change.
  constexpr int read(const int& from) const noexcept { return from; }
};

// What lanes combine.
struct Plus {
  template <typename T>
  OCELLUS_TEAM_FUNCTION T operator()(const T& a, const T& b) const noexcept {
    return a + b;
  }
};
struct Larger {
  OCELLUS_TEAM_FUNCTION int operator()(int a, int b) const noexcept { return std::max(a, b); }
};

/// Adds the values of all threads. The threads of a squad add theirs at once.
template <typename Team>
OCELLUS_TEAM_FUNCTION void add_from_all(const Team& team, int& to, int value) noexcept {
  value = team.combine_lanes(value, Plus());
  if (team.lane() == 0) team.add(to, value);
}

/// The first index of [first, end) for which has(index) is false, or `end`. It is true for all
/// indices before, and for none behind.
template <typename Has>
OCELLUS_TEAM_FUNCTION int first_without(int first, int end, const Has& has) noexcept {
  OCELLUS_TEAM_LOOP
  while (first < end) {
    const int middle = (first + end) / 2;
    if (has(middle))
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

/// Calls use(i) for all i of [0, count); each thread for some of them.
template <typename Team, typename Use>
OCELLUS_TEAM_FUNCTION void share(const Team& team, int count, const Use& use) noexcept {
  OCELLUS_TEAM_LOOP
  for (int i = team.index(); i < count; i += team.size()) use(i);
}

/// Calls use(side, i) for the sides 0 and 1 and all i of [0, count); each thread for some of them.
template <typename Team, typename Use>
OCELLUS_TEAM_FUNCTION void share_pairs(const Team& team, int count, const Use& use) noexcept {
  if (team.size() == 1) {
    for (int i = 0; i < count; ++i) use(0, i);
    for (int i = 0; i < count; ++i) use(1, i);
    return;
  }
  share(team, 2 * count, [&](int i) { use(i < count ? 0 : 1, i < count ? i : i - count); });
}

/// Calls use(i) for all i of [0, count); all threads of a squad for some of them.
template <typename Team, typename Use>
OCELLUS_TEAM_FUNCTION void share_among_squads(const Team& team, int count,
                                              const Use& use) noexcept {
  OCELLUS_TEAM_LOOP
  for (int i = team.squad(); i < count; i += team.squads()) use(i);
}

}  // namespace ocellus::detail
