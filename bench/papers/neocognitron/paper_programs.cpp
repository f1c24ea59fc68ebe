#include "bench/papers/neocognitron/paper_programs.h"

#include <algorithm>
#include <cmath>

namespace ocellus::paper {
namespace {

using detail::CellWindow;
using detail::TapRow;
using detail::WindowTap;

/// Planes of a block of kScatterBlocks.
constexpr int kBlockPlanes = 8;
/// Side of a tile of kGatherTiles.
constexpr int kTileSide = 8;
/// Operations of (1) behind its sums.
constexpr int kResponseOperations = 6;

/// Counts nothing.
struct NoTally {
  void operator()(std::uint64_t LayerCounts::*, std::size_t) const noexcept {}
};
struct Tally {
  LayerCounts& counts;
  void operator()(std::uint64_t LayerCounts::*count, std::size_t number) const noexcept {
    counts.*count += number;
  }
};

}  // namespace

LayerCounts& LayerCounts::operator+=(const LayerCounts& other) noexcept {
  for (const auto count :
       {&LayerCounts::cell_reads, &LayerCounts::cell_writes, &LayerCounts::v_reads,
        &LayerCounts::v_writes, &LayerCounts::input_reads, &LayerCounts::energy_reads,
        &LayerCounts::weight_reads, &LayerCounts::operations, &LayerCounts::instructions})
    this->*count += other.*count;
  return *this;
}

std::vector<float> by_position(const PlaneCells& cells) {
  std::vector<float> out(cells.values.size());
  const auto planes = static_cast<std::size_t>(cells.planes);
  for (std::size_t k = 0; k < planes; ++k)
    for (std::size_t p = 0; p < cells.plane_cells(); ++p)
      out[p * planes + k] = cells.values[k * cells.plane_cells() + p];
  return out;
}

PlaneCells by_plane(std::span<const float> cells, int side, int planes) {
  PlaneCells out(side, planes);
  const auto count = static_cast<std::size_t>(planes);
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t p = 0; p < out.plane_cells(); ++p)
      out.values[k * out.plane_cells() + p] = cells[p * count + k];
  return out;
}

// ---- S-layers

PlaneSimpleLayer::PlaneSimpleLayer(const TrainedNeocognitron& network, int stage)
    : window_(detail::simple_window(network.parameters, stage)),
      rows_(detail::rows_of(window_, window_.taps)),
      in_planes_(stage == 0 ? kContrastPlanes
                            : network.planes[static_cast<std::size_t>(stage) - 1]),
      planes_(network.planes[static_cast<std::size_t>(stage)]),
      similarity_(stage + 1 == kNeocognitronStages),
      threshold_(network.parameters.stages[static_cast<std::size_t>(stage)].threshold),
      bias_(1.0f / network.parameters.gain) {
  const std::vector<float>& from = network.weights[static_cast<std::size_t>(stage)];
  weights_.reserve(from.size());
  const auto taps = static_cast<std::size_t>(window_.taps);
  const auto below = static_cast<std::size_t>(in_planes_);
  const auto own = static_cast<std::size_t>(planes_);
  for (std::size_t k = 0; k < own; ++k)
    for (std::size_t kappa = 0; kappa < below; ++kappa)
      for (std::size_t tap = 0; tap < taps; ++tap)
        weights_.push_back(from[(tap * below + kappa) * own + k]);

  const auto side = static_cast<std::size_t>(side_out());
  v_.resize(side * side);
  for (int y = 0; y < side_out(); ++y) {
    Range inside;
    for (int r = 0; r < rows_.count; ++r) {
      const int row = window_.first + y + rows_.rows[static_cast<std::size_t>(r)].dy;
      if (row < 0 || row >= side_in()) continue;
      if (inside.end == 0) inside.begin = r;
      inside.end = r + 1;
    }
    inside_rows_.push_back(inside);
  }
  for (int x = 0; x < side_out(); ++x) {
    for (const TapRow& taps_of_row : rows_.all()) {
      const int column = window_.first + x + taps_of_row.dx;
      const int begin = std::clamp(column, 0, side_in());
      inside_columns_.push_back(
          {begin, std::max(begin, std::min(side_in(), column + taps_of_row.count))});
    }
  }
}

void PlaneSimpleLayer::run(CpuProgram program, const PlaneCells& in, PlaneCells& out,
                           LayerCounts* counts) {
  if (counts != nullptr)
    run_program(program, in, out, Tally{*counts});
  else
    run_program(program, in, out, NoTally{});
}

template <typename Tally>
void PlaneSimpleLayer::run_program(CpuProgram program, const PlaneCells& in, PlaneCells& out,
                                   Tally tally) {
  switch (program) {
    case CpuProgram::kScatterActive:
      return scatter<true>(in, out, planes_, tally);
    case CpuProgram::kScatterAll:
      return scatter<false>(in, out, planes_, tally);
    case CpuProgram::kGather:
      return gather<1>(in, out, tally);
    case CpuProgram::kScatterBlocks:
      return scatter<true>(in, out, kBlockPlanes, tally);
    case CpuProgram::kGatherTiles:
      return gather<kTileSide>(in, out, tally);
  }
}

float PlaneSimpleLayer::respond(float e, float v) const {
  if (similarity_) return v > 0.0f ? e / v : 0.0f;
  const float ratio = (bias_ + e) / (bias_ + threshold_ * v) - 1.0f;
  return ratio > 0.0f ? threshold_ / (1.0f - threshold_) * ratio : 0.0f;
}

PlaneSimpleLayer::Range PlaneSimpleLayer::readers(int at, int first, int count) const {
  // Tap i belongs to the cell at - window_.first - first - i.
  const int last = at - window_.first - first;
  return {std::max(0, last - side_out() + 1), std::min(count, last + 1)};
}

template <bool test, typename Tally>
void PlaneSimpleLayer::scatter(const PlaneCells& in, PlaneCells& out, int block, Tally tally) {
  std::fill(v_.begin(), v_.end(), 0.0f);
  std::fill(out.values.begin(), out.values.end(), 0.0f);
  tally(&LayerCounts::v_writes, v_.size());
  tally(&LayerCounts::cell_writes, out.values.size());
  for (int kappa = 0; kappa < in_planes_; ++kappa) {
    for (int row = 0; row < side_in(); ++row) {
      const float* const inputs = in.row(kappa, row);
      for (int column = 0; column < side_in(); ++column) {
        const float u = inputs[column];
        tally(&LayerCounts::energy_reads, 1);
        if (test && u == 0.0f) continue;
        for (const TapRow& taps : rows_.all()) {
          const int y = row - window_.first - taps.dy;
          if (y < 0 || y >= side_out()) continue;
          const Range range = readers(column, taps.dx, taps.count);
          float* const to = v_.data() + y * side_out();
          const int x = column - window_.first - taps.dx;
          const WindowTap* const c = window_.tap.data() + taps.tap;
          for (int i = range.begin; i < range.end; ++i) to[x - i] += c[i].weight * u * u;
          const auto number = static_cast<std::size_t>(std::max(0, range.end - range.begin));
          tally(&LayerCounts::v_reads, number);
          tally(&LayerCounts::v_writes, number);
          tally(&LayerCounts::weight_reads, number);
          tally(&LayerCounts::operations, 3 * number);
        }
      }
    }
  }
  for (int first = 0; first < planes_; first += block) {
    const int end = std::min(first + block, planes_);
    for (int kappa = 0; kappa < in_planes_; ++kappa) {
      for (int row = 0; row < side_in(); ++row) {
        const float* const inputs = in.row(kappa, row);
        for (int column = 0; column < side_in(); ++column) {
          const float u = inputs[column];
          tally(&LayerCounts::input_reads, 1);
          if (test && u == 0.0f) continue;
          for (int k = first; k < end; ++k) {
            const float* const a = weights(k, kappa);
            for (const TapRow& taps : rows_.all()) {
              const int y = row - window_.first - taps.dy;
              if (y < 0 || y >= side_out()) continue;
              const Range range = readers(column, taps.dx, taps.count);
              float* const to = out.row(k, y);
              const int x = column - window_.first - taps.dx;
              for (int i = range.begin; i < range.end; ++i) to[x - i] += a[taps.tap + i] * u;
              const auto number = static_cast<std::size_t>(std::max(0, range.end - range.begin));
              tally(&LayerCounts::cell_reads, number);
              tally(&LayerCounts::cell_writes, number);
              tally(&LayerCounts::weight_reads, number);
              tally(&LayerCounts::operations, 2 * number);
            }
          }
        }
      }
    }
  }
  for (float& v : v_) v = std::sqrt(v);
  for (int k = 0; k < planes_; ++k) {
    float* const cells = out.row(k, 0);
    for (std::size_t p = 0; p < v_.size(); ++p) cells[p] = respond(cells[p], v_[p]);
  }
  tally(&LayerCounts::v_reads, v_.size() + out.values.size());
  tally(&LayerCounts::v_writes, v_.size());
  tally(&LayerCounts::cell_reads, out.values.size());
  tally(&LayerCounts::cell_writes, out.values.size());
  tally(&LayerCounts::operations, v_.size() + kResponseOperations * out.values.size());
}

template <bool with_energy, typename Tally>
float PlaneSimpleLayer::excite(const PlaneCells& in, int k, int x, int y, float& energy,
                               Tally tally) const {
  const Range rows = inside_rows_[static_cast<std::size_t>(y)];
  const Range* const columns = inside_columns_.data() + x * rows_.count;
  float e = 0.0f;
  for (int kappa = 0; kappa < in_planes_; ++kappa) {
    const float* const a = weights(k, kappa);
    for (int r = rows.begin; r < rows.end; ++r) {
      const TapRow& taps = rows_.rows[static_cast<std::size_t>(r)];
      const float* const inputs = in.row(kappa, window_.first + y + taps.dy);
      const int first_tap = taps.tap - (window_.first + x + taps.dx);
      for (int column = columns[r].begin; column < columns[r].end; ++column) {
        const float u = inputs[column];
        tally(&LayerCounts::input_reads, 1);
        if (u == 0.0f) continue;
        e += a[first_tap + column] * u;
        if constexpr (with_energy)
          energy += window_.tap[static_cast<std::size_t>(first_tap + column)].weight * u * u;
        tally(&LayerCounts::weight_reads, with_energy ? 2 : 1);
        tally(&LayerCounts::operations, with_energy ? 5 : 2);
      }
    }
  }
  return e;
}

template <int side, typename Tally>
void PlaneSimpleLayer::gather(const PlaneCells& in, PlaneCells& out, Tally tally) {
  std::array<float, std::size_t{side} * side> v;
  for (int top = 0; top < side_out(); top += side) {
    for (int left = 0; left < side_out(); left += side) {
      const int bottom = std::min(top + side, side_out());
      const int right = std::min(left + side, side_out());
      for (int k = 0; k < planes_; ++k) {
        for (int y = top; y < bottom; ++y) {
          for (int x = left; x < right; ++x) {
            float& own = v[static_cast<std::size_t>((y - top) * side + x - left)];
            float energy = 0.0f;
            const float e = k == 0 ? excite<true>(in, k, x, y, energy, tally)
                                   : excite<false>(in, k, x, y, energy, tally);
            if (k == 0) own = std::sqrt(energy);
            out.row(k, y)[x] = respond(e, own);
          }
        }
      }
    }
  }
  tally(&LayerCounts::cell_writes, out.values.size());
  tally(&LayerCounts::operations, v_.size() + kResponseOperations * out.values.size());
}

// ---- the other layers

PaperNetwork::PaperNetwork(const TrainedNeocognitron& network)
    : contrast_threshold_(network.parameters.contrast_threshold),
      contrast_(detail::contrast_window(network.parameters)),
      labels_(network.labels),
      scores_(network.names.size()) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const PlaneSimpleLayer& layer = layers_.emplace_back(network, static_cast<int>(i));
    inputs_[i] = PlaneCells(layer.side_in(), layer.in_planes());
    simple_[i] = PlaneCells(layer.side_out(), layer.planes());
    if (i < complex_.size())
      complex_[i] = detail::complex_window(network.parameters, static_cast<int>(i));
  }
}

LayerTimes PaperNetwork::recognize(CpuProgram program, const float* u0, Counts* counts) {
  LayerTimes times;
  const Clock::time_point begin = Clock::now();
  write_contrast(u0);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Clock::time_point layer_begin = Clock::now();
    layers_[i].run(program, inputs_[i], simple_[i], counts != nullptr ? &(*counts)[i] : nullptr);
    times.simple_ms[i] = ms_since(layer_begin);
    if (i < complex_.size()) write_complex(i);
  }
  write_scores();
  times.character_ms = ms_since(begin);
  return times;
}

void PaperNetwork::write_contrast(const float* u0) {
  PlaneCells& out = inputs_[0];
  for (int y = 0; y < out.side; ++y) {
    for (int x = 0; x < out.side; ++x) {
      float sum = 0.0f;
      for (const WindowTap& tap : contrast_.all()) {
        const int column = contrast_.first + x + tap.dx;
        const int row = contrast_.first + y + tap.dy;
        if (column < 0 || row < 0 || column >= kNeocognitronSide || row >= kNeocognitronSide)
          continue;
        sum += tap.weight * u0[row * kNeocognitronSide + column];
      }
      out.row(0, y)[x] = std::max(0.0f, -sum - contrast_threshold_);
      out.row(1, y)[x] = std::max(0.0f, sum - contrast_threshold_);
    }
  }
}

void PaperNetwork::write_complex(std::size_t stage) {
  const CellWindow& window = complex_[stage];
  const PlaneCells& in = simple_[stage];
  PlaneCells& out = inputs_[stage + 1];
  const int pitch = window.sides.pitch;
  std::fill(out.values.begin(), out.values.end(), 0.0f);
  for (int k = 0; k < in.planes; ++k) {
    for (int row = 0; row < in.side; ++row) {
      for (int column = 0; column < in.side; ++column) {
        const float u = in.row(k, row)[column];
        if (u == 0.0f) continue;
        for (const WindowTap& tap : window.all()) {
          const int x = column - window.first - tap.dx;
          const int y = row - window.first - tap.dy;
          if (x < 0 || y < 0 || x % pitch != 0 || y % pitch != 0) continue;
          if (x / pitch >= out.side || y / pitch >= out.side) continue;
          out.row(k, y / pitch)[x / pitch] += tap.weight * u;
        }
      }
    }
  }
  for (float& cell : out.values) cell = cell > 0.0f ? cell / (1.0f + cell) : 0.0f;
}

void PaperNetwork::write_scores() {
  std::fill(scores_.begin(), scores_.end(), 0.0f);
  const PlaneCells& similarities = simple_.back();
  for (int k = 0; k < similarities.planes; ++k) {
    const float* const cells = similarities.row(k, 0);
    float& score = scores_[labels_[static_cast<std::size_t>(k)]];
    score = std::max(score, *std::max_element(cells, cells + similarities.plane_cells()));
  }
}

}  // namespace ocellus::paper
