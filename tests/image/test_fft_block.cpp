// Fourier transforms of blocks against the definition in double precision, on every instruction set
// of this processor.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <new>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "image/fft_block.h"
#include "support/simd.h"

namespace ocellus::detail {
namespace {

using Complex = std::complex<double>;

/// Every radix alone, lengths of several passes, and every length up to 40 that a plan can have.
std::vector<int> lengths() {
  std::vector<int> all = {48, 63, 64, 125, 144, 343, 375, 378, 384, 512, 729, 768};
  for (int length = 1; length <= 40; ++length)
    if (make_fft_plan(length).length == length) all.push_back(length);
  return all;
}

/// A block of noise, aligned as the functions demand.
class Block {
 public:
  explicit Block(int length, unsigned seed)
      : size_(static_cast<std::size_t>(length) * kFftElement),
        data_(new (std::align_val_t{64}) float[size_]) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(-1.0f, 1.0f);
    for (std::size_t i = 0; i < size_; ++i) data_[i] = value(random);
  }
  Block(const Block& other) : size_(other.size_), data_(new (std::align_val_t{64}) float[size_]) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = other.data_[i];
  }
  Block& operator=(const Block&) = delete;
  ~Block() { operator delete[](data_, std::align_val_t{64}); }

  float* data() const { return data_; }
  Complex at(int element, int sequence) const {
    const float* const from = data_ + element * kFftElement + sequence;
    return {static_cast<double>(from[0]), static_cast<double>(from[kFftSequences])};
  }

 private:
  std::size_t size_;
  float* data_;
};

std::vector<Complex32> roots_of(int length) {
  std::vector<Complex32> roots(static_cast<std::size_t>(length));
  make_fft_roots(length, roots.data());
  return roots;
}

/// The errors of a transform grow with the magnitudes of its terms.
double tolerance_of(int length) {
  return 1e-6 * std::sqrt(static_cast<double>(length)) * (1.0 + std::log2(length));
}

// Fails when a butterfly, a root or the order of the frequencies is wrong for some length, lane or
// instruction set.
TEST(FftBlock, ForwardIsTheDefinition) {
  for (const test::SimdTarget& target : test::simd_targets()) {
    const test::OnlyTargets only(target.bit);
    for (const int length : lengths()) {
      SCOPED_TRACE(target.name + ", length " + std::to_string(length));
      const FftPlan plan = make_fft_plan(length);
      const Block in(length, 1);
      const Block out(in);
      transform_block(plan, roots_of(length).data(), out.data());
      for (const int sequence : {0, 3, 15}) {
        for (int i = 0; i < length; ++i) {
          const int frequency = frequency_at(plan, i);
          Complex sum = 0.0;
          for (int t = 0; t < length; ++t)
            sum += in.at(t, sequence) *
                   std::polar(1.0, -2.0 * std::numbers::pi * (frequency * t % length) / length);
          ASSERT_LT(std::abs(out.at(i, sequence) - sum), tolerance_of(length))
              << "frequency " << frequency << " of sequence " << sequence;
        }
      }
    }
  }
}

// Fails when the inverse transform does not undo the forward one, or the product in between is not
// the one of two separate transforms.
TEST(FftBlock, InverseAndProduct) {
  for (const test::SimdTarget& target : test::simd_targets()) {
    const test::OnlyTargets only(target.bit);
    for (const int length : lengths()) {
      SCOPED_TRACE(target.name + ", length " + std::to_string(length));
      const FftPlan plan = make_fft_plan(length);
      const auto roots = roots_of(length);
      const Block in(length, 2);
      const Block transfer(length, 3);
      const Block there_and_back(in);
      transform_block(plan, roots.data(), there_and_back.data());
      const Block product(there_and_back);
      invert_block(plan, roots.data(), there_and_back.data());
      for (int i = 0; i < length; ++i) {
        for (int s = 0; s < kFftSequences; ++s) {
          ASSERT_LT(std::abs(there_and_back.at(i, s) / static_cast<double>(length) - in.at(i, s)),
                    1e-6);
          const Complex value = product.at(i, s) * transfer.at(i, s);
          float* const to = product.data() + i * kFftElement + s;
          to[0] = static_cast<float>(value.real());
          to[kFftSequences] = static_cast<float>(value.imag());
        }
      }
      invert_block(plan, roots.data(), product.data());
      const Block filtered(in);
      filter_block(plan, roots.data(), transfer.data(), filtered.data());
      for (int i = 0; i < length; ++i)
        for (int s = 0; s < kFftSequences; ++s)
          ASSERT_LT(std::abs(filtered.at(i, s) - product.at(i, s)),
                    tolerance_of(length) * std::sqrt(static_cast<double>(length)));
    }
  }
}

// Fails when a lane of the transposition goes to a wrong place for some instruction set, or a float
// beside the tile is written.
TEST(FftBlock, TransposesTiles) {
  constexpr int kIn = 19;
  constexpr int kOut = 23;
  for (const test::SimdTarget& target : test::simd_targets()) {
    SCOPED_TRACE(target.name);
    const test::OnlyTargets only(target.bit);
    std::vector<float> in(kFftSequences * kIn);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
    std::vector<float> out(kFftSequences * kOut, -1.0f);
    transpose_tile(in.data(), kIn, out.data(), kOut);
    for (int x = 0; x < kFftSequences; ++x) {
      for (int y = 0; y < kOut; ++y) {
        const float value = out[static_cast<std::size_t>(x * kOut + y)];
        ASSERT_EQ(value, y < kFftSequences ? in[static_cast<std::size_t>(y * kIn + x)] : -1.0f);
      }
    }
  }
}

}  // namespace
}  // namespace ocellus::detail
