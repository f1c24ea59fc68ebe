// The system refuses the n-th allocation, mapping, thread, file access or memory lock, for every n,
// while an engine, a buffer and each operator are made and compute a frame. Each refusal must end
// in an error that names it, nothing may stay, and the next try must succeed.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "halftone/template_file.h"
#include "ocellus/buffer.h"
#include "ocellus/cell_templates.h"
#include "ocellus/kernel_taps.h"
#include "optical_flow/kernel_bank_file.h"
#include "realtime/interpose.h"
#include "realtime/interpose_system.h"
#include "restoration/filter_file.h"
#include "support/files.h"
#include "support/operator_cases.h"

namespace ocellus {
namespace {

using test::SystemCall;

constexpr ImageSize kSize{48, 40};

/// A kind of call and the status of the error after its refusal.
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

/// What a failed try must give back.
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

/// Makes an engine, a buffer and an operator, and sends a frame. Allocates what it needs itself
/// beforehand, so that every refusal meets the library.
class Attempt {
 public:
  /// `settings` are set in each try, because the library may read files for them.
  explicit Attempt(const OperatorConfig& config, std::vector<OptionSetting> settings = {})
      : config_(config),
        settings_(std::move(settings)),
        frame_(kSize, PixelFormat::kGray8),
        out_(test::must(test::must(complete()).info())) {
    frame_.fill(test::noise(kSize, 7));
  }

  /// An error of status kOk after a success.
  Error run(bool lock_memory) {
    EngineConfig engine_config = test::engine_config(3);
    engine_config.lock_memory = lock_memory;
    const auto needs = this->needs();
    if (!needs) return needs.error();
    engine_config.memory = *needs + Buffer::footprint(MemorySpace::kHost, 1000);
    auto engine = Engine::create(engine_config);
    if (!engine) return engine.error();
    const auto buffer = Buffer::create(*engine, MemorySpace::kHost, 1000);
    if (!buffer) return buffer.error();
    return run_on(*engine);
  }

  /// The operator alone, on an engine that exists.
  Error run_on(Engine& engine) {
    const auto config = complete();
    if (!config) return config.error();
    auto op = config->create(engine);
    if (!op) return op.error();
    const auto ticket = op->submit(frame_.frame(1), out_.output());
    if (!ticket) return ticket.error();
    const auto done = op->wait(*ticket, Deadline::never());
    return done ? Error{} : done.error();
  }

  Expected<Footprint> needs() {
    const auto info = Engine::probe(test::engine_config(3));
    if (!info) return tl::unexpected(info.error());
    const auto config = complete();
    if (!config) return tl::unexpected(config.error());
    return config->footprint(*info);
  }

  /// The result of the last frame, bit by bit.
  std::vector<std::uint32_t> result() const {
    std::vector<std::uint32_t> values = out_.record();
    for (int p = 0; p < out_.plane_count(); ++p)
      for (const float value : out_.plane(p).data)
        values.push_back(std::bit_cast<std::uint32_t>(value));
    return values;
  }

 private:
  Expected<OperatorConfig> complete() const {
    OperatorConfig config = config_;
    if (auto set = config.set_options(settings_); !set) return tl::unexpected(set.error());
    config.set_input(kSize, PixelFormat::kGray8);
    return config;
  }

  OperatorConfig config_;
  std::vector<OptionSetting> settings_;
  test::FrameBuffer frame_;
  test::OutputBuffer out_;
};

/// Smooths along two axes and differentiates along the third, which is the convolution's number.
void five_taps(void*, int, int, int convolution, int, float* wx, float* wy, float* wt) {
  for (int i = 0; i < 5; ++i) {
    wx[i] = convolution == 0 ? 0.1f * static_cast<float>(2 - i) : 0.2f;
    wy[i] = convolution == 1 ? 0.1f * static_cast<float>(2 - i) : 0.2f;
  }
  for (int i = 0; i < 4; ++i)
    wt[i] = convolution == 2 ? 0.1f * (1.5f - static_cast<float>(i)) : 0.25f;
}

/// A kernel file for images of kSize.
void write_bank(const std::string& path, KernelForm form) {
  detail::KernelBankHeader bank;
  bank.form = form;
  bank.nx = bank.ny = 5;
  bank.nt = 4;
  bank.convolutions = 3;
  bank.terms = 1;
  bank.size = form == KernelForm::kPerPixel ? kSize : ImageSize{1, 1};
  detail::KernelBankWriter writer;
  test::must(writer.open(path.c_str(), bank));
  for (std::uint64_t i = 0; i < bank.entries(); ++i) {
    float taps[3][5] = {};
    five_taps(nullptr, 0, 0, static_cast<int>(i % 3), 0, taps[0], taps[1], taps[2]);
    test::must(writer.add(taps[0], taps[1], taps[2]));
  }
  test::must(writer.finish());
}

std::string write_templates(const std::string& path) {
  std::array<CellStage, kMaxCellStages> stages;
  const int count = test::must(parse_cell_chain("erosion | edge", stages));
  detail::CellTemplateFileBytes file;
  test::must(detail::encode_cell_templates({stages.data(), static_cast<std::size_t>(count)},
                                           "a test", file));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.bytes), static_cast<std::streamsize>(file.count));
  return path;
}

std::string write_gray(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << "P5 " << kSize.width << " " << kSize.height << " 255\n";
  for (int i = 0; i < kSize.width * kSize.height; ++i) file.put(static_cast<char>(i * 29));
  return path;
}

// Fails when a writer of the library takes memory: the builder of a table has less than the table
// needs, or grows.
// Promises: MEM-005.
TEST(FileWriters, TakeNoMemory) {
  if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  const test::TemporaryFolder folder;
  std::array<CellStage, kMaxCellStages> stages;
  for (CellStage& stage : stages) {
    stage.weights.radius = kMaxTemplateRadius;
    stage.weights.b.fill(0.125f);
  }
  const std::string note(255, 'n');
  const std::string path = folder / "k.ocellus";
  const auto templates = std::make_unique<detail::CellTemplateFileBytes>();
  const auto filter = std::make_unique<detail::FilterFileBytes>();
  auto sharp = std::make_unique<RestorationFilter>();
  sharp->support = 1;
  for (auto& taps : sharp->feedforward) taps[0] = 0.25f;
  note.copy(sharp->note, note.size());
  test::arm_interposer();
  const bool good = detail::encode_cell_templates(stages, note, *templates).has_value();
  const test::AllocationCounts counts = test::disarm_interposer();
  EXPECT_TRUE(good);
  EXPECT_EQ(counts.allocations, 0u);
  test::arm_interposer();
  write_bank(path, KernelForm::kPerPixel);
  EXPECT_EQ(test::disarm_interposer().allocations, 0u);
  // The proof of stability takes memory; the file takes none beyond that.
  test::arm_interposer();
  const bool stable = analyze_filter(*sharp).has_value();
  const auto proof = test::disarm_interposer().allocations;
  test::arm_interposer();
  const bool encoded = detail::encode_filter(*sharp, -1.0f, *filter).has_value();
  EXPECT_EQ(test::disarm_interposer().allocations, proof);
  EXPECT_TRUE(stable && encoded);
}

/// Every operator, and the paths on which one calls a function of the program or reads a file.
std::vector<std::string> attempt_names() {
  std::vector<std::string> names;
  for (const test::OperatorCase& what : test::operator_cases()) names.push_back(what.name);
  for (const char* name : {"flow_callback", "flow_uniform_file", "flow_per_pixel_file",
                           "cnn_template_file", "cnn_initial_file"})
    names.emplace_back(name);
  return names;
}

class FailingSystem : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
    make_attempt();
    // The first runs allocate what stays: buffers of the C library, stacks of threads.
    for (int i = 0; i < 2; ++i) {
      const Error error = attempt_->run(false);
      ASSERT_EQ(error.status, Status::kOk) << error.text;
    }
    expected_ = attempt_->result();
  }

  void make_attempt() {
    const std::string& name = GetParam();
    for (const test::OperatorCase& what : test::operator_cases())
      if (what.name == name) attempt_.emplace(what.with(kSize));
    if (name == "flow_callback") {
      OpticalFlowConfig config = OpticalFlowConfig::with_kernels();
      config.kernels.nx = config.kernels.ny = 5;
      config.kernels.nt = 4;
      config.kernels.form = KernelForm::kPerPixel;
      config.kernels.origin = KernelOrigin::kCallback;
      config.kernels.callback = five_taps;
      attempt_.emplace(config);
    } else if (name == "flow_uniform_file" || name == "flow_per_pixel_file") {
      const bool uniform = name == "flow_uniform_file";
      path_ = folder_ / "k.ocellus";
      write_bank(path_, uniform ? KernelForm::kUniform : KernelForm::kPerPixel);
      attempt_.emplace(OpticalFlowConfig{},
                       std::vector<OptionSetting>{{"method", "kernels"}, {"kernels", path_}});
    } else if (name == "cnn_template_file") {
      path_ = write_templates(folder_ / "t.ocellus");
      attempt_.emplace(CnnConfig{}, std::vector<OptionSetting>{{"template", path_}});
    } else if (name == "cnn_initial_file") {
      path_ = write_gray(folder_ / "i.pgm");
      attempt_.emplace(CnnConfig{},
                       std::vector<OptionSetting>{{"template", "hlf5"}, {"initial", path_}});
    }
  }

  test::TemporaryFolder folder_;
  std::string path_;
  std::optional<Attempt> attempt_;
  std::vector<std::uint32_t> expected_;
};
INSTANTIATE_TEST_SUITE_P(Operators, FailingSystem, testing::ValuesIn(attempt_names()),
                         [](const auto& made) { return made.param; });

/// Refuses each call of each kind in turn. After each refusal `run` must succeed again.
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
        // Without a buffer of the C library the engine does not know the CPU's name.
        if (error.status != Status::kOk) {
          EXPECT_EQ(error.status, kind.status) << where() << ": " << error.text;
          EXPECT_NE(error.text[0], '\0') << where();
        } else {
          EXPECT_EQ(kind.call, SystemCall::kMemory) << where() << " is ignored";
        }
        EXPECT_EQ(run(kind).status, Status::kOk) << "the next try after " << where();
        if (testing::Test::HasFailure()) return refused;
      }
      EXPECT_LT(n, kMost) << name << ": " << kind.name << " is called without end";
    }
  }
  return refused;
}

// Fails when the library ignores a refusal or keeps something after one: memory of a constructor
// whose third allocation fails, a thread of an engine whose second thread fails, an open file.
// Promises: ERR-001.
TEST_P(FailingSystem, EachRefusalIsAnErrorAndLeavesNothing) {
  const auto refused = sweep(
      GetParam(), [&](const Kind& kind) { return attempt_->run(kind.call == SystemCall::kLock); });
  for (const char* kind : {"memory", "mapping", "thread", "lock"})
    EXPECT_GT(refused.count(kind), 0u) << "no refusal of " << kind;
  if (!path_.empty()) {
    for (const char* kind : {"open", "stat", "read"})
      EXPECT_GT(refused.count(kind), 0u) << "no refusal of " << kind;
  }
  const Error error = attempt_->run(false);
  ASSERT_EQ(error.status, Status::kOk) << "after all refusals: " << error.text;
  EXPECT_EQ(attempt_->result(), expected_);
}

// Fails when an operator whose creation fails keeps its piece of the engine's block.
// Promises: MEM-003.
TEST_P(FailingSystem, TheEngineKeepsItsMemory) {
  EngineConfig settings = test::engine_config(3);
  settings.memory = test::must(attempt_->needs());
  Engine engine = test::must(Engine::create(settings));
  ASSERT_EQ(attempt_->run_on(engine).status, Status::kOk);
  sweep(GetParam(), [&](const Kind&) {
    const Error error = attempt_->run_on(engine);
    EXPECT_EQ(engine.memory_use().used, Footprint{});
    return error;
  });
  const Error error = attempt_->run_on(engine);
  ASSERT_EQ(error.status, Status::kOk) << "after all refusals: " << error.text;
  EXPECT_EQ(attempt_->result(), expected_);
}

// Fails when the interposer replaces no function, because the C library calls it by another name.
// Then the tests above meet no refusal.
// Promises: ERR-001.
TEST(Refusals, AreMet) {
  if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
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
