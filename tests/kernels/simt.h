// Runs CUDA kernels on the host, so that what they compute is tested without a device.
//
// A source file includes this header and then a .cu file, which it compiles as C++. Each thread of
// a block is a fiber of the calling thread. A fiber runs until it waits for the others of its block
// or warp, so the order of the threads is fixed: errors in the synchronization of threads are not
// found here. Blocks run one after the other.
#pragma once

#include <ucontext.h>

#include <bit>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#define __CUDACC__ 1
#define __CUDA_ARCH__ 0  // no feature of a newer device
#define __global__
#define __host__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
/// Replaces that of kernels/core/shared_memory.cuh.
#define OCELLUS_DYNAMIC_SHARED(type, name) \
  type* const name = reinterpret_cast<type*>(ocellus::simt::dynamic_shared().data())

namespace ocellus::simt {

struct Index {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

/// The block that runs.
class Block {
 public:
  static constexpr std::size_t kStackBytes = 256 * 1024;

  /// Runs `body` in `threads` fibers, a multiple of 32.
  void run(unsigned threads, const std::function<void()>& body) {
    body_ = &body;
    if (threads % 32 != 0) throw std::invalid_argument("threads must be a multiple of 32");
    if (fibers_.size() < threads) fibers_.resize(threads);
    threads_ = running_ = threads;
    block_ = {};
    warps_.assign(threads / 32, {});
    words_.assign(threads, 0);
    for (unsigned t = 0; t < threads; ++t) fibers_[t].ended = false;
    while (running_ > 0) {
      for (unsigned t = 0; t < threads; ++t) {
        const Fiber& fiber = fibers_[t];
        if (fiber.ended || (fiber.at != nullptr && fiber.at->round == fiber.round)) continue;
        current_ = t;
        resume(fibers_[t]);
      }
    }
  }

  unsigned thread() const { return current_; }
  unsigned threads() const { return threads_; }

  /// Waits for all threads of the block that have not ended.
  void sync() {
    meet(block_, [this] { return running_; });
  }
  /// Calls read(values of the lanes) when all lanes of the warp have given theirs. All lanes must
  /// call it.
  template <typename T, typename Read>
  auto exchange(T value, const Read& read) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    const unsigned own = current_;
    Meeting& warp = warps_[own / 32];
    std::memcpy(&words_[own], &value, sizeof(value));
    meet(warp, [] { return 32u; });
    const auto result = read([&](unsigned lane) {
      T of_lane;
      std::memcpy(&of_lane, &words_[own / 32 * 32 + lane % 32], sizeof(of_lane));
      return of_lane;
    });
    meet(warp, [] { return 32u; });
    return result;
  }

 private:
  struct Meeting {
    unsigned waiting = 0;
    unsigned round = 0;
  };
  /// Where a fiber or the scheduler goes on. The functions of the C library that switch contexts
  /// also set the signal mask, and these calls of the system take most of a test's time.
  using Place = void* [5];
  struct Fiber {
    Place place{};
    std::unique_ptr<char[]> stack;  ///< null before the first run
    bool ended = false;
    const Meeting* at = nullptr;  ///< waits for the end of a round of it
    unsigned round = 0;
  };

  static void enter();

  [[noreturn, gnu::noinline]] static void go_to(Place& place) { __builtin_longjmp(place, 1); }

  /// Runs a fiber until it waits or has ended.
  [[gnu::noinline]] void resume(Fiber& fiber) {
    if (__builtin_setjmp(scheduler_) != 0) return;
    if (fiber.stack != nullptr) go_to(fiber.place);
    fiber.stack = std::make_unique<char[]>(kStackBytes);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, &Block::enter, 0);
    setcontext(&context);
  }

  /// The running fiber waits until the scheduler resumes it.
  [[gnu::noinline]] void rest() {
    if (__builtin_setjmp(fibers_[current_].place) == 0) go_to(scheduler_);
  }

  template <typename Expected>
  void meet(Meeting& meeting, const Expected& expected) {
    const unsigned round = meeting.round;
    ++meeting.waiting;
    while (meeting.round == round) {
      if (meeting.waiting >= expected()) {
        end_round(meeting);
        return;
      }
      Fiber& own = fibers_[current_];
      own.at = &meeting;
      own.round = round;
      rest();
      fibers_[current_].at = nullptr;
    }
  }

  static void end_round(Meeting& meeting) {
    meeting.waiting = 0;
    ++meeting.round;
  }

  void finish() {
    fibers_[current_].ended = true;
    --running_;
    // The other threads of the block do not wait for this one.
    if (block_.waiting > 0 && block_.waiting >= running_) end_round(block_);
    rest();
  }

  const std::function<void()>* body_ = nullptr;
  std::vector<Fiber> fibers_;
  std::vector<Meeting> warps_;
  std::vector<std::uint64_t> words_;
  Meeting block_;
  unsigned threads_ = 0;
  unsigned running_ = 0;
  unsigned current_ = 0;
  Place scheduler_{};
};

inline Block& block() {
  static Block instance;
  return instance;
}
/// A fiber keeps its stack for the next block.
inline void Block::enter() {
  for (;;) {
    (*block().body_)();
    block().finish();
  }
}

inline Index block_index;
inline Index grid_size;
/// The shared memory of the block whose size is an argument of the launch.
inline std::vector<Index>& dynamic_shared() {
  static std::vector<Index> memory;
  return memory;
}

/// Runs all blocks of a grid, x first. Each begins with shared memory that is not zero.
template <typename Argument>
void launch(void (*kernel)(Argument), const Index& grid, unsigned threads, std::size_t shared_bytes,
            const Argument& argument) {
  grid_size = grid;
  const std::size_t shared = (shared_bytes + sizeof(Index) - 1) / sizeof(Index);
  const std::function<void()> body = [&] { kernel(argument); };
  for (block_index.z = 0; block_index.z < grid.z; ++block_index.z) {
    for (block_index.y = 0; block_index.y < grid.y; ++block_index.y) {
      for (block_index.x = 0; block_index.x < grid.x; ++block_index.x) {
        dynamic_shared().assign(shared, {~0u, ~0u, ~0u});
        block().run(threads, body);
      }
    }
  }
}
template <typename Argument>
void launch(void (*kernel)(Argument), unsigned grid_x, unsigned grid_y, unsigned threads,
            const Argument& argument) {
  launch(kernel, {grid_x, grid_y, 1}, threads, 0, argument);
}

/// If the launch is that of `known`, sets what it does.
template <typename Argument, typename Launch>
void find_work(void (*known)(Argument), const Launch& of, std::function<void()>& work) {
  if (reinterpret_cast<const void*>(known) != of.kernel) return;
  const Argument argument = *static_cast<const Argument*>(of.arguments[0]);
  work = [=, grid = Index{of.grid_x, of.grid_y, of.grid_z}, threads = of.threads,
          shared = of.shared_bytes] { launch(known, grid, threads, shared, argument); };
}

}  // namespace ocellus::simt

// ---- what CUDA declares outside of namespaces; a kernel uses a part of it

#define threadIdx (ocellus::simt::Index{ocellus::simt::block().thread(), 0, 0})
#define blockDim (ocellus::simt::Index{ocellus::simt::block().threads(), 1, 1})
#define blockIdx (ocellus::simt::block_index)
#define gridDim (ocellus::simt::grid_size)

struct int4 {
  int x;
  int y;
  int z;
  int w;
};
struct int2 {
  int x;
  int y;
};
struct uint2 {
  unsigned x;
  unsigned y;
};
struct float2 {
  float x;
  float y;
};
struct float4 {
  float x;
  float y;
  float z;
  float w;
};
inline int2 make_int2(int x, int y) {
  return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
struct uint4 {
  unsigned x;
  unsigned y;
  unsigned z;
  unsigned w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
struct ulonglong2 {
  unsigned long long x;
  unsigned long long y;
};

inline void __syncthreads() {
  ocellus::simt::block().sync();
}
/// `width`: of the groups of lanes in which `lane` is counted.
template <typename T>
T __shfl_sync(unsigned, T value, int lane, int width = 32) {
  const auto group = static_cast<unsigned>(width);
  const unsigned from = threadIdx.x % 32 / group * group + static_cast<unsigned>(lane) % group;
  return ocellus::simt::block().exchange(value, [&](const auto& of) { return of(from); });
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  const unsigned lane = threadIdx.x % 32 ^ static_cast<unsigned>(mask);
  return ocellus::simt::block().exchange(value, [&](const auto& of) { return of(lane); });
}
/// Lanes without a lane `distance` below keep their own value.
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned distance) {
  const unsigned lane = threadIdx.x % 32;
  return ocellus::simt::block().exchange(
      value, [&](const auto& of) { return of(lane < distance ? lane : lane - distance); });
}
/// Lanes without a lane `distance` above keep their own value.
template <typename T>
T __shfl_down_sync(unsigned, T value, unsigned distance) {
  const unsigned lane = threadIdx.x % 32;
  return ocellus::simt::block().exchange(
      value, [&](const auto& of) { return of(lane + distance > 31 ? lane : lane + distance); });
}
inline unsigned __ballot_sync(unsigned, bool vote) {
  return ocellus::simt::block().exchange(vote, [](const auto& of) {
    unsigned votes = 0;
    for (unsigned lane = 0; lane < 32; ++lane) votes |= (of(lane) ? 1u : 0u) << lane;
    return votes;
  });
}
inline unsigned __match_any_sync(unsigned, int value) {
  return ocellus::simt::block().exchange(value, [value](const auto& of) {
    unsigned same = 0;
    for (unsigned lane = 0; lane < 32; ++lane) same |= (of(lane) == value ? 1u : 0u) << lane;
    return same;
  });
}
/// All threads that have not ended must call it.
inline int __syncthreads_or(int vote) {
  static int votes = 0;
  __syncthreads();
  votes = 0;
  __syncthreads();
  votes |= vote;
  __syncthreads();
  return votes;
}
inline int __popc(unsigned value) {
  return std::popcount(value);
}
/// The low word of high:low, shifted to the right by the last 5 bits of `bits`.
inline unsigned __funnelshift_r(unsigned low, unsigned high, int bits) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (bits & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 4; ++i)
    sum += static_cast<std::int8_t>(a >> 8 * i) * static_cast<std::int8_t>(b >> 8 * i);
  return sum;
}
inline bool __any_sync(unsigned lanes, bool vote) {
  return __ballot_sync(lanes, vote) != 0;
}
/// The lanes of a warp do not run at the same time: they wait for each other.
inline void __syncwarp() {
  __ballot_sync(0xffffffffu, true);
}
inline int __ffs(int value) {
  return value == 0 ? 0 : std::countr_zero(static_cast<unsigned>(value)) + 1;
}
template <typename T>
T __ldg(const T* from) {
  return *from;
}
template <typename T>
T __ldcg(const T* from) {
  return *from;
}
template <typename T>
T __ldcs(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, const T& value) {
  *to = value;
}
inline void __threadfence_block() {}
inline void __threadfence() {}
inline void __threadfence_system() {}
template <typename T>
T atomicAdd(T* to, T value) {
  const T before = *to;
  *to = before + value;
  return before;
}
template <typename T>
T atomicOr(T* to, T bits) {
  const T before = *to;
  *to = before | bits;
  return before;
}
inline unsigned atomicXor(unsigned* to, unsigned bits) {
  const unsigned before = *to;
  *to = before ^ bits;
  return before;
}
inline int atomicExch(int* to, int value) {
  const int before = *to;
  *to = value;
  return before;
}
inline int atomicCAS(int* to, int expected, int value) {
  const int before = *to;
  if (before == expected) *to = value;
  return before;
}
inline int atomicMin(int* to, int value) {
  const int before = *to;
  *to = value < before ? value : before;
  return before;
}
inline int atomicMax(int* to, int value) {
  const int before = *to;
  *to = value > before ? value : before;
  return before;
}
inline unsigned atomicInc(unsigned* to, unsigned last) {
  const unsigned before = *to;
  *to = before >= last ? 0 : before + 1;
  return before;
}
inline int __float2int_rn(float value) {
  return static_cast<int>(std::nearbyint(value));
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __uint_as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
/// Byte i of the result is the byte of b:a that digit i of `selector` names.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
using std::isfinite;
using std::isnan;
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float rsqrtf(float a) {
  return 1.0f / std::sqrt(a);
}
inline int max(int a, int b) {
  return a > b ? a : b;
}
inline std::int64_t max(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
inline int min(int a, int b) {
  return a < b ? a : b;
}
inline unsigned min(unsigned a, unsigned b) {
  return a < b ? a : b;
}
