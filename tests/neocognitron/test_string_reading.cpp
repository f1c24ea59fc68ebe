// Whole strings of digits, read from frames by a network that learns here. The figures are printed
// with the mistakes. They need development data (OCELLUS_TEST_DATA).
//
// OCELLUS_TEST_MODEL names a model file, which is used in place of learning.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "neocognitron/box_ink.h"
#include "neocognitron/digit_frames.h"
#include "neocognitron/digit_scene.h"
#include "ocellus/neocognitron_training.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

using detail::CandidateScore;
using detail::CharacterCandidate;
using detail::CharacterChoice;
using detail::InkImager;
using detail::InkRun;

constexpr int kSide = InkImager::kSide;
constexpr int kLearned = 300;  // digits of each class
constexpr int kScenes = 200;
constexpr unsigned kSceneSeed = 77;  // parameters were chosen with other seeds

/// An object that takes its memory from a layout.
template <typename T>
class Placed {
 public:
  template <typename... Arguments>
  explicit Placed(const Arguments&... arguments)
      : memory_(bytes_for(arguments...)), layout_(memory_.get()), object_(arguments..., layout_) {}
  T* operator->() { return &object_; }

 private:
  template <typename... Arguments>
  static std::size_t bytes_for(const Arguments&... arguments) {
    detail::LayoutBuilder layout;
    const T object(arguments..., layout);
    return layout.bytes();
  }
  LaidOutMemory memory_;
  detail::LayoutBuilder layout_;
  T object_;
};

/// Images of characters for the network.
class Batch {
 public:
  std::size_t add(const DigitFrame& frame, const detail::InkLevels& levels,
                  std::span<const InkRun> ink) {
    const std::size_t at = images_.ink.size();
    images_.ink.resize(at + kSide * kSide);
    images_.labels.push_back(0);
    if (ink.empty()) return images_.count() - 1;
    Rect box{ink[0].first, ink[0].y, 1, 1};
    int right = 0;
    for (const InkRun& run : ink) {
      box.x = std::min<int>(box.x, run.first);
      right = std::max<int>(right, run.end);
    }
    box.width = right - box.x;
    box.height = ink.back().y + 1 - box.y;
    Placed<InkImager> imager(frame.image.size);
    std::vector<std::uint8_t> pixels(kSide * kSide);
    const ImageSize size =
        imager->draw({frame.image.pixels.data(), frame.image.stride(), frame.image.size}, levels,
                     ink, box, pixels.data());
    for (int y = 0; y < size.height; ++y) {
      std::copy_n(pixels.begin() + y * kSide, size.width,
                  images_.ink.begin() + static_cast<std::ptrdiff_t>(at) + y * kSide);
    }
    return images_.count() - 1;
  }
  std::vector<CharacterScores> recognize_with(const TrainedNeocognitron& network) const {
    auto scores = recognize(network, images_);
    if (!scores) throw std::runtime_error(scores.error().text);
    return *std::move(scores);
  }

 private:
  LabeledImages images_{kSide, kSide, {}, {}, {}};
};

char digit(int label) {
  return label < 0 ? '?' : static_cast<char>('0' + label);
}

struct Figures {
  int digits = 0;
  int digits_right = 0;  // with given boxes
  int frames = 0;
  int strings_right = 0;  // end to end

  double digit_share() const { return 100.0 * digits_right / digits; }
  double string_share() const { return 100.0 * strings_right / frames; }
};

/// Reads all frames and prints the mistakes.
Figures read(const char* what, const std::vector<DigitFrame>& frames,
             const TrainedNeocognitron& network) {
  struct Found {
    std::vector<CharacterCandidate> candidates;
    std::vector<std::size_t> images;
    std::vector<std::size_t> boxes;
  };
  Batch batch;
  std::vector<Found> found(frames.size());
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const DigitFrame& frame = frames[f];
    detail::CharacterFinderConfig config;
    config.size = frame.image.size;
    Finder finder(config);
    finder.find(frame.image.pixels, frame.image.size.width, frame.image.size.height);
    const auto candidates = finder->candidates();
    found[f].candidates.assign(candidates.begin(), candidates.end());
    for (int c = 0; c < static_cast<int>(candidates.size()); ++c)
      found[f].images.push_back(batch.add(frame, finder->levels(), finder->ink(c)));
    Placed<detail::BoxInk> ink(finder->components());
    for (const Rect& box : frame.boxes) {
      found[f].boxes.push_back(
          batch.add(frame, finder->levels(), ink->select(finder->components(), box)));
    }
  }
  const auto scores = batch.recognize_with(network);
  Figures figures;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const DigitFrame& frame = frames[f];
    std::string with_boxes;
    for (const std::size_t i : found[f].boxes) with_boxes += digit(scores[i].best);
    std::vector<CandidateScore> candidate_scores;
    for (const std::size_t i : found[f].images)
      candidate_scores.push_back(
          {scores[i].best, scores[i].similarity, scores[i].margin, scores[i].other});
    CharacterChoice choice;
    detail::choose_characters(found[f].candidates, candidate_scores, network.odds, network.sizes,
                              choice);
    std::string whole;
    for (const int c : choice.chosen())
      whole += digit(scores[found[f].images[static_cast<std::size_t>(c)]].best);
    for (std::size_t i = 0; i < frame.string.size() && i < with_boxes.size(); ++i) {
      ++figures.digits;
      figures.digits_right += frame.string[i] == with_boxes[i] ? 1 : 0;
    }
    ++figures.frames;
    figures.strings_right += whole == frame.string ? 1 : 0;
    if (whole != frame.string || with_boxes != frame.string) {
      std::cout << frame.name << ": " << frame.string << ", with boxes " << with_boxes
                << ", end to end " << whole << '\n';
    }
  }
  std::cout << what << ": digits with given boxes " << figures.digits_right << " of "
            << figures.digits << " (" << figures.digit_share() << " %), strings end to end "
            << figures.strings_right << " of " << figures.frames << " (" << figures.string_share()
            << " %)\n";
  return figures;
}

class SlowStringReading : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (data_folder().empty() || !std::filesystem::exists(data_folder() + "/mnist")) return;
    mnist_ = std::make_unique<app::DigitImages>(read_mnist(data_folder() + "/mnist"));
    if (const char* const path = std::getenv("OCELLUS_TEST_MODEL")) {
      auto model = read_neocognitron(path);
      ASSERT_TRUE(model) << model.error().text;
      network_ = std::make_unique<TrainedNeocognitron>(*std::move(model));
      return;
    }
    LabeledImages digits{mnist_->width, mnist_->height, {}, {}, {}};
    const auto area = static_cast<std::ptrdiff_t>(mnist_->width) * mnist_->height;
    std::array<int, 10> counts{};
    for (std::size_t i = 0; i < kLearningDigits; ++i) {
      if (counts[mnist_->labels[i]]++ >= kLearned) continue;
      const auto begin = mnist_->ink.begin() + static_cast<std::ptrdiff_t>(i) * area;
      digits.ink.insert(digits.ink.end(), begin, begin + area);
      digits.labels.push_back(mnist_->labels[i]);
    }
    NeocognitronTraining training;
    training.passes = 2;
    auto network = train_neocognitron(digits, training);
    ASSERT_TRUE(network) << network.error().text;
    network_ = std::make_unique<TrainedNeocognitron>(*std::move(network));
  }
  static void TearDownTestSuite() {
    network_.reset();
    mnist_.reset();
  }

  static std::unique_ptr<app::DigitImages> mnist_;
  static std::unique_ptr<TrainedNeocognitron> network_;
};
std::unique_ptr<app::DigitImages> SlowStringReading::mnist_;
std::unique_ptr<TrainedNeocognitron> SlowStringReading::network_;

// Fails if fewer digits or strings of cheques are read than today.
TEST_F(SlowStringReading, Strips) {
  const std::string folder = data_folder() + "/digit_strings/orand_car_a";
  if (!network_ || !std::filesystem::exists(folder + "/digits.csv"))
    GTEST_SKIP() << "OCELLUS_TEST_DATA has no mnist and digit_strings/orand_car_a";
  const Figures figures = read("strips", read_strips(folder, Strips::kOdd), *network_);
  EXPECT_GE(figures.digit_share(), 84);
  EXPECT_GE(figures.string_share(), 35);
}

LabeledFrame labeled(const DigitFrame& strip) {
  LabeledFrame frame{strip.image.view(0, 0), {}};
  for (std::size_t i = 0; i < strip.boxes.size(); ++i)
    frame.boxes.push_back({strip.boxes[i], static_cast<std::uint16_t>(strip.string[i] - '0')});
  return frame;
}

/// Adds the digits of strips, and with `other` also their pieces of ink that are none.
void add_strips(const std::vector<DigitFrame>& strips, int other, LabeledImages& images) {
  for (const DigitFrame& strip : strips) {
    const LabeledFrame frame = labeled(strip);
    must(add_characters(frame.frame, frame.boxes, images, other));
  }
}

/// Learns the digits of the even strips in addition.
TrainedNeocognitron learn_hands(const TrainedNeocognitron& network, const std::string& folder) {
  LabeledImages digits{kSide, kSide, {}, {}, network.names};
  add_strips(read_strips(folder, Strips::kEven), kNoClass, digits);
  NeocognitronTraining training;
  training.tuning.passes = 30;
  return must(extend_neocognitron(network, digits, training));
}

// Fails if the model `digits`, which has seen nothing of cheques, reads fewer digits or strings of
// the odd strips than today, or if it loses some by learning the digits of the even ones.
TEST_F(SlowStringReading, StripsOfLearnedHands) {
  const std::string folder = data_folder() + "/digit_strings/orand_car_a";
  if (!network_ || !std::filesystem::exists(folder + "/digits.csv"))
    GTEST_SKIP() << "OCELLUS_TEST_DATA has no mnist and digit_strings/orand_car_a";
  const auto library_model = read_neocognitron("digits");
  ASSERT_TRUE(library_model) << library_model.error().text;
  const std::vector<DigitFrame> strips = read_strips(folder, Strips::kOdd);
  const Figures before = read("strips, library model", strips, *library_model);
  const Figures after =
      read("strips of learned hands", strips, learn_hands(*library_model, folder));
  EXPECT_GE(before.digit_share(), 91.5);
  EXPECT_GE(before.string_share(), 55);
  EXPECT_GE(after.digits_right, before.digits_right - 2);
  EXPECT_GE(after.strings_right, before.strings_right - 1);
}

/// Adds the first images of each class, each in the middle of a larger image.
void add_first(const app::DigitImages& digits, int per_class, LabeledImages& images) {
  const auto margin = static_cast<std::ptrdiff_t>((images.width - digits.width) / 2);
  std::array<int, 10> counts{};
  for (std::size_t i = 0; i < digits.labels.size(); ++i) {
    if (++counts[digits.labels[i]] > per_class) continue;
    const auto pixels = static_cast<std::ptrdiff_t>(digits.width) * digits.height;
    auto row = digits.ink.begin() + static_cast<std::ptrdiff_t>(i) * pixels;
    images.ink.resize(images.ink.size() + images.pixels());
    auto to = images.ink.end() - static_cast<std::ptrdiff_t>(images.pixels()) +
              margin * images.width + margin;
    for (int y = 0; y < digits.height; ++y, row += digits.width, to += images.width)
      std::copy_n(row, digits.width, to);
    images.labels.push_back(digits.labels[i]);
  }
}

/// Reads strips, with the choice fitted to four fifths of them and the last fifth read, five times.
int count_right(const std::vector<DigitFrame>& strips, TrainedNeocognitron network) {
  constexpr std::size_t kFolds = 5;
  int right = 0;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<DigitFrame> read_ones;
    std::vector<LabeledFrame> fitted_to;
    for (std::size_t i = 0; i < strips.size(); ++i) {
      if (i % kFolds == fold)
        read_ones.push_back(strips[i]);
      else
        fitted_to.push_back(labeled(strips[i]));
    }
    must(fit_choice(network, fitted_to));
    right += read("strips of learned cheques", read_ones, network).strings_right;
  }
  return right;
}

// Fails if a model that has learned 880 strips of cheques reads fewer of 200 other strips than it
// should, or, with digits of MNIST beside them, forgets MNIST. Another order of the images changes
// the number of strings by up to six.
TEST_F(SlowStringReading, LearnedCheques) {
  const std::string folder = data_folder() + "/digit_strings/orand_car_a";
  if (!network_ || !std::filesystem::exists(folder + "_more/digits.csv"))
    GTEST_SKIP() << "OCELLUS_TEST_DATA has no mnist and digit_strings/orand_car_a_more";
  const std::vector<DigitFrame> learned = read_strips(folder + "_more", Strips::kAll);
  const std::vector<DigitFrame> strips = read_strips(folder, Strips::kAll);
  const app::DigitImages test_file = read_mnist(data_folder() + "/mnist", "t10k");
  const LabeledImages digits{test_file.width,
                             test_file.height,
                             test_file.ink,
                             {test_file.labels.begin(), test_file.labels.end()},
                             {}};
  struct Case {
    const char* from;
    int mnist;  // digits of each class
    int references;
    int least_strings;
    int least_digits;  // of 10,000
  };
  for (const Case& c :
       {Case{"digits", 0, 2000, 144, 0}, Case{"digits-small", 1200, 2200, 144, 9850}}) {
    SCOPED_TRACE(c.from);
    const TrainedNeocognitron from = must(read_neocognitron(c.from));
    LabeledImages images{kSide, kSide, {}, {}, from.names};
    add_first(*mnist_, c.mnist, images);
    add_strips(learned, static_cast<int>(from.characters()), images);
    NeocognitronTraining training;
    training.margin = 0.03f;
    training.references = c.references;
    training.tuning.passes = 8;
    training.rotation = 10;
    training.bend = 2;
    training.stroke = 1;
    training.shear = 0.25f;
    training.scale = 0.13f;
    const TrainedNeocognitron network = must(extend_neocognitron(from, images, training));
    const int right = count_right(strips, network);
    const std::vector<CharacterScores> scores = must(recognize(network, digits));
    int known = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
      known += scores[i].best == digits.labels[i] ? 1 : 0;
    std::cout << "cheques learned by " << c.from << ": " << right << " of " << strips.size()
              << " strings, " << known << " of " << scores.size() << " digits of MNIST\n";
    EXPECT_GE(right, c.least_strings);
    EXPECT_GE(known, c.least_digits);
  }
}

// Fails if fewer digits or strings of synthetic camera frames are read than today. The digits of
// the frames are the last ones of the training file, which are not learned, and those of the test
// file.
TEST_F(SlowStringReading, Scenes) {
  if (!network_) GTEST_SKIP() << "OCELLUS_TEST_DATA has no mnist";
  const app::DigitImages test_file = read_mnist(data_folder() + "/mnist", "t10k");
  const struct {
    const char* name;
    std::vector<DigitFrame> frames;
  } sets[] = {
      {"scenes", make_scenes(*mnist_, kLearningDigits, kScenes, kSceneSeed)},
      {"scenes of the test file", make_scenes(test_file, 0, kScenes, kSceneSeed)},
  };
  for (const auto& set : sets) {
    const Figures figures = read(set.name, set.frames, *network_);
    EXPECT_GE(figures.digit_share(), 97.5) << set.name;
    EXPECT_GE(figures.string_share(), 82) << set.name;
  }
}

}  // namespace
}  // namespace ocellus::test
