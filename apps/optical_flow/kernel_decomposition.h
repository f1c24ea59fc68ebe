// The best sum of a few separable terms for a kernel that is not separable.
#pragma once

#include <memory>
#include <vector>

namespace ocellus::app {

/// wx(xi) wy(eta) wt(tau), as in a kernel bank.
struct SeparableTerm {
  std::vector<float> x;
  std::vector<float> y;
  std::vector<float> t;
};

struct Decomposition {
  std::vector<SeparableTerm> terms;  ///< the largest first
  double error =
      0.0;  ///< norm of what the sum lacks, divided by that of the kernel; 0 for no kernel
};

/// Finds sums by alternating least squares: two axes of all terms are fixed, and the third one is
/// the solution of a linear system. It starts from the result for the last kernel, because
/// neighbors in a bank are alike, from the singular vectors along each axis, and from the terms of
/// a kernel that has no more of them. If no start gives the kernel itself, it also starts from
/// random terms. The best result counts. More than one term has local minima, so a smaller error
/// may exist. Deterministic.
class KernelDecomposer {
 public:
  KernelDecomposer(int nx, int ny, int nt, int rank);
  ~KernelDecomposer();

  /// `taps` as those of KernelForm::kFull.
  Decomposition decompose(const float* taps);

 private:
  struct Solver;
  std::unique_ptr<Solver> solver_;
};

}  // namespace ocellus::app
