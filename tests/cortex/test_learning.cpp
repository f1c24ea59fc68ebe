// Learning of the operator Cortex: the equations, workers, frames in flight, backends, saving and
// continuing, what teaches nothing, what is kept, no allocation.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "cortex/learning_reference.h"
#include "cortex/stroke_frames.h"
#include "ocellus/cortex_training.h"
#include "ocellus/ocellus.h"
#include "realtime/interpose.h"
#include "support/files.h"
#include "support/fork.h"

namespace ocellus::test {
namespace {

constexpr int kSide = kStrokeSide;
constexpr float kRate = 0.03f;
constexpr int kColumns = 4;
constexpr int kRows = 3;
constexpr int kPatches = kColumns * kRows;

/// A small model in a file, and frames of strokes with noise.
class CortexLearning : public OnBackend {
 protected:
  CortexLearning() {
    CortexTraining training;
    training.parameters.deslant = false;
    training.parameters.levels[0] = {8, 8, 4, 4, 24};
    training.parameters.level_count = 2;
    training.parameters.levels[1] = {2, 2, 1, 1, 12};
    training.parameters.competitors = 2;
    training.feature_images = 300;
    cortex_ = must(train_cortex(labeled_strokes(400, 1), training));
    path_ = folder_ / "model.ocellus";
    write_model(path_, cortex_);
  }

  CortexConfig config(const std::string& model) const {
    CortexConfig made = stroke_config(model, kColumns, kRows);
    made.learn = true;
    made.learn_rate = kRate;
    return made;
  }
  CortexConfig config() const { return config(path_); }

  /// Images of a frame; the last one has no ink.
  static LabeledImages images_of(unsigned number) {
    LabeledImages images = labeled_strokes(kPatches, 100 + number);
    std::fill(images.ink.end() - kSide * kSide, images.ink.end(), std::uint8_t{0});
    return images;
  }
  static FrameBuffer frame(unsigned number, PixelFormat format = PixelFormat::kGray8) {
    return stroke_frame(images_of(number), kColumns, kRows, format);
  }
  static std::vector<FrameBuffer> frames(unsigned first, unsigned count) {
    std::vector<FrameBuffer> all;
    for (unsigned i = first; i < first + count; ++i) all.push_back(frame(i));
    return all;
  }
  /// The file that an operator saves.
  std::string saved(OperatorHandle& op, const char* name = "saved.ocellus") const {
    const std::string path = folder_ / name;
    must(op.save_model(path.c_str()));
    return bytes_of(path);
  }
  /// The file after these frames.
  std::string after(const CortexConfig& config, const std::vector<FrameBuffer>& frames,
                    BackendChoice backend, int workers = 2) const {
    auto made = Rig<Cortex>::make(config, workers, backend);
    (void)send(made.op, frames, config.depth);
    return saved(made.op);
  }

  TemporaryFolder folder_;
  TrainedCortex cortex_;
  std::string path_;
};
INSTANTIATE_TEST_SUITE_P(Backends, CortexLearning, testing::ValuesIn(conformance_backends()),
                         backend_label);

// Fails if a winner, a probability, a weight or a bias is another one than equations (a) to (e)
// say, if a patch is classified with features that the same frame has changed, or if the read-out
// changes.
TEST_P(CortexLearning, FollowsTheEquations) {
  auto made = rig<Cortex>(config());
  ReferenceLearner reference(cortex_, static_cast<double>(kRate));
  constexpr unsigned kFrames = 20;
  for (unsigned f = 0; f < kFrames; ++f) {
    const LabeledImages images = images_of(f);
    std::vector<ReferenceLearner::Cells> cells(kPatches);
    for (std::size_t i = 0; i < images.ink.size(); ++i)
      cells[i / (kSide * kSide)].push_back(images.ink[i] >= 100 ? 1 : 0);
    const auto expected = reference.frame(cells);
    const Results got = send(made.op, {frame(f)});
    for (int p = 0; p < kPatches; ++p)
      for (int c = 0; c < 4; ++c)
        // Activities are rounded to 1/256.
        ASSERT_NEAR(got.planes[0][0].at(c, p),
                    expected[static_cast<std::size_t>(p)][static_cast<std::size_t>(c)], 0.1)
            << "frame " << f << " patch " << p;
  }
  saved(made.op);
  const TrainedCortex learned = must(read_cortex((folder_ / "saved.ocellus").c_str()));
  EXPECT_EQ(learned.probabilities, reference.model().probabilities);
  EXPECT_EQ(learned.read_out, cortex_.read_out);
  EXPECT_EQ(learned.class_bias, cortex_.class_bias);
  EXPECT_EQ(learned.names, cortex_.names);
  EXPECT_EQ(learned.sharpness, cortex_.sharpness);
  EXPECT_NE(learned.weights, cortex_.weights);
  EXPECT_EQ(learned.weights, reference.model().weights);
  EXPECT_EQ(learned.bias, reference.model().bias);
  // A step rounds P by less than 2^-30, and kFrames frames have fewer steps than this.
  for (std::size_t i = 0; i < learned.probabilities.size(); ++i)
    ASSERT_NEAR(learned.probabilities[i] * 0x1p-31, reference.exact()[i],
                kFrames * kPatches * 0x1p-30);
}

// Fails if the number of workers, the frames in flight, the format of the frames or the backend
// changes a byte of what is learned.
// Promises: RES-007.
TEST_P(CortexLearning, IsTheSameEverywhere) {
  const auto sequence = frames(0, 15);
  const std::string expected = after(config(), sequence, BackendChoice::kCpu, 1);
  ASSERT_FALSE(expected.empty());
  for (const int workers : {1, 2, 3})
    EXPECT_TRUE(after(config(), sequence, GetParam(), workers) == expected)
        << workers << " workers";
  for (const int depth : {2, 4}) {
    CortexConfig made = config();
    made.depth = depth;
    EXPECT_TRUE(after(made, sequence, GetParam()) == expected) << depth << " frames in flight";
  }
  for (const PixelFormat format : {PixelFormat::kGray16, PixelFormat::kFloat32}) {
    CortexConfig made = config();
    made.format = format;
    std::vector<FrameBuffer> other;
    for (unsigned i = 0; i < 15; ++i) other.push_back(frame(i, format));
    EXPECT_TRUE(after(made, other, GetParam()) == expected);
  }
}

// Fails if a saved file lacks a part of the state: an operator that begins with it must give the
// same results and the same file as one that was never interrupted.
// Promises: RES-007.
TEST_P(CortexLearning, ContinuesFromAFile) {
  auto whole = rig<Cortex>(config());
  (void)send(whole.op, frames(0, 8));
  const Results expected = send(whole.op, frames(8, 8));
  {
    auto first = rig<Cortex>(config());
    (void)send(first.op, frames(0, 8));
    saved(first.op, "half.ocellus");
  }
  auto second = rig<Cortex>(config(folder_ / "half.ocellus"));
  EXPECT_TRUE(same_bytes(send(second.op, frames(8, 8)), expected));
  EXPECT_TRUE(saved(second.op, "a.ocellus") == saved(whole.op, "b.ocellus"));
  // And on the other backend.
  auto third = Rig<Cortex>::make(config(folder_ / "half.ocellus"), 1);
  EXPECT_EQ(send(third.op, frames(8, 8)).planes[7][0].data, expected.planes[7][0].data);
  EXPECT_TRUE(saved(third.op) == saved(whole.op));
}

// Fails if `save_model` leaves out a frame that was submitted before, includes one that comes
// later, or takes the tickets or the results of frames in flight.
TEST_P(CortexLearning, SavesWhatWasSubmitted) {
  CortexConfig made = config();
  made.depth = 4;
  const auto sequence = frames(0, 9);
  for (const int workers : {1, 3}) {
    const Results expected = results<Cortex>(made, sequence);
    auto whole = rig<Cortex>(made, workers);
    std::vector<OutputBuffer> out(4, OutputBuffer(whole.op.info()));
    for (std::size_t begin = 0; begin < 9; begin += 3) {
      std::vector<Ticket> tickets;
      for (std::size_t i = begin; i < begin + 3; ++i)
        tickets.push_back(must(whole.op.submit(sequence[i].frame(i), out[i % 4].output())));
      const std::string file = saved(whole.op);
      EXPECT_TRUE(file == after(config(),
                                {sequence.begin(),
                                 sequence.begin() + static_cast<std::ptrdiff_t>(begin + 3)},
                                BackendChoice::kCpu))
          << begin + 3 << " frames";
      for (std::size_t i = begin; i < begin + 3; ++i) {
        must(whole.op.wait(tickets[i - begin], Deadline::after(std::chrono::seconds(60))));
        EXPECT_TRUE(same_bytes(out[i % 4].plane(0), expected.planes[i][0]));
      }
    }
  }
}

// Fails if a saved file is no ordinary model without `learn`, if its P are not checked there, or if
// a model without P begins with other weights than its own.
TEST_P(CortexLearning, SavedFileIsAModel) {
  auto made = rig<Cortex>(config());
  saved(made.op, "begin.ocellus");
  TrainedCortex begin = must(read_cortex((folder_ / "begin.ocellus").c_str()));
  EXPECT_EQ(begin.weights, cortex_.weights);
  EXPECT_EQ(begin.bias, cortex_.bias);
  (void)send(made.op, frames(0, 10));
  saved(made.op);
  CortexConfig plain = config(folder_ / "saved.ocellus");
  plain.learn = false;
  auto ordinary = rig<Cortex>(plain);
  EXPECT_FALSE(ordinary.op.info().learns);
  const auto next = frames(10, 1);
  const Results expected = send(made.op, next);
  EXPECT_TRUE(same_bytes(send(ordinary.op, next), expected));
  EXPECT_TRUE(same_bytes(send(ordinary.op, next), expected)) << "it learns";
  const auto refused = ordinary.op.save_model((folder_ / "no.ocellus").c_str());
  ASSERT_FALSE(refused);
  expect_words(refused.error(), Status::kUnsupported, {"cortex does not learn"});
  EXPECT_TRUE(bytes_of(folder_ / "no.ocellus").empty());
  // A P above 1, with right checksums.
  TrainedCortex bad = begin;
  bad.probabilities[77] = (1u << 31) + 1;
  const auto encoded = encode_cortex(bad, "");
  ASSERT_FALSE(encoded);
  expect_words(encoded.error(), Status::kInvalidArgument, {"a probability is 2147483649 / 2^31"});
}

// Fails if a frame with NaN or a patch without ink changes what was learned.
// Promises: RES-007.
TEST_P(CortexLearning, BadAndEmptyFramesTeachNothing) {
  CortexConfig made = config();
  made.format = PixelFormat::kFloat32;
  auto learner = rig<Cortex>(made);
  (void)send(learner.op, {frame(0, PixelFormat::kFloat32)});
  const std::string before = saved(learner.op);
  FrameBuffer bad = frame(1, PixelFormat::kFloat32);
  bad.set(3, 2, std::numeric_limits<double>::quiet_NaN());
  FrameBuffer empty(made.size, PixelFormat::kFloat32);
  for (int y = 0; y < made.size.height; ++y)
    for (int x = 0; x < made.size.width; ++x) empty.set(x, y, 0.0);
  const Results results = send(learner.op, {bad, empty, bad});
  EXPECT_TRUE(results.infos[0].bad_pixels());
  EXPECT_FALSE(results.infos[1].bad_pixels());
  EXPECT_TRUE(saved(learner.op) == before);
  (void)send(learner.op, {frame(1, PixelFormat::kFloat32)});
  EXPECT_FALSE(saved(learner.op) == before);
}

// Fails if the frames of creation teach something: their pixels are 0, which is ink if ink is dark.
TEST_P(CortexLearning, CreationTeachesNothing) {
  CortexConfig made = config();
  made.ink = CortexInk::kDark;
  auto learner = rig<Cortex>(made);
  saved(learner.op);
  EXPECT_EQ(must(read_cortex((folder_ / "saved.ocellus").c_str())).weights, cortex_.weights);
}

// Fails if `reset` forgets what was learned, or teaches half of a frame: the file is one of those
// after 4, 5, 6 or 7 frames, because a frame in flight is dropped or finished.
TEST_P(CortexLearning, ResetKeepsWhatWasLearned) {
  CortexConfig made = config();
  made.depth = 3;
  const auto sequence = frames(0, 7);
  std::vector<std::string> possible;
  for (std::ptrdiff_t count = 4; count <= 7; ++count)
    possible.push_back(
        after(config(), {sequence.begin(), sequence.begin() + count}, BackendChoice::kCpu));
  for (int attempt = 0; attempt < 20; ++attempt) {
    auto learner = rig<Cortex>(made);
    (void)send(learner.op, {sequence.begin(), sequence.begin() + 4});
    learner.op.reset();
    ASSERT_TRUE(saved(learner.op) == possible[0]);
    std::vector<OutputBuffer> out(3, OutputBuffer(learner.op.info()));
    for (std::size_t i = 4; i < 7; ++i)
      must(learner.op.submit(sequence[i].frame(i), out[i - 4].output()));
    learner.op.reset();
    ASSERT_EQ(std::count(possible.begin(), possible.end(), saved(learner.op)), 1);
  }
}

// Fails if an operator for frames of another size does not continue with what another one has
// learned, or takes over what does not fit.
TEST_P(CortexLearning, MovesToAnotherOperator) {
  auto first = rig<Cortex>(config());
  (void)send(first.op, frames(0, 5));
  const std::string before = saved(first.op);
  CortexConfig larger = config();
  larger.size = {kColumns * kSide + 5, kRows * kSide + 3};
  larger.depth = 2;
  auto second = rig<Cortex>(larger);
  must(second.op.take_learned(first.op));
  EXPECT_TRUE(saved(second.op) == before);
  EXPECT_TRUE(saved(first.op) == before);
  CortexConfig plain = config();
  plain.learn = false;
  auto other = rig<Cortex>(plain);
  for (const bool into : {false, true}) {
    const auto refused = into ? other.op.take_learned(first.op) : first.op.take_learned(other.op);
    ASSERT_FALSE(refused);
    expect_words(refused.error(), Status::kUnsupported, {"cortex does not learn"});
  }
  auto digits = rig<Cortex>(config("digits"));
  const auto refused = digits.op.take_learned(first.op);
  ASSERT_FALSE(refused);
  expect_words(refused.error(), Status::kInvalidArgument, {"different shapes"});
}

// Fails if a child process of fork() hangs or ends when its own operator takes over from its
// parent's, whose frames are in flight there and never end in the child, or saves what they teach.
TEST_P(CortexLearning, AChildOfForkTakesNothingFromItsParent) {
  if (GetParam() == BackendChoice::kCuda || !threads_after_fork())
    GTEST_SKIP() << "CUDA and the thread sanitizer do not survive fork()";
  CortexConfig deep = config();
  deep.depth = 3;
  auto parent = rig<Cortex>(deep);
  const auto sequence = frames(0, 3);
  std::vector<OutputBuffer> out(3, OutputBuffer(parent.op.info()));
  std::vector<Ticket> tickets;
  for (std::size_t i = 0; i < 3; ++i)
    tickets.push_back(must(parent.op.submit(sequence[i].frame(i), out[i].output())));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const auto unsupported = [](const Expected<void>& result) {
      return !result && result.error().status == Status::kUnsupported &&
             std::strstr(result.error().text, "fork") != nullptr;
    };
    auto own = rig<Cortex>(config());
    if (!unsupported(own.op.take_learned(parent.op))) _exit(1);
    if (!unsupported(parent.op.take_learned(own.op))) _exit(2);
    if (!unsupported(parent.op.save_model((folder_ / "child.ocellus").c_str()))) _exit(3);
    _exit(own.op.save_model((folder_ / "own.ocellus").c_str()) ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(bytes_of(folder_ / "child.ocellus").empty());
  for (const Ticket ticket : tickets) must(parent.op.wait(ticket, Deadline::never()));
}

// Fails if learning needs memory that the footprint does not say, or takes it without `learn`.
TEST_P(CortexLearning, FootprintHasP) {
  CortexConfig plain = config();
  plain.learn = false;
  const EngineInfo info = must(Engine::probe(engine_config(2, GetParam())));
  const Footprint with = must(Cortex::footprint(info, config()));
  const Footprint without = must(Cortex::footprint(info, plain));
  const std::size_t p = cortex_.weights.size() * sizeof(std::uint32_t);
  const std::size_t more =
      GetParam() == BackendChoice::kCuda ? with.device - without.device : with.host - without.host;
  EXPECT_GE(more, p);
  EXPECT_LT(more, p + 64 * 1024);
}

// Fails if a file that cannot be written is not an error with its path, damages the file that is
// there, or stops the operator.
// Promises: FILE-001.
TEST_P(CortexLearning, FailedSaveLeavesTheOldFile) {
  auto made = rig<Cortex>(config());
  (void)send(made.op, frames(0, 2));
  const auto no_folder = made.op.save_model((folder_ / "none/model.ocellus").c_str());
  ASSERT_FALSE(no_folder);
  expect_words(no_folder.error(), Status::kIoError, {"cortex model", "none/model.ocellus"});
  const auto empty = made.op.save_model("");
  ASSERT_FALSE(empty);
  expect_words(empty.error(), Status::kInvalidArgument, {"empty"});
  const std::string before = bytes_of(path_);
  // The disk becomes full while the file is written.
  rlimit all{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &all), 0);
  const auto ends = signal(SIGXFSZ, SIG_IGN);
  rlimit little = all;
  little.rlim_cur = before.size() / 2;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto full = made.op.save_model(path_.c_str());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &all), 0);
  signal(SIGXFSZ, ends);
  ASSERT_FALSE(full);
  expect_words(full.error(), Status::kIoError, {"model.ocellus", "File too large"});
  EXPECT_EQ(bytes_of(path_), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  must(made.op.save_model(path_.c_str()));
  EXPECT_FALSE(bytes_of(path_) == before);
}

// Fails when an operator changes features that another rule has made, whose weights it would
// replace by those of its own.
TEST_P(CortexLearning, RefusesFeaturesOfAnotherRule) {
  TrainedCortex cortex = cortex_;
  cortex.rule = CortexRule::kBcpnn;
  const std::string path = folder_ / "bcpnn.ocellus";
  write_model(path, cortex);
  EXPECT_EQ(must(read_cortex(path.c_str())).rule, CortexRule::kBcpnn);
  const auto refused = Cortex::info_for(config(path));
  ASSERT_FALSE(refused);
  expect_words(refused.error(), Status::kInvalidArgument, {"bcpnn.ocellus", "bcpnn", "hebb"});
  CortexConfig fixed = config(path);
  fixed.learn = false;
  EXPECT_TRUE(Cortex::info_for(fixed));
}

// Fails if a rate outside of its range is accepted.
TEST_P(CortexLearning, RateHasARange) {
  for (const float rate : {0.0f, 9e-5f, 1.1f, std::numeric_limits<float>::quiet_NaN()}) {
    CortexConfig bad = config();
    bad.learn_rate = rate;
    const auto info = Cortex::info_for(bad);
    ASSERT_FALSE(info) << rate;
    expect_words(info.error(), Status::kInvalidArgument, {"learn_rate"});
  }
  for (const float rate : {1e-4f, 1.0f}) {
    CortexConfig extreme = config();
    extreme.learn_rate = rate;
    auto made = rig<Cortex>(extreme);
    (void)send(made.op, frames(0, 30));
    saved(made.op);
    // P stays between 0 and 1.
    EXPECT_TRUE(read_cortex((folder_ / "saved.ocellus").c_str()));
  }
}

// Fails if a frame that teaches, or saving, allocates or frees memory.
// Promises: RT-001.
TEST_P(CortexLearning, DoesNotAllocate) {
  if (!interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  if (GetParam() == BackendChoice::kCuda)
    GTEST_SKIP() << "threads of the driver allocate; realtime.device sets them apart";
  auto made = rig<Cortex>(config(), 2);
  const auto sequence = frames(0, 10);
  const std::string path = folder_ / "saved.ocellus";
  OutputBuffer out(made.op.info());
  int failed = 0;
  const auto step = [&](std::uint64_t number) {
    const auto ticket = made.op.submit(sequence[number % 10].frame(number), out.output());
    if (!ticket || !made.op.wait(*ticket, Deadline::never())) ++failed;
    if (number % 100 == 99 && !made.op.save_model(path.c_str())) ++failed;
  };
  for (std::uint64_t i = 0; i < 20; ++i) step(i);
  arm_interposer();
  for (std::uint64_t i = 20; i < 1000; ++i) step(i);
  const AllocationCounts counts = disarm_interposer();
  EXPECT_EQ(counts.allocations, 0u);
  EXPECT_EQ(counts.frees, 0u);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace ocellus::test
