#include "restoration/cpu/restoration.h"

#include <algorithm>
#include <cstring>

#include "image/pixel_rows.h"

namespace ocellus::detail {

CpuRestoration::CpuRestoration(const RestorationPlan& plan, int padding, int workers) noexcept
    : CpuOperator(info_of(plan), workers),
      plan_(plan),
      padding_(padding),
      padded_{plan.size.width + 2 * padding, plan.size.height + 2 * padding} {}

void CpuRestoration::write_bad(const FrameJob& frame) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(plan_.size.width) *
                            static_cast<std::size_t>(bytes_per_pixel(plan_.format));
  for (int y = 0; y < plan_.size.height; ++y)
    std::memset(frame.out_row<unsigned char>(0, y), 0, bytes);
}

bool CpuRestoration::pad_row(const Frame& in, int y, float* row) const noexcept {
  const int width = plan_.size.width;
  const int from = border_position(y - padding_, plan_.size.height, plan_.border);
  if (from < 0) {
    std::fill(row, row + padded_.width, 0.0f);
    return true;
  }
  float* const inside = row + padding_;
  const bool finite =
      convert_row(static_cast<const char*>(in.data) + from * in.stride, in.format, inside, width);
  const auto value_at = [&](int x) {
    const int position = border_position(x, width, plan_.border);
    return position < 0 ? 0.0f : inside[position];
  };
  for (int x = 1; x <= padding_; ++x) {
    inside[-x] = value_at(-x);
    inside[width - 1 + x] = value_at(width - 1 + x);
  }
  return finite;
}

std::unique_ptr<OperatorInstance> make_restoration_cpu(const RestorationPlan& plan,
                                                       int workers) noexcept {
  return plan.schedule == RestorationSchedule::kFrequency ? make_frequency_cpu(plan, workers)
                                                          : make_recursion_cpu(plan, workers);
}

}  // namespace ocellus::detail
