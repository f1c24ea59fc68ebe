#include "optical_flow/cell_rows.h"

#include <cstddef>

#include "image/separable_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optical_flow/cell_rows.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ocellus::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kRowSlack>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

void link_cells(const CellRows<CellRow>& rows, int columns, int* HWY_RESTRICT links) {
  const D d;
  const DI di;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V one = hn::Set(d, 1.0f);
  const V quarter = hn::Set(d, 0.25f);
  const VI self = hn::Set(di, kLinkSelf);
  const CellRow& row = rows.back();
  for (int x = 0; x < columns; x += lanes) {
    const V u = hn::LoadU(d, row.u + x);
    const auto moves = hn::Eq(u, u);
    VI found = hn::Zero(di);
    if (!hn::AllFalse(d, moves)) {
      const V v = hn::LoadU(d, row.v + x);
      const V squared = hn::Max(one, hn::LoadU(d, row.squared + x));
      found = hn::IfThenElseZero(hn::RebindMask(di, moves), self);
      VI link = hn::Set(di, 1);
      for (int i = 0; i < kLinks; ++i) {
        const CellRow& other = rows[static_cast<std::size_t>(i / kLinkWindow)];
        const int there = x + i % kLinkWindow - kCellReach;
        const V du = hn::Sub(u, hn::LoadU(d, other.u + there));
        const V dv = hn::Sub(v, hn::LoadU(d, other.v + there));
        const V most = hn::Mul(quarter, hn::Max(squared, hn::LoadU(d, other.squared + there)));
        const auto similar = hn::Le(hn::Add(hn::Mul(du, du), hn::Mul(dv, dv)), most);
        found = hn::Or(found, hn::IfThenElseZero(hn::RebindMask(di, similar), link));
        link = hn::Add(link, link);
      }
    }
    hn::StoreU(found, di, links + x);
  }
}

/// The links that the cell to the left may have, too, one bit higher.
constexpr int kShared = [] {
  int shared = 0;
  for (int i = 0; i < kLinks - 1; ++i)
    if (i % kLinkWindow + 1 < kLinkWindow) shared |= 1 << i;
  return shared;
}();
constexpr int kAboveRow = (kCellReach - 1) * kLinkWindow;  // first link to the row above
constexpr int kUp = 1 << (kAboveRow + kCellReach);         // the link straight up

/// The links of neighbor i of each cell.
HWY_INLINE VI links_of(const CellRows<int*>& links, int i, int x) {
  const int* const row = links[static_cast<std::size_t>(i / kLinkWindow)];
  return hn::LoadU(DI(), row + x + i % kLinkWindow - kCellReach);
}

// A link is left out by way of a neighbor that is linked with both of its cells. So that the links
// by way of which others are left out stay connected themselves, that neighbor comes first in a
// fixed order: the cell to the left, the row above, the other rows; in a row from left to right.
void needed_links(const CellRows<int*>& links, int columns, int* HWY_RESTRICT needed) {
  const DI d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const VI zero = hn::Zero(d);
  const VI left = hn::Set(d, kLinkLeft);
  const VI up = hn::Set(d, kUp);
  const VI shared = hn::Set(d, kShared);
  for (int x = 0; x < columns; x += lanes) {
    const VI own = hn::LoadU(d, links.back() + x);
    VI known = zero;
    if (!hn::AllTrue(d, hn::Eq(own, zero))) {
      // By way of the cell to the left.
      const VI of_left = hn::ShiftRight<1>(hn::LoadU(d, links.back() + x - 1));
      known = hn::IfThenElseZero(hn::TestBit(own, left), hn::And(of_left, shared));
      // By way of the cell to the left of the neighbor.
      VI way = zero;
      VI link = hn::Set(d, 1);
      for (int i = 0; i < kCellReach * kLinkWindow; ++i) {
        if (i % kLinkWindow != 0) {
          const VI there = links_of(links, i, x);
          way = hn::Or(way, hn::IfThenElseZero(hn::TestBit(there, left), link));
        }
        link = hn::Add(link, link);
      }
      known = hn::Or(known, hn::And(way, hn::Add(own, own)));
      // By way of the row above.
      way = zero;
      link = hn::Set(d, 1 << kAboveRow);
      for (int i = kAboveRow; i < kAboveRow + kLinkWindow; ++i) {
        const VI there = links_of(links, i, x);
        way = hn::Or(way, hn::IfThenElseZero(hn::TestBit(there, up), link));
        link = hn::Add(link, link);
      }
      known = hn::Or(known, hn::ShiftRight<kLinkWindow>(hn::And(way, own)));
    }
    hn::StoreU(hn::AndNot(known, own), d, needed + x);
  }
}

}  // namespace
}  // namespace ocellus::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ocellus::detail {

HWY_EXPORT(link_cells);
HWY_EXPORT(needed_links);

void link_cells(const CellRows<CellRow>& rows, int columns, int* links) noexcept {
  HWY_DYNAMIC_DISPATCH(link_cells)(rows, columns, links);
}
void needed_links(const CellRows<int*>& links, int columns, int* needed) noexcept {
  HWY_DYNAMIC_DISPATCH(needed_links)(links, columns, needed);
}

}  // namespace ocellus::detail
#endif
