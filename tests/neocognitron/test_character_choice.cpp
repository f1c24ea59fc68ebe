// The choice among candidates, with scores made by hand.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "neocognitron/character_choice.h"

namespace ocellus::test {
namespace {

using detail::CandidateScore;
using detail::CharacterCandidate;
using detail::CharacterChoice;
using detail::ChoiceWeights;
using detail::choose_characters;

/// Candidates and their scores.
struct Lattice {
  std::vector<CharacterCandidate> candidates;
  std::vector<CandidateScore> scores;

  void add(int cluster, int first, int last, float similarity, float fit = 0) {
    CharacterCandidate candidate;
    candidate.cluster = cluster;
    candidate.first_segment = first;
    candidate.last_segment = last;
    candidate.fit = fit;
    candidates.push_back(candidate);
    scores.push_back({similarity, 0.05f});
  }
  std::vector<int> choose(bool with_scores = true) const {
    // The probability of a character is one half at a similarity of 0.8.
    ChoiceWeights weights;
    weights.bias = -16;
    weights.similarity = 20;
    weights.margin = 0;
    weights.fit = 1;
    weights.low = 10;
    weights.least_height = 0.8f;
    weights.dropped = 2;
    CharacterChoice choice;
    choose_characters(candidates, with_scores ? scores : std::vector<CandidateScore>{}, weights,
                      choice);
    more = choice.more;
    return {choice.chosen().begin(), choice.chosen().end()};
  }
  mutable bool more = false;
};

// Fails if isolated characters are lost or lose their order.
TEST(CharacterChoice, IsolatedCharactersAreKept) {
  Lattice lattice;
  for (int i = 0; i < 8; ++i) lattice.add(i, 0, 0, 0.9f);
  EXPECT_EQ(lattice.choose(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(lattice.choose(false), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(lattice.more);
}

// Fails if what looks like no character is kept, or if a character beside it is dropped.
TEST(CharacterChoice, ImplausibleCandidateIsDropped) {
  Lattice lattice;
  lattice.add(0, 0, 0, 0.9f);
  lattice.add(1, 0, 0, 0.5f);
  lattice.add(2, 0, 0, 0.9f);
  EXPECT_EQ(lattice.choose(), (std::vector<int>{0, 2}));
  EXPECT_EQ(lattice.choose(false), (std::vector<int>{0, 1, 2}));
}

// Fails if a low candidate is as probable as one of the line's height.
TEST(CharacterChoice, LowCandidateIsDropped) {
  Lattice lattice;
  lattice.add(0, 0, 0, 0.85f);
  lattice.add(1, 0, 0, 0.85f);
  lattice.candidates[1].height = 0.3f;
  EXPECT_EQ(lattice.choose(), (std::vector<int>{0}));
}

/// A cluster of three segments a, b and c. The candidates are ordered by their last and then by
/// their first segment: 0: a, 1: ab, 2: b, 3: abc, 4: bc, 5: c.
Lattice three_segments(const std::vector<float>& similarities) {
  Lattice lattice;
  for (int last = 0, at = 0; last < 3; ++last) {
    for (int first = 0; first <= last; ++first, ++at) {
      lattice.add(0, first, last, similarities[static_cast<std::size_t>(at)]);
    }
  }
  return lattice;
}

// Fails if the path with the best scores is not found.
TEST(CharacterChoice, BestPathIsTaken) {
  EXPECT_EQ(three_segments({0.9f, 0.5f, 0.5f, 0.6f, 0.9f, 0.5f}).choose(),
            (std::vector<int>{0, 4}));
  EXPECT_EQ(three_segments({0.5f, 0.9f, 0.5f, 0.6f, 0.5f, 0.9f}).choose(),
            (std::vector<int>{1, 5}));
  EXPECT_EQ(three_segments({0.9f, 0.6f, 0.9f, 0.6f, 0.6f, 0.9f}).choose(),
            (std::vector<int>{0, 2, 5}));
  EXPECT_EQ(three_segments({0.7f, 0.6f, 0.7f, 0.9f, 0.6f, 0.7f}).choose(), (std::vector<int>{3}));
}

// Fails if many likely pieces are preferred to a likely whole.
TEST(CharacterChoice, FewerCharactersWinWhereAllAreLikely) {
  EXPECT_EQ(three_segments({0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f}).choose(), (std::vector<int>{3}));
}

// Fails if a segment that is no character takes its neighbors with it.
TEST(CharacterChoice, SegmentOfAClusterIsDropped) {
  EXPECT_EQ(three_segments({0.9f, 0.4f, 0.3f, 0.4f, 0.4f, 0.9f}).choose(),
            (std::vector<int>{0, 5}));
  EXPECT_EQ(three_segments({0.4f, 0.4f, 0.3f, 0.4f, 0.4f, 0.9f}).choose(), (std::vector<int>{5}));
  EXPECT_TRUE(three_segments({0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f}).choose().empty());
}

// Fails if the shape has no weight where the recognizer cannot decide.
TEST(CharacterChoice, FitDecidesBetweenEqualScores) {
  Lattice lattice;
  lattice.add(0, 0, 0, 0.9f, -0.1f);
  lattice.add(0, 0, 1, 0.88f, -3.0f);
  lattice.add(0, 1, 1, 0.9f, -0.1f);
  EXPECT_EQ(lattice.choose(), (std::vector<int>{0, 2}));
  EXPECT_EQ(lattice.choose(false), (std::vector<int>{0, 2}));
  lattice.candidates[1].fit = -0.05f;
  EXPECT_EQ(lattice.choose(), (std::vector<int>{1}));
  EXPECT_EQ(lattice.choose(false), (std::vector<int>{1}));
}

// Fails if a segment without a candidate, which was left out for lack of memory, ends the choice.
TEST(CharacterChoice, MissingCandidatesAreNoError) {
  Lattice lattice;
  lattice.add(0, 0, 0, 0.9f);
  lattice.add(0, 2, 2, 0.9f);
  lattice.add(1, 0, 0, 0.9f);
  EXPECT_EQ(lattice.choose(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(lattice.choose(false), (std::vector<int>{0, 1, 2}));
}

// Fails if scores that are not finite crash, or if they make a candidate a character.
TEST(CharacterChoice, ScoresThatAreNotFiniteAreNoCharacters) {
  Lattice lattice;
  lattice.add(0, 0, 0, std::numeric_limits<float>::quiet_NaN());
  lattice.add(1, 0, 0, -std::numeric_limits<float>::infinity());
  lattice.add(2, 0, 0, 0.9f);
  EXPECT_EQ(lattice.choose(), (std::vector<int>{2}));
}

// Fails if more than 64 characters are written, or if the caller is not told.
TEST(CharacterChoice, FirstCharactersAreKept) {
  Lattice lattice;
  for (int i = 0; i < 64; ++i) lattice.add(i, 0, 0, 0.9f);
  EXPECT_EQ(lattice.choose().size(), 64u);
  EXPECT_FALSE(lattice.more);
  lattice.add(64, 0, 0, 0.9f);
  const auto chosen = lattice.choose();
  ASSERT_EQ(chosen.size(), 64u);
  EXPECT_EQ(chosen.back(), 63);
  EXPECT_TRUE(lattice.more);
}

// Fails if no candidates are an error.
TEST(CharacterChoice, NoCandidates) {
  EXPECT_TRUE(Lattice().choose().empty());
}

}  // namespace
}  // namespace ocellus::test
