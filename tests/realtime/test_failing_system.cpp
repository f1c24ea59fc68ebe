// The system refuses: the n-th block of memory, mapping, thread, file or lock, for every n, while
// an engine, a buffer and an operator of each kind are made and take a frame. Each refusal must end
// in an error that says what was refused, nothing may be kept, and the next try must work.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "apps/halftone/template_writer.h"
#include "apps/optical_flow/kernel_bank_writer.h"
#include "ocellus/buffer.h"
#include "ocellus/cell_templates.h"
#include "ocellus/halftone.h"
#include "ocellus/kernel_taps.h"
#include "realtime/interpose.h"
#include "realtime/interpose_system.h"
#include "support/files.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus {
namespace {

using test::SystemCall;

constexpr ImageSize kSize{48, 40};

/// What the error of a refused call is, and the word that names it to the user.
struct Kind {
  SystemCall call;
  const char* name;
  Status status;
};
constexpr std::array<Kind, 7> kKinds = {{{SystemCall::kMemory, "memory", Status::kOutOfMemory},
                                         {SystemCall::kMapping, "mapping", Status::kOutOfMemory},
                                         {SystemCall::kThread, "thread", Status::kSystem},
                                         {SystemCall::kOpen, "open", Status::kIoError},
                                         {SystemCall::kStat, "stat", Status::kIoError},
                                         {SystemCall::kRead, "read", Status::kIoError},
                                         {SystemCall::kLock, "lock", Status::kSystem}}};

/// What a failed try may not leave behind.
struct Held {
  long threads = 0;
  int files = 0;
  long allocations = 0;
  long mappings = 0;

  bool operator==(const Held&) const = default;
};

int entries_of(const char* folder) {
  int count = 0;
  DIR* const stream = opendir(folder);
  while (readdir(stream) != nullptr) ++count;
  closedir(stream);
  return count;
}

Held held() {
  return {test::live_threads(), entries_of("/proc/self/fd"), test::live_allocations(),
          test::live_mappings()};
}

std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.threads << " threads, " << held.files << " files, " << held.allocations
             << " allocations, " << held.mappings << " mappings";
}

/// An engine, a buffer, an operator and a frame through it. What it needs of its own is allocated
/// beforehand, so that every refusal meets the library.
class Attempt {
 public:
  virtual ~Attempt() = default;
  /// Error with kOk: done.
  virtual Error run(bool lock_memory) = 0;
  /// The operator alone, on an engine that lives on.
  virtual Error run_on(Engine& engine) = 0;
  virtual Expected<Footprint> needs() = 0;
  /// What the last frame gave, bit by bit.
  virtual std::vector<std::uint32_t> result() const = 0;
};

template <typename Operator, typename Config>
class AttemptOf : public Attempt {
 public:
  /// `complete` reads what the configuration holds of files.
  explicit AttemptOf(const Config& config, std::function<Error(Config&)> complete = nullptr)
      : config_(config),
        complete_(std::move(complete)),
        frame_(kSize, PixelFormat::kGray8),
        out_(kSize, planes_of(config)) {
    frame_.fill(test::noise(kSize, 7));
  }

  int planes_of(Config config) const {
    if (complete_) {
      EXPECT_EQ(complete_(config).status, Status::kOk);
    }
    return test::must(Operator::info_for(config)).plane_count;
  }

  Error run(bool lock_memory) override {
    EngineConfig settings = test::engine_config(3);
    settings.lock_memory = lock_memory;
    const auto needs = this->needs();
    if (!needs) return needs.error();
    settings.memory = *needs + Buffer::footprint(MemorySpace::kHost, 1000);
    auto engine = Engine::create(settings);
    if (!engine) return engine.error();
    const auto buffer = Buffer::create(*engine, MemorySpace::kHost, 1000);
    if (!buffer) return buffer.error();
    return run_on(*engine);
  }

  Error run_on(Engine& engine) override {
    Config config = config_;
    if (complete_) {
      if (const Error error = complete_(config); error.status != Status::kOk) return error;
    }
    auto op = Operator::create(engine, config);
    if (!op) return op.error();
    const auto ticket = op->submit(frame_.frame(1), out_.output());
    if (!ticket) return ticket.error();
    const auto done = op->wait(*ticket, Deadline::never());
    return done ? Error{} : done.error();
  }

  Expected<Footprint> needs() override {
    const auto info = Engine::probe(test::engine_config(3));
    if (!info) return tl::unexpected(info.error());
    Config config = config_;
    if (complete_) {
      if (const Error error = complete_(config); error.status != Status::kOk)
        return tl::unexpected(error);
    }
    return Operator::footprint(*info, config);
  }

  std::vector<std::uint32_t> result() const override {
    std::vector<std::uint32_t> values;
    for (int p = 0; p < out_.plane_count(); ++p) {
      const test::PlaneF plane = out_.plane(p);
      for (int y = 0; y < kSize.height; ++y)
        for (int x = 0; x < kSize.width; ++x)
          values.push_back(std::bit_cast<std::uint32_t>(plane.at(x, y)));
    }
    return values;
  }

 private:
  Config config_;
  std::function<Error(Config&)> complete_;
  test::FrameBuffer frame_;
  test::OutputBuffer out_;
};

/// Smooths along two axes and differs along the third, the number of the convolution.
void five_taps(void*, int, int, int convolution, int, float* wx, float* wy, float* wt) {
  for (int i = 0; i < 5; ++i) {
    wx[i] = convolution == 0 ? 0.1f * static_cast<float>(2 - i) : 0.2f;
    wy[i] = convolution == 1 ? 0.1f * static_cast<float>(2 - i) : 0.2f;
  }
  for (int i = 0; i < 4; ++i)
    wt[i] = convolution == 2 ? 0.1f * (1.5f - static_cast<float>(i)) : 0.25f;
}

KernelConfig small_kernels() {
  KernelConfig kernels;
  kernels.nx = kernels.ny = 5;
  kernels.nt = 4;
  return kernels;
}

/// A kernel file for images of kSize.
std::string write_bank(const std::string& path, KernelForm form) {
  app::KernelBankShape shape;
  shape.form = form;
  shape.nx = shape.ny = 5;
  shape.nt = 4;
  shape.convolutions = 3;
  shape.terms = 1;
  if (form == KernelForm::kPerPixel) shape.size = kSize;
  app::KernelBankWriter writer(path, shape);
  for (std::uint64_t i = 0; i < app::KernelBankWriter::entries(shape); ++i) {
    float taps[3][5] = {};
    five_taps(nullptr, 0, 0, static_cast<int>(i % 3), 0, taps[0], taps[1], taps[2]);
    writer.add(taps[0], taps[1], taps[2]);
  }
  writer.finish();
  return path;
}

std::string write_templates(const std::string& path) {
  std::array<CellStage, kMaxCellStages> stages;
  const int count = test::must(parse_cell_chain("erosion | edge", stages));
  app::write_template_file(path, {{stages.begin(), stages.begin() + count}, "a test"});
  return path;
}

std::string write_gray(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << "P5 " << kSize.width << " " << kSize.height << " 255\n";
  for (int i = 0; i < kSize.width * kSize.height; ++i) file.put(static_cast<char>(i * 29));
  return path;
}

class FailingSystem : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
    using Flow = AttemptOf<OpticalFlow, OpticalFlowConfig>;
    using Filter = AttemptOf<SpatioTemporalFilter, SpatioTemporalFilterConfig>;
    using Cells = AttemptOf<CellularNetwork, CellularNetworkConfig>;

    OpticalFlowConfig flow = OpticalFlowConfig::with_kernels(kSize);
    flow.kernels = small_kernels();
    attempts_["flow"] = std::make_unique<Flow>(flow);
    flow.kernels.form = KernelForm::kPerPixel;
    flow.kernels.origin = KernelOrigin::kCallback;
    flow.kernels.callback = five_taps;
    attempts_["flow of a callback"] = std::make_unique<Flow>(flow);
    flow.kernels.origin = KernelOrigin::kFoveated;
    flow.storage = CoefficientStorage::kHalf;
    attempts_["flow in half storage"] = std::make_unique<Flow>(flow);
    for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel}) {
      const bool uniform = form == KernelForm::kUniform;
      const std::string path = write_bank(folder_ / (uniform ? "u.ocellus" : "p.ocellus"), form);
      OpticalFlowConfig from_file = OpticalFlowConfig::with_kernels(kSize);
      attempts_[uniform ? "flow of a file" : "flow of a file of each pixel"] =
          std::make_unique<Flow>(from_file, [path](OpticalFlowConfig& config) {
            const auto info = read_kernel_file_info(path.c_str());
            if (!info) return info.error();
            config.kernels = info->kernels;
            config.kernels.path.assign(path);
            return Error{};
          });
    }
    attempts_["pyramid flow"] = std::make_unique<Flow>(OpticalFlowConfig::quality(kSize));

    SpatioTemporalFilterConfig filter;
    filter.size = kSize;
    filter.kernels = small_kernels();
    attempts_["filter"] = std::make_unique<Filter>(filter);
    filter.kernels.form = KernelForm::kPerPixel;
    attempts_["filter of each pixel"] = std::make_unique<Filter>(filter);

    CellularNetworkConfig halftone = halftone_config(kSize);
    halftone.output_format = PixelFormat::kFloat32;
    attempts_["halftone"] = std::make_unique<Cells>(halftone);
    CellularNetworkConfig cells;
    cells.size = kSize;
    cells.output_format = PixelFormat::kFloat32;
    const std::string path = write_templates(folder_ / "t.ocellus");
    attempts_["network of a file"] =
        std::make_unique<Cells>(cells, [path](CellularNetworkConfig& config) {
          const auto info = read_cell_template_file(path.c_str(), config.stages);
          if (!info) return info.error();
          config.stage_count = info->stages;
          return Error{};
        });
    HalftoneConfig preset;
    preset.size = kSize;
    preset.output_format = PixelFormat::kFloat32;
    attempts_["halftone of a preset"] =
        std::make_unique<AttemptOf<Halftone, HalftoneConfig>>(preset);
    CnnConfig begun;
    begun.size = kSize;
    begun.output_format = PixelFormat::kFloat32;
    begun.chain.assign("hlf5");
    begun.initial.assign(write_gray(folder_ / "i.pgm"));
    attempts_["network of a file to begin with"] =
        std::make_unique<AttemptOf<Cnn, CnnConfig>>(begun);
    // The first runs take what stays: the C library's buffers, stacks of threads.
    for (auto& [name, attempt] : attempts_) {
      for (int i = 0; i < 2; ++i) {
        const Error error = attempt->run(false);
        ASSERT_EQ(error.status, Status::kOk) << name << ": " << error.text;
      }
      expected_[name] = attempt->result();
    }
  }

  test::TemporaryFolder folder_;
  std::map<std::string, std::unique_ptr<Attempt>> attempts_;
  std::map<std::string, std::vector<std::uint32_t>> expected_;
};

/// Lets each call of each kind fail in turn. `run` makes one try; it is made once more after each.
template <typename Run>
std::map<std::string, int> sweep(const std::string& name, Run&& run) {
  constexpr int kMost = 2000;
  std::map<std::string, int> refused;
  for (const Kind& kind : kKinds) {
    for (const bool all_after : {false, true}) {
      int n = 1;
      for (; n < kMost; ++n) {
        const auto where = [&] {
          return name + ": " + kind.name + " " + std::to_string(n) +
                 (all_after ? " and after" : "");
        };
        const Held before = held();
        test::arm_refusal(kind.call, n, all_after);
        const Error error = run(kind);
        const test::Refusals met = test::disarm_refusal();
        EXPECT_EQ(held(), before) << where();
        if (met.refused == 0) {
          EXPECT_EQ(error.status, Status::kOk) << where() << ": " << error.text;
          break;
        }
        ++refused[kind.name];
        // The name of the CPU is read through a buffer of the C library; without it the engine is
        // what it is, of an unknown CPU.
        if (error.status != Status::kOk) {
          EXPECT_EQ(error.status, kind.status) << where() << ": " << error.text;
          EXPECT_NE(error.text[0], '\0') << where();
        } else {
          EXPECT_EQ(kind.call, SystemCall::kMemory) << where() << " goes unnoticed";
        }
        EXPECT_EQ(run(kind).status, Status::kOk) << "the next try after " << where();
        if (testing::Test::HasFailure()) return refused;
      }
      EXPECT_LT(n, kMost) << name << ": " << kind.name << " is called without end";
    }
  }
  return refused;
}

/// Example failure: a constructor whose third allocation fails leaves the first two, an engine
/// whose second thread is refused leaves the first one running, or a file stays open.
TEST_F(FailingSystem, EachRefusalIsAnErrorAndLeavesNothing) {
  std::map<std::string, int> all;
  for (auto& [name, attempt] : attempts_) {
    const auto refused =
        sweep(name, [&](const Kind& kind) { return attempt->run(kind.call == SystemCall::kLock); });
    for (const auto& [kind, count] : refused) all[kind] += count;
    // An engine, its threads and its block, at least.
    for (const char* kind : {"memory", "mapping", "thread", "lock"})
      EXPECT_GT(refused.count(kind), 0u) << name << " meets no refusal of " << kind;
    if (name.find("file") != std::string::npos) {
      for (const char* kind : {"open", "stat", "read"})
        EXPECT_GT(refused.count(kind), 0u) << name << " meets no refusal of " << kind;
    }
    const Error error = attempt->run(false);
    ASSERT_EQ(error.status, Status::kOk) << name << " after all refusals: " << error.text;
    EXPECT_EQ(attempt->result(), expected_[name]) << name;
    if (HasFailure()) return;
  }
  for (const auto& [kind, count] : all) RecordProperty(kind, count);
}

/// Example failure: an operator that could not be made keeps its piece of the engine's block, so
/// that the next one finds no room.
TEST_F(FailingSystem, TheEngineIsAsBefore) {
  for (auto& [name, attempt] : attempts_) {
    EngineConfig settings = test::engine_config(3);
    settings.memory = test::must(attempt->needs());
    Engine engine = test::must(Engine::create(settings));
    ASSERT_EQ(attempt->run_on(engine).status, Status::kOk) << name;
    sweep(name, [&](const Kind&) {
      const Error error = attempt->run_on(engine);
      EXPECT_EQ(engine.memory_use().used, Footprint{}) << name;
      return error;
    });
    const Error error = attempt->run_on(engine);
    ASSERT_EQ(error.status, Status::kOk) << name << " after all refusals: " << error.text;
    EXPECT_EQ(attempt->result(), expected_[name]) << name;
    if (HasFailure()) return;
  }
}

/// Example failure: a call that stands in for none, because the library calls it by another name,
/// so that the sweeps above meet nothing.
TEST_F(FailingSystem, RefusalsAreMet) {
  test::arm_refusal(SystemCall::kMemory, 2, false);
  void* first = std::malloc(10);
  void* second = std::malloc(10);
  void* third = std::malloc(10);
  asm volatile("" : : "g"(first), "g"(second), "g"(third) : "memory");
  const test::Refusals met = test::disarm_refusal();
  EXPECT_EQ(met.refused, 1);
  EXPECT_EQ(second, nullptr);
  std::free(first);
  std::free(third);
  test::arm_refusal(SystemCall::kMapping, 1, true);
  void* const block = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(test::disarm_refusal().refused, 1);
  EXPECT_EQ(block, MAP_FAILED);
  const long before = test::live_allocations();
  auto* leaked = new int(3);
  asm volatile("" : : "g"(leaked) : "memory");
  EXPECT_EQ(test::live_allocations(), before + 1);
  delete leaked;
  EXPECT_EQ(test::live_allocations(), before);
  const long threads = test::live_threads();
  std::thread thread([] {});
  EXPECT_EQ(test::live_threads(), threads + 1);
  thread.join();
  EXPECT_EQ(test::live_threads(), threads);
}

}  // namespace
}  // namespace ocellus
