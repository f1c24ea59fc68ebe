// Responses of the minicolumns of a hypercolumn.
#include <cstddef>
#include <cstdint>

#include "cortex/hypercolumn.h"
#include "cortex/network_arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cortex/cpu/respond.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void respond_all(const std::uint16_t* weights, const std::int32_t* omega,
                 const std::uint16_t* active, int count, int minicolumns, std::int32_t threshold,
                 std::int64_t* responses) {
  const hn::CappedTag<std::int32_t, kMinicolumnAlignment> d;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const std::size_t lanes = hn::Lanes(d);
  const auto stride = static_cast<std::size_t>(minicolumns);
  const auto below_strong = hn::Set(d, kStrongWeight - 1);
  HWY_ALIGN std::int32_t sums[kMinicolumnAlignment];
  HWY_ALIGN std::int32_t strong[kMinicolumnAlignment];
  for (std::size_t m = 0; m < stride; m += lanes) {
    auto sum = hn::Zero(d);
    auto number = hn::Zero(d);
    for (int i = 0; i < count; ++i) {
      const auto w = hn::PromoteTo(d, hn::Load(d16, weights + active[i] * stride + m));
      const auto is_strong = hn::Gt(w, below_strong);
      sum = hn::Add(sum, hn::IfThenElseZero(is_strong, w));
      // A true mask is -1.
      number = hn::Sub(number, hn::VecFromMask(d, is_strong));
    }
    hn::Store(sum, d, sums);
    hn::Store(number, d, strong);
    for (std::size_t k = 0; k < lanes; ++k) {
      responses[m + k] = response(sums[k], count - strong[k], omega[m + k], threshold);
    }
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(respond_all);

void respond(const std::uint16_t* weights, const std::int32_t* omega, const std::uint16_t* active,
             int count, int minicolumns, std::int32_t threshold, std::int64_t* responses) noexcept {
  HWY_DYNAMIC_DISPATCH(respond_all)
  (weights, omega, active, count, minicolumns, threshold, responses);
}

}  // namespace ocellus::detail
#endif
