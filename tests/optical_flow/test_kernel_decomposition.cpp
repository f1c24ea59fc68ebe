// Sums of separable terms for kernels that are not separable, and the command that writes them.
#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/optical_flow/kernel_bank_json.h"
#include "apps/optical_flow/kernel_decomposition.h"
#include "apps/run_command.h"
#include "ocellus/kernel_taps.h"
#include "support/files.h"

namespace ocellus::app {
namespace {

struct Size {
  int nx, ny, nt;
  std::size_t taps() const { return static_cast<std::size_t>(nx * ny * nt); }
};

std::vector<double> random_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(random()) / 2147483648.0 - 1.0;
  return values;
}

/// The sum of the terms, in the order of a full kernel.
std::vector<double> sum_of(const std::vector<SeparableTerm>& terms, const Size& size) {
  std::vector<double> sum;
  for (std::size_t t = 0; t < static_cast<std::size_t>(size.nt); ++t)
    for (std::size_t y = 0; y < static_cast<std::size_t>(size.ny); ++y)
      for (std::size_t x = 0; x < static_cast<std::size_t>(size.nx); ++x) {
        double value = 0.0;
        for (const SeparableTerm& term : terms)
          value += static_cast<double>(term.x[x]) * static_cast<double>(term.y[y]) *
                   static_cast<double>(term.t[t]);
        sum.push_back(value);
      }
  return sum;
}

double relative_error(const std::vector<float>& kernel, const std::vector<double>& sum) {
  double lacks = 0.0;
  double all = 0.0;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const auto tap = static_cast<double>(kernel[i]);
    lacks += (tap - sum[i]) * (tap - sum[i]);
    all += tap * tap;
  }
  return std::sqrt(lacks / all);
}

std::vector<SeparableTerm> random_terms(int rank, const Size& size, unsigned seed) {
  std::vector<SeparableTerm> terms;
  for (int r = 0; r < rank; ++r) {
    const auto axis = [&](int n, unsigned number) {
      const auto values = random_values(static_cast<std::size_t>(n),
                                        seed * 100 + static_cast<unsigned>(r) * 3 + number);
      return std::vector<float>(values.begin(), values.end());
    };
    terms.push_back({axis(size.nx, 0), axis(size.ny, 1), axis(size.nt, 2)});
  }
  return terms;
}

// Fails when a kernel that is a sum of that many terms is not found, or when fewer terms seem to be
// enough.
TEST(KernelDecomposition, FindsKernelsOfKnownRank) {
  for (const Size& size : {Size{15, 15, 20}, {5, 7, 4}, {25, 3, 6}}) {
    for (int rank = 1; rank <= kMaxKernelTerms; ++rank) {
      for (unsigned seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(std::to_string(size.nx) + ", rank " + std::to_string(rank) + ", seed " +
                     std::to_string(seed));
        const auto whole = sum_of(random_terms(rank, size, seed), size);
        const std::vector<float> kernel(whole.begin(), whole.end());
        KernelDecomposer exact(size.nx, size.ny, size.nt, rank);
        const Decomposition found = exact.decompose(kernel.data());
        ASSERT_EQ(found.terms.size(), static_cast<std::size_t>(rank));
        EXPECT_LT(found.error, 1e-6);
        EXPECT_NEAR(relative_error(kernel, sum_of(found.terms, size)), found.error, 1e-9);
        if (rank == 1) continue;
        KernelDecomposer fewer(size.nx, size.ny, size.nt, rank - 1);
        EXPECT_GT(fewer.decompose(kernel.data()).error, 0.02);
      }
    }
  }
}

// The error of a matrix is that of its singular values, which another program computes. Fails when
// a random kernel of one frame, row or column has a larger or a smaller error.
TEST(KernelDecomposition, IsTheSingularValueDecompositionOfAMatrix) {
  for (const Size& size : {Size{9, 11, 1}, {9, 1, 11}, {1, 9, 11}}) {
    const auto values = random_values(size.taps(), 7);
    const std::vector<float> kernel(values.begin(), values.end());
    Eigen::MatrixXd matrix(9, 11);
    for (int i = 0; i < 99; ++i)
      matrix(i % 9, i / 9) = static_cast<double>(kernel[static_cast<std::size_t>(i)]);
    const Eigen::VectorXd singular = Eigen::JacobiSVD<Eigen::MatrixXd>(matrix).singularValues();
    for (int rank = 1; rank <= kMaxKernelTerms; ++rank) {
      KernelDecomposer decomposer(size.nx, size.ny, size.nt, rank);
      EXPECT_NEAR(decomposer.decompose(kernel.data()).error,
                  singular.tail(singular.size() - rank).norm() / singular.norm(), 1e-4)
          << size.nt << ", rank " << rank;
    }
  }
}

// Fails when one term for a random kernel in space and time is worse than the best of many power
// iterations.
TEST(KernelDecomposition, OneTermIsTheBest) {
  const Size size{6, 5, 4};
  const auto values = random_values(size.taps(), 9);
  const std::vector<float> kernel(values.begin(), values.end());
  double largest = 0.0;
  double norm = 0.0;
  for (const float tap : kernel) norm += static_cast<double>(tap) * static_cast<double>(tap);
  for (unsigned start = 0; start < 50; ++start) {
    std::vector<double> x = random_values(6, 100 + start);
    std::vector<double> y = random_values(5, 200 + start);
    std::vector<double> t = random_values(4, 300 + start);
    double response = 0.0;
    for (int step = 0; step < 300; ++step) {
      for (std::vector<double>* axis : {&x, &y, &t}) {
        std::vector<double> sum(axis->size());
        for (std::size_t i = 0; i < kernel.size(); ++i) {
          const std::size_t at[] = {i % 6, i / 6 % 5, i / 30};
          const double others = (axis == &x ? 1.0 : x[at[0]]) * (axis == &y ? 1.0 : y[at[1]]) *
                                (axis == &t ? 1.0 : t[at[2]]);
          sum[axis == &x   ? at[0]
              : axis == &y ? at[1]
                           : at[2]] += others * static_cast<double>(kernel[i]);
        }
        response = 0.0;
        for (const double value : sum) response += value * value;
        response = std::sqrt(response);
        for (std::size_t i = 0; i < sum.size(); ++i) (*axis)[i] = sum[i] / response;
      }
    }
    largest = std::max(largest, response);
  }
  KernelDecomposer decomposer(size.nx, size.ny, size.nt, 1);
  EXPECT_NEAR(decomposer.decompose(kernel.data()).error, std::sqrt(1.0 - largest * largest / norm),
              1e-3);
  // Zero is a kernel, too.
  const std::vector<float> zero(size.taps());
  const Decomposition none = decomposer.decompose(zero.data());
  EXPECT_EQ(none.error, 0.0);
  EXPECT_EQ(none.terms[0].x, std::vector<float>(6));
}

class Decompose : public testing::Test {
 protected:
  static std::string run(const std::vector<std::string>& arguments) {
    return test::run_command(add_kernels_command, arguments);
  }
  static nlohmann::json info(const std::string& path) {
    std::ostringstream json;
    show_kernel_bank(path, true, json);
    return nlohmann::json::parse(json.str());
  }

  const test::TemporaryFolder folder_;
  const std::string full_ = folder_ / "full.ocellus";
  const std::string out_ = folder_ / "out.ocellus";
};

// Fails when the bank that is written has another form, size or number of terms than an operator
// takes for this one, or other kernels.
TEST_F(Decompose, WritesABankOfTheSameKernels) {
  ASSERT_EQ(run({"kernels", "make", "--kernels", "full", "--size", "9x7", "--taps", "5x3x4", "-o",
                 full_}),
            "");
  EXPECT_EQ(info(full_)["form"], "full");
  EXPECT_EQ(info(full_)["tap_bytes"], 9 * 7 * 3 * 5 * 3 * 4 * 4);
  ASSERT_EQ(run({"kernels", "decompose", full_, "--rank", "2", "-o", out_}), "");
  const nlohmann::json bank = info(out_);
  EXPECT_EQ(bank["form"], "per-pixel");
  EXPECT_EQ(bank["size"], nlohmann::json({9, 7}));
  EXPECT_EQ(bank["terms"], 2);
  const auto file = read_kernel_file_info(out_.c_str());
  ASSERT_TRUE(file) << file.error().text;
  KernelConfig kernels = file->kernels;
  ASSERT_TRUE(kernels.path.assign(out_));
  // The library's kernels are separable, so both banks have the same.
  KernelConfig made;
  made.form = KernelForm::kFull;
  made.nx = 5;
  made.ny = 3;
  made.nt = 4;
  std::vector<float> expected;
  ASSERT_TRUE(visit_kernels(
      made, {9, 7},
      [](void* user, int, int, int, int, const float* wx, const float*, const float*) {
        auto& all = *static_cast<std::vector<float>*>(user);
        all.insert(all.end(), wx, wx + 60);
        return true;
      },
      &expected));
  std::vector<SeparableTerm> terms;
  ASSERT_TRUE(visit_kernels(
      kernels, {9, 7},
      [](void* user, int, int, int, int, const float* wx, const float* wy, const float* wt) {
        static_cast<std::vector<SeparableTerm>*>(user)->push_back(
            {{wx, wx + 5}, {wy, wy + 3}, {wt, wt + 4}});
        return true;
      },
      &terms));
  ASSERT_EQ(terms.size() * 30, expected.size());
  for (std::size_t k = 0; k < terms.size() / 2; ++k) {
    const auto sum = sum_of({terms[2 * k], terms[2 * k + 1]}, {5, 3, 4});
    for (std::size_t i = 0; i < 60; ++i)
      ASSERT_NEAR(sum[i], static_cast<double>(expected[60 * k + i]), 1e-6);
  }
}

// Fails when a single full kernel does not become a bank for images of every size.
TEST_F(Decompose, ASingleKernelBecomesUniform) {
  std::istringstream json(
      R"({"form": "full", "size": [1, 1], "pixels": [[[{"taps": [[[1, 2], [3, 4]], [[5, 6], [7, 9]]]}]]]})");
  kernel_bank_from_json(json, full_);
  ASSERT_EQ(run({"kernels", "decompose", full_, "-o", out_}), "");
  EXPECT_EQ(info(out_)["form"], "uniform");
  EXPECT_EQ(info(out_)["terms"], kMaxKernelTerms);
  EXPECT_NEAR(info(out_)["convolutions"][0]["sum"][0].get<double>(), 37.0, 1e-3);
  // A bank of separable terms, too, here with fewer terms.
  ASSERT_EQ(run({"kernels", "decompose", out_, "--rank", "1", "-o", full_}), "");
  EXPECT_EQ(info(full_)["terms"], 1);
}

}  // namespace
}  // namespace ocellus::app
