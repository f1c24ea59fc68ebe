// Double-precision reference of the cellular network, from equations (1) and (2).
//
// Every number is a multiple of a power of two (the m levels are kept as m - 1 times y, whole
// numbers), so that all sums are exact in double and the outputs of the library must be exactly
// these.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ocellus/cellular_network.h"
#include "support/plane.h"

namespace ocellus::reference {

/// k of each cell; its output is y = -1 + 2 k / (m - 1).
using CellLevels = test::Plane<int>;

/// The grid of inputs, of states to start from and of the fixed value outside: 2^-13.
inline constexpr int kInputBits = 13;

/// To the nearest multiple of 2^-bits, halves up.
double on_grid(double value, int bits);
/// The same of weights, thresholds and xi: halves to the even one.
double weight_on_grid(double value, int bits);

/// Black and white of a range in 16-bit gray, whole numbers.
struct GrayEnds {
  double black;
  double white;
};
GrayEnds gray_ends(const GrayRange& range);

/// u of gray values 0 to 255: from black to white of the range +1 to -1 (black is one) or -1 to +1,
/// on the grid of inputs.
test::PlaneD cell_input(const test::PlaneD& gray, CellPolarity polarity,
                        const GrayRange& range = {});

/// y as u and as states of the next stage: on the grid of inputs, where two levels are already.
test::PlaneD cell_outputs(const CellLevels& k, int levels);

/// Gray value 0 to 255 of an output, not rounded.
double cell_gray(int k, int levels, CellPolarity polarity, const GrayRange& range = {});

/// k of a state: equation (2), +1 for x >= 0 for two levels.
int cell_level(double x, double xi, int levels);

/// Floyd and Steinberg's error diffusion of u from the left to the right, row by row: black where u
/// and what the cells before passed on come to 0 or more. In tiles of 128x32 cells, over whose
/// borders nothing passes. Parts of the error are rounded to the grid of inputs, halves up.
CellLevels error_diffusion(const test::PlaneD& u);

/// Starts that need more than the configuration.
struct CellStarts {
  std::function<double(int x, int y, std::uint32_t seed)> noise;  ///< the state
  std::function<double(int x, int y)> blue_noise;                 ///< is added to u
};

/// How one stage went.
struct CellStageRun {
  CellLevels k;
  int sweeps = 0;  ///< with the last one, which changed nothing when `converged`
  std::uint32_t changed = 0;
  bool converged = false;
};

/// One stage at rest: what of it does not change during the sweeps, and the state.
///
/// `fraction_bits` is f. `u` is what stands for the input, `previous` the output of the stage
/// before (of the first: u), both on the grid of inputs. Threshold plane and threshold are rounded
/// each.
class CellStageReference {
 public:
  CellStageReference(const CellStage& stage, int fraction_bits, const test::PlaneD& u,
                     const test::PlaneD& previous, const CellStarts& starts = {});

  /// Begins with these outputs instead.
  void set_outputs(const CellLevels& k) { k_ = k; }

  const CellLevels& outputs() const { return k_; }

  /// (m - 1) (B u + T) in multiples of 2^-f, with what the cells outside give when they are fixed.
  double bias(int x, int y) const { return bias_.at(x, y); }

  /// (m - 1) x of a cell for the present outputs, in multiples of 2^-f.
  double state(int x, int y) const;

  /// Lets every cell have its turn once; the number of cells that changed.
  std::uint32_t sweep();

  /// Sweeps to the fixed point or to the limit.
  CellStageRun run();

  /// -1/2 sum y A y - sum (B u + T) y + xi/2 sum y y, times (m - 1)^2 2^(f+1): what no asynchronous
  /// sweep raises when A is symmetric with a self weight of 0 or more. Cells outside must be fixed
  /// or those of the other side.
  double energy() const;

 private:
  double feedback(int x, int y) const;  // sum A y over the cells of the image
  int updated(int x, int y) const;
  std::uint32_t turn(int x, int y);
  std::uint32_t swap(int x, int y);

  CellStage stage_;
  int width_;
  int height_;
  struct Weight {
    int dx;
    int dy;
    double value;
  };

  double weight_at(int dx, int dy) const;

  std::vector<Weight> a_;  // those that are not 0, in multiples of 2^-f
  double xi_;              // the same
  test::PlaneD bias_;
  CellLevels k_;
  std::vector<int> columns_;  // of -4 to width + 4: that of the cell to read, -1 for none
  std::vector<int> rows_;
  std::vector<std::vector<int>> column_classes_;
  std::vector<std::vector<int>> row_classes_;
};

/// How a frame went.
struct CellRun {
  CellLevels k;       ///< of the last stage
  CellLevels first;   ///< where the first stage's states were left: the next frame's warm start
  test::PlaneD gray;  ///< 0 to 255, not rounded
  CellularNetworkRecord info;
};

/// All stages of `config` on gray values 0 to 255. `fraction_bits` has one number for each stage.
/// `warm` is `first` of the frame before when `config.warm_start`.
CellRun run_cells(const CellularNetworkConfig& config, const std::vector<int>& fraction_bits,
                  const test::PlaneD& gray, const CellStarts& starts = {},
                  const std::optional<CellLevels>& warm = std::nullopt);

}  // namespace ocellus::reference
