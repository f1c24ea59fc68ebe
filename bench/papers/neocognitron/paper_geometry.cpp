#include "bench/papers/neocognitron/paper_geometry.h"

#include <algorithm>

#include "core/failure.h"
#include "neocognitron/cpu/tap_rows.h"

namespace ocellus::paper {

PaperGeometry::PaperGeometry(const TrainedNeocognitron& network) noexcept
    : planes(network.planes),
      contrast(detail::contrast_window(network.parameters)),
      classes(static_cast<int>(network.names.size())) {
  for (std::size_t i = 0; i < kStages; ++i) {
    in_planes[i] = i == 0 ? kContrastPlanes : network.planes[i - 1];
    simple[i] = detail::simple_window(network.parameters, static_cast<int>(i));
    if (i < kComplexStages)
      complex[i] = detail::complex_window(network.parameters, static_cast<int>(i));
  }
}

std::size_t PaperGeometry::plane_inputs(std::size_t stage) const noexcept {
  const CellWindow& window = simple[stage];
  // Cells along an axis that have an input at a displacement.
  const auto cells = [&](int displacement) {
    const int first = window.first + displacement;
    return static_cast<std::size_t>(
        std::max(0, std::min(window.sides.out, window.sides.in - first) - std::max(0, -first)));
  };
  std::size_t inputs = 0;
  for (const WindowTap& tap : window.all()) inputs += cells(tap.dx) * cells(tap.dy);
  return inputs;
}

Expected<void> check_paper_network(const TrainedNeocognitron& network, const char* who) noexcept {
  OCELLUS_TRY(check_parameters(network.parameters));
  if (network.names.empty() || network.names.size() > kMaxCharacterClasses) {
    return detail::invalid_argument("%s: there are %zu classes; there must be 1 to %d", who,
                                    network.names.size(), kMaxCharacterClasses);
  }
  for (std::size_t i = 0; i < kStages; ++i) {
    const int most = i == 0 ? kEdgePlanes : i + 1 == kStages ? kMaxReferences : kMaxFeaturePlanes;
    if (network.planes[i] < 1 || network.planes[i] > most) {
      return detail::invalid_argument("%s: stage %zu has %d planes; it must have 1 to %d", who,
                                      i + 1, network.planes[i], most);
    }
  }
  const PaperGeometry geometry(network);
  for (std::size_t i = 0; i < kStages; ++i) {
    if (network.weights[i].size() != geometry.weights(i)) {
      return detail::invalid_argument("%s: stage %zu has %zu weights; it must have %zu", who, i + 1,
                                      network.weights[i].size(), geometry.weights(i));
    }
  }
  if (network.labels.size() != static_cast<std::size_t>(network.planes[3]) ||
      !std::is_sorted(network.labels.begin(), network.labels.end()) ||
      network.labels.back() >= network.names.size()) {
    return detail::invalid_argument("%s: the labels do not fit %d references and %zu classes", who,
                                    network.planes[3], network.names.size());
  }
  return {};
}

void set_rectangle(const CellWindow& window, SharedInputsArguments& a) noexcept {
  int right = window.tap[0].dx;
  int bottom = window.tap[0].dy;
  a.left = right;
  a.top = bottom;
  for (const WindowTap& tap : window.all()) {
    a.left = std::min<int>(a.left, tap.dx);
    a.top = std::min<int>(a.top, tap.dy);
    right = std::max<int>(right, tap.dx);
    bottom = std::max<int>(bottom, tap.dy);
  }
  a.width = right - a.left + 1;
  a.height = bottom - a.top + 1;
}

InputTable make_table(const CellWindow& window, const SharedInputsArguments& a) noexcept {
  InputTable table{};
  const detail::TapRows rows = detail::rows_of(window, window.taps);
  for (int i = 0; i < window.taps; ++i)
    table.weight[i] = window.tap[static_cast<std::size_t>(i)].weight;
  for (const detail::TapRow& taps : rows.all()) {
    const int row = taps.dy - a.top;
    table.tap[row] = static_cast<std::int16_t>(taps.tap - (taps.dx - a.left));
    for (int x = 0; x < window.sides.out; ++x) {
      // The column of the window that reads column 0 of the layer below.
      const int zero = -(window.first + x + a.left);
      const int begin = std::max(taps.dx - a.left, zero);
      const int end = std::min(taps.dx - a.left + taps.count, zero + window.sides.in);
      table.first_column[row][x] = static_cast<std::uint8_t>(begin);
      table.end_column[row][x] = static_cast<std::uint8_t>(std::max(begin, end));
    }
  }
  for (int y = 0; y < window.sides.out; ++y) {
    const int zero = -(window.first + y + a.top);
    const int begin = std::max(0, zero);
    const int end = std::min(a.height, zero + window.sides.in);
    table.first_row[y] = static_cast<std::uint8_t>(begin);
    table.end_row[y] = static_cast<std::uint8_t>(std::max(begin, end));
  }
  return table;
}

}  // namespace ocellus::paper
