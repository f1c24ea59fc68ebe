// Double-precision reference of the cellular network, computed from equations (1) and (2).
//
// Every number is a multiple of a power of two. The m levels are stored as m - 1 times y, which are
// integers. So all sums are exact in double, and the outputs of the library must equal these
// exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ocellus/cellular_network.h"
#include "support/plane.h"

namespace ocellus::reference {

/// k of each cell. Its output is y = -1 + 2 k / (m - 1).
using CellLevels = test::Plane<int>;

/// The grid of inputs, of initial states and of the fixed value outside: 2^-13.
inline constexpr int kInputBits = 13;

/// Rounds to the nearest multiple of 2^-bits, halves up.
double on_grid(double value, int bits);
/// The same for weights, thresholds and xi, with halves to even.
double weight_on_grid(double value, int bits);

/// Black and white of a range as integers in 16-bit gray.
struct GrayEnds {
  double black;
  double white;
};
GrayEnds gray_ends(const GrayRange& range);

/// u of gray values 0 to 255, on the grid of inputs. Black to white of the range become +1 to -1
/// (black is one) or -1 to +1.
test::PlaneD cell_input(const test::PlaneD& gray, CellPolarity polarity,
                        const GrayRange& range = {});

/// y as input u and as states of the next stage. It is rounded to the grid of inputs, on which two
/// levels already lie.
test::PlaneD cell_outputs(const CellLevels& k, int levels);

/// The gray value (0 to 255) of an output, not rounded.
double cell_gray(int k, int levels, CellPolarity polarity, const GrayRange& range = {});

/// k of a state by equation (2). With two levels, the output is +1 for x >= 0.
int cell_level(double x, double xi, int levels);

/// Error diffusion of u by Floyd and Steinberg, row by row from left to right. A cell takes the
/// level nearest to u plus the error from previous cells, the higher one of two; of two levels, it
/// is black if this sum is at least 0. Tiles of 128x32 cells are independent. The levels and the
/// parts of an error are rounded to the grid of inputs, halves up.
CellLevels error_diffusion(const test::PlaneD& u, int levels = 2);

/// Initial states that need more than the configuration.
struct CellStarts {
  std::function<double(int x, int y, std::uint32_t seed)> noise;  ///< returns the state
  std::function<double(int x, int y)> blue_noise;  ///< returns the value that is added to u
};

/// The result of one stage.
struct CellStageRun {
  CellLevels k;
  int sweeps = 0;  ///< including the last one, which changed nothing if `converged`
  std::uint32_t changed = 0;
  bool converged = false;
  bool finished = true;  ///< false if `most` ended it
};

/// One stage: the values that do not change during the sweeps, and the state.
///
/// `fraction_bits` is f. `u` is the input, `previous` the output of the stage before (u for the
/// first stage), both on the grid of inputs. The threshold plane and the threshold are rounded
/// separately.
class CellStageReference {
 public:
  CellStageReference(const CellStage& stage, int fraction_bits, const test::PlaneD& u,
                     const test::PlaneD& previous, const CellStarts& starts = {});

  /// Starts from these outputs instead.
  void set_outputs(const CellLevels& k) { k_ = k; }

  const CellLevels& outputs() const { return k_; }

  /// (m - 1) (B u + T) in multiples of 2^-f, including the contribution of fixed cells outside.
  double bias(int x, int y) const { return bias_.at(x, y); }

  /// (m - 1) x of a cell for the current outputs, in multiples of 2^-f.
  double state(int x, int y) const;

  /// Updates every cell once. Returns the number of cells that changed.
  std::uint32_t sweep();

  /// Sweeps up to the fixed point or the limit of the stage, at most `most` times.
  CellStageRun run(int most = kMaxFrameSweeps);

  /// -1/2 sum y A y - sum (B u + T) y + xi/2 sum y y, times (m - 1)^2 2^(f+1). No asynchronous
  /// sweep raises it if A is symmetric with a self weight of at least 0. Cells outside must be
  /// fixed or periodic.
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
  double xi_;              // in multiples of 2^-f
  test::PlaneD bias_;
  CellLevels k_;
  std::vector<int> columns_;  // for -4 to width + 4, the column of the cell to read, or -1 for none
  std::vector<int> rows_;
  std::vector<std::vector<int>> column_classes_;
  std::vector<std::vector<int>> row_classes_;
};

/// The result of a frame.
struct CellRun {
  CellLevels k;       ///< the output of the last stage
  CellLevels first;   ///< the final states of the first stage, for the warm start of the next frame
  test::PlaneD gray;  ///< 0 to 255, not rounded
  CellularNetworkRecord info;
};

/// Computes all stages of `config` on gray values 0 to 255. `fraction_bits` has one number per
/// stage. With `config.warm_start`, `warm` is `first` of the frame before.
CellRun run_cells(const CellularNetworkConfig& config, const std::vector<int>& fraction_bits,
                  const test::PlaneD& gray, const CellStarts& starts = {},
                  const std::optional<CellLevels>& warm = std::nullopt);

}  // namespace ocellus::reference
