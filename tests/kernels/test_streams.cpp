// The CUDA backend over the lazy fake driver, which does no work before somebody waits for it.
// Memory that was given back to the caller must not be touched, and a result must be complete when
// `wait` says done. Every test runs for every operator. Needs no GPU.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/layout_builder.h"
#include "halftone/backend.h"
#include "kernels/core/cuda_device.h"
#include "kernels/core/device_work.h"
#include "kernels/core/frame_params.h"
#include "kernels/fake_driver.h"
#include "ocellus/buffer.h"
#include "ocellus/halftone.h"
#include "ocellus/log.h"
#include "optical_flow/plan.h"
#include "support/operator_cases.h"

namespace ocellus::test {
namespace {

using cuda::FrameOutcome;
using cuda::FrameParams;
using cuda::TemporalState;
using detail::LayoutBuilder;

constexpr int kDepth = 2;

/// The value of every pixel of a frame, and of every byte of a result that describes the frame.
unsigned char marker_of(std::uint64_t sequence) {
  return static_cast<unsigned char>(1 + sequence % 250);
}
constexpr unsigned char kGarbage = 254;  ///< memory that was not written
constexpr unsigned char kCallers = 253;  ///< memory that was given back to the caller

/// The memory of a frame or a result, and the caller's stream for it.
struct Place {
  MemorySpace space = MemorySpace::kHost;
  void* data = nullptr;
  StreamHandle stream = nullptr;
};

OperatorOutput output_at(const Place& place, const OperatorInfo& info) {
  return test::output_at(place.data, info, place.space, place.stream);
}

OperatorConfig config_of(const OperatorCase& what) {
  return what.with({24, 24}, kDepth);
}

// ---- the device

/// Stands in for the graphs of one operator. Writes the marker of the frame that the result
/// describes by the device's own state.
class Kernels {
 public:
  /// The operator's pieces must be the first of their blocks.
  Kernels(const OperatorInfo& info, void* device, void* pinned) : info_(info) {
    LayoutBuilder on_device(device, cuda::kDeviceAlignment);
    params_ = on_device.take<FrameParams>(static_cast<std::size_t>(info.depth));
    state_ = on_device.take<TemporalState>(1);
    LayoutBuilder on_host(pinned, cuda::kDeviceAlignment);
    outcomes_ = on_host.take<FrameOutcome>(static_cast<std::size_t>(info.depth));
  }

  void run(int slot) {
    const FrameParams& frame = params_[slot];
    ASSERT_NE(frame.image, nullptr)
        << "the graph runs before the frame's parameters are on the device";
    kept_[at(state_->head)] = read(frame);
    warming_up_[at(slot)] = state_->count + 1 < info_.support_frames;
    int described = state_->head - std::min(static_cast<int>(info_.delay_frames), state_->count);
    if (described < 0) described += info_.support_frames;
    for (int p = 0; p < info_.plane_count; ++p)
      if (frame.out[p] != nullptr) write(frame, p, kept_[at(described)]);
    state_->head = (state_->head + 1) % info_.support_frames;
    state_->count = std::min(state_->count + 1, info_.support_frames - 1);
  }
  bool warming_up(int slot) const { return warming_up_[at(slot)]; }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  /// The marker of the frame, or kGarbage when its pixels differ.
  unsigned char read(const FrameParams& frame) const {
    const auto* const first = static_cast<const unsigned char*>(frame.image);
    unsigned char marker = *first;
    for (int y = 0; y < info_.size.height; ++y) {
      const unsigned char* const row = first + y * frame.image_stride;
      touch("kernel reads", row, at(info_.size.width));
      for (int x = 0; x < info_.size.width; ++x)
        if (row[x] != marker) marker = kGarbage;
    }
    return marker;
  }
  void write(const FrameParams& frame, int index, unsigned char marker) const {
    const PlaneInfo& plane = info_.planes[at(index)];
    const std::size_t bytes = at(plane.size.width * bytes_per_pixel(plane.format));
    for (int y = 0; y < plane.size.height; ++y) {
      char* const row = static_cast<char*>(frame.out[index]) + y * frame.out_stride[index];
      touch("kernel writes", row, bytes);
      std::memset(row, marker, bytes);
    }
  }

  OperatorInfo info_;
  FrameParams* params_ = nullptr;
  TemporalState* state_ = nullptr;
  FrameOutcome* outcomes_ = nullptr;
  std::array<unsigned char, detail::kMaxSupportFrames> kept_{};
  std::array<bool, kMaxDepth> warming_up_{};
};

// ---- a caller

struct Spaces {
  MemorySpace in = MemorySpace::kHost;
  MemorySpace out = MemorySpace::kHost;
};

/// A frame in flight and its memory.
struct Flight {
  Place in;
  Place out;
  std::uint64_t sequence = 0;
  int slot = 0;
  std::optional<Ticket> ticket;
  bool callers = true;  ///< the memory belongs to the caller
};

/// A program with one operator and memory for two frames, on the lazy fake driver.
class Caller {
 public:
  explicit Caller(const OperatorCase& what, ZeroCopy zero_copy = ZeroCopy::kAuto,
                  bool integrated = false)
      : config_(config_of(what)), info_(must(config_.info())) {
    reset_fake_driver();
    driver().lazy = true;
    driver().integrated = integrated;
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.zero_copy = zero_copy;
    settings.device_stream_sets = 1;
    settings.memory = must(config_.footprint(must(Engine::probe(settings))));
    operator_bytes_ = settings.memory;
    for (int i = 0; i < kDepth; ++i)
      for (const std::size_t bytes : {in_bytes(info_), out_bytes(info_)})
        settings.memory += Buffer::footprint(MemorySpace::kPinned, bytes) +
                           Buffer::footprint(MemorySpace::kCuda, bytes);
    engine_.emplace(must(Engine::create(settings)));
    kernels_.emplace(info_, *driver().device_blocks.begin(), *driver().host_blocks.begin());
    driver().graph = [this](int slot) { kernels_->run(slot); };
    op_.emplace(must(config_.create(*engine_)));
    for (int i = 0; i < kDepth; ++i) {
      for (const bool out : {false, true}) {
        const std::size_t bytes = out ? out_bytes(info_) : in_bytes(info_);
        host_.emplace_back(bytes, kGarbage);
        for (const MemorySpace space : {MemorySpace::kPinned, MemorySpace::kCuda})
          buffers_.push_back(must(Buffer::create(*engine_, space, bytes)));
      }
    }
    // Runs what creation left in the streams.
    EXPECT_TRUE(run_all());
  }
  ~Caller() { clear(); }
  void clear() {
    op_.reset();
    buffers_.clear();
    engine_.reset();
  }
  Expected<OperatorHandle> create_another() { return config_.create(*engine_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  static FakeDriver& driver() { return fake_driver(); }
  OperatorHandle& op() { return *op_; }
  Engine& engine() { return *engine_; }
  const OperatorInfo& shape() const { return info_; }
  Kernels& kernels() { return *kernels_; }
  Flight& flight(int index) { return flights_[static_cast<std::size_t>(index)]; }

  /// The memory for frame `index` of those in flight.
  Place place(int index, bool out, MemorySpace space, StreamHandle stream) {
    const auto at = static_cast<std::size_t>(2 * index + (out ? 1 : 0));
    Place made{space, nullptr, space == MemorySpace::kCuda ? stream : nullptr};
    made.data = space == MemorySpace::kHost
                    ? static_cast<void*>(host_[at].data())
                    : buffers_[2 * at + (space == MemorySpace::kPinned ? 0 : 1)].data();
    return made;
  }

  /// False after an error. The frame's memory then belongs to the caller.
  bool submit(int index, const Spaces& spaces) {
    Flight& f = flight(index);
    f = Flight{};
    f.in = place(index, false, spaces.in, writer());
    f.out = place(index, true, spaces.out, reader());
    f.sequence = sequence_++;
    const Flight& other = flight(kDepth - 1 - index);
    const int turn = static_cast<int>(submitted_ % kDepth);
    f.slot = other.ticket && other.slot == turn ? 1 - turn : turn;
    f.callers = false;
    take_back(f.in.data, in_bytes(shape()));
    take_back(f.out.data, out_bytes(shape()));
    std::memset(f.in.data, kGarbage, in_bytes(shape()));
    std::memset(f.out.data, kGarbage, out_bytes(shape()));
    const auto write = [data = f.in.data, bytes = in_bytes(shape()), sequence = f.sequence] {
      std::memset(data, marker_of(sequence), bytes);
    };
    if (spaces.in == MemorySpace::kCuda) {
      queue_work(writer(), "the caller writes the frame", write);
    } else {
      write();
    }
    // The caller's stream still reads the old contents of the result.
    if (spaces.out == MemorySpace::kCuda) {
      queue_work(reader(), "the caller reads the result before",
                 [data = static_cast<unsigned char*>(f.out.data), bytes = out_bytes(shape())] {
                   EXPECT_EQ(std::count(data, data + bytes, kGarbage), bytes)
                       << "the result was written before the caller's stream had read the old one";
                 });
    }
    Frame frame;
    frame.data = f.in.data;
    frame.size = shape().size;
    frame.stride = shape().size.width;
    frame.space = spaces.in;
    frame.stream = f.in.stream;
    frame.sequence = f.sequence;
    const auto ticket = op_->submit(frame, output_at(f.out, shape()));
    if (!ticket) {
      error_ = ticket.error();
      // The caller finishes its own streams.
      run_stream(writer());
      run_stream(reader());
      give(f);
      return false;
    }
    f.ticket = *ticket;
    ++submitted_;
    return true;
  }

  /// False after an error.
  bool wait(int index, bool miss_first = false) {
    Flight& f = flight(index);
    if (!f.ticket) return true;
    auto info = op_->wait(*f.ticket, miss_first ? Deadline::immediate() : Deadline::never());
    while (!info && info.error().status == Status::kDeadlineMissed)
      info = op_->wait(*f.ticket, Deadline::never());
    if (!info) {
      error_ = info.error();
      return false;
    }
    f.ticket.reset();
    // The result must be complete before the device runs anything else.
    const auto* const got = static_cast<const unsigned char*>(f.out.data);
    const unsigned char wanted = marker_of(info->described_sequence);
    EXPECT_EQ(std::count(got, got + out_bytes(shape()), wanted), out_bytes(shape()))
        << "frame " << f.sequence << ", which describes " << info->described_sequence << ", has "
        << int{got[0]} << " instead of " << int{wanted};
    EXPECT_EQ(info->sequence, f.sequence);
    EXPECT_EQ(info->warming_up(), kernels_->warming_up(f.slot)) << "frame " << f.sequence;
    give(f);
    return true;
  }

  void reset() {
    op_->reset();
    for (int i = 0; i < kDepth; ++i) {
      flight(i).ticket.reset();
      give(flight(i));
    }
  }

  void destroy() {
    op_.reset();
    for (int i = 0; i < kDepth; ++i) give(flight(i));
    // The operator's memory belongs to the engine again.
    driver().give(*driver().device_blocks.begin(), operator_bytes_.device);
    driver().give(*driver().host_blocks.begin(), operator_bytes_.pinned);
  }

  /// Runs the rest of the device's work, which must not touch the caller's memory.
  void expect_left_alone() {
    EXPECT_TRUE(run_all()) << "work waits for an event that is never recorded";
    EXPECT_EQ(driver().touched, std::vector<std::string>{});
    for (int i = 0; i < kDepth; ++i) {
      const Flight& f = flight(i);
      if (!f.callers || f.out.data == nullptr) continue;
      const auto* const now = static_cast<const unsigned char*>(f.out.data);
      EXPECT_EQ(std::count(now, now + out_bytes(shape()), kCallers), out_bytes(shape()))
          << "frame " << f.sequence << " was written after its memory was given back";
    }
  }

  const Error& error() const { return error_; }

  /// The caller's own streams.
  StreamHandle writer() { return &writer_; }
  StreamHandle reader() { return &reader_; }

 private:
  void give(Flight& f) {
    if (f.callers) return;
    f.callers = true;
    std::memset(f.out.data, kCallers, out_bytes(shape()));
    driver().give(f.in.data, in_bytes(shape()));
    driver().give(f.out.data, out_bytes(shape()));
  }
  void take_back(const void* data, std::size_t bytes) {
    const auto* const begin = static_cast<const char*>(data);
    std::erase_if(driver().callers, [&](const FakeDriver::Range& range) {
      return range.begin < begin + bytes && begin < range.end;
    });
  }

  OperatorConfig config_;
  OperatorInfo info_;
  Footprint operator_bytes_;
  std::optional<Engine> engine_;
  std::optional<Kernels> kernels_;
  std::optional<OperatorHandle> op_;
  std::vector<std::vector<unsigned char>> host_;
  std::vector<Buffer> buffers_;
  std::array<Flight, kDepth> flights_{};
  std::uint64_t sequence_ = 0;
  std::uint64_t submitted_ = 0;
  Error error_;
  char writer_ = 0;
  char reader_ = 0;
};

// ---- every order

/// Steps with two frames in flight: 1 and 2 wait for a frame, m misses its deadline first, r
/// resets, d destroys.
constexpr const char* kOrders[] = {"12",  "21",  "m12", "m21", "r",  "rd", "12rd", "1r",  "2r",
                                   "m2r", "12r", "21r", "d",   "1d", "2d", "m2d",  "12d", "21d"};

const MemorySpace kSpaces[] = {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda};

/// Takes the steps of an order. A frame whose `wait` fails stays in flight. False when the operator
/// was destroyed.
bool take_steps(Caller& caller, const std::string& order) {
  bool miss = false;
  for (const char step : order) {
    if (step == 'm') miss = true;
    if (step == '1' || step == '2') caller.wait(step - '1', std::exchange(miss, false));
    if (step == 'r') caller.reset();
    if (step == 'd') {
      caller.destroy();
      return false;
    }
  }
  return true;
}

/// A caller in the state of a new one: after `reset`, or a new one where there is none. Creation
/// takes most of the time of these tests.
template <typename... Arguments>
void begin_anew(std::optional<Caller>& caller, const Arguments&... arguments) {
  if (!caller) {
    caller.emplace(arguments...);
    return;
  }
  caller->reset();
  EXPECT_TRUE(run_all());
}

void submit_two(Caller& caller, const std::array<Spaces, kDepth>& spaces) {
  for (int i = 0; i < kDepth; ++i) caller.submit(i, spaces[static_cast<std::size_t>(i)]);
}

/// Copies of rows that the library asked for since there were `calls`.
std::ptrdiff_t copies_since(std::size_t calls) {
  const std::vector<std::string>& names = fake_driver().names;
  return std::count(names.begin() + static_cast<std::ptrdiff_t>(calls), names.end(),
                    "cudaMemcpy2DAsync");
}

/// Sends two frames, which must succeed.
void expect_two_frames(Caller& caller, const std::array<Spaces, kDepth>& spaces) {
  for (int i = 0; i < kDepth; ++i)
    EXPECT_TRUE(caller.submit(i, spaces[static_cast<std::size_t>(i)])) << caller.error().text;
  for (int i = 0; i < kDepth; ++i) EXPECT_TRUE(caller.wait(i)) << caller.error().text;
  caller.expect_left_alone();
}

std::string text_of(const std::array<Spaces, kDepth>& spaces) {
  std::string text;
  for (const Spaces& frame : spaces)
    text += "hpc"[static_cast<int>(frame.in)] + std::string(">") +
            "hpc"[static_cast<int>(frame.out)] + " ";
  return text;
}

class ForEveryOperator : public testing::TestWithParam<OperatorCase> {};

class EveryOrder : public ForEveryOperator {};

// Fails when `wait` says done before the result is complete; when `reset` or the destructor returns
// while a frame is uploaded, computed or downloaded; when a frame or a result is touched before the
// work of the caller's stream; or when host and device count the past frames differently.
TEST_P(EveryOrder, TouchesNoMemoryOfTheCaller) {
  for (const MemorySpace in : kSpaces) {
    for (const MemorySpace first : kSpaces) {
      for (const MemorySpace second : kSpaces) {
        const std::array<Spaces, kDepth> spaces = {Spaces{in, first}, Spaces{in, second}};
        std::optional<Caller> caller;
        for (const std::string order : kOrders) {
          SCOPED_TRACE(text_of(spaces) + order);
          begin_anew(caller, GetParam());
          expect_two_frames(*caller, spaces);
          submit_two(*caller, spaces);
          const bool lives = take_steps(*caller, order);
          caller->expect_left_alone();
          if (lives) expect_two_frames(*caller, spaces);
          EXPECT_EQ(last_error(), cudaSuccess);
          EXPECT_EQ(Caller::driver().without_context, 0);
          if (HasFailure()) return;
          if (!lives) caller.reset();
        }
      }
    }
  }
}

// The same with zero copy, of an integrated device by default and of any device when it is on. Also
// fails when the device copies a frame or a result between memory of the host and its own.
TEST_P(EveryOrder, TouchesNoMemoryOfTheCallerWithZeroCopy) {
  constexpr MemorySpace kHost = MemorySpace::kHost;
  constexpr MemorySpace kPinned = MemorySpace::kPinned;
  constexpr MemorySpace kCuda = MemorySpace::kCuda;
  const std::array<Spaces, kDepth> all[] = {{Spaces{kPinned, kPinned}, Spaces{kPinned, kPinned}},
                                            {Spaces{kHost, kPinned}, Spaces{kPinned, kHost}},
                                            {Spaces{kPinned, kCuda}, Spaces{kCuda, kPinned}},
                                            {Spaces{kHost, kHost}, Spaces{kCuda, kHost}}};
  for (const auto& spaces : all) {
    for (const bool integrated : {false, true}) {
      std::optional<Caller> caller;
      for (const std::string order : kOrders) {
        SCOPED_TRACE(text_of(spaces) + order + (integrated ? " integrated" : " discrete"));
        begin_anew(caller, GetParam(), integrated ? ZeroCopy::kAuto : ZeroCopy::kOn, integrated);
        EXPECT_TRUE(caller->engine().info().zero_copy);
        const std::size_t made = Caller::driver().names.size();
        expect_two_frames(*caller, spaces);
        submit_two(*caller, spaces);
        const bool lives = take_steps(*caller, order);
        caller->expect_left_alone();
        if (lives) expect_two_frames(*caller, spaces);
        EXPECT_EQ(copies_since(made), 0);
        EXPECT_EQ(last_error(), cudaSuccess);
        if (HasFailure()) return;
        if (!lives) caller.reset();
      }
    }
  }
}

// Fails when `auto` does not copy for a discrete device, or `off` not for an integrated one. Then
// the test above would count nothing in any case.
TEST_P(EveryOrder, CopiesWithoutZeroCopy) {
  constexpr Spaces kPinnedOnly = {MemorySpace::kPinned, MemorySpace::kPinned};
  for (const bool integrated : {false, true}) {
    Caller caller(GetParam(), integrated ? ZeroCopy::kOff : ZeroCopy::kAuto, integrated);
    EXPECT_FALSE(caller.engine().info().zero_copy);
    EXPECT_EQ(caller.engine().info().integrated, integrated);
    const std::size_t made = Caller::driver().names.size();
    expect_two_frames(caller, {kPinnedOnly, kPinnedOnly});
    // At least one for each frame and one for each result.
    EXPECT_GE(copies_since(made), 2 * kDepth);
  }
}

// As above, when one CUDA call fails. Also fails when the frame then counts on the host or on the
// device alone, because later results describe another frame than they show.
TEST_P(EveryOrder, TouchesNoMemoryOfTheCallerAfterAFailedCall) {
  constexpr MemorySpace kHost = MemorySpace::kHost;
  constexpr MemorySpace kPinned = MemorySpace::kPinned;
  constexpr MemorySpace kCuda = MemorySpace::kCuda;
  const struct {
    std::array<Spaces, kDepth> spaces;
    ZeroCopy zero_copy;
  } all[] = {{{Spaces{kHost, kHost}, Spaces{kPinned, kPinned}}, ZeroCopy::kOff},
             {{Spaces{kHost, kHost}, Spaces{kPinned, kPinned}}, ZeroCopy::kOn},
             {{Spaces{kCuda, kCuda}, Spaces{kCuda, kCuda}}, ZeroCopy::kOff},
             {{Spaces{kCuda, kPinned}, Spaces{kHost, kCuda}}, ZeroCopy::kOff}};
  int failed_submits = 0;
  int failed_waits = 0;
  for (const auto& [spaces, zero_copy] : all) {
    std::optional<Caller> caller;
    for (const std::string order : {"12", "21", "2r", "d"}) {
      long calls = 1;
      for (long k = 0; k < calls; ++k) {
        SCOPED_TRACE(text_of(spaces) + order + ", call " + std::to_string(k) +
                     (zero_copy == ZeroCopy::kOn ? ", zero copy" : ""));
        begin_anew(caller, GetParam(), zero_copy);
        FakeDriver& driver = Caller::driver();
        const long begin = driver.calls;
        driver.fail_at = begin + k;
        driver.failure = cudaErrorInvalidValue;
        submit_two(*caller, spaces);
        for (int i = 0; i < kDepth; ++i) failed_submits += caller->flight(i).ticket ? 0 : 1;
        const bool lives = take_steps(*caller, order);
        calls = std::max(calls, driver.calls - begin);
        // A second `wait` succeeds, unless the frame itself has failed. Such a frame stays in
        // flight until `reset`.
        bool stuck = false;
        if (lives) {
          for (int i = 0; i < kDepth; ++i) {
            if (!caller->flight(i).ticket) continue;
            ++failed_waits;
            stuck = !caller->wait(i) || stuck;
          }
          if (stuck) caller->reset();
        }
        caller->expect_left_alone();
        if (lives) {
          driver.fail_at = -1;
          expect_two_frames(*caller, spaces);
          expect_two_frames(*caller, spaces);
        }
        EXPECT_EQ(last_error(), cudaSuccess) << "left by " << driver.failed_call;
        EXPECT_EQ(driver.without_context, 0);
        if (HasFailure()) {
          ADD_FAILURE() << "after " << driver.failed_call << " had failed";
          return;
        }
        if (!lives) caller.reset();
      }
      EXPECT_GT(calls, 20);
    }
  }
  EXPECT_GT(failed_submits, 0);
  EXPECT_GT(failed_waits, 0);
}

INSTANTIATE_TEST_SUITE_P(Streams, EveryOrder, testing::ValuesIn(operator_cases()), case_label);

// ---- zero copy

EngineConfig zero_copy_settings(ZeroCopy zero_copy) {
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.zero_copy = zero_copy;
  return settings;
}

// Fails when an engine takes zero copy on a device that cannot use memory of the host, or when the
// error does not say what to change; when `auto` is not off there; or when the CPU refuses it.
TEST(ZeroCopyOfAnEngine, NeedsADeviceThatUsesMemoryOfTheHost) {
  reset_fake_driver();
  fake_driver().integrated = true;
  fake_driver().maps_host_memory = false;
  const auto refused = Engine::probe(zero_copy_settings(ZeroCopy::kOn));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_NE(std::string(refused.error().text).find("use auto or off"), std::string::npos);
  EXPECT_FALSE(must(Engine::probe(zero_copy_settings(ZeroCopy::kAuto))).zero_copy);
  EngineConfig on_cpu = engine_config();
  on_cpu.zero_copy = ZeroCopy::kOn;
  EXPECT_FALSE(must(Engine::probe(on_cpu)).zero_copy);
  EngineConfig named;
  must(set_option(named, "zero-copy", "on"));
  EXPECT_EQ(named.zero_copy, ZeroCopy::kOn);
  EXPECT_FALSE(set_option(named, "zero_copy", "yes"));
}

// Fails when a kernel is given the address of ordinary memory that the caller took for pinned: the
// device would be lost. Also fails when the frame counts, or when the next one does not run.
TEST(ZeroCopyOfAnEngine, RefusesMemoryThatIsNotPageLocked) {
  for (const bool result : {false, true}) {
    Caller caller({"halftone", OperatorConfig(*find_operator("halftone"))}, ZeroCopy::kOn);
    constexpr Spaces kPinnedOnly = {MemorySpace::kPinned, MemorySpace::kPinned};
    expect_two_frames(caller, {kPinnedOnly, kPinnedOnly});
    const OperatorInfo& info = caller.shape();
    std::vector<unsigned char> ordinary(std::max(in_bytes(info), out_bytes(info)));
    Place in = caller.place(0, false, MemorySpace::kPinned, nullptr);
    Place out = caller.place(0, true, MemorySpace::kPinned, nullptr);
    (result ? out : in).data = ordinary.data();
    Frame frame;
    frame.data = in.data;
    frame.size = info.size;
    frame.stride = info.size.width;
    frame.space = MemorySpace::kPinned;
    const long graphs = fake_driver().launched_graphs;
    const auto refused = caller.op().submit(frame, output_at(out, info));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kInvalidArgument);
    const std::string text = refused.error().text;
    EXPECT_NE(text.find(result ? info.planes[0].name : "the frame"), std::string::npos) << text;
    EXPECT_NE(text.find("cudaHostRegister"), std::string::npos) << text;
    EXPECT_EQ(fake_driver().launched_graphs, graphs);
    expect_two_frames(caller, {kPinnedOnly, kPinnedOnly});
  }
}

// ---- single cases

constexpr Spaces kHostOnly = {MemorySpace::kHost, MemorySpace::kHost};
constexpr Spaces kDeviceOnly = {MemorySpace::kCuda, MemorySpace::kCuda};
constexpr Spaces kToDevice = {MemorySpace::kHost, MemorySpace::kCuda};

class Creation : public ForEveryOperator {};

// Fails when creation captures, synchronizes or clears in a shared stream. Then it fails, or a
// frame that another operator of the stream set sends at each of its CUDA calls is refused or lost.
TEST_P(Creation, DisturbsNoFrameOfAnother) {
  const OperatorConfig made = config_of(GetParam());
  for (const bool lazy : {false, true}) {
    reset_fake_driver();
    FakeDriver& driver = fake_driver();
    const OperatorConfig config = config_of(operator_cases().front());
    const OperatorInfo shape = must(config.info());
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.device_stream_sets = 1;
    Engine engine = must(create_engine(settings, {config, made}));
    Kernels kernels(shape, *driver.device_blocks.begin(), *driver.host_blocks.begin());
    driver.graph = [&](int number) {
      if (number < kDepth) kernels.run(number);
    };
    OperatorHandle running = must(config.create(engine));
    driver.lazy = lazy;

    std::uint64_t frames = 0;
    std::vector<unsigned char> in(in_bytes(shape));
    std::vector<unsigned char> out(out_bytes(shape));
    const auto send_one = [&] {
      std::fill(in.begin(), in.end(), marker_of(frames));
      Frame frame;
      frame.data = in.data();
      frame.size = shape.size;
      frame.stride = shape.size.width;
      frame.sequence = frames;
      const auto ticket = running.submit(frame, output_at({MemorySpace::kHost, out.data()}, shape));
      ASSERT_TRUE(ticket) << ticket.error().text;
      const auto done = running.wait(*ticket, Deadline::never());
      ASSERT_TRUE(done) << done.error().text;
      EXPECT_EQ(out.front(), marker_of(done->described_sequence));
      EXPECT_EQ(out.back(), marker_of(done->described_sequence));
      ++frames;
    };
    const std::thread::id creator = std::this_thread::get_id();
    driver.on_call = [&](const std::string& name) {
      if (std::this_thread::get_id() != creator || testing::Test::HasFailure()) return;
      SCOPED_TRACE(name);
      std::thread(send_one).join();
    };
    {
      const auto created = made.create(engine);
      EXPECT_TRUE(created) << created.error().text;
    }
    driver.on_call = nullptr;
    EXPECT_GT(frames, 60u);
  }
}

// Fails when creation or destruction is refused while the program captures a graph in the global
// mode, or when it breaks that capture.
TEST_P(Creation, GoesBesideACaptureOfTheProgram) {
  const OperatorConfig config = config_of(GetParam());
  reset_fake_driver();
  fake_driver().neighbor_captures = true;
  {
    auto engine = create_engine(engine_config(1, BackendChoice::kCuda), {config});
    ASSERT_TRUE(engine) << engine.error().text;
    const auto created = config.create(*engine);
    EXPECT_TRUE(created) << created.error().text;
  }
  EXPECT_EQ(fake_driver().broken_captures, 0);
  EXPECT_TRUE(fake_driver().empty());
}

// Fails when a creation that fails gives memory back while the device still clears or fills it, or
// still runs a frame of the warm-up.
TEST_P(Creation, LeavesNothingRunningWhenItFails) {
  const OperatorConfig config = config_of(GetParam());
  const OperatorInfo info = must(config.info());
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory = must(config.footprint(must(Engine::probe(settings))));
  bool complete = false;
  for (long k = 0; !complete; ++k) {
    reset_fake_driver();
    FakeDriver& driver = fake_driver();
    driver.lazy = true;
    Engine engine = must(Engine::create(settings));
    Kernels kernels(info, *driver.device_blocks.begin(), *driver.host_blocks.begin());
    driver.graph = [&](int slot) { kernels.run(slot); };
    const long begin = driver.calls;
    driver.fail_at = begin + k;
    {
      const auto created = config.create(engine);
      complete = driver.failed_call.empty();
      EXPECT_TRUE(created || !complete) << created.error().text;
      if (created) continue;
    }
    driver.give(*driver.device_blocks.begin(), settings.memory.device);
    driver.give(*driver.host_blocks.begin(), settings.memory.pinned);
    EXPECT_TRUE(run_all());
    EXPECT_EQ(driver.touched, std::vector<std::string>{}) << driver.failed_call;
    EXPECT_EQ(engine.memory_use().used, Footprint{});
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, Creation, testing::ValuesIn(operator_cases()), case_label);

// Fails when two operators that are created at once lower a kernel's limit of shared memory: one
// raises it between the other's read and write.
TEST(SharedMemory, IsNeverLowered) {
  CellularNetworkConfig configs[] = {halftone_config({200, 200}), halftone_config({500, 200})};
  const auto engine_for = [&](const auto&... wanted) {
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    const EngineInfo info = must(Engine::probe(settings));
    ((settings.memory += must(CellularNetwork::footprint(info, wanted))), ...);
    return must(Engine::create(settings));
  };
  reset_fake_driver();
  std::map<const void*, int> wanted;
  {
    Engine engine = engine_for(configs[1]);
    const CellularNetwork large = must(CellularNetwork::create(engine, configs[1]));
    wanted = fake_driver().shared_limits;
  }
  ASSERT_FALSE(wanted.empty()) << "no kernel needs more than the default";

  reset_fake_driver();
  Engine engine = engine_for(configs[0], configs[1]);
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  bool large_done = false;
  const std::thread::id small = std::this_thread::get_id();
  fake_driver().on_call = [&](const std::string& name) {
    if (name != "cudaFuncSetAttribute" || std::this_thread::get_id() != small) return;
    std::unique_lock<std::mutex> lock(mutex);
    if (std::exchange(begun, true)) return;
    changed.notify_all();
    changed.wait_for(lock, std::chrono::milliseconds(300), [&] { return large_done; });
  };
  std::thread other([&] {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait_for(lock, std::chrono::seconds(10), [&] { return begun; });
    }
    const auto made = CellularNetwork::create(engine, configs[1]);
    EXPECT_TRUE(made) << made.error().text;
    const std::lock_guard<std::mutex> lock(mutex);
    large_done = true;
    changed.notify_all();
  });
  {
    const auto made = CellularNetwork::create(engine, configs[0]);
    EXPECT_TRUE(made) << made.error().text;
  }
  other.join();
  EXPECT_TRUE(begun);
  for (const auto& [kernel, bytes] : wanted) EXPECT_GE(fake_driver().shared_limits[kernel], bytes);
}

class ResultsStream : public testing::TestWithParam<std::tuple<OperatorCase, bool>> {};

// Fails when a result is written before the earlier work of its stream, or when later work of a
// named stream does not see it. The default stream must not wait for results, because all other
// streams of the program wait for it.
TEST_P(ResultsStream, IsInOrder) {
  const bool named = std::get<1>(GetParam());
  Caller caller(std::get<0>(GetParam()));
  const StreamHandle stream = named ? caller.reader() : nullptr;
  const Place in = caller.place(0, false, MemorySpace::kHost, nullptr);
  const Place out = caller.place(0, true, MemorySpace::kCuda, stream);
  const auto* const result = static_cast<const unsigned char*>(out.data);
  std::vector<int> seen;
  const auto look = [&] {
    queue_work(stream, "the caller reads the result", [&] { seen.push_back(result[0]); });
  };
  std::memset(out.data, 7, out_bytes(caller.shape()));
  std::memset(in.data, 9, in_bytes(caller.shape()));
  Frame frame;
  frame.data = in.data;
  frame.size = caller.shape().size;
  frame.stride = caller.shape().size.width;
  look();
  Ticket ticket = must(caller.op().submit(frame, output_at(out, caller.shape())));
  look();
  run_stream(stream);
  must(caller.op().wait(ticket, Deadline::never()));
  EXPECT_EQ(seen, (std::vector<int>{7, named ? 9 : 7}));
  EXPECT_EQ(result[0], 9);
}

INSTANTIATE_TEST_SUITE_P(Streams, ResultsStream,
                         testing::Combine(testing::ValuesIn(operator_cases()), testing::Bool()),
                         [](const auto& made) {
                           return std::get<0>(made.param).name +
                                  (std::get<1>(made.param) ? "_named" : "_default");
                         });

class FramesStream : public ForEveryOperator {};
INSTANTIATE_TEST_SUITE_P(Streams, FramesStream, testing::ValuesIn(operator_cases()), case_label);

// Fails when a frame whose stream is null is read before the work of the default stream.
TEST_P(FramesStream, IsTheDefaultStreamWhenNull) {
  Caller caller(GetParam());
  const Place in = caller.place(0, false, MemorySpace::kCuda, nullptr);
  const Place out = caller.place(0, true, MemorySpace::kPinned, nullptr);
  Frame frame;
  frame.data = in.data;
  frame.size = caller.shape().size;
  frame.stride = caller.shape().size.width;
  frame.space = MemorySpace::kCuda;
  queue_work(nullptr, "the caller writes the frame",
             [&] { std::memset(in.data, 9, in_bytes(caller.shape())); });
  must(caller.op().wait(must(caller.op().submit(frame, output_at(out, caller.shape()))),
                        Deadline::never()));
  EXPECT_EQ(*static_cast<const unsigned char*>(out.data), 9);
}

class Submit : public ForEveryOperator {};
INSTANTIATE_TEST_SUITE_P(Streams, Submit, testing::ValuesIn(operator_cases()), case_label);

// Fails when the kernels of a frame run although its stream is invalid and `submit` fails.
TEST_P(Submit, RefusesAnInvalidStreamBeforeAnythingRuns) {
  Caller caller(GetParam());
  expect_two_frames(caller, {kHostOnly, kHostOnly});
  fake_driver().bad_stream = static_cast<cudaStream_t>(caller.reader());
  const long launched = fake_driver().launched_graphs;
  const Place in = caller.place(0, false, MemorySpace::kHost, nullptr);
  Frame frame;
  frame.data = in.data;
  frame.size = caller.shape().size;
  frame.stride = caller.shape().size.width;
  const auto refused = caller.op().submit(
      frame, output_at(caller.place(0, true, MemorySpace::kCuda, caller.reader()), caller.shape()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kSystem);
  EXPECT_EQ(fake_driver().launched_graphs, launched);
  EXPECT_EQ(last_error(), cudaSuccess);
  fake_driver().bad_stream = nullptr;
  expect_two_frames(caller, {kHostOnly, kHostOnly});
}

/// Submits frame 0. The CUDA call behind its kernels fails.
void submit_and_fail_behind_the_launch(Caller& caller, const Spaces& spaces) {
  FakeDriver& driver = fake_driver();
  for (int i = 0; i < kDepth; ++i) ASSERT_TRUE(caller.submit(i, spaces) && caller.wait(i));
  // Each slot has its parameters from now on, so that all frames make the same calls.
  driver.names.clear();
  ASSERT_TRUE(caller.submit(0, spaces) && caller.wait(0));
  const auto launch = std::find(driver.names.begin(), driver.names.end(), "cudaGraphLaunch");
  const auto behind = launch - driver.names.begin() + 1;
  ASSERT_TRUE(caller.submit(1, spaces) && caller.wait(1));
  driver.fail_at = driver.calls + behind;
  ASSERT_TRUE(caller.submit(0, spaces)) << caller.error().text;
}

// Fails when `wait` says done although a call behind the kernels has failed, or when the frame
// counts on the host or on the device alone, because later results describe another frame than they
// show.
TEST_P(Submit, FailsInWaitOnceTheKernelsAreQueued) {
  for (const Spaces& spaces : {kHostOnly, kDeviceOnly, kToDevice}) {
    Caller caller(GetParam());
    submit_and_fail_behind_the_launch(caller, spaces);
    for (int i = 0; i < 2; ++i) {
      EXPECT_FALSE(caller.wait(0));
      EXPECT_EQ(caller.error().status, Status::kSystem);
      EXPECT_NE(std::string(caller.error().text).find("cudaEventRecord failed"), std::string::npos)
          << caller.error().text;
    }
    // The other slot still works.
    EXPECT_TRUE(caller.submit(1, spaces) && caller.wait(1)) << caller.error().text;
    caller.reset();
    caller.expect_left_alone();
    expect_two_frames(caller, {spaces, spaces});
  }
}

// Fails when buffers that the caller uses in turn meet other slots each time. Then the slot's
// parameters go to the device with every frame.
TEST_P(Submit, SendsNothingForBuffersInTurn) {
  Caller caller(GetParam());
  const auto round = [&] {
    for (int i = 0; i < kDepth; ++i)
      ASSERT_TRUE(caller.submit(i, kDeviceOnly) && caller.wait(i)) << caller.error().text;
  };
  round();
  auto& names = fake_driver().names;
  names.clear();
  for (int i = 0; i < 3; ++i) round();
  EXPECT_EQ(std::count(names.begin(), names.end(), "cudaGraphLaunch"), 3 * kDepth);
  EXPECT_EQ(std::count(names.begin(), names.end(), "cudaMemcpyAsync"), 0);
}

// Fails when a failed frame hides that the device is lost afterwards.
TEST_P(Submit, AFailedFrameReportsALaterLoss) {
  Caller caller(GetParam());
  FakeDriver& driver = fake_driver();
  submit_and_fail_behind_the_launch(caller, kHostOnly);
  EXPECT_FALSE(caller.wait(0));
  EXPECT_EQ(caller.error().status, Status::kSystem);
  driver.fail_at = driver.calls;
  driver.failure = cudaErrorIllegalAddress;
  driver.stays_failed = true;
  EXPECT_FALSE(caller.submit(1, kHostOnly));
  EXPECT_EQ(caller.error().status, Status::kDeviceLost) << caller.error().text;
  EXPECT_FALSE(caller.wait(0));
  EXPECT_EQ(caller.error().status, Status::kDeviceLost) << caller.error().text;
}

class Reset : public ForEveryOperator {};
INSTANTIATE_TEST_SUITE_P(Streams, Reset, testing::ValuesIn(operator_cases()), case_label);

// Fails when a `reset` whose CUDA call failed is not repeated on the device. Then the host begins
// anew and the device does not.
TEST_P(Reset, ReachesTheDeviceLater) {
  Caller caller(GetParam());
  for (int round = 0; round < 3; ++round) expect_two_frames(caller, {kHostOnly, kHostOnly});
  fake_driver().names.clear();
  caller.reset();
  const auto& names = fake_driver().names;
  const auto clearing = std::find(names.begin(), names.end(), "cudaMemsetAsync");
  ASSERT_NE(clearing, names.end());
  const auto nth = clearing - names.begin();
  for (int round = 0; round < 3; ++round) expect_two_frames(caller, {kHostOnly, kHostOnly});
  fake_driver().fail_at = fake_driver().calls + nth;
  caller.reset();
  EXPECT_EQ(fake_driver().failed_call, "cudaMemsetAsync");
  for (int round = 0; round < 3; ++round) expect_two_frames(caller, {kHostOnly, kHostOnly});
}

std::atomic<int> logged{0};

class Loss : public ForEveryOperator {};
INSTANTIATE_TEST_SUITE_P(Streams, Loss, testing::ValuesIn(operator_cases()), case_label);

// Fails when a lost device is logged in `submit` or `wait`, never, twice, or while a lock is held.
// The callback calls a function that takes the lock.
TEST_P(Loss, IsLoggedByTheDestructor) {
  auto finished = std::async(std::launch::async, [] {
    Caller caller(GetParam());
    ASSERT_TRUE(caller.submit(0, kHostOnly));
    fake_driver().fail_at = fake_driver().calls + 1;
    fake_driver().failure = cudaErrorIllegalAddress;
    fake_driver().stays_failed = true;
    logged = 0;
    set_log_callback(
        [](void* engine, LogLevel level, const char* message) {
          EXPECT_EQ(level, LogLevel::kError);
          EXPECT_NE(std::string(message).find("cuda:0 is lost: "), std::string::npos) << message;
          EXPECT_GE(static_cast<Engine*>(engine)->memory_use().pieces, 1);
          ++logged;
        },
        &caller.engine());
    EXPECT_FALSE(caller.wait(0));
    EXPECT_EQ(caller.error().status, Status::kDeviceLost);
    EXPECT_FALSE(caller.submit(1, kHostOnly));
    caller.reset();
    EXPECT_EQ(logged, 0) << "logged in submit, wait or reset";
    caller.destroy();
    EXPECT_EQ(logged, 1);
  });
  if (finished.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
    ADD_FAILURE() << "the callback runs while a lock is held";
    std::abort();
  }
  set_log_callback(nullptr, nullptr);
  EXPECT_EQ(logged, 1) << "once for the device";
}

// Fails when something is released although the device's context cannot be made current, because
// the runtime then makes another one on device 0. Also fails when nothing is released although it
// can be.
TEST_P(Loss, NothingIsReleasedWithoutTheContext) {
  for (const bool goes : {false, true}) {
    {
      Caller caller(GetParam());
      ASSERT_TRUE(caller.submit(0, kHostOnly));
      FakeDriver& driver = fake_driver();
      driver.context_goes = goes;
      driver.fail_at = driver.calls + 2;
      driver.failure = cudaErrorMpsRpcFailure;
      driver.stays_failed = true;
      EXPECT_FALSE(caller.wait(0));
      EXPECT_EQ(caller.error().status, Status::kDeviceLost) << caller.error().text;
      driver.names.clear();
    }
    const FakeDriver& driver = fake_driver();
    EXPECT_EQ(driver.without_context, 0);
    EXPECT_EQ(driver.empty(), !goes);
    EXPECT_EQ(std::count(driver.names.begin(), driver.names.end(), "cudaFree"), goes ? 0 : 1);
    EXPECT_EQ(driver.contexts, 0);
  }
}

class LastError : public ForEveryOperator {};
INSTANTIATE_TEST_SUITE_P(Streams, LastError, testing::ValuesIn(operator_cases()), case_label);

// Fails when a failed call of the library removes the error that the program left in the runtime,
// or leaves one of its own.
TEST_P(LastError, OfTheProgramStays) {
  Caller caller(GetParam());
  for (const bool programs_own : {false, true}) {
    last_error() = programs_own ? cudaErrorInvalidConfiguration : cudaSuccess;
    fake_driver().fail_at = fake_driver().calls + 2;
    fake_driver().failed_call.clear();
    EXPECT_FALSE(caller.submit(0, kHostOnly));
    EXPECT_EQ(fake_driver().failed_call.find("cuda"), 0u)
        << "the failed call is not of the runtime";
    EXPECT_EQ(last_error() == cudaSuccess, !programs_own);
    last_error() = programs_own ? cudaErrorInvalidConfiguration : cudaSuccess;
    ASSERT_TRUE(caller.submit(0, kHostOnly) && caller.wait(0)) << caller.error().text;
    EXPECT_EQ(last_error(), programs_own ? cudaErrorInvalidConfiguration : cudaSuccess);
    EngineConfig nowhere = engine_config(1, BackendChoice::kCuda);
    fake_driver().devices = 0;
    EXPECT_FALSE(Engine::probe(nowhere));
    fake_driver().devices = 1;
    EXPECT_EQ(last_error() == cudaSuccess, !programs_own);
  }
  last_error() = cudaSuccess;
}

class Fork : public ForEveryOperator {};

// Fails when a child process of fork() calls CUDA, hangs, or gets an error other than Unsupported,
// while a frame of its parent is in flight.
// Promises: ERR-006.
TEST_P(Fork, TheChildCallsNothing) {
  Caller caller(GetParam());
  ASSERT_TRUE(caller.submit(0, {MemorySpace::kHost, MemorySpace::kPinned}));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const long calls = fake_driver().calls;
    const auto refused = caller.op().wait(*caller.flight(0).ticket, Deadline::never());
    if (refused || refused.error().status != Status::kUnsupported) _exit(1);
    if (caller.create_another()) _exit(2);
    if (Buffer::create(caller.engine(), MemorySpace::kCuda, 1)) _exit(3);
    caller.op().reset();
    caller.clear();
    _exit(fake_driver().calls == calls ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(caller.wait(0)) << caller.error().text;
}

INSTANTIATE_TEST_SUITE_P(Streams, Fork, testing::ValuesIn(operator_cases()), case_label);

// Fails when an object of a device that is no operator calls CUDA in a child process of fork().
// Promises: ERR-006.
TEST(DeviceObjects, TheChildCallsNothing) {
  reset_fake_driver();
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory.device = 1024;
  {
    Engine engine = must(Engine::create(settings));
    detail::Device& device = *detail::EngineAccess::state(engine).device();
    auto copies = must(device.make_copy_stream(1));
    cuda::DeviceWork work;
    must(work.prepare(engine, {0, 0, 256}, "a test"));
    {
      cuda::Scope cuda(work.device(), cuda::Phase::kCreating, "a test");
      must(work.start(cuda));
    }
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      const long calls = fake_driver().calls;
      const auto marked = copies->set_mark(0);
      if (marked || marked.error().status != Status::kUnsupported) _exit(1);
      copies.reset();
      work.~DeviceWork();
      _exit(fake_driver().calls == calls ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    must(copies->set_mark(0));
  }
  EXPECT_TRUE(fake_driver().empty());
}

// Fails when a piece reaches beyond its block, or when a size near 2^64 wraps around.
// Promises: MEM-003.
TEST(Blocks, HoldWholePieces) {
  reset_fake_driver();
  EngineConfig settings = engine_config(1, BackendChoice::kCuda);
  settings.memory.device = settings.memory.pinned = 1000;
  {
    Engine engine = must(Engine::create(settings));
    for (const MemorySpace space : {MemorySpace::kCuda, MemorySpace::kPinned}) {
      const Buffer all = must(Buffer::create(engine, space, 1024));
      EXPECT_GE(fake_driver().block_bytes.at(all.data()), 1024u);
      EXPECT_FALSE(Buffer::create(engine, space, 1));
    }
    EXPECT_EQ(engine.memory_use().capacity.device, 1024u);
    EXPECT_EQ(engine.memory_use().capacity.pinned, 1024u);
  }
  for (std::size_t Footprint::*kind : {&Footprint::device, &Footprint::pinned}) {
    settings.memory = {};
    settings.memory.*kind = ~std::size_t{0} - 10;
    const auto refused = Engine::create(settings);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kOutOfMemory) << refused.error().text;
  }
  EXPECT_TRUE(fake_driver().empty());
}

}  // namespace
}  // namespace ocellus::test
