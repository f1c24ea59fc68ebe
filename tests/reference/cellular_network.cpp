#include "reference/cellular_network.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace ocellus::reference {
namespace {

using test::PlaneD;

double pixel(const float* plane, std::ptrdiff_t stride, int x, int y) {
  const auto* const row = reinterpret_cast<const char*>(plane) + stride * y;
  return static_cast<double>(reinterpret_cast<const float*>(row)[x]);
}

/// For each coordinate from -4 to size + 4, the coordinate of the cell that is read there.
std::vector<int> seen(int size, CellBoundary boundary) {
  std::vector<int> at;
  for (int i = -kMaxTemplateRadius; i < size + kMaxTemplateRadius; ++i) {
    if (i >= 0 && i < size) {
      at.push_back(i);
    } else if (boundary == CellBoundary::kFixed) {
      at.push_back(-1);
    } else if (boundary == CellBoundary::kZeroFlux) {
      at.push_back(std::clamp(i, 0, size - 1));
    } else {
      at.push_back(((i % size) + size) % size);
    }
  }
  return at;
}

/// The coordinates of each color along one axis.
std::vector<std::vector<int>> classes(int size, int spacing, CellBoundary boundary) {
  const int rest = boundary == CellBoundary::kPeriodic ? size % spacing : 0;
  std::vector<std::vector<int>> of(static_cast<std::size_t>(spacing + rest));
  for (int i = 0; i < size; ++i) {
    const int color = i < size - rest ? i % spacing : spacing + (i - (size - rest));
    of[static_cast<std::size_t>(color)].push_back(i);
  }
  return of;
}

/// k for the state (m - 1) x.
int quantized(double scaled, double xi, int levels) {
  if (levels == 2) return scaled >= 0.0 ? 1 : 0;
  // floor((x / xi + 1) / 2 (m - 1) + 1/2) with one division, which is the only operation that
  // rounds. Dividend and divisor are integers of one unit, and too small for the rounded quotient
  // to reach the next integer.
  const double k = std::floor((scaled + levels * xi) / (2.0 * xi));
  return static_cast<int>(std::clamp(k, 0.0, static_cast<double>(levels - 1)));
}

}  // namespace

double on_grid(double value, int bits) {
  return std::ldexp(std::floor(std::ldexp(value, bits) + 0.5), -bits);
}

double weight_on_grid(double value, int bits) {
  return std::ldexp(std::nearbyint(std::ldexp(value, bits)), -bits);
}

GrayEnds gray_ends(const GrayRange& range) {
  return {std::nearbyint(257.0 * static_cast<double>(range.black)),
          std::nearbyint(257.0 * static_cast<double>(range.white))};
}

PlaneD cell_input(const PlaneD& gray, CellPolarity polarity, const GrayRange& range) {
  const GrayEnds ends = gray_ends(range);
  PlaneD u(gray.width, gray.height);
  for (std::size_t i = 0; i < gray.data.size(); ++i) {
    const double held = std::nearbyint(257.0 * std::clamp(gray.data[i], 0.0, 255.0));
    // Dividend and divisor are integers, so that only the division rounds.
    const double white =
        std::clamp((2.0 * held - ends.black - ends.white) / (ends.white - ends.black), -1.0, 1.0);
    u.data[i] = on_grid(polarity == CellPolarity::kWhiteIsOne ? white : -white, kInputBits);
  }
  return u;
}

PlaneD cell_outputs(const CellLevels& k, int levels) {
  PlaneD y(k.width, k.height);
  for (std::size_t i = 0; i < k.data.size(); ++i)
    y.data[i] =
        on_grid(static_cast<double>(2 * k.data[i] - (levels - 1)) / (levels - 1), kInputBits);
  return y;
}

double cell_gray(int k, int levels, CellPolarity polarity, const GrayRange& range) {
  const int from_black = polarity == CellPolarity::kWhiteIsOne ? k : levels - 1 - k;
  const GrayEnds ends = gray_ends(range);
  return (ends.black * (levels - 1) + (ends.white - ends.black) * from_black) /
         (257.0 * (levels - 1));
}

int cell_level(double x, double xi, int levels) {
  return quantized((levels - 1) * x, xi, levels);
}

CellLevels error_diffusion(const PlaneD& u, int levels) {
  constexpr int kTileWidth = 128;
  constexpr int kTileHeight = 32;
  CellLevels k(u.width, u.height);
  PlaneD error(u.width, u.height);
  for (int y = 0; y < u.height; ++y) {
    for (int x = 0; x < u.width; ++x) {
      double sum = u.at(x, y);
      const struct {
        int dx;
        int dy;
        double part;
      } from[] = {{-1, 0, 7.0}, {-1, -1, 1.0}, {0, -1, 5.0}, {1, -1, 3.0}};
      for (const auto& [dx, dy, part] : from) {
        const int at_x = x + dx;
        const int at_y = y + dy;
        if (at_x < 0 || at_y < 0 || at_x >= u.width) continue;
        if (at_x / kTileWidth != x / kTileWidth || at_y / kTileHeight != y / kTileHeight) continue;
        sum += on_grid(error.at(at_x, at_y) * part / 16.0, kInputBits);
      }
      const int level = cell_level(sum, 1.0, levels);
      k.at(x, y) = level;
      error.at(x, y) = sum - on_grid((2.0 * level - (levels - 1)) / (levels - 1), kInputBits);
    }
  }
  return k;
}

CellStageReference::CellStageReference(const CellStage& stage, int fraction_bits, const PlaneD& u,
                                       const PlaneD& previous, const CellStarts& starts)
    : stage_(stage),
      width_(u.width),
      height_(u.height),
      xi_(std::ldexp(weight_on_grid(static_cast<double>(stage.xi), fraction_bits), fraction_bits)),
      bias_(u.width, u.height),
      k_(u.width, u.height),
      columns_(seen(u.width, stage.boundary)),
      rows_(seen(u.height, stage.boundary)) {
  const int r = stage.weights.radius;
  const int least = stage.move == CellMove::kSwap ? r + 2 : r + 1;
  const int spacing = stage.color_spacing == 0 ? least : stage.color_spacing;
  column_classes_ = classes(width_, spacing, stage.boundary);
  row_classes_ = classes(height_, spacing, stage.boundary);

  std::vector<Weight> b;
  for (int dy = -r; dy <= r; ++dy) {
    for (int dx = -r; dx <= r; ++dx) {
      const auto at = static_cast<std::size_t>((dy + r) * (2 * r + 1) + dx + r);
      const double of_y = weight_on_grid(static_cast<double>(stage.weights.a[at]), fraction_bits);
      const double of_u = weight_on_grid(static_cast<double>(stage.weights.b[at]), fraction_bits);
      if (of_y != 0.0) a_.push_back({dx, dy, std::ldexp(of_y, fraction_bits)});
      if (of_u != 0.0) b.push_back({dx, dy, of_u});
    }
  }

  const double limit = std::ldexp(1.0, stage.levels == 2 ? 14 : 29);
  const double outside = on_grid(static_cast<double>(stage.boundary_value), kInputBits);
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      double sum = weight_on_grid(static_cast<double>(stage.weights.threshold), fraction_bits);
      if (stage.threshold_plane != nullptr)
        sum += weight_on_grid(pixel(stage.threshold_plane, stage.threshold_stride, x, y),
                              fraction_bits);
      for (const Weight& weight : b) {
        const int column = columns_[static_cast<std::size_t>(x + weight.dx + kMaxTemplateRadius)];
        const int row = rows_[static_cast<std::size_t>(y + weight.dy + kMaxTemplateRadius)];
        sum += weight.value * (column >= 0 && row >= 0 ? u.at(column, row) : outside);
      }
      for (const Weight& weight : a_) {
        const int column = columns_[static_cast<std::size_t>(x + weight.dx + kMaxTemplateRadius)];
        const int row = rows_[static_cast<std::size_t>(y + weight.dy + kMaxTemplateRadius)];
        if (column < 0 || row < 0) sum += std::ldexp(weight.value, -fraction_bits) * outside;
      }
      bias_.at(x, y) =
          std::clamp(std::ldexp(on_grid(sum * (stage.levels - 1), fraction_bits), fraction_bits),
                     -limit, limit);

      double start = 0.0;
      switch (stage.start) {
        case CellStart::kConstant:
          start = static_cast<double>(stage.start_value);
          break;
        case CellStart::kInput:
          start = u.at(x, y);
          break;
        case CellStart::kPlane:
          start = pixel(stage.start_plane, stage.start_stride, x, y);
          break;
        case CellStart::kNoise:
          start = starts.noise(x, y, stage.seed);
          break;
        case CellStart::kBlueNoise:
          start = u.at(x, y) + starts.blue_noise(x, y);
          break;
        case CellStart::kPrevious:
          start = previous.at(x, y);
          break;
        case CellStart::kErrorDiffusion:
          break;  // computed below
      }
      k_.at(x, y) = cell_level(on_grid(start, kInputBits),
                               on_grid(static_cast<double>(stage.xi), kInputBits), stage.levels);
    }
  }
  if (stage.start == CellStart::kErrorDiffusion) k_ = error_diffusion(u, stage.levels);
}

double CellStageReference::feedback(int x, int y) const {
  double sum = 0.0;
  for (const Weight& weight : a_) {
    const int column = columns_[static_cast<std::size_t>(x + weight.dx + kMaxTemplateRadius)];
    const int row = rows_[static_cast<std::size_t>(y + weight.dy + kMaxTemplateRadius)];
    // A fixed cell outside is part of the bias.
    if (column >= 0 && row >= 0)
      sum += weight.value * (2 * k_.at(column, row) - (stage_.levels - 1));
  }
  return sum;
}

double CellStageReference::state(int x, int y) const {
  return feedback(x, y) + bias_.at(x, y);
}

int CellStageReference::updated(int x, int y) const {
  return quantized(state(x, y), xi_, stage_.levels);
}

double CellStageReference::weight_at(int dx, int dy) const {
  for (const Weight& weight : a_) {
    if (weight.dx == dx && weight.dy == dy) return weight.value;
  }
  return 0.0;
}

std::uint32_t CellStageReference::swap(int x, int y) {
  // E = -1/2 y'A y - (B u + T)'y. Exchanging the outputs of two unlike cells i and j lowers it by
  // twice y_i (x_j - x_i) + 2 A_ii - 2 A_ij.
  double most = 0.0;
  int* partner = nullptr;
  for (const auto& [dx, dy] : {std::pair{1, 0}, {0, 1}}) {
    const int column = x + dx;
    const int row = y + dy;
    if (column == width_ || row == height_ || k_.at(column, row) == k_.at(x, y)) continue;
    const double gain = (2 * k_.at(x, y) - 1) * (state(column, row) - state(x, y)) +
                        2.0 * weight_at(0, 0) - 2.0 * weight_at(dx, dy);
    if (gain > most) {  // the right one of two that are equal
      most = gain;
      partner = &k_.at(column, row);
    }
  }
  if (partner == nullptr) return 0;
  std::swap(k_.at(x, y), *partner);
  return 2;
}

std::uint32_t CellStageReference::turn(int x, int y) {
  if (stage_.move == CellMove::kSwap) return swap(x, y);
  const int before = k_.at(x, y);
  k_.at(x, y) = updated(x, y);
  return k_.at(x, y) != before ? 1 : 0;
}

std::uint32_t CellStageReference::sweep() {
  std::uint32_t changed = 0;
  if (stage_.update == CellUpdate::kSynchronous) {
    CellLevels next(width_, height_);
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        next.at(x, y) = updated(x, y);
        changed += next.at(x, y) != k_.at(x, y);
      }
    }
    k_ = next;
  } else if (stage_.update == CellUpdate::kRaster) {
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) changed += turn(x, y);
    }
  } else {
    for (const auto& rows : row_classes_) {
      for (const auto& columns : column_classes_) {
        for (const int y : rows) {
          for (const int x : columns) changed += turn(x, y);
        }
      }
    }
  }
  return changed;
}

CellStageRun CellStageReference::run(int most) {
  CellStageRun run;
  while (run.sweeps < stage_.max_sweeps && !run.converged) {
    if (run.sweeps == most) {
      run.finished = false;
      break;
    }
    run.changed = sweep();
    ++run.sweeps;
    run.converged = run.changed == 0;
  }
  run.k = k_;
  return run;
}

double CellStageReference::energy() const {
  double energy = 0.0;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      const double output = 2 * k_.at(x, y) - (stage_.levels - 1);
      energy += output * (xi_ * output - feedback(x, y) - 2.0 * bias_.at(x, y));
    }
  }
  return energy;
}

namespace {

/// Whether `next` continues with the states of `stage`. The input of the first stage is the frame.
bool holds(bool first, const CellStage& stage, const CellStage& next) {
  const auto weights =
      static_cast<std::ptrdiff_t>((2 * stage.weights.radius + 1) * (2 * stage.weights.radius + 1));
  return next.start == CellStart::kPrevious && next.input == CellInput::kFrame &&
         (first || stage.input == CellInput::kFrame) &&
         stage.weights.radius == next.weights.radius &&
         std::equal(stage.weights.a.begin(), stage.weights.a.begin() + weights,
                    next.weights.a.begin()) &&
         std::equal(stage.weights.b.begin(), stage.weights.b.begin() + weights,
                    next.weights.b.begin()) &&
         stage.weights.threshold == next.weights.threshold &&
         stage.threshold_plane == next.threshold_plane && stage.levels == next.levels &&
         stage.xi == next.xi && (stage.levels == 2 || stage.xi == 1.0f) &&
         stage.boundary == next.boundary &&
         (stage.boundary != CellBoundary::kFixed || stage.boundary_value == next.boundary_value);
}

}  // namespace

CellRun run_cells(const CellularNetworkConfig& config, const std::vector<int>& fraction_bits,
                  const PlaneD& gray, const CellStarts& starts,
                  const std::optional<CellLevels>& warm) {
  const PlaneD frame = cell_input(gray, config.polarity, config.input_range);
  CellRun run;
  run.info.finished = true;
  PlaneD previous = frame;
  int levels = 2;
  bool holds_on = true;
  int group_first = 0;
  int group_end = 0;
  int passes = 0;  // of this group
  CellLevels pass;
  for (int i = 0; i < config.stage_count; ++i) {
    if (config.stages[static_cast<std::size_t>(i)].group_stages > 0 && passes == 0) {
      group_first = i;
      group_end = i + config.stages[static_cast<std::size_t>(i)].group_stages;
    }
    const CellStage& stage = config.stages[static_cast<std::size_t>(i)];
    CellStageReference reference(stage, fraction_bits.at(static_cast<std::size_t>(i)),
                                 stage.input == CellInput::kFrame ? frame : previous, previous,
                                 starts);
    if (i == 0 && config.warm_start && warm) reference.set_outputs(*warm);
    const CellStageRun stage_run = reference.run(config.max_sweeps - run.info.sweeps);
    run.info.sweeps += stage_run.sweeps;
    if (stage_run.sweeps > 0) run.info.changed = stage_run.changed;
    run.info.finished = run.info.finished && stage_run.finished;
    run.info.converged = run.info.finished && stage_run.converged;
    levels = stage.levels;
    run.k = stage_run.k;
    holds_on = holds_on && group_end == 0 &&
               (i == 0 || holds(i == 1, config.stages[static_cast<std::size_t>(i - 1)], stage));
    if (holds_on) run.first = stage_run.k;
    previous = cell_outputs(run.k, levels);
    if (i + 1 != group_end) continue;
    run.info.changed = static_cast<std::uint32_t>(run.k.data.size());
    if (passes > 0) {
      run.info.changed = 0;
      for (std::size_t c = 0; c < run.k.data.size(); ++c)
        run.info.changed += run.k.data[c] != pass.data[c];
    }
    run.info.converged = run.info.finished && run.info.changed == 0;
    pass = run.k;
    ++run.info.passes;
    ++passes;
    const bool ended = run.info.changed == 0 ||
                       passes == config.stages[static_cast<std::size_t>(group_first)].max_passes;
    if (!ended && run.info.sweeps == config.max_sweeps) run.info.finished = false;
    if (!ended && run.info.finished) {
      i = group_first - 1;
    } else {
      passes = 0;
    }
  }
  run.gray = PlaneD(gray.width, gray.height);
  for (std::size_t i = 0; i < run.gray.data.size(); ++i)
    run.gray.data[i] = cell_gray(run.k.data[i], levels, config.polarity, config.output_range);
  return run;
}

}  // namespace ocellus::reference
