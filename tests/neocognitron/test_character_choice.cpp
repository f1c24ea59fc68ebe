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
    scores.push_back({0, similarity, 0.05f, similarity + other});
  }
  std::vector<int> choose(bool with_scores = true) const {
    // The probability of a character is one half at a similarity of 0.8.
    CharacterOdds odds;
    odds.weights = {-16, 20, 0, 1, -20};
    odds.weights[kOddsOther] = -40;
    odds.dropped = 2;
    CharacterChoice choice;
    choose_characters(candidates, with_scores ? scores : std::vector<CandidateScore>{}, odds, {},
                      choice);
    more = choice.more;
    return {choice.chosen().begin(), choice.chosen().end()};
  }
  float other = 0;  // similarity to what is no character, above that to the character
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

// Fails if ink that is more similar to what is no character than to any character is kept.
TEST(CharacterChoice, WhatIsNoCharacterIsDropped) {
  Lattice lattice;
  lattice.add(0, 0, 0, 0.9f);
  lattice.other = 0.1f;
  lattice.add(1, 0, 0, 0.9f);
  EXPECT_EQ(lattice.choose(), (std::vector<int>{0}));
}

// The literals are those of the header, the density that of a normal distribution in two
// dimensions.
TEST(CharacterChoice, InputsOfTheOdds) {
  CharacterCandidate candidate;
  candidate.fit = -0.25f;
  candidate.width = 1.1f;
  candidate.height = 0.5f;
  candidate.level = 0.3f;
  const std::vector<CharacterSize> sizes = {{}, {0.8f, 0.9f, 0.2f, 0.4f, 0.6f}};
  CandidateScore score{1, 0.8f, 0.3f, 0.9f};
  const auto inputs = detail::odds_inputs(candidate, score, sizes);
  // x = 1.5 and y = -1 deviations: (2.25 + 1 + 2 0.6 1.5) / 0.64 = 7.890625, and the logarithm of
  // 2 pi 0.2 0.4 0.8 is -0.910995.
  const std::vector<float> expected = {
      1, 0.8f, 0.2f, -0.25f, 0.08f, 0, 0.2f, 0.3f, -0.5f * 7.890625f + 0.910995f, 0.1f, 0};
  ASSERT_EQ(inputs.size(), expected.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_NEAR(inputs[i], expected[i], 1e-5f) << i;
  candidate.height = 1.25f;
  score.other = 0.5f;
  const auto others = detail::odds_inputs(candidate, score, {});
  EXPECT_FLOAT_EQ(others[kOddsLow], 0.0f);
  EXPECT_NEAR(others[kOddsHigh], 0.1f, 1e-6f);
  EXPECT_EQ(others[kOddsSize], 0.0f);
  EXPECT_FLOAT_EQ(others[kOddsOther], -0.15f);
  EXPECT_NEAR(others[kOddsAboveOther], 0.3f, 1e-6f);
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
